from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookaway.core import Reason, Unmeasurable
from lookaway.judges.errors import Unreadable
from lookaway.judges.prompts import Prompt
from lookaway.judges.question import NO, YES, YesNo, YesNoQuestion, yes_no
from lookaway.judges.reply import read_reply
from tests.judges.scripted_client import completion, words

# As a server listed them: to the nearest float32, spellings of both sides mixed with words that say neither.
LEANS_TO_YES = {
    "Yes": -0.2874391973018646,
    "No": -1.6624391078948975,
    " Yes": -4.162439346313477,
    "yes": -5.037439346313477,
    "The": -6.287439346313477,
    " no": -7.412439346313477,
    "NO": -9.162439346313477,
    "I": -9.787439346313477,
}
LEANS_TO_NO = {
    "No": -0.0634765625,
    "Yes": -3.0634765625,
    "**": -5.8134765625,
    " No": -6.3134765625,
    "Based": -8.0634765625,
}


def p_of(likely: dict[str, float], max_doubt: float = 1e-3) -> YesNo:
    return yes_no(read_reply(words(likely)), max_doubt=max_doubt)


def by_hand(likely: dict[str, float]) -> float:
    yes = sum(math.exp(likely[word]) for word in likely if word.strip().lower() == "yes")
    no = sum(math.exp(likely[word]) for word in likely if word.strip().lower() == "no")
    return yes / (yes + no)


def test_spellings_of_one_side_are_added_up():
    yes = math.exp(-0.2874391973018646) + math.exp(-4.162439346313477) + math.exp(-5.037439346313477)
    no = math.exp(-1.6624391078948975) + math.exp(-7.412439346313477) + math.exp(-9.162439346313477)
    found = p_of(LEANS_TO_YES)
    assert found.p_yes == pytest.approx(yes / (yes + no), abs=1e-9)
    assert found.p_yes == pytest.approx(0.8020, abs=1e-3)
    assert found.mass == pytest.approx(yes + no, abs=1e-9)
    assert found.least == found.most == found.p_yes


def test_a_lean_to_no_is_as_exact():
    found = p_of(LEANS_TO_NO)
    no = math.exp(-0.0634765625) + math.exp(-6.3134765625)
    assert found.p_yes == pytest.approx(math.exp(-3.0634765625) / (math.exp(-3.0634765625) + no), abs=1e-9)
    assert found.p_yes < 0.05


def test_words_that_say_neither_do_not_matter():
    kept = {word: value for word, value in LEANS_TO_YES.items() if word in YES | NO}
    assert p_of(kept).p_yes == p_of(LEANS_TO_YES).p_yes
    assert p_of({**LEANS_TO_YES, "Yesterday": -0.1, "None": -0.1, "nope": -0.1}).p_yes == p_of(LEANS_TO_YES).p_yes


def test_the_order_in_which_words_are_listed_does_not_matter():
    turned = dict(reversed(LEANS_TO_YES.items()))
    assert p_of(turned).p_yes == pytest.approx(p_of(LEANS_TO_YES).p_yes, abs=1e-15)


def test_the_word_that_was_drawn_does_not_matter():
    drawn = words(LEANS_TO_YES)
    drawn["choices"][0]["message"]["content"] = "No"
    drawn["choices"][0]["logprobs"]["content"][0]["token"] = "No"
    assert yes_no(read_reply(drawn), max_doubt=1e-3) == p_of(LEANS_TO_YES)


def test_only_the_first_word_counts():
    answer = words(LEANS_TO_YES)
    answer["choices"][0]["logprobs"]["content"] += words(LEANS_TO_NO)["choices"][0]["logprobs"]["content"]
    assert yes_no(read_reply(answer), max_doubt=1e-3) == p_of(LEANS_TO_YES)


@pytest.mark.parametrize("hidden_side", ["no", "yes"])
def test_a_side_that_is_not_listed_has_at_max_all_that_is_left(hidden_side):
    word = "Yes" if hidden_side == "no" else "No"
    found = p_of({word: math.log(0.9995), "The": math.log(0.0003)})
    bound = 0.0002 / (0.9995 + 0.0002)
    if hidden_side == "no":
        assert (found.p_yes, found.most) == (1.0, 1.0)
        assert found.least == pytest.approx(1 - bound, abs=1e-9)
    else:
        assert (found.p_yes, found.least) == (0.0, 0.0)
        assert found.most == pytest.approx(bound, abs=1e-9)
    assert found.mass == pytest.approx(0.9995, abs=1e-9)


def test_a_hidden_side_that_may_be_large_is_not_guessed():
    likely = {"Yes": math.log(0.6), "The": math.log(0.3)}
    with pytest.raises(Unmeasurable, match=r"anything from 0\.8571 to 1\.0000") as caught:
        p_of(likely)
    assert caught.value.reason is Reason.JUDGE_FAILED
    assert p_of(likely, max_doubt=0.2).least == pytest.approx(0.6 / 0.7)


def test_where_neither_side_is_listed_the_judge_failed():
    with pytest.raises(
        Unmeasurable, match=r"neither yes nor no is among the 2 most likely words: 'The', 'Maybe'"
    ) as error:
        p_of({"The": -0.1, "Maybe": -3.0})
    assert error.value.reason is Reason.JUDGE_FAILED


@pytest.mark.parametrize(
    "logprobs", [None, {}, {"content": None}, {"content": []}, {"content": [{"token": "Yes", "logprob": -0.1}]}]
)
def test_a_server_without_log_probabilities_is_told_apart_from_a_judge_that_failed(logprobs):
    answer = completion("Yes")
    answer["choices"][0]["logprobs"] = logprobs
    with pytest.raises(Unmeasurable) as caught:
        yes_no(read_reply(answer), max_doubt=1e-3)
    assert caught.value.reason is Reason.NO_LOG_PROBABILITIES


@pytest.mark.parametrize(("never", "expected"), [("Yes", 0.0), ("No", 1.0)])
@pytest.mark.parametrize("value", [-9999.0, -800.0, -1e300])
def test_a_side_that_servers_say_can_never_come_is_never(never, expected, value):
    sure = "No" if never == "Yes" else "Yes"
    assert p_of({sure: 0.0, never: value}).p_yes == expected


def test_minus_infinity_is_never_too():
    assert p_of({"No": 0.0, "Yes": -math.inf}).p_yes == 0.0
    assert p_of({"Yes": 0.0, "No": -math.inf}).p_yes == 1.0


@pytest.mark.parametrize("value", [math.nan, math.inf, 0.5, 1e6, "0", None, True, False])
def test_what_is_no_log_probability_cannot_be_read(value):
    answer = words({"Yes": -0.1, "No": -2.0})
    answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"][1]["logprob"] = value
    with pytest.raises(Unreadable):
        read_reply(answer)


@pytest.mark.parametrize("choices", [5, "Yes", {"Yes": -0.1}, [None], [[]]])
def test_likely_words_that_are_no_list_of_words_cannot_be_read(choices):
    answer = words({"Yes": -0.1})
    answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"] = choices
    with pytest.raises(Unreadable):
        read_reply(answer)


def test_a_refusal_is_not_a_no():
    answer = words(LEANS_TO_NO)
    answer["choices"][0]["message"]["refusal"] = "I cannot look at people."
    with pytest.raises(Unmeasurable) as caught:
        YesNoQuestion(name="probe", prompts=(Prompt.named("system"),), max_doubt=1e-3).read(read_reply(answer))
    assert caught.value.reason is Reason.JUDGE_REFUSED


log_probabilities = st.floats(-60, 0)


@given(
    st.dictionaries(st.sampled_from(sorted(YES)), log_probabilities, min_size=1),
    st.dictionaries(st.sampled_from(sorted(NO)), log_probabilities, min_size=1),
    st.dictionaries(st.sampled_from(["The", "I", "Maybe"]), log_probabilities),
)
def test_yes_and_no_share_one_whatever_else_is_listed(yes, no, other):
    found = p_of({**other, **yes, **no})
    assert found.p_yes == pytest.approx(by_hand({**yes, **no}), abs=1e-9)
    assert 0 <= found.least <= found.p_yes <= found.most <= 1
    swapped = {**dict(zip(sorted(NO), yes.values(), strict=False)), **dict(zip(sorted(YES), no.values(), strict=False))}
    assert p_of(swapped).p_yes == pytest.approx(1 - found.p_yes, abs=1e-9)


@given(st.floats(1e-6, 1), st.floats(0, 1), st.sampled_from(["Yes", "No"]))
def test_the_truth_lies_within_the_bounds_whoever_owns_what_is_hidden(seen, share, word):
    rest = (1 - seen) * share
    found = p_of({word: math.log(seen)}, max_doubt=1.0)
    truth = seen / (seen + rest) if word == "Yes" else rest / (seen + rest)
    assert found.least - 1e-9 <= truth <= found.most + 1e-9
    assert found.least <= found.p_yes <= found.most
