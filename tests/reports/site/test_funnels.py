"""The funnel of each model: from all rollouts to those that remembered."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from lookaway.core import Failure, Outcome, Score
from lookaway.reports.leaderboards import HEADLINE, Leaderboard, leaderboards
from lookaway.reports.runs import load_runs
from lookaway.reports.site.profile import memory_funnels
from tests.reports.site.simulated import ABSTAINED, Simulated

STYLE = "mbencht.environment.rendering_style"


def decide(model: str, number: int, metric: str) -> Outcome:
    """Of ten rollouts one fails, one has no value, two do not test memory, two forget and four remember."""
    if metric.endswith(".trigger"):
        return Score(float(number not in (2, 3)))
    return {0: Failure("ValueError", "x"), 1: ABSTAINED}.get(number, Score(float(number > 5)))


def boards(path: Path, *, is_gated: bool = True) -> list[Leaderboard]:
    gate = {"a": 0.5} if is_gated else {}
    run = Simulated(path=path, skills={"a": 0.5}, metrics=[STYLE], scenes=10, triggered=gate, decide=decide).write()
    return [board for board in leaderboards(load_runs([run.path])) if board.metric.name == STYLE]


def verdicts(found: list[Leaderboard]) -> list[Leaderboard]:
    return [replace(board, metric=replace(board.metric, name=HEADLINE)) for board in found]


def test_a_funnel_ends_in_remembered_and_its_parts_are_all_rollouts(tmp_path):
    (chart,) = memory_funnels(verdicts(boards(tmp_path / "run")))
    assert [(row[0], row[1]) for row in chart.rows] == [
        ("failed", "1 of 10"),
        ("no value", "1 of 10"),
        ("memory not tested", "2 of 10"),
        ("forgotten", "2 of 10"),
        ("remembered", "4 of 10"),
    ]
    assert chart.summary == "40 % of 10 are remembered."


def test_a_suite_without_a_verdict_ends_in_what_was_measured(tmp_path):
    (chart,) = memory_funnels(boards(tmp_path / "run"))
    assert [row[0] for row in chart.rows] == ["failed", "no value", "memory not tested", "measured"]
    assert chart.rows[-1][1] == "6 of 10"


def test_the_subsets_of_a_suite_are_one_funnel(tmp_path):
    first = verdicts(boards(tmp_path / "one"))
    both = [*first, *(replace(board, subset="other") for board in first)]
    (chart,) = memory_funnels(both)
    assert chart.rows[-1][1] == "8 of 20"


def test_a_suite_without_a_gate_has_no_funnel(tmp_path):
    assert memory_funnels(boards(tmp_path / "run", is_gated=False)) == []
