from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers
from transformers.image_transforms import get_size_with_aspect_ratio

from lookaway.core import Compute, Frame, Reason, Target, Timeline, Unmeasurable
from lookaway.io.sampling import UniformFrames
from lookaway.perception.masks.grounding_dino_boxes import GroundingDinoBoxes
from tests.support.mask_networks import some_clip, tiny_grounding_dino
from tests.support.watching import check_documented, perceive, perceive_frames, rollout_of

WIDTH, HEIGHT = 96, 64
BALL = Target(name="ball", attributes=("small", "red"))


def pictures(count: int = 3, seed: int = 0) -> list[np.ndarray]:
    return list(np.random.default_rng(seed).integers(0, 256, (count, HEIGHT, WIDTH, 3), np.uint8))


def found(recipe, frames, target: Target | None = BALL):
    return perceive_frames(recipe, frames, rollout=rollout_of("clip.mp4", target=target))


@pytest.fixture
def recipe(hub) -> GroundingDinoBoxes:
    return GroundingDinoBoxes(weights=tiny_grounding_dino(), short_side=HEIGHT, long_side=WIDTH)


def test_a_clip_of_32_frames_is_looked_at_from_end_to_end(recipe, tmp_path):
    many = replace(recipe, frames=UniformFrames(32), most=4)
    feature = perceive(many, rollout_of(some_clip(tmp_path), target=BALL))
    check_documented(many, feature)
    assert len(feature["looked_at"]) == 32
    assert set(feature["frame_indices"]) <= set(feature["looked_at"])
    assert np.unique(feature["frame_indices"], return_counts=True)[1].max() == 4
    assert feature.detail == {"query": "small red ball."}
    left, top, right, bottom = feature["boxes"].T
    assert ((left >= 0) & (left < right) & (right <= 1) & (top >= 0) & (top < bottom) & (bottom <= 1)).all()


def test_by_default_only_the_first_frame_is_looked_at(recipe):
    assert found(recipe, pictures(5))["looked_at"].tolist() == [0]


def test_boxes_are_those_of_the_class_in_transformers(recipe):
    frame = pictures(1)[0]
    feature = found(replace(recipe, most=5), [frame])
    model = transformers.GroundingDinoForObjectDetection.from_pretrained(recipe.weights.folder())
    tokenizer = transformers.AutoTokenizer.from_pretrained(recipe.weights.folder())
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    values = ((torch.from_numpy(frame).float() / 255 - mean) / std).permute(2, 0, 1)[None]
    with torch.inference_mode():
        text = tokenizer("small red ball.", return_tensors="pt")
        drawn = model(pixel_values=values, pixel_mask=torch.ones(1, HEIGHT, WIDTH, dtype=torch.long), **text)
    scores, best = drawn.logits[0].sigmoid().max(dim=1).values.topk(5)
    x, y, width, height = drawn.pred_boxes[0, best].T
    boxes = torch.stack([x - width / 2, y - height / 2, x + width / 2, y + height / 2], dim=1)
    assert boxes.min() < -0.01
    assert boxes.max() > 1.01
    np.testing.assert_allclose(feature["scores"], scores, atol=1e-6)
    np.testing.assert_allclose(feature["boxes"], boxes.clip(0, 1), atol=1e-5)


def test_frames_are_scaled_as_the_makers_scale_them(recipe):
    sizes = np.random.default_rng(0).integers(40, 2000, (300, 2))
    published = GroundingDinoBoxes(weights=recipe.weights)
    for width, height in [*sizes.tolist(), (1333, 800), (600, 1334), (1280, 720), (832, 480), (1000, 1000)]:
        assert published.fitted(width, height).window[::-1] == get_size_with_aspect_ratio((height, width), 800, 1333)


def test_frames_in_a_batch_have_the_boxes_that_each_has_alone(recipe):
    frames = pictures(3)
    together = found(replace(recipe, frames=UniformFrames(3)), frames)
    for index, frame in enumerate(frames):
        alone, rows = found(recipe, [frame]), together["frame_indices"] == index
        np.testing.assert_allclose(together["boxes"][rows], alone["boxes"], atol=1e-4)
        np.testing.assert_allclose(together["scores"][rows], alone["scores"], atol=1e-4)


def test_two_loads_give_the_same_bytes(recipe):
    first, second = (found(recipe, pictures()) for _ in range(2))
    for name, array in first.arrays.items():
        np.testing.assert_array_equal(array, second[name])


def test_a_frame_in_which_nothing_is_found_was_looked_at_all_the_same(recipe):
    feature = found(replace(recipe, box_threshold=1.0, frames=UniformFrames(2)), pictures())
    check_documented(recipe, feature)
    assert feature["boxes"].shape == (0, 4)
    assert feature["looked_at"].tolist() == [0, 2]


def test_the_best_boxes_come_first_and_those_that_fit_only_the_full_stop_are_dropped(recipe):
    #                 [CLS] red  ball  .   [SEP]
    probabilities = [[0.1, 0.2, 0.5, 0.1, 0.0], [0.0, 0.1, 0.2, 0.9, 0.1], [0.0, 0.8, 0.1, 0.1, 0.0], [0.3] * 5]
    assert recipe.kept(np.array(probabilities)).tolist() == [2, 0]
    assert replace(recipe, most=1).kept(np.array(probabilities)).tolist() == [2]
    assert replace(recipe, text_threshold=0.1).kept(np.array(probabilities)).tolist() == [1, 2, 0]
    assert replace(recipe, box_threshold=0.2).kept(np.array(probabilities)).tolist() == [2, 0, 3]


def test_another_name_gives_other_scores_and_capitals_do_not(recipe):
    ball, capitals, cat = (
        found(recipe, pictures(), target=target)["scores"]
        for target in (BALL, Target(name="BALL", attributes=("Small", "red.")), Target(name="cat"))
    )
    np.testing.assert_array_equal(ball, capitals)
    assert not np.array_equal(ball, cat)


def test_long_and_hostile_names_are_only_text(recipe):
    perceiver, timeline = recipe.load(), Timeline(np.zeros(1), WIDTH, HEIGHT)
    for name in ("ball " * 100_000, "b" * 100_000, "\ud800ball", "[SEP] . ? ball", "мяч 球 \x00\x1b[31m", "'; drop"):
        watch = perceiver.start(rollout_of("clip.mp4", target=Target(name=name)), timeline, {})
        watch.add_frame(Frame(0, 0.0, pictures(1)[0]))
        feature = watch.finish()
        assert np.isfinite(feature["boxes"]).all()
        assert len(feature.detail["query"]) <= 1001


@pytest.mark.parametrize("target", [None, Target(box=(0.5, 0.5, 0.1, 0.1)), Target(name=" . "), Target(name="")])
def test_a_case_that_names_no_target_is_declined(recipe, target):
    assert recipe.declines(rollout_of("clip.mp4", target=target)).reason is Reason.NO_TARGET


def test_a_named_target_is_not_declined_once_the_weights_are_there(recipe):
    assert recipe.declines(rollout_of("clip.mp4", target=BALL)) is None


def test_frames_too_narrow_for_the_network_are_declined_with_their_size(recipe):
    with pytest.raises(Unmeasurable, match="8 x 400") as declined:
        found(replace(recipe, long_side=64), [np.zeros((400, 8, 3), np.uint8)])
    assert declined.value.reason is Reason.INVALID_INPUT


def test_half_precision_is_near(recipe):
    half = replace(recipe, compute=Compute(precision="bfloat16"))
    exact, near = (found(each, pictures())["scores"] for each in (recipe, half))
    assert 0 < np.abs(exact - near).max() < 0.1


def test_missing_weights_decline_with_the_command_that_fetches_them(hub):
    declined = GroundingDinoBoxes().declines(rollout_of("clip.mp4", target=BALL))
    assert declined.reason is Reason.MISSING_WEIGHTS
    assert "lookaway weights fetch grounding-dino-tiny" in declined.message


@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json"])
def test_a_changed_file_is_refused(recipe, file):
    path = recipe.weights.folder() / file
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(Unmeasurable, match="Nothing was loaded") as refused:
        recipe.load()
    assert refused.value.reason is Reason.WRONG_WEIGHTS
