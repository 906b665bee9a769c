"""The files of SANA-WM-Bench: scenes with paths and pairs of frames, and folders of generated videos."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from lookaway.core import Case, DatasetError, GivenPair, Json, Problem, Rollout, Unmeasurable
from lookaway.io.dataset_files import DatasetTree, checked

SPLITS: Final = {
    "simple_60s": "benchmark_v2_smooth_60s",
    "hard_60s": "benchmark_v2_hard_60s",
    "simple": "benchmark_v2_smooth",
    "hard": "benchmark_v2_hard",
}
"""Folder of each split; those of 24 seconds were not released."""
RESULTS: Final = "results"
PAIRS: Final = "scene_trajectories_v2.json"
MANIFEST: Final = "sanawm_export_v2/run_manifest.jsonl"
METHOD: Final = "method_info.json"
VIDEO: Final = "_generated.mp4"
OVERLAY: Final = "_combined"
VBENCH: Final = "_eval_results.json"
SCENES: Final = 80
"""Scenes of a split as released."""
METHOD_FIELDS: Final = ("model", "variant", "fps", "resolution", "refiner")

Record = TypeVar("Record", bound=BaseModel)


class _Record(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _SceneLine(_Record):
    """A line of `run_manifest.jsonl`."""

    id: str = Field(min_length=1, pattern=r"^[^/\\]+$")
    prompt: str = ""
    image_path: str | None = None
    camera_path: str | None = None


class _Pair(_Record):
    frame_a: int = Field(ge=0)
    frame_b: int = Field(ge=0)
    quality_score: float | None = None


class _Scene(_Record):
    """A scene of `scene_trajectories_v2.json`."""

    scene_id: str
    evaluation_pairs: list[_Pair] = []


def looks_like_sana(root: Path) -> bool:
    """Whether there is a split with its pairs."""
    return any(os.path.isfile(root / folder / PAIRS) for folder in SPLITS.values())


@dataclass(frozen=True, slots=True)
class _SceneCase:
    case: Case
    camera: Path | None
    problem: Unmeasurable | None = None


@dataclass(frozen=True, slots=True)
class SanaReader:
    """Reads scenes and generated videos; records that cannot become a rollout are listed as problems.

    Videos are `<method>/<split>/<scene>_generated.mp4`, in the folder `results` or in the root. A case is a scene of a
    split; its subset is the split. Videos with an overlay (`_combined`) are refused.
    """

    root: Path
    dataset: Path | None = None
    """Folder of the scenes; by default the root."""
    allow_outside: bool = False
    problems: list[Problem] = field(default_factory=list)
    identity: dict[str, Json] = field(default_factory=dict)
    """Number of scenes and pairs of each split, and what each method says about itself; goes into the lock."""

    def rollouts(self) -> tuple[Rollout, ...]:
        """All scenes of every split that a method has, whether it has a video of them or not."""
        scenes = DatasetTree(self.dataset or self.root, self.problems, self.allow_outside)
        splits = {split: self._cases(scenes, split) for split in SPLITS if scenes.has(SPLITS[split])}
        if not splits:
            raise DatasetError(
                f"{scenes.root}: no scenes found; expected {SPLITS['simple_60s']}/{PAIRS} or "
                f"{SPLITS['hard_60s']}/{PAIRS}."
            )
        results = DatasetTree(self.root, self.problems, self.allow_outside)
        below = RESULTS if results.has(RESULTS) else ""
        found: list[Rollout] = []
        for model in results.folders(below):
            folder = f"{below}/{model}" if below else model
            generated = [split for split in splits if results.has(f"{folder}/{split}")]
            if generated:
                self.identity[f"method {model}"] = self._method(results, folder)
            for split in generated:
                found.extend(_Method(results, model, folder, split, splits[split]).rollouts())
        if not found:
            raise DatasetError(
                f"{self.root}: no generated videos found; expected {RESULTS}/<method>/<split>/<scene>{VIDEO}, where a "
                f"split is one of {', '.join(splits)}."
            )
        return tuple(found)

    def _cases(self, scenes: DatasetTree, split: str) -> dict[str, _SceneCase]:
        folder = SPLITS[split]
        pairs = self._pairs(scenes, f"{folder}/{PAIRS}")
        cases: dict[str, _SceneCase] = {}
        for _, line in scenes.records(f"{folder}/{MANIFEST}", _SceneLine):
            if line.id in cases:
                scenes.report(f"{folder}/{MANIFEST}", f"{line.id} is listed twice; left out")
                continue
            case = Case(
                id=f"{split}/{line.id}",
                subset=split,
                scene=line.id,
                prompt=(line.prompt,) if line.prompt else (),
                pairs=pairs.get(line.id),
            )
            try:
                camera = scenes.path(line.camera_path) if line.camera_path else None
                picture = scenes.path(line.image_path) if line.image_path else None
                is_there = picture is not None and os.path.isfile(picture)
                cases[line.id] = _SceneCase(replace(case, first_frame=picture if is_there else None), camera)
            except Unmeasurable as error:
                cases[line.id] = _SceneCase(case, None, error)
        if len(cases) != SCENES:
            scenes.report(f"{folder}/{MANIFEST}", f"{len(cases)} scenes, SANA-WM-Bench has {SCENES}")
        total = sum(len(found.case.pairs or ()) for found in cases.values())
        self.identity[split] = {"scenes": len(cases), "pairs": total}
        return cases

    def _pairs(self, scenes: DatasetTree, where: str) -> dict[str, tuple[GivenPair, ...]]:
        """Pairs of each scene."""
        content = self._json(scenes, where)
        listed = content.get("scenes") if isinstance(content, dict) else None
        if not isinstance(listed, list):
            scenes.report(where, "it has no list of scenes, so that no scene has pairs of frames")
            return {}
        checked = (
            self._checked(scenes, f"{where}: scene {number}", _Scene, entry) for number, entry in enumerate(listed)
        )
        return {
            scene.scene_id: tuple(
                GivenPair(first=pair.frame_a, second=pair.frame_b, cost=pair.quality_score)
                for pair in scene.evaluation_pairs
            )
            for scene in checked
            if scene is not None
        }

    def _method(self, results: DatasetTree, folder: str) -> dict[str, Json]:
        """What a method says about itself, since one name is used for many variants."""
        where = f"{folder}/{METHOD}"
        if not os.path.lexists(results.root / where):
            return {}
        content = self._json(results, where)
        told: Mapping[str, Any] = content if isinstance(content, dict) else {}
        return {name: told[name] for name in METHOD_FIELDS if name in told}

    def _json(self, tree: DatasetTree, where: str) -> Json:
        """The content of a file; a problem and `None` where it cannot be read."""
        try:
            return tree.json(where)
        except DatasetError as error:
            tree.report(where, str(error).removeprefix(f"{tree.root / where}: "))
            return None

    def _checked(self, tree: DatasetTree, where: str, kind: type[Record], record: Json) -> Record | None:
        try:
            return checked(kind, record, where)
        except DatasetError as error:
            tree.report(where, str(error).removeprefix(f"{where}: ").removesuffix("."))
            return None


@dataclass(frozen=True, slots=True)
class _Method:
    """The videos of one method and split."""

    results: DatasetTree
    model: str
    folder: str
    split: str
    cases: Mapping[str, _SceneCase]

    def rollouts(self) -> Iterator[Rollout]:
        below = f"{self.folder}/{self.split}"
        files = [name for name in self.results.files(below) if name.endswith(".mp4")]
        vbench = dict(self._vbench())
        for scene, found in self.cases.items():
            overlays = [name for name in files if name.startswith(f"{scene}_") and OVERLAY in name]
            if overlays and f"{scene}{VIDEO}" not in files:
                self.results.report(
                    f"{below}/{overlays[0]}",
                    f"it has an overlay, which would be measured too. Supply the clean video, {scene}{VIDEO}",
                )
            yield self._rollout(found, f"{below}/{scene}{VIDEO}", vbench)
        known = {f"{scene}{VIDEO}" for scene in self.cases}
        for name in files:
            if name not in known and OVERLAY not in name:
                self.results.report(f"{below}/{name}", "no scene of the manifest has this name; left out")

    def _rollout(self, found: _SceneCase, video: str, vbench: Mapping[str, Path]) -> Rollout:
        problem = found.problem
        artifacts = {"commanded_poses": found.camera, **vbench}
        try:
            path = self.results.path(video)
        except Unmeasurable as error:
            path, artifacts, problem = self.results.root / "refused", {}, error
        return Rollout(
            case=found.case,
            model=self.model,
            video=path,
            artifacts={name: file for name, file in artifacts.items() if file is not None},
            problem=problem,
        )

    def _vbench(self) -> Iterator[tuple[str, Path]]:
        """What VBench wrote about these videos, if the user put it beside the other results: one file or several."""
        below = f"{self.folder}/eval/{self.split}"
        files = [name for name in self.results.files(below) if name.endswith(VBENCH)]
        for number, name in enumerate(files):
            try:
                yield f"vbench_{number:02}" if number else "vbench", self.results.path(f"{below}/{name}")
            except Unmeasurable as error:
                self.results.report(f"{below}/{name}", str(error))
