"""What a model is given for each case of MemoBench, by the three interfaces of its inference protocol, as files."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

import numpy as np

from lookaway.core import (
    DatasetError,
    FrameRequest,
    Json,
    Problem,
    Reason,
    Rollout,
    Trajectory,
    Unmeasurable,
    canonical_json,
)
from lookaway.io.dataset_files import DatasetTree
from lookaway.io.files import read_bytes, write_text, write_whole
from lookaway.io.pictures import png_bytes
from lookaway.io.video import Video
from lookaway.perception.poses.reference_poses import ReferencePoses
from lookaway.suites.memobench.layout import MODELS, PART_FOLDERS, TRUTH
from lookaway.suites.memobench.references import PARTS, ReferenceClip, References, clips_by_key

Interface: TypeAlias = Literal["i2v", "ci2v", "nvs"]
Input: TypeAlias = Literal["prompt", "first_frame", "camera"]
INTERFACES: Final[Mapping[Interface, tuple[Input, ...]]] = {
    "i2v": ("first_frame", "prompt"),
    "ci2v": ("first_frame", "prompt", "camera"),
    "nvs": ("first_frame", "camera"),
}
"""Image to video, the same with a camera, and novel view synthesis: what each of them is given."""
CASES: Final = "cases.jsonl"


@dataclass(frozen=True, slots=True)
class CaseInputs:
    """Writes the inputs of cases for models with one interface, which generate `frames` frames."""

    interface: Interface
    frames: int
    model: str = "MODEL"
    """Name of the model in the paths of its future clips."""

    def write(self, clips: Iterable[ReferenceClip], folder: Path) -> tuple[int, list[Problem]]:
        """Write a folder for each case and a table of them; the number of cases, and those that lack an input."""
        lines: list[str] = []
        problems: list[Problem] = []
        for clip in clips:
            try:
                lines.append(canonical_json(self._write_case(clip, folder)))
            except Unmeasurable as error:
                problems.append(Problem(where=clip.case.id, message=str(error)))
        write_text(folder / CASES, "".join(f"{line}\n" for line in lines))
        return len(lines), problems

    def _write_case(self, clip: ReferenceClip, folder: Path) -> dict[str, Json]:
        if clip.problem is not None:
            raise clip.problem
        case = clip.case
        wanted = INTERFACES[self.interface]
        if "prompt" in wanted and not case.prompt:
            raise Unmeasurable(Reason.MISSING_INPUT, "the case has no prompt; add one to the tables of the dataset.")
        contents: dict[str, tuple[str, bytes]] = {"first_frame": _first_frame(clip)}
        if "camera" in wanted:
            contents["camera"] = "camera.npz", _archive(self._camera(clip))
        row: dict[str, Json] = {
            "case": case.id,
            "interface": self.interface,
            "frames": self.frames,
            "output": f"{MODELS}/{self.model}/{PART_FOLDERS[clip.key.part]}/{clip.name}.mp4",
        }
        if "prompt" in wanted:
            row["prompt"] = case.prompt[0]
        for kind, (name, content) in contents.items():
            path = f"{case.id}/{name}"
            _save(folder / path, content)
            row[kind] = path
            row[f"{kind}_sha256"] = hashlib.sha256(content).hexdigest()
        return row

    def _camera(self, clip: ReferenceClip) -> Trajectory:
        """The pose of the reference at the same part of the video, for each frame that is to be generated."""
        whole = _reference_camera(clip)
        at = np.rint(np.linspace(0, whole.frame_count - 1, self.frames))
        nearest = np.abs(whole.frame_indices[None] - at[:, None]).argmin(axis=1)
        return replace(
            whole,
            camera_to_world=whole.camera_to_world[nearest],
            intrinsics=whole.intrinsics[nearest],
            median_depth=whole.median_depth[nearest],
            frame_indices=np.arange(self.frames),
            frame_count=self.frames,
        )


def reference_clips(folder: Path, problems: list[Problem], *, allow_outside: bool = False) -> Iterator[ReferenceClip]:
    """The cases of a dataset in which no model has clips yet; what cannot be used is added to the problems."""
    for root in (folder, folder / TRUTH):
        if any((root / part).is_dir() for part in PARTS.values()):
            tree = DatasetTree(root.absolute(), problems, allow_outside)
            return iter(clips_by_key(References(tree).clips(), tree).values())
    raise DatasetError(f"{folder}: no reference clips found; expected folders {' and '.join(PARTS.values())}.")


def _reference_camera(clip: ReferenceClip) -> Trajectory:
    reference = clip.case.reference
    if reference is None:
        raise Unmeasurable(Reason.MISSING_INPUT, "the case has no reference video.")
    rollout = Rollout(case=clip.case, model="reference", video=reference.video)
    with Video(reference.video) as video:
        return Trajectory.from_feature(ReferencePoses(layout="memobench").read(rollout, video.timeline, {}))


def _first_frame(clip: ReferenceClip) -> tuple[str, bytes]:
    """The picture as it is stored or, where there is only a video, its first frame without loss."""
    if clip.case.first_frame is not None:
        return f"first_frame{clip.case.first_frame.suffix.lower()}", read_bytes(clip.case.first_frame)
    if clip.case.reference is None:
        raise Unmeasurable(Reason.MISSING_INPUT, "the case has no reference video.")
    with Video(clip.case.reference.video) as video:
        _, frame = next(video.frames([FrameRequest(frozenset([0]))]))
    return "first_frame.png", png_bytes(frame.pixels)


def _save(path: Path, content: bytes) -> None:
    write_whole(path, lambda file: file.write(content))


def _archive(camera: Trajectory) -> bytes:
    """Camera to world in OpenCV axes, and pinholes at the size of the reference."""
    buffer = io.BytesIO()
    np.savez(
        buffer,
        camera_to_world=camera.camera_to_world,
        intrinsics=camera.intrinsics,
        size=np.array([camera.width, camera.height]),
    )
    return buffer.getvalue()
