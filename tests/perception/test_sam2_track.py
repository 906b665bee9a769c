from __future__ import annotations

import gc
import math
from dataclasses import replace

import numpy as np
import pytest
import safetensors.torch
import torch
import transformers

from lookaway.core import Compute, Feature, Frame, MaskTrack, Reason, Rollout, Target, Timeline, Unmeasurable
from lookaway.io.phases import SpreadInPhases
from lookaway.io.sampling import EveryFrame
from lookaway.perception.masks.grounding_dino_boxes import GroundingDinoBoxes
from lookaway.perception.masks.sam2_track import Sam2Track, box_of_case
from tests.support.hub import COMMIT, as_saved
from tests.support.mask_networks import SAM2_SIDE, some_clip, tiny_sam2
from tests.support.watching import check_documented, perceive, perceive_frames, rollout_of

WIDTH, HEIGHT = 80, 40
BOX = (0.5, 0.5, 0.25, 0.5)
CORNERS = (0.375, 0.25, 0.625, 0.75)


def pictures(count: int) -> list[np.ndarray]:
    return list(np.random.default_rng(0).integers(0, 256, (count, HEIGHT, WIDTH, 3), np.uint8))


def of_box(box: tuple[float, ...] | None, **fields: object) -> Rollout:
    return rollout_of("clip.mp4", target=Target(box=box), **fields)


def tracked(recipe: Sam2Track, frames: list[np.ndarray], box: tuple[float, ...] = BOX) -> MaskTrack:
    return MaskTrack.from_feature(perceive_frames(recipe, frames, rollout=of_box(box)))


def boxes(*rows: tuple[int, float, tuple[float, ...]]) -> Feature:
    frames, scores, corners = zip(*rows, strict=True)
    arrays = {"boxes": np.array(corners, np.float32), "scores": np.array(scores, np.float32)}
    return Feature({**arrays, "frame_indices": np.array(frames, np.int64)})


@pytest.fixture
def recipe(hub) -> Sam2Track:
    return Sam2Track(weights=tiny_sam2(), height=20)


def test_a_clip_of_32_frames_is_tracked_from_end_to_end(recipe, tmp_path):
    feature = perceive(recipe, rollout_of(some_clip(tmp_path), target=Target(box=BOX)))
    check_documented(recipe, feature)
    track = MaskTrack.from_feature(feature)
    assert (len(track), track.frame_indices[0], track.height) == (32, 0, 20)
    assert set(track.things.tolist()) == {0}
    assert ((track.scores > 0) & (track.scores < 1)).all()


def by_hand(recipe: Sam2Track, frames: list[np.ndarray], points: list, labels: list) -> list:
    """What the class of transformers gives for a whole video at once, nothing forgotten."""
    model = transformers.Sam2VideoModel.from_pretrained(recipe.weights.folder())
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    scaled = torch.nn.functional.interpolate(
        torch.from_numpy(np.stack(frames)).permute(0, 3, 1, 2), size=(64, 64), mode="bilinear", antialias=True
    )
    video = (scaled.float() / 255 - mean.view(3, 1, 1)) / std.view(3, 1, 1)
    session = transformers.Sam2VideoInferenceSession(video=video, dtype=torch.float32)
    coordinates = torch.tensor(points, dtype=torch.float32)[None, None] * SAM2_SIDE
    inputs = {"point_coords": coordinates, "point_labels": torch.tensor(labels)[None, None]}
    session.add_point_inputs(session.obj_id_to_idx(7), 0, inputs)
    session.obj_with_new_inputs = [7]
    return list(model.propagate_in_video_iterator(session, start_frame_idx=0))


@pytest.mark.parametrize("point", [False, True])
def test_masks_are_those_of_the_class_in_transformers_which_forgets_nothing(recipe, point):
    frames = pictures(26)  # the network attends to pointers of 16 frames
    track = tracked(replace(recipe, frames=EveryFrame(), point=point), frames)
    points, labels = ([[0.5, 0.5]], [1]) if point else ([CORNERS[:2], CORNERS[2:]], [2, 3])
    drawn = by_hand(recipe, frames, points, labels)
    assert len(track) == len(drawn) == 26
    for position, output in enumerate(drawn):
        mask = torch.nn.functional.interpolate(output.pred_masks, size=(20, 40), mode="bilinear")[0, 0] > 0
        np.testing.assert_array_equal(track.mask(position), mask.numpy())
        assert track.scores[position] == output.object_score_logits.sigmoid().item()
    assert len({track.mask(position).tobytes() for position in range(26)}) > 10


def tensors_alive() -> tuple[int, int]:
    """How many there are in this process, and their bytes."""
    gc.collect()
    tensors = [entry for entry in gc.get_objects() if issubclass(type(entry), torch.Tensor)]
    return len(tensors), sum(tensor.untyped_storage().nbytes() for tensor in tensors)


def test_memory_does_not_grow_with_frames(recipe):
    watch = replace(recipe, frames=EveryFrame()).load().start(of_box(BOX), Timeline(np.arange(64), WIDTH, HEIGHT), {})
    held = []
    for index, frame in enumerate(pictures(64)):
        watch.add_frame(Frame(index, 0.0, frame))
        if index in (19, 41, 63):
            held.append(tensors_alive())
    assert held[0] == held[1] == held[2]


def test_a_frame_leaves_behind_no_more_than_the_network_attends_to(recipe):
    watch = replace(recipe, frames=EveryFrame()).load().start(of_box(BOX), Timeline(np.arange(40), WIDTH, HEIGHT), {})
    for index, frame in enumerate(pictures(40)):
        watch.add_frame(Frame(index, 0.0, frame))
    kept, session = watch.memory.session.output_dict_per_obj[0], watch.memory.session
    assert sorted(kept["cond_frame_outputs"]) == [0]
    assert sorted(kept["non_cond_frame_outputs"]) == list(range(25, 40))
    with_memories = [index for index, output in kept["non_cond_frame_outputs"].items() if "maskmem_features" in output]
    assert sorted(with_memories) == list(range(34, 40))
    assert (len(session.processed_frames), len(session.cache._vision_features)) == (0, 0)


def test_a_thing_that_is_unseen_has_empty_masks_with_their_scores(hub):
    unseen = tracked(Sam2Track(weights=tiny_sam2(seen=-5.0), height=20), pictures(3))
    assert unseen.areas.tolist() == [0, 0, 0]
    np.testing.assert_allclose(unseen.scores, 1 / (1 + math.exp(5)), rtol=1e-5)
    seen = tracked(Sam2Track(weights=tiny_sam2(seen=5.0), height=20), pictures(3))
    assert (seen.areas > 0).any()
    np.testing.assert_allclose(seen.scores, 1 / (1 + math.exp(-5)), rtol=1e-5)


def test_a_box_in_pixels_is_the_same_box(recipe):
    pixels = (BOX[0] * WIDTH, BOX[1] * HEIGHT, BOX[2] * WIDTH, BOX[3] * HEIGHT)
    first, second = (tracked(recipe, pictures(3), box).to_feature() for box in (BOX, pixels))
    for name, array in first.arrays.items():
        np.testing.assert_array_equal(array, second[name])


def test_a_box_that_reaches_out_of_the_frame_is_cut_there():
    corners = box_of_case(of_box((0.9, 0.5, 0.4, 1.0)), Timeline(np.arange(3), WIDTH, HEIGHT))
    np.testing.assert_allclose(corners, [0.7, 0, 1, 1], rtol=1e-6)


NO_BOXES = (
    (math.nan, 0.5, 0.1, 0.1),
    (0.5, 0.5, 0.0, 0.1),
    (0.5, 0.5, 0.1, -0.1),
    (-0.1, 0.5, 0.3, 0.1),
    (200.0, 20.0, 9.0, 9.0),
    (40.0, 20.0, math.inf, 9.0),
    (40.0, 20.0, 9.0, math.nan),
)


@pytest.mark.parametrize("box", NO_BOXES)
def test_a_box_that_is_none_is_refused(box):
    with pytest.raises(Unmeasurable, match="the target's box is") as refused:
        box_of_case(of_box(box), Timeline(np.arange(3), WIDTH, HEIGHT))
    assert refused.value.reason is Reason.INVALID_INPUT


@pytest.mark.parametrize("target", [None, Target(name="ball")])
def test_a_case_without_a_box_is_declined(recipe, target):
    assert recipe.declines(rollout_of("clip.mp4", target=target)).reason is Reason.NO_TARGET
    assert replace(recipe, prompt=GroundingDinoBoxes()).declines(rollout_of("clip.mp4", target=target)) is None


def test_the_best_box_of_the_first_frame_begins_a_track(recipe):
    prompted = replace(recipe, prompt=GroundingDinoBoxes())
    found = boxes((2, 0.9, (0, 0, 1, 1)), (0, 0.3, (0, 0, 0.2, 0.2)), (0, 0.6, CORNERS), (0, 0.5, (0.5, 0, 1, 1)))
    assert prompted.needs == {"boxes": GroundingDinoBoxes()}
    feature = perceive_frames(prompted, pictures(3), {"boxes": found})
    expected = tracked(recipe, pictures(3)).to_feature()
    for name, array in expected.arrays.items():
        np.testing.assert_array_equal(array, feature[name])


def test_without_a_box_in_the_first_frame_nothing_is_tracked(recipe):
    with pytest.raises(Unmeasurable, match="no box in frame 0") as declined:
        perceive_frames(
            replace(recipe, prompt=GroundingDinoBoxes()), pictures(3), {"boxes": boxes((2, 0.9, (0, 0, 1, 1)))}
        )
    assert declined.value.reason is Reason.NO_TARGET


def test_the_first_frame_is_looked_at_even_where_the_sampler_leaves_it_out(recipe):
    later = replace(recipe, frames=SpreadInPhases(("after",), 2))
    rollout = of_box(BOX, phases={"after": (3, 6)})
    feature = perceive_frames(later, pictures(6), rollout=rollout)
    assert feature["frame_indices"].tolist() == [0, 3, 5]


def test_two_rollouts_at_once_do_not_disturb_each_other(recipe):
    frames, timeline = pictures(6), Timeline(np.arange(6), WIDTH, HEIGHT)
    perceiver = recipe.load()
    one, other = (perceiver.start(of_box(box), timeline, {}) for box in (BOX, (0.2, 0.2, 0.1, 0.1)))
    for index in range(6):
        other.add_frame(Frame(index, 0.0, frames[-1 - index]))
        one.add_frame(Frame(index, 0.0, frames[index]))
    expected = tracked(recipe, frames).to_feature()
    for name, array in one.finish().arrays.items():
        np.testing.assert_array_equal(array, expected[name])


def test_half_precision_is_another_recipe_that_runs(recipe):
    half = replace(recipe, compute=Compute(precision="bfloat16"))
    exact, near = (tracked(each, pictures(4)) for each in (recipe, half))
    assert 0 < np.abs(exact.scores - near.scores).max() < 0.2


def test_missing_weights_decline_with_the_command_that_fetches_them(hub):
    declined = Sam2Track().declines(of_box(BOX))
    assert declined.reason is Reason.MISSING_WEIGHTS
    assert "lookaway weights fetch sam2.1-base-plus" in declined.message


def test_a_checkpoint_without_its_memories_is_refused(recipe):
    path = recipe.weights.folder() / "model.safetensors"
    state = safetensors.torch.load_file(path)
    state.pop("memory_temporal_positional_encoding")
    safetensors.torch.save_file(state, path)
    with pytest.raises(Unmeasurable, match="Nothing was loaded"):
        recipe.load()
    with pytest.raises(Unmeasurable, match="missing keys: memory_temporal_positional_encoding") as refused:
        replace(recipe, weights=as_saved("sam2.1-base-plus", path.parent, COMMIT)).load()
    assert refused.value.reason is Reason.WRONG_WEIGHTS
