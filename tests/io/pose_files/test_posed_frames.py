from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookaway.core import Rollout, Sampler, Timeline, describe
from lookaway.io.pose_files.source import PosedFrames
from lookaway.io.sampling import OverSegments, UniformFrames
from tests.support.watching import rollout_of


def steady(frames: int) -> Timeline:
    return Timeline(np.arange(frames) / 16, 64, 48)


def with_poses(folder: Path, count: int, **more) -> Rollout:
    path = folder / "results.npz"
    np.savez(path, depth=np.ones((count, 2, 3), np.float16), **more)
    return rollout_of(folder / "video.mp4", artifacts={"poses": path})


def spread_poses(count: int, frames: int) -> list[int]:
    return np.rint(np.linspace(0, frames - 1, count)).astype(int).tolist()


def test_sixty_four_poses_of_401_frames_leave_32_frames_that_have_a_pose(tmp_path):
    given = with_poses(tmp_path, 64)
    posed, plain = set(spread_poses(64, 401)), UniformFrames(32).indices(steady(401), given)
    assert len(posed & set(plain)) < 8
    moved = PosedFrames(UniformFrames(32)).indices(steady(401), given)
    assert len(moved) == 32
    assert set(moved) <= posed
    assert np.abs(np.subtract(moved, plain)).max() <= 4


@pytest.mark.parametrize("inner", [UniformFrames(32), OverSegments(32)])
@pytest.mark.parametrize("named", [False, True])
def test_where_every_frame_has_a_pose_no_frame_is_moved(tmp_path, inner: Sampler, named):
    given = with_poses(tmp_path, 161, **({"frame_indices": np.arange(161)} if named else {}))
    assert PosedFrames(inner).indices(steady(161), given) == inner.indices(steady(161), given)


def test_frames_move_to_those_that_the_file_names_and_the_first_stays(tmp_path):
    given = with_poses(tmp_path, 3, frame_indices=np.array([3, 6, 20]))
    assert PosedFrames(UniformFrames(5)).indices(steady(41), given) == (0, 3, 6, 20)


def test_without_poses_that_can_be_read_all_frames_stay(tmp_path):
    sampler, plain = PosedFrames(UniformFrames(3)), (0, 4, 8)
    assert sampler.indices(steady(9), rollout_of(tmp_path / "video.mp4")) == plain
    broken = tmp_path / "broken.npz"
    for content in (None, b"PK no archive"):
        if content:
            broken.write_bytes(content)
        assert sampler.indices(steady(9), rollout_of(tmp_path / "v.mp4", artifacts={"poses": broken})) == plain
    assert sampler.indices(steady(9), with_poses(tmp_path, 10)) == plain


@given(frames=st.integers(1, 200), count=st.integers(1, 200), asked=st.integers(1, 40))
def test_each_frame_is_posed_but_the_first_and_none_has_a_nearer_pose(tmp_path_factory, frames, count, asked):
    count = min(count, frames)
    given = with_poses(tmp_path_factory.mktemp("poses"), count)
    posed, plain = spread_poses(count, frames), UniformFrames(asked).indices(steady(frames), given)
    moved = PosedFrames(UniformFrames(asked)).indices(steady(frames), given)
    assert list(moved) == sorted(set(moved))
    assert set(moved[1:]) <= set(posed)
    for wanted in plain:
        assert min(abs(wanted - frame) for frame in moved) == min(abs(wanted - frame) for frame in (*posed, plain[0]))


def test_the_lock_names_the_sampler_and_what_it_moves():
    assert describe(PosedFrames(UniformFrames(32))) == {
        "kind": "PosedFrames",
        "frames": {"kind": "UniformFrames", "count": 32},
    }
