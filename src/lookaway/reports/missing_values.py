"""Which values of a table are missing, why, and what to do next; and whether enough of them are there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from lookaway.core import Cell, Reason
from lookaway.engine.run import Run
from lookaway.reports.numbers import amount, fixed


class NextStep(NamedTuple):
    """What to do about a missing value: in words, and as a command where there is one."""

    words: str
    command: str = ""


EXPORT_AGAIN: Final = "Check how the model writes its videos."
COPY_AGAIN: Final = "Copy or generate the video again."
SAME_COMMAND: Final = "lookaway eval ... (the same command continues the run)"
NEXT_STEPS: Final[Mapping[Reason, NextStep]] = {
    Reason.MISSING_VIDEO: NextStep("Generate the video, or remove its record.", "lookaway validate DATASET"),
    Reason.EMPTY_FILE: NextStep(COPY_AGAIN),
    Reason.NOT_A_VIDEO: NextStep(f"{EXPORT_AGAIN} Convert them to MP4."),
    Reason.AUDIO_ONLY: NextStep(EXPORT_AGAIN),
    Reason.NO_FRAMES: NextStep(EXPORT_AGAIN),
    Reason.ZERO_SIZE: NextStep(EXPORT_AGAIN),
    Reason.TRUNCATED: NextStep(f"{COPY_AGAIN} Writing it was interrupted."),
    Reason.UNDECODABLE: NextStep("Encode the video again, for example as H.264."),
    Reason.TOO_SHORT: NextStep("Generate longer clips; no limit is lowered silently."),
    Reason.MISSING_INPUT: NextStep("Supply the file or field that is named.", "lookaway validate DATASET"),
    Reason.INVALID_INPUT: NextStep("Correct the file that is named.", "lookaway validate DATASET"),
    Reason.INVALID_RECORD: NextStep("Correct the record that is named.", "lookaway validate DATASET"),
    Reason.UNSAFE_PATH: NextStep(
        "Move the file into the dataset, or allow paths out of it.", "lookaway eval ... --allow-outside"
    ),
    Reason.POSE_FAILED: NextStep(
        "Look at the video: cuts, blur and walls without texture break a track. Poses from a file: estimate them "
        "again, or track the camera with --use poses=tracked_poses.",
        "lookaway show RUN --clip ROLLOUT",
    ),
    Reason.POSE_CONVENTION_AMBIGUOUS: NextStep(
        "Say which way the matrices go, here or in dataset.yaml.",
        "lookaway eval ... --extrinsics-convention world_to_camera",
    ),
    Reason.TOO_FEW_MATCHES: NextStep(
        "Look at the frames: the camera may not have come back, or the place has no texture.",
        "lookaway show RUN --clip ROLLOUT",
    ),
    Reason.NO_TARGET: NextStep("Look at the video; this may be the finding.", "lookaway show RUN --clip ROLLOUT"),
    Reason.NOT_APPLICABLE: NextStep("Nothing, or correct the case: an unknown action is listed here too."),
    Reason.GATE_CLOSED: NextStep("Nothing: the rollout did not test memory, which is a finding about it."),
    Reason.JUDGE_FAILED: NextStep("Unanswered questions are asked again.", SAME_COMMAND),
    Reason.JUDGE_REFUSED: NextStep("Look at the prompt and the frames.", "lookaway show RUN --clip ROLLOUT"),
    Reason.NO_JUDGE: NextStep("Name a judge.", "lookaway eval ... --judge-model MODEL"),
    Reason.NO_LOG_PROBABILITIES: NextStep(
        "Use a server that returns log-probabilities.", "lookaway judge check --judge-model MODEL"
    ),
    Reason.MISSING_WEIGHTS: NextStep("Download the weights.", "lookaway weights fetch NAME"),
    Reason.WRONG_WEIGHTS: NextStep("Download the weights again.", "lookaway weights fetch --force NAME"),
    Reason.TOO_SLOW: NextStep("Look at the video, or allow more time.", "lookaway eval ... --rollout-seconds SECONDS"),
    Reason.TOO_LARGE: NextStep("Look at the video, or allow more memory.", "lookaway eval ... --rollout-memory SIZE"),
    Reason.NOT_YET_MEASURED: NextStep("The run was interrupted, or is still going.", SAME_COMMAND),
}
"""What to do about each typed reason."""

FAILED: Final = "failed"
AFTER_FAILURE: Final = NextStep("events.jsonl of the run folder has the tracebacks.", SAME_COMMAND)
OF_THE_GATE: Final = "gate "
"""Begins the reasons that a gate gives for a rollout of which it is not known whether it counts."""
OF_WEIGHTS: Final = frozenset({Reason.MISSING_WEIGHTS.value, Reason.WRONG_WEIGHTS.value})
"""Reasons whose messages name the weights."""
FETCHED: Final = re.compile(r"lookaway weights fetch ([A-Za-z0-9][A-Za-z0-9._-]{0,63})\b")
"""The name of weights in the message of an abstention."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingValues:
    """All values of a table that are missing for one reason."""

    reason: str
    metrics: tuple[str, ...]
    empty: tuple[str, ...]
    """Those of the metrics that have no value at all."""
    missing: int
    asked: int
    """Values of these metrics, missing or not."""
    step: NextStep

    @property
    def line(self) -> str:
        """How many are missing, of which metrics, and what to do."""
        names = list(dict.fromkeys(name.rpartition(".")[2] for name in self.metrics))
        named = ", ".join(names) if len(names) <= MAX_NAMED else amount(len(names), "metric")
        command = f" Run: {self.step.command}" if self.step.command else ""
        return f"{self.reason}: {self.missing} of {self.asked} values missing, {named}. {self.step.words}{command}"


MAX_NAMED: Final = 3
"""The most metrics that a line names; more are counted."""


def missing_values(run: Run, cells: Sequence[Cell]) -> list[MissingValues]:
    """What is missing, by reason: first what empties most metrics, then what most values lack.

    A closed gate is not among the reasons: it is a finding about the models and not a lack of the metric.
    """
    empty = empty_names(cells)
    found: dict[str, _Count] = {}
    for cell in cells:
        for reason, count in _reasons(cell).items():
            found.setdefault(reason, _Count()).add(cell, count)
    weights = _weights(run, cells)
    groups = [
        MissingValues(
            reason=reason,
            metrics=tuple(dict.fromkeys(count.metrics)),
            empty=tuple(name for name in empty if name in count.metrics),
            missing=count.missing,
            asked=sum(cell.asked for cell in cells if cell.metric in count.metrics),
            step=_step(reason, weights.get(reason, ())),
        )
        for reason, count in found.items()
    ]
    return sorted(groups, key=lambda group: (-len(group.empty), -group.missing, group.reason))


def empty_names(cells: Iterable[Cell]) -> list[str]:
    """The metrics of a table that have a mean for no model and were closed by no gate, in their order."""
    known: dict[str, bool] = {}
    for cell in cells:
        has_finding = cell.estimate is not None or cell.is_untested
        known[cell.metric] = known.get(cell.metric, False) or has_finding
    return [metric for metric, has_finding in known.items() if not has_finding]


@dataclass(slots=True)
class _Count:
    missing: int = 0
    metrics: list[str] = field(default_factory=list)

    def add(self, cell: Cell, count: int) -> None:
        self.missing += count
        self.metrics.append(cell.metric)


def _reasons(cell: Cell) -> dict[str, int]:
    """How many values of a cell are missing for each reason; the same reason of its gate is not counted again."""
    counts: dict[str, int] = {FAILED: cell.failures} if cell.failures else {}
    for name, count in cell.reasons.items():
        reason = name.removeprefix(OF_THE_GATE)
        counts[reason] = max(count, counts.get(reason, 0))
    return {reason: count for reason, count in counts.items() if reason != Reason.GATE_CLOSED.value}


def _step(reason: str, weights: Sequence[str]) -> NextStep:
    if reason == FAILED:
        return AFTER_FAILURE
    step = NEXT_STEPS[Reason(reason)]
    return step._replace(command=step.command.replace("NAME", " ".join(weights))) if weights else step


def _weights(run: Run, cells: Sequence[Cell]) -> dict[str, list[str]]:
    """The weights that messages name, by reason: the first message of each metric, for its others say the same."""
    gates = [metric.name for metric in run.metrics if metric.is_gate]
    wanted = {(reason, cell.metric) for cell in cells for reason in OF_WEIGHTS.intersection(cell.reasons)}
    wanted |= {
        (reason, gate)
        for cell in cells
        for reason in OF_WEIGHTS
        if OF_THE_GATE + reason in cell.reasons
        for gate in gates
    }
    found: dict[str, list[str]] = {}
    for row in run.items() if wanted else ():
        if (place := (row["reason"], row["metric"])) in wanted:
            wanted.remove(place)
            known = found.setdefault(row["reason"], [])
            known += [name for name in FETCHED.findall(row["message"] or "") if name not in known]
        if not wanted:
            break
    return found


MAX_LINES: Final = 20
"""The most cells below the required coverage that are named; more are counted."""


def coverage_shortfalls(cells: Sequence[Cell], required: float) -> list[str]:
    """The metrics of models that have fewer scores than required, a line each; none where all have enough.

    A rollout whose gate is closed counts: that it did not test memory was measured.
    """
    lines = list(_shortfalls(cells, required))
    more = [f"and {len(lines) - MAX_LINES} more"] if len(lines) > MAX_LINES else []
    return [*lines[:MAX_LINES], *more]


def measured_share(cell: Cell) -> float:
    """The share of rollouts that have a score or are known not to have tested memory; 1 where nothing was asked."""
    return _measured(cell) / cell.asked if cell.asked else 1.0


def _measured(cell: Cell) -> int:
    return cell.scored + cell.reasons.get(Reason.GATE_CLOSED.value, 0)


def _shortfalls(cells: Sequence[Cell], required: float) -> Iterator[str]:
    for cell in cells:
        known = _measured(cell)
        if known < required * cell.asked:
            share = fixed(measured_share(cell))
            yield f"{cell.metric} of {cell.model} on {cell.subset}: {known} of {cell.asked} scores, {share}"
