"""The first screen: the sentence follows from the ranks, whatever they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lookaway.core import Abstention, Reason
from lookaway.reports.leaderboards import Leaderboard, headline, leaderboards, matrix, ordered_models
from lookaway.reports.missing_values import missing_values
from lookaway.reports.runs import load_runs
from lookaway.reports.site.answer import MAX_ROWS, SuiteAnswer, answers
from tests.reports.site.simulated import ABSTAINED, Simulated

pytestmark = pytest.mark.usefixtures("tried_on_frozen")

STYLE, TEXTURE = "mbencht.environment.rendering_style", "mbencht.environment.object_texture"
NO_JUDGE = Abstention(Reason.NO_JUDGE, "no judge is named.")


def words(parts) -> str:
    return "".join(part.text for part in parts)


def answer_of(found: list[Leaderboard]) -> SuiteAnswer:
    made = [pairs for board in found if (pairs := matrix(board)) is not None]
    styles = {row.model: 0 for board in found for row in board.rows}
    (answer,) = answers(found, made, styles, {})
    return answer


def boards_of(path, **more) -> list[Leaderboard]:
    run = Simulated(path=path, metrics=[STYLE], **more).write()
    return leaderboards(load_runs([run.path]))


def test_the_best_model_is_named_with_its_paired_difference_to_the_next(tmp_path):
    (board,) = boards_of(tmp_path / "run", skills={"good": 0.8, "fair": 0.6, "poor": 0.3})
    answer = answer_of([board])
    pair = matrix(board).pairs[0, 1].found.difference
    best = board.rows[0].cell.estimate.mean
    said = words(answer.lead)
    assert said.startswith(
        f"good remembers best: rendering style {best:.3f}, {pair.mean:.3f} above fair on 40 shared cases"
    )
    assert said.endswith(f"(95 % {pair.low:.3f} to {pair.high:.3f}).")
    assert answer.more == ()


def test_names_of_models_are_pieces_of_their_own(tmp_path):
    (board,) = boards_of(tmp_path / "run", skills={"good": 0.8, "fair": 0.6})
    assert [part.text for part in answer_of([board]).lead if part.is_name] == ["good", "fair"]


def test_where_lower_is_better_the_best_is_below_the_next(tmp_path):
    run = Simulated(path=tmp_path / "run", skills={"a": 0.8, "b": 0.4}, metrics=["mbencht.environment.mse"]).write()
    said = words(answer_of(leaderboards(load_runs([run.path]))).lead)
    assert said.startswith("b remembers best: mse ")
    assert " below a on" in said


def test_a_metric_that_needs_memory_makes_a_model_remember(tmp_path):
    (board,) = boards_of(tmp_path / "run", skills={"good": 0.8, "fair": 0.6})
    memory = replace(board, metric=replace(board.metric, is_consistency=True))
    assert words(answer_of([memory]).lead).startswith("good remembers best:")


def test_leaders_that_do_not_differ_are_named_together(tmp_path):
    (board,) = boards_of(tmp_path / "run", skills={"one": 0.8, "two": 0.8, "poor": 0.3})
    said = words(answer_of([board]).lead)
    assert "one" in said.partition(" score best")[0]
    assert "two" in said.partition(" score best")[0]
    assert "with no significant difference" in said
    assert "above poor" in said


def test_models_of_which_none_differs_have_no_best(tmp_path):
    (board,) = boards_of(tmp_path / "run", skills={"one": 0.5, "two": 0.5})
    assert words(answer_of([board]).lead).startswith("No difference between 2 models is significant: rendering style ")


def test_a_tie_below_the_best_is_told(tmp_path):
    (board,) = boards_of(tmp_path / "run", skills={"best": 0.9, "one": 0.5, "two": 0.5})
    (tie,) = answer_of([board]).more
    assert words(tie) in (
        "No significant difference between one and two.",
        "No significant difference between two and one.",
    )


def test_a_model_that_never_triggered_is_named_as_not_tested(tmp_path):
    (board,) = boards_of(
        tmp_path / "run", skills={"good": 0.8, "fair": 0.5, "still": 0.9}, triggered={"good": 1, "fair": 1, "still": 0}
    )
    answer = answer_of([board])
    assert words(answer.lead).startswith("good ")
    assert "still was not tested: none of 40 clips triggered the memory challenge." in map(words, answer.more)
    (row,) = (row for row in answer.picture.rows if row[0] == "still")
    assert row[1] == "not tested (0 of 40 clips)"


def test_too_few_values_are_no_rank_and_the_best_mean_is_still_told(tmp_path):
    (board,) = boards_of(tmp_path / "run", skills={"good": 0.8, "poor": 0.3}, scenes=4)
    said = words(answer_of([board]).lead)
    assert said.startswith("good has the best mean of rendering style so far, 0.")
    assert said.endswith(" Too few clips to rank: at most 4 values for each model, and a rank needs 10.")
    assert "best:" not in said


def test_without_a_value_the_reason_is_told_and_the_command_that_would_answer(tmp_path):
    run = Simulated(
        path=tmp_path / "run", skills={"a": 0.8, "b": 0.3}, metrics=[STYLE], decide=lambda *place: NO_JUDGE
    ).write()
    (loaded,) = load_runs([run.path])
    found = leaderboards([loaded])
    missing = missing_values(loaded.run, loaded.table.cells)
    (answer,) = answers(found, [], {}, {loaded.suite: missing})
    assert words(answer.lead) == "No answer yet: no metric that tests memory has a value: no judge for 80 scores."
    assert answer.command == "lookaway eval ... --judge-model MODEL"
    assert answer.picture is None


def test_a_control_is_never_the_answer_and_its_mean_is_a_line_through_the_picture(tmp_path):
    run = Simulated(path=tmp_path / "run", skills={"still": 0.9, "good": 0.8, "poor": 0.3}, metrics=[STYLE]).write()
    answer = answer_of(leaderboards(load_runs([run.path], ["still=a still video"])))
    assert words(answer.lead).startswith("good remembers best")
    assert str(answer.picture.svg).count("level floor") == 1


def test_a_picture_of_many_models_leaves_the_last_ones_to_the_table(tmp_path):
    skills = {f"m{number:02d}": 0.1 + 0.05 * number for number in range(15)}
    (board,) = boards_of(tmp_path / "run", skills=skills, scenes=12)
    answer = answer_of([board])
    assert (len(answer.picture.rows), answer.left_out) == (MAX_ROWS, 15 - MAX_ROWS)


@pytest.mark.parametrize("name", ["remembered", "object_texture"])
def test_the_headline_is_remembered_or_the_metric_that_compares_most_models(tmp_path, name):
    run = Simulated(
        path=tmp_path / "run",
        skills={"a": 0.8, "b": 0.3},
        metrics=[STYLE, TEXTURE],
        decide=lambda model, number, metric: ABSTAINED if metric == STYLE and number > 5 else None,
    ).write()
    one, other = (
        replace(board, metric=replace(board.metric, is_consistency=True))
        for board in leaderboards(load_runs([run.path]))
    )
    if name == "remembered":
        one = replace(one, metric=replace(one.metric, name="remembered"))
    assert headline([one, other]).short == name


def test_models_without_ranks_are_ordered_by_their_means(tmp_path):
    found = boards_of(tmp_path / "run", skills={"a": 0.2, "b": 0.9, "c": 0.5}, scenes=3)
    assert ordered_models(found) == ["b", "c", "a"]
