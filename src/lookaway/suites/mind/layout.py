"""The files of MIND: reference videos with `action.json` and `images.txt`, and folders of what models made of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from lookaway.core import Case, DatasetError, Json, Problem, Reason, Reference, Rollout, Unmeasurable
from lookaway.io.clip_card import read_record
from lookaway.suites.mind.records import ActionRecord
from lookaway.suites.mind.tree import Tree

TRUTH: Final = "MIND-Data"
MODELS: Final = "models"
PERSPECTIVES: Final = ("1st_data", "3rd_data")
COMPARED_TESTS: Final = ("mem_test", "action_space_test")
MIRROR_TEST: Final = "mirror_test"
VIDEO: Final = "video.mp4"
ACTIONS: Final = "action.json"
POSES: Final = "images.txt"


def holds_answers(folder: Path) -> bool:
    """Whether a folder is that of one model: perspectives with tests in them."""
    tests = (*COMPARED_TESTS, MIRROR_TEST)
    return any(os.path.isdir(folder / perspective / test) for perspective in PERSPECTIVES for test in tests)


def looks_like_mind(root: Path) -> bool:
    """Whether there are reference videos and models, or a folder of generated videos, or several such folders."""
    if os.path.isdir(root / TRUTH) and os.path.isdir(root / MODELS):
        return True
    try:
        with os.scandir(root) as entries:
            return holds_answers(root) or any(entry.is_dir() and holds_answers(root / entry.name) for entry in entries)
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class TrueCase:
    """A case of the dataset, or why it cannot be asked."""

    case: Case
    times: dict[str, Json] | None
    """`mark_time` and `total_time` as the dataset says them."""
    values: frozenset[int] = frozenset()
    """All that keys ever are."""
    problem: Unmeasurable | None = None


@dataclass(frozen=True, slots=True)
class MindReader:
    """Reads generated videos and their references; what cannot become a rollout is listed, not skipped in silence."""

    root: Path
    ground_truth: Path | None = None
    """By default the folder MIND-Data in the root, if there is one."""
    allow_outside: bool = False
    problems: list[Problem] = field(default_factory=list)
    cases: dict[str, TrueCase] = field(default_factory=dict)

    def rollouts(self) -> tuple[Rollout, ...]:
        """All generated videos of all models, and every case that a model left without one."""
        answers = Tree(self.root, self.problems, self.allow_outside)
        models = self._models(answers)
        if not models:
            raise DatasetError(
                f"{self.root}: no generated videos found; expected folders like "
                f"<model>/{PERSPECTIVES[0]}/{COMPARED_TESTS[0]}/<name>/{VIDEO}, in it or in {MODELS}/."
            )
        truth = self._truth(answers)
        if truth is not None:
            for perspective, test in _compared_subsets():
                for name in truth.folders(f"{perspective}/test/{test}"):
                    found = _true_case(truth, perspective, test, name)
                    self.cases[found.case.id] = found
            self._check_coding(truth)
        return tuple(
            rollout
            for model, place in models.items()
            for rollout in _ModelReader(answers, model, place, self.cases, truth is not None).rollouts()
        )

    def _check_coding(self, truth: Tree) -> None:
        """Nothing else tells that files count actions from 0, as MIND's card does."""
        values = {value for found in self.cases.values() for value in found.values}
        if 1 in values and 2 not in values:
            truth.tell(
                f"*/test/*/*/{ACTIONS}",
                "no key is ever 2. They are read with 0 for nothing, 1 for the first action and 2 for the second, as "
                "MIND's files have them; if they were written as its card says, from 0 on, write them anew",
            )

    def _models(self, answers: Tree) -> dict[str, str]:
        """Where the generated videos of each model lie, below the root."""
        if holds_answers(self.root):
            return {self.root.resolve().name or "model": ""}
        below = MODELS if os.path.isdir(self.root / MODELS) else ""
        places = {}
        for name in answers.folders(below):
            place = f"{below}/{name}" if below else name
            if place == TRUTH:
                continue
            if any(answers.has(f"{place}/{perspective}") for perspective in PERSPECTIVES):
                places[name] = place
            else:
                answers.tell(place, f"there is neither {' nor '.join(PERSPECTIVES)} in it; left out")
        return places

    def _truth(self, answers: Tree) -> Tree | None:
        if self.ground_truth is None:
            if not os.path.isdir(self.root / TRUTH):
                return None
            try:
                truth = answers.path(TRUTH)
            except Unmeasurable as error:
                raise DatasetError(f"{self.root}: {error} Or name it with --ground-truth.") from error
        else:
            truth = self.ground_truth
            if not os.path.isdir(truth):
                raise DatasetError(
                    f"{truth}: there is no such folder. Name that of the references with --ground-truth."
                )
        if not any(os.path.isdir(truth / perspective / "test") for perspective in PERSPECTIVES):
            raise DatasetError(
                f"{truth}: no reference videos found; expected folders like "
                f"{PERSPECTIVES[0]}/test/{COMPARED_TESTS[0]}/<name>/ with {VIDEO} and {ACTIONS}."
            )
        return Tree(truth, self.problems, self.allow_outside)


def _true_case(truth: Tree, perspective: str, test: str, name: str) -> TrueCase:
    place = f"{perspective}/test/{test}/{name}"
    case = Case(id=f"{perspective}/{test}/{name}", subset=f"{perspective}/{test}", scene=name)
    try:
        record = _actions(truth.path(f"{place}/{ACTIONS}"), f"{TRUTH}/{place}/{ACTIONS}")
        video, poses = truth.path(f"{place}/{VIDEO}"), truth.path(f"{place}/{POSES}")
    except Unmeasurable as error:
        return TrueCase(case, None, problem=error)
    if len(record.data) != record.total_time:
        truth.tell(f"{place}/{ACTIONS}", f"data has {len(record.data)} frames, total_time says {record.total_time}")
    reference = Reference(
        video=video,
        start=record.mark_time,
        end=record.total_time,
        artifacts={"poses": poses} if os.path.lexists(poses) else {},
    )
    prompt = (record.caption,) if record.caption else ()
    case = replace(case, prompt=prompt, controls=record.controls, reference=reference)
    times: dict[str, Json] = {"mark_time": record.mark_time, "total_time": record.total_time}
    return TrueCase(case, times, record.values)


def _actions(path: Path, where: str) -> ActionRecord:
    if not path.exists():
        raise Unmeasurable(Reason.MISSING_INPUT, f"{where}: there is no such file; it says where the context ends.")
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

    answers: Tree
    model: str
    place: str
    cases: dict[str, TrueCase]
    is_truth_known: bool

    def rollouts(self) -> Iterator[Rollout]:
        mirrored = list(self._mirrored())
        given = {subset: self._names(subset) for subset in map("/".join, _compared_subsets())}
        if any(given.values()) and not self.is_truth_known:
            raise DatasetError(
                f"{self.answers.root}: these videos continue reference videos, and there is no {TRUTH} beside them. "
                "Say where it is with --ground-truth."
            )
        has_any = bool(mirrored) or any(given.values())
        asked = {subset for subset in given if has_any or self.answers.has(self._below(subset))}
        if not asked:
            self.answers.tell(self._below(), "there are no generated videos in it")
        for found in self.cases.values():
            if found.case.subset in asked:
                yield self._compared(found)
        for subset, names in given.items():
            for name in names:
                if f"{subset}/{name}" not in self.cases:
                    self.answers.tell(self._below(subset, name), "no reference video has this name; left out")
        yield from mirrored

    def _names(self, subset: str) -> list[str]:
        return self.answers.folders(self._below(subset))

    def _below(self, *steps: str) -> str:
        return "/".join(step for step in (self.place, *steps) if step)

    def _compared(self, found: TrueCase) -> Rollout:
        folder = self._below(found.case.id)
        return self._rollout(found.case, f"{folder}/{VIDEO}", f"{folder}/{POSES}", found.problem)

    def _mirrored(self) -> Iterator[Rollout]:
        for perspective in PERSPECTIVES:
            subset = f"{perspective}/{MIRROR_TEST}"
            for name in self._names(subset):
                folder = self._below(subset, name)
                videos = [file for file in self.answers.files(folder) if file.endswith(".mp4")]
                if not videos:
                    self.answers.tell(folder, "there is no video like path-1.mp4")
                for file in videos:
                    case = Case(id=f"{subset}/{name}/{file.removesuffix('.mp4')}", subset=subset, scene=name)
                    yield self._rollout(case, f"{folder}/{file}")

    def _rollout(
        self, case: Case, video: str, poses: str | None = None, problem: Unmeasurable | None = None
    ) -> Rollout:
        artifacts = {}
        try:
            path = self.answers.path(video)
            if poses is not None and os.path.lexists(self.answers.root / poses):
                artifacts["poses"] = self.answers.path(poses)
        except Unmeasurable as error:
            path, artifacts, problem = self.answers.root / "refused", {}, error
        return Rollout(case=case, model=self.model, video=path, artifacts=artifacts, problem=problem)
