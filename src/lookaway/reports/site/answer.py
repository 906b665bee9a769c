"""The first screen of a report: who remembers best and by how much, who is level, and who was not tested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from lookaway.core import TRIGGERED
from lookaway.reports.charts.profiles import IntervalRow, interval_plot
from lookaway.reports.charts.svg import Chart
from lookaway.reports.leaderboards import Leaderboard, LeaderboardRow, Matrix, Pair, headline
from lookaway.reports.missing_values import MissingValues
from lookaway.reports.numbers import amount, digits_for, fixed
from lookaway.reports.site.tables import leaderboard_digits, leaderboard_ends
from lookaway.statistics.precision import MIN_VALUES

MAX_NAMES: Final = 3
"""The most models that a sentence names; the others are counted."""
MAX_ROWS: Final = 12
"""The most models in the picture."""

DIRECTIONS: Final = {True: ": higher is better", False: ": lower is better", None: ""}


class Phrase(NamedTuple):
    """A piece of a sentence: words of ours, or the name of a model."""

    text: str
    is_name: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteAnswer:
    """What a suite says about its models, in words and as a picture."""

    suite: str
    lead: tuple[Phrase, ...]
    """Who remembers best and by how much, or why that cannot be said."""
    more: tuple[tuple[Phrase, ...], ...]
    """Where no difference is significant, and who was not tested."""
    picture: Chart | None
    left_out: int
    """Models that the picture does not show."""
    command: str = ""
    """What would give an answer, where there is none."""


def answers(
    leaderboards: Sequence[Leaderboard],
    matrices: Sequence[Matrix],
    styles: Mapping[str, int],
    missing: Mapping[str, Sequence[MissingValues]],
) -> list[SuiteAnswer]:
    """One answer for each suite, in the order of the page; `missing` has what is missing, by suite."""
    suites = dict.fromkeys(leaderboard.suite for leaderboard in leaderboards)
    return [
        _answer([board for board in leaderboards if board.suite == suite], matrices, styles, missing.get(suite, ()))
        for suite in suites
    ]


def _answer(
    leaderboards: Sequence[Leaderboard],
    matrices: Sequence[Matrix],
    styles: Mapping[str, int],
    missing: Sequence[MissingValues],
) -> SuiteAnswer:
    suite = leaderboards[0].suite
    board = headline(leaderboards)
    if board is None:
        return SuiteAnswer(
            suite=suite,
            lead=tuple(_nothing(leaderboards)),
            more=tuple(_measured(leaderboards)),
            picture=None,
            left_out=0,
            command=_enabling_command(leaderboards, missing),
        )
    pairs = next((matrix for matrix in matrices if matrix.leaderboard.key == board.key), None)
    lead = tuple(_lead(board, pairs))
    more = [*_ties(board), *_not_ranked(board), *_others(leaderboards, board)]
    return SuiteAnswer(
        suite=suite,
        lead=lead,
        more=tuple(tuple(sentence) for sentence in more),
        picture=_picture(board, styles, "".join(part.text for part in lead)),
        left_out=max(0, len(board.rows) - MAX_ROWS),
    )


def _nothing(leaderboards: Sequence[Leaderboard]) -> Iterator[Phrase]:
    """Why nothing can be said: the most frequent reasons of the metrics that would say it."""
    memory = [board for board in leaderboards if board.metric.is_consistency]
    asked = memory or leaderboards
    reasons: Counter[str] = Counter()
    for row in (row for board in asked for row in board.rows):
        reasons.update(row.cell.reasons)
        reasons["failed"] += row.cell.failures
    what = "that tests memory" if memory else "of this suite"
    yield Phrase(f"No answer yet: no metric {what} has a value")
    known = [
        f"{reason.replace('_', ' ')} for {amount(count, 'score')}" for reason, count in reasons.most_common(2) if count
    ]
    yield Phrase(f": {', '.join(known)}." if known else ".")


def _measured(leaderboards: Sequence[Leaderboard]) -> Iterator[tuple[Phrase, ...]]:
    """What else has values: it does not answer, and it is not nothing."""
    names = list(dict.fromkeys(board.words for board in leaderboards if board.has_findings))
    if names:
        left = f" and {amount(len(names) - MAX_NAMES, 'other')}" if len(names) > MAX_NAMES else ""
        yield (Phrase(f"Measured, but no test of memory: {', '.join(names[:MAX_NAMES])}{left}."),)


def _enabling_command(leaderboards: Sequence[Leaderboard], missing: Sequence[MissingValues]) -> str:
    """What makes the first metrics run that would answer."""
    memory = {board.metric.name for board in leaderboards if board.metric.is_consistency}
    asked = memory or {board.metric.name for board in leaderboards}
    return next((one.step.command for one in missing if one.step.command and asked.intersection(one.empty)), "")


def _lead(board: Leaderboard, matrix: Matrix | None) -> Iterator[Phrase]:
    ranked = [row for row in board.rows if row.tie is not None]
    verb = "remember" if board.metric.is_consistency else "score"
    if not ranked:
        yield from _unranked(board)
        return
    leaders = [row for row in ranked if row.tie == 0]
    behind = ranked[len(leaders)] if len(leaders) < len(ranked) else None
    digits, means = leaderboard_digits(board), [row.cell.estimate.mean for row in leaders if row.cell.estimate]
    if len(ranked) == 1:
        yield Phrase(leaders[0].model, is_name=True)
        yield Phrase(f" is the only model that can be ranked: {board.words} {fixed(means[0], digits)}.")
        return
    if behind is None:
        yield Phrase(f"No difference between {amount(len(ranked), 'model')} is significant: {board.words} ")
        yield Phrase(f"from {fixed(min(means), digits)} to {fixed(max(means), digits)}.")
        return
    yield from _names(leaders)
    if len(leaders) == 1:
        yield Phrase(f" {verb}s best: {board.words} {fixed(means[0], digits)}, ")
    else:
        yield Phrase(f" {verb} best, with no significant difference: {board.words} ")
        yield Phrase(f"{fixed(max(means), digits)} to {fixed(min(means), digits)}; the first is ")
    yield from _distance(board, leaders[0], behind, matrix, digits)


def _distance(
    board: Leaderboard, first: LeaderboardRow, behind: LeaderboardRow, matrix: Matrix | None, digits: int
) -> Iterator[Phrase]:
    """How far the best model is from the best one that it differs from, on the cases that both have."""
    pair = _pair(matrix, first.model, behind.model)
    word = "above" if board.metric.higher_is_better else "below"
    if pair is not None:
        difference = pair.found.difference
        size, ends = (
            abs(difference.mean),
            sorted(abs(end) for end in (difference.low, difference.high) if end is not None),
        )
        shown = max(digits, digits_for([size]))
        interval = f" on {amount(difference.scored, 'shared case')}"
        if _is_one_sided(pair):
            interval += f" (95 % {fixed(ends[0], shown)} to {fixed(ends[1], shown)})"
        yield Phrase(f"{fixed(size, shown)} {word} ")
        yield Phrase(behind.model, is_name=True)
        yield Phrase(f"{interval}.")
    elif first.cell.estimate and behind.cell.estimate:
        yield Phrase(f"{fixed(abs(first.cell.estimate.mean - behind.cell.estimate.mean), digits)} {word} ")
        yield Phrase(behind.model, is_name=True)
        yield Phrase(", on other cases.")


def _is_one_sided(pair: Pair) -> bool:
    low, high = pair.found.difference.low, pair.found.difference.high
    return low is not None and high is not None and low * high >= 0


def _pair(matrix: Matrix | None, first: str, second: str) -> Pair | None:
    if matrix is None or first not in matrix.models or second not in matrix.models:
        return None
    one, other = sorted((matrix.models.index(first), matrix.models.index(second)))
    return matrix.pairs.get((one, other))


def _unranked(board: Leaderboard) -> Iterator[Phrase]:
    """No model has enough values, or all of them are untested."""
    if not board.metric.is_ranked:
        tried = "scores as well as a perfect memory" if board.metric.frozen_wins else "was not tried"
        yield Phrase(
            f"No model is ranked: no metric that a frozen video loses has a value, and on {board.words} it {tried}."
        )
        return
    known = [row for row in board.rows if row.cell.estimate and not row.control]
    if not known:
        yield Phrase(f"No model was tested: {_closed_gate(board, sum(row.cell.asked for row in board.rows))}.")
        return
    most = max(row.cell.scored for row in known)
    if board.metric.higher_is_better is None:
        yield Phrase(f"No model can be ranked: {board.words} is not installed here, so its direction is not known.")
        return
    if most >= MIN_VALUES:
        yield Phrase(f"No model can be ranked: no value of {board.words} is known to be of a tested clip.")
        return
    yield from _best_so_far(board, known)
    few = f"at most {amount(most, 'value')} for each model, and a rank needs {MIN_VALUES}"
    yield Phrase(f" Too few clips to rank: {few}.")


def _best_so_far(board: Leaderboard, known: Sequence[LeaderboardRow]) -> Iterator[Phrase]:
    sign = 1 if board.metric.higher_is_better else -1
    means = {row.model: row.cell.estimate.mean for row in known if row.cell.estimate}
    best = max(sign * mean for mean in means.values())
    top = [row for row in known if sign * means[row.model] == best]
    shown = fixed(sign * best, leaderboard_digits(board))
    if len(top) == len(known) > 1:
        yield Phrase(f"All means of {board.words} are {shown} so far.")
        return
    yield from _names(top)
    if len(known) == 1:
        yield Phrase(f" has a mean of {shown} for {board.words}.")
    else:
        yield Phrase(f" {'has' if len(top) == 1 else 'have'} the best mean of {board.words} so far, {shown}.")


def _ties(board: Leaderboard) -> Iterator[list[Phrase]]:
    """Groups below the first whose models do not differ significantly."""
    groups: dict[int, list[LeaderboardRow]] = {}
    for row in board.rows:
        if row.tie:
            groups.setdefault(row.tie, []).append(row)
    tied = [rows for rows in groups.values() if len(rows) > 1]
    if tied:
        left = f", nor within {amount(len(tied) - 1, 'other group')}" if len(tied) > 1 else ""
        yield [Phrase("No significant difference between "), *_names(tied[0]), Phrase(f"{left}.")]


def _not_ranked(board: Leaderboard) -> Iterator[list[Phrase]]:
    competing = [row for row in board.rows if not row.control]
    untested = [row for row in competing if row.cell.is_untested]
    if untested:
        clips = sum(row.cell.asked for row in untested)
        verb = "was" if len(untested) == 1 else "were"
        yield [*_names(untested), Phrase(f" {verb} not tested: {_closed_gate(board, clips)}.")]
    absent = [row for row in competing if row.cell.estimate is None and not row.cell.is_untested]
    if absent:
        reasons: Counter[str] = Counter()
        for row in absent:
            reasons.update(row.cell.reasons)
        most = reasons.most_common(1)
        yield [*_names(absent), Phrase(f" {'has' if len(absent) == 1 else 'have'} no value{_because(most)}.")]
    ranked = any(row.tie is not None for row in competing)
    few = [row for row in competing if row.cell.estimate and row.tie is None and not row.cell.is_untested]
    if ranked and few:
        yield [*_names(few), Phrase(f" {'has' if len(few) == 1 else 'have'} too few values for a rank.")]


def _closed_gate(board: Leaderboard, clips: int) -> str:
    if board.gate_label == TRIGGERED:
        return f"none of {amount(clips, 'clip')} triggered the memory challenge"
    return f"in none of {amount(clips, 'clip')} was something seen, lost and seen again"


def _because(most: Sequence[tuple[str, int]]) -> str:
    return f" ({most[0][0]})" if most else ""


def _others(leaderboards: Sequence[Leaderboard], board: Leaderboard) -> Iterator[list[Phrase]]:
    """How the other metrics that need memory answer."""
    others = [
        other
        for other in leaderboards
        if other.key != board.key and other.metric.is_consistency == board.metric.is_consistency
    ]
    ranked = [leaders for other in others if (leaders := [row.model for row in other.rows if row.tie == 0])]
    if not ranked:
        return
    alone = Counter(leaders[0] for leaders in ranked if len(leaders) == 1)
    sentence = [Phrase(f"On {amount(len(ranked), 'other metric')}: ")]
    for number, (model, count) in enumerate(alone.most_common(MAX_NAMES)):
        sentence += [Phrase(", " if number else ""), Phrase(model, is_name=True), Phrase(f" alone leads {count}")]
    undecided = len(ranked) - alone.total()
    if undecided:
        verb = "has" if undecided == 1 else "have"
        sentence.append(Phrase(f"{', ' if alone else ''}{undecided} {verb} no single leader"))
    yield [*sentence, Phrase(".")]


def _names(rows: Sequence[LeaderboardRow]) -> list[Phrase]:
    shown = list(dict.fromkeys(row.model for row in rows))
    kept = shown[: MAX_NAMES if len(shown) > MAX_NAMES + 1 else MAX_NAMES + 1]
    left = len(shown) - len(kept)
    words = [*(Phrase(name, is_name=True) for name in kept), *([Phrase(amount(left, "other"))] if left else [])]
    parts = [words[0]]
    for number, word in enumerate(words[1:], 2):
        parts += [Phrase(" and " if number == len(words) else ", "), word]
    return parts


def _picture(board: Leaderboard, styles: Mapping[str, int], summary: str) -> Chart | None:
    if not any(row.cell.estimate for row in board.rows):
        return None
    digits = leaderboard_digits(board)
    rows = [
        IntervalRow(
            model=row.model,
            style=styles[row.model],
            estimate=row.cell.estimate,
            digits=digits,
            tested=row.cell.gated.coverage.mean if row.cell.gated and row.cell.gated.coverage else None,
            support=f"{row.cell.scored} of {row.cell.asked}",
            why_not=_why_not(row),
            is_ranked=row.ranks is not None,
            is_control=row.control is not None,
        )
        for row in board.rows[:MAX_ROWS]
    ]
    ends = leaderboard_ends(board)
    worst = ends[0] if board.metric.higher_is_better else ends[1]
    limits = board.metric.range
    return interval_plot(
        f"{board.title}{DIRECTIONS[board.metric.higher_is_better]}",
        summary,
        rows,
        ends,
        gate=board.gate_label,
        worst=worst if worst in limits and board.metric.higher_is_better is not None else None,
    )


def _why_not(row: LeaderboardRow) -> str:
    if row.cell.is_untested:
        return f"not tested (0 of {amount(row.cell.asked, 'clip')})"
    most = Counter(row.cell.reasons).most_common(1)
    return f"no value{_because(most)}"
