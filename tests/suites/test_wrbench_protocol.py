from __future__ import annotations

from typing import Any

import pytest

from lookaway.core import describe
from lookaway.engine.locking import metric_key
from lookaway.suites.wrbench import WrBench

NAMES = (
    "wrbench.camera_precision",
    "wrbench.camera_alignment",
    "wrbench.static_hold",
    "wrbench.visual_integrity",
    "wrbench.revisited",
    "wrbench.d3.visible_spatial",
    "wrbench.d4.visible_state",
    "wrbench.d5.returned_spatial",
    "wrbench.d6.returned_state",
    "wrbench.reobserved",
)


def protocol(**settings: Any):
    return {bound.name: bound for bound in WrBench().metrics(settings)}


def test_all_six_dimensions_and_the_gate_are_bound_as_published_or_not():
    assert set(NAMES) == set(protocol()) == set(protocol(as_published=True))


def test_a_camera_that_holds_still_has_a_column_of_its_own_except_in_the_published_precision():
    ours, theirs = protocol(), protocol(as_published=True)
    assert ours["wrbench.camera_precision"].subsets == ("yaw", "pan")
    assert theirs["wrbench.camera_precision"].subsets is None
    for bound in (ours, theirs):
        assert bound["wrbench.camera_alignment"].subsets == ("yaw",)
        assert bound["wrbench.static_hold"].subsets == ("static",)


@pytest.mark.parametrize("name", NAMES[:4])
def test_as_published_has_another_lock(name):
    assert metric_key(protocol()[name]) != metric_key(protocol(as_published=True)[name])


def test_the_target_of_published_scores_has_its_gain_and_ours_has_not():
    recipes = [protocol(as_published=flag)["wrbench.camera_precision"].recipes for flag in (False, True)]
    assert [found["requested_poses"].undo_gain for found in recipes] == [True, False]
    assert [found["poses"].name for found in recipes] == ["tracked_poses", "vggt_poses"]


@pytest.mark.parametrize("as_published", [False, True])
def test_poses_of_other_tools_may_be_named_in_the_list(as_published):
    bound = protocol(cached_poses=True, as_published=as_published)
    assert {found.recipes["poses"].name for found in bound.values() if "poses" in found.recipes} == {"supplied_poses"}
    assert metric_key(bound[NAMES[0]]) != metric_key(protocol(as_published=as_published)[NAMES[0]])


def test_integrity_sees_the_whole_frame_three_times_a_second_unless_asked_otherwise():
    def tokens(**settings):
        return describe(protocol(**settings)["wrbench.visual_integrity"].recipes["tokens"])

    assert (tokens()["fit"]["kind"], tokens(as_published=True)["fit"]["kind"]) == ("WholeFrame", "CentreCrop")
    for settings in ({}, {"as_published": True}):
        assert (tokens(**settings)["frames"]["fps"], tokens(**settings)["frames"]["max_frames"]) == (3.0, 24)
    example = tokens(as_published=True, example_sampling=True)
    assert (example["frames"]["fps"], example["frames"]["max_frames"]) == (2.0, 16)
