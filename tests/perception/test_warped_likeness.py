from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import cv2
import numpy as np
import pytest

from lookaway.core import Feature, MaskTrack, Pairs, Reason, Timeline, Trajectory, Unmeasurable
from lookaway.io.sampling import EveryFrame
from lookaway.metrics.fold_pairs import FoldPairs
from lookaway.perception.similarity.frame_fidelity import ssim
from lookaway.perception.similarity.warped_similarity import WarpedSimilarity
from lookaway.perception.truth import TrueDepth, TrueMasks, TruePoses
from lookaway.suites.folder.layout import world_rollouts
from tests.support.rendered import copy_small
from tests.support.room import pose
from tests.support.watching import check_documented, perceive, perceive_frames, rollout_of

WIDTH, HEIGHT = 96, 64
LENS = np.array([[80.0, 0, 48], [0, 80, 32], [0, 0, 1]])
DEPTH = 4.0
STILL = np.tile(np.eye(4), (3, 1, 1))


@dataclass(frozen=True, slots=True)
class ChosenPairs:
    """The very pairs that a test names."""

    version: ClassVar[int] = 1

    frames: tuple[tuple[int, int], ...] = ((0, 2),)

    def select(self, rollout, frame_count, trajectory):
        arrays = (trajectory.camera_to_world, trajectory.intrinsics, trajectory.median_depth, trajectory.frame_indices)
        assert len({len(array) for array in arrays}) == 1
        return Pairs(np.array(self.frames), "chosen")


RECIPE = WarpedSimilarity(TruePoses(), TrueDepth(), TrueMasks(), ChosenPairs(), height=HEIGHT)
FOLD = FoldPairs(most=20, min_posed_frames=4)


def textured(seed=0, width=WIDTH, height=HEIGHT):
    coarse = np.random.default_rng(seed).uniform(30, 225, (height // 4, width // 4, 3)).astype(np.float32)
    return cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC).clip(0, 255).astype(np.uint8)


def rectangle(top=20, left=30, height=20, width=24):
    mask = np.zeros((HEIGHT, WIDTH), bool)
    mask[top : top + height, left : left + width] = True
    return mask


EMPTY = rectangle(0, 0, 0, 0)


def poses_of(path, frames=None):
    count = len(path)
    return Trajectory(
        camera_to_world=np.asarray(path),
        intrinsics=np.tile(LENS, (count, 1, 1)),
        frame_indices=np.arange(count) if frames is None else np.array(frames),
        median_depth=np.full(count, DEPTH),
        width=WIDTH,
        height=HEIGHT,
        frame_count=count,
    ).to_feature()


def depth_of(count, frames=None):
    return Feature(
        {
            "depth": np.full((count, HEIGHT // 4, WIDTH // 4), DEPTH, np.float16),
            "frame_indices": np.arange(count) if frames is None else np.array(frames),
            "size": np.array([WIDTH, HEIGHT]),
        }
    )


def masks_of(masks, frames=None, things=None):
    frames = range(len(masks)) if frames is None else frames
    return MaskTrack.of(masks, list(frames), things or [0] * len(masks), [1.0] * len(masks)).to_feature()


def similarity(pictures, masks, *, recipe=RECIPE, path=None, **features):
    path = np.tile(np.eye(4), (len(pictures), 1, 1)) if path is None else path
    given = {"poses": poses_of(path), "depth": depth_of(len(pictures)), "masks": masks_of(masks), **features}
    return perceive_frames(recipe, pictures, given)


def luma(picture):
    return picture.astype(np.float64) @ [0.299, 0.587, 0.114]


def test_a_scene_that_stands_still_is_like_itself():
    feature = similarity([textured()] * 3, [rectangle()] * 3)
    check_documented(RECIPE, feature)
    assert feature["ssim"].tolist() == pytest.approx([1.0])
    assert feature["pixels"].tolist() == [20 * 24]
    assert feature["frames"].tolist() == [[0, 2]]
    assert feature.detail == {"rule": "chosen", "too_few_pixels": []}


def test_another_texture_is_not():
    feature = similarity([textured(), textured(), textured(seed=1)], [rectangle()] * 3)
    assert abs(feature["ssim"][0]) < 0.3


def test_what_lies_half_a_window_outside_the_mask_changes_nothing():
    first, last, around = textured(), textured(seed=1), rectangle(17, 27, 26, 30)
    last[rectangle()] = first[rectangle()]
    shifted = np.where(around[..., None], last, np.roll(last, 13, axis=1))
    before, after = (similarity([first, first, picture], [rectangle()] * 3) for picture in (last, shifted))
    assert before["ssim"][0] == after["ssim"][0] < 1
    nearer = np.where(rectangle(18, 28, 24, 28)[..., None], last, np.roll(last, 13, axis=1))
    assert similarity([first, first, nearer], [rectangle()] * 3)["ssim"][0] != before["ssim"][0]


def test_a_darker_picture_is_as_unlike_as_the_formula_says():
    first, darker = textured(), (textured() * 0.6).astype(np.uint8)
    found = similarity([first, first, darker], [rectangle()] * 3)["ssim"][0]
    expected = ssim(cv2, luma(first), luma(darker), window=7, sigma=1.5)[rectangle()].mean()
    assert found == pytest.approx(expected, abs=1e-6)
    assert 0.6 < found < 0.9


def test_window_and_sigma_are_those_of_the_recipe():
    first, last = textured(), (textured() * 0.6).astype(np.uint8)
    found = similarity([first, first, last], [rectangle()] * 3, recipe=replace(RECIPE, window=11, sigma=2.5))["ssim"][0]
    expected = ssim(cv2, luma(first), luma(last), window=11, sigma=2.5)[rectangle()].mean()
    assert found == pytest.approx(expected, abs=1e-6)


def test_colours_of_one_luma_are_alike():
    grey, tinted, swapped = np.zeros((3, HEIGHT, WIDTH, 3), np.uint8)
    grey[:, ::4], tinted[:, ::4], swapped[:, ::4] = (100,) * 3, (155, 80, 60), (60, 80, 155)
    assert abs(luma(tinted) - luma(grey)).max() < 0.2
    alike, unlike = (similarity([grey, grey, other], [rectangle()] * 3)["ssim"][0] for other in (tinted, swapped))
    assert unlike < 0.97 < 0.9999 < alike


def turned(picture, path):
    """What the last camera of a path sees of a wall, of which the first one sees the picture."""
    motion = np.linalg.inv(path[-1]) @ path[0]
    onto = LENS @ (motion[:3, :3] + np.outer(motion[:3, 3], [0, 0, 1 / DEPTH])) @ np.linalg.inv(LENS)
    half = np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 1]])
    return cv2.warpPerspective(picture, np.linalg.inv(half) @ onto @ half, (WIDTH, HEIGHT), flags=cv2.INTER_CUBIC)


def test_a_wall_that_the_camera_sees_from_elsewhere_is_like_itself_where_poses_are_right():
    path = np.stack([pose(), pose(), pose(yaw_degrees=8, centre=(0.3, 0.1, 0.4))])
    seen = [textured(), textured(), turned(textured(), path)]
    right = similarity(seen, [rectangle()] * 3, path=path)
    wrong = similarity(seen, [rectangle()] * 3, path=STILL)
    assert right["pixels"].tolist() == [20 * 24]
    assert right["ssim"][0] > 0.98
    assert wrong["ssim"][0] < 0.3


def test_poses_and_depth_may_share_any_scale():
    path = np.stack([pose(), pose(), pose(yaw_degrees=8, centre=(0.3, 0.1, 0.4))])
    seen, scaled = [textured(), textured(), turned(textured(), path)], path.copy()
    scaled[:, :3, 3] *= 16
    depth = Feature({**depth_of(3).arrays, "depth": depth_of(3)["depth"] * np.float16(16)})
    found = similarity(seen, [rectangle()] * 3, path=scaled, depth=depth)
    assert found["ssim"][0] == pytest.approx(similarity(seen, [rectangle()] * 3, path=path)["ssim"][0], abs=1e-5)


def test_pixels_without_a_whole_window_in_both_pictures_do_not_count():
    corner, opposite = rectangle(0, 0, 20, 24), rectangle(HEIGHT - 20, WIDTH - 24, 20, 24)
    for mask in (corner, opposite):
        assert similarity([textured()] * 3, [mask] * 3)["pixels"].tolist() == [17 * 21]
    everywhere = similarity([textured()] * 3, [~EMPTY] * 3)
    assert everywhere["pixels"].tolist() == [(HEIGHT - 6) * (WIDTH - 6)]
    assert everywhere["ssim"].tolist() == pytest.approx([1.0])
    # A pixel at x in the first picture is at x - 8 in the last: 80 * 0.4 / 4.
    path = np.stack([pose(), pose(), pose(centre=(0.4, 0, 0))])
    assert similarity([textured()] * 3, [corner] * 3, path=path)["pixels"].tolist() == [17 * (24 - 8 - 3)]


def test_where_depth_is_unknown_nothing_counts():
    depth = depth_of(3)
    depth["depth"][0, :, : 32 // 4] = 0
    found = similarity([textured()] * 3, [rectangle()] * 3, depth=depth)
    # Known from the middle of the first known sample on, which is 34; half a window more is needed.
    assert found["pixels"].tolist() == [20 * (30 + 24 - 34 - 3)]
    assert found["ssim"].tolist() == pytest.approx([1.0])


def test_pairs_that_count_too_few_pixels_are_left_out_and_listed():
    recipe = replace(RECIPE, pairs=ChosenPairs(((0, 2), (1, 2), (0, 1))), min_pixels=20 * 24)
    feature = similarity([textured()] * 3, [rectangle(), rectangle(width=23), rectangle()], recipe=recipe)
    assert feature["frames"].tolist() == [[0, 2], [0, 1]]
    assert feature.detail["too_few_pixels"] == [[1, 2, 20 * 23]]
    check_documented(recipe, feature)


@pytest.mark.parametrize("fewest", [0, 1, 64])
def test_a_target_that_is_never_seen_leaves_no_pair(fewest):
    recipe = replace(RECIPE, min_pixels=fewest)
    feature = similarity([textured()] * 3, [EMPTY] * 3, recipe=recipe)
    check_documented(recipe, feature)
    assert len(feature["ssim"]) == 0
    assert feature.detail["too_few_pixels"] == [[0, 2, 0]]


def test_a_target_that_leaves_the_later_picture_leaves_no_pair():
    path = np.stack([pose(), pose(), pose(yaw_degrees=170)])
    assert similarity([textured()] * 3, [rectangle()] * 3, path=path).detail["too_few_pixels"] == [[0, 2, 0]]


def test_a_later_frame_in_which_the_target_is_not_found_is_compared_all_the_same():
    feature = similarity([textured(), textured(), textured(seed=1)], [rectangle(), rectangle(), EMPTY])
    assert feature["pixels"].tolist() == [20 * 24]
    assert feature["ssim"][0] < 0.3


def test_masks_of_another_size_and_of_several_things_are_laid_over_the_frame():
    halves = [rectangle()[::2, ::2], rectangle(40, 60, 8, 8)[::2, ::2]]
    track = masks_of([*halves, *halves], [0, 0, 2, 2], [3, 5, 3, 5])
    given = {"poses": poses_of(STILL), "depth": depth_of(3), "masks": track}
    assert perceive_frames(RECIPE, [textured()] * 3, given)["pixels"].tolist() == [20 * 24 + 64]


def test_frames_are_asked_for_at_the_height_of_the_recipe_and_only_those_of_pairs():
    given = {"poses": poses_of(STILL), "depth": depth_of(3), "masks": masks_of([rectangle()] * 3)}
    timeline = Timeline(np.arange(3) / 8, WIDTH, HEIGHT)
    watch = replace(RECIPE, height=480).load().start(rollout_of(Path("clip.mp4")), timeline, given)
    assert (watch.request.indices, watch.request.height) == ({0, 2}, 480)


def folded(path, masked, deep, posed=None):
    """Pairs that are compared where only some frames have masks, depth and poses."""
    posed = list(range(len(path))) if posed is None else posed
    given = {
        "poses": poses_of([path[frame] for frame in posed], posed),
        "depth": depth_of(len(deep), deep),
        "masks": masks_of([rectangle()] * len(masked), masked),
    }
    feature = perceive_frames(replace(RECIPE, pairs=FOLD), [textured()] * len(path), given)
    return sorted(map(tuple, feature["frames"].tolist())), feature.detail["rule"]


def test_pairs_are_chosen_among_frames_that_have_a_pose_a_mask_and_depth():
    path = [pose(yaw_degrees=0.5 * min(step, 10 - step)) for step in range(11)]
    everything, even = list(range(11)), [0, 2, 4, 6, 8, 10]
    assert folded(path, everything, everything) == ([(frame, 10 - frame) for frame in range(5)], "fold")
    for place in range(3):
        given = [everything] * 3
        given[place] = even
        assert folded(path, *given) == ([(0, 10), (2, 8)], "fold")


def test_each_frame_is_warped_by_its_own_pose_and_depth():
    path = np.stack([pose(yaw_degrees=40), pose(), pose(yaw_degrees=8, centre=(0.3, 0.1, 0.4))])
    depth, recipe = depth_of(3), replace(RECIPE, pairs=ChosenPairs(((1, 2),)))
    depth["depth"][[0, 2]] = 50.0
    masks = [EMPTY, rectangle(), rectangle(top=40)]
    seen = [textured(seed=3), textured(), turned(textured(), path[1:])]
    found = similarity(seen, masks, recipe=recipe, path=path, depth=depth)
    assert found["ssim"][0] > 0.98


def test_frames_without_masks_do_not_shift_the_poses_and_depths_of_others():
    path = np.stack([pose(yaw_degrees=40), pose(), pose(yaw_degrees=8, centre=(0.3, 0.1, 0.4))])
    seen = [textured(seed=3), textured(), turned(textured(), path[1:])]
    given = {"poses": poses_of(path), "depth": depth_of(2, [1, 2]), "masks": masks_of([rectangle()] * 2, [2, 1])}
    found = perceive_frames(replace(RECIPE, pairs=ChosenPairs(((1, 2),))), seen, given)
    assert found["ssim"][0] > 0.98


def test_poses_may_belong_to_pictures_of_another_size():
    path = np.stack([pose(), pose(), pose(yaw_degrees=8, centre=(0.3, 0.1, 0.4))])
    seen = [textured(), textured(), turned(textured(), path)]
    arrays = poses_of(path).arrays
    scaled = {"intrinsics": arrays["intrinsics"] * [[2], [3], [1]], "size": np.array([2 * WIDTH, 3 * HEIGHT, 3])}
    found = similarity(seen, [rectangle()] * 3, poses=Feature({**arrays, **scaled}))
    assert found["ssim"][0] == pytest.approx(similarity(seen, [rectangle()] * 3, path=path)["ssim"][0], abs=1e-6)


@pytest.mark.parametrize("shared", [[], [2]])
def test_fewer_than_two_frames_with_all_three_are_too_few(shared):
    given = {"depth": depth_of(3), "masks": masks_of([rectangle()] * 2, [2, 7]), "poses": poses_of(STILL)}
    if not shared:
        given["depth"] = depth_of(2, [0, 1])
    with pytest.raises(Unmeasurable, match=f"{len(shared)} frames have a pose, a mask and depth") as declined:
        perceive_frames(RECIPE, [textured()] * 3, given)
    assert declined.value.reason is Reason.TOO_SHORT


def test_a_window_without_a_middle_is_refused():
    for window in (6, 0, -1):
        with pytest.raises(ValueError, match=f"found {window}"):
            replace(RECIPE, window=window).load()


@pytest.fixture(scope="module")
def rollouts(tmp_path_factory):
    root: Path = tmp_path_factory.mktemp("warped")
    copy_small(root, events=("none",), faults=("identity_texture", "vanish"), severities=(1.0,))
    return {rollout.model: rollout for rollout in world_rollouts(root)[0]}


def of_world(pairs, height=128):
    depth = TrueDepth(EveryFrame(), stride=1)
    return WarpedSimilarity(TruePoses(), depth, TrueMasks(EveryFrame()), pairs, height=height)


def test_a_remembered_target_is_like_itself_and_a_forgotten_one_is_not(rollouts):
    found = {model: perceive(of_world(FoldPairs()), rollout)["ssim"] for model, rollout in rollouts.items()}
    assert found["perfect"].min() > 0.97
    assert found["identity_texture-1.00"].mean() < 0.4
    assert found["vanish-1.00"].mean() < 0.2


def test_a_target_that_a_turning_camera_sees_elsewhere_is_like_itself(rollouts):
    track = MaskTrack.from_feature(perceive(TrueMasks(EveryFrame()), rollouts["perfect"]))
    path = Trajectory.from_feature(perceive(TruePoses(), rollouts["perfect"])).camera_to_world
    seen = track.frame_indices[track.areas > 500].tolist()
    frame = next(frame for frame in seen if np.abs(path[frame, :3, :3] - path[0, :3, :3]).max() > 0.03)
    found = perceive(of_world(ChosenPairs(((0, frame),))), rollouts["perfect"])
    assert found["pixels"][0] > 300
    assert found["ssim"][0] > 0.85
