"""The facts about a run that a report shows: what identifies it, how to reproduce it, and what it cost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from lookaway.core import Json, Reason, canonical_json
from lookaway.engine.timings import IDLE, RunCosts, SessionCosts, StageTiming, StageTimings, read_run_costs
from lookaway.io.checksums import unseal_line
from lookaway.io.journal import Journal
from lookaway.io.object_storage import is_remote
from lookaway.reports.card_notes import known_metrics, without_any
from lookaway.reports.case_page.reproduce import run_command
from lookaway.reports.numbers import amount, duration, size
from lookaway.reports.runs import LoadedRun

SHOWN_OF_HASH = 16
ENDS_READ = 65_536
NO_VIDEO = (Reason.MISSING_VIDEO.value, Reason.EMPTY_FILE.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How complete a run is, in rollouts and in measurements."""

    expected: int
    produced: int
    """Rollouts with a video."""
    valid: int
    """Rollouts with any score."""
    judged: int | None
    """Rollouts for which it is known whether they passed the gate; `None` without a gate."""
    asked: int
    scored: int
    failed: int
    reasons: Mapping[str, int]
    """Why measurements have no score, the most frequent first."""


def is_going(run: LoadedRun) -> bool:
    """Whether something is not measured yet."""
    return any(group.reasons.get(Reason.NOT_YET_MEASURED.value) for group in run.groups)


def counts(run: LoadedRun) -> Counts:
    """Counts over the groups of a run; a gate counts as a measurement too."""
    reasons: Counter[str] = Counter()
    without_video: dict[tuple[str, str], int] = {}
    for group in run.groups:
        reasons.update(group.reasons)
        lost = sum(group.reasons.get(reason, 0) for reason in NO_VIDEO)
        key = (group.model, group.subset)
        without_video[key] = max(lost, without_video.get(key, 0))
    gates = [group for group in run.groups if group.is_gate]
    return Counts(
        expected=len(run.rollouts),
        produced=len(run.rollouts) - sum(without_video.values()),
        valid=len({rollout for group in run.groups if not group.is_gate for rollout in group.rollouts}),
        judged=sum(len(group.values) for group in gates) if gates else None,
        asked=sum(group.asked for group in run.groups),
        scored=sum(len(group.values) for group in run.groups),
        failed=sum(group.failures for group in run.groups),
        reasons=dict(sorted(reasons.items(), key=lambda entry: (-entry[1], entry[0]))),
    )


def facts(run: LoadedRun) -> list[tuple[str, str]]:
    """Name and value of everything that identifies a run."""
    dataset = run.lock.entries.get("dataset", {})
    entries = sorted(dataset.get("identity", {}).items())
    identity = ", ".join(f"{name} {value}" for name, value in entries if not isinstance(value, (dict, list)))
    first, last = dates(run.path / "events.jsonl")
    judges = judges_of(run)
    unmeasured = run.about.get("rollouts", len(run.rollouts)) - len(run.rollouts)
    return [
        ("Suite", f"{run.suite}: {run.suite_title}"),
        ("Dataset", identity or "not identified"),
        ("Cases", f"{dataset.get('cases', len({r.case for r in run.rollouts.values()}))}"),
        ("Cases SHA-256", str(dataset.get("cases_sha256", ""))[:SHOWN_OF_HASH] or "not locked"),
        *(
            [("Not measured", f"{amount(unmeasured, 'rollout')} of subsets that no metric covers")]
            if unmeasured > 0
            else []
        ),
        ("Lock SHA-256", str(run.about["lock_sha256"])[:SHOWN_OF_HASH]),
        ("Cards", _cards(run)),
        ("Judge", "; ".join(judges) or "none"),
        ("Measured", f"{first} to {last}" if first else "no events"),
        ("Made with", f"lookaway {run.about.get('lookaway', 'of an unknown version')}"),
    ]


def _cards(run: LoadedRun) -> str:
    """How many metrics have a card for this size and frame rate, or one that says that a frozen video wins them."""
    asked, known = len(run.cards.found) + len(run.cards.missing), known_metrics(run.cards)
    return f"for {len(known)} of {amount(asked, 'metric')}" if known else without_any(run.cards)


def judges_of(run: LoadedRun) -> list[str]:
    """Every judge in the lock: model and backend."""
    found = {
        f"{judge.get('reported') or judge.get('model') or 'not named'} ({judge.get('backend', 'server')})"
        for judge in _judges(run.lock.entries.get("metrics", {}))
    }
    return sorted(found)


def dates(events: Path) -> tuple[str, str]:
    """Day and minute of the first and of the last event, in UTC; empty where there are none."""
    if is_remote(events) or events.is_dir():
        lines = Journal(events).lines()
        return (_minute(lines[0]), _minute(lines[-1])) if lines else ("", "")
    if not events.is_file():
        return "", ""
    with events.open("rb") as file:
        start = file.readline()
        size = events.stat().st_size
        file.seek(max(0, size - ENDS_READ))
        lines = [line for line in file.read().splitlines() if line.strip()]
    return _minute(start), _minute(lines[-1]) if lines else ""


def _minute(line: bytes) -> str:
    try:
        return datetime.fromtimestamp(json.loads(unseal_line(line) or b"")["time"], UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, KeyError, TypeError, OverflowError, OSError):  # a damaged line, or one that a crash cut off
        return "not known"


def _judges(entries: Json) -> Iterator[Mapping[str, Any]]:
    if isinstance(entries, Mapping):
        for name, entry in entries.items():
            if name == "judge" and isinstance(entry, Mapping):
                yield entry
            else:
                yield from _judges(entry)


@dataclass(frozen=True, slots=True, kw_only=True)
class Appendix:
    """What is needed to reproduce one run."""

    run: str
    lock_sha256: str
    command: str
    lock: tuple[tuple[str, str, str], ...]
    """Name, hash and content of the entries of the lock: suite, dataset, and every metric with its features."""
    software: tuple[tuple[str, str], ...]
    """Name and version."""


def appendix(run: LoadedRun) -> Appendix:
    """Lock, versions and command of a run."""
    entries = run.lock.entries
    metrics = entries.get("metrics", {})
    parts = [(name, "", _readable(entries[name])) for name in ("suite", "dataset") if name in entries]
    for metric in run.metrics:
        own = {name: part for name, part in metrics.get(metric.name, {}).items() if name in ("metric", "features")}
        parts.append((metric.name, metric.lock, _readable(own)))
    return Appendix(
        run=run.name,
        lock_sha256=str(run.about["lock_sha256"]),
        command=run_command(run),
        lock=tuple(parts),
        software=_software(metrics),
    )


def _software(metrics: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    found: dict[str, dict[str, None]] = {}
    for entries in metrics.values():
        for name, version in entries.get("software", {}).items():
            found.setdefault(name, {})[str(version)] = None
        if decoder := entries.get("decoder"):
            found.setdefault("decoder", {})[canonical_json(decoder)] = None
    return tuple((name, ", ".join(versions)) for name, versions in sorted(found.items()))


def _readable(value: Any) -> str:
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)


MAX_CHARACTERS: Final = 2_000
"""The longest text in a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LongText:
    """A text as a page shows it, possibly cut."""

    shown: str
    length: int
    href: str | None
    """The whole text, relative to the root of the site; `None` where all of it is shown, or the rest is not kept."""

    @property
    def is_cut(self) -> bool:
        """Whether the text is longer than what is shown."""
        return len(self.shown) < self.length


def long_text(text: object, keep: Callable[[str], str] | None = None) -> LongText:
    """The start of a text; `keep` stores one that is too long and returns its address.

    >>> long_text("short").is_cut, long_text("long" * 1000).is_cut
    (False, True)
    """
    whole = str(text)
    is_cut = len(whole) > MAX_CHARACTERS
    return LongText(shown=whole[:MAX_CHARACTERS], length=len(whole), href=keep(whole) if keep and is_cut else None)


STAGE_HEADS = ("Stage", "Time", "CPU time", "Share", "Rollouts", "Frames", "Frames/s", "Cached", "Stored")
SESSION_HEADS = ("Started", "Executor", "Workers", "Rollouts", "Failed", "Workers died", "Retried", "Runtime")


@dataclass(frozen=True, slots=True, kw_only=True)
class CostSummary:
    """The costs of one run, ready to be printed."""

    run: str
    summary: str
    stages: tuple[tuple[str, ...], ...]
    """A row for every stage, the longest first."""
    sessions: tuple[tuple[str, ...], ...]


def cost_summaries(runs: Sequence[LoadedRun]) -> list[CostSummary]:
    """The costs of every run that recorded them."""
    found = [(run.name, read_run_costs(run.path)) for run in runs]
    return [_cost_summary(name, costs) for name, costs in found if costs.sessions]


def _cost_summary(name: str, costs: RunCosts) -> CostSummary:
    timings = costs.timings
    ordered = sorted(timings.stages.items(), key=lambda entry: (entry[0] in IDLE, -entry[1].seconds, entry[0]))
    return CostSummary(
        run=name,
        summary=_summary(costs, timings),
        stages=tuple(_stage_row(stage, totals, timings) for stage, totals in ordered),
        sessions=tuple(_session_row(session) for session in costs.sessions),
    )


def _summary(costs: RunCosts, timings: StageTimings) -> str:
    seconds = sum(session.seconds for session in costs.sessions)
    retries = sum(session.retries for session in costs.sessions)
    parts = [
        f"{duration(seconds)} in {amount(len(costs.sessions), 'session')}",
        f"{amount(timings.kept, 'feature')} from the cache",
        f"{retries} retried" if retries else "nothing retried",
    ]
    if costs.judge.calls:
        tokens = f"{costs.judge.prompt_tokens:,} prompt tokens and {costs.judge.answer_tokens:,} answer tokens"
        parts.append(f"{costs.judge.calls:,} judge calls with {tokens}")
    return "; ".join(parts) + "."


def _stage_row(name: str, stage: StageTiming, timings: StageTimings) -> tuple[str, ...]:
    whole = sum(other.seconds for kind, other in timings.stages.items() if kind not in IDLE)
    is_work = name not in IDLE and whole > 0
    return (
        name,
        _short(stage.seconds),
        _short(stage.cpu_seconds),
        f"{stage.seconds / whole:.1%}" if is_work else "-",
        _count(stage.rollouts),
        _count(stage.frames),
        f"{stage.frames / stage.seconds:,.3g}" if stage.frames and stage.seconds > 0 else "-",
        _count(stage.kept),
        size(stage.stored_bytes) if stage.stored_bytes else "-",
    )


def _session_row(session: SessionCosts) -> tuple[str, ...]:
    return (
        datetime.fromtimestamp(session.started, UTC).strftime("%Y-%m-%d %H:%M UTC"),
        session.executor,
        _count(session.workers),
        _count(session.rollouts),
        _count(session.failures),
        _count(session.deaths),
        _count(session.retries),
        duration(session.seconds),
    )


def _short(seconds: float) -> str:
    """Seconds with two digits below ten, so that short stages are not 0 s."""
    return f"{seconds:.2f} s" if seconds < 10 else duration(seconds)


def _count(number: int) -> str:
    return f"{number:,}" if number else "-"
