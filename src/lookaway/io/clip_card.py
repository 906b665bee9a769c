"""`clip.json`: metadata of a clip of the simulated world."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

from lookaway.core import Floats, Indices
from lookaway.io.arrays import ArrayArchive
from lookaway.io.files import write_whole

Frames = tuple[int, int]
"""First frame, and one past the last."""
Fraction = Annotated[float, Field(ge=0, le=1)]
Side = Annotated[int, Field(ge=2, le=8192, multiple_of=2)]
Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class InjectionCard(_Record):
    """An injected fault."""

    fault: str
    severity: Fraction
    dose: float
    """Realised dose, measured in the ground truth."""
    dose_unit: str


class ThingCard(_Record):
    """A named thing in the scene."""

    id: Annotated[int, Field(ge=1, le=255)]
    """Its value in the instance masks."""
    name: str
    role: Literal["target", "interactor", "anchor", "prop", "structure", "copy"]
    is_movable: bool
    diameter_metres: float
    moves_by_itself: bool = False
    """Whether parts of it move without any event, in the clean clip too, such as water: no fault of a memory."""


class PhasesCard(_Record):
    """When the target is visible."""

    visible: Frames
    disappeared: Frames
    reappeared: Frames
    causes: tuple[tuple[Literal["visible", "occluded", "out_of_view", "absent"], int, int], ...]
    """Runs of frames, each with its first frame and one past its last."""


class QuestionCard(_Record):
    """A multiple-choice question about the end of the clip."""

    question: str
    choices: tuple[str, ...]
    answer: str
    """The choice that is true if everything is remembered."""


class HashesCard(_Record):
    """SHA-256 of the rendered content, before encoding."""

    frames: Hash
    depth: Hash
    instances: Hash
    arrays: Hash


class ClipCard(_Record):
    """The content of `clip.json`."""

    format: Literal[1] = 1
    world_version: int
    """Clips of different versions differ even if their recipes are equal."""
    case: str
    """Id of the case, the same for all models."""
    family: str
    event: Literal["none", "spatial", "in_place", "both"]
    camera: str
    seed: int
    model: str
    take: int
    injections: tuple[InjectionCard, ...]
    width: Side
    height: Side
    fps: Annotated[int, Field(ge=1)]
    frames: Annotated[int, Field(ge=1, le=1_000_000)]
    seconds: float
    wait: float
    place: str
    things: Annotated[tuple[ThingCard, ...], Field(min_length=1)]
    """The first one is the target."""
    target_box: tuple[float, float, float, float]
    """Centre x, centre y, width, height in the first frame, as fractions of its size; all 0 if it is not visible."""
    motion: str
    """`rolls across the rug`; happens if the event is spatial."""
    process: tuple[str, str, str]
    """Change in place, and the state before and after: `burns down`, `whole`, `burnt down`."""
    light_flicker_stops: Annotated[float, Field(ge=0)] = 0.0
    """By how much the light flickers around its mean, in the clean clip too."""
    phases: PhasesCard
    caption: str
    caption_segments: tuple[str, str, str, str, str]
    action: str
    question: QuestionCard
    depth_metres_per_step: Annotated[float, Field(gt=0)]
    software: dict[str, str]
    """Versions of the software that rendered it."""
    hashes: HashesCard

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        start, end = self.phases.disappeared
        around = (self.phases.visible, self.phases.reappeared)
        if around != ((0, start), (end, self.frames)) or not 0 <= start <= end <= self.frames:
            raise ValueError(f"the three phases must follow each other from frame 0 to {self.frames}")
        if len({thing.id for thing in self.things}) < len(self.things) or self.things[0].role != "target":
            raise ValueError("the first thing must be the target, and no two things may have one id")
        if self.question.answer not in self.question.choices:
            raise ValueError("the answer must be one of the choices")
        return self

    @property
    def target(self) -> ThingCard:
        """The thing whose memory is tested."""
        return self.things[0]


def hash_pictures(pictures: Iterable[NDArray[Any]]) -> str:
    """Hash of pictures in order, each with its type and shape."""
    digest = hashlib.sha256()
    for picture in pictures:
        _add(digest, picture)
    return digest.hexdigest()


def hash_arrays(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Hash of named arrays in the order of their names, each with its type and shape."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name} ".encode())
        _add(digest, arrays[name])
    return digest.hexdigest()


def _add(digest: hashlib._Hash, array: NDArray[Any]) -> None:
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    digest.update(f"{little.dtype.str} {array.shape}\n".encode())
    digest.update(little.data)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipArrays:
    """N frames of T things, in the order of the card. Metres, Z up; cameras in OpenCV axes."""

    camera_to_world: Floats
    """[N, 4, 4] executed path."""
    requested_camera_to_world: Floats
    """[N, 4, 4]"""
    intrinsics: Floats
    """[3, 3]; pixel coordinates start at the corner of the image."""
    timestamps: Floats
    """[N] seconds in the video."""
    position: Floats
    """[N, T, 3]"""
    quaternion_wxyz: Floats
    """[N, T, 4]"""
    opacity: Floats
    """[N, T] from 0 (absent) to 1."""
    progress: Floats
    """[N, 2] progress of motion and process, each from 0 to 1."""
    visible_area: Indices
    """[N, T] pixels."""
    scene_time: Floats
    """[N] seconds in scene time; differs from video time if a fault skips or stops time."""

    def named(self) -> dict[str, Any]:
        """By name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def write_clip_arrays(path: Path, arrays: ClipArrays) -> None:
    """Write `truth.npz` atomically; equal arrays give equal bytes."""
    write_whole(path, lambda file: np.savez_compressed(file, **arrays.named()))


def read_clip_arrays(path: Path, card: ClipCard) -> ClipArrays:
    """The arrays, checked against the card of their clip; raises an `ArtifactError` if they do not match."""
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
