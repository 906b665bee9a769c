"""Clips of the simulated world on disk, with their ground truth."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lookaway.core import ArtifactError, DatasetError, Floats, Problem, Reason, Trajectory, Unmeasurable
from lookaway.io.camera_steps import camera_steps, timed_action
from lookaway.io.clip_card import ClipArrays, ClipCard, hash_arrays, hash_pictures, read_clip_arrays
from lookaway.io.dataset_files import inside, read_record
from lookaway.io.planes import read_planes
from lookaway.io.video import Video

VIDEO: Final = "video.mp4"
DEPTH: Final = "depth.mkv"
INSTANCES: Final = "masks.mkv"
ARRAYS: Final = "truth.npz"
CARD: Final = "clip.json"
"""Written last: a clip with a card is complete."""
FILES: Final = (VIDEO, DEPTH, INSTANCES, ARRAYS, CARD)
DEPTH_STRIDE: Final = 8
"""Every eighth pixel in both directions is enough for a median."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldClip:
    """One folder: a video and its ground truth.

    A bad card is a `DatasetError`, any other bad file an `ArtifactError`.
    """

    folder: Path
    card: ClipCard

    @classmethod
    def open(cls, folder: Path) -> WorldClip:
        """Read and check `clip.json`; other files are read on demand."""
        return cls(folder=folder, card=read_record(folder / CARD, ClipCard))

    @property
    def video(self) -> Path:
        """The generated video."""
        return self.folder / VIDEO

    @property
    def files(self) -> tuple[Path, ...]:
        """All files of the clip."""
        return tuple(self.folder / name for name in FILES)

    def arrays(self) -> ClipArrays:
        """Cameras, poses and states."""
        return read_clip_arrays(self.folder / ARRAYS, self.card)

    def trajectory(self) -> Trajectory:
        """The executed camera path; a frame of only sky gets the median depth of the whole clip."""
        arrays = self.arrays()
        return Trajectory(
            camera_to_world=arrays.camera_to_world,
            intrinsics=np.repeat(arrays.intrinsics[None], self.card.frames, axis=0),
            frame_indices=np.arange(self.card.frames),
            median_depth=self._median_depths(),
            width=self.card.width,
            height=self.card.height,
            frame_count=self.card.frames,
        )

    def timed_action(self) -> str:
        """The requested camera action, including waits."""
        return timed_action(camera_steps(self.arrays().requested_camera_to_world).words())

    def depth(self) -> Iterator[NDArray[np.float32]]:
        """[height, width] metres along the optical axis, frame by frame; 0 is sky."""
        step = self.card.depth_metres_per_step
        return ((plane * step).astype(np.float32) for plane in self._planes(DEPTH, np.uint16))

    def instances(self) -> Iterator[NDArray[np.uint8]]:
        """[height, width] ids of things, frame by frame; 0 is sky."""
        return self._planes(INSTANCES, np.uint8)

    def masks(self, thing: int) -> Iterator[NDArray[np.bool_]]:
        """[height, width] mask of the thing with this id, frame by frame."""
        known = [known.id for known in self.card.things]
        if thing not in known:
            raise ValueError(f"no thing has the id {thing}; known: {known}.")
        return (plane == thing for plane in self.instances())

    def check(self) -> list[Problem]:
        """Every difference from what was written. The lossy video is decoded, not compared."""
        hashes = self.card.hashes
        checks: dict[str, Callable[[], str]] = {
            VIDEO: self._video_problem,
            DEPTH: lambda: _difference(hash_pictures(self._planes(DEPTH, np.uint16)), hashes.depth),
            INSTANCES: lambda: _difference(hash_pictures(self.instances()), hashes.instances),
            ARRAYS: lambda: _difference(hash_arrays(self.arrays().named()), hashes.arrays),
        }
        problems = []
        for name, check in checks.items():
            try:
                message = check()
            except Unmeasurable as error:
                message = str(error).removeprefix(f"{name}: ")
            if message:
                problems.append(Problem(where=str(self.folder / name), message=message))
        return problems

    def _video_problem(self) -> str:
        with Video(self.video) as video:
            size = (video.timeline.width, video.timeline.height)
            count = sum(len(window) for window in video.windows(1))
        if (count, size) == (self.card.frames, (self.card.width, self.card.height)):
            return ""
        expected = f"{self.card.frames} of {self.card.width}x{self.card.height} as in {CARD}"
        return f"it holds {count} frames of {size[0]}x{size[1]}, expected {expected}."

    def _planes(self, name: str, dtype: type[np.generic]) -> Iterator[NDArray[Any]]:
        expected = (np.dtype(dtype), (self.card.height, self.card.width))
        count = 0
        for plane in read_planes(self.folder / name):
            if (plane.dtype, plane.shape) != expected:
                raise _error(f"{name}: it holds {plane.dtype} {plane.shape}, expected {expected[0]} {expected[1]}.")
            count += 1
            yield plane
        if count != self.card.frames:
            raise _error(f"{name}: it holds {count} pictures, expected {self.card.frames} as in {CARD}.")

    def _median_depths(self) -> Floats:
        medians = []
        for plane in self.depth():
            seen = plane[::DEPTH_STRIDE, ::DEPTH_STRIDE]
            seen = seen[seen > 0]
            medians.append(float(np.median(seen)) if seen.size else np.nan)
        found = np.array(medians)
        if np.isnan(found).all():
            raise _error(f"{DEPTH}: there is only sky.", Reason.POSE_FAILED)
        return np.where(np.isnan(found), np.nanmedian(found), found)


def open_world(root: Path) -> list[WorldClip]:
    """All clips below `clips/<case>/<model>/<take>`, in the order of their paths.

    Raises an `UnsafePath` if one leads out of the root, a `DatasetError` if a card is not valid or two clips are the
    same take.
    """
    clips: dict[tuple[str, str, int], WorldClip] = {}
    for folder in clip_folders(root):
        check_inside(root, folder)
        clip = WorldClip.open(folder)
        take = (clip.card.case, clip.card.model, clip.card.take)
        if take in clips:
            raise DatasetError(f"{folder}: the same take as {clips[take].folder}; remove one of them.")
        clips[take] = clip
    return list(clips.values())


def clip_folders(root: Path) -> list[Path]:
    """Folders with a complete clip, sorted by path."""
    found = sorted(path.parent.relative_to(root) for path in root.glob(f"clips/*/*/*/{CARD}"))
    for folder in found:
        if not _is_text(folder):
            shown = os.fsencode(folder).decode(errors="backslashreplace")
            raise DatasetError(f"{root}: the name {shown} is not UTF-8; rename the folder.")
    return [root / folder for folder in found]


def check_inside(root: Path, folder: Path) -> None:
    """Raise an `UnsafePath` if a file of a clip leads out of the root."""
    for name in FILES:
        inside(root, name, base=folder)


def _is_text(path: Path) -> bool:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def _difference(found: str, expected: str) -> str:
    return "" if found == expected else f"its content has the hash {found}, expected {expected} as in {CARD}."


def _error(message: str, reason: Reason = Reason.INVALID_INPUT) -> ArtifactError:
    return ArtifactError(reason, message)
