"""A run: its lock, its outcomes, its table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, Final

from lookaway.core import Group, Lock, ProtocolName, RunError, Table, UnknownName, UserError
from lookaway.core.cases import case_title
from lookaway.core.tables import html_table, text_table
from lookaway.engine.reading import load_suite
from lookaway.io.object_storage import as_path
from lookaway.statistics.cells import counted_groups, with_untested, without_triggers
from lookaway.store.outcome_reader import AskedMetric, FrameUnits, OutcomeReader
from lookaway.store.run_folder import RunFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResults:
    """The outcomes of a run by model, metric and subset, and the table that its suite makes of them."""

    groups: tuple[Group, ...]
    """In the order of the protocol, gates included."""
    table: Table
    """Its cells rest on these groups; where a gate decides, on those rollouts that passed it."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CaseResults:
    """What was measured on one case; it prints as a table of metrics and videos, and as HTML in a notebook."""

    id: str
    subset: str
    scene: str
    metrics: tuple[str, ...]
    """Those that are about its subset, in the order of the protocol."""
    videos: Mapping[str, str]
    """Rollout ids, each with its name in the table: the model, with the seed where the model has several videos."""
    outcomes: tuple[Mapping[str, Any], ...]
    """As rows of `Run.items`, with the message of each that is not a score."""
    uncounted: frozenset[tuple[str, str]] = frozenset()
    """Metrics and rollouts whose scores do not count in tables: the video did not test memory."""

    @property
    def title(self) -> str:
        """The words of its id; the id where there are none."""
        return case_title(self.id)

    def __str__(self) -> str:
        return "\n".join((*dict.fromkeys((self.title, self.id)), "", text_table(*self._cells())))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        name = f"<p><code>{escape(self.id)}</code></p>" if self.title != self.id else ""
        return f"<h4>{escape(self.title)}</h4>{name}{html_table(*self._cells())}"

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        found = {(row["metric"], row["rollout"]): self._text(row) for row in self.outcomes}
        rows = [
            [metric, *(found.get((metric, video), "not measured") for video in self.videos)] for metric in self.metrics
        ]
        return ["metric", *self.videos.values()], rows

    def _text(self, row: Mapping[str, Any]) -> str:
        if row["status"] != "score":
            return row["reason"] if row["status"] == "abstention" else "failed"
        return f"{row['value']:z.3f}{' (does not count)' if (row['metric'], row['rollout']) in self.uncounted else ''}"


SCORE_COLUMNS: Final = ("model", "case", "subset", "scene", "seed", "metric", "value", "raw", "rollout")
OUTCOME_COLUMNS: Final = (*SCORE_COLUMNS, "status", "reason", "message")


@dataclass(frozen=True, slots=True)
class Run:
    """A run folder, finished or not: on disk, or on object storage such as `s3://bucket/run`."""

    path: Path
    _snapshot: OutcomeReader | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", as_path(self.path))

    def snapshot(self) -> Run:
        """The same run with its rows as they are now, verified and read once for all that is asked of it."""
        return self if self._snapshot else Run(self.path, OutcomeReader(self._folder, self.metrics))

    @property
    def lock(self) -> Lock:
        """Everything that can move the numbers of the run."""
        return self._folder.lock()

    @property
    def about(self) -> dict[str, Any]:
        """The content of `run.json`: versions, options, metrics."""
        return self._folder.about()

    @property
    def metrics(self) -> list[AskedMetric]:
        """The metrics of the run, in the order of the protocol."""
        try:
            return [
                AskedMetric(
                    name=entry["name"],
                    lock=entry["lock"],
                    subsets=entry["subsets"] and tuple(entry["subsets"]),
                    is_gate=entry.get("is_gate", False),
                    # Runs made before this was recorded have a gate only where it decides for all their metrics.
                    is_consistency=entry.get("is_consistency", True),
                    protocol=entry.get("protocol"),
                    range=tuple(entry.get("range", (None, None))),
                )
                for entry in self.about["metrics"]
            ]
        except (KeyError, TypeError) as error:
            raise RunError(
                f"{self.path / 'run.json'}: the metrics cannot be read ({error!r}). Run the same `lookaway eval` again."
            ) from error

    @property
    def protocol(self) -> ProtocolName | None:
        """Whether its metrics are published ones, corrected ones or both; `None` where its suite knows no such two."""
        known = {metric.protocol for metric in self.metrics} - {None}
        named = known & {"published", "corrected"}
        return next(iter(named)) if len(named) == 1 else "both" if named else "published" if known else None

    def results(self, *, ignore_triggers: bool = False) -> RunResults:
        """The outcomes in groups, and what the suite makes of them: every table and report starts from here.

        Triggers of a publication are ignored on demand, and where the run was started so.
        """
        groups = self._reader().groups()
        suite = load_suite(self.about["suite"])
        if not (ignore_triggers or self._ignores_triggers):
            return RunResults(groups=tuple(groups), table=suite.table(groups))
        kept = without_triggers(groups)
        return RunResults(groups=kept, table=with_untested(suite.table(kept), groups))

    def table(self, *, ignore_triggers: bool = False) -> Table:
        """The suite's estimates with intervals, n of N, and the reasons for missing outcomes."""
        return self.results(ignore_triggers=ignore_triggers).table

    @property
    def _ignores_triggers(self) -> bool:
        requested = self.about.get("requested") or {}  # an older run may not have it
        return bool(requested.get("ignore_triggers"))

    def items(self) -> Iterator[Mapping[str, Any]]:
        """Every outcome, one row per rollout and metric."""
        return self._reader().items()

    @property
    def scores(self) -> list[dict[str, Any]]:
        """Every score with its model, case, subset, scene, seed and metric: a row each, as tables of data take them."""
        return [{name: row[name] for name in SCORE_COLUMNS} for row in self.items() if row["status"] == "score"]

    def case(self, name: str) -> CaseResults:
        """What was measured on the case of this id, on every video: a value, or the reason why there is none."""
        columns = ("rollout", "model", "case", "subset", "scene", "seed")
        rollouts = self._folder.rollouts(columns).to_pylist()
        own = [row for row in rollouts if row["case"] == name]
        if not own:
            raise UnknownName("case", name, {row["case"] for row in rollouts})
        run, subset = self.snapshot(), own[0]["subset"]
        outcomes = tuple(run._reader().items(name))
        return CaseResults(
            id=name,
            subset=subset,
            scene=own[0]["scene"],
            metrics=tuple(metric.name for metric in self.metrics if metric.subsets is None or subset in metric.subsets),
            videos=_video_names(own),
            outcomes=outcomes,
            uncounted=frozenset(_uncounted(run, outcomes)),
        )

    def to_pandas(self) -> Any:
        """Every outcome as a `pandas.DataFrame`: scores, abstentions and failures, told apart by `status` and `reason`.

        >>> frame = run.to_pandas()  # doctest: +SKIP
        >>> frame[frame.status == "score"].pivot_table("value", "model", "metric")  # doctest: +SKIP
        """
        try:
            from pandas import DataFrame
        except ImportError as error:
            raise UserError(
                "pandas is not installed. Run `pip install pandas`, or take the rows of `run.items()`."
            ) from error
        rows = [{name: row[name] for name in OUTCOME_COLUMNS} for row in self.items()]
        return DataFrame(rows, columns=list(OUTCOME_COLUMNS))

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def units(self, metric: str) -> Iterator[Mapping[str, Any]]:
        """Every unit of one metric: its frame pairs, tracks, segments or phases."""
        return self._reader().units(metric)

    def metrics_with_frames(self) -> list[str]:
        """Metrics that give every frame a value, in the order of the protocol."""
        return self._reader().metrics_with_frames()

    def metrics_with_units(self, names: str) -> list[str]:
        """Metrics that have scored units whose whole names match a pattern, in the order of the protocol."""
        return self._reader().metrics_with_units(names)

    def frames(self, metrics: Iterable[str]) -> Iterator[tuple[str, FrameUnits]]:
        """The values of all frames, one metric after the other."""
        reader = self._reader()
        for metric in metrics:
            yield metric, reader.frames(metric)

    @property
    def _folder(self) -> RunFolder:
        return RunFolder(self.path)

    def _reader(self) -> OutcomeReader:
        return self._snapshot or OutcomeReader(self._folder, self.metrics)


def _video_names(rollouts: Iterable[Mapping[str, str]]) -> dict[str, str]:
    rows = sorted(rollouts, key=lambda row: (row["model"], row["seed"]))
    counts = Counter(row["model"] for row in rows)
    return {
        row["rollout"]: row["model"] if counts[row["model"]] == 1 else f"{row['model']}, seed {row['seed']}"
        for row in rows
    }


def _uncounted(run: Run, outcomes: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    results = run.results()
    groups = counted_groups(results.groups, results.table.cells)
    counted = {(key.metric, rollout) for key, group in groups.items() for rollout in group.rollouts}
    gates = {metric.name for metric in run.metrics if metric.is_gate}
    for row in outcomes:
        key = (row["metric"], row["rollout"])
        if row["status"] == "score" and row["metric"] not in gates and key not in counted:
            yield key
