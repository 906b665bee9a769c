from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from lookaway.core import MissingDevice, MissingExtra, Reason, Unmeasurable
from lookaway.io.sampling import UniformFrames
from lookaway.perception.faces.buffalo_faces import BuffaloFaces
from lookaway.perception.weights import WeightFile
from tests.support.hub import put_into_hub
from tests.support.onnx_networks import save_detector, save_recogniser
from tests.support.watching import check_documented, perceive_frames, rollout_of

SIDE = 64
RED, BLUE = (np.full((32, 64, 3), colour, np.uint8) for colour in ((255, 0, 0), (0, 0, 255)))
POINTS = [-0.25, -0.2, 0.25, -0.2, 0, 0, -0.2, 0.3, 0.2, 0.3]
# The second find of the cell in column 5 of row 2: 8 cells a row, two finds a cell.
FACE = {(8, (2 * 8 + 5) * 2 + 1): (0.9, [1, 2, 3, 1], POINTS)}


def tiny(faces=FACE) -> BuffaloFaces:
    def save(folder):
        save_detector(folder / "detection/model.onnx", SIDE, faces)
        save_recogniser(folder / "recognition/model.onnx")

    return BuffaloFaces(weights=put_into_hub("buffalo-l", save), frames=UniformFrames(3), side=SIDE)


def test_a_feature_holds_what_is_documented(hub):
    recipe = tiny()
    feature = perceive_frames(recipe, [RED, BLUE, BLUE, BLUE, RED])
    check_documented(recipe, feature)
    assert feature["frame_indices"].tolist() == [0, 4]
    assert feature["looked_at"].tolist() == [0, 2, 4]


def test_box_and_landmarks_are_distances_from_the_corner_of_the_cell(hub):
    feature = perceive_frames(tiny(), [RED])
    corner = np.array([5 * 8, 2 * 8])
    np.testing.assert_allclose(feature["boxes"][0] * [64, 32, 64, 32], [40 - 8, 16 - 16, 40 + 24, 16 + 8])
    expected = corner + 8 * np.array(POINTS).reshape(5, 2)
    np.testing.assert_allclose(feature["landmarks"][0] * [64, 32], expected, atol=1e-5)


def test_every_stride_has_its_own_cells(hub):
    faces = {(16, 7 * 2): (0.9, [0.5] * 4, POINTS), (32, 1 * 2 + 1): (0.8, [0.1] * 4, POINTS)}
    feature = perceive_frames(tiny(faces), [RED])
    centres = (feature["boxes"][:, :2] + feature["boxes"][:, 2:]) / 2 * [64, 32]
    np.testing.assert_allclose(centres, [[3 * 16, 16], [32, 1.6]], atol=1e-5)


def test_a_face_at_the_edge_ends_with_the_frame(hub):
    feature = perceive_frames(tiny({(8, 0): (0.9, [1, 1, 2, 9], POINTS)}), [RED])
    np.testing.assert_allclose(feature["boxes"], [[0, 0, 0.25, 1]])


def test_red_is_the_first_channel_and_bytes_are_scaled_about_the_middle(hub):
    feature = perceive_frames(tiny(), [RED])
    assert feature["scores"].tolist() == pytest.approx([0.9 * 127.5 / 128])
    np.testing.assert_allclose(feature["embeddings"][0], np.array([1, -1, -1]) / np.sqrt(3), atol=1e-6)


def test_no_face_in_any_frame_is_a_feature_without_rows(hub):
    recipe = tiny()
    feature = perceive_frames(recipe, [BLUE, BLUE])
    check_documented(recipe, feature)
    assert feature["embeddings"].shape == (0, 3)
    assert feature["looked_at"].tolist() == [0, 1]


def test_a_larger_frame_has_the_same_face_at_the_same_place(hub):
    recipe = tiny()
    small, large = (perceive_frames(recipe, [picture]) for picture in (RED, RED.repeat(3, 0).repeat(3, 1)))
    np.testing.assert_allclose(small["boxes"], large["boxes"], atol=1e-6)


def test_missing_weights_decline_with_the_command_that_fetches_them(hub):
    declined = BuffaloFaces().declines(rollout_of(hub / "clip.mp4"))
    assert declined.reason is Reason.MISSING_WEIGHTS
    assert "lookaway weights fetch buffalo-l" in declined.message


def test_weights_of_another_hash_are_refused(hub):
    recipe = tiny()
    files = (WeightFile(recipe.weights.files[0].name, "0" * 64), recipe.weights.files[1])
    with pytest.raises(Unmeasurable, match="Nothing was loaded") as refused:
        replace(recipe, weights=replace(recipe.weights, files=files)).load()
    assert refused.value.reason is Reason.WRONG_WEIGHTS


def test_a_network_of_another_layout_is_refused(hub):
    def save(folder):
        save_recogniser(folder / "detection/model.onnx")
        save_recogniser(folder / "recognition/model.onnx")

    with pytest.raises(Unmeasurable, match="has 1 outputs, expected 9") as refused:
        BuffaloFaces(weights=put_into_hub("buffalo-l", save)).load()
    assert refused.value.reason is Reason.WRONG_WEIGHTS


def test_a_file_that_is_no_network_is_refused(hub):
    def save(folder):
        for name in ("detection", "recognition"):
            (folder / name).mkdir()
            (folder / name / "model.onnx").write_bytes(b"not a network")

    with pytest.raises(Unmeasurable, match="does not load") as refused:
        BuffaloFaces(weights=put_into_hub("buffalo-l", save)).load()
    assert refused.value.reason is Reason.WRONG_WEIGHTS


def test_without_onnxruntime_the_extra_is_named(hub, monkeypatch):
    recipe = tiny()
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtra, match=r"lookaway\[faces\]"):
        recipe.load()


def test_a_device_that_is_not_there_ends_the_run(hub):
    with pytest.raises(MissingDevice, match="'cuda'"):
        replace(tiny(), device="cuda").load()


def test_an_input_that_does_not_divide_into_cells_is_refused():
    with pytest.raises(ValueError, match="multiple of 32"):
        BuffaloFaces(side=100)
