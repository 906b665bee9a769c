from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from lookaway.core import Case, Reason, Rollout, Score, Target
from lookaway.metrics.reappearance import ReappearanceScore
from lookaway.perception.masks.sam3_detections import Sam3Detections
from tests.support.mask_networks import SAM3_QUERIES, SAM3_SIDE, tiny_sam3
from tests.support.picture_networks import noise
from tests.support.watching import check_documented, perceive_frames

ROLLOUT = Rollout(
    case=Case(id="a", subset="s", scene="a", target=Target(name="fox")),
    model="m",
    video=Path("clip.mp4"),
    phases={"visible": (0, 2), "disappeared": (2, 3), "reappeared": (3, 5)},
)


def named(name: str | None) -> Rollout:
    return replace(ROLLOUT, case=replace(ROLLOUT.case, target=None if name is None else Target(name=name)))


@pytest.fixture
def recipe(hub) -> Sam3Detections:
    return Sam3Detections(weights=tiny_sam3())


def by_transformers(weights, picture, words, size):
    """Scores and coverages, spelled out as the published processor has them."""
    model = transformers.Sam3Model.from_pretrained(weights.folder()).eval()
    tokenizer = transformers.CLIPTokenizer.from_pretrained(weights.folder())
    text = tokenizer(words, padding="max_length", max_length=16, return_tensors="pt")
    values = (torch.from_numpy(picture).float().permute(2, 0, 1)[None] / 255 - 0.5) / 0.5
    with torch.inference_mode():
        found = model(pixel_values=values, input_ids=text["input_ids"], attention_mask=text["attention_mask"])
    scores = found.pred_logits.sigmoid() * found.presence_logits.sigmoid()
    masks = torch.nn.functional.interpolate(found.pred_masks, size, mode="bilinear", align_corners=False).sigmoid()
    return scores[0].numpy(), (masks[0] > 0.5).double().mean(dim=(1, 2)).numpy()


def test_every_query_of_every_frame_has_the_score_and_the_mask_of_the_class_in_transformers(recipe):
    pictures = noise(5, SAM3_SIDE, SAM3_SIDE)
    feature = perceive_frames(recipe, pictures, rollout=ROLLOUT)
    check_documented(recipe, feature)
    assert feature["frame_indices"].tolist() == [3, 4]
    assert feature["detection_frames"].tolist() == [3] * SAM3_QUERIES + [4] * SAM3_QUERIES
    assert feature.detail == {"words": "fox", "video_frames": 5}
    for index in (3, 4):
        scores, coverages = by_transformers(recipe.weights, pictures[index], "fox", (SAM3_SIDE, SAM3_SIDE))
        own = feature["detection_frames"] == index
        np.testing.assert_allclose(feature["scores"][own], scores, atol=1e-6)
        np.testing.assert_allclose(feature["coverages"][own], coverages, atol=1e-3)
    assert ((feature["scores"] > 0) & (feature["scores"] < 1)).all()
    assert np.ptp(feature["coverages"]) > 0


def test_frames_of_another_shape_are_seen_whole_and_masks_have_their_size(recipe):
    wide = (SAM3_SIDE, 2 * SAM3_SIDE)
    feature = perceive_frames(recipe, [np.full((*wide, 3), 90, np.uint8)] * 5, rollout=ROLLOUT)
    scores, coverages = by_transformers(recipe.weights, np.full((SAM3_SIDE, SAM3_SIDE, 3), 90, np.uint8), "fox", wide)
    np.testing.assert_allclose(feature["scores"], np.tile(scores, 2), atol=1e-6)
    np.testing.assert_allclose(feature["coverages"], np.tile(coverages, 2), atol=1e-3)


def test_other_words_have_other_scores_and_long_ones_are_only_text(recipe):
    fox, cat, long = (
        perceive_frames(recipe, noise(), rollout=named(name))["scores"] for name in ("fox", "cat", "fox " * 1000)
    )
    assert not np.allclose(fox, cat)
    assert np.isfinite(long).all()


def test_the_metric_takes_what_is_found(recipe):
    feature = perceive_frames(recipe, noise(), rollout=ROLLOUT)
    whole = ReappearanceScore(min_score=0.0, min_coverage=0.0, max_coverage=1.0, fallback_coverage=1.0)
    outcome = whole.measure(ROLLOUT, {"detections": feature})
    assert isinstance(outcome, Score)
    best = [feature["scores"][feature["detection_frames"] == frame].max() for frame in (3, 4)]
    assert outcome.value == pytest.approx(np.mean(best))
    assert (outcome.detail["detection_rate"], outcome.detail["first_frame"]) == (1.0, 3)


def test_without_a_target_or_weights_it_declines(hub):
    assert Sam3Detections().declines(named(None)).reason is Reason.NO_TARGET
    missing = Sam3Detections().declines(ROLLOUT)
    assert missing.reason is Reason.MISSING_WEIGHTS
    assert "lookaway weights fetch sam3" in missing.message
