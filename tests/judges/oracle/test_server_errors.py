from __future__ import annotations

import http.client
import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from lookaway.core import UnknownName
from lookaway.judges.oracle import ERROR_KINDS, Noise, OracleServer, ServerErrors
from lookaway.judges.oracle.noise import Chance
from lookaway.judges.reply import is_worded_refusal
from tests.judges.oracle.sending import WORDS, Parity, about, connect, is_even, parity, put, send


def scripted(*kinds: str | None, function: Any = parity, **settings: Any) -> OracleServer:
    return OracleServer(None, answers={WORDS: function}, errors=ServerErrors(script=kinds, **settings))


def outcome(server: OracleServer, fields: dict[str, Any]) -> tuple[object, ...]:
    """What a client sees, without what only a clock could tell."""
    try:
        got = put(server, fields)
        return (got.status, got.json["choices"] if got.status == 200 else got.json["error"])
    except json.JSONDecodeError:
        return ("cut",)
    except (http.client.HTTPException, ConnectionError) as error:
        return (type(error).__name__,)


def test_a_rate_limit_says_how_long_to_wait_and_passes() -> None:
    with scripted("rate_limited", retry_after_seconds=0.25) as server:
        limited, after = put(server, about(4)), put(server, about(4))
    assert (limited.status, limited.headers["Retry-After"]) == (429, "0.25")
    assert limited.json["error"]["code"] == "rate_limit_exceeded"
    assert (after.status, after.answer) == (200, {"even": True, "last_digit": 4})


def test_server_errors_come_with_several_statuses() -> None:
    with scripted(*["server_error"] * 24) as server:
        statuses = {put(server, about(number)).status for number in range(24)}
    assert statuses == {500, 502, 503}


def test_a_model_that_vanished_is_not_found() -> None:
    with scripted("vanished_model") as server:
        got = put(server, about(4))
    assert (got.status, got.json["error"]["code"]) == (404, "model_not_found")


def test_no_answer_comes_before_the_client_gives_up() -> None:
    with scripted("time_out") as server:
        connection = connect(server, seconds=0.2)
        with pytest.raises(TimeoutError):
            send(connection, "POST", "/v1/chat/completions", json.dumps(about(4)).encode())
        connection.close()
        deadline = time.monotonic() + 30
        while server.request_log.in_flight and time.monotonic() < deadline:
            time.sleep(0.01)
        assert server.request_log.in_flight == 0
        assert not server.request_log.answered


def test_a_client_that_does_not_give_up_is_hung_up_on() -> None:
    with scripted("time_out", hang_seconds=0.1) as server:
        started = time.monotonic()
        with pytest.raises(http.client.RemoteDisconnected):
            put(server, about(4))
        assert time.monotonic() - started >= 0.1


def test_connections_drop_before_the_reply_and_in_the_middle_of_it() -> None:
    with scripted(*["dropped_connection"] * 16) as server:
        found = {outcome(server, about(number)) for number in range(16)}
        assert found == {("RemoteDisconnected",), ("IncompleteRead",)}
        assert not server.request_log.answered


def test_a_cut_completion_arrives_as_a_whole_response_that_is_no_json() -> None:
    with scripted("truncated_json") as server:
        connection = connect(server)
        got = send(connection, "POST", "/v1/chat/completions", json.dumps(about(4)).encode())
        assert (got.status, len(got.body)) == (200, int(got.headers["Content-Length"]))
        with pytest.raises(json.JSONDecodeError):
            json.loads(got.body)
        after = send(connection, "POST", "/v1/chat/completions", json.dumps(about(4)).encode())
        connection.close()
    assert after.answer["even"] is True


def test_a_cut_answer_stands_in_a_whole_completion() -> None:
    with scripted("truncated_answer") as server:
        got = put(server, about(4))
    whole = json.dumps({"even": True, "last_digit": 4})
    assert (got.reply.text, got.reply.finish) == (whole[: len(whole) // 2], "length")


def test_refusals_come_as_a_field_by_a_filter_and_in_words() -> None:
    with scripted(*["refusal"] * 24) as server:
        replies = [put(server, about(number)).reply for number in range(24)]
    kinds = {(reply.refusal is not None, reply.finish, is_worded_refusal(reply)) for reply in replies}
    assert kinds == {(True, "stop", False), (False, "content_filter", False), (False, "stop", True)}


def test_wrong_types_are_text_in_place_of_values() -> None:
    with scripted("wrong_types") as server:
        got = put(server, about(4))
    assert got.answer == {"even": "yes", "last_digit": "4"}


def test_a_yes_of_a_wrong_type_is_no_text() -> None:
    with scripted("wrong_types", function=is_even) as server:
        got = put(server, about(4))
    assert got.json["choices"][0]["message"]["content"] is True


def test_an_empty_answer_is_whole_and_says_nothing() -> None:
    with scripted("empty_answer") as server:
        got = put(server, about(4))
    assert (got.status, got.reply.text, got.reply.finish) == (200, "", "stop")


def test_every_kind_can_be_scripted_and_is_in_the_book() -> None:
    with scripted(None, *ERROR_KINDS, hang_seconds=0.05) as server:
        assert outcome(server, about(0))[0] == 200
        for number in range(len(ERROR_KINDS)):
            outcome(server, about(number))
        assert server.request_log.errors == dict.fromkeys(ERROR_KINDS, 1)
        assert Parity.model_validate(put(server, about(7)).answer) == Parity(even=False, last_digit=7)


def test_a_mixture_gives_every_kind_as_often_as_it_says() -> None:
    errors = ServerErrors.mixed(0.4)
    found = [errors.next(0, Chance(0, str(number))) for number in range(20_000)]
    assert set(found) == {None, *ERROR_KINDS}
    for kind in ERROR_KINDS:
        assert found.count(kind) / len(found) == pytest.approx(0.04, abs=0.006)


def test_faults_are_drawn_anew_for_every_attempt() -> None:
    with OracleServer(None, answers={WORDS: parity}, errors=ServerErrors(server_error=0.5)) as server:
        statuses = [put(server, about(4)).status for _ in range(20)]
    assert 3 < sum(status == 200 for status in statuses) < 17


def test_what_goes_wrong_does_not_depend_on_order_or_crowd() -> None:
    numbers = list(range(30)) * 2
    settings: dict[str, Any] = {
        "answers": {WORDS: parity},
        "noise": Noise(wrong_answer_rate=0.3, latency_jitter_seconds=0.01, seed=5),
        "errors": ServerErrors(**{kind: 0.06 for kind in ERROR_KINDS}, hang_seconds=0.02),
    }
    with OracleServer(None, **settings) as server:
        forwards = sorted((number, repr(outcome(server, about(number)))) for number in numbers)
    with OracleServer(None, **settings) as server, ThreadPoolExecutor(8) as pool:
        crowd = pool.map(lambda number: (number, repr(outcome(server, about(number)))), reversed(numbers))
        assert sorted(crowd) == forwards
    with OracleServer(None, **{**settings, "noise": Noise(wrong_answer_rate=0.3, seed=6)}) as server:
        assert sorted((number, repr(outcome(server, about(number)))) for number in numbers) != forwards


@pytest.mark.parametrize(
    "wrong", [{"refusal": 1.5}, {"refusal": -0.1}, {"refusal": 0.6, "time_out": 0.6}, {"hang_seconds": -1.0}]
)
def test_impossible_faults_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"probabilities|seconds"):
        ServerErrors(**wrong)


def test_a_script_names_kinds_that_exist() -> None:
    with pytest.raises(UnknownName, match="rate_limited"):
        ServerErrors(script=["rate_limitd"])


def test_a_reply_after_a_fault_is_counted_as_answered_only_when_whole() -> None:
    kinds = ("truncated_json", "rate_limited", "dropped_connection", "refusal", None)
    with scripted(*kinds) as server:
        for _ in kinds:
            outcome(server, about(4))
        (key,) = server.request_log.received
        assert (server.request_log.received[key], server.request_log.answered[key]) == (5, 2)
        assert server.request_log.errors_by_key[key] == [kind for kind in kinds if kind]
