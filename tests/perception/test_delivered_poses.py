from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Abstention, ArtifactError, Reason, Trajectory
from lookaway.metrics.camera_return import DeliveryLoss, ReachMissing, ReturnError
from lookaway.perception.poses.delivered_poses import DeliveredPoses
from tests.support import panorama
from tests.support.revisit_golden import rollout_of, timeline_of

ASKED = tuple(float(angle) for angle in 30 - 30 * np.cos(np.linspace(0, 2 * np.pi, 33)))
"""60 degrees and back."""


def turned(angles) -> np.ndarray:
    return Trajectory.from_feature(panorama.poses(tuple(angles))).camera_to_world


def written(path: Path, **arrays) -> Path:
    np.savez(path, **arrays)
    return path


def rollout_with(folder: Path, given, frames=None, asked=ASKED):
    poses = turned(given)
    arrays = {"c2w": np.linalg.inv(poses[0]) @ poses, "frame": np.arange(len(poses)) if frames is None else frames}
    artifacts = {"delivered_poses": written(folder / "delivered.npz", **arrays)}
    if asked is not None:
        artifacts["commanded_poses"] = written(folder / "request.npz", c2w=turned(asked), fps=np.array(16))
    return rollout_of(artifacts=artifacts)


def read(rollout, frames=33):
    recipe = DeliveredPoses()
    assert recipe.declines(rollout) is None
    return recipe.read(rollout, timeline_of(frames), {})


def test_a_path_that_was_delivered_as_requested_has_lost_nothing(tmp_path):
    feature = read(rollout_with(tmp_path, ASKED))
    assert DeliveryLoss().measure(rollout_of(), {"delivered_poses": feature}).value == pytest.approx(0, abs=1e-4)


def test_a_model_that_does_what_it_was_told_misses_nothing_though_it_was_told_half(tmp_path):
    half = [angle / 2 for angle in ASKED]
    delivered = read(rollout_with(tmp_path, half))
    assert DeliveryLoss().measure(rollout_of(), {"delivered_poses": delivered}).value == pytest.approx(30, abs=0.01)
    done = panorama.poses(tuple(half))
    against_delivered = {"poses": done, "commanded_poses": delivered}
    against_request = {"poses": done, "commanded_poses": panorama.poses(ASKED)}
    assert ReachMissing().measure(rollout_of(), against_delivered).value == pytest.approx(0, abs=0.01)
    assert ReachMissing().measure(rollout_of(), against_request).value == pytest.approx(50, abs=0.01)


def test_a_path_that_cannot_come_back_has_lost_its_end(tmp_path):
    stays = [*ASKED[:17], *([60.0] * 16)]
    delivered = read(rollout_with(tmp_path, stays))
    outcome = DeliveryLoss().measure(rollout_of(), {"delivered_poses": delivered})
    assert outcome.value == outcome.detail["end_lost_degrees"] == pytest.approx(60, abs=0.01)
    assert outcome.detail["peak_lost_degrees"] == pytest.approx(0, abs=0.01)
    obeyed = {"poses": panorama.poses(tuple(stays)), "commanded_poses": delivered}
    assert ReturnError().measure(rollout_of(), obeyed).value == pytest.approx(0, abs=0.01)


def test_poses_belong_to_their_output_frames(tmp_path):
    frames = np.arange(0, 33, 4)
    found = Trajectory.from_feature(read(rollout_with(tmp_path, ASKED[::4], frames)))
    assert found.frame_indices.tolist() == frames.tolist()
    shorter = Trajectory.from_feature(read(rollout_with(tmp_path, ASKED[::4], frames), frames=20))
    assert shorter.frame_indices.tolist() == [0, 4, 8, 12, 16]


def test_without_a_request_nothing_is_known_to_be_lost(tmp_path):
    feature = read(rollout_with(tmp_path, ASKED, asked=None))
    outcome = DeliveryLoss().measure(rollout_of(), {"delivered_poses": feature})
    assert isinstance(outcome, Abstention)
    assert outcome.reason is Reason.MISSING_INPUT


def test_a_rollout_without_a_delivered_path_is_declined_with_what_to_do():
    assert "lookaway collect" in DeliveredPoses().declines(rollout_of()).message


@pytest.mark.parametrize("frames", [np.arange(32), np.arange(33)[::-1], np.arange(33) - 1, np.arange(33) + 33])
def test_frames_that_do_not_fit_the_poses_are_refused(tmp_path, frames):
    with pytest.raises(ArtifactError, match="frame"):
        read(rollout_with(tmp_path, ASKED, frames))
