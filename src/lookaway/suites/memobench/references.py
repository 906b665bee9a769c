"""MemoBench's reference clips: frames or videos, poses, keyframes, prompts and subjects of both parts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeVar

from lookaway.core import Case, DatasetError, Reason, Reference, Target, Unmeasurable
from lookaway.io.dataset_files import DatasetTree
from lookaway.io.files import picture_names
from lookaway.suites.memobench.records import (
    REAL,
    SYNTHETIC,
    ClipKey,
    Keyframes,
    Subject,
    clip_key,
    read_keyframes,
    read_subjects,
)

PARTS: Final = {SYNTHETIC: "Synthetic_processed", REAL: "Real_Raw"}
"""Folder of each part."""
KEYFRAMES: Final = {SYNTHETIC: "Synthetic_ExitReenter", REAL: "Real_ExitReenter"}
SUBJECTS: Final = {
    SYNTHETIC: "sam3_metadata/synthetic_metadata.csv",
    REAL: "sam3_metadata/real_metadata.csv",
}
SELECTION: Final = "Real_Selected.xls"
FRAMES: Final = "FRAMES"
VISIBLE, DISAPPEARED, REAPPEARED = "visible", "disappeared", "reappeared"
PHASES: Final = (VISIBLE, DISAPPEARED, REAPPEARED)
"""V, D and R of the publication; O, H and R of its code."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReferenceClip:
    """A case of the dataset, or why it cannot be used."""

    key: ClipKey
    name: str
    """As its folder is named."""
    case: Case
    problem: Unmeasurable | None = None


def check_pictures(tree: DatasetTree, folder: str) -> list[str]:
    """Names of the pictures of a folder; raises an `UnsafePath` where a link in it leads out of the dataset."""
    path = tree.path(folder)
    names = picture_names(path)
    if not tree.allow_outside:
        for name in names:
            if (path / name).is_symlink():
                tree.path(f"{folder}/{name}")
    return names


def first_present(tree: DatasetTree, folder: str, *candidates: str) -> str | None:
    """The first of some files that is there, inside a folder."""
    return next((name for name in candidates if os.path.lexists(tree.root / folder / name)), None)


@dataclass(frozen=True, slots=True)
class References:
    """Reads the reference clips of both parts; what cannot be used is listed as a problem."""

    tree: DatasetTree
    _subjects: dict[ClipKey, Subject] = field(default_factory=dict)

    def clips(self) -> Iterator[ReferenceClip]:
        """All clips that have keyframes, part by part."""
        if os.path.lexists(self.tree.root / SELECTION):
            self.tree.report(SELECTION, "a selection in this old format is not read: all real clips are measured")
        for part, folder in PARTS.items():
            if self.tree.has(folder):
                yield from self._part(part, folder)

    def _part(self, part: str, folder: str) -> Iterator[ReferenceClip]:
        keyframes = self._keyframes(part, folder)
        if self._has_subjects(part):
            self._subjects.update(self._read(read_subjects, SUBJECTS[part], lambda found: found.key))
        else:
            self.tree.report(SUBJECTS[part], "there is no such file; nothing says what the subjects are")
        unseen = set(keyframes)
        for where, scene, name in self._folders(part, folder):
            key = clip_key(name)
            if key is None or key.part != part:
                self.tree.report(where, f"the name is not that of a {part} clip; left out")
                continue
            unseen.discard(key)
            found = keyframes.get(key)
            if found is None:
                self.tree.report(where, f"{KEYFRAMES[part]} has no keyframes of it; left out")
            elif not found.is_skipped:
                yield self._clip(where, scene, name, key, found)
        for key in sorted(unseen):
            if not keyframes[key].is_skipped:
                self.tree.report(f"{folder}/{keyframes[key].clip}", "it has keyframes, but there is no such folder")

    def _folders(self, part: str, folder: str) -> Iterator[tuple[str, str, str]]:
        """Path, scene and name of every folder of a clip."""
        if part == REAL:
            return ((f"{folder}/{name}", "", name) for name in self.tree.folders(folder))
        return (
            (f"{folder}/{scene}/{name}", scene, name)
            for scene in self.tree.folders(folder)
            for name in self.tree.folders(f"{folder}/{scene}")
        )

    def _keyframes(self, part: str, folder: str) -> dict[ClipKey, Keyframes]:
        names = (f"{where}{KEYFRAMES[part]}{suffix}" for where in (f"{folder}/", "") for suffix in (".xlsx", ".csv"))
        table = next((name for name in names if os.path.lexists(self.tree.root / name)), None)
        if table is None:
            self.tree.report(folder, f"there is no {KEYFRAMES[part]}.xlsx or .csv; the whole part is left out")
            return {}
        return self._read(read_keyframes, table, lambda found: clip_key(found.clip))

    def _has_subjects(self, part: str) -> bool:
        return os.path.lexists(self.tree.root / SUBJECTS[part])

    def _read(
        self, read: Callable[[Path], Iterator[tuple[int, T | str]]], where: str, key_of: Callable[[T], ClipKey | None]
    ) -> dict[ClipKey, T]:
        """The rows of a table by clip; wrong rows, and those that name a clip again, are problems."""
        found: dict[ClipKey, T] = {}
        try:
            for number, row in read(self.tree.path(where)):
                key = row if isinstance(row, str) else key_of(row)
                if isinstance(row, str) or isinstance(key, str):
                    self.tree.report(f"{where}:{number}", str(row))
                elif key is None:
                    self.tree.report(f"{where}:{number}", "the row does not name a clip; left out")
                elif key in found:
                    self.tree.report(f"{where}:{number}", "an earlier row is about the same clip; left out")
                else:
                    found[key] = row
        except (DatasetError, Unmeasurable, OSError) as error:
            self.tree.report(where, str(error))
        return found

    def _clip(self, where: str, scene: str, name: str, key: ClipKey, keyframes: Keyframes) -> ReferenceClip:
        subject = self._subjects.get(key)
        prompt = keyframes.prompt or (subject.prompt if subject else "")
        # Real clips of one subject show one experiment by several cameras.
        scene = scene or (subject.subject if subject else name)
        case = Case(
            id=f"{key.part}/{name}",
            subset=key.part,
            scene=scene,
            prompt=(prompt,) if prompt else (),
            target=Target(name=subject.subject) if subject else None,
        )
        if subject is None and self._has_subjects(key.part):
            self.tree.report(where, f"{SUBJECTS[key.part]} does not name its subject")
        try:
            video, first = self._video(where, key)
            artifacts = {kind: self.tree.path(f"{where}/{file}") for kind, file in self._poses(where, key).items()}
            end = self._end(where, video, keyframes)
        except (Unmeasurable, OSError) as error:
            problem = error if isinstance(error, Unmeasurable) else Unmeasurable(Reason.INVALID_RECORD, str(error))
            return ReferenceClip(key, name, case, problem)
        starts = dict(zip(PHASES, (0, keyframes.exit, keyframes.reenter), strict=True))
        reference = Reference(video=self.tree.path(video), end=end, artifacts=artifacts, phase_starts=starts)
        first_frame = self.tree.path(first) if first else None
        return ReferenceClip(key, name, replace(case, reference=reference, first_frame=first_frame))

    def _video(self, where: str, key: ClipKey) -> tuple[str, str | None]:
        """The video or, where there is none, the folder of its frames; and its first frame as a picture."""
        frames = f"{where}/{FRAMES}" if key.part == REAL else f"{where}/RGB{key.number}"
        names = check_pictures(self.tree, frames) if self.tree.has(frames) else []
        first = f"{frames}/{names[0]}" if names else None
        file = f"{where}/{os.path.basename(where)}.mp4"
        if key.part == REAL and os.path.lexists(self.tree.root / file):
            return file, first
        if not names:
            expected = f"{os.path.basename(file)} or {FRAMES}" if key.part == REAL else f"RGB{key.number}"
            raise Unmeasurable(Reason.MISSING_INPUT, f"{where}: there is no {expected} with the reference video.")
        return frames, first

    def _poses(self, where: str, key: ClipKey) -> Mapping[str, str]:
        """The files of the camera, by kind."""
        if key.part == REAL:
            archive = f"raw/{os.path.basename(where)}_mapanything.npz"
            return {"poses": archive} if first_present(self.tree, where, archive) else {}
        number = key.number
        poses = first_present(self.tree, where, f"{number}/poses.npy", "poses.npy", f"camera_full{number}.csv")
        lens = first_present(self.tree, where, f"{number}/intrinsics.npy", "intrinsics.npy")
        if poses is None or poses.endswith(".csv") or lens is None:
            return {"poses": poses} if poses else {}
        return {"poses": poses, "intrinsics": lens}

    def _end(self, where: str, video: str, keyframes: Keyframes) -> int | None:
        """How many frames the reference has by its pictures; `None` where there are none."""
        frames = f"{where}/{FRAMES}" if video.endswith(".mp4") else video
        count = len(picture_names(self.tree.path(frames))) if self.tree.has(frames) else None
        if count is not None and keyframes.reenter >= count:
            raise Unmeasurable(
                Reason.INVALID_RECORD,
                f"{where}: the target is back at frame {keyframes.reenter}, but there are {count} frames. Correct the "
                "keyframes.",
            )
        return count or None


def clips_by_key(clips: Iterator[ReferenceClip], tree: DatasetTree) -> dict[ClipKey, ReferenceClip]:
    """Each clip once; two folders whose names are spellings of one are a problem."""
    found: dict[ClipKey, ReferenceClip] = {}
    for clip in clips:
        if clip.key in found:
            tree.report(clip.case.id, f"{found[clip.key].case.id} is the same clip in another spelling; left out")
        else:
            found[clip.key] = clip
    return found
