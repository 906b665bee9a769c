from __future__ import annotations

from typing import Any

import pytest

from lookaway.core import describe
from lookaway.engine.locking import metric_key
from lookaway.suites.wrbench import WrBench

REPAIRED = ("camera_precision", "camera_alignment", "static_hold", "visual_integrity")
SHARED = ("d3.visible_spatial", "d4.visible_state", "d5.returned_spatial", "d6.returned_state", "reobserved")


def protocol(**settings: Any):
    return {bound.name: bound for bound in WrBench().metrics(settings)}


def pair(name: str, **settings: Any):
    """A metric as published, and as corrected."""
    found = protocol(**settings)
    return found[f"wrbench.{name}"], found[f"wrbench.corrected.{name}"]


def test_every_published_metric_has_its_name_and_those_that_are_repaired_have_two():
    found = {name: bound.protocol for name, bound in protocol().items()}
    assert found == {
        **{f"wrbench.{name}": "published" for name in REPAIRED},
        **{f"wrbench.corrected.{name}": "corrected" for name in REPAIRED},
        **{f"wrbench.{name}": "both" for name in SHARED},
        "wrbench.revisited": None,
    }


def test_a_camera_that_holds_still_has_a_column_of_its_own_and_is_in_the_published_precision_too():
    assert [bound.subsets for bound in pair("camera_precision")] == [("yaw", "pan", "static"), ("yaw", "pan")]
    assert {bound.subsets for bound in pair("camera_alignment")} == {("yaw",)}
    assert {bound.subsets for bound in pair("static_hold")} == {("static",)}


@pytest.mark.parametrize("name", REPAIRED)
def test_a_repair_has_another_lock(name):
    published, corrected = map(metric_key, pair(name))
    assert published != corrected


def test_published_poses_are_those_of_a_network_on_every_frame_and_corrected_ones_are_tracked():
    poses = [bound.recipes["poses"] for bound in pair("camera_precision")]
    assert [recipe.name for recipe in poses] == ["vggt_poses", "tracked_poses"]
    assert describe(poses[0])["frames"]["kind"] == "EveryFrame"


def test_both_protocols_compare_with_the_request_without_its_gain():
    assert all(bound.recipes["requested_poses"].undo_gain for bound in pair("camera_precision"))


def test_poses_of_other_tools_may_be_named_in_the_list():
    bound = protocol(cached_poses=True)
    assert {found.recipes["poses"].name for found in bound.values() if "poses" in found.recipes} == {"supplied_poses"}
    for name in ("wrbench.camera_precision", "wrbench.corrected.camera_precision"):
        assert metric_key(bound[name]) != metric_key(protocol()[name])


def sampled(bound):
    tokens = describe(bound.recipes["tokens"])
    return tokens["fit"]["kind"], tokens["frames"]["fps"], tokens["frames"]["max_frames"]


def test_integrity_sees_the_whole_frame_three_times_a_second():
    assert [sampled(bound) for bound in pair("visual_integrity")] == [
        ("BlackPaddedFrame", 3.0, 24),
        ("WholeFrame", 3.0, 24),
    ]


def test_the_released_scorer_of_integrity_is_a_variant_of_the_published_column():
    published, corrected = pair("visual_integrity", released_integrity=True)
    assert sampled(published) == ("CentreCrop", 2.0, 16)
    assert corrected == pair("visual_integrity")[1]
