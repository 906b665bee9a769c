from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from lookaway.core import Reason, Unmeasurable
from lookaway.metrics.near_pose_pairs import NearPosePairs
from tests.support.revisit_golden import rollout_of, timeline_of
from tests.support.room import trajectory

FPS = 8


def turning(yaws: np.ndarray, centres: np.ndarray | None = None) -> np.ndarray:
    path = np.tile(np.eye(4), (len(yaws), 1, 1))
    path[:, :3, :3] = Rotation.from_euler("y", np.asarray(yaws)[:, None], degrees=True).as_matrix()
    if centres is not None:
        path[:, :3, 3] = centres
    return path


OUT_AND_BACK = np.concatenate([np.linspace(0, 60, 41), np.linspace(60, 0, 41)[1:]])


def chosen(path: np.ndarray, **constants):
    poses = trajectory(path).to_feature()
    selector = NearPosePairs(**constants)
    return selector.choose(rollout_of(), timeline_of(len(path), FPS), {"poses": poses})


def test_a_turn_that_comes_back_pairs_the_same_angles():
    pairs = chosen(turning(OUT_AND_BACK))
    assert len(pairs.frames) == 5
    assert all(abs(OUT_AND_BACK[first] - OUT_AND_BACK[second]) < 1e-6 for first, second in pairs.frames)


def test_among_equally_near_cameras_the_longest_span_comes_first():
    assert chosen(turning(OUT_AND_BACK)).frames[0].tolist() == [0, 80]


def test_pairs_span_two_seconds_and_a_tenth_of_the_clip_and_lie_apart():
    frames = chosen(turning(OUT_AND_BACK), most=50).frames / FPS
    assert (frames[:, 1] - frames[:, 0]).min() >= 2
    for column in frames.T:
        assert np.diff(np.sort(column)).min() >= 0.5


def test_a_camera_that_goes_on_turning_never_returns():
    with pytest.raises(Unmeasurable, match="never returned") as error:
        chosen(turning(np.linspace(0, 160, 81)))
    assert error.value.reason == Reason.GATE_CLOSED


@pytest.mark.parametrize("turn", [0, 20])
def test_a_camera_that_keeps_its_view_never_left_it(turn):
    with pytest.raises(Unmeasurable, match="never left") as error:
        chosen(turning(OUT_AND_BACK * turn / 60))
    assert error.value.reason == Reason.GATE_CLOSED


def test_a_view_is_left_between_the_frames_of_every_pair():
    for first, second in chosen(turning(OUT_AND_BACK), most=50).frames:
        assert np.abs(OUT_AND_BACK[first:second] - OUT_AND_BACK[first]).max() > 30  # of a field of 70


def test_a_camera_that_turns_back_elsewhere_does_not_return():
    away = np.stack([np.linspace(0, 5, 81), np.zeros(81), np.zeros(81)], axis=1)
    with pytest.raises(Unmeasurable):
        chosen(turning(OUT_AND_BACK, away))


def test_a_longer_path_of_the_same_shape_has_the_same_pairs():
    there = np.concatenate([np.linspace(0, 1, 41), np.linspace(1, 0, 41)[1:]])
    walked = np.stack([there, np.zeros(81), np.zeros(81)], axis=1)
    small, large = (chosen(turning(OUT_AND_BACK, scale * walked)) for scale in (1, 20))
    assert small.frames.tolist() == large.frames.tolist()
