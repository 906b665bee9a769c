"""MIND on clips of which everything is known: what each fault does to it, and what a camera that turns too far does."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from scipy.spatial.transform import Rotation

import lookaway
from lookaway.core import Floats
from lookaway.engine.run import Run
from lookaway.reports.export.mind_result import export_mind_result, schema_text
from lookaway.world.exports import export_world
from lookaway.world.exports.mind import images_text
from lookaway.world.faults import FAULTS
from lookaway.world.grid import Grid
from tests.support.pose_conventions import from_colmap
from tests.support.rendered import copy_clips
from tests.support.runs import plain_means
from tests.support.world import FORM

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.render,  # all clips are rendered and measured before the first test
    pytest.mark.merge,
]

LIKENESS = ("mse", "psnr", "ssim")
CHANGES_BY_ITSELF = ("state_reset", "frozen_while_unseen")
"""Faults that need a target to which something happens: no mirror test has one."""
STILL = "camera_never_moves"
LOOKS_THE_SAME_BACKWARDS = (STILL, "dragged_along")
"""A still video mirrors itself, and so, all but exactly, does a target that follows the camera out and back."""
SEEN_ON_THE_WAY_BACK = tuple(fault for fault in FAULTS if fault not in (*CHANGES_BY_ITSELF, *LOOKS_THE_SAME_BACKWARDS))
FAINT = "vanish"
"""What shows least on the way back."""
BIASES = (0.25, 2.0, 10.0)
MEMORY, MIRRORED = "1st_data/mem_test", "1st_data/mirror_test"


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    """A dataset of one case that every model but `perfect` forgets in its own way."""
    root = tmp_path_factory.mktemp("mind")
    grid = Grid(
        families=("playroom",), events=("none",), cameras=("yaw_right_60",), seeds=(0,),
        faults=(*SEEN_ON_THE_WAY_BACK, *LOOKS_THE_SAME_BACKWARDS), severities=(1.0,),
    )  # fmt: skip
    copy_clips(grid.recipes(replace(FORM, width=128, height=72, fps=6)), root / "world")
    export_world(root / "world", "mind", root / "data")
    return root


@pytest.fixture(scope="module")
def run(world):
    names = [f"mind.corrected.{family}.{name}" for family in ("lcm", "gsc") for name in LIKENESS]
    return lookaway.evaluate(world / "data", world / "run", metrics=names)


@pytest.fixture(scope="module")
def scores(run) -> dict[tuple[str, str], float]:
    """By fault and metric; the larger, the better."""
    return larger_is_better(run)


def larger_is_better(run: Run) -> dict[tuple[str, str], float]:
    return {
        (model.partition("-")[0], metric.removeprefix("mind.corrected.")): mean * (-1 if metric.endswith(".mse") else 1)
        for (model, metric), mean in plain_means(run).items()
    }


@pytest.fixture(scope="module")
def faint(tmp_path_factory) -> dict[tuple[str, str], float]:
    """Of another scene, another camera and little of a fault; the larger, the better."""
    root = tmp_path_factory.mktemp("faint")
    grid = Grid(
        families=("garden",), events=("none",), cameras=("pan_right",), seeds=(0,), faults=(FAINT,), severities=(0.4,)
    )
    copy_clips(grid.recipes(replace(FORM, width=128, height=72, fps=6)), root / "world")
    export_world(root / "world", "mind", root / "data")
    names = [f"mind.corrected.gsc.{name}" for name in LIKENESS]
    return larger_is_better(lookaway.evaluate(root / "data", root / "run", metrics=names, subsets=[MIRRORED]))


@pytest.mark.parametrize("fault", [*SEEN_ON_THE_WAY_BACK, "dragged_along"])
@pytest.mark.parametrize("name", LIKENESS)
def test_a_fault_that_shows_on_the_way_back_lowers_the_consistency_of_the_scene(scores, fault, name):
    assert scores[fault, f"gsc.{name}"] < scores["perfect", f"gsc.{name}"]


@pytest.mark.parametrize("name", LIKENESS)
def test_so_does_a_faint_one_in_another_scene_before_another_camera(faint, name):
    assert faint[FAINT, f"gsc.{name}"] < faint["perfect", f"gsc.{name}"]


@pytest.mark.parametrize("name", LIKENESS)
def test_a_still_video_is_more_consistent_than_one_that_remembers(scores, name):
    assert scores[STILL, f"gsc.{name}"] > scores["perfect", f"gsc.{name}"]
    others = {fault: score for (fault, metric), score in scores.items() if metric == f"gsc.{name}" and fault != STILL}
    assert max(others, key=others.__getitem__) == "perfect"


def test_the_scene_of_a_model_that_remembers_all_is_consistent(scores):
    assert scores["perfect", "gsc.ssim"] > 0.99
    assert scores["perfect", "gsc.psnr"] > 40


@pytest.mark.parametrize("fault", LOOKS_THE_SAME_BACKWARDS)
def test_a_video_that_looks_the_same_backwards_is_consistent_and_only_the_truth_tells(scores, fault):
    assert scores[fault, "gsc.ssim"] > 0.99
    assert scores[fault, "lcm.ssim"] < 0.99


@pytest.mark.parametrize("fault", [*SEEN_ON_THE_WAY_BACK, *LOOKS_THE_SAME_BACKWARDS])
@pytest.mark.parametrize("name", LIKENESS)
def test_the_truth_is_closer_to_what_is_remembered_than_to_any_fault(scores, fault, name):
    assert scores[fault, f"lcm.{name}"] < scores["perfect", f"lcm.{name}"]


def test_what_is_remembered_is_the_truth_itself(scores):
    assert [scores["perfect", f"lcm.{name}"] for name in LIKENESS] == [0, 100, pytest.approx(1)]


def test_every_frame_from_the_mark_to_the_end_is_measured(world, run):
    (content,) = (json.loads(path.read_text()) for path in (world / "data/MIND-Data").rglob("action.json"))
    expected = content["total_time"] - content["mark_time"]
    for _, units in run.frames(["mind.corrected.lcm.mse"]):
        counts = np.bincount(units.rollouts)
        assert set(counts.tolist()) == {expected}
        assert units.frames.max() == expected - 1


@pytest.fixture(scope="module")
def published(world):
    names = ["mind.lcm.mse", "mind.gsc.mse", "mind.gsc.psnr", "mind.gsc.ssim"]
    return lookaway.evaluate(world / "data", world / "published", metrics=names)


def test_result_files_of_all_models_follow_the_card(published, tmp_path):
    paths = export_mind_result(published, tmp_path)
    assert len(paths) == 1 + len(SEEN_ON_THE_WAY_BACK) + len(LOOKS_THE_SAME_BACKWARDS)
    for path in paths:
        result = json.loads(path.read_text())
        Draft202012Validator(json.loads(schema_text())).validate(result)
        compared, mirrored = result["data"]
        assert "lcm" not in compared
        assert "last batch of 100" in compared["error"]
        (video,) = mirrored["video_results"]
        assert video["sample_frames"] == 2 * video["mark_time"] == 2 * video["gsc"]["length"]


def test_the_published_way_has_no_frame_of_so_short_a_clip_and_says_so(published):
    rows = [row for row in published.items() if row["metric"] == "mind.lcm.mse"]
    assert {(row["status"], row["reason"]) for row in rows} == {("abstention", "too_short")}
    settings = {"video_max_time": None, "alignment": "sim3"}
    assert published.lock.entries["dataset"]["settings"] == settings


def test_the_published_psnr_of_equal_frames_is_infinite_and_no_score(published, scores):
    rows = {row["model"].partition("-")[0]: row for row in published.items() if row["metric"] == "mind.gsc.psnr"}
    still = rows[STILL]
    assert (still["status"], still["reason"]) == ("abstention", "not_applicable")
    assert "compared frames equal their partners" in still["message"]
    finite = {model: row["value"] for model, row in rows.items() if row["status"] == "score"}
    assert len(finite) >= 3
    assert finite == pytest.approx({model: scores[model, "gsc.psnr"] for model in finite}, abs=1e-9)


def test_no_more_frames_are_compared_than_were_asked_for(world, tmp_path):
    found = lookaway.evaluate(
        world / "data",
        tmp_path / "run",
        metrics=["mind.corrected.lcm.mse"],
        models=["perfect"],
        subsets=[MEMORY],
        max_frames=3,
    )
    assert sorted(row["unit"] for row in found.units("mind.corrected.lcm.mse")) == ["f0", "f1", "f2"]
    assert found.lock.entries["dataset"]["settings"]["video_max_time"] == 3


# Poses


def cameras_in(path: Path) -> Floats:
    rows = [line.split() for line in path.read_text().split("\n") if line and not line.startswith("#")]
    numbers = np.array([row[1:8] for row in rows], float)
    return from_colmap(numbers[:, :4], numbers[:, 4:])


def turned_too_far(camera_to_world: Floats, degrees: float) -> Floats:
    """Every step with a turn to the side after it."""
    bias = np.eye(4)
    bias[:3, :3] = Rotation.from_euler("y", degrees, degrees=True).as_matrix()
    poses = [camera_to_world[0]]
    for before, after in pairwise(camera_to_world):
        poses.append(poses[-1] @ np.linalg.inv(before) @ after @ bias)
    return np.stack(poses)


@pytest.fixture(scope="module")
def errors(tmp_path_factory) -> dict[tuple[str, str, str], float]:
    """Of cameras that turn, go sideways and go ahead, by model, camera and metric; all but `perfect` turn too far."""
    root = tmp_path_factory.mktemp("poses")
    cameras = ("yaw_right_60", "pan_right", "forward_backward")
    grid = Grid(families=("playroom",), events=("none",), cameras=cameras, seeds=(0,))
    copy_clips(grid.recipes(replace(FORM, width=64, height=64, fps=12)), root / "world")
    export_world(root / "world", "mind", root / "data")
    for bias in BIASES:
        copy = root / f"data/models/{bias}"
        shutil.copytree(root / "data/models/perfect", copy)
        for path in copy.rglob("images.txt"):
            path.write_text(images_text(turned_too_far(cameras_in(path), bias)))
    found = lookaway.evaluate(
        root / "data",
        root / "run",
        metrics=["mind.corrected.action.rpe_trans", "mind.corrected.action.rpe_rot"],
        subsets=[MEMORY],
    )
    rows = list(found.items())
    assert {row["status"] for row in rows} == {"score"}
    assert len(rows) == 2 * len(cameras) * (1 + len(BIASES))
    return {(row["model"], row["scene"].split("-")[2], row["metric"].rpartition(".")[2]): row["value"] for row in rows}


@pytest.mark.parametrize("camera", ["yaw_right_60", "pan_right", "forward_backward"])
def test_true_poses_have_no_error(errors, camera):
    assert errors["perfect", camera, "rpe_rot"] < 1e-6
    assert errors["perfect", camera, "rpe_trans"] < 1e-6


@pytest.mark.parametrize("camera", ["yaw_right_60", "pan_right", "forward_backward"])
@pytest.mark.parametrize("bias", BIASES)
def test_the_error_of_rotation_is_the_bias_that_was_put_in(errors, camera, bias):
    assert errors[str(bias), camera, "rpe_rot"] == pytest.approx(bias, rel=0.02)
