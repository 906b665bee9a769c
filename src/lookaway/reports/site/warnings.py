"""Warnings above the numbers of a report: everything that makes them weaker than they look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lookaway.core import Reason
from lookaway.core.outcomes import OF_THE_MACHINE
from lookaway.engine.merging import missing_shards
from lookaway.reports.card_notes import won_by_frozen
from lookaway.reports.leaderboards import Leaderboard, models_of_several_runs
from lookaway.reports.lock_explanations import lock_differences
from lookaway.reports.numbers import amount
from lookaway.reports.runs import LoadedRun
from lookaway.reports.scene_notes import few_scene_notes, seed_scene_notes
from lookaway.reports.site.facts import counts
from lookaway.statistics.precision import Mark

MIN_COVERAGE = 0.95
MAX_DETAILS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """One warning: a sentence, and where it applies."""

    text: str
    details: tuple[str, ...] = ()


def warnings(runs: Sequence[LoadedRun], leaderboards: Sequence[Leaderboard]) -> list[Warned]:
    """All warnings, the most serious first."""
    found = []
    if not any(row.cell.estimate for leaderboard in leaderboards for row in leaderboard.rows):
        found.append(Warned(text="Nothing has a score, so there are no numbers on this page."))
    for run in runs:
        found += _of_run(run)
    found += [*_locks(runs), *_cases(runs), *_models(runs), *_versions(runs), *_cards(runs)]
    for check in (_untested, _unknown_direction, _sparse, _low_coverage):
        found += check(leaderboards)
    estimates = (row.cell.estimate for leaderboard in leaderboards for row in leaderboard.rows)
    found += [Warned(text=note) for note in few_scene_notes(estimates)]
    found += [Warned(text=f"{run.name}: {note}") for run in runs for note in seed_scene_notes(run.scenes)]
    return found


def _of_run(run: LoadedRun) -> Iterator[Warned]:
    for lack in missing_shards(run.about):
        yield Warned(text=f"{run.name}: {lack}; their rollouts are missing from all tables.")
    for note in run.table.notes:
        yield Warned(text=f"{run.name}: {note}")
    known = counts(run)
    is_unchecked = any(metric.is_consistency for metric in run.metrics) and known.judged is None
    if is_unchecked and not run.table.notes:
        yield Warned(
            text=f"{run.name}: no gate checks whether memory was tested, so a still video can score as high as one "
            "that remembers."
        )
    if known.failed:
        yield Warned(
            text=f"{run.name}: {amount(known.failed, 'measurement')} failed because of a bug or a broken machine; "
            "run the same `lookaway eval` to try them again."
        )
    if missing := known.reasons.get(Reason.NOT_YET_MEASURED.value):
        yield Warned(
            text=f"{run.name}: {missing} of {known.asked} measurements are not made yet: the run is not finished."
        )
    for reason in sorted(OF_THE_MACHINE):
        if lost := known.reasons.get(reason.value):
            yield Warned(text=f"{run.name}: {amount(lost, 'measurement')} could not be made here: {reason.value}.")
    if known.produced < known.expected:
        yield Warned(text=f"{run.name}: {known.expected - known.produced} of {known.expected} videos are missing.")
    if problems := run.about["problems"]:
        details = tuple(f"{problem['where']}: {problem['message']}" for problem in problems)
        yield Warned(text=f"{run.name}: the dataset has {amount(len(problems), 'problem')}.", details=_some(details))


def _cards(runs: Sequence[LoadedRun]) -> Iterator[Warned]:
    """Metrics that a frozen video wins."""
    won = {name for run in runs for name in won_by_frozen(run.cards)}
    if won:
        yield Warned(
            text=f"A frozen video scores as well as a perfect memory on {amount(len(won), 'metric')}: a higher score "
            "there does not mean a better memory.",
            details=_some(tuple(sorted(won))),
        )


def _locks(runs: Sequence[LoadedRun]) -> Iterator[Warned]:
    """The same metric under another lock: its numbers have their own leaderboard."""
    first: dict[tuple[str, str], tuple[LoadedRun, str]] = {}
    for run in runs:
        for metric in run.metrics:
            other, lock = first.setdefault((run.suite, metric.name), (run, metric.lock))
            if lock == metric.lock:
                continue
            differing = lock_differences(other.lock, run.lock, [metric.name])
            details = tuple(
                f"{path}: {ours!r:.60} in {other.name}, {theirs!r:.60} in {run.name}"
                for path, ours, theirs in differing
            )
            yield Warned(
                text=f"{metric.name}: {other.name} and {run.name} measured it differently (locks {lock[:8]} and "
                f"{metric.lock[:8]}); they are shown separately and must not be compared.",
                details=_some(details),
            )


def _cases(runs: Sequence[LoadedRun]) -> Iterator[Warned]:
    first: dict[str, tuple[LoadedRun, frozenset[str]]] = {}
    for run in runs:
        own = frozenset(rollout.case for rollout in run.rollouts.values())
        other, theirs = first.setdefault(run.suite, (run, own))
        if own != theirs:
            yield Warned(
                text=f"{other.name} and {run.name} have different cases: {len(own & theirs)} in both, "
                f"{len(own ^ theirs)} in only one. Means are over all cases; pairs are compared on the shared ones."
            )


def _models(runs: Sequence[LoadedRun]) -> Iterator[Warned]:
    names = sorted({model for _, model in models_of_several_runs(runs)})
    if names:
        yield Warned(
            text=f"{amount(len(names), 'model')} in several runs under the same name: each is shown once per run, "
            "as if they were different models.",
            details=_some(tuple(names)),
        )


def _versions(runs: Sequence[LoadedRun]) -> Iterator[Warned]:
    versions = sorted({str(run.about.get("lookaway", "not recorded")) for run in runs})
    if len(versions) > 1:
        yield Warned(text=f"The runs were made with different versions of lookaway: {', '.join(versions)}.")


def _untested(leaderboards: Sequence[Leaderboard]) -> Iterator[Warned]:
    cells = [(leaderboard, row) for leaderboard in leaderboards for row in leaderboard.rows]
    nothing = [f"{row.model}, {leaderboard.title}" for leaderboard, row in cells if row.cell.is_untested]
    if nothing:
        yield Warned(
            text=f"{amount(len(nothing), 'cell')} without any rollout that tested memory: they have no rank.",
            details=_some(tuple(nothing)),
        )
    included = [
        f"{row.model}, {leaderboard.title}: {row.cell.untested} of {row.cell.scored}"
        for leaderboard, row in cells
        if row.cell.untested
    ]
    if included:
        yield Warned(
            text=f"{amount(len(included), 'mean')} include rollouts that are not known to have tested memory, as "
            "published tables do.",
            details=_some(tuple(included)),
        )


def _unknown_direction(leaderboards: Sequence[Leaderboard]) -> Iterator[Warned]:
    names = tuple(
        dict.fromkeys(leaderboard.title for leaderboard in leaderboards if leaderboard.metric.higher_is_better is None)
    )
    if names:
        yield Warned(
            text=f"{amount(len(names), 'metric')} not installed here: whether higher is better is not known, "
            "so they have no ranks.",
            details=_some(names),
        )


def _sparse(leaderboards: Sequence[Leaderboard]) -> Iterator[Warned]:
    cells = [(leaderboard, row) for leaderboard in leaderboards for row in leaderboard.rows]
    sparse = [(leaderboard, row) for leaderboard, row in cells if row.precision.mark is Mark.NOT_ESTIMABLE]
    if sparse:
        details = tuple(
            f"{row.model}, {leaderboard.title}: {row.cell.scored} of {row.cell.asked}" for leaderboard, row in sparse
        )
        yield Warned(
            text=f"{len(sparse)} of {amount(len(cells), 'cell')} have fewer than 10 values (‡): they have no rank.",
            details=_some(details),
        )
    vague = sum(row.precision.mark is Mark.IMPRECISE for _, row in cells)
    if vague:
        yield Warned(
            text=f"{vague} of {amount(len(cells), 'cell')} are imprecise (†): a wide interval, or an effective n "
            "below 30."
        )


def _low_coverage(leaderboards: Sequence[Leaderboard]) -> Iterator[Warned]:
    """A closed gate is a finding about the model, not a missing measurement."""
    low = []
    for leaderboard in leaderboards:
        for row in leaderboard.rows:
            lacking = row.cell.asked - row.cell.scored - row.cell.reasons.get(Reason.GATE_CLOSED.value, 0)
            if lacking > (1 - MIN_COVERAGE) * row.cell.asked:
                low.append(
                    (
                        lacking / row.cell.asked,
                        f"{row.model}, {leaderboard.title}: {lacking} of {row.cell.asked} missing",
                    )
                )
    if low:
        yield Warned(
            text=f"{amount(len(low), 'cell')} miss more than {1 - MIN_COVERAGE:.0%} of the requested rollouts: "
            "models are compared on different clips.",
            details=_some(tuple(detail for _, detail in sorted(low, key=lambda entry: (-entry[0], entry[1])))),
        )


def _some(details: tuple[str, ...]) -> tuple[str, ...]:
    left = len(details) - MAX_DETAILS
    return details if left <= 0 else (*details[:MAX_DETAILS], f"and {left} more")
