from __future__ import annotations

import numpy as np
import pytest

from lookaway.core import Feature, Reason
from lookaway.metrics.judge_metrics import QuestionPassRate
from tests.judges.question_banks import HINTED, ON_FAILURE, ON_TRUTH, REAL_BANKS, needs_real_banks, real_row
from tests.metrics.two_view_scenes import rollout

DIMENSIONS = ("Instruction Following", "Object and Background", "Continuity of Memory", "Physics Adherence")


def measure(says_yes, is_positive, dimensions=None, metric: QuestionPassRate | None = None):
    """An answer of -1 was not given."""
    count = len(is_positive)
    said = np.array(says_yes, np.int64).reshape(count, -1)
    arrays = {
        "says_yes": said == 1,
        "is_answered": said >= 0,
        "question_ids": np.arange(count) + 1,
        "is_positive": np.array(is_positive, np.bool_),
    }
    facts = {
        "dimensions": list(dimensions or ["memory"] * count),
        "questions": [f"Is it {number}?" for number in range(count)],
        "reasons": [["seen"] * count] * arrays["says_yes"].shape[1],
    }
    feature = Feature(arrays, facts)
    return (metric or QuestionPassRate()).measure(rollout(), {"question_verdicts": feature})


def test_yes_to_positive_and_no_to_negative_questions_passes_all():
    assert measure([1, 0, 1, 0], [1, 0, 1, 0]).value == 1


def test_the_opposite_passes_none():
    assert measure([0, 1, 0, 1], [1, 0, 1, 0]).value == 0


def test_a_judge_that_always_says_yes_passes_the_positive_ones_alone():
    outcome = measure([1, 1, 1, 1], [1, 0, 0, 0])
    assert outcome.value == 0.25
    assert [(unit.name, unit.outcome.value) for unit in outcome.units] == [
        ("question1", 1),
        ("question2", 0),
        ("question3", 0),
        ("question4", 0),
    ]


def test_turning_a_question_and_its_answer_over_does_not_matter():
    assert measure([1, 0, 0], [1, 0, 1]).value == measure([1, 1, 0], [1, 1, 1]).value == pytest.approx(2 / 3)


def test_only_questions_of_the_dimension_count():
    metric = QuestionPassRate(dimension="physics")
    kinds = ["memory", "physics", "physics"]
    outcome = measure([0, 1, 0], [1, 1, 1], kinds, metric)
    assert (outcome.value, [unit.name for unit in outcome.units]) == (0.5, ["question2", "question3"])
    assert outcome.detail == {"questions": 2}
    assert measure([1, 1, 0], [1, 1, 1], kinds, metric).value == outcome.value


def test_a_dimension_without_a_question_is_not_a_zero():
    outcome = measure([1], [1], metric=QuestionPassRate(dimension="physics"))
    assert outcome.reason is Reason.NOT_APPLICABLE
    assert "its dimensions: memory" in outcome.message


def test_a_question_passes_by_the_share_of_its_repeats():
    outcome = measure([[1, 1, 0], [0, 0, 0]], [1, 0])
    assert [unit.outcome.value for unit in outcome.units] == pytest.approx([2 / 3, 1])
    assert outcome.value == pytest.approx(5 / 6)


def test_a_question_without_an_answer_makes_the_denominator_smaller_and_fails_nothing():
    outcome = measure([1, -1, 0, -1], [1, 1, 1, 0])
    assert (outcome.value, outcome.detail) == (0.5, {"questions": 2})
    assert [unit.name for unit in outcome.units] == ["question1", "question3"]


def test_of_repeats_only_those_count_that_answer_the_question():
    (unit,) = measure([[1, -1, 0, 1]], [1]).units
    assert unit.outcome.value == pytest.approx(2 / 3)
    assert unit.outcome.detail["says_yes"] == [True, False, True]
    assert len(unit.outcome.detail["reasons"]) == 3


def test_a_dimension_of_which_nothing_is_answered_is_a_failure_of_the_judge_and_no_zero():
    outcome = measure([1, -1], [1, 1], ["memory", "physics"], QuestionPassRate(dimension="physics"))
    assert outcome.reason is Reason.JUDGE_FAILED


def test_it_declines_no_rollout_by_its_case():
    assert QuestionPassRate().declines(rollout()) is None


def real_rate(name: str, column: str, dimension: str) -> float:
    """Of the questions that MemoBench kept, by the answers that it stored."""
    row = real_row(name)
    kept, answers = row["Final questions"], {entry["ID"]: entry["Answer"] for entry in row[column]}
    return measure(
        [answers[entry["ID"]] == "Yes" for entry in kept],
        [entry["Dimension Polarity"] == "Positive" for entry in kept],
        [entry["Dimension"] for entry in kept],
        QuestionPassRate(dimension=dimension),
    ).value


@needs_real_banks
@pytest.mark.parametrize(
    ("column", "expected"),
    [(ON_TRUTH, (100, 100, 100, 100)), (ON_FAILURE, (100, 100, 90, 95)), (HINTED, (100, 100, 90, 95))],
)
def test_stored_answers_about_four_real_clips_have_the_rates_that_were_counted(column, expected):
    rates = [np.mean([real_rate(name, column, dimension) for name in REAL_BANKS]) for dimension in DIMENSIONS]
    assert [100 * rate for rate in rates] == pytest.approx(list(expected), abs=1e-9)


@needs_real_banks
def test_the_failure_of_one_real_clip_is_seen_in_memory_and_physics():
    found = {dimension: real_rate("Havana-1", ON_FAILURE, dimension) for dimension in DIMENSIONS}
    assert found == pytest.approx(dict(zip(DIMENSIONS, (1, 1, 0.6, 0.8), strict=True)))


def test_every_question_keeps_what_was_asked_and_what_the_judge_said_each_time():
    first, second = measure([[1, 0], [0, 0]], [1, 0]).units
    assert first.outcome.detail == {
        "dimension": "memory",
        "question": "Is it 0?",
        "is_positive": True,
        "says_yes": [True, False],
        "reasons": ["seen", "seen"],
    }
    assert (second.outcome.value, second.outcome.detail["is_positive"]) == (1, False)
