"""What the pages of a site are made from: runs, read once, with what their metrics mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lookaway.core import Group, Lock, Table, UserError
from lookaway.engine.reading import load_suite
from lookaway.engine.run import Run
from lookaway.reports.metric_facts import MetricFacts, metric_facts
from lookaway.store.outcome_reader import AskedMetric, OutcomeReader
from lookaway.store.run_folder import RunFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteMetric:
    """A metric of a run, and what its values mean as far as it is installed here."""

    name: str
    lock: str
    """Hash of all that can move its values: values with different hashes are not compared."""
    subsets: tuple[str, ...] | None
    is_gate: bool
    unit: str | None
    range: tuple[float | None, float | None]
    higher_is_better: bool | None
    """`None` where the metric is not installed."""

    @property
    def span(self) -> float | None:
        """How far apart the worst and the best value are; `None` where one has no end."""
        low, high = self.range
        return None if low is None or high is None else high - low


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteRollout:
    """What one model answered to one case with one seed, as the run keeps it."""

    id: str
    model: str
    case: str
    subset: str
    scene: str
    seed: str
    video: str
    """As it was found: a path, absolute or from where `lookaway eval` was started."""
    content: str
    """Hash of video, artifacts and case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteRun:
    """One run, ready to be shown."""

    run: Run
    name: str
    """What tells it from the other runs of the site."""
    suite: str
    suite_title: str
    lock: Lock
    about: Mapping[str, Any]
    metrics: tuple[SiteMetric, ...]
    groups: tuple[Group, ...]
    """Values by model, metric and subset, gates included."""
    table: Table
    """The cells of the suite's table: a gate, where there is one, has decided which rollouts count."""
    rollouts: Mapping[str, SiteRollout]
    """Those that were asked, by id."""

    @property
    def path(self) -> Path:
        """Its folder."""
        return self.run.path

    @property
    def models(self) -> tuple[str, ...]:
        """Its models, in order of their names."""
        return tuple(sorted({rollout.model for rollout in self.rollouts.values()}))

    def items(self) -> Iterator[Mapping[str, Any]]:
        """Every outcome as a row: rollout, metric, status, reason, value, raw, message, detail, model, case, ..."""
        return self.run.items()

    def units(self, metric: str) -> Iterator[Mapping[str, Any]]:
        """Every frame pair, track, segment, phase or question of one metric, as a row."""
        return self.run.units(metric)


def load_runs(paths: Sequence[Path]) -> list[SiteRun]:
    """The runs in these folders, in the order given."""
    places = [path.resolve() for path in paths]
    for path, place in zip(paths, places, strict=True):
        if places.count(place) > 1:
            raise UserError(f"{path}: is given more than once. Name every run once.")
    return [load_run(Run(path), name) for path, name in zip(paths, _names(places), strict=True)]


def _names(places: Sequence[Path]) -> list[str]:
    """The last parts of paths, as few as tell them apart."""
    for parts in range(1, 1 + max((len(place.parts) for place in places), default=1)):
        names = ["/".join(part.rstrip("/") for part in place.parts[-parts:]) for place in places]
        if len(set(names)) == len(names):
            return names
    raise AssertionError("different paths have different parts")


def load_run(run: Run, name: str) -> SiteRun:
    """One run under a name; rollouts of subsets that no metric is about are no part of it."""
    lock, about, asked, facts = run.lock, run.about, run.metrics, metric_facts(run)
    suite = load_suite(about["suite"])
    groups = OutcomeReader(RunFolder(run.path), asked).groups()
    places = {(group.model, group.subset) for group in groups}
    return SiteRun(
        run=run,
        name=name,
        suite=suite.name,
        suite_title=suite.title,
        lock=lock,
        about=about,
        metrics=tuple(_metric(entry, facts[entry.name]) for entry in asked),
        groups=tuple(groups),
        table=suite.table(groups),
        rollouts={r.id: r for r in _rollouts(RunFolder(run.path)) if (r.model, r.subset) in places},
    )


def _metric(asked: AskedMetric, known: MetricFacts | None) -> SiteMetric:
    return SiteMetric(
        name=asked.name,
        lock=asked.lock,
        subsets=asked.subsets,
        is_gate=asked.is_gate,
        unit=known.unit if known else None,
        range=known.range if known else (None, None),
        higher_is_better=known.higher_is_better if known else None,
    )


def _rollouts(folder: RunFolder) -> Iterator[SiteRollout]:
    for row in folder.rollouts().to_pylist():
        yield SiteRollout(id=row.pop("rollout"), **row)
