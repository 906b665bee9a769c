from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import CancelledError
from itertools import pairwise

import pytest

from lookaway.core import BudgetSpent, JudgeUnusable, Reason, RunError, Unmeasurable
from lookaway.judges.budget import Budget, Spending
from lookaway.judges.client import JudgeClient, RetryPolicy
from lookaway.judges.errors import PermanentError, TransientError
from lookaway.judges.reply_store import ReplyStore
from tests.judges.requests import QUICK, ScriptedJudge, completion, question


@pytest.fixture
def ask(tmp_path):
    """Makes clients of one run, and closes them."""
    made = []

    def make(judge=None, budget=None, **policy):
        client = JudgeClient(
            make_judge=(lambda: judge) if judge else None,
            replies=ReplyStore(tmp_path / "replies"),
            spending=Spending(tmp_path / "spending.jsonl", budget or Budget()),
            policy=RetryPolicy(**{**QUICK, **policy}),
        )
        made.append(client)
        return client

    yield make
    for client in made:
        client.close()


def why(future):
    with pytest.raises(Unmeasurable) as caught:
        future.result(timeout=10)
    return caught.value


def test_a_question_is_put_once_however_often_it_comes(ask):
    judge = ScriptedJudge()
    client = ask(judge)
    for _ in range(3):
        assert client.ask(question()).result(timeout=10) == completion()
    assert judge.received.total() == 1


def test_a_reply_with_half_a_character_is_stored_and_not_paid_for_again(ask):
    judge = ScriptedJudge(lambda request, before: completion("half \ud83d of it"))
    for _ in range(2):
        found = ask(judge).ask(question()).result(timeout=10)
        assert found["choices"][0]["message"]["content"] == "half \\ud83d of it"
    assert judge.received.total() == 1


def test_a_question_in_flight_is_not_sent_again(ask):
    release = threading.Event()

    async def slowly():
        await asyncio.to_thread(release.wait, 10)
        return completion()

    judge = ScriptedJudge(lambda request, before: slowly())
    client = ask(judge)
    futures = [client.ask(question()) for _ in range(5)]
    release.set()
    assert [future.result(timeout=10) for future in futures] == [completion()] * 5
    assert judge.received.total() == 1


def test_the_next_process_takes_the_kept_reply(ask):
    ask(ScriptedJudge()).ask(question()).result(timeout=10)
    later = ScriptedJudge(lambda request, before: AssertionError("asked again"))
    assert ask(later).ask(question()).result(timeout=10) == completion()


def test_a_replay_makes_no_judge_calls_and_says_which_reply_it_lacks(ask):
    ask(ScriptedJudge()).ask(question()).result(timeout=10)
    replay = ask(None)
    assert replay.ask(question()).result(timeout=10) == completion()
    problem = why(replay.ask(question(1)))
    assert problem.reason is Reason.JUDGE_FAILED
    assert question(1).key() in str(problem)


def test_a_damaged_reply_is_asked_for_again(ask, tmp_path):
    ask(ScriptedJudge()).ask(question()).result(timeout=10)
    path = ReplyStore(tmp_path / "replies").path(question().key())
    path.write_text(path.read_text().replace('"yes"', '"no"'))
    judge = ScriptedJudge()
    assert ask(judge).ask(question()).result(timeout=10) == completion()
    assert judge.received.total() == 1
    assert why(ask(None).ask(question(1))).reason is Reason.JUDGE_FAILED


def test_a_passing_fault_is_tried_again(ask):
    judge = ScriptedJudge(lambda request, before: completion() if before == 2 else TransientError("503 busy."))
    assert ask(judge).ask(question()).result(timeout=10) == completion()
    assert judge.received.total() == 3


def test_a_question_is_given_up_after_its_tries_and_says_why(ask):
    judge = ScriptedJudge(lambda request, before: TransientError("503 busy."))
    problem = why(ask(judge, tries=4).ask(question()))
    assert judge.received.total() == 4
    assert problem.reason is Reason.JUDGE_FAILED
    assert str(problem) == "no answer after 4 attempts; the last error: 503 busy."


def test_the_wait_that_a_server_asks_for_is_kept(ask):
    judge = ScriptedJudge(lambda request, before: completion() if before else TransientError("429", after_seconds=0.3))
    started = time.monotonic()
    ask(judge).ask(question()).result(timeout=10)
    assert time.monotonic() - started >= 0.3


def test_waits_grow_and_differ_between_questions(ask):
    times = {}

    def note(request, before):
        times.setdefault(request.instruction, []).append(time.monotonic())
        return TransientError("503")

    client = ask(ScriptedJudge(note), tries=4, first_wait_seconds=0.05, longest_wait_seconds=10, trip_after=1000)
    for future in [client.ask(question(number)) for number in range(8)]:
        why(future)
    waits = [[after - before for before, after in pairwise(at)] for at in times.values()]
    assert all(first >= 0.025 and second >= 0.05 and third >= 0.1 for first, second, third in waits)
    assert max(third for *_, third in waits) - min(third for *_, third in waits) > 0.01


@pytest.mark.parametrize(("is_refusal", "reason"), [(True, Reason.JUDGE_REFUSED), (False, Reason.JUDGE_FAILED)])
def test_a_lasting_fault_is_not_tried_again(ask, is_refusal, reason):
    judge = ScriptedJudge(lambda request, before: PermanentError("400 too large.", is_refusal=is_refusal))
    problem = why(ask(judge).ask(question()))
    assert (problem.reason, str(problem), judge.received.total()) == (reason, "400 too large.", 1)


def test_a_reply_that_is_no_completion_is_tried_again_and_never_kept(ask, tmp_path):
    judge = ScriptedJudge(lambda request, before: completion() if before else {"choices": []})
    assert ask(judge).ask(question()).result(timeout=10) == completion()
    assert len(list((tmp_path / "replies").rglob("*.json"))) == 1


def test_the_reply_of_another_model_is_not_kept(ask, tmp_path):
    judge = ScriptedJudge(lambda request, before: completion(model="cheaper"))
    problem = why(ask(judge, tries=2).ask(question()))
    assert "another model answered: found 'cheaper', expected 'answering'" in str(problem)
    assert not list((tmp_path / "replies").rglob("*.json"))


def test_a_wrong_key_ends_the_run_at_once(ask):
    judge = ScriptedJudge(lambda request, before: JudgeUnusable("wrong key"))
    with pytest.raises(JudgeUnusable, match="wrong key"):
        ask(judge).ask(question()).result(timeout=10)
    assert judge.received.total() == 1


def test_a_bug_is_neither_hidden_nor_tried_again(ask):
    judge = ScriptedJudge(lambda request, before: ZeroDivisionError("bug"))
    with pytest.raises(ZeroDivisionError, match="bug"):
        ask(judge).ask(question()).result(timeout=10)
    assert judge.received.total() == 1


def test_no_more_questions_are_in_flight_than_allowed(ask):
    async def slowly():
        await asyncio.sleep(0.01)
        return completion()

    judge = ScriptedJudge(lambda request, before: slowly())
    client = ask(judge, concurrent=5)
    for future in [client.ask(question(number)) for number in range(40)]:
        future.result(timeout=10)
    assert judge.max_in_flight == 5


def test_questions_go_at_the_configured_rate(ask):
    client = ask(ScriptedJudge(), concurrent=64, per_second=200)
    started = time.monotonic()
    for future in [client.ask(question(number)) for number in range(200)]:
        future.result(timeout=20)
    assert time.monotonic() - started >= 0.9


def test_a_server_that_does_not_answer_is_paused_and_then_given_up(ask):
    judge = ScriptedJudge(lambda request, before: TransientError("connection refused."))
    client = ask(judge, trip_after=5, pauses=2, concurrent=3)
    futures = [client.ask(question(number)) for number in range(3)]
    for future in futures:
        with pytest.raises(JudgeUnusable, match="does not answer, after 2 pauses"):
            future.result(timeout=10)
    assert judge.received.total() < 20


def test_a_server_that_comes_back_during_a_pause_costs_no_question(ask):
    calls = []
    is_fourth_here = asyncio.Event()

    async def gone_for_a_while(request, before):
        calls.append(request)
        number = len(calls)
        if number == 4:
            is_fourth_here.set()
        await is_fourth_here.wait()  # the first errors come in one turn of the loop, before any is tried again
        return TransientError("connection refused.") if number <= 8 else completion()

    client = ask(ScriptedJudge(gone_for_a_while), trip_after=4, pauses=5, concurrent=4, tries=2)
    for future in [client.ask(question(number)) for number in range(10)]:
        assert future.result(timeout=10) == completion()


def test_a_budget_of_calls_is_kept_exactly_and_can_be_raised(ask, tmp_path):
    judge = ScriptedJudge()
    first = ask(judge, Budget(calls=3), concurrent=1)
    futures = [first.ask(question(number)) for number in range(5)]
    assert sum(future.exception(timeout=10) is None for future in futures) == 3
    with pytest.raises(BudgetSpent, match=r"3 of 3 calls.*--judge-calls"):
        futures[-1].result()
    with pytest.raises(BudgetSpent):
        ask(judge, Budget(calls=3)).ask(question(4)).result(timeout=10)
    raised = ask(judge, Budget(calls=5))
    for number in range(5):
        assert raised.ask(question(number)).result(timeout=10) == completion()
    assert judge.received.total() == 5


def test_tries_that_fail_count_as_calls(ask):
    judge = ScriptedJudge(lambda request, before: TransientError("503"))
    with pytest.raises(BudgetSpent):
        ask(judge, Budget(calls=2)).ask(question()).result(timeout=10)
    assert judge.received.total() == 2


@pytest.mark.parametrize(
    ("budget", "spent"),
    [
        (Budget(tokens=24), "24 of 24 tokens"),
        (Budget(money=0.02, price_per_million_prompt_tokens=1000), "0.02 of 0.02 money"),
        (Budget(money=0.006, price_per_million_answer_tokens=1500), "0.006 of 0.006 money"),
    ],
)
def test_a_budget_of_tokens_or_money_stops_after_what_they_cost(ask, budget, spent):
    client = ask(ScriptedJudge(), budget, concurrent=1)
    for number in range(2):
        client.ask(question(number)).result(timeout=10)
    with pytest.raises(BudgetSpent, match=spent):
        client.ask(question(2)).result(timeout=10)


def test_two_workers_share_one_budget(ask):
    one, other = ask(ScriptedJudge(), Budget(calls=2)), ask(ScriptedJudge(), Budget(calls=2))
    one.ask(question(0)).result(timeout=10)
    other.ask(question(1)).result(timeout=10)
    with pytest.raises(BudgetSpent):
        one.ask(question(2)).result(timeout=10)


def test_closing_cancels_what_is_in_flight_and_leaves_no_thread(ask):
    async def never():
        await asyncio.sleep(100)

    judge = ScriptedJudge(lambda request, before: never())
    client = ask(judge)
    future = client.ask(question())
    while not judge.in_flight:
        time.sleep(0.001)
    client.close()
    with pytest.raises(CancelledError):
        future.result(timeout=10)
    assert judge.is_closed
    assert not [thread for thread in threading.enumerate() if thread.name == "judge"]


def test_a_folder_that_cannot_be_written_ends_the_run(ask, tmp_path):
    (tmp_path / "replies").write_text("in the way")
    with pytest.raises(RunError, match="replies cannot be stored here"):
        ask(ScriptedJudge()).ask(question()).result(timeout=10)
