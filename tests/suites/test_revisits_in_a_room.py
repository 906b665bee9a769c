"""Selectors on rendered clips whose camera is known: signs of flow and poses, not only of arrays."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from lookaway.core import Feature, Reason, Unmeasurable
from lookaway.io.sampling import EveryFrame
from lookaway.metrics.arc_pairs import ArcPairs
from lookaway.metrics.near_pose_pairs import NearPosePairs
from lookaway.perception.motion.dis_flow import DisFlow
from lookaway.perception.similarity.pair_fidelity import PairFidelity
from tests.support.revisit_golden import extracted, rollout_of, timeline_of
from tests.support.room import Room, trajectory

pytestmark = pytest.mark.merge

FPS = 8
WIDTH, HEIGHT = 160, 96
ROOM = Room(seed=3, width=WIDTH, height=HEIGHT)
HALF = np.linspace(0, 1, 17)
OUT = np.concatenate([HALF, HALF[::-1][1:]])


def turning(degrees: np.ndarray) -> np.ndarray:
    path = np.tile(np.eye(4), (len(degrees), 1, 1))
    path[:, :3, :3] = Rotation.from_euler("y", degrees[:, None], degrees=True).as_matrix()
    return path


def walking(metres: np.ndarray) -> np.ndarray:
    path = np.tile(np.eye(4), (len(metres), 1, 1))
    path[:, 2, 3] = metres
    return path


PATHS = {"left": turning(-60 * OUT), "forward": walking(1.2 * OUT - 1), "away": turning(np.linspace(0, -70, len(OUT)))}


@pytest.fixture(scope="module")
def flows() -> dict[str, Feature]:
    recipe = DisFlow(frames=EveryFrame(1), height=HEIGHT)
    return {
        name: extracted(recipe, [ROOM.render(pose) for pose in path], rollout_of(), fps=FPS)
        for name, path in PATHS.items()
    }


def arcs(flow: Feature, action: str) -> np.ndarray:
    timeline = timeline_of(len(OUT), FPS, WIDTH, HEIGHT)
    return ArcPairs(min_span_seconds=1.0).choose(rollout_of(action=action), timeline, {"flow": flow}).frames


@pytest.mark.parametrize(("path", "action"), [("left", "left_then_right"), ("forward", "W,S")])
def test_the_picture_of_a_camera_that_goes_and_comes_back_has_pairs_of_one_place(flows, path, action):
    frames = arcs(flows[path], action)
    assert len(frames) >= 5
    assert np.abs(OUT[frames[:, 0]] - OUT[frames[:, 1]]).max() < 0.15


@pytest.mark.parametrize(
    ("path", "action"), [("left", "right_then_left"), ("forward", "S,W"), ("away", "left_then_right")]
)
def test_a_camera_that_does_not_do_what_its_action_says_is_closed_by_a_gate(flows, path, action):
    with pytest.raises(Unmeasurable, match="direction") as error:
        arcs(flows[path], action)
    assert error.value.reason == Reason.GATE_CLOSED


def test_near_poses_of_a_room_that_is_remembered_are_more_alike_than_of_one_that_is_not():
    path = PATHS["left"]
    poses = {"poses": trajectory(path).to_feature()}
    recipe = PairFidelity(pairs=NearPosePairs(min_span_seconds=1.0))
    remembered = [ROOM.render(pose) for pose in path]
    other_room = Room(seed=4, width=WIDTH, height=HEIGHT)
    forgotten = [*remembered[:17], *(other_room.render(pose) for pose in path[17:])]
    same, other = (
        extracted(recipe, pictures, rollout_of(), fps=FPS, features=poses)["ssim"]
        for pictures in (remembered, forgotten)
    )
    assert same.min() > 0.95
    assert other.max() < 0.5
