from __future__ import annotations

from typing import Any

import pytest

from lookaway.core import UnknownName, describe
from lookaway.engine.locking import metric_key
from lookaway.suites.mind import Mind

COMPARED = ("1st_data/mem_test", "1st_data/action_space_test", "3rd_data/mem_test", "3rd_data/action_space_test")
MIRRORED = ("1st_data/mirror_test", "3rd_data/mirror_test")
LIKENESS = ("mse", "psnr", "ssim", "lpips")
COMPARED_FRAMES = {("compared.dropped_batch", None, 100), ("compared.stated_end", False, True)}
SEEN_FRAMES = {("frames.dropped_batch", None, 100), ("frames.stated_end", False, True)}
STEPS = {("metric.published_groups", False, True), ("may_outlast_video", False, True)}
CHANGES = {
    **{f"mind.lcm.{name}": COMPARED_FRAMES for name in LIKENESS},
    **{f"mind.gsc.{name}": {("compared.even_only", False, True)} for name in LIKENESS},
    "mind.visual.imaging": SEEN_FRAMES,
    "mind.visual.aesthetic": SEEN_FRAMES,
    "mind.dino.dino_mse": {*COMPARED_FRAMES, ("rescales_twice", False, True)},
    "mind.action.rpe_trans": STEPS,
    "mind.action.rpe_rot": STEPS,
    "mind.revisited": set(),
}
"""What `as_published` changes, in each metric or its recipe."""


def protocol(**settings: Any):
    return {bound.name: bound for bound in Mind().metrics(settings)}


def described(bound) -> dict[str, Any]:
    return {"metric": describe(bound.metric), **{name: describe(recipe) for name, recipe in bound.recipes.items()}}


def differences(ours: Any, theirs: Any, path: str = "") -> set[tuple[str, Any, Any]]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        return {found for key in ours for found in differences(ours[key], theirs[key], f"{path}.{key}".strip("."))}
    return set() if ours == theirs else {(path, ours, theirs)}


def test_the_public_names_are_those_of_the_benchmark():
    assert list(protocol()) == [
        *(f"mind.lcm.{name}" for name in LIKENESS),
        "mind.visual.imaging",
        "mind.visual.aesthetic",
        "mind.dino.dino_mse",
        "mind.action.rpe_trans",
        "mind.action.rpe_rot",
        *(f"mind.gsc.{name}" for name in LIKENESS),
        "mind.revisited",
    ]


def test_mirrored_paths_are_asked_for_their_consistency_alone_and_only_they_are():
    for name, bound in protocol().items():
        is_mirrored = name.startswith(("mind.gsc.", "mind.revisited"))
        assert bound.subsets == (MIRRORED if is_mirrored else COMPARED)


def test_only_consistency_of_the_scene_depends_on_the_gate():
    for name, bound in protocol().items():
        assert bound.is_consistency == name.startswith("mind.gsc.")
        assert bound.is_gate == (name == "mind.revisited")


def test_every_feature_that_a_metric_needs_or_uses_has_a_recipe():
    for bound in protocol().values():
        assert {*bound.metric.needs, *bound.metric.uses} == set(bound.recipes)


def test_every_picture_is_brought_to_the_canvas_of_the_benchmark():
    for name, bound in protocol().items():
        if not name.startswith(("mind.action.", "mind.revisited")):
            (recipe,) = bound.recipes.values()
            assert (recipe.canvas.height, recipe.canvas.width) == (720, 1280)


def test_the_constants_are_those_of_the_benchmark():
    bound = protocol()
    for family in ("lcm", "gsc"):
        fidelity = bound[f"mind.{family}.ssim"].recipes["fidelity"]
        assert (fidelity.window, fidelity.sigma) == (11, 1.5)
        lpips = bound[f"mind.{family}.lpips"].recipes["lpips"]
        assert (lpips.trunk, lpips.weights.name, lpips.heads.name) == ("alex", "alexnet", "lpips-alex")
        assert bound[f"mind.{family}.psnr"].metric.ceiling_db == 100.0
    assert bound["mind.visual.imaging"].recipes["quality"].weights.name == "musiq-spaq"
    assert bound["mind.visual.imaging"].recipes["quality"].height is None
    aesthetic = bound["mind.visual.aesthetic"].recipes["aesthetic"]
    assert (aesthetic.weights.name, aesthetic.head.name) == ("clip-vit-l-14", "laion-aesthetic-linear")
    assert bound["mind.dino.dino_mse"].recipes["feature_error"].weights.name == "dinov3-vitb16"
    for name in ("rpe_trans", "rpe_rot"):
        metric = bound[f"mind.action.{name}"].metric
        assert (metric.alignment, metric.max_frames, metric.min_steps) == ("sim3", 97, 8)
        assert (metric.max_rotation_degrees, metric.max_translation) == (179.0, 1e9)
        assert {recipe.layout for recipe in bound[f"mind.action.{name}"].recipes.values()} == {"colmap"}


def test_by_default_every_frame_is_compared():
    for name, bound in protocol().items():
        for recipe in bound.recipes.values():
            for compared in filter(None, (getattr(recipe, "compared", None), getattr(recipe, "frames", None))):
                assert not any(
                    (getattr(compared, field, None)) for field in ("most", "dropped_batch", "stated_end", "even_only")
                )
        assert protocol(as_published=False, video_max_time=None)[name] == bound


@pytest.mark.parametrize("name", CHANGES)
def test_as_published_differs_in_the_faults_of_the_published_code_alone(name):
    ours, theirs = (described(protocol(as_published=flag)[name]) for flag in (False, True))
    found = {(path.partition(".")[2] if path.split(".")[0] != "metric" else path, *values) for path, *values in
             differences(ours, theirs)}  # fmt: skip
    assert found == CHANGES[name]


def test_all_names_say_what_as_published_changes_in_them():
    assert CHANGES.keys() == protocol().keys()


def test_a_limit_of_frames_is_for_answers_beside_true_videos_alone_and_not_for_actions():
    ours, theirs = protocol(), protocol(video_max_time=50)
    moved = {name for name in ours if metric_key(ours[name]) != metric_key(theirs[name])}
    assert moved == {name for name in ours if name.split(".")[1] in ("lcm", "visual", "dino")}
    assert theirs["mind.lcm.mse"].recipes["fidelity"].compared.most == 50
    assert theirs["mind.visual.imaging"].recipes["quality"].frames.most == 50


def test_the_alignment_is_for_camera_paths_alone():
    for alignment in ("se3", "none"):
        ours, theirs = protocol(), protocol(alignment=alignment)
        moved = {name for name in ours if metric_key(ours[name]) != metric_key(theirs[name])}
        assert moved == {"mind.action.rpe_trans", "mind.action.rpe_rot"}
        assert {theirs[name].metric.alignment for name in moved} == {alignment}
    assert protocol(alignment="sim3") == protocol()
    with pytest.raises(UnknownName, match="Did you mean 'sim3'"):
        protocol(alignment="sim2")


def test_quality_is_judged_on_the_frames_that_are_compared():
    for settings in ({}, {"as_published": True, "video_max_time": 250}):
        bound = protocol(**settings)
        compared = bound["mind.lcm.mse"].recipes["fidelity"].compared
        assert bound["mind.visual.imaging"].recipes["quality"].frames == compared
        assert bound["mind.visual.aesthetic"].recipes["aesthetic"].frames == compared
        assert bound["mind.dino.dino_mse"].recipes["feature_error"].compared == compared


def test_measures_of_one_family_share_one_look_at_the_frames():
    bound = protocol()
    for family in ("lcm", "gsc"):
        assert len({bound[f"mind.{family}.{name}"].recipes["fidelity"] for name in ("mse", "psnr", "ssim")}) == 1
