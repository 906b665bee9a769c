"""The files of MIND: reference videos with `action.json` and `images.txt`, and folders of generated videos."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from lookaway.core import Case, DatasetError, Json, Problem, Reason, Reference, Rollout, Unmeasurable
from lookaway.io.dataset_files import DatasetTree, read_record
from lookaway.suites.mind.records import ActionRecord

TRUTH: Final = "MIND-Data"
MODELS: Final = "models"
PERSPECTIVES: Final = ("1st_data", "3rd_data")
COMPARED_TESTS: Final = ("mem_test", "action_space_test")
MIRROR_TEST: Final = "mirror_test"
VIDEO: Final = "video.mp4"
ACTIONS: Final = "action.json"
POSES: Final = "images.txt"


def holds_generated_videos(folder: Path) -> bool:
    """Whether a folder holds the generated videos of one model."""
    tests = (*COMPARED_TESTS, MIRROR_TEST)
    return any(os.path.isdir(folder / perspective / test) for perspective in PERSPECTIVES for test in tests)


def looks_like_mind(root: Path) -> bool:
    """Whether there are reference videos and models, or a folder of generated videos, or several such folders."""
    if os.path.isdir(root / TRUTH) and os.path.isdir(root / MODELS):
        return True
    try:
        with os.scandir(root) as entries:
            return holds_generated_videos(root) or any(
                entry.is_dir() and holds_generated_videos(root / entry.name) for entry in entries
            )
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class ReferenceCase:
    """A case of the dataset, or why it cannot be used."""

    case: Case
    times: dict[str, Json] | None
    """`mark_time` and `total_time` of the dataset."""
    values: frozenset[int] = frozenset()
    """All key values."""
    problem: Unmeasurable | None = None


@dataclass(frozen=True, slots=True)
class MindReader:
    """Reads generated videos and their references; records that cannot become a rollout are listed as problems."""

    root: Path
    ground_truth: Path | None = None
    """By default the folder MIND-Data in the root, if there is one."""
    allow_outside: bool = False
    problems: list[Problem] = field(default_factory=list)
    cases: dict[str, ReferenceCase] = field(default_factory=dict)

    def rollouts(self) -> tuple[Rollout, ...]:
        """All generated videos of all models, and every case for which a model has none."""
        generated = DatasetTree(self.root, self.problems, self.allow_outside)
        models = self._models(generated)
        if not models:
            raise DatasetError(
                f"{self.root}: no generated videos found; expected folders like "
                f"<model>/{PERSPECTIVES[0]}/{COMPARED_TESTS[0]}/<name>/{VIDEO}, in it or in {MODELS}/."
            )
        references = self._references(generated)
        if references is not None:
            for perspective, test in _compared_subsets():
                for name in references.folders(f"{perspective}/test/{test}"):
                    found = _reference_case(references, perspective, test, name)
                    self.cases[found.case.id] = found
            self._check_coding(references)
        return tuple(
            rollout
            for model, folder in models.items()
            for rollout in _ModelReader(generated, model, folder, self.cases, references is not None).rollouts()
        )

    def _check_coding(self, references: DatasetTree) -> None:
        """Only this reveals files that count actions from 0, as MIND's card does."""
        values = {value for found in self.cases.values() for value in found.values}
        if 1 in values and 2 not in values:
            references.report(
                f"*/test/*/*/{ACTIONS}",
                "no key is ever 2. Keys are read as in MIND's files: 0 for none, 1 for the first action, 2 for the "
                "second. If yours count from 0, as its card says, convert them",
            )

    def _models(self, generated: DatasetTree) -> dict[str, str]:
        """Folder of the generated videos of each model, relative to the root."""
        if holds_generated_videos(self.root):
            return {self.root.resolve().name or "model": ""}
        below = MODELS if os.path.isdir(self.root / MODELS) else ""
        folders = {}
        for name in generated.folders(below):
            folder = f"{below}/{name}" if below else name
            if folder == TRUTH:
                continue
            if any(generated.has(f"{folder}/{perspective}") for perspective in PERSPECTIVES):
                folders[name] = folder
            else:
                generated.report(folder, f"it contains neither {' nor '.join(PERSPECTIVES)}; left out")
        return folders

    def _references(self, generated: DatasetTree) -> DatasetTree | None:
        if self.ground_truth is None:
            if not os.path.isdir(self.root / TRUTH):
                return None
            try:
                references = generated.path(TRUTH)
            except Unmeasurable as error:
                raise DatasetError(f"{self.root}: {error} Or set it with --ground-truth.") from error
        else:
            references = self.ground_truth
            if not os.path.isdir(references):
                raise DatasetError(
                    f"{references}: there is no such folder. Set the folder of reference videos with --ground-truth."
                )
        if not any(os.path.isdir(references / perspective / "test") for perspective in PERSPECTIVES):
            raise DatasetError(
                f"{references}: no reference videos found; expected folders like "
                f"{PERSPECTIVES[0]}/test/{COMPARED_TESTS[0]}/<name>/ with {VIDEO} and {ACTIONS}."
            )
        return DatasetTree(references, self.problems, self.allow_outside)


def _reference_case(references: DatasetTree, perspective: str, test: str, name: str) -> ReferenceCase:
    folder = f"{perspective}/test/{test}/{name}"
    case = Case(id=f"{perspective}/{test}/{name}", subset=f"{perspective}/{test}", scene=name)
    try:
        record = _actions(references.path(f"{folder}/{ACTIONS}"), f"{TRUTH}/{folder}/{ACTIONS}")
        video, poses = references.path(f"{folder}/{VIDEO}"), references.path(f"{folder}/{POSES}")
    except Unmeasurable as error:
        return ReferenceCase(case, None, problem=error)
    if len(record.data) != record.total_time:
        references.report(
            f"{folder}/{ACTIONS}", f"data has {len(record.data)} frames, total_time says {record.total_time}"
        )
    reference = Reference(
        video=video,
        start=record.mark_time,
        end=record.total_time,
        artifacts={"poses": poses} if os.path.lexists(poses) else {},
    )
    prompt = (record.caption,) if record.caption else ()
    case = replace(case, prompt=prompt, controls=record.controls, reference=reference)
    times: dict[str, Json] = {"mark_time": record.mark_time, "total_time": record.total_time}
    return ReferenceCase(case, times, record.values)


def _actions(path: Path, where: str) -> ActionRecord:
    if not path.exists():
        raise Unmeasurable(Reason.MISSING_INPUT, f"{where}: there is no such file; it defines where the context ends.")
    try:
        return read_record(path, ActionRecord)
    except DatasetError as error:
        message = str(error).removeprefix(f"{path}: ")
        raise Unmeasurable(Reason.INVALID_RECORD, f"{where}: {message} Correct the file.") from error


def _compared_subsets() -> Iterator[tuple[str, str]]:
    return ((perspective, test) for perspective in PERSPECTIVES for test in COMPARED_TESTS)


@dataclass(frozen=True, slots=True)
class _ModelReader:
    """The generated videos of one model."""

    generated: DatasetTree
    model: str
    folder: str
    cases: dict[str, ReferenceCase]
    has_references: bool

    def rollouts(self) -> Iterator[Rollout]:
        mirrored = list(self._mirrored())
        given = {subset: self._names(subset) for subset in map("/".join, _compared_subsets())}
        if any(given.values()) and not self.has_references:
            raise DatasetError(
                f"{self.generated.root}: these videos continue reference videos, but there is no {TRUTH} folder. "
                "Set its path with --ground-truth."
            )
        has_any = bool(mirrored) or any(given.values())
        asked = {subset for subset in given if has_any or self.generated.has(self._below(subset))}
        if not asked:
            self.generated.report(self._below(), "it contains no generated videos")
        for found in self.cases.values():
            if found.case.subset in asked:
                yield self._compared(found)
        for subset, names in given.items():
            for name in names:
                if f"{subset}/{name}" not in self.cases:
                    self.generated.report(self._below(subset, name), "no reference video has this name; left out")
        yield from mirrored

    def _names(self, subset: str) -> list[str]:
        return self.generated.folders(self._below(subset))

    def _below(self, *steps: str) -> str:
        return "/".join(step for step in (self.folder, *steps) if step)

    def _compared(self, found: ReferenceCase) -> Rollout:
        folder = self._below(found.case.id)
        return self._rollout(found.case, f"{folder}/{VIDEO}", f"{folder}/{POSES}", found.problem)

    def _mirrored(self) -> Iterator[Rollout]:
        for perspective in PERSPECTIVES:
            subset = f"{perspective}/{MIRROR_TEST}"
            for name in self._names(subset):
                folder = self._below(subset, name)
                videos = [file for file in self.generated.files(folder) if file.endswith(".mp4")]
                if not videos:
                    self.generated.report(folder, "there is no video like path-1.mp4")
                for file in videos:
                    case = Case(id=f"{subset}/{name}/{file.removesuffix('.mp4')}", subset=subset, scene=name)
                    yield self._rollout(case, f"{folder}/{file}")

    def _rollout(
        self, case: Case, video: str, poses: str | None = None, problem: Unmeasurable | None = None
    ) -> Rollout:
        artifacts = {}
        try:
            path = self.generated.path(video)
            if poses is not None and os.path.lexists(self.generated.root / poses):
                artifacts["poses"] = self.generated.path(poses)
        except Unmeasurable as error:
            path, artifacts, problem = self.generated.root / "refused", {}, error
        return Rollout(case=case, model=self.model, video=path, artifacts=artifacts, problem=problem)
