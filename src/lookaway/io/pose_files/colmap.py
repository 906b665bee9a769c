"""Reads COLMAP's text files: `images.txt` and `cameras.txt`."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lookaway.core import ArtifactError, DatasetError, Floats, Json, Reason, Trajectory
from lookaway.io.dataset_files import decoded, read_limited
from lookaway.io.limits import MAX_POSES_TEXT_BYTES
from lookaway.io.pose_files.checks import (
    LARGEST_NUMBER,
    as_camera_to_world,
    as_frame_indices,
    as_intrinsics,
    as_numbers,
)
from lookaway.io.pose_files.source import PoseSource, PosesRead, assumed_depths, assumed_intrinsics

IMAGE_FIELDS = 10
"""Id, quaternion, translation, camera, name."""
LENSES: Mapping[str, tuple[int, ...]] = {"SIMPLE_PINHOLE": (0, 0, 1, 2), "PINHOLE": (0, 1, 2, 3)}
"""Indices of fx, fy, cx and cy among the parameters of a camera."""
NO_LENGTH = 1e-12
"""A shorter quaternion is no rotation at all, in MIND's own code."""
ANY_LENGTH = LARGEST_NUMBER
"""Tolerance that every quaternion meets."""


@dataclass(frozen=True, slots=True)
class _Image:
    number: int
    camera: int
    motion: tuple[float, ...]
    """World to camera: qw, qx, qy, qz, tx, ty, tz."""


@dataclass(frozen=True, slots=True)
class _Text:
    """A text file whose errors name it."""

    path: Path

    def error(self, message: str, reason: Reason = Reason.INVALID_INPUT) -> ArtifactError:
        return ArtifactError(reason, f"{self.path.name}: {message}")

    def lines(self, *, with_comments: bool = False) -> Iterator[tuple[int, list[str]]]:
        """Number and fields of each line that is not a comment, or of each."""
        if not self.path.is_file():
            raise self.error("there is no such file.", Reason.MISSING_INPUT)
        try:
            text = decoded(read_limited(self.path, MAX_POSES_TEXT_BYTES, self.path.name), self.path.name)
        except DatasetError as error:
            raise ArtifactError(Reason.INVALID_INPUT, str(error)) from error
        for number, line in enumerate(io.StringIO(text, newline=None), start=1):
            if with_comments or not line.startswith("#"):
                yield number, line.split()

    def numbers(self, number: int, kind: Callable[[str], float], fields: Sequence[str]) -> list[float]:
        try:
            return [kind(field) for field in fields]
        except ValueError as error:
            raise self.error(f"line {number} has other text where numbers should be.") from error


def read_colmap(source: PoseSource) -> PosesRead:
    """The trajectory in `images.txt`; the last number in the name of an image is its frame, unless they are counted."""
    text = _Text(source.path)
    images = sorted(_counted(text) if source.counts_images else _images(text), key=lambda image: image.number)
    if not images:
        raise text.error("it names no image.")
    timeline = source.timeline
    tolerance = ANY_LENGTH if source.counts_images else source.rotation_tolerance
    camera_to_world = as_camera_to_world(
        "the file",
        _motions(text, images, tolerance),
        "world_to_camera",
        source.rotation_tolerance,
        text.error,
    )
    first = images[0].number if source.first_frame_number is None else source.first_frame_number
    frames = np.array([image.number - first for image in images])
    frame_count = max(timeline.frame_count, len(frames) if source.counts_images else 0)
    intrinsics, (width, height), told_lens = _lens(source, text, images)
    depth, told_depth = assumed_depths(source, camera_to_world)
    trajectory = Trajectory(
        camera_to_world=camera_to_world,
        intrinsics=intrinsics,
        frame_indices=as_frame_indices("numbers in image names", frames, len(frames), frame_count, text.error),
        median_depth=depth,
        width=width,
        height=height,
        frame_count=frame_count,
    )
    return PosesRead(trajectory, {**told_lens, **told_depth})


def _images(text: _Text) -> Iterator[_Image]:
    """Each image; the line of points after it may be empty or, in files of some tools, missing."""
    names: set[str] = set()
    may_be_points = False
    for number, fields in text.lines():
        if len(fields) != IMAGE_FIELDS:
            if fields and not (may_be_points and _are_points(fields)):
                raise text.error(f"line {number} is neither an image of {IMAGE_FIELDS} fields nor its points.")
            may_be_points = False
            continue
        name = fields[-1]
        if name in names:
            raise text.error(f"line {number} repeats an image.")
        names.add(name)
        may_be_points = True
        yield _Image(
            _frame_number(text, number, name),
            int(text.numbers(number, int, fields[8:9])[0]),
            tuple(text.numbers(number, float, fields[1:8])),
        )


def _counted(text: _Text) -> Iterator[_Image]:
    """Each image as MIND's own code reads it: numbered in the order of names, the line after it skipped unread."""
    entries: list[tuple[str, list[float]]] = []
    lines = text.lines(with_comments=True)
    for number, fields in lines:
        if len(fields) < IMAGE_FIELDS or fields[0].startswith("#"):
            continue
        motion = text.numbers(number, float, fields[1:8])
        if np.linalg.norm(motion[:4]) < NO_LENGTH:
            motion[:4] = [1.0, 0.0, 0.0, 0.0]
        entries.append((fields[IMAGE_FIELDS - 1], motion))
        next(lines, None)
    entries.sort(key=lambda entry: entry[0])
    return (_Image(number, 0, tuple(motion)) for number, (_, motion) in enumerate(entries))


def _are_points(fields: Sequence[str]) -> bool:
    """Whether a line consists of x, y and point id triples; a name with spaces must not match."""
    return len(fields) % 3 == 0 and fields[-1].removeprefix("-").isdigit()


def _frame_number(text: _Text, number: int, name: str) -> int:
    found = re.findall(r"[0-9]+", name.rpartition("/")[2].partition(".")[0])
    if not found or len(found[-1]) > 12:
        raise text.error(f"line {number}: the name of the image does not end in the number of a frame.")
    return int(found[-1])


def _motions(text: _Text, images: Sequence[_Image], tolerance: float) -> Floats:
    """[N, 3, 4] world to camera."""
    rows = as_numbers("the file", np.array([image.motion for image in images]), text.error)
    norms = np.linalg.norm(rows[:, :4], axis=1, keepdims=True)
    if (np.abs(norms - 1) > tolerance).any():
        raise text.error("a quaternion is not of length 1.", Reason.POSE_FAILED)
    w, x, y, z = (rows[:, :4] / norms).T
    rotations = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    return np.concatenate([rotations.transpose(2, 0, 1), rows[:, 4:, None]], axis=2)


def _lens(
    source: PoseSource, text: _Text, images: Sequence[_Image]
) -> tuple[Floats, tuple[int, int], Mapping[str, Json]]:
    """Intrinsics of every image, the width and height that they are for, and what was assumed."""
    if source.lens is None:
        intrinsics, assumed = assumed_intrinsics(source, len(images), text.error)
        return intrinsics, (source.timeline.width, source.timeline.height), assumed
    lens = _Text(source.lens)
    cameras = dict(_cameras(lens))
    missing = {image.camera for image in images} - cameras.keys()
    if missing:
        raise lens.error(f"the camera {min(missing)} of an image is not listed.")
    sizes = {cameras[image.camera][0] for image in images}
    if len(sizes) > 1:
        raise lens.error("the images are not of one size.")
    matrices = np.array([cameras[image.camera][1] for image in images])
    return as_intrinsics("the file", matrices, len(images), lens.error), sizes.pop(), {}


def _cameras(lens: _Text) -> Iterator[tuple[int, tuple[tuple[int, int], Floats]]]:
    """Id, size and matrix of each camera."""
    for number, fields in lens.lines():
        if not fields:
            continue
        indices = LENSES.get(fields[1] if len(fields) > 1 else "")
        if indices is None:
            raise lens.error(
                f"line {number} is not a camera of the model {' or '.join(LENSES)}; undistort the images first."
            )
        if len(fields) != 4 + max(indices) + 1:
            raise lens.error(f"line {number} has {len(fields) - 4} parameters, expected {max(indices) + 1}.")
        camera, width, height = (int(n) for n in lens.numbers(number, int, (fields[0], *fields[2:4])))
        if not (0 < width < 2**31 and 0 < height < 2**31):
            raise lens.error(f"line {number} has an image of {width} by {height}.")
        parameters = lens.numbers(number, float, fields[4:])
        fx, fy, cx, cy = (parameters[index] for index in indices)
        yield camera, ((width, height), np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1]]))
