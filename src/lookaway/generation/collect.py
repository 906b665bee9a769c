"""Makes a dataset of a model's outputs: every item of the plan is in it, with its problem if it has one."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from lookaway.core import Dataset, Json, Pixels, Problem, UserError, canonical_json, plugins
from lookaway.generation.adapter import Adapter
from lookaway.generation.export import DELIVERED, REQUEST
from lookaway.generation.output_checks import MeasuredOutput, OutputFinding, OutputProblem, check_output
from lookaway.generation.output_files import FoundOutput, OutputFinder
from lookaway.generation.run_scripts import FIRST_FRAME
from lookaway.generation.work_plan import CASES, PlanItem, read_plan
from lookaway.io.dataset_files import DatasetTree, read_limited
from lookaway.io.files import remove_abandoned, write_text, write_whole
from lookaway.io.limits import MAX_JSON_BYTES
from lookaway.io.pictures import picture_pixels
from lookaway.perception.truth import TRUTH

PROVENANCE: Final = "provenance.jsonl"
MANIFEST: Final = "manifest.jsonl"
VIDEOS: Final = "videos"
PATHS: Final = {REQUEST: "request", DELIVERED: "delivered"}
"""Folder of the dataset, and field of its manifest, for the paths of each item."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """One item of the plan as it is in the dataset."""

    item: PlanItem
    output: FoundOutput
    measured: MeasuredOutput
    findings: tuple[OutputFinding, ...]

    @property
    def problem(self) -> OutputFinding | None:
        """Why it cannot be measured, if so."""
        return next((found for found in self.findings if not found.is_note), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectReport:
    """Result of collecting."""

    items: tuple[Collected, ...]
    extra: tuple[str, ...]
    problems: tuple[Problem, ...]

    @property
    def usable(self) -> int:
        """Outputs that can be measured."""
        return sum(item.problem is None for item in self.items)

    def findings(self) -> list[tuple[str, OutputFinding]]:
        """All findings with the folder or file that each is about."""
        found = [(item.item.folder, finding) for item in self.items for finding in item.findings]
        extra = OutputFinding(OutputProblem.EXTRA, "no item of the plan has this file; left out.")
        return [*found, *((name, extra) for name in self.extra)]


def collect_outputs(
    work: Path, outputs: Path, dataset: Path, *, model: str | None = None, allow_overlay: bool = False
) -> CollectReport:
    """Check every output of a plan and write the dataset; the same call again keeps what has not changed."""
    if not outputs.is_dir():
        raise UserError(f"{outputs}: there is no such folder.")
    items = read_plan(work)
    names = {item.model for item in items}
    if len(names) != 1:
        raise UserError(f"{work}: the plan is of {len(names)} models, expected one. Export the cases again.")
    adapter: Adapter = plugins.load("adapters", names.pop())()
    tree = DatasetTree(outputs.absolute())
    found, extra = OutputFinder(tree, adapter.card).find(items)
    _refuse_mixture(outputs, found)
    inputs = DatasetTree(work.absolute())
    collected = [_checked(output, adapter, inputs, allow_overlay=allow_overlay) for output in found]
    for folder in (dataset, *(dataset / name for name in (VIDEOS, *PATHS.values()))):
        remove_abandoned(folder)
    lines = [_add(entry, inputs, dataset, model or adapter.name) for entry in collected]
    records = [_provenance(entry, adapter, model or adapter.name) for entry in collected]
    _write_lines(dataset / PROVENANCE, records)
    _write_lines(dataset / MANIFEST, lines)
    return CollectReport(items=tuple(collected), extra=tuple(extra), problems=tuple(tree.problems))


class _Record(BaseModel):
    """What tells to which rollout a record of provenance belongs."""

    case: str
    model: str
    seed: int


def without_provenance(dataset: Dataset) -> str:
    """What is not recorded of how rollouts were made, in words; empty if all is, or if they are simulated."""
    made = [rollout for rollout in dataset.rollouts if TRUTH not in rollout.artifacts]
    tree = DatasetTree(dataset.root.absolute())
    is_there = os.path.lexists(tree.root / PROVENANCE)
    records = [record for _, record in tree.records(PROVENANCE, _Record)] if is_there else []
    known = {(record.case, record.model, str(record.seed)) for record in records}
    lacking = [rollout for rollout in made if (rollout.case.id, rollout.model, rollout.seed) not in known]
    if not lacking:
        return ""
    if len(lacking) == len(made):
        return f"nothing records how these videos were made. `lookaway collect` does, in {PROVENANCE}."
    return f"{PROVENANCE} does not say how {len(lacking)} of {len(made)} rollouts were made, such as {lacking[0].id}."


def _refuse_mixture(outputs: Path, found: Sequence[FoundOutput]) -> None:
    """Outputs of two sets of weights, or of two actors, are of two models."""
    made = Counter(canonical_json(dict(output.record.variables)) for output in found if output.record.variables)
    if len(made) > 1:
        named = ", ".join(f"{count} with {variables}" for variables, count in made.most_common())
        raise UserError(f"{outputs}: not all outputs are of one model: {named}. Make them in folders of their own.")


def _checked(output: FoundOutput, adapter: Adapter, inputs: DatasetTree, *, allow_overlay: bool) -> Collected:
    measured = MeasuredOutput()
    if output.path is not None:
        given = _first_frame(inputs, output.item)
        measured = check_output(output.path, output.item, adapter.card, first_frame=given, allow_overlay=allow_overlay)
    findings = [*output.findings, *measured.findings]
    # Black videos of two cases are one file, and of their own cases all the same.
    if output.same_content and not any(found.kind == OutputProblem.BLACK for found in findings):
        findings.insert(len(output.findings), output.same_content)
    return Collected(item=output.item, output=output, measured=measured, findings=tuple(findings))


def _first_frame(inputs: DatasetTree, item: PlanItem) -> Pixels | None:
    """The picture that the model was given, also where the user has put it there."""
    path = inputs.path(f"{CASES}/{item.folder}/{FIRST_FRAME}")
    if not os.path.isfile(path):
        return None
    try:
        return picture_pixels(read_limited(path, MAX_JSON_BYTES))
    except ValueError as error:
        raise UserError(f"{path}: {error} Export the cases again.") from error


def _add(entry: Collected, inputs: DatasetTree, dataset: Path, model: str) -> dict[str, Json]:
    """Copy an output and its paths into the dataset; its line of the manifest."""
    item, problem = entry.item, entry.problem
    suffix = entry.output.path.suffix.lower() if entry.output.path else ".mp4"
    line: dict[str, Json] = {
        "video": f"{VIDEOS}/{item.folder}{suffix}",
        "case": item.case,
        "model": model,
        "seed": str(item.seed),
        "subset": item.subset,
        "scene": item.scene,
        "prompt": list(item.prompt),
        "action": item.action,
    }
    for name, key in PATHS.items():
        if name in item.files:
            source = inputs.path(f"{CASES}/{item.folder}/{name}")
            if os.path.isfile(source):
                line[key] = f"{key}/{item.folder}.npz"
                _copy(source, dataset / key / f"{item.folder}.npz")
    if problem is not None:
        line["problem"] = {"reason": problem.reason.value, "message": f"{problem.kind.value}: {problem.message}"}
    elif entry.output.path is not None:
        _copy(entry.output.path, dataset / str(line["video"]))
    return line


def _provenance(entry: Collected, adapter: Adapter, model: str) -> dict[str, Json]:
    item, output, measured = entry.item, entry.output, entry.measured
    record = output.record
    seconds = None if record.started is None or record.finished is None else record.finished - record.started
    found: dict[str, Any] = {
        "format": 1,
        "case": item.case,
        "model": model,
        "adapter": item.model,
        "repository": adapter.card.repository,
        "commit": item.commit,
        "licence": item.licence,
        "endpoint": record.endpoint,
        "version": record.version,
        "seed": item.seed,
        "wall_seconds": seconds,
        "variables": dict(record.variables),
        "inputs_sha256": dict(item.files),
        "plan_sha256": item.sha256,
        "output": output.relative or None,
        "output_sha256": output.sha256,
        "camera_source": item.camera_source,
        "native": item.native,
        "loss": item.loss,
        "refusal": item.refusal,
        "measured": {
            "frames": measured.frames,
            "fps": round(measured.fps, 6),
            "width": measured.width,
            "height": measured.height,
        },
        "findings": [{"kind": finding.kind.value, "message": finding.message} for finding in entry.findings],
    }
    return found


def _copy(source: Path, target: Path) -> None:
    """A copy of its own, so that a model that runs again changes no dataset."""
    if target.is_file() and target.stat().st_size == source.stat().st_size and _is_newer(target, source):
        return
    with source.open("rb") as file:
        write_whole(target, lambda copy: shutil.copyfileobj(file, copy), is_durable=False)


def _is_newer(target: Path, source: Path) -> bool:
    return target.stat().st_mtime_ns > source.stat().st_mtime_ns


def _write_lines(path: Path, records: Sequence[dict[str, Json]]) -> None:
    write_text(path, "".join(f"{canonical_json(record)}\n" for record in records))
