"""What the simulated world exports in MemoBench's layout comes back whole."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from lookaway.core import FrameRequest, Trajectory
from lookaway.engine import feature_job
from lookaway.engine.evaluate import evaluate
from lookaway.engine.reading import read
from lookaway.engine.run import Run
from lookaway.io.video import Video, probe
from lookaway.metrics.camera_controllability import RotationFollowed
from lookaway.perception.poses.reference_poses import ReferencePoses
from lookaway.suites.memobench.layout import MemoBenchReader
from lookaway.suites.memobench.protocol import POSES
from lookaway.world.exports import export_world
from tests.support.command import lookaway
from tests.support.exported import FRAMES, LEFT, RIGHT, clip_of, world_root
from tests.support.memobench import write_pictures
from tests.support.ranking import require_leads_nothing
from tests.support.watching import perceive

pytestmark = [pytest.mark.render, pytest.mark.merge]

CASES = {"synthetic/playroom_001": RIGHT, "synthetic/playroom_002": LEFT}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("memobench") / "out"
    export_world(world_root(), "memobench", folder)
    for clip, recipe in CASES.items():
        with Video(clip_of(recipe).video) as video:
            _, first = next(iter(video.frames([FrameRequest(frozenset([0]))])))
        frozen = folder / "output/frozen" / clip.replace("synthetic", "Synthetic") / "frames"
        write_pictures(frozen, [first.pixels] * FRAMES)
    return folder


@pytest.fixture(scope="module")
def reader(root):
    return MemoBenchReader(root)


@pytest.fixture(scope="module")
def rollouts(reader):
    return {(rollout.model, rollout.case.id): rollout for rollout in reader.rollouts()}


def test_every_exported_clip_is_read_without_a_problem(rollouts, reader):
    assert reader.problems == []
    there = {key for key, rollout in rollouts.items() if rollout.video.exists()}
    assert there == {
        *((model, case) for model in ("perfect", "still", "frozen") for case in CASES),
        ("still_take1", "synthetic/playroom_002"),
    }
    assert rollouts.keys() - there == {("still_take1", "synthetic/playroom_001")}
    for (model, case), rollout in rollouts.items():
        if model in ("perfect", "still"):
            assert rollout.video.samefile(clip_of(CASES[case], model).video)


def test_phases_subject_and_prompt_are_those_of_the_world(rollouts):
    for name, recipe in CASES.items():
        card, case = clip_of(recipe).card, rollouts["perfect", name].case
        assert case.reference.phase_starts == {
            "visible": 0,
            "disappeared": card.phases.disappeared[0],
            "reappeared": card.phases.reappeared[0],
        }
        assert (case.scene, case.target.name) == (card.family, card.target.name)
        assert card.caption in case.prompt[0]
        assert case.reference.end == probe(case.reference.video).frame_count == FRAMES


@pytest.mark.parametrize("source", ["poses.npy", "camera_full2.csv"])
def test_the_camera_of_the_reference_is_that_of_the_world(root, rollouts, source):
    rollout = rollouts["perfect", "synthetic/playroom_002"]
    artifacts = dict(rollout.case.reference.artifacts)
    if source.endswith(".csv"):
        folder = root / "data/Synthetic_processed/playroom/playroom_002"
        poses = folder / "2/poses.npy"
        hidden = poses.rename(poses.with_name("hidden.npy"))
        reader = MemoBenchReader(root)
        rollout = next(found for found in reader.rollouts() if found.case.id == "synthetic/playroom_002")
        hidden.rename(poses)
        assert rollout.case.reference.artifacts == {"poses": folder / source}
    else:
        assert artifacts["poses"].name == source
    trajectory = Trajectory.from_feature(perceive(ReferencePoses(layout="memobench"), rollout))
    arrays = clip_of(LEFT).arrays()
    np.testing.assert_allclose(trajectory.camera_to_world, arrays.camera_to_world, atol=1e-6)
    np.testing.assert_allclose(trajectory.intrinsics, np.tile(arrays.intrinsics, (FRAMES, 1, 1)), atol=1e-9)


@pytest.fixture(scope="module")
def run(root, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    names = ("visible.ssim", "reappeared.ssim", "camera_controllability", "motion_gate")
    repaired = [f"memobench.corrected.{name}" for name in names]
    evaluate(read(root, suite="memobench"), folder, metrics=[*repaired, "further.rotation_followed"])
    return Run(folder)


@pytest.fixture(scope="module")
def values(run):
    """Of each model and metric, by case."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for row in run.items():
        if row["status"] == "score" and row["model"] in ("perfect", "still", "frozen"):
            name = re.sub(r"^(memobench\.(corrected\.)?|further\.)", "", row["metric"])
            found.setdefault((row["model"], name), {})[row["case"]] = row["value"]
    return found


def test_a_camera_that_never_moves_passes_the_published_gate_and_not_the_realised_one(values):
    for model in ("perfect", "still", "frozen"):
        assert set(values[model, "motion_gate"].values()) == {1.0}
    assert set(values["perfect", "revisited"].values()) == {1.0}
    for model in ("still", "frozen"):
        assert set(values[model, "revisited"].values()) == {0.0}


@pytest.mark.parametrize("model", ["still", "frozen"])
def test_a_still_video_is_not_tested_and_has_no_mean_after_the_first_phase(run, model):
    cells = {
        (cell.model, cell.metric.removeprefix("memobench.").removeprefix("corrected.")): cell
        for cell in run.table().cells
    }
    assert cells[model, "reappeared.ssim"].is_untested
    assert cells[model, "reappeared.ssim"].estimate is None
    assert cells["perfect", "reappeared.ssim"].estimate.scored == len(CASES)
    assert cells[model, "visible.ssim"].estimate.scored == len(CASES)


@pytest.fixture(scope="module")
def published(root, tmp_path_factory):
    names = [f"memobench.{phase}.{name}" for phase in ("reappeared", "all") for name in ("psnr", "ssim")]
    return evaluate(read(root, suite="memobench"), tmp_path_factory.mktemp("published") / "run", metrics=names)


@pytest.mark.parametrize("phase", ["reappeared", "all"])
def test_a_frozen_video_has_the_published_fidelity_of_its_one_picture_to_every_frame_of_the_reference(
    root, published, phase
):
    found = {(row["case"], row["metric"]): row["value"] for row in published.items() if row["model"] == "frozen"}
    for case, recipe in CASES.items():
        scene, number = case.removeprefix("synthetic/").split("_")
        pictures = root / f"data/Synthetic_processed/{scene}/{scene}_{number}/RGB{int(number)}"
        truth = [cv2.imread(str(path)) for path in sorted(pictures.iterdir())]
        frozen = cv2.imread(str(min((root / f"output/frozen/Synthetic/{scene}_{number}/frames").iterdir())))
        compared = truth[clip_of(recipe).card.phases.reappeared[0] if phase == "reappeared" else 0 :]
        psnr = np.mean([cv2.PSNR(frozen, picture) for picture in compared])
        ssim = np.mean([ssim_by_hand(frozen, picture) for picture in compared])
        assert found[case, f"memobench.{phase}.psnr"] == pytest.approx(psnr, abs=1e-3)
        assert found[case, f"memobench.{phase}.ssim"] == pytest.approx(ssim, abs=1e-4)


def ssim_by_hand(one, other):
    """As MemoBench's code: grey, a Gaussian of 11 pixels, the mean of the map."""
    x, y = (cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY).astype(np.float64) for picture in (one, other))
    mx, my, xx, yy, xy = (cv2.GaussianBlur(part, (11, 11), 1.5) for part in (x, y, x * x, y * y, x * y))
    c1, c2 = 2.55**2, 7.65**2
    alike = (2 * mx * my + c1) * (2 * (xy - mx * my) + c2)
    return np.mean(alike / ((mx**2 + my**2 + c1) * (xx - mx**2 + yy - my**2 + c2)))


def test_a_frozen_video_leads_no_column_of_memory(run, published):
    require_leads_nothing(run, "frozen")
    require_leads_nothing(published, "frozen")


def test_a_camera_that_follows_scores_more_than_one_that_never_moves(values):
    followed, still = (values[model, "camera_controllability"] for model in ("perfect", "still"))
    assert min(followed.values()) > 0.97
    assert max(still.values()) < 0.8
    assert min(values["perfect", "rotation_followed"].values()) > 0.98
    assert max(values["still", "rotation_followed"].values()) < 0.02


@pytest.fixture(scope="module")
def tracked(rollouts):
    """The camera that is tracked in a clip, and that of its reference."""
    rollout = rollouts["perfect", "synthetic/playroom_002"]
    return rollout, perceive(POSES, rollout), perceive(ReferencePoses(layout="memobench"), rollout)


@pytest.mark.parametrize("scale", [0.4, 0.5, 0.75, 0.9, 1.0, 1.2])
def test_a_scale_of_all_turns_is_found_within_two_percent(tracked, scale):
    rollout, poses, reference = tracked  # it turns by 60 degrees: a smaller scale would take the reference past 180
    asked = Trajectory.from_feature(reference)
    first = Rotation.from_matrix(asked.rotations[0])
    turns = (first.inv() * Rotation.from_matrix(asked.rotations)).as_rotvec()
    matrices = asked.camera_to_world.copy()
    matrices[:, :3, :3] = (first * Rotation.from_rotvec(turns / scale)).as_matrix()
    features = {"poses": poses, "reference_poses": replace(asked, camera_to_world=matrices).to_feature()}
    expected = scale if scale <= 1 else 2 - scale
    assert RotationFollowed().measure(rollout, features).value == pytest.approx(expected, abs=0.02)


def test_the_clip_that_the_reference_was_made_of_is_nearly_equal_to_it(values):
    assert min(values["perfect", "reappeared.ssim"].values()) > 0.98


@pytest.mark.nightly
def test_one_command_measures_three_suites_and_decodes_each_video_once(root, tmp_path, monkeypatch):
    opened: Counter[Path] = Counter()
    finished: Counter[tuple[str, str]] = Counter()

    class CountingVideo(Video):
        def __init__(self, path: Path) -> None:
            opened[path] += 1
            super().__init__(path)

    original = feature_job.FeatureJob._finish

    def counting(self, recipe):
        finished[self.rollout.id, self.extractors.key(recipe)] += 1
        original(self, recipe)

    monkeypatch.setattr(feature_job, "Video", CountingVideo)
    monkeypatch.setattr(feature_job.FeatureJob, "_finish", counting)
    suites = ("memobench", "mind", "mbench-a")
    chosen = ("--models", "perfect", "--metrics", ",".join(suites), "--use", "poses=tracked_poses")
    done = lookaway("eval", str(root), "--suite", "memobench", "-o", str(tmp_path / "run"), *chosen, "--quiet")
    assert done.code == 0, done.err
    scored = {row["metric"].partition(".")[0] for row in Run(tmp_path / "run").items() if row["status"] == "score"}
    assert scored >= {"memobench", "mind", "mbencha"}
    assert len(opened) == len(CASES)
    assert set(opened.values()) == {1}
    assert set(finished.values()) == {1}
