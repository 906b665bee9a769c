from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from lookaway.core import Feature, FramelessExtractor, MaskTrack, Reason, Unmeasurable
from lookaway.metrics.human_appearance import HumanAppearance
from lookaway.metrics.track_similarity import unit_vectors
from lookaway.perception.faces.extraction import FACE_ARRAYS
from lookaway.perception.masks.body_boxes import BodyBoxes
from lookaway.perception.masks.sam2_masks import BOXES_AT_ONCE, Sam2Masks
from lookaway.perception.similarity.dinov2_embeddings import Dinov2Embeddings
from lookaway.perception.similarity.region_embeddings import RegionEmbeddings
from tests.support.clips import numbered_frames, write_clip
from tests.support.mask_networks import tiny_sam2
from tests.support.networks import tiny_dinov2
from tests.support.watching import check_documented, perceive, rollout_of

ANNA, BERT, CARL = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
NOBODY = (0.2, 0.3, 0.2, 0.5)
"""A face without a width, as of somebody who leaves the picture."""


@dataclass(frozen=True, slots=True)
class KnownFaces(FramelessExtractor):
    """Faces that a test tells: frame, box, and whose they are."""

    name: ClassVar[str] = "known_faces"
    seconds_per_frame: ClassVar[float] = 0.0
    bytes_per_frame: ClassVar[float] = 0.0
    arrays: ClassVar[Mapping[str, str]] = FACE_ARRAYS

    faces: tuple[tuple[int, tuple[float, ...], tuple[float, ...]], ...]

    def read(self, rollout, timeline, features) -> Feature:
        frames = np.array([frame for frame, _, _ in self.faces], np.int64)
        arrays = {
            "boxes": np.array([box for _, box, _ in self.faces], np.float32).reshape(-1, 4),
            "scores": np.linspace(0.9, 0.5, len(frames), dtype=np.float32),
            "embeddings": np.array([whose for _, _, whose in self.faces], np.float32).reshape(-1, 3),
            "frame_indices": frames,
            "looked_at": np.arange(10),
        }
        return Feature(arrays)


def grown(*boxes, **fields):
    recipe = BodyBoxes(KnownFaces(tuple((0, box, ANNA) for box in boxes)), **fields)
    feature = recipe.load().start(None, None, {"faces": recipe.faces.read(None, None, {})}).finish()
    check_documented(recipe, feature)
    return feature["boxes"]


def test_a_body_is_wider_than_its_face_by_so_much_and_begins_above_it():
    (box,) = grown((0.48, 0.20, 0.52, 0.26))
    np.testing.assert_allclose(box, [0.5 - 0.07, 0.2 - 0.03, 0.5 + 0.07, 0.2 - 0.03 + 7 * 0.06], atol=1e-6)


def test_its_proportions_are_those_of_the_recipe():
    (box,) = grown((0.4, 0.4, 0.5, 0.5), widths=2.0, heights=3.0, above=1.0)
    np.testing.assert_allclose(box, [0.35, 0.3, 0.55, 0.6], atol=1e-6)


def test_a_body_ends_with_the_frame():
    (box,) = grown((0.0, 0.05, 0.4, 0.45))
    np.testing.assert_allclose(box, [0, 0, 0.9, 1], atol=1e-6)
    (box,) = grown((0.8, 0.9, 1.0, 1.0))
    np.testing.assert_allclose(box, [0.55, 0.85, 1, 1], atol=1e-6)


def test_every_face_has_a_body_in_the_order_of_faces_even_one_without_a_width():
    faces = KnownFaces(((3, (0.7, 0.1, 0.8, 0.2), ANNA), (3, NOBODY, BERT), (3, (0.1, 0.1, 0.2, 0.2), CARL)))
    feature = BodyBoxes(faces).start(None, None, {"faces": faces.read(None, None, {})}).finish()
    assert len(feature["boxes"]) == 3
    assert feature["boxes"][:, [0, 2]].mean(axis=1).tolist() == pytest.approx([0.75 + 0.0125 - 0.0125, 0.2, 0.1625])
    for name in ("scores", "frame_indices", "looked_at"):
        np.testing.assert_array_equal(feature[name], faces.read(None, None, {})[name])


def test_where_there_is_no_face_there_is_no_box():
    assert grown().shape == (0, 4)


# The surest face comes first, so that the order of people changes; frame 7 has more than fit into one batch.
PEOPLE = (
    (2, (0.1, 0.1, 0.2, 0.25), ANNA),
    (2, NOBODY, CARL),
    (2, (0.6, 0.2, 0.7, 0.3), BERT),
    (7, (0.65, 0.25, 0.72, 0.35), BERT),
    *((7, (x / 20, 0.05, x / 20 + 0.04, 0.12), CARL) for x in range(2, 2 + BOXES_AT_ONCE)),
    (7, (0.15, 0.1, 0.25, 0.2), ANNA),
)


@pytest.fixture
def video(tmp_path):
    return rollout_of(write_clip(tmp_path / "clip.mp4", numbered_frames(10, width=96, height=64)))


@pytest.fixture
def chain(hub):
    """From faces to the vectors of bodies, with tiny networks."""
    masks = Sam2Masks(BodyBoxes(KnownFaces(())), tiny_sam2(), height=64)
    return RegionEmbeddings(masks, Dinov2Embeddings(tiny_dinov2(), side=28), min_area=1, height=64)


def of(chain, faces):
    return replace(chain, masks=replace(chain.masks, boxes=BodyBoxes(faces)))


def keys(feature):
    """Frame of each row, and which thing of the frame it is."""
    return list(zip(feature["frame_indices"].tolist(), feature["things"].tolist(), strict=True))


def similarity(vectors):
    """Cosine of either of two with their mean: that of half the angle between them."""
    first, second = unit_vectors(np.array(vectors))
    return np.sqrt((1 + first @ second) / 2)


def test_bodies_are_compared_with_those_of_the_same_face(chain, video):
    alone = {whose: [] for whose in (ANNA, BERT)}
    for person in PEOPLE:
        if person[2] in alone:
            alone[person[2]].append(perceive(of(chain, KnownFaces((person,))), video)["vectors"][0])
    faces = KnownFaces(PEOPLE)
    bodies = perceive(of(chain, faces), video)
    outcome = HumanAppearance().measure(video, {"faces": faces.read(None, None, {}), "bodies": bodies})
    tracks = [unit.outcome.value for unit in outcome.units if unit.name in ("track0", "track2")]
    assert tracks == pytest.approx([similarity(alone[ANNA]), similarity(alone[BERT])], abs=1e-5)
    crossed = [similarity([alone[ANNA][0], alone[BERT][1]]), similarity([alone[BERT][0], alone[ANNA][1]])]
    assert min(np.abs(np.subtract(tracks, crossed))) > 1e-4, "the vectors of a random network should differ"


def test_bodies_keep_their_faces_where_others_are_too_small(chain, video):
    chain = of(chain, KnownFaces(PEOPLE))
    track, whole = MaskTrack.from_feature(perceive(chain.masks, video)), perceive(chain, video)
    assert keys(track.to_feature()) == [(2, 0), (2, 1), (2, 2), *((7, number) for number in range(BOXES_AT_ONCE + 2))]
    areas = dict(zip(keys(track.to_feature()), track.areas.tolist(), strict=True))
    vectors = dict(zip(keys(whole), whole["vectors"], strict=True))
    for least in (areas[2, 0] + 1, sorted(areas.values())[len(areas) // 2]):
        large = perceive(replace(chain, min_area=least), video)
        assert set(keys(large)) == {key for key, area in areas.items() if area >= least}
        for key, vector in zip(keys(large), large["vectors"], strict=True):
            np.testing.assert_allclose(vector, vectors[key], atol=1e-5)


def test_without_a_face_there_is_no_body_to_look_at(chain, video):
    with pytest.raises(Unmeasurable, match="body_boxes found no box") as declined:
        perceive(chain, video)
    assert declined.value.reason is Reason.NO_TARGET


def test_other_proportions_are_another_recipe():
    recipe = BodyBoxes(KnownFaces(()))
    assert recipe.needs == {"faces": KnownFaces(())}
    assert replace(recipe, widths=3.0) != recipe
