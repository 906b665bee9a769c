"""Finds rollouts in a folder: by a manifest, by a pattern of paths, or by the cards of the simulated world."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt

from lookaway.core import (
    Case,
    DatasetError,
    GivenPair,
    Problem,
    Reason,
    Reference,
    Rollout,
    Target,
    Unmeasurable,
    UserError,
)
from lookaway.io.camera_steps import camera_steps, timed_action
from lookaway.io.dataset_files import DatasetTree
from lookaway.io.files import PICTURE_SUFFIXES
from lookaway.io.limits import MAX_FOLDER_DEPTH
from lookaway.io.world_clips import CARD, WorldClip, check_inside, clip_folders
from lookaway.perception.poses.requested_poses import peak_turn_degrees

VIDEO_SUFFIXES: Final = frozenset({".mp4", ".mov", ".mkv", ".webm", ".avi", ".m4v", ".gif"})
SMALLEST_TURN_DEGREES: Final = 1.0
"""The camera of a simulated clip that turns less stands still."""
MANIFEST_LINES: Final = "manifest.jsonl"
MANIFEST_TABLE: Final = "manifest.csv"
PATTERN_FIELDS: Final = ("model", "case", "seed", "subset", "scene")
PATTERNS_BY_DEPTH: Final = {1: "{case}", 2: "{model}/{case}", 3: "{model}/{case}/{seed}"}
POSES_SUFFIX: Final = ".poses.npz"
REQUEST_SUFFIX: Final = ".request.npz"
PHASES: Final = ("visible", "disappeared", "reappeared")
"""Phases of the target of a clip of the simulated world."""


class ManifestProblem(BaseModel):
    """Why a rollout cannot be measured."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reason: Reason
    message: str = Field(max_length=2000)


class ManifestLine(BaseModel):
    """One rollout of a manifest."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)

    video: str = Field(min_length=1)
    case: str | None = None
    model: str = "model"
    seed: str = "0"
    subset: str = "all"
    scene: str | None = None
    prompt: str | list[str] = []
    action: str | None = None
    poses: str | None = None
    request: str | None = None
    delivered: str | None = None
    """Path that the model was really given, as `lookaway collect` writes it."""
    problem: ManifestProblem | None = None
    """Why there is no video that can be measured."""
    phases: dict[str, tuple[int, int]] = {}
    pairs: tuple[tuple[NonNegativeInt, NonNegativeInt], ...] | None = None
    """Frames that should show one view, as SANA-WM-Bench counts them: at 16 fps."""


@dataclass(frozen=True, slots=True)
class FolderReader:
    """Reads one folder; records that cannot become a rollout are listed as problems."""

    tree: DatasetTree
    pattern: str | None = None

    @property
    def root(self) -> Path:
        """The folder."""
        return self.tree.root

    def rollouts(self) -> tuple[Rollout, ...]:
        """All rollouts, each id once."""
        found: dict[str, Rollout] = {}
        for where, line in self._lines():
            rollout = self._rollout(line)
            if rollout.id in found:
                self.tree.report(where, f"{rollout.id} is listed twice; left out")
                continue
            found[rollout.id] = rollout
        return tuple(found.values())

    def _lines(self) -> Iterator[tuple[str, ManifestLine]]:
        if self.pattern is None:
            if os.path.lexists(self.root / MANIFEST_LINES):
                yield from self.tree.records(MANIFEST_LINES, ManifestLine)
                return
            if os.path.lexists(self.root / MANIFEST_TABLE):
                yield from self._rows()
                return
        yield from self._matching(_video_paths(self.tree))

    def _rows(self) -> Iterator[tuple[str, ManifestLine]]:
        """The rows of a table that are valid."""
        rows = _csv_rows(self.tree.read_lines(MANIFEST_TABLE), self.root / MANIFEST_TABLE)
        found = ((f"{MANIFEST_TABLE}:{number}", row) for number, row in rows)
        return self.tree.valid(MANIFEST_TABLE, found, ManifestLine)

    def _matching(self, paths: list[str]) -> Iterator[tuple[str, ManifestLine]]:
        if not paths:
            raise self._no_videos()
        regex = _compile(self.pattern or self._guess(paths))
        for path in paths:
            if not _is_text(path):
                self.tree.report(path, "the name is not UTF-8; left out")
                continue
            match = regex.fullmatch(path)
            if match is None:
                self.tree.report(path, "does not match the pattern; left out")
                continue
            values = {name: value for name, value in match.groupdict().items() if value is not None}
            yield path, ManifestLine.model_validate({**values, "video": path})

    def _no_videos(self) -> DatasetError:
        expected = f"expected a manifest.jsonl, a manifest.csv, or files ending in {', '.join(sorted(VIDEO_SUFFIXES))}"
        files = (name for _, _, names in os.walk(self.root) for name in names)
        picture = next((name for name in files if name.lower().endswith(PICTURE_SUFFIXES)), None)
        if picture is None:
            return DatasetError(f"{self.root}: no videos found; {expected}.")
        return DatasetError(
            f"{self.root}: no videos found, but pictures such as {picture!r}; {expected}. Name each folder of "
            f'numbered pictures as a video in a manifest.jsonl: {{"video": "FOLDER", "case": "NAME"}}.'
        )

    def _guess(self, paths: list[str]) -> str:
        depths = {path.count("/") + 1 for path in paths}
        if len(depths) == 1 and (depth := depths.pop()) in PATTERNS_BY_DEPTH:
            return PATTERNS_BY_DEPTH[depth] + ".{suffix}"
        raise DatasetError(
            f"{self.root}: videos are at several depths or more than three folders deep. "
            "Name the folder levels, for example with --pattern '{model}/{subset}/{case}/{seed}.mp4'."
        )

    def _rollout(self, line: ManifestLine) -> Rollout:
        case_id = line.case or line.video.rsplit(".", 1)[0]
        case = Case(
            id=case_id,
            subset=line.subset,
            scene=line.scene or case_id,
            prompt=(line.prompt,) if isinstance(line.prompt, str) else tuple(line.prompt),
            action=line.action,
            pairs=None if line.pairs is None else tuple(GivenPair(first=a, second=b) for a, b in line.pairs),
        )
        try:
            video = self.tree.path(line.video)
            artifacts = self._artifacts(line)
            problem = None if line.problem is None else Unmeasurable(line.problem.reason, line.problem.message)
        except Unmeasurable as error:
            video, artifacts, problem = self.root / "refused", {}, error
        return Rollout(
            case=case,
            model=line.model,
            seed=line.seed,
            video=video,
            artifacts=artifacts,
            phases=line.phases,
            problem=problem,
        )

    def _artifacts(self, line: ManifestLine) -> dict[str, Path]:
        found = {"truth": os.path.join(os.path.dirname(line.video), CARD)}
        stem = os.path.splitext(line.video)[0]
        found["poses"] = line.poses or stem + POSES_SUFFIX
        found["commanded_poses"] = line.request or stem + REQUEST_SUFFIX
        artifacts = {
            name: self.tree.path(path)
            for name, path in found.items()
            if os.path.isfile(self.root / path) or path in (line.poses, line.request)
        }
        if line.delivered is not None:
            artifacts["delivered_poses"] = self.tree.path(line.delivered)
        if "truth" in artifacts and not self.tree.allow_outside:
            check_inside(self.root, artifacts["truth"].parent)
        return artifacts


def _video_paths(tree: DatasetTree) -> list[str]:
    """Relative paths of all videos, sorted."""
    found = []
    for folder, below, files in os.walk(tree.root):
        relative = os.path.relpath(folder, tree.root).replace(os.sep, "/")
        if below and relative.count("/") + 1 >= MAX_FOLDER_DEPTH:
            tree.report(f"{relative}/{below[0]}", f"it is more than {MAX_FOLDER_DEPTH} folders deep; left out")
            below.clear()
        for name in files:
            if os.path.splitext(name)[1].lower() in VIDEO_SUFFIXES:
                found.append(name if relative == "." else f"{relative}/{name}")
    return sorted(found)


def _is_text(path: str) -> bool:
    """Whether a path is valid text; Linux allows any bytes in a name."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _compile(pattern: str) -> re.Pattern[str]:
    known = f"known: {', '.join(f'{{{name}}}' for name in PATTERN_FIELDS)}"
    expression = ""
    for position, part in enumerate(re.split(r"\{(\w+)\}", pattern)):
        if position % 2 == 0:
            if "{" in part or "}" in part:
                raise UserError(f"The pattern {pattern!r} has an unmatched brace; {known}.")
            expression += re.escape(part)
        elif part not in (*PATTERN_FIELDS, "suffix"):
            raise UserError(f"The pattern {pattern!r} names {{{part}}}; {known}.")
        else:
            expression += rf"(?P<{part}>[^/]+)" if part != "suffix" else r"\w+"
    try:
        return re.compile(expression)
    except re.error as error:
        raise UserError(f"The pattern {pattern!r} cannot be used: {error}.") from error


def _csv_rows(content: bytes, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Number and cells of each row; empty cells are left out."""
    try:
        reader = csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline=""))
        for row in reader:
            # Cells beyond the last column have no name.
            yield reader.line_num, {str(name): value for name, value in row.items() if value not in ("", None)}
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path}: cannot be read as CSV: byte {error.start} is not UTF-8.") from error
    except csv.Error as error:
        raise DatasetError(f"{path}: cannot be read as CSV: {error}.") from error


def read_videos(root: Path, pattern: str | None, *, allow_outside: bool) -> tuple[tuple[Rollout, ...], list[Problem]]:
    """All rollouts of the manifest or of a simulated world, or all videos that match the pattern; and problems."""
    if pattern is None and is_world(root):
        return world_rollouts(root)
    tree = DatasetTree(root, allow_outside=allow_outside)
    return FolderReader(tree, pattern).rollouts(), tree.problems


def has_manifest(root: Path) -> bool:
    """Whether the rollouts of the folder are listed in a manifest."""
    return any(os.path.lexists(root / name) for name in (MANIFEST_LINES, MANIFEST_TABLE))


def is_world(root: Path) -> bool:
    """Whether the folder is a rendered set of the simulated world."""
    return next(root.glob(f"clips/*/*/*/{CARD}"), None) is not None


def world_rollouts(root: Path) -> tuple[tuple[Rollout, ...], list[Problem]]:
    """All clips, and problems of those with invalid files or repeated ids.

    The clip of a case without any fault is the reference of all clips of the case.
    """
    rollouts: dict[str, Rollout] = {}
    references: dict[str, Reference] = {}
    problems = []
    for folder in clip_folders(root):
        where = folder.relative_to(root).as_posix()
        try:
            check_inside(root, folder)
            clip = WorldClip.open(folder)
            rollout = _rollout(clip)
        except (DatasetError, Unmeasurable) as error:
            problems.append(Problem(where=where, message=str(error)))
            continue
        if rollout.id in rollouts:
            problems.append(Problem(where=where, message=f"{rollout.id} is listed twice; left out"))
            continue
        rollouts[rollout.id] = rollout
        if not clip.card.injections:
            references.setdefault(clip.card.case, _reference(clip))
    return tuple(_with_reference(rollout, references) for rollout in rollouts.values()), problems


def _reference(clip: WorldClip) -> Reference:
    starts = {name: getattr(clip.card.phases, name)[0] for name in PHASES}
    return Reference(
        video=clip.video,
        end=clip.card.frames,
        artifacts={"truth": clip.folder / CARD},
        phase_starts=starts if max(starts.values()) < clip.card.frames else {},
    )


def _with_reference(rollout: Rollout, references: Mapping[str, Reference]) -> Rollout:
    """With the clip of its case that has no fault, whose phases are those of all clips of the case.

    Benchmarks annotate their reference videos alone. By its own phases, a clip whose target is gone would have no frame
    in which it should be back.
    """
    reference = references.get(rollout.case.id)
    phases = {} if reference is not None and reference.phase_starts else rollout.phases
    return replace(rollout, case=replace(rollout.case, reference=reference), phases=phases)


def _rollout(clip: WorldClip) -> Rollout:
    card = clip.card
    box = card.target_box if any(card.target_box) else None
    requested = clip.arrays().requested_camera_to_world
    turned = round(abs(peak_turn_degrees(requested)), 1)
    case = Case(
        id=card.case,
        subset=card.event,
        scene=f"{card.family}-{card.seed}",
        prompt=card.caption_segments,
        action=timed_action(camera_steps(requested).words()),
        turn_degrees=turned if turned >= SMALLEST_TURN_DEGREES else None,
        target=Target(name=card.target.name, attributes=(card.process[1],), box=box),
    )
    phases = {name: getattr(card.phases, name) for name in PHASES}
    return Rollout(
        case=case,
        model=card.model,
        seed=str(card.take),
        video=clip.video,
        artifacts={"truth": clip.folder / CARD},
        phases=phases,
    )
