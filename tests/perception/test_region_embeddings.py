from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from lookaway.core import Abstention, MaskTrack, Reason, Target, Unmeasurable
from lookaway.engine.locking import recipe_key
from lookaway.io.sampling import UniformFrames
from lookaway.perception.masks.sam2_track import Sam2Track
from lookaway.perception.similarity.dinov2_embeddings import Dinov2Embeddings
from lookaway.perception.similarity.region_embeddings import RegionCrop, RegionEmbeddings, scaled_mask
from tests.support.mask_networks import some_clip, tiny_sam2
from tests.support.networks import tiny_dinov2
from tests.support.watching import check_documented, perceive, perceive_frames, rollout_of

WIDTH, HEIGHT = 64, 48
MEAN = np.array([124, 116, 104])
RED, GREEN = (200, 10, 20), (30, 180, 60)


@dataclass(frozen=True, slots=True)
class MeanColour:
    """Mean colour of a picture, and how many pixels were looked at: of those that are not the mean of ImageNet."""

    name = "mean_colour"
    version = 1
    software = ("pillow",)

    def lacks(self) -> Abstention | None:
        return None

    def embedder(self):
        def embed(pictures: Sequence[np.ndarray]) -> np.ndarray:
            assert all(picture.shape[0] == picture.shape[1] for picture in pictures)
            shown = [picture[(picture != MEAN).any(axis=2)] for picture in pictures]
            return np.array([[*pixels.mean(axis=0), len(pixels)] for pixels in shown], np.float32)

        return embed


RECIPE = RegionEmbeddings(Sam2Track(), MeanColour(), min_area=4, height=HEIGHT)


def noise(count: int = 1, seed: int = 0) -> list[np.ndarray]:
    return list(np.random.default_rng(seed).integers(0, 256, (count, HEIGHT, WIDTH, 3), np.uint8))


def rectangle(top: int, left: int, height: int, width: int) -> np.ndarray:
    mask = np.zeros((HEIGHT, WIDTH), bool)
    mask[top : top + height, left : left + width] = True
    return mask


def embedded(recipe, frames, masks, indices=None, things=None):
    indices = list(range(len(masks))) if indices is None else indices
    track = MaskTrack.of(masks, indices, things or [0] * len(masks), [1.0] * len(masks))
    return perceive_frames(recipe, frames, {"masks": track.to_feature()})


def test_a_vector_shows_the_masked_thing_whole_and_nothing_else():
    frames, masks = noise(3), [rectangle(10, 20, 8, 14), rectangle(0, 50, 20, 14), rectangle(40, 0, 8, 3)]
    for frame, mask, colour in zip(frames, masks, (RED, GREEN, RED), strict=True):
        frame[mask] = colour
    feature = embedded(RECIPE, frames, masks, things=[4, 0, 2])
    check_documented(RECIPE, feature)
    np.testing.assert_allclose(feature["vectors"][:, :3], [RED, GREEN, RED])
    assert feature["vectors"][:, 3].tolist() == [8 * 14, 20 * 14, 8 * 3]
    assert (feature["frame_indices"].tolist(), feature["things"].tolist()) == ([0, 1, 2], [4, 0, 2])
    np.testing.assert_allclose(feature["areas"], np.array([112, 280, 24]) / (WIDTH * HEIGHT))


def test_what_lies_outside_the_mask_changes_nothing_unless_it_is_kept():
    mask = rectangle(10, 20, 8, 14)
    frames = [np.where(mask[..., None], noise(seed=0)[0], noise(seed=seed)[0]) for seed in (1, 2)]
    first, second = (embedded(RECIPE, [frame], [mask])["vectors"] for frame in frames)
    np.testing.assert_array_equal(first, second)
    keeping = replace(RECIPE, keep_background=True)
    first, second = (embedded(keeping, [frame], [mask])["vectors"] for frame in frames)
    assert np.abs(first - second).max() > 1


def test_a_thing_that_moves_keeps_its_vector():
    thing, frames, masks = noise(seed=5)[0][:9, :9], noise(2), [rectangle(3, 4, 9, 9), rectangle(39, 55, 9, 9)]
    for frame, mask in zip(frames, masks, strict=True):
        frame[mask] = thing.reshape(-1, 3)
    first, second = embedded(RECIPE, frames, masks)["vectors"]
    np.testing.assert_array_equal(first, second)


def test_a_crop_is_a_square_around_the_thing_with_a_margin():
    frame = noise()[0]
    crop = RegionCrop(0.25, (0.0, 0.0, 0.0), True)(frame, rectangle(10, 20, 8, 16))
    np.testing.assert_array_equal(crop, frame[10 + 4 - 12 : 10 + 4 + 12, 20 + 8 - 12 : 20 + 8 + 12])


def test_beyond_the_edge_of_the_frame_a_crop_has_the_background_and_the_thing_stays_in_its_middle():
    frame = noise()[0]
    crop = RegionCrop(0.5, (1.0, 0.0, 1.0), True)(frame, rectangle(0, WIDTH - 6, 6, 6))
    assert crop.shape == (12, 12, 3)
    np.testing.assert_array_equal(crop[3:9, 3:9], frame[:6, -6:])
    assert (crop[:3] == (255, 0, 255)).all()
    assert (crop[:, 9:] == (255, 0, 255)).all()


def test_masks_of_another_size_than_the_frame_are_laid_over_it():
    frame, large = noise()[0], rectangle(8, 16, 16, 24)
    frame[large] = RED
    feature = embedded(RECIPE, [frame], [large[::2, ::2]])
    assert feature["vectors"].tolist() == [[*RED, 16 * 24]]
    twice = embedded(RECIPE, [frame], [large.repeat(2, axis=0).repeat(2, axis=1)])
    assert twice["vectors"].tolist() == [[*RED, 16 * 24]]


def test_a_thin_mask_is_not_lost_when_it_is_scaled_down():
    mask = np.zeros((480, 854), bool)
    mask[7, :] = True
    mask[:, 853] = True
    scaled = scaled_mask(mask, 90, 160)
    assert scaled.shape == (90, 160)
    assert (scaled[1].all(), scaled[:, 159].all(), scaled.sum()) == (True, True, 160 + 89)


def test_masks_that_are_too_small_are_left_out_and_listed():
    masks = [rectangle(5, 5, 2, 2), rectangle(5, 5, 1, 3), rectangle(0, 0, 0, 0), rectangle(9, 9, 5, 5)]
    feature = embedded(RECIPE, noise(3), masks, indices=[0, 0, 1, 2], things=[5, 1, 0, 2])
    assert (feature["frame_indices"].tolist(), feature["things"].tolist()) == ([0, 2], [5, 2])
    assert feature.detail == {"too_small": [[0, 1, 3], [1, 0, 0]]}


def test_an_empty_mask_is_left_out_even_where_any_size_will_do():
    feature = embedded(replace(RECIPE, min_area=0), noise(2), [rectangle(0, 0, 0, 0), rectangle(9, 9, 1, 1)])
    assert feature["frame_indices"].tolist() == [1]


def test_only_frames_with_masks_are_asked_for():
    track = MaskTrack.of(
        [rectangle(1, 1, 9, 9), rectangle(0, 0, 0, 0), rectangle(5, 5, 9, 9)], [2, 3, 7], [0] * 3, [1] * 3
    )
    watch = RECIPE.load().start(rollout_of("clip.mp4"), None, {"masks": track.to_feature()})
    assert watch.request.indices == {2, 7}
    assert watch.request.height == HEIGHT


def test_where_all_masks_are_empty_there_is_nothing_to_embed():
    with pytest.raises(Unmeasurable, match="2 masks, of which the largest has 0 pixels") as declined:
        embedded(RECIPE, noise(2), [rectangle(0, 0, 0, 0)] * 2)
    assert declined.value.reason is Reason.NO_TARGET


def test_a_clip_goes_from_a_box_to_vectors_of_the_network_that_sees_only_the_thing(hub, tmp_path):
    track = Sam2Track(tiny_sam2(seen=5.0), UniformFrames(4), height=60)
    recipe = RegionEmbeddings(track, Dinov2Embeddings(tiny_dinov2(), side=28), min_area=1, height=60)
    rollout = rollout_of(some_clip(tmp_path), target=Target(box=(0.5, 0.5, 0.3, 0.4)))
    first, second = (perceive(recipe, rollout) for _ in range(2))
    check_documented(recipe, first)
    assert first["vectors"].shape == (len(first["frame_indices"]), 32)
    for name, array in first.arrays.items():
        np.testing.assert_array_equal(array, second[name])


def test_another_network_is_another_recipe_and_its_software_is_in_the_lock(hub):
    recipe = RegionEmbeddings(Sam2Track(), Dinov2Embeddings())
    assert recipe_key(recipe) != recipe_key(replace(recipe, embedding=Dinov2Embeddings(side=112)))
    assert recipe_key(recipe) != recipe_key(replace(recipe, masks=Sam2Track(point=True)))
    assert set(recipe.software) == {"numpy", "opencv-python-headless", "torch", "transformers"}


def test_missing_weights_decline_with_the_command_that_fetches_them(hub):
    declined = RegionEmbeddings(Sam2Track(), Dinov2Embeddings()).declines(rollout_of("clip.mp4"))
    assert declined.reason is Reason.MISSING_WEIGHTS
    assert "lookaway weights fetch dinov2-base" in declined.message


def test_a_changed_checkpoint_is_refused(hub):
    weights = tiny_dinov2()
    path = weights.folder() / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\x7f")
    with pytest.raises(Unmeasurable, match="Nothing was loaded") as refused:
        RegionEmbeddings(Sam2Track(), Dinov2Embeddings(weights)).load()
    assert refused.value.reason is Reason.WRONG_WEIGHTS
