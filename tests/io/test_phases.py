from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookaway.core import Case, Reason, Reference, Rollout, Timeline, Unmeasurable, VideoError
from lookaway.io.phases import EveryInPhases, SpreadInPhases, phases_of
from lookaway.perception.phases import PhaseBounds
from tests.support.memobench import write_pictures
from tests.support.watching import check_documented

TIMELINE = Timeline(np.arange(81) / 16, 32, 24)
STARTS = {"visible": 0, "disappeared": 4, "reappeared": 8}


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    return write_pictures(tmp_path_factory.mktemp("reference") / "RGB1", 12)


@pytest.fixture
def rollout(reference):
    case = Case(id="a", subset="s", scene="a", reference=Reference(video=reference, phase_starts=STARTS))
    return Rollout(case=case, model="m", video=Path("clip.mp4"))


def test_phases_of_the_reference_are_mapped_to_the_length_of_the_video(rollout):
    assert [(phase.name, phase.start, phase.stop) for phase in phases_of(rollout, 81)] == [
        ("visible", 0, 27),
        ("disappeared", 27, 54),
        ("reappeared", 54, 81),
    ]


def test_phases_of_the_rollout_itself_come_first(rollout):
    own = replace(rollout, phases={"before": (0, 10), "after": (10, 500)})
    assert [(phase.name, phase.start, phase.stop) for phase in phases_of(own, 81)] == [
        ("before", 0, 10),
        ("after", 10, 81),
    ]


def test_the_feature_holds_the_bounds_and_names(rollout):
    recipe = PhaseBounds()
    assert recipe.declines(rollout) is None
    feature = recipe.load().start(rollout, TIMELINE, {}).finish()
    check_documented(recipe, feature)
    assert feature["bounds"].tolist() == [[0, 27], [27, 54], [54, 81]]
    assert feature.detail == {"phases": ["visible", "disappeared", "reappeared"], "reference_frames": 12}
    published = PhaseBounds(shares_ends=True).load().start(rollout, TIMELINE, {}).finish()
    assert published["bounds"].tolist() == [[0, 28], [27, 55], [54, 81]]


def test_a_rollout_without_phases_is_declined(rollout):
    bare = replace(rollout, case=replace(rollout.case, reference=None))
    assert PhaseBounds().declines(bare).reason is Reason.MISSING_INPUT
    with pytest.raises(Unmeasurable) as raised:
        phases_of(bare, 81)
    assert raised.value.reason is Reason.MISSING_INPUT


def test_a_reference_that_cannot_be_read_is_named(rollout, tmp_path):
    gone = replace(rollout, case=replace(rollout.case, reference=Reference(video=tmp_path / "x", phase_starts=STARTS)))
    with pytest.raises(VideoError, match="the video to compare with"):
        phases_of(gone, 81)


def test_every_so_many_frames_of_some_phases(rollout):
    sampler = EveryInPhases(("visible", "reappeared"), step=10)
    assert sampler.indices(TIMELINE, rollout) == (0, 10, 20, 54, 64, 74)
    published = replace(sampler, step=27, shares_ends=True)
    assert published.indices(TIMELINE, rollout) == (0, 27, 54)


def test_frames_spread_over_a_phase_are_those_of_the_official_code(rollout):
    sampler = SpreadInPhases(("reappeared",), 9, with_first=True)
    start, length = 54, 27
    assert sampler.indices(TIMELINE, rollout) == (0, *(start + int(i * (length - 1) / 8) for i in range(9)))


def test_a_phase_of_another_name_is_missing(rollout):
    with pytest.raises(Unmeasurable, match="phases gone are not annotated; the rollout has: visible") as raised:
        EveryInPhases(("gone",)).indices(TIMELINE, rollout)
    assert raised.value.reason is Reason.MISSING_INPUT


def test_a_phase_without_frames_is_too_short(rollout):
    one = Timeline(np.zeros(1), 32, 24)
    with pytest.raises(Unmeasurable) as raised:
        SpreadInPhases(("visible",), 2).indices(one, replace(rollout, phases={"visible": (0, 0)}))
    assert raised.value.reason is Reason.TOO_SHORT


def test_frames_of_overlapping_phases_are_taken_once(rollout):
    overlapping = replace(rollout, phases={"a": (0, 5), "b": (2, 7)})
    assert SpreadInPhases(("a", "b"), 3).indices(TIMELINE, overlapping) == (0, 2, 4, 6)


@given(st.integers(2, 500), st.integers(-5, 100), st.integers(-5, 100))
def test_a_phase_gives_frames_of_its_own_or_a_reason(count, start, stop):
    case = Case(id="a", subset="s", scene="a")
    marked = Rollout(case=case, model="m", video=Path("clip.mp4"), phases={"phase": (start, stop)})
    inside = range(max(0, start), min(stop, TIMELINE.frame_count))
    if not inside:
        with pytest.raises(Unmeasurable):
            SpreadInPhases(("phase",), count).indices(TIMELINE, marked)
        return
    indices = SpreadInPhases(("phase",), count).indices(TIMELINE, marked)
    assert list(indices) == sorted(set(indices))
    assert {inside[0], inside[-1]} <= set(indices) <= set(inside)
    assert len(indices) == min(count, len(inside))


def test_samplers_refuse_what_chooses_nothing():
    with pytest.raises(ValueError, match="1 or more"):
        EveryInPhases(("visible",), step=0)
    with pytest.raises(ValueError, match="2 or more"):
        SpreadInPhases(("visible",), 1)
