from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Reason, Timeline, Unmeasurable
from lookaway.io.pose_files.source import PosedFrames
from lookaway.io.sampling import EveryFrame, UniformFrames
from lookaway.perception.depth.supplied_depth import SuppliedDepth
from lookaway.perception.truth import TrueDepth
from tests.support.watching import check_documented, rollout_of

EVERY = SuppliedDepth(EveryFrame())
TIMELINE = Timeline(np.arange(9) / 8, 120, 80)


def ramps(count=9, rows=8, columns=12):
    """Depth that tells its frame, row and column."""
    return 1 + np.add.outer(np.arange(count), np.add.outer(np.arange(rows) / 8, np.arange(columns) / 256)).astype("f4")


def rollout(folder, **arrays):
    path = folder / "results.npz"
    np.savez(path, **arrays)
    return rollout_of(folder / "video.mp4", artifacts={"poses": path})


def read(recipe, given):
    return recipe.load().start(given, TIMELINE, {}).finish()


def refused(recipe, given) -> Unmeasurable:
    with pytest.raises(Unmeasurable) as error:
        read(recipe, given)
    return error.value


def test_depth_comes_back_as_it_was_written(tmp_path):
    feature = read(EVERY, rollout(tmp_path, depth=ramps()))
    check_documented(EVERY, feature)
    np.testing.assert_allclose(feature["depth"], ramps(), rtol=5e-4)
    assert feature["frame_indices"].tolist() == list(range(9))
    assert feature["size"].tolist() == [120, 80]


def test_it_holds_the_arrays_that_true_depth_holds(tmp_path):
    feature = read(EVERY, rollout(tmp_path, depth=ramps()))
    assert set(feature.arrays) == set(TrueDepth.arrays)
    for name, text in TrueDepth.arrays.items():
        assert EVERY.arrays[name].partition(":")[0] == text.partition(":")[0]


def test_only_sampled_frames_are_kept(tmp_path):
    feature = read(SuppliedDepth(UniformFrames(3)), rollout(tmp_path, depth=ramps()))
    assert feature["frame_indices"].tolist() == [0, 4, 8]
    np.testing.assert_allclose(feature["depth"], ramps()[[0, 4, 8]], rtol=5e-4)


def test_frames_are_those_that_the_file_names(tmp_path):
    given = rollout(tmp_path, depth=ramps(3), frame_indices=np.array([1, 4, 7]))
    assert read(EVERY, given)["frame_indices"].tolist() == [1, 4, 7]
    sampled = read(SuppliedDepth(UniformFrames(3)), given)
    assert sampled["frame_indices"].tolist() == [4]
    np.testing.assert_allclose(sampled["depth"], ramps(3)[[1]], rtol=5e-4)


def test_with_fewer_poses_than_frames_about_as_many_frames_have_depth_as_are_sampled(tmp_path):
    given, timeline = rollout(tmp_path, depth=ramps(64)), Timeline(np.arange(401) / 16, 120, 80)
    plain, posed = (
        SuppliedDepth(frames).load().start(given, timeline, {}).finish()["frame_indices"].tolist()
        for frames in (UniformFrames(32), PosedFrames(UniformFrames(32)))
    )
    assert len(plain) == 4
    assert len(posed) == 32


def test_frames_that_are_not_named_are_spread_over_the_video(tmp_path):
    assert read(EVERY, rollout(tmp_path, depth=ramps(3)))["frame_indices"].tolist() == [0, 4, 8]


def test_tall_maps_are_thinned_to_the_middle_of_each_part(tmp_path):
    feature = read(replace(EVERY, height=4), rollout(tmp_path, depth=ramps()))
    np.testing.assert_allclose(feature["depth"], ramps()[:, 1::2, 1::2], rtol=5e-4)


def test_low_maps_stay_as_they_are(tmp_path):
    assert read(replace(EVERY, height=8), rollout(tmp_path, depth=ramps()))["depth"].shape == (9, 8, 12)
    odd = read(replace(EVERY, height=5), rollout(tmp_path, depth=ramps()))
    assert odd["depth"].shape == (9, 5, 8)


def test_maps_take_what_plans_count_with(tmp_path):
    recipe = SuppliedDepth(UniformFrames(2))
    feature = read(recipe, rollout(tmp_path, depth=np.ones((9, 280, 504), "f4")))
    assert feature.nbytes / 2 == pytest.approx(recipe.bytes_per_frame, rel=0.1)


def test_a_narrow_map_keeps_a_column(tmp_path):
    assert read(replace(EVERY, height=2), rollout(tmp_path, depth=ramps(columns=1)))["depth"].shape == (9, 2, 1)


@pytest.mark.parametrize("unknown", [np.nan, np.inf, -np.inf, -2.0, 0.0, 1e6, 1e-7])
def test_what_is_no_depth_or_beyond_half_precision_is_unknown(tmp_path, unknown):
    depth = ramps()
    depth[4, 2, 3] = unknown
    found = read(EVERY, rollout(tmp_path, depth=depth))["depth"]
    assert found[4, 2, 3] == 0
    assert (found > 0).sum() == depth.size - 1


def test_whole_numbers_are_depth_too(tmp_path):
    assert read(EVERY, rollout(tmp_path, depth=np.full((9, 4, 6), 3, np.uint16)))["depth"].max() == 3


def test_a_video_without_poses_has_no_depth(tmp_path):
    assert EVERY.declines(rollout_of(tmp_path / "video.mp4")).reason is Reason.MISSING_INPUT
    gone = rollout_of(tmp_path / "video.mp4", artifacts={"poses": tmp_path / "results.npz"})
    assert EVERY.declines(gone).reason is Reason.MISSING_INPUT
    assert EVERY.declines(rollout(tmp_path, depth=ramps())) is None


def test_depth_of_none_of_the_sampled_frames_is_missing(tmp_path):
    given = rollout(tmp_path, depth=ramps(2), frame_indices=np.array([1, 2]))
    error = refused(SuppliedDepth(UniformFrames(2)), given)
    assert error.reason is Reason.MISSING_INPUT
    assert "depth of 2 frames, but of none of the 2 sampled ones" in str(error)


@pytest.mark.parametrize(
    "arrays",
    [
        {"depth": np.ones((9, 4))},
        {"depth": np.ones((0, 4, 6))},
        {"depth": np.array(1.0)},
        {"depth": np.ones((9, 4, 6), bool)},
        {"depth": np.ones((10, 4, 6))},
        {"depth": np.ones((2, 4, 6)), "frame_indices": np.array([3, 9])},
        {"depth": np.ones((2, 4, 6)), "frame_indices": np.array([3])},
        {"extrinsics": np.ones((9, 3, 4))},
    ],
    ids=lambda arrays: str({name: array.shape for name, array in arrays.items()}),
)
def test_a_file_of_another_shape_is_refused(tmp_path, arrays):
    assert refused(EVERY, rollout(tmp_path, **arrays)).reason is Reason.INVALID_INPUT


def test_a_damaged_file_is_refused(tmp_path):
    given = rollout(tmp_path, depth=ramps())
    path: Path = given.artifacts["poses"]
    path.write_bytes(path.read_bytes()[:-300])
    assert refused(EVERY, given).reason is Reason.INVALID_INPUT
