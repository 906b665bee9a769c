"""The files of MemoBench: reference clips of two parts in `data`, and generated clips of models in `output`.

A video file wins over a folder of frames, wherever a clip has both: the published programs disagree, and the one that
computes most of the published numbers has this rule.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from lookaway.core import DatasetError, Problem, Rollout, Unmeasurable
from lookaway.io.dataset_files import DatasetTree
from lookaway.io.files import picture_names
from lookaway.judges.question_verdicts import QUESTIONS
from lookaway.suites.memobench.records import REAL, SYNTHETIC, ClipKey, bank_key, clip_key
from lookaway.suites.memobench.references import PARTS, ReferenceClip, References, check_pictures, clips_by_key

TRUTH: Final = "data"
MODELS: Final = "output"
PART_FOLDERS: Final = {SYNTHETIC: "Synthetic", REAL: "Real"}
VIDEO: Final = "video.mp4"
FRAME_FOLDERS: Final = ("frames", "samples-rgb")
BANKS: Final = "vqa_questions"


def looks_like_memobench(root: Path) -> bool:
    """Whether there are reference clips, or models with a folder for a part."""
    if any(os.path.isdir(root / TRUTH / folder) for folder in PARTS.values()):
        return True
    try:
        with os.scandir(root / MODELS) as entries:
            return any(entry.is_dir() and holds_parts(root / MODELS / entry.name) for entry in entries)
    except OSError:
        return False


def holds_parts(folder: Path) -> bool:
    """Whether a folder of a model has a folder for a part."""
    return any(os.path.isdir(folder / part) for part in PART_FOLDERS.values())


@dataclass(frozen=True, slots=True)
class MemoBenchReader:
    """Reads generated clips and their references; records that cannot become a rollout are listed as problems."""

    root: Path
    ground_truth: Path | None = None
    """By default the folder `data` in the root."""
    allow_outside: bool = False
    problems: list[Problem] = field(default_factory=list)
    clips: dict[ClipKey, ReferenceClip] = field(default_factory=dict)
    banks: dict[ClipKey, Path] = field(default_factory=dict)
    """File of questions about each clip that has one."""

    def rollouts(self) -> tuple[Rollout, ...]:
        """All generated clips of all models, and every case for which a model has none."""
        generated = DatasetTree(self.root, self.problems, self.allow_outside)
        models = self._models(generated)
        if not models:
            raise DatasetError(
                f"{self.root}: no generated clips found; expected folders like "
                f"{MODELS}/<model>/{PART_FOLDERS[SYNTHETIC]}/<scene>_001.mp4."
            )
        truth = self._truth(generated)
        self.clips.update(clips_by_key(References(truth).clips(), truth))
        if not self.clips:
            listed = "".join(f" {problem.where}: {problem.message}." for problem in self.problems[:3])
            raise DatasetError(f"{truth.root}: no reference clip can be used.{listed}")
        self.banks.update(_question_banks(truth, self.clips))
        return tuple(
            rollout
            for model, folder in models.items()
            for rollout in _ModelReader(generated, model, folder, self.clips, self.banks).rollouts()
        )

    def _models(self, generated: DatasetTree) -> dict[str, str]:
        """Folder of the generated clips of each model, relative to the root."""
        if holds_parts(self.root):
            return {self.root.resolve().name or "model": ""}
        if os.path.isdir(self.root / MODELS):
            return {name: f"{MODELS}/{name}" for name in generated.folders(MODELS)}
        folders = [name for name in generated.folders("") if name != TRUTH]
        return {name: name for name in folders if holds_parts(self.root / name)}

    def _truth(self, generated: DatasetTree) -> DatasetTree:
        named = self.ground_truth
        if named is None:
            try:
                named = generated.path(TRUTH)
            except Unmeasurable as error:
                raise DatasetError(f"{self.root}: {error} Or set it with --ground-truth.") from error
        for folder in (named, named / TRUTH):
            if any(os.path.isdir(folder / part) for part in PARTS.values()):
                return DatasetTree(folder, self.problems, self.allow_outside)
        raise DatasetError(
            f"{named}: no reference clips found; expected folders like {PARTS[SYNTHETIC]}/<scene>/<scene>_001 and "
            f"{PARTS[REAL]}/001. Set the folder that holds them with --ground-truth."
        )


def _question_banks(truth: DatasetTree, clips: Mapping[ClipKey, ReferenceClip]) -> dict[ClipKey, Path]:
    """The file of each clip that has one: a versioned bank wins over the published file it comes from."""
    found: dict[ClipKey, str] = {}
    for name in sorted(truth.files(BANKS), key=lambda name: (name.endswith(".csv"), name)):
        where, key = f"{BANKS}/{name}", bank_key(name)
        if key is None:
            continue
        if key not in clips:
            truth.report(where, "no reference clip has this name; left out")
        elif key in found:
            truth.report(where, f"{found[key]} is about the same clip; left out")
        else:
            found[key] = where
    paths: dict[ClipKey, Path] = {}
    for key, where in found.items():
        try:
            paths[key] = truth.path(where)
        except Unmeasurable as error:
            truth.report(where, str(error))
    return paths


@dataclass(frozen=True, slots=True, order=True)
class _Source:
    """Where a clip may be: videos come before folders of frames, and both in order of their paths."""

    is_folder: bool
    where: str


@dataclass(frozen=True, slots=True)
class _ModelReader:
    """The generated clips of one model."""

    generated: DatasetTree
    model: str
    folder: str
    clips: dict[ClipKey, ReferenceClip]
    banks: dict[ClipKey, Path]
    sources: dict[ClipKey, list[_Source]] = field(default_factory=dict)

    def rollouts(self) -> Iterator[Rollout]:
        self._search(self.folder, depth=0)
        asked = {
            part
            for part, folder in PART_FOLDERS.items()
            if any(key.part == part for key in self.sources) or self.generated.has(self._below(folder))
        }
        if not asked:
            self.generated.report(self.folder or ".", "it contains no generated clips")
        for key, clip in self.clips.items():
            if key.part in asked:
                yield self._rollout(clip)

    def _below(self, *steps: str) -> str:
        return "/".join(step for step in (self.folder, *steps) if step)

    def _search(self, folder: str, depth: int) -> bool:
        """Note what may be a clip in a folder of a model, part or scene; returns whether there is any."""
        found = False
        for name in self.generated.files(folder):
            where = f"{folder}/{name}" if folder else name
            if name.endswith(".mp4"):
                found |= self._note(name.removesuffix(".mp4"), _Source(False, where), is_reported=True)
        for name in self.generated.folders(folder):
            where = f"{folder}/{name}" if folder else name
            if clip_key(name) in self.clips:
                found |= self._search_clip(where, name)
            elif depth < 2:
                is_known = self._search(where, depth + 1)
                found |= is_known
                if not is_known and name not in PART_FOLDERS.values():
                    self.generated.report(where, "it holds no clip of the dataset; left out")
        return found

    def _search_clip(self, where: str, name: str) -> bool:
        sources = [
            _Source(False, f"{where}/{file}") for file in self.generated.files(where) if file in (VIDEO, f"{name}.mp4")
        ]
        folders = [f"{where}/{folder}" for folder in FRAME_FOLDERS if self.generated.has(f"{where}/{folder}")]
        sources += [_Source(True, folder) for folder in (*folders, where) if self._has_pictures(folder)]
        if not sources:
            self.generated.report(
                where, f"there is neither {VIDEO} nor a folder of pictures ({', '.join(FRAME_FOLDERS)})"
            )
        return any([self._note(name, source) for source in sources]) or bool(sources)

    def _has_pictures(self, folder: str) -> bool:
        try:
            return bool(picture_names(self.generated.path(folder)))
        except (OSError, Unmeasurable) as error:
            self.generated.report(folder, f"cannot be listed: {error}")
            return False

    def _note(self, name: str, source: _Source, *, is_reported: bool = False) -> bool:
        key = clip_key(name)
        if key is None or key not in self.clips:
            if is_reported:
                self.generated.report(source.where, "no reference clip has this name; left out")
            return is_reported
        self.sources.setdefault(key, []).append(source)
        return True

    def _rollout(self, clip: ReferenceClip) -> Rollout:
        problem = clip.problem
        missing = self._below(PART_FOLDERS[clip.key.part], f"{clip.name}.mp4")
        chosen, *others = sorted(self.sources.get(clip.key, ())) or [_Source(False, missing)]
        if others:
            self.generated.report(
                others[0].where, f"the clip is also at {chosen.where}, which is measured: a video wins over pictures"
            )
        try:
            path = self.generated.path(chosen.where)
            if chosen.is_folder:
                check_pictures(self.generated, chosen.where)
        except Unmeasurable as error:
            path, problem = self.generated.root / "refused", error
        bank = self.banks.get(clip.key)
        artifacts = {} if bank is None else {QUESTIONS: bank}
        return Rollout(case=clip.case, model=self.model, video=path, artifacts=artifacts, problem=problem)
