"""`truth.npz`: the numbers that are true of a clip of the simulated world."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Floats, Indices
from lookaway.io.arrays import ArrayArchive
from lookaway.io.clip_card import ClipCard
from lookaway.io.files import write_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipArrays:
    """N frames of T things, in the order of the card. Metres, Z up; cameras in OpenCV axes."""

    camera_to_world: Floats
    """[N, 4, 4] as executed."""
    requested_camera_to_world: Floats
    """[N, 4, 4]"""
    intrinsics: Floats
    """[3, 3]; pixels are counted from the corner of the picture."""
    timestamps: Floats
    """[N] seconds in the video."""
    position: Floats
    """[N, T, 3]"""
    quaternion_wxyz: Floats
    """[N, T, 4]"""
    opacity: Floats
    """[N, T] from 0 (absent) to 1."""
    progress: Floats
    """[N, 2] of the motion and of the process, each from 0 to 1."""
    visible_area: Indices
    """[N, T] pixels."""
    scene_time: Floats
    """[N] seconds as the scene counts them; not those of the video where a fault skips or stops time."""

    def named(self) -> dict[str, Any]:
        """By name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def write_clip_arrays(path: Path, arrays: ClipArrays) -> None:
    """Write `truth.npz`, whole or not at all; the same arrays give the same bytes."""
    write_whole(path, lambda file: np.savez_compressed(file, **arrays.named()))


def read_clip_arrays(path: Path, card: ClipCard) -> ClipArrays:
    """The arrays, checked against the card of their clip; an `ArtifactError` where they do not fit."""
    with ArrayArchive(path) as archive:
        return ClipArrays(**{name: _read(archive, name, shape) for name, shape in _shapes(card).items()})


def _shapes(card: ClipCard) -> dict[str, tuple[int, ...]]:
    frames, things = card.frames, len(card.things)
    return {
        "camera_to_world": (frames, 4, 4),
        "requested_camera_to_world": (frames, 4, 4),
        "intrinsics": (3, 3),
        "timestamps": (frames,),
        "position": (frames, things, 3),
        "quaternion_wxyz": (frames, things, 4),
        "opacity": (frames, things),
        "progress": (frames, 2),
        "visible_area": (frames, things),
        "scene_time": (frames,),
    }


def _read(archive: ArrayArchive, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    found = archive.shape(name)
    if found != shape:
        raise archive.error(f"{name} has the shape {found}, expected {shape} as in clip.json.")
    values = archive.read(name)
    dtype = np.dtype(np.int64 if name == "visible_area" else np.float64)
    if values.dtype != dtype:
        raise archive.error(f"{name} holds {values.dtype}, expected {dtype}.")
    if not np.isfinite(values).all():
        raise archive.error(f"{name} holds NaN or infinity; render the clip again.")
    return values
