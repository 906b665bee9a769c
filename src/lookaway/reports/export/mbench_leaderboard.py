"""A submission to MBench's leaderboard: a ZIP with `leaderboard_submission.json`.

The leaderboard has one number, `total_m_score`. Neither paper nor README says how it is computed from the metrics, so
it is defined here: the mean over the three axes (entity, environment, causal) of the mean over the metrics
of the axis, times 100. In setting A, where each axis has four metrics, that is the mean over all twelve. A metric's
number is its M-Score in setting T. The published setting A has no gate, and the number is the mean score over all
rollouts: a harmonic mean with a coverage of 1 would raise it. `n_untested` says how many of them did not test memory.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from lookaway.core import Cell, Estimate, Json, UnknownName, UserError
from lookaway.engine.reading import load_suite
from lookaway.engine.run import Run
from lookaway.io.files import write_whole
from lookaway.reports.as_published import require_published
from lookaway.reports.export.mbench import GATED_SUITE, require_mbench
from lookaway.reports.numbers import counts

FILE_NAME = "leaderboard_submission.json"
MIN_SHARE = 0.9
"""The share of the rollouts of a metric that must have a score that counts, or be left out by the gate."""
MODEL_TYPES = {"mbench-a": "action-conditioned", "mbench-t": "text-conditioned"}
MBENCH = "mbench"
"""Begins the names of MBench's own metrics; its leaderboard has no others."""
EARLIEST = (1980, 1, 1, 0, 0, 0)
"""A fixed date, so that the same numbers give the same bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What the leaderboard shows of a model beside its numbers."""

    model: str
    link: str = ""
    kind: str | None = None
    """By default as the setting has it: action-conditioned or text-conditioned."""

    def __post_init__(self) -> None:
        if self.link and not self.link.startswith(("https://", "http://")):
            raise UserError(f"{self.link!r} is not a link; expected one such as https://example.org/model.")


def write_submission(
    run: Run, entry: Entry, path: Path, *, min_share: float = MIN_SHARE, force: bool = False
) -> tuple[str, ...]:
    """Write the ZIP; returns its shortcomings. Without `force`, any shortcoming is an error."""
    submission = make_submission(run, entry, min_share=min_share)
    shortcomings: tuple[str, ...] = tuple(submission["shortcomings"])
    if submission["total_m_score"] is None:
        raise UserError(f"{run.path}: {entry.model} has no score at all; there is nothing to submit.")
    if shortcomings and not force:
        raise UserError(
            f"{run.path}: not complete enough for a submission: {'; '.join(shortcomings)}. "
            "Finish the run, or use --force: the submission then lists what is missing."
        )
    text = json.dumps(submission, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        write_whole(path, lambda file: _write_zip(file, text))
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error}.") from error
    return shortcomings


def make_submission(run: Run, entry: Entry, *, min_share: float = MIN_SHARE) -> dict[str, Json]:
    """The content of the submission; `shortcomings` are cells that are missing, not gated, or have too few rollouts."""
    suite, about = require_mbench(run), run.about
    names = _official(suite)
    require_published(run, names)
    cells = run.table().cells
    if entry.model not in {cell.model for cell in cells}:
        raise UnknownName("model of the run", entry.model, {cell.model for cell in cells})
    own = {cell.metric: cell for cell in cells if cell.model == entry.model}
    metrics = {name: _metric(own.get(name)) for name in names}
    axes = {axis: _axis(axis, metrics) for axis in dict.fromkeys(map(_axis_of, names))}
    known = [axis["m_score"] for axis in axes.values() if axis["m_score"] is not None]
    return {
        "model_name": entry.model,
        "model_link": entry.link,
        "model_type": entry.kind or MODEL_TYPES[suite],
        "total_m_score": sum(known) / len(known) if known else None,
        "axes": axes,
        "metrics": metrics,
        "shortcomings": [
            f"{name}: {lack}" for name in names if (lack := _shortcoming(own.get(name), suite, min_share))
        ],
        "suite": suite,
        "lock_sha256": about["lock_sha256"],
        "lookaway": about.get("lookaway"),
    }


def _official(suite: str) -> list[str]:
    """The published metrics of MBench."""
    bounds = (bound for bound in load_suite(suite).metrics({}) if bound.is_of("published") and not bound.is_gate)
    return [bound.name for bound in bounds if bound.name.startswith(MBENCH)]


def _metric(cell: Cell | None) -> dict[str, Json]:
    """In percent, as on the leaderboard; n of N rollouts have a score that counts."""
    if cell is None:
        return {"m_score": None, "n": 0, "N": 0}
    number = _number(cell)
    record: dict[str, Json] = {"m_score": number and 100 * number.mean, "n": cell.scored, "N": cell.asked}
    if number is not None and number.low is not None and number.high is not None:
        record |= {"m_score_low": 100 * number.low, "m_score_high": 100 * number.high}
    if cell.untested:
        record["n_untested"] = cell.untested
    if cell.gated is not None and cell.gated.coverage is not None:
        record |= {"c_trig": 100 * cell.gated.coverage.mean, "s_rel": cell.estimate and 100 * cell.estimate.mean}
    return record


def _number(cell: Cell) -> Estimate | None:
    return cell.estimate if cell.gated is None else cell.gated.combined


def _axis(axis: str, metrics: Mapping[str, Mapping[str, Json]]) -> dict[str, Json]:
    """n of N metrics have a number."""
    numbers = [record["m_score"] for name, record in metrics.items() if _axis_of(name) == axis]
    known = [number for number in numbers if number is not None]
    return {"m_score": sum(known) / len(known) if known else None, "n": len(known), "N": len(numbers)}


def _axis_of(metric: str) -> str:
    return metric.split(".")[1]


def _shortcoming(cell: Cell | None, suite: str, min_share: float) -> str | None:
    if cell is None:
        return "not in the run"
    if _number(cell) is None:
        why = counts(cell.reasons, cell.failures)
        return f"no score of {cell.asked} rollouts" + (f" ({why})" if why else "")
    if suite == GATED_SUITE and cell.gated is None:
        return "raw consistency: no judge decided which rollouts count"
    known = sum(_known(cell))
    if known < min_share * cell.asked:
        return f"{known} of {cell.asked} rollouts are known, fewer than {min_share:.0%}"
    return None


def _known(cell: Cell) -> Iterator[int]:
    """Rollouts with a score that counts, and those that the gate left out."""
    yield cell.scored
    if cell.gated is not None and (coverage := cell.gated.coverage) is not None:
        yield coverage.scored - round(coverage.mean * coverage.scored)


def _write_zip(file: BinaryIO, text: str) -> None:
    member = zipfile.ZipInfo(FILE_NAME, EARLIEST)
    member.external_attr = 0o644 << 16
    member.create_system = 3  # Unix, wherever it is written
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(member, text.encode())
