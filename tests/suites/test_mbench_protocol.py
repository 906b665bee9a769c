from __future__ import annotations

import pytest

from lookaway.core import Reason, UnknownName, describe
from lookaway.io.pose_files.source import PosedFrames
from lookaway.metrics.fold_pairs import FoldPairs
from lookaway.metrics.segment_pairs import SegmentPairs
from lookaway.perception.poses.supplied_poses import SuppliedPoses
from lookaway.suites.mbench import MBenchA, MBenchT
from lookaway.suites.two_protocols import FURTHER, corrected_name

SUITES = {"mbencha": MBenchA(), "mbencht": MBenchT()}


def protocol(dataset_id: str, **settings):
    return {bound.name: bound for bound in SUITES[dataset_id].metrics(settings)}


FAMILIES = {
    "entity": [
        "human_identity_consistency",
        "human_appearance_consistency",
        "object_texture_consistency",
        "object_geometry_consistency",
    ],
    "environment": ["spatial_epipolar", "spatial_reprojection", "rendering_style", "rendering_lighting"],
    "causal": ["prompt_interaction", "state_progress", "progress_correctness"],
}


def published(dataset_id: str) -> list[str]:
    bound = protocol(dataset_id).values()
    return [entry.name for entry in bound if entry.is_of("published") and not entry.is_gate]


SAME_IN_BOTH = {"causal.prompt_interaction", "causal.state_progress"}


def test_the_public_names_are_those_of_the_benchmark():
    shared = [f"{family}.{name}" for family, names in FAMILIES.items() for name in names]
    action, text = published("mbencha"), published("mbencht")
    assert text == [f"mbencht.{name}" for name in shared]
    assert action == [*(f"mbencha.{name}" for name in shared), "mbencha.causal.camera_interaction"]
    assert (len(action), len(text)) == (12, 11)


@pytest.mark.parametrize("dataset_id", SUITES)
def test_every_published_name_has_a_repair_of_its_own_unless_both_are_the_same(dataset_id):
    bound = protocol(dataset_id)
    shared = {name for name, entry in bound.items() if entry.protocol == "both" and not entry.is_gate}
    assert shared == {f"{dataset_id}.{name}" for name in SAME_IN_BOTH}
    repaired = {name for name in bound if name.startswith(f"{dataset_id}.corrected.")}
    assert repaired == {corrected_name(name) for name in published(dataset_id) if name not in shared}
    assert {bound[name].protocol for name in repaired} == {"corrected"}


@pytest.mark.parametrize(("dataset_id", "count"), [("mbencha", 8), ("mbencht", 6)])
def test_what_the_benchmark_does_not_have_is_named_as_further(dataset_id, count):
    further = [name for name in protocol(dataset_id) if not name.startswith(f"{dataset_id}.")]
    assert len(further) == count
    assert all(name.startswith(FURTHER) and protocol(dataset_id)[name].protocol == "corrected" for name in further)


@pytest.mark.parametrize("dataset_id", SUITES)
def test_cameras_that_turn_and_cameras_that_move_have_columns_of_their_own(dataset_id):
    bound = protocol(dataset_id)
    for name in ("spatial_within_2px", "spatial_capped"):
        column = f"{FURTHER}environment.{name}"
        assert (bound[column].metric.camera, bound[f"{column}_moving"].metric.camera) == ("turns", "moves")


def test_setting_a_has_the_gate_of_the_camera_for_what_is_consistency():
    bound = protocol("mbencha")
    (gate,) = (entry for entry in bound.values() if entry.is_gate)
    assert (gate.name, gate.metric.name) == ("mbencha.revisited", "revisited")
    assert gate.recipes["poses"] == bound["mbencha.environment.spatial_epipolar"].recipes["poses"]
    consistent = {name for name, entry in bound.items() if entry.is_consistency}
    assert consistent == {name for name in bound if name.split(".")[-2] in ("entity", "environment")}
    assert set(gate.subsets) == {subset for name in consistent for subset in bound[name].subsets}


def test_in_setting_t_each_subset_has_its_trigger_and_it_decides_for_every_metric():
    assert all(bound.is_consistency for bound in protocol("mbencht").values() if not bound.is_gate)
    gates = {name: bound for name, bound in protocol("mbencht").items() if bound.is_gate}
    for subset in ("human", "object", "environment", "causal"):
        gate = gates[f"mbencht.{subset}.trigger"]
        assert gate.subsets == (subset,)
        assert gate.recipes["trigger_verdict"].prompts[-1].name == f"trigger_{subset}"
        assert gate.recipes["trigger_verdict"].frames.count == 8
    assert len(gates) == 4


@pytest.mark.parametrize("dataset_id", SUITES)
def test_a_metric_is_asked_of_the_subset_in_its_name(dataset_id):
    own = {name: bound for name, bound in protocol(dataset_id).items() if name != "mbencha.revisited"}
    for name, bound in own.items():
        family, metric = name.split(".")[-2:]
        assert bound.subsets == (metric.split("_")[0] if family == "entity" else family,)


@pytest.mark.parametrize("dataset_id", SUITES)
def test_every_feature_that_a_metric_needs_or_uses_has_a_recipe(dataset_id):
    for bound in protocol(dataset_id).values():
        assert {*bound.metric.needs, *bound.metric.uses} == set(bound.recipes)


@pytest.mark.parametrize("start", ["", "corrected."])
@pytest.mark.parametrize(("dataset_id", "selector", "most"), [("mbencha", FoldPairs, 20), ("mbencht", SegmentPairs, 5)])
def test_all_metrics_of_a_setting_compare_the_same_pairs(dataset_id, selector, most, start):
    bound = {name.removeprefix(f"{dataset_id}.{start}"): entry for name, entry in protocol(dataset_id).items()}
    chosen = {
        bound["environment.spatial_epipolar"].recipes["matches"].pairs,
        bound["environment.spatial_reprojection"].recipes["matches"].pairs,
        bound["environment.rendering_lighting"].metric.pairs,
        bound["entity.object_geometry_consistency"].recipes["warped_similarity"].pairs,
    }
    (one,) = chosen
    assert (type(one), one.most, one.divides_by_extent) == (selector, most, bool(start))


@pytest.mark.parametrize("start", ["", "corrected."])
@pytest.mark.parametrize("dataset_id", SUITES)
def test_masks_and_depth_of_the_target_are_of_the_same_posed_frames(dataset_id, start):
    bound = protocol(dataset_id)
    geometry = bound[f"{dataset_id}.{start}entity.object_geometry_consistency"].recipes["warped_similarity"]
    texture = bound[f"{dataset_id}.{start}entity.object_texture_consistency"].recipes["regions"].masks
    assert isinstance(geometry.depth.frames, PosedFrames)
    assert geometry.depth.frames == geometry.masks.frames
    # In setting A pairs are published to be chosen among all frames; otherwise the target is tracked once for both.
    assert (geometry.masks == texture) == ((dataset_id, start) != ("mbencha", ""))


def test_the_constants_are_those_of_the_protocol():
    bound = protocol("mbencha")
    epipolar = bound["mbencha.environment.spatial_epipolar"]
    matches = describe(epipolar.recipes["matches"])
    lighting = describe(bound["mbencha.environment.rendering_lighting"].metric)
    pairs = {"most": 20, "degrees_per_extent": 180.0, "min_posed_frames": 8, "margin": 0.1, "min_span_frames": 2}
    assert pairs.items() <= matches["pairs"].items()
    assert {"height": 480, "keypoints": 2048, "ratio": 0.8}.items() <= matches.items()
    assert {"lightness_weight": 0.5, "tau": 10.0, "segment_frames": 8}.items() <= lighting.items()
    assert (epipolar.metric.scale_pixels, epipolar.metric.negligible_baseline) == (1.0, 1e-3)


def test_the_constants_of_caption_segments_are_those_of_the_protocol():
    pairs = describe(protocol("mbencht")["mbencht.environment.spatial_epipolar"].recipes["matches"])["pairs"]
    assert {"most": 5, "edge_segments": 2, "distance_scale": 0.1, "angle_scale_degrees": 10.0}.items() <= pairs.items()


@pytest.mark.parametrize("dataset_id", SUITES)
def test_poses_are_world_to_camera_unless_the_dataset_says_otherwise(dataset_id):
    for settings, expected in (
        ({}, "world_to_camera"),
        ({"extrinsics_convention": "camera_to_world"}, "camera_to_world"),
    ):
        bound = protocol(dataset_id, **settings).values()
        recipes = [entry.recipes["poses"] for entry in bound if "poses" in entry.recipes]
        assert len(recipes) >= 3
        assert {recipe.convention for recipe in recipes} == {expected}


def stands_on_poses(recipe) -> bool:
    return isinstance(recipe, SuppliedPoses) or any(stands_on_poses(needed) for needed in recipe.needs.values())


@pytest.mark.parametrize("dataset_id", SUITES)
def test_metrics_that_cannot_do_without_poses_say_every_reason_for_which_these_fail(dataset_id):
    asked = [
        bound.metric
        for bound in protocol(dataset_id).values()
        if any(stands_on_poses(bound.recipes[need]) for need in bound.metric.needs)
    ]
    # Published, corrected and further ones.
    assert len(asked) == {"mbencha": 4 + 4 + 8, "mbencht": 3 + 3 + 6}[dataset_id]
    for metric in asked:
        for reason in (Reason.MISSING_INPUT, Reason.POSE_FAILED, Reason.POSE_CONVENTION_AMBIGUOUS):
            assert f"`{reason.value}`" in type(metric).__doc__.partition("Abstains:")[2], (metric.name, reason)


def test_a_convention_that_does_not_exist_is_refused_before_anything_is_measured():
    with pytest.raises(UnknownName, match="No extrinsics convention is named 'opencv'"):
        protocol("mbencha", extrinsics_convention="opencv")
