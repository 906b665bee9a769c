"""The files of WRBench: prompts of Natural-25, a list of generated videos, and the sidecars beside each video."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel

from lookaway.core import Case, DatasetError, Json, Problem, Reason, Rollout, Target, Unmeasurable, digest
from lookaway.io.dataset_files import DatasetTree, checked, inside, type_of
from lookaway.io.files import content_hash
from lookaway.perception.poses.requested_poses import (
    SIDECAR,
    TARGET,
    YAW_TOLERANCE_DEGREES,
    RequestedPath,
    peak_turn_degrees,
)
from lookaway.suites.wrbench.records import (
    ACTIONS,
    DeliveredCondition,
    EventViewRecord,
    FamilyRow,
    FirstFrameRow,
    ManifestRow,
    VariantRow,
    VideoProvenance,
)

PROMPTS: Final = "natural25"
PICTURES: Final = "first_frames"
FAMILIES, VARIANTS, FIRST_FRAMES = "families.jsonl", "variants.jsonl", "first_frames_manifest.json"
LISTS: Final = ("videos.json", "videos.jsonl", "manifest.json", "manifest.jsonl")
"""Lists of videos, the first one that is there; WRBench's batch runner writes lines, its evaluation reads an array."""
POSES: Final = "poses"
SIDECARS: Final[Mapping[str, str]] = {TARGET: "target_c2w.npy", SIDECAR: "camera.json"}
"""Files beside a video, by artifact."""

Row = TypeVar("Row", bound=BaseModel)


def looks_like_wrbench(root: Path) -> bool:
    """Whether there is a list of videos beside the prompts that they were made for."""
    has_prompts = any(os.path.isfile(root / folder / VARIANTS) for folder in (PROMPTS, ""))
    return has_prompts and any(os.path.isfile(root / name) for name in LISTS)


@dataclass(frozen=True)
class Natural25:
    """A prompt suite in the form of Natural-25: families, their variants, and their first frames."""

    folder: Path
    families: Mapping[str, FamilyRow]
    variants: Mapping[str, VariantRow]
    first_frames: Mapping[str, str]
    """Path of the picture of each family, relative to the folder."""

    @classmethod
    def read(cls, folder: Path, *, allow_outside: bool = False) -> Natural25:
        """All of it; raises a `DatasetError` at the first line that is wrong."""
        tree = DatasetTree(folder, allow_outside=allow_outside)
        families = {row.family_id: row for row in read_rows(tree, FAMILIES, FamilyRow)}
        variants = {row.variant_id: row for row in read_rows(tree, VARIANTS, VariantRow)}
        for variant in variants.values():
            if variant.family_id not in families:
                raise DatasetError(
                    f"{folder / VARIANTS}: {variant.variant_id} is of the family {variant.family_id!r}, which "
                    f"{FAMILIES} does not list."
                )
        if (folder / FIRST_FRAMES).is_file():
            pictures = {row.family_id: row.image_path for row in read_rows(tree, FIRST_FRAMES, FirstFrameRow)}
        else:
            named = {family: f"{PICTURES}/{family}.png" for family in families}
            pictures = {family: name for family, name in named.items() if (folder / name).is_file()}
        return cls(folder, families, variants, pictures)

    @property
    def sha256(self) -> str:
        """Hash of all families and variants, whatever their order."""
        rows = (*self.families.values(), *self.variants.values())
        return digest(sorted(digest(row.model_dump(mode="json")) for row in rows))


def read_rows(tree: DatasetTree, name: str, kind: type[Row]) -> Iterator[Row]:
    """The rows of a JSON array or a file of lines; raises a `DatasetError` at the first one that is wrong."""
    for where, found in _entries(tree, name):
        if isinstance(found, DatasetError):
            raise found
        yield checked(kind, found, where)


def _entries(tree: DatasetTree, name: str) -> Iterator[tuple[str, Any]]:
    """Place and content of each entry of a JSON array, or of a file of lines; an error where a line is not JSON."""
    if not name.endswith(".json"):
        yield from tree.lines(name)
        return
    content = tree.json(name)
    if not isinstance(content, list):
        raise DatasetError(f"{tree.root / name}: expected a list of records, found {type_of(content)}.")
    yield from ((f"{name}:{number}", entry) for number, entry in enumerate(content, start=1))


@dataclass(frozen=True)
class WrBenchReader:
    """Reads the list of videos; entries that cannot become a rollout are listed as problems."""

    root: Path
    prompts: Path | None = None
    """Folder of the prompt suite; by default `natural25` in the root, or the root."""
    allow_outside: bool = False
    problems: list[Problem] = field(default_factory=list)
    records: dict[str, EventViewRecord] = field(default_factory=dict)
    """By id, once rollouts are read."""
    delivered: dict[str, tuple[EventViewRecord, DeliveredCondition]] = field(default_factory=dict)
    """What was asked of a model and what reached it, by id of the rollout."""

    @cached_property
    def natural25(self) -> Natural25 | None:
        """The prompt suite; `None` where there is none."""
        for folder in (self.root / PROMPTS, self.root) if self.prompts is None else (self.prompts,):
            if (folder / VARIANTS).is_file() or self.prompts is not None:
                if self.prompts is None:
                    inside(self.root, str(folder), allow_outside=self.allow_outside)
                return Natural25.read(folder, allow_outside=self.allow_outside)
        return None

    def identity(self) -> dict[str, Json]:
        """Hashes of the prompt suite and of all records that are asked for."""
        suite = self.natural25
        return {
            "prompts": None if suite is None else suite.sha256,
            "records": digest(sorted(record.sha256 for record in self.records.values())),
        }

    def rollouts(self) -> tuple[Rollout, ...]:
        """All videos of the list, each once."""
        listed = next((name for name in LISTS if (self.root / name).is_file()), None)
        if listed is None:
            raise DatasetError(f"{self.root}: no list of videos found; expected {', '.join(LISTS)}.")
        found: dict[str, Rollout] = {}
        for where, entry in _entries(DatasetTree(self.root, allow_outside=self.allow_outside), listed):
            try:
                if isinstance(entry, DatasetError):
                    raise entry
                row = checked(ManifestRow, entry, where)
                record = self._record(row)
            except (DatasetError, ValueError) as error:
                self._report(where, str(error).removeprefix(f"{where}: ").removesuffix("."))
                continue
            name = f"{row.model}/{record.id}/{row.seed}"
            if name in found:
                self._report(where, f"{name} is listed twice; left out")
                continue
            if row.record_sha256 not in (None, record.sha256):
                self._report(where, "the record has changed since the task was written; the video is of the old one")
            if self.records.setdefault(record.id, record) != record:
                self._report(where, f"another video of {record.id} was asked for in other words; both are measured")
            found[name] = self._rollout(where, row, record)
        if not found:
            first = "".join(f" {problem.where}: {problem.message}." for problem in self.problems[:3])
            raise DatasetError(f"{self.root / listed}: no video of the list can be used.{first}")
        return tuple(found.values())

    def _report(self, where: str, message: str) -> None:
        self.problems.append(Problem(where=where, message=message))

    def _record(self, row: ManifestRow) -> EventViewRecord:
        """The record of a video; the prompt suite says what its variant is, the list may say it again."""
        suite = self.natural25
        variant = None if suite is None or row.variant_id is None else suite.variants.get(row.variant_id)
        if suite is not None and row.variant_id is not None and variant is None:
            raise ValueError(f"{VARIANTS} does not have its variant_id")
        if variant is not None:
            for name in ("family_id", "event_delta", "world_state_prompt"):
                said, known = getattr(row, name), getattr(variant, name)
                if said is not None and said != known:
                    raise ValueError(f"{name} is not that of its variant in {VARIANTS}")
        family = row.family_id or (variant.family_id if variant else None)
        change = row.event_delta or (variant.event_delta if variant else None)
        if family is None or change is None:
            raise ValueError("expected a variant_id of the prompt suite, or family_id and event_delta")
        known_family = suite.families.get(family) if suite else None
        listed = suite.first_frames.get(family) if suite else None
        return EventViewRecord(
            family_id=family,
            first_frame=(listed or row.first_frame_path) if row.has_first_frame else None,
            subject=known_family.primary_object.name if known_family else None,
            change=change,
            event_text=row.world_state_prompt,
            expected_state=row.expected_state or (variant.expected_state if variant else ""),
            view=row.view,
            visibility=row.view.visibility,
            # WRBench's batch runner writes "none" for every clip; the variant says which wording it really is.
            prompt_variant=variant.oov_gap if variant else row.oov_gap,
            prompt=row.prompt or (variant.ti2v_prompt if variant else ""),
        )

    def _rollout(self, where: str, row: ManifestRow, record: EventViewRecord) -> Rollout:
        problem: Unmeasurable | None = None
        artifacts: dict[str, Path] = {}
        first_frame = self._first_frame(record)
        try:
            video = self._path(row.path)
            artifacts = self._artifacts(row)
        except Unmeasurable as error:
            video, problem = self.root / "refused", error
        case = Case(
            id=record.id,
            subset=record.view.axis,
            scene=record.family_id,
            prompt=(record.event_text,),
            action=ACTIONS[record.view.camera_type],
            turn_degrees=record.view.degrees,
            target=Target(name=record.subject) if record.subject else None,
            first_frame=first_frame,
        )
        delivered = self._delivered(where, record, artifacts)
        rollout = Rollout(
            case=case, model=row.model, video=video, seed=str(row.seed), artifacts=artifacts, problem=problem
        )
        self.delivered[rollout.id] = record, delivered
        return rollout

    def provenance(self, rollout: Rollout) -> VideoProvenance:
        """How a video that was read came to be, with hashes of its files."""
        record, delivered = self.delivered[rollout.id]
        first_frame = rollout.case.first_frame
        return VideoProvenance(
            model=rollout.model,
            seed=rollout.seed,
            record_id=record.id,
            record_sha256=record.sha256,
            prompt=record.prompt,
            first_frame_sha256=content_hash(first_frame) if first_frame else None,
            delivered=delivered,
            video=os.path.relpath(rollout.video, os.path.realpath(self.root)),
            video_sha256=content_hash(rollout.video) if rollout.video.is_file() else None,
        )

    def _path(self, named: str) -> Path:
        return inside(self.root, named, allow_outside=self.allow_outside)

    def _artifacts(self, row: ManifestRow) -> dict[str, Path]:
        """Sidecars beside the video, or where the list says, and poses of other tools."""
        named = {TARGET: row.target_pose_path, POSES: row.pose_path}
        beside = {kind: f"{row.path}.{ending}" for kind, ending in SIDECARS.items()}
        paths = {kind: self._path(named.get(kind) or beside[kind]) for kind in SIDECARS}
        if row.pose_path:
            paths[POSES] = self._path(row.pose_path)
        return {kind: path for kind, path in paths.items() if path.is_file() or named.get(kind)}

    def _first_frame(self, record: EventViewRecord) -> Path | None:
        """The picture of the prompt suite, else that of the list; one that is missing is a problem, and told once."""
        name = record.first_frame
        if name is None:
            return None
        suite = self.natural25
        is_listed = suite is not None and record.family_id in suite.first_frames
        root = suite.folder if suite is not None and is_listed else self.root
        try:
            path = inside(root, name, allow_outside=self.allow_outside)
            if path.is_file():
                return path
            problem = Problem(where=name, message="there is no such first frame")
        except Unmeasurable as error:
            problem = Problem(where=name, message=str(error))
        if problem not in self.problems:
            self.problems.append(problem)
        return None

    def _delivered(self, where: str, record: EventViewRecord, artifacts: dict[str, Path]) -> DeliveredCondition:
        """What the sidecars say, with the amplitude of the request as its poses have it.

        A path that is not the declared one is a problem of the record, and no score is made from it.
        """
        target = artifacts.get(TARGET)
        if target is None:
            return DeliveredCondition()
        try:
            path = RequestedPath.read(target, artifacts.get(SIDECAR))
            measured = peak_turn_degrees(path.request)
            self._check_request(record, measured)
        except Unmeasurable as error:
            self._report(where, f"{error} No path is compared with the camera of this video")
            del artifacts[TARGET]
            return DeliveredCondition()
        return DeliveredCondition(
            payload_type=path.sidecar.payload_type,
            target_poses=len(path.target),
            rotation_gain=path.sidecar.rotation_gain,
            translation_gain=path.sidecar.translation_gain,
            is_model_effective=path.sidecar.target_c2w_is_model_effective,
            measured_yaw_degrees=measured,
        )

    def _check_request(self, record: EventViewRecord, measured: float) -> None:
        """Whether the request's own poses turn as its label says."""
        view = record.view
        side = {"yaw_LR": -1, "yaw_RL": 1}.get(view.camera_type, 0)
        if side and view.degrees is None:
            is_as_asked = side * measured > YAW_TOLERANCE_DEGREES
        else:
            is_as_asked = abs(measured - side * (view.degrees or 0.0)) <= YAW_TOLERANCE_DEGREES
        if not is_as_asked:
            raise Unmeasurable(
                Reason.INVALID_RECORD,
                f"the camera {view.label} was asked for, but the requested path turns by {measured:.1f} degrees "
                "(left is negative).",
            )
