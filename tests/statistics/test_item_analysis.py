from __future__ import annotations

import numpy as np
import pytest

from lookaway.statistics.item_analysis import QuestionAnswers, item_analysis

CLIPS = ("one", "one", "one", "two", "two")
ROWS = [
    # question, truth, passed
    (0, True, True),
    (0, True, True),
    (0, False, False),
    (0, False, False),
    (1, True, True),
    (1, False, True),
    (2, True, True),
    (2, True, False),
    (2, False, False),
    (3, True, True),
    (3, False, True),
    (3, False, True),
    (3, False, False),
    (4, True, False),
    (4, False, True),
]


def answers_of(rows, clips=CLIPS, good=(True, False, True, True, True)) -> QuestionAnswers:
    questions, truth, passed = (np.array(column) for column in zip(*rows, strict=True))
    return QuestionAnswers(questions=questions, is_truth=truth, passed=passed, clips=clips, asks_for_good=good)


def test_a_question_discriminates_as_far_as_truth_passes_and_failures_do_not():
    items = item_analysis(answers_of(ROWS)).items
    assert [item.discrimination for item in items] == pytest.approx([1, 0, 0.5, 1 / 3, -1])
    assert [(item.truths, item.failures) for item in items] == [(2, 2), (1, 1), (2, 1), (1, 3), (1, 1)]
    assert (items[2].pass_on_truth, items[3].pass_on_failures) == (0.5, pytest.approx(2 / 3))
    assert [item.clip for item in items] == list(CLIPS)


def test_a_clip_without_enough_questions_that_tell_is_named():
    bank = item_analysis(answers_of(ROWS), min_discrimination=0.5, min_questions=1)
    assert (bank.discriminating, bank.short) == ({"one": 2, "two": 0}, ("two",))
    assert item_analysis(answers_of(ROWS), min_discrimination=0.3).short == ()
    assert item_analysis(answers_of(ROWS), min_discrimination=0.3, min_questions=2).short == ("two",)
    assert item_analysis(answers_of(ROWS), min_discrimination=0.51).discriminating == {"one": 1, "two": 0}


def test_a_question_that_passes_on_everything_does_not_count_whatever_it_is_about():
    rows = [(question, truth, True) for question in range(5) for truth in (True, False)]
    bank = item_analysis(answers_of(rows))
    assert {item.discrimination for item in bank.items} == {0}
    assert bank.short == ("one", "two")


def test_a_question_that_was_asked_of_the_truth_alone_says_nothing_about_failures():
    bank = item_analysis(answers_of([(0, True, True), (3, False, False)]))
    assert (bank.items[0].pass_on_truth, bank.items[0].pass_on_failures, bank.items[0].discrimination) == (
        1,
        None,
        None,
    )
    assert (bank.items[3].pass_on_truth, bank.items[3].discrimination) == (None, None)
    assert bank.items[1].truths == 0
    assert bank.short == ("one", "two")


def test_good_answers_that_are_all_yes_are_named():
    bank = item_analysis(answers_of(ROWS))
    assert (bank.good_share, bank.unbalanced) == (0.8, ("two",))
    balanced = item_analysis(answers_of(ROWS, good=(True, False, True, False, True)))
    assert (balanced.good_share, balanced.unbalanced) == (0.6, ())
    assert item_analysis(answers_of(ROWS[:6], ("one", "one"), (True, False))).unbalanced == ()
    assert item_analysis(answers_of(ROWS, good=(False,) * 5)).unbalanced == ("one", "two")


def test_the_order_of_answers_does_not_matter():
    order = np.random.default_rng(0).permutation(len(ROWS))
    assert item_analysis(answers_of([ROWS[row] for row in order])) == item_analysis(answers_of(ROWS))


def test_a_bank_without_questions_is_empty():
    empty = QuestionAnswers(
        questions=np.zeros(0, np.int64),
        is_truth=np.zeros(0, bool),
        passed=np.zeros(0, bool),
        clips=(),
        asks_for_good=(),
    )
    bank = item_analysis(empty)
    assert (bank.items, bank.discriminating, bank.short, bank.good_share) == ((), {}, (), None)


def test_a_discrimination_at_the_bar_counts_in_spite_of_rounding():
    rows = [(0, True, number < 9) for number in range(10)] + [(0, False, number < 8) for number in range(10)]
    assert item_analysis(answers_of(rows, ("one",), (True,)), min_discrimination=0.1).discriminating == {"one": 1}


def test_answers_to_questions_that_are_not_there_are_refused():
    with pytest.raises(ValueError, match="from 0 to 4"):
        answers_of([(5, True, True)])
    with pytest.raises(ValueError, match="one length"):
        answers_of(ROWS, good=(True,))


# Flags


def kinds(bank):
    return [[flag.kind for flag in item.flags] for item in bank.items]


def test_a_question_that_misleads_does_not_tell_or_was_not_asked_is_flagged_with_its_reason():
    bank = item_analysis(answers_of([row for row in ROWS if row[0] != 3]))
    assert kinds(bank) == [[], ["no_discrimination"], [], ["unmeasured"], ["wrong_polarity"]]
    assert bank.items[1].flags[0].reason == (
        "100% of answers about reference videos pass and 100% of those about failures: expected 40% fewer about "
        "failures"
    )
    assert "the other answer seems to be the right one" in bank.items[4].flags[0].reason
    assert bank.items[3].flags[0].reason == "there are no answers about reference videos"


def retested(rows, **options):
    questions, truth, passed, videos = (np.array(column) for column in zip(*rows, strict=True))
    answers = QuestionAnswers(
        questions=questions, is_truth=truth, passed=passed, videos=videos, clips=CLIPS, asks_for_good=(True,) * 5
    )
    return item_analysis(answers, **options)


def test_answers_about_one_video_that_differ_are_unstable():
    steady = [(0, True, True, 8), (0, True, True, 8), (0, False, False, 9), (0, False, False, 9)]
    shaky = [(1, True, passed, 8) for passed in (True, True, True, False)]
    shaky += [(1, False, passed, 9) for passed in (False, False, False, True)]
    bank = retested(steady + shaky)
    assert [item.retest_agreement for item in bank.items[:3]] == [1, pytest.approx(0.5), None]
    assert kinds(bank)[:2] == [[], ["unstable"]]
    assert bank.items[1].flags[0].reason == "50% of repeated answers agree, expected 60%"
    assert kinds(retested(steady + shaky, min_agreement=0.5))[1] == []


def test_different_answers_about_different_videos_are_not_unstable():
    rows = [(0, True, True, 1), (0, False, False, 2), (0, False, True, 3), (0, False, False, 4)]
    assert retested(rows).items[0].retest_agreement is None
    assert kinds(retested(rows))[0] == []


def replied(contradicting, questions=5):
    """Three replies about the truth and a failure to each of some good questions; some replies contradict the rest."""
    rows = [
        (question, video == 0, (video == 0) != ((video, repeat) in contradicting), video, 3 * video + repeat)
        for question in range(questions)
        for video in range(2)
        for repeat in range(3)
    ]
    questions, truth, passed, videos, replies = (np.array(column) for column in zip(*rows, strict=True))
    return item_analysis(
        QuestionAnswers(
            questions=questions,
            is_truth=truth,
            passed=passed,
            videos=videos,
            replies=replies,
            clips=CLIPS,
            asks_for_good=(True,) * 5,
        )
    )


def test_a_reply_that_contradicts_all_others_is_an_error_of_the_judge_and_not_of_the_questions():
    bank = replied({(0, 1)})
    assert bank.contradictory_replies == 1
    assert [(item.truths, item.failures) for item in bank.items] == [(2, 3)] * 5
    assert kinds(bank) == [[]] * 5
    assert {item.retest_agreement for item in bank.items} == {1}
    assert replied(set()).contradictory_replies == 0


def test_a_reply_of_few_answers_is_not_left_out():
    bank = replied({(0, 1)}, questions=4)
    assert bank.contradictory_replies == 0
    assert bank.items[0].retest_agreement == pytest.approx(2 / 3)


def drawn(noise, good=400, bad=200, failures=4, repeats=5, seed=0):
    """Answers of a judge that errs at a rate to good questions, and to bad ones of three kinds."""
    random = np.random.default_rng(seed)
    count = good + bad
    is_truth = np.arange(failures + 1) == 0
    passes = np.tile(is_truth, (count, 1))
    kind = np.arange(bad) % 3
    passes[good:][kind == 0] ^= True
    passes[good:][kind == 1] = random.random((int((kind == 1).sum()), 1)) < 0.5
    answers = np.repeat(passes[:, :, None], repeats, axis=2)
    answers ^= random.random(answers.shape) < noise
    coins = random.random(answers.shape) < 0.5
    answers[good:][kind == 2] = coins[good:][kind == 2]
    question, video, _ = np.indices(answers.shape)
    bank = item_analysis(
        QuestionAnswers(
            questions=question.ravel(),
            is_truth=is_truth[video.ravel()],
            passed=answers.ravel(),
            videos=video.ravel(),
            clips=["clip"] * count,
            asks_for_good=[True] * count,
        )
    )
    flagged = np.array([bool(item.flags) for item in bank.items])
    return flagged[good:].sum() / max(flagged.sum(), 1), flagged[good:].mean()


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.1])
def test_200_bad_questions_among_400_good_ones_are_found(noise):
    precision, recall = drawn(noise)
    assert precision >= 0.9
    assert recall >= 0.9


def test_a_judge_by_the_toss_of_a_coin_has_no_good_question():
    _, recall = drawn(0.5)
    assert recall > 0.9
    assert drawn(0.5)[0] < 0.5
