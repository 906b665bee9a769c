"""Groups of outcomes, the unrounded estimates of a table, and whose gate decides about which of its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookaway.core.features import Floats

ProtocolName: TypeAlias = Literal["published", "corrected", "both"]
"""As in the publication, with repairs, or both."""


def gate_decides(gate: ProtocolName | None, metric: ProtocolName | None) -> bool:
    """Whether the gate of one protocol removes rollouts from the numbers of a metric of another.

    A gate without a protocol is ours: it removes nothing from a published number. What is the same in both protocols
    stands under its published name, and counts as published.

    >>> gate_decides(None, "published"), gate_decides(None, "corrected"), gate_decides(None, None)
    (False, True, True)
    >>> gate_decides("both", "published"), gate_decides("corrected", "both"), gate_decides("published", "both")
    (True, False, True)
    """
    if gate is None:
        return metric in (None, "corrected")
    named = "published" if metric == "both" else metric
    return gate == "both" or named in (None, gate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean, its 95 % interval, and what it rests on."""

    mean: float
    low: float | None
    high: float | None
    scored: int
    scenes: int
    scene_means: tuple[float, ...] = ()
    """Where there is no interval, the means of the scenes, smallest first; a single number where all are equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """All outcomes of one model, metric and subset; as columns, since there may be millions."""

    model: str
    metric: str
    subset: str
    values: Floats
    rollouts: tuple[str, ...]
    """Rollout of each value."""
    scenes: tuple[str, ...]
    """Scene of each value."""
    raw_values: Floats
    """Native values of the outcomes that have one."""
    has_raw: NDArray[np.bool_]
    """Whether each value has a native one."""
    asked: int
    failures: int
    reasons: Mapping[str, int]
    """Number of abstentions by reason."""
    is_gate: bool = False
    """Whether values say if a rollout tested memory (1) or not (0)."""
    is_consistency: bool = False
    """Whether it compares what is shown before and after looking away, so that only rollouts that pass a gate say
    anything about memory."""
    protocol: ProtocolName | None = None
    """The protocol that the metric, or the gate, is of; see `gate_decides`."""
    range: tuple[float | None, float | None] = (None, None)
    """Least and greatest possible value of the metric; `None` where there is no limit."""
    branches: Mapping[str, int] = field(default_factory=dict)
    """Number of values by how they were measured, where a metric measures in more than one way (`detail.branch`)."""


TRIGGERED, TESTED = "triggered", "tested"
"""What rollouts are called that pass the gate: a judge's, or that of the camera's path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated:
    """The gated statistics of a cell."""

    coverage: Estimate | None
    """Share of rollouts that passed among those that could be judged. `None` if none could: the gate failed or
    abstained, and which scores count is unknown."""
    combined: Estimate | None = None
    """Harmonic mean of coverage and score: neither avoiding nor failing the test pays. `None` if no rollout that passed
    has a score, if none could be judged, or if the suite has no such number."""
    label: str = TESTED
    """What rollouts that passed are called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """What a gate finds out about a number that it does not decide: that of a publication without this gate."""

    share: Estimate | None
    """Share of rollouts that tested memory among those that could be judged; `None` if none could."""
    estimate: Estimate | None
    """Mean over the rollouts that tested memory; `None` if none of them has a score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One number of a table with its support; `estimate` is None if nothing has a score."""

    model: str
    metric: str
    subset: str
    estimate: Estimate | None
    raw_mean: float | None
    asked: int
    failures: int
    reasons: Mapping[str, int]
    effective: float | None = None
    """Effective sample size of the values; `None` where it is not known."""
    gated: Gated | None = None
    """Set if a gate decided which rollouts count; the estimate is then over those that passed."""
    tested: Tested | None = None
    """Set if a gate says which rollouts tested memory, and the estimate is over all all the same."""
    untested: int = 0
    """Scores in the estimate of rollouts that are not known to have tested memory: where triggers are ignored, and
    where our gate does not decide about a published number."""

    @property
    def scored(self) -> int:
        """Number of rollouts with a score."""
        return self.estimate.scored if self.estimate else 0

    @property
    def is_untested(self) -> bool:
        """Whether no score is of a rollout that is known to have tested memory, though some could have been."""
        if self.gated is not None:
            return self.estimate is None and self.gated.coverage is not None and self.gated.coverage.mean == 0
        return 0 < self.scored == self.untested


COLUMNS: Final = ("model", "metric", "subset", "mean", "95 %", "scored", "not scored")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Estimates of one run; it prints as text, and as HTML in a notebook."""

    suite: str
    cells: tuple[Cell, ...]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join((text_table(COLUMNS, map(_texts, self.cells)), *self.notes))

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return html_table(COLUMNS, map(_texts, self.cells)) + notes


def text_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows in columns as wide as their texts.

    >>> print(text_table(("model", "mean"), [("steady", "1.000")]))
    model   mean
    steady  1.000
    """
    lines = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The same for a notebook; text of a dataset stays text.

    >>> html_table(["model"], [["<b>"]])
    '<table><thead><tr><th>model</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    names = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"


def _texts(cell: Cell) -> tuple[str, ...]:
    found = cell.estimate
    interval = (
        "" if found is None or found.low is None or found.high is None else f"{found.low:.3f} to {found.high:.3f}"
    )
    missing = {**cell.reasons, **({"failed": cell.failures} if cell.failures else {})}
    return (
        cell.model,
        cell.metric,
        cell.subset,
        "-" if found is None else f"{found.mean:.3f}",
        interval,
        f"{cell.scored} of {cell.asked}",
        ", ".join(f"{reason} {count}" for reason, count in missing.items()),
    )
