"""How often intervals of means of bounded scores hold the truth with few scenes, and how wide they are."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import special

from lookaway.core import Estimate
from lookaway.statistics.intervals import mean_estimates
from lookaway.statistics.scene_bootstrap import SceneSums

CLIPS = 3
PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "estimates.md"
Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
"""Values of clips [runs, scenes, clips]."""


def near_one(rng, shape):
    """exp(-E) for errors that differ by scene, most of them small."""
    return np.exp(-rng.exponential(0.0493, (*shape, 1)) * rng.gamma(8.0, 1 / 8, (*shape, CLIPS)))


def failing(share: float) -> Draw:
    def draw(rng, shape):
        level = np.where(rng.random((*shape, 1)) < share, 0.1, 0.98)
        return np.clip(level + rng.normal(0, 0.01, (*shape, CLIPS)), 0, 1)

    return draw


def nearly_binary(rng, shape):
    """Clips that pass or fail, in scenes that differ in how often."""
    return (rng.random((*shape, CLIPS)) < rng.beta(9.3, 0.7, (*shape, 1))).astype(float)


def gaussian(rng, shape):
    return np.clip(rng.normal(0.5, 0.12, (*shape, 1)) + rng.normal(0, 0.1, (*shape, CLIPS)), 0, 1)


DISTRIBUTIONS: dict[str, Draw] = {
    "exp(-E)": near_one,
    "one scene in ten fails": failing(0.1),
    "nearly binary": nearly_binary,
    "Gaussian-like": gaussian,
}
TRUTHS = {"exp(-E)": 0.953, "one scene in ten fails": 0.892, "nearly binary": 0.93, "Gaussian-like": 0.5}
RARE: dict[str, Draw] = {
    "one scene in twenty fails": failing(0.05),
    "one scene in fifty fails": failing(0.02),
}


def passing_or_failing(share: float) -> Draw:
    def draw(rng, shape):
        return np.repeat((rng.random((*shape, 1)) >= share).astype(float), CLIPS, axis=-1)

    return draw


def true_mean(draw: Draw) -> float:
    return float(np.mean([draw(np.random.default_rng(seed), (1_000, 100)).mean() for seed in range(10)]))


def estimates(draw: Draw, scenes: int, runs: int) -> tuple[Estimate, ...]:
    values = draw(np.random.default_rng(scenes), (runs, scenes)).sum(axis=-1)
    counts, squares = np.full(scenes, CLIPS), np.zeros(scenes)
    cells = [SceneSums(sums=own, counts=counts, squares=squares) for own in values]
    return mean_estimates(cells, [(0.0, 1.0)] * runs)


def t_intervals(draw: Draw, scenes: int, runs: int) -> np.ndarray:
    """Both ends [2, runs], for the same values."""
    means = draw(np.random.default_rng(scenes), (runs, scenes)).mean(axis=-1)
    reach = special.stdtrit(scenes - 1, 0.975) * means.std(axis=-1, ddof=1) / np.sqrt(scenes)
    return means.mean(axis=-1) + np.array([-reach, reach])


def coverage(ends: np.ndarray, truth: float) -> float:
    return float(np.mean((ends[0] <= truth) & (truth <= ends[1])))


def ends_of(found: tuple[Estimate, ...]) -> np.ndarray:
    return np.array([(one.low, one.high) for one in found]).T


@pytest.mark.parametrize("scenes", [5, 10, 20, 40])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_intervals_of_few_scenes_hold_the_truth_often_enough_in_few_runs(name, scenes):
    found = estimates(DISTRIBUTIONS[name], scenes, 300)
    assert coverage(ends_of(found), TRUTHS[name]) >= 0.93
    assert all(0.0 <= one.low < one.high <= 1.0 for one in found)
    assert all(one.low <= one.mean <= one.high for one in found)


@pytest.mark.nightly
@pytest.mark.parametrize("name", [*DISTRIBUTIONS, *RARE])
def test_coverage_and_width_are_what_the_page_says(name):
    draw = (DISTRIBUTIONS | RARE)[name]
    truth = true_mean(draw)
    assert truth == pytest.approx(TRUTHS.get(name, truth), abs=5e-4)
    for scenes in (5, 10, 20, 40):
        ours, with_t = ends_of(estimates(draw, scenes, 4_000)), t_intervals(draw, scenes, 4_000)
        widths = [float(np.mean(ends[1] - ends[0])) for ends in (ours, with_t)]
        measured = [coverage(ours, truth), widths[0], coverage(with_t, truth), widths[1]]
        print(f"| {name} ({truth:.3f}) | {scenes} | " + " | ".join(f"{number:.3f}" for number in measured) + " |")
        row = re.search(rf"^\| {re.escape(name)} .*\| {scenes} \|(.*)\|$", PAGE.read_text(), re.MULTILINE)
        assert row is not None
        assert [float(number) for number in row[1].split("|")] == pytest.approx(measured, abs=0.006)
        assert measured[0] >= 0.93


@pytest.mark.nightly
@pytest.mark.parametrize("scenes", [5, 10, 20, 40])
def test_whatever_share_of_scenes_fails_nine_intervals_of_ten_hold_the_truth(scenes):
    """Failures that were not drawn, or were drawn too often, by the number of scenes that fail on average."""
    shares = np.arange(0.4, min(8.0, scenes / 2), 0.2) / scenes
    found = {
        share: coverage(ends_of(estimates(passing_or_failing(share), scenes, 2_000)), 1 - share) for share in shares
    }
    worst = min(found, key=found.__getitem__)
    print(f"{scenes} scenes: {found[worst]:.3f} where {worst:.3f} of them fail")
    assert found[worst] >= 0.89
