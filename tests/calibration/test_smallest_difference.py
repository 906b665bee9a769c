"""What cards call equal, tried on the scores that they were made from."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from benchmarks.ship_cards import CAMERA, KNOWN_SCORES, along
from lookaway.calibration.card import CLEAN_LOOK, MetricCard
from lookaway.calibration.run_cards import shipped_cards
from lookaway.calibration.scores import Row, read_rows

REPETITIONS = 200
SCENES = 20
NOISY = (
    "aligned_ssim",
    "further.ssim_lift",
    "look",
    "mbencha.corrected.environment.rendering_lighting",
    "mbencht.corrected.environment.spatial_epipolar",
)
"""Metrics whose clean clips differ from scene to scene, so that chance can make a difference."""


def cards_of(metric: str) -> list[MetricCard]:
    """One for each chain of extractors."""
    return [
        card
        for card in shipped_cards().cards
        if card.metric == metric
        and (card.height, card.fps, card.features, card.look) == (256, 12, "shipped", CLEAN_LOOK)
    ]


@cache
def known_rows() -> list[Row]:
    return along(CAMERA, read_rows(KNOWN_SCORES))


def clean_scores(card: MetricCard) -> np.ndarray:
    """What clips of a perfect memory got, scene by scene."""
    key = (card.metric, card.chain_sha256, card.height, card.fps, "clean", CLEAN_LOOK)
    names = ("metric", "chain_sha256", "height", "fps", "kind", "look")
    rows = (row for row in known_rows() if tuple(row[name] for name in names) == key)
    return np.array([row["value"] for row in rows if row["value"] is not None])


def times_told_apart(card: MetricCard, scores: np.ndarray, difference: float) -> float:
    """How often two models are told apart that differ by so much, on scenes drawn anew each time."""
    random = np.random.default_rng(0)
    first, second = random.choice(scores, (2, REPETITIONS, SCENES)).mean(axis=2)
    return float(np.mean([card.tells_apart(found, SCENES) for found in first - second + difference]))


@pytest.mark.parametrize("metric", NOISY)
def test_models_that_differ_by_less_than_a_card_can_show_are_equal_and_twice_that_is_told_apart(metric):
    cards = cards_of(metric)
    assert cards
    for card in cards:
        assert card.scenes >= SCENES
        assert card.floor.spread > 0
        scores = clean_scores(card)
        for part in (0.0, 0.5, 0.95):
            assert times_told_apart(card, scores, part * card.smallest_difference) <= 0.05
        assert times_told_apart(card, scores, 2 * card.smallest_difference) >= 0.9


def test_the_scores_that_are_kept_are_those_of_the_shipped_cards():
    known = {(row["metric"], row["chain_sha256"]) for row in known_rows()}
    assert {(card.metric, card.chain_sha256) for card in shipped_cards().cards} <= known
