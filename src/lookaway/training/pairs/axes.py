"""The axes that videos are compared on: a metric with its lock, its gates, and the smallest difference it shows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from lookaway.calibration.card import NO_CARD, MetricCard
from lookaway.calibration.run_cards import cards_of
from lookaway.core import Json, Lock, UnknownName, UserError, digest
from lookaway.engine.about import differences_in_words
from lookaway.engine.run import Run
from lookaway.store.outcome_reader import AskedMetric

ACCESS: Final = "access"
"""The axis on which a video that tested memory is better than one that did not."""
COMBINED: Final = "combined"
SMALLEST_SHARE: Final = 0.01
"""Share of the range that counts where clean clips of a card are all equal, so that any difference would."""

Source = Literal["metric", "judge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceAxis:
    """One thing that videos are compared on."""

    name: str
    lock: str
    """Hash of all that can move its values."""
    gates: Mapping[str, str]
    """Locks of the gates that decide which rollouts count, by name."""
    is_gated: bool
    """Whether only rollouts that are known to have tested memory count."""
    higher_is_better: bool
    smallest_difference: float
    """Smaller differences are none."""
    spread: float | None
    """Standard deviation of clean clips; `None` where no card says it."""
    origin: str
    """Where the smallest difference is from."""
    card_sha256: str | None
    source: Source

    @property
    def locks(self) -> dict[str, str]:
        """Locks of the metric and its gates, by name."""
        return {self.name: self.lock, **self.gates}

    def to_json(self) -> dict[str, Json]:
        """For the card of the set."""
        return {
            "lock": self.lock,
            "gates": dict(self.gates),
            "is_gated": self.is_gated,
            "higher_is_better": self.higher_is_better,
            "smallest_difference": self.smallest_difference,
            "smallest_difference_from": self.origin,
            "card_sha256": self.card_sha256,
            "source": self.source,
        }

    @property
    def protocol_sha256(self) -> str:
        """Hash of all that decides who wins."""
        return digest(self.to_json())


@dataclass(frozen=True, slots=True)
class _Measured:
    """A metric in one run."""

    run: Run
    asked: AskedMetric
    entry: Mapping[str, Any]
    """Its entry in `run.json`."""
    locked: Mapping[str, Any]
    """Its entries in the lock."""
    card: MetricCard | str
    frozen_wins: bool | None
    """`None` where no card says so."""
    gates: tuple[AskedMetric, ...]


def choose_axes(
    runs: Sequence[Run], wanted: Collection[str] | None, given: Mapping[str, float]
) -> list[PreferenceAxis]:
    """The axes of some metrics, or of all that a card recommends: they find a fault, and a frozen video does not win.

    `given` has smallest differences by metric, which replace those of the cards.
    """
    found: dict[str, list[_Measured]] = {}
    for run in runs:
        for measured in _metrics_of(run):
            found.setdefault(measured.asked.name, []).append(measured)
    own = {_full_name(name, found): value for name, value in given.items()}
    for name, value in own.items():
        if not value > 0:
            raise UserError(f"--smallest-difference {name}={value}: expected a number above 0.")
    if wanted is not None:
        names = dict.fromkeys(_full_name(name, found) for name in wanted)
        return [_axis(found[name], own.get(name)) for name in names]
    why = {name: _why_not(measured[0], own.get(name)) for name, measured in found.items()}
    if not (names_left := [name for name, reason in why.items() if not reason]):
        shown = "; ".join(f"{name}: {reason}" for name, reason in why.items()) or "there are none"
        raise UserError(
            f"No metric of these runs can rank videos ({shown}). Name metrics with --metrics, and where they have no "
            "card the smallest difference that counts, such as --smallest-difference light=0.02."
        )
    return [_axis(found[name], own.get(name)) for name in names_left]


def access_locks(runs: Sequence[Run]) -> dict[str, str]:
    """The locks of all gates, which must be the same in all runs."""
    locks: dict[str, str] = {}
    for run in runs:
        for metric in run.metrics:
            if metric.is_gate:
                _check_same(metric.name, locks.setdefault(metric.name, metric.lock), metric.lock, runs[0], run)
    if not locks:
        raise UserError("--access: these runs have no gate. Run `lookaway eval` with the suite's own metrics.")
    return locks


def _metrics_of(run: Run) -> list[_Measured]:
    entries = {entry["name"]: entry for entry in run.about["metrics"]}
    locked: Mapping[str, Any] = run.lock.entries.get("metrics", {})
    cards = cards_of(run)
    every = run.metrics
    return [
        _Measured(
            run,
            asked,
            entries[asked.name],
            locked.get(asked.name, {}),
            cards.found.get(asked.name, cards.missing.get(asked.name, NO_CARD)),
            cards.frozen.get(asked.name),
            tuple(gate for gate in every if asked.depends_on(gate)),
        )
        for asked in every
        if not asked.is_gate
    ]


def _full_name(name: str, known: Collection[str]) -> str:
    """The metric of this name, or the only one whose last part it is."""
    ending = [full for full in known if full.endswith(f".{name}")]
    if name in known:
        return name
    if len(ending) != 1:
        raise UnknownName("metric of these runs", name, known)
    return ending[0]


def _why_not(measured: _Measured, given: float | None) -> str:
    """Why a metric is no axis unless it is named; empty if it is one."""
    if measured.asked.is_consistency and not measured.gates:
        return "has no gate in the run"
    if given is not None:
        return ""
    if isinstance(measured.card, str):
        return measured.card
    if not any(response.role == "must_find" for response in measured.card.found):
        return "its card finds no fault that it is there to find"
    if measured.frozen_wins is not False:
        return "a frozen video wins it, or that was not measured"
    return "" if _smallest(measured) else "clean clips do not differ, and it has no range"


def _axis(measured: Sequence[_Measured], given: float | None) -> PreferenceAxis:
    first = measured[0]
    name, card = first.asked.name, first.card
    is_published = first.asked.protocol in ("published", "both")
    if is_published and (first.asked.is_consistency if first.frozen_wins is None else first.frozen_wins):
        raise UserError(
            f"{name}: a still video wins this published number, or no card denies it, so pairs from it would "
            "teach a model to stand still. Leave it out, or measure it corrected: --protocol corrected."
        )
    if first.asked.is_consistency and not first.gates:
        raise UserError(
            f"{name}: {first.run.path} has no gate for it, so it is not known which videos tested memory; those that "
            "did not must not win. Run `lookaway eval` with the suite's gate, and with a judge where it needs one."
        )
    for other in measured[1:]:
        _check_same(name, first.asked.lock, other.asked.lock, first.run, other.run)
        if not isinstance(card, str) and not isinstance(other.card, str) and card.sha256 != other.card.sha256:
            raise UserError(
                f"{name}: {first.run.path} and {other.run.path} have different cards, since their videos differ in "
                "size or rate. Export pairs from each run separately, or state one --smallest-difference for both."
            )
    smallest = (given, "given") if given is not None else _smallest(first)
    if smallest is None:
        reason = card if isinstance(card, str) else "clean clips of its card do not differ, and it has no range"
        raise UserError(
            f"{name}: {reason}, so it is not known which difference counts. State it: --smallest-difference "
            f"{name}=VALUE."
        )
    kinds = first.locked.get("features", {})
    is_judged = any(isinstance(recipe, Mapping) and "judge" in recipe for recipe in kinds.values())
    has_card = given is None and isinstance(card, MetricCard)
    return PreferenceAxis(
        name=name,
        lock=first.asked.lock,
        gates=_gates(measured),
        is_gated=any(one.asked.is_consistency for one in measured),
        higher_is_better=_higher_is_better(first),
        smallest_difference=smallest[0],
        spread=card.floor.spread if has_card and isinstance(card, MetricCard) and card.floor else None,
        origin=smallest[1],
        card_sha256=card.sha256 if has_card and isinstance(card, MetricCard) else None,
        source="judge" if is_judged else "metric",
    )


def _smallest(measured: _Measured) -> tuple[float, str] | None:
    """The smallest difference that counts, and where it is from; `None` where neither card nor range says it."""
    card, span = measured.card, measured.asked.span
    if isinstance(card, str) or card.smallest_difference is None:
        return None
    if card.smallest_difference > 0:
        return card.smallest_difference, "card"
    return None if not span else (SMALLEST_SHARE * span, "1 % of its range, since clean clips of its card are equal")


def _gates(measured: Sequence[_Measured]) -> dict[str, str]:
    gates: dict[str, str] = {}
    for one in measured:
        for gate in one.gates:
            _check_same(gate.name, gates.setdefault(gate.name, gate.lock), gate.lock, measured[0].run, one.run)
    return gates


def _higher_is_better(measured: _Measured) -> bool:
    if isinstance(found := measured.entry.get("higher_is_better"), bool):
        return found
    if isinstance(measured.card, MetricCard):
        return measured.card.higher_is_better
    raise UserError(
        f"{measured.asked.name}: {measured.run.path} was made before it was recorded whether higher is better. Run the "
        "same `lookaway eval` again; it repeats no measurement."
    )


def _check_same(name: str, ours: str, theirs: str, first: Run, other: Run) -> None:
    if ours == theirs:
        return
    locks = [Lock({name: run.lock.entries.get("metrics", {}).get(name)}) for run in (first, other)]
    how = differences_in_words(*locks) or f"{ours[:12]} there, {theirs[:12]} here"
    raise UserError(
        f"{name}: {first.path} and {other.path} measured it with different locks, so their values are not comparable: "
        f"{how}. Name runs with the same lock, or run `lookaway eval` again."
    )
