from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from lookaway.core import Reason, Unmeasurable
from lookaway.perception.networks.fits import CentreCrop, WholeFrame
from lookaway.perception.similarity.clip_similarity import ClipPairSimilarity, ClipSimilarity
from lookaway.perception.similarity.compared_frames import GeneratedSize
from tests.support.compared import answered
from tests.support.picture_networks import noise, spoil, tiny_clip
from tests.support.watching import check_documented, perceive, perceive_frames, rollout_of

SHORT, LONG = "a red chair", "a very long walk around the red chair and back"


def asked(*prompt: str):
    return rollout_of(Path("clip.mp4"), prompt=prompt)


@pytest.fixture
def recipe(hub) -> ClipSimilarity:
    return ClipSimilarity(tiny_clip(), fit=CentreCrop(32, 32))


def test_cosines_are_those_of_the_class_in_transformers(recipe):
    frames = noise(2, 32, 32)
    feature = perceive_frames(recipe, frames, rollout=asked(SHORT, "a cat"))
    folder = recipe.weights.folder()
    model, tokenizer = (kind.from_pretrained(folder) for kind in (transformers.CLIPModel, transformers.CLIPTokenizer))
    mean, std = torch.tensor([0.48145466, 0.4578275, 0.40821073]), torch.tensor([0.26862954, 0.26130258, 0.27577711])
    values = ((torch.from_numpy(np.stack(frames)).float() / 255 - mean) / std).permute(0, 3, 1, 2)
    tokens = tokenizer([SHORT, "a cat"], padding=True, return_tensors="pt")
    with torch.inference_mode():
        found = model(pixel_values=values, **tokens)
        cosines = found.logits_per_image / model.logit_scale.exp()
    np.testing.assert_allclose(feature["cosines"], cosines, atol=1e-5)
    np.testing.assert_allclose(feature["embeddings"], found.image_embeds, atol=1e-3)


def test_frames_are_taken_from_every_segment(recipe):
    feature = perceive_frames(recipe, noise(40, 32, 32), rollout=asked("one", "two"))
    assert feature["frame_indices"].tolist() == [0, 3, 5, 8, 11, 14, 16, 19, 20, 23, 25, 28, 31, 34, 36, 39]
    assert feature["cosines"].shape == (16, 2)
    assert np.abs(feature["cosines"]).max() <= 1 + 1e-6


def test_other_segments_do_not_change_the_likeness_to_one(recipe):
    alone = perceive_frames(recipe, noise(2), rollout=asked(SHORT))
    among = perceive_frames(recipe, noise(2), rollout=asked(LONG, SHORT, "x"))
    np.testing.assert_allclose(among["cosines"][:, 1], alone["cosines"][:, 0], atol=1e-6)
    assert np.abs(among["cosines"][:, 0] - among["cosines"][:, 1]).max() > 1e-3


def test_segments_that_are_longer_than_clip_reads_are_told(recipe):
    feature = perceive_frames(recipe, noise(1), rollout=asked(SHORT, LONG, "chair"))
    told = {"tokens": [11, 39, 7], "tokens_read_at_most": 20, "segments_cut": [1]}
    assert feature.detail == {**told, "frame_count": 1}


def test_a_segment_that_fills_all_tokens_is_not_cut(recipe):
    feature = perceive_frames(recipe, noise(1), rollout=asked("x" * 18, "x" * 19))
    assert feature.detail["tokens"] == [20, 21]
    assert feature.detail["segments_cut"] == [1]


def test_what_is_beyond_the_tokens_that_are_read_changes_nothing(recipe):
    first, second = (perceive_frames(recipe, noise(1), rollout=asked(text)) for text in (LONG, f"{LONG} again"))
    np.testing.assert_array_equal(first["cosines"], second["cosines"])


def test_the_sides_of_a_wide_frame_are_seen_only_where_the_whole_frame_is(recipe):
    frame, changed = noise(1)[0], noise(1)[0]
    changed[:, :20] = 0
    whole = ClipSimilarity(recipe.weights, fit=WholeFrame(48))
    cropped, seen = (
        [perceive_frames(each, [picture], rollout=asked(SHORT))["cosines"] for picture in (frame, changed)]
        for each in (recipe, whole)
    )
    np.testing.assert_array_equal(*cropped)
    assert np.abs(seen[0] - seen[1]).max() > 1e-4


def test_a_case_without_a_prompt_is_declined(recipe):
    declined = recipe.declines(asked())
    assert declined.reason is Reason.MISSING_INPUT
    assert "no prompt" in declined.message
    assert recipe.declines(asked(SHORT)) is None


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "merges.txt"])
def test_a_changed_file_is_refused(recipe, name):
    spoil(recipe.weights.folder() / name)
    with pytest.raises(Unmeasurable, match="Nothing was loaded") as refused:
        recipe.load()
    assert refused.value.reason is Reason.WRONG_WEIGHTS


# Pairs


@pytest.fixture
def pairs(hub) -> ClipPairSimilarity:
    return ClipPairSimilarity(tiny_clip("clip-vit-b-32"), fit=CentreCrop(32, 32))


def test_pairs_have_the_cosines_of_the_class_in_transformers(pairs, tmp_path):
    ours, theirs = noise(2, 32, 32), noise(2, 32, 32, seed=1)
    feature = perceive(pairs, answered(tmp_path, ours, theirs))
    check_documented(pairs, feature)
    model = transformers.CLIPModel.from_pretrained(pairs.weights.folder())
    mean, std = torch.tensor([0.48145466, 0.4578275, 0.40821073]), torch.tensor([0.26862954, 0.26130258, 0.27577711])
    values = ((torch.from_numpy(np.stack([*ours, *theirs])).float() / 255 - mean) / std).permute(0, 3, 1, 2)
    with torch.inference_mode():
        vectors = model.get_image_features(pixel_values=values).pooler_output
    cosines = torch.nn.functional.cosine_similarity(vectors[:2], vectors[2:])
    np.testing.assert_allclose(feature["cosines"], cosines, atol=1e-5)
    assert feature["partner_indices"].tolist() == [0, 1]


def test_equal_frames_have_a_cosine_of_one_whatever_the_size_of_the_partner(pairs, tmp_path):
    small = [np.full((40, 64, 3), level, np.uint8) for level in (30, 200)]
    large = [np.full((80, 128, 3), level, np.uint8) for level in (30, 200)]
    reduced = ClipPairSimilarity(pairs.weights, fit=pairs.fit, reduced=GeneratedSize(48))
    for recipe in (pairs, reduced):
        np.testing.assert_allclose(perceive(recipe, answered(tmp_path, small, large))["cosines"], 1, atol=1e-5)


def test_pairs_need_a_reference_and_their_weights(hub):
    assert ClipPairSimilarity().declines(rollout_of(Path("clip.mp4"))).reason is Reason.MISSING_INPUT
    assert "lookaway weights fetch clip-vit-b-32" in ClipPairSimilarity().weights.declines().message
