"""All 23 metrics: near their best without a fault, and falling as a fault grows that they are there to find."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks.mbench_sensitivity import (
    LEVEL,
    NAMED,
    SETTINGS,
    Measured,
    answers,
    course,
    is_measured,
    measure,
    render,
)
from lookaway.engine.reading import load_suite
from lookaway.world.recipe import PERFECT, ClipRecipe

pytestmark = pytest.mark.timeout(900)  # all clips are rendered and measured before the first live test

PAGE = Path(__file__).parents[2] / "docs/reference/mbench-sensitivity.md"
METRICS = tuple(
    bound.name
    for suite in SETTINGS
    for bound in load_suite(suite).metrics({})
    if is_measured(bound) and not bound.is_gate
)
MIN_CLEAN = 0.95
MIN_CASES, MIN_SEVERITIES, MIN_FALLS = 8, 5, 4

NOT_GRADED = {
    ("object_geometry_consistency", "identity_shape"): "from 0.6 on, unrelated surfaces are compared",
    (
        "object_geometry_consistency",
        "teleport",
    ): "at two diameters the bare background is left, which is more like the target",
    ("camera_interaction", "camera_never_moves"): "the direction is asked for, not how far: all or nothing",
}
"""Faults that a metric finds, but whose severity it does not tell, and why."""
MAX_RISE = 0.01
"""Of those."""

NAMED_ONCE = {
    "human_identity_consistency": "identity_texture",
    "human_appearance_consistency": "identity_texture",
    "object_texture_consistency": "identity_texture",
    "object_geometry_consistency": "vanish",
    "spatial_epipolar": "layout_change",
    "spatial_reprojection": "layout_change",
    "rendering_lighting": "lighting_shift",
    "rendering_style": "style_shift",
    "camera_interaction": "temporal_cut",
    "prompt_interaction": "state_reset",
    "state_progress": "state_reset",
    "progress_correctness": "state_reset",
}
"""One fault for each metric, so few that all of them are measured in a minute."""


@dataclass(frozen=True)
class Live:
    """What is drawn and measured here, and what was found, by setting."""

    families: tuple[str, ...]
    severities: tuple[float, ...]
    found: dict[str, Measured] = field(default_factory=lambda: {setting: Measured() for setting in SETTINGS})

    def means(self, metric: str) -> tuple[float, ...]:
        """Without the fault, then with each severity."""
        (values,) = [found.values for found in self.found.values() if metric in {name for name, _, _ in found.values}]
        ((_, answer),) = answers(metric, values, self.severities)
        assert answer.cases == len(self.families)
        return answer.means


@dataclass(frozen=True)
class Steps:
    """A row of the page that goes step by step."""

    metric: str
    fault: str
    cases: int
    means: tuple[float, ...]
    course: str

    @property
    def word(self) -> str:
        return self.metric.rpartition(".")[2]


def cells() -> list[list[str]]:
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `mbench")]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]


CLEAN = {row[0]: (float(row[2]), int(row[3])) for row in cells() if len(row) == 4}
STEPS = [
    Steps(row[0], row[1], int(row[2]), tuple(map(float, row[3:-1])), row[-1])
    for row in cells()
    if row[1] in {fault for faults in NAMED.values() for fault in faults}
]


def test_there_are_23_metrics():
    assert len(set(METRICS)) == 23
    assert {name.rpartition(".")[2] for name in METRICS} == NAMED.keys() == NAMED_ONCE.keys()


@pytest.mark.parametrize("metric", METRICS)
def test_the_page_shows_every_metric_near_its_best_without_any_fault(metric):
    least, cases = CLEAN[metric]
    assert least >= MIN_CLEAN
    assert cases >= MIN_CASES


@pytest.mark.parametrize("metric", METRICS)
def test_the_page_shows_every_metric_falling_as_a_fault_it_names_grows(metric):
    rows = [row for row in STEPS if row.metric == metric]
    assert {row.fault for row in rows} == set(NAMED[rows[0].word])
    graded = [row for row in rows if (row.word, row.fault) not in NOT_GRADED]
    assert all(step <= LEVEL for row in graded for step in steps_of(row))
    whole = [row for row in graded if row.cases >= MIN_CASES and len(steps_of(row)) >= MIN_SEVERITIES]
    assert max(sum(step < 0 for step in steps_of(row)) for row in whole) >= MIN_FALLS


@pytest.mark.parametrize(("word", "fault"), NOT_GRADED, ids="-".join)
def test_an_exception_still_falls_far_and_never_rises_by_much(word, fault):
    rows = [row for row in STEPS if (row.word, row.fault) == (word, fault)]
    assert rows
    for row in rows:
        assert max(steps_of(row)) <= MAX_RISE
        assert row.means[-1] <= row.means[0] / 2
        assert max(steps_of(row)) > LEVEL or sum(step < 0 for step in steps_of(row)) < MIN_FALLS, "no exception"


@pytest.mark.parametrize("row", STEPS, ids=lambda row: f"{row.metric}-{row.fault}-{row.means[1]}")
def test_the_page_calls_every_course_what_its_numbers_say(row):
    assert row.course == course(row.means)


def steps_of(row: Steps) -> list[float]:
    return [round(after - before, 3) for before, after in pairwise(row.means)]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((("playroom",), (0.4, 1.0)), marks=[pytest.mark.render, pytest.mark.merge], id="one scene"),
        pytest.param(
            (("playroom", "kitchen"), (0.2, 0.4, 1.0)), marks=[pytest.mark.render, pytest.mark.nightly], id="two scenes"
        ),
    ],
)
def live(request, tmp_path_factory) -> Live:
    root, asked = tmp_path_factory.mktemp("sensitivity"), {word: (fault,) for word, fault in NAMED_ONCE.items()}
    live = Live(*request.param)
    for family in live.families:
        form = ClipRecipe(family=family, event="none", camera="", seed=0, width=112, height=64, fps=16, seconds=3.0)
        render(root / family / "world", live.severities, form, asked)
    for family in live.families:
        for setting in SETTINGS:
            measure(setting, root / family / "world", root / family, asked, live.found[setting])
    return live


def test_all_23_metrics_have_a_score_of_every_clip_they_are_asked_of(live):
    names = [name for found in live.found.values() for name, _, _ in found.values]
    assert set(names) == set(METRICS)
    assert all(names.count(metric) == len(live.families) * (1 + len(live.severities)) for metric in METRICS)
    assert not any(found.reasons for found in live.found.values())


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_is_near_its_best_where_everything_is_remembered(metric, live):
    clean = [
        v
        for found in live.found.values()
        for (name, _, model), v in found.values.items()
        if (name, model) == (metric, PERFECT)
    ]
    assert min(clean) >= MIN_CLEAN


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_falls_as_the_fault_it_names_grows(metric, live):
    means = live.means(metric)
    assert all(after < before + LEVEL for before, after in pairwise(means))
    assert means[-1] < means[0] - 0.02
