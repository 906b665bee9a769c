from __future__ import annotations

from typing import Any

import pytest

from lookaway.core import UnknownName, describe
from lookaway.engine.locking import metric_key
from lookaway.suites.mind import Mind
from lookaway.suites.two_protocols import corrected_name

COMPARED = ("1st_data/mem_test", "1st_data/action_space_test", "3rd_data/mem_test", "3rd_data/action_space_test")
MIRRORED = ("1st_data/mirror_test", "3rd_data/mirror_test")
LIKENESS = ("mse", "psnr", "ssim", "lpips")
COMPARED_FRAMES = {("compared.dropped_batch", None, 100), ("compared.stated_end", False, True)}
SEEN_FRAMES = {("frames.dropped_batch", None, 100), ("frames.stated_end", False, True)}
NO_CEILING = {("metric.ceiling_db", 100.0, None)}
STEPS = {
    ("metric.published_groups", False, True),
    ("metric.needs_whole_reference", False, True),
    ("counts_images", False, True),
    ("kind", "supplied_poses", "vipe_poses"),
}
CHANGES = {
    **{f"mind.lcm.{name}": COMPARED_FRAMES for name in LIKENESS},
    **{f"mind.gsc.{name}": {("compared.even_only", False, True)} for name in LIKENESS},
    "mind.lcm.psnr": COMPARED_FRAMES | NO_CEILING,
    "mind.gsc.psnr": {("compared.even_only", False, True)} | NO_CEILING,
    "mind.visual.imaging": SEEN_FRAMES,
    "mind.visual.aesthetic": {*SEEN_FRAMES, ("halves_on_gpu", False, True)},
    "mind.dino.dino_mse": {*COMPARED_FRAMES, ("rescales_twice", False, True)},
    "mind.action.rpe_trans": STEPS,
    "mind.action.rpe_rot": STEPS,
}
"""What is published and not corrected, in each metric or its recipe: the defects of MIND's code."""


def protocol(**settings: Any):
    return {bound.name: bound for bound in Mind().metrics(settings)}


def described(bound) -> dict[str, Any]:
    return {"metric": describe(bound.metric), **{name: describe(recipe) for name, recipe in bound.recipes.items()}}


def differences(ours: Any, theirs: Any, path: str = "") -> set[tuple[str, Any, Any]]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        if ours.get("kind") != theirs.get("kind"):
            return {(f"{path}.kind", ours["kind"], theirs["kind"])}
        assert ours.keys() == theirs.keys()
        return {found for key in ours for found in differences(ours[key], theirs[key], f"{path}.{key}".strip("."))}
    return set() if ours == theirs else {(path, ours, theirs)}


def test_the_public_names_are_those_of_the_benchmark_and_each_has_a_corrected_one():
    names = [
        *(f"mind.lcm.{name}" for name in LIKENESS),
        "mind.visual.imaging",
        "mind.visual.aesthetic",
        "mind.dino.dino_mse",
        "mind.action.rpe_trans",
        "mind.action.rpe_rot",
        *(f"mind.gsc.{name}" for name in LIKENESS),
    ]
    found = protocol()
    assert list(found) == [*names, *(corrected_name(name) for name in names), "mind.revisited"]
    assert {name: found[name].protocol for name in names} == dict.fromkeys(names, "published")
    assert {found[corrected_name(name)].protocol for name in names} == {"corrected"}
    assert found["mind.revisited"].protocol is None


def test_mirrored_paths_are_asked_for_their_consistency_alone_and_only_they_are():
    for name, bound in protocol().items():
        is_mirrored = ".gsc." in name or bound.is_gate
        assert bound.subsets == (MIRRORED if is_mirrored else COMPARED)


def test_only_consistency_of_the_scene_depends_on_the_gate():
    for name, bound in protocol().items():
        assert bound.is_consistency == (".gsc." in name)
        assert bound.is_gate == (name == "mind.revisited")


def test_every_feature_that_a_metric_needs_or_uses_has_a_recipe():
    for bound in protocol().values():
        assert {*bound.metric.needs, *bound.metric.uses} == set(bound.recipes)


def test_every_picture_is_brought_to_the_canvas_of_the_benchmark():
    for name, bound in protocol().items():
        if ".action." not in name and not bound.is_gate:
            (recipe,) = bound.recipes.values()
            assert (recipe.canvas.height, recipe.canvas.width) == (720, 1280)


@pytest.mark.parametrize("prefix", ["mind", "mind.corrected"])
def test_the_constants_are_those_of_the_benchmark(prefix):
    bound = {name.replace(prefix, "mind"): found for name, found in protocol().items() if name.startswith(prefix)}
    for family in ("lcm", "gsc"):
        fidelity = bound[f"mind.{family}.ssim"].recipes["fidelity"]
        assert (fidelity.window, fidelity.sigma) == (11, 1.5)
        lpips = bound[f"mind.{family}.lpips"].recipes["lpips"]
        assert (lpips.trunk, lpips.weights.name, lpips.heads.name) == ("alex", "alexnet", "lpips-alex")
        assert bound[f"mind.{family}.psnr"].metric.ceiling_db == (None if prefix == "mind" else 100.0)
    assert bound["mind.visual.imaging"].recipes["quality"].weights.name == "musiq-spaq"
    assert bound["mind.visual.imaging"].recipes["quality"].height is None
    aesthetic = bound["mind.visual.aesthetic"].recipes["aesthetic"]
    assert (aesthetic.weights.name, aesthetic.head.name) == ("clip-vit-l-14", "laion-aesthetic-linear")
    assert bound["mind.dino.dino_mse"].recipes["feature_error"].weights.name == "dinov3-vitb16"
    for name in ("rpe_trans", "rpe_rot"):
        metric = bound[f"mind.action.{name}"].metric
        assert (metric.alignment, metric.max_frames, metric.min_steps) == ("sim3", 97, 8)
        assert (metric.max_rotation_degrees, metric.max_translation) == (179.0, 1e9)
        poses, reference = bound[f"mind.action.{name}"].recipes.values()
        assert reference.layout == "colmap"
        assert (poses.first_frames if prefix == "mind" else poses.layout) == (97 if prefix == "mind" else "colmap")


def test_as_corrected_every_frame_is_compared():
    for name, bound in protocol().items():
        for recipe in bound.recipes.values() if name.startswith("mind.corrected.") else ():
            for compared in filter(None, (getattr(recipe, "compared", None), getattr(recipe, "frames", None))):
                assert not any(
                    (getattr(compared, field, None)) for field in ("most", "dropped_batch", "stated_end", "even_only")
                )


@pytest.mark.parametrize("name", CHANGES)
def test_published_metrics_differ_in_the_faults_of_the_published_code_alone(name):
    found = protocol()
    ours, theirs = described(found[corrected_name(name)]), described(found[name])
    different = {(path.partition(".")[2] if path.split(".")[0] != "metric" else path, *values) for path, *values in
                 differences(ours, theirs)}  # fmt: skip
    assert different == CHANGES[name]


def test_all_names_say_what_is_published_in_them():
    assert CHANGES.keys() == {name for name, bound in protocol().items() if bound.protocol == "published"}


def test_a_limit_of_frames_is_for_answers_beside_true_videos_alone_and_not_for_actions():
    ours, theirs = protocol(), protocol(video_max_time=50)
    moved = {name for name in ours if metric_key(ours[name]) != metric_key(theirs[name])}
    assert moved == {name for name in ours if name.split(".")[-2] in ("lcm", "visual", "dino")}
    assert theirs["mind.lcm.mse"].recipes["fidelity"].compared.most == 50
    assert theirs["mind.visual.imaging"].recipes["quality"].frames.most == 50


def test_the_alignment_is_for_camera_paths_alone():
    for alignment in ("se3", "none"):
        ours, theirs = protocol(), protocol(alignment=alignment)
        moved = {name for name in ours if metric_key(ours[name]) != metric_key(theirs[name])}
        assert moved == {
            f"mind.{part}action.{name}" for part in ("", "corrected.") for name in ("rpe_trans", "rpe_rot")
        }
        assert {theirs[name].metric.alignment for name in moved} == {alignment}
    assert protocol(alignment="sim3") == protocol()
    with pytest.raises(UnknownName, match="Did you mean 'sim3'"):
        protocol(alignment="sim2")


def test_quality_is_judged_on_the_frames_that_are_compared():
    for prefix, settings in (("mind", {}), ("mind.corrected", {}), ("mind", {"video_max_time": 250})):
        bound = protocol(**settings)
        compared = bound[f"{prefix}.lcm.mse"].recipes["fidelity"].compared
        assert bound[f"{prefix}.visual.imaging"].recipes["quality"].frames == compared
        assert bound[f"{prefix}.visual.aesthetic"].recipes["aesthetic"].frames == compared
        assert bound[f"{prefix}.dino.dino_mse"].recipes["feature_error"].compared == compared


def test_measures_of_one_family_share_one_look_at_the_frames():
    bound = protocol()
    for family in ("lcm", "gsc", "corrected.lcm", "corrected.gsc"):
        assert len({bound[f"mind.{family}.{name}"].recipes["fidelity"] for name in ("mse", "psnr", "ssim")}) == 1
