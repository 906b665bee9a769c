from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import safetensors.torch
import torch
import transformers

from lookaway.core import Feature, MaskTrack, Reason, Target, Unmeasurable
from lookaway.io.sampling import UniformFrames
from lookaway.perception.masks.grounding_dino_boxes import GroundingDinoBoxes
from lookaway.perception.masks.sam2_masks import Sam2Masks
from tests.support.hub import COMMIT, as_saved
from tests.support.mask_networks import SAM2_SIDE, some_clip, tiny_grounding_dino, tiny_sam2
from tests.support.watching import check_documented, perceive, perceive_frames, rollout_of

WIDTH, HEIGHT = 80, 48


def pictures(count: int = 4) -> list[np.ndarray]:
    return list(np.random.default_rng(0).integers(0, 256, (count, HEIGHT, WIDTH, 3), np.uint8))


def boxes(*frames: int) -> Feature:
    """A box in each of some frames."""
    corners = np.sort(np.random.default_rng(1).random((len(frames), 2, 2)), axis=1).reshape(-1, 4)
    return Feature({"boxes": corners.astype(np.float32), "frame_indices": np.array(frames, np.int64)})


def masks(recipe: Sam2Masks, found: Feature, frames: list[np.ndarray] | None = None) -> MaskTrack:
    return MaskTrack.from_feature(perceive_frames(recipe, frames or pictures(), {"boxes": found}))


def bare(recipe: Sam2Masks, frame: np.ndarray, corners: np.ndarray, **options: object):
    """What the class of transformers draws for boxes in a frame, called by hand."""
    model = transformers.Sam2Model.from_pretrained(recipe.weights.folder())
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    scaled = torch.nn.functional.interpolate(
        torch.from_numpy(frame).permute(2, 0, 1)[None], size=(SAM2_SIDE, SAM2_SIDE), mode="bilinear", antialias=True
    )
    values = (scaled.float() / 255 - mean.view(3, 1, 1)) / std.view(3, 1, 1)
    with torch.inference_mode():
        return model(pixel_values=values, input_boxes=torch.from_numpy(corners)[None] * SAM2_SIDE, **options)


def drawn_mask(logits: torch.Tensor, height: int, width: int) -> np.ndarray:
    return (
        torch.nn.functional.interpolate(logits[None, None], size=(height, width), mode="bilinear")[0, 0] > 0
    ).numpy()


@pytest.fixture
def recipe(hub) -> Sam2Masks:
    return Sam2Masks(GroundingDinoBoxes(), weights=tiny_sam2(), height=24)


def test_every_box_has_a_mask_numbered_within_its_frame(recipe):
    feature = perceive_frames(recipe, pictures(), {"boxes": boxes(1, 1, 3)})
    check_documented(recipe, feature)
    track = MaskTrack.from_feature(feature)
    assert track.frame_indices.tolist() == [1, 1, 3]
    assert track.things.tolist() == [0, 1, 0]
    assert (track.width, track.height) == (40, 24)


def test_masks_are_the_best_of_three_of_the_class_in_transformers(recipe):
    found = boxes(2, 2, 2)
    track, drawn = masks(recipe, found), bare(recipe, pictures()[2], found["boxes"])
    for thing in range(3):
        best = int(drawn.iou_scores[0, thing].argmax())
        np.testing.assert_array_equal(track.mask(thing), drawn_mask(drawn.pred_masks[0, thing, best], 24, 40))
        assert track.scores[thing] == drawn.iou_scores[0, thing, best]
    assert len({track.mask(thing).tobytes() for thing in range(3)}) == 3
    assert (track.areas > 0).all()


def test_a_single_mask_is_that_of_the_class_in_transformers(recipe):
    found, one = boxes(2, 2), replace(recipe, best_of_three=False)
    track, drawn = masks(one, found), bare(recipe, pictures()[2], found["boxes"], multimask_output=False)
    assert drawn.pred_masks.shape[2] == 1
    for thing in range(2):
        np.testing.assert_array_equal(track.mask(thing), drawn_mask(drawn.pred_masks[0, thing, 0], 24, 40))
        assert track.scores[thing] == drawn.iou_scores[0, thing, 0]


def test_a_crowd_of_boxes_is_drawn_in_parts_and_each_keeps_its_own_mask(recipe):
    found = boxes(*[0] * 19)
    track, drawn = masks(recipe, found), bare(recipe, pictures()[0], found["boxes"])
    assert track.things.tolist() == list(range(19))
    np.testing.assert_allclose(track.scores, drawn.iou_scores[0].max(dim=1).values, atol=1e-5)
    for thing in range(19):
        best = int(drawn.iou_scores[0, thing].argmax())
        assert (track.mask(thing) == drawn_mask(drawn.pred_masks[0, thing, best], 24, 40)).mean() > 0.99


def test_boxes_of_other_frames_change_nothing(recipe):
    both = boxes(1, 3)
    alone = Feature({name: array[1:] for name, array in both.arrays.items()})
    np.testing.assert_array_equal(masks(recipe, both).mask(1), masks(recipe, alone).mask(0))


def test_only_frames_with_boxes_are_asked_for(recipe):
    timeline = type("T", (), {"width": WIDTH, "height": HEIGHT})
    watch = recipe.load().start(rollout_of("clip.mp4"), timeline, {"boxes": boxes(1, 3, 3)})
    assert watch.request.indices == {1, 3}


def test_without_any_box_there_is_nothing_to_draw(recipe):
    with pytest.raises(Unmeasurable, match="found no box") as declined:
        masks(recipe, boxes())
    assert declined.value.reason is Reason.NO_TARGET


def test_a_clip_goes_from_a_name_to_masks(recipe, tmp_path):
    looking = GroundingDinoBoxes(tiny_grounding_dino(), UniformFrames(3), short_side=64, long_side=96, most=2)
    feature = perceive(replace(recipe, boxes=looking), rollout_of(some_clip(tmp_path), target=Target(name="ball")))
    check_documented(recipe, feature)
    assert MaskTrack.from_feature(feature).things.tolist() == [0, 1] * 3


def test_two_loads_give_the_same_bytes(recipe):
    first, second = (masks(recipe, boxes(0, 2)).to_feature() for _ in range(2))
    for name, array in first.arrays.items():
        np.testing.assert_array_equal(array, second[name])


def test_missing_weights_decline_with_the_command_that_fetches_them(hub):
    declined = Sam2Masks(GroundingDinoBoxes()).declines(rollout_of("clip.mp4"))
    assert declined.reason is Reason.MISSING_WEIGHTS
    assert "lookaway weights fetch sam2.1-base-plus" in declined.message


def test_a_changed_checkpoint_is_refused(recipe):
    path = recipe.weights.folder() / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\x7f")
    with pytest.raises(Unmeasurable, match="Nothing was loaded") as refused:
        recipe.load()
    assert refused.value.reason is Reason.WRONG_WEIGHTS


def test_a_checkpoint_without_one_of_its_parameters_is_refused_and_one_without_memories_is_not(recipe):
    path = recipe.weights.folder() / "model.safetensors"
    state = {name: value for name, value in safetensors.torch.load_file(path).items() if "memory_enc" not in name}
    safetensors.torch.save_file(state, path)
    replace(recipe, weights=as_saved("sam2.1-base-plus", path.parent, COMMIT)).load()
    state.pop("mask_decoder.iou_token.weight")
    safetensors.torch.save_file(state, path)
    with pytest.raises(Unmeasurable, match=r"missing keys: mask_decoder\.iou_token\.weight"):
        replace(recipe, weights=as_saved("sam2.1-base-plus", path.parent, COMMIT)).load()
