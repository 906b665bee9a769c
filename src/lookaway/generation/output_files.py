"""Finds the output of each item by the model's own naming, and what of it is of another plan, seed or case."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from lookaway.core import DatasetError, Unmeasurable
from lookaway.generation.adapter import ModelCard
from lookaway.generation.output_checks import OutputFinding, OutputProblem
from lookaway.generation.work_plan import RUN_RECORD, PlanItem
from lookaway.io.dataset_files import DatasetTree, read_record
from lookaway.io.files import content_hash
from lookaway.io.limits import MAX_FOLDER_DEPTH

VIDEO_SUFFIXES: Final = frozenset({".mp4", ".mov", ".mkv", ".webm", ".avi"})
CLOCK_SECONDS: Final = 2.0
"""File systems round times."""


class RunRecord(BaseModel):
    """What run.sh wrote beside an output; other fields are kept as provenance."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    plan_sha256: str | None = None
    seed: int | None = None
    started: float | None = None
    finished: float | None = None
    endpoint: str | None = None
    version: str | None = None
    refusal: str | None = None
    variables: dict[str, str] = {}
    """What the user chose beside the plan, such as weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundOutput:
    """The file of an item, if there is one, and what is wrong with it as a file."""

    item: PlanItem
    path: Path | None = None
    relative: str = ""
    sha256: str | None = None
    record: RunRecord = field(default_factory=RunRecord)
    findings: tuple[OutputFinding, ...] = ()
    same_content: OutputFinding | None = None
    """That another item has the same file."""


@dataclass(frozen=True, slots=True)
class OutputFinder:
    """Looks for outputs below a folder."""

    tree: DatasetTree
    card: ModelCard

    def find(self, items: Iterable[PlanItem]) -> tuple[list[FoundOutput], list[str]]:
        """The output of each item, and videos that are of none."""
        videos = _videos(self.tree)
        found = [self._of_item(item, videos) for item in items]
        used = {output.relative for output in found if output.relative}
        items_of = {output.item.folder: output.item for output in found}
        extra = [name for name in videos if name not in used and not self._is_known(name, items_of)]
        return self._without_collisions(found), extra

    def _of_item(self, item: PlanItem, videos: list[str]) -> FoundOutput:
        if item.refusal is not None:
            message = str(item.refusal.get("message", "the model cannot express the request."))
            return FoundOutput(item=item, findings=(OutputFinding(OutputProblem.REFUSED, message),))
        expected = f"{item.folder}/{item.output}"
        own = [name for name in videos if name.startswith(f"{item.folder}/") or name.rsplit(".", 1)[0] == item.folder]
        results = [name for name in own if not self._is_twin(name)]
        named = [name for name in results if fnmatchcase(name, expected)]
        findings: list[OutputFinding] = []
        if named and (len(named) == 1 or self.card.is_growing):
            chosen = max(named, key=_last_number)
        elif len(results) == 1:
            chosen = results[0]
            findings.append(OutputFinding(OutputProblem.RENAMED, f"it is at {chosen}, expected {expected}."))
        else:
            return FoundOutput(item=item, findings=(_absence(expected, results, own),))
        try:
            path = self.tree.path(chosen)
        except Unmeasurable as error:
            return FoundOutput(item=item, findings=(OutputFinding(OutputProblem.UNREADABLE, str(error)),))
        record = self._record(item)
        findings += _origin(item, record, path)
        return FoundOutput(
            item=item,
            path=path,
            relative=chosen,
            sha256=content_hash(path),
            record=record,
            findings=tuple(findings),
        )

    def _record(self, item: PlanItem) -> RunRecord:
        try:
            path = self.tree.path(f"{item.folder}/{RUN_RECORD}")
            return read_record(path, RunRecord) if os.path.isfile(path) else RunRecord()
        except (DatasetError, Unmeasurable):
            self.tree.report(f"{item.folder}/{RUN_RECORD}", "it cannot be read, so that seed and plan are not checked")
            return RunRecord()

    def _is_twin(self, name: str) -> bool:
        return any(fnmatchcase(name, f"*{ending}") for ending in self.card.twins)

    def _is_known(self, name: str, items_of: Mapping[str, PlanItem]) -> bool:
        """Whether a video beside a result is one that the model makes on the way."""
        item = items_of.get(name.split("/", 1)[0])
        if item is None:
            return False
        return self._is_twin(name) or (self.card.is_growing and fnmatchcase(name, f"{item.folder}/{item.output}"))

    def _without_collisions(self, found: list[FoundOutput]) -> list[FoundOutput]:
        """One content under two items is of one of them at most."""
        by_hash: dict[str, list[FoundOutput]] = defaultdict(list)
        for output in found:
            if output.sha256 is not None:
                by_hash[output.sha256].append(output)
        return [self._judged(output, by_hash.get(output.sha256 or "", [])) for output in found]

    def _judged(self, output: FoundOutput, same: list[FoundOutput]) -> FoundOutput:
        others = [other for other in same if other is not output]
        if not others or any(found.kind == OutputProblem.OTHER_SEED for found in output.findings):
            return output
        if all(other.item.case == output.item.case for other in others):
            if any(found.kind == OutputProblem.OTHER_SEED for other in others for found in other.findings):
                return output  # the other one says itself that it is of this seed
            kind, what = OutputProblem.OTHER_SEED, "another seed of the case"
        else:
            kind, what = OutputProblem.COLLISION, "another case"
        finding = OutputFinding(
            kind, f"{others[0].relative} has the same content and is of {what}. Generate both again."
        )
        return replace(output, same_content=finding)


def _last_number(name: str) -> int:
    """The number at the end of a name, such as that of a segment."""
    found = re.search(r"(\d+)\.\w+$", name)
    return int(found[1]) if found else -1


def _absence(expected: str, results: list[str], own: list[str]) -> OutputFinding:
    if results:
        named = ", ".join(results[:3])
        return OutputFinding(OutputProblem.AMBIGUOUS, f"{expected} is missing, and several files could be it: {named}.")
    if own:
        return OutputFinding(
            OutputProblem.TWIN, f"{expected} is missing; {own[0]} was found, but is not the result. Generate it again."
        )
    return OutputFinding(OutputProblem.MISSING, f"there is no {expected}. Run its run.sh again.")


def _origin(item: PlanItem, record: RunRecord, path: Path) -> list[OutputFinding]:
    """Whether the output is of this plan and this seed."""
    if record.refusal:
        return [OutputFinding(OutputProblem.REFUSED, f"the service refused it: {record.refusal[:200]}")]
    if record.seed is not None and record.seed != item.seed:
        return [OutputFinding(OutputProblem.OTHER_SEED, f"it was made with seed {record.seed}, expected {item.seed}.")]
    if record.plan_sha256 is not None and record.plan_sha256 != item.sha256:
        return [OutputFinding(OutputProblem.STALE, "it was made from another plan. Run its run.sh again.")]
    if path.stat().st_mtime < item.exported - CLOCK_SECONDS:
        return [OutputFinding(OutputProblem.STALE, "it is older than the plan. Run its run.sh again.")]
    return []


def _videos(tree: DatasetTree) -> list[str]:
    """Relative paths of all videos, sorted; links to folders are not followed."""
    found = []
    for folder, below, files in os.walk(tree.root):
        relative = os.path.relpath(folder, tree.root).replace(os.sep, "/")
        if relative.count("/") + 1 >= MAX_FOLDER_DEPTH:
            below.clear()
        for name in files:
            if os.path.splitext(name)[1].lower() in VIDEO_SUFFIXES:
                found.append(name if relative == "." else f"{relative}/{name}")
    return sorted(found)
