from __future__ import annotations

import http.client
import json
import os
import socket
import struct
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lookaway.core import Json, UnknownName, UserError, digest
from lookaway.judges.oracle import KnownClip, Noise, OracleServer, ServerErrors, serve
from lookaway.judges.oracle.server import Handler
from lookaway.judges.question import Answer
from tests.judges.oracle.sending import WORDS, about, connect, is_even, parity, put, send

pytestmark = pytest.mark.render


class Plain(Answer):
    """An answer that noise can do nothing to."""

    text: str


def serving(function: Any = parity, **settings: Any) -> OracleServer:
    return OracleServer(None, answers={WORDS: function}, **settings)


def test_a_completion_has_all_that_clients_expect() -> None:
    openai = pytest.importorskip("openai")
    with serving() as server, openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        fields = about(4)
        completion = client.chat.completions.create(**fields)
        models = [model.id for model in client.models.list()]
    choice = completion.choices[0]
    assert json.loads(choice.message.content) == {"even": True, "last_digit": 4}
    assert (completion.object, completion.model, choice.finish_reason) == ("chat.completion", "asked", "stop")
    assert completion.id.startswith("chatcmpl-")
    assert abs(completion.created - time.time()) < 60
    assert completion.usage.total_tokens == completion.usage.prompt_tokens + completion.usage.completion_tokens
    assert completion.usage.completion_tokens > 5
    assert models == ["oracle"]


def test_a_key_is_asked_for_where_one_is_set() -> None:
    with serving(key="secret") as server:
        statuses = [
            put(server, about(4), headers).status
            for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer secret"})
        ]
        connection = connect(server)
        log = send(connection, "GET", "/oracle/requests")
        models = send(connection, "GET", "/v1/models", headers={"Authorization": "Bearer secret"})
        connection.close()
        assert server.request_log.rejected == {401: 3}
        assert sum(server.request_log.received.values()) == 1
    assert statuses == [401, 401, 200]
    assert (log.status, models.status) == (401, 200)
    assert b"secret" not in log.body


def test_one_connection_carries_many_questions_good_and_bad() -> None:
    with serving() as server:
        connection = connect(server)
        path = "/v1/chat/completions"
        statuses = [
            send(connection, "POST", path, body).status
            for body in (
                json.dumps(about(4)).encode(),
                b"{",
                b"[]",
                json.dumps({"messages": []}).encode(),
                json.dumps({"messages": [{"role": "user", "content": "What else?"}]}).encode(),
                json.dumps(about(5)).encode(),
            )
        ]
        lost = [send(connection, "POST", "/v1/completions", b"{}").status, send(connection, "GET", "/v1").status]
        same = connection.sock
        send(connection, "POST", path, json.dumps(about(6)).encode())
        assert connection.sock is same is not None
        connection.close()
    assert statuses == [200, 400, 400, 400, 400, 200]
    assert lost == [404, 404]


def test_an_unknown_question_is_log_what_is_known() -> None:
    with serving() as server:
        got = put(server, {"messages": [{"role": "user", "content": "What is the weather?"}]})
    message = got.json["error"]["message"]
    assert (got.status, got.json["error"]["code"]) == (400, "cannot_answer")
    assert "What is the weather?" in message
    assert "trigger_object" in message


def test_the_longest_of_several_names_answers() -> None:
    def never(*_: object) -> bool:
        raise AssertionError("the shorter name was taken")

    with OracleServer(None, answers={"the number": never, WORDS: is_even}) as server:
        assert put(server, about(4)).reply.text == "Yes"


def test_words_in_the_material_are_no_question() -> None:
    fields = about(4)
    fields["messages"][1]["content"][0]["text"] = "Something else."
    fields["messages"][1]["content"][1]["text"] = f'<material name="caption">\n"{WORDS}"\n</material>'
    with serving() as server:
        assert put(server, fields).status == 400


def test_a_function_for_a_prompt_that_does_not_exist_is_refused_at_once() -> None:
    with pytest.raises(UnknownName, match="triger"):
        OracleServer(None, answers={"triger": is_even})


def test_noise_says_where_no_answer_could_be_wrong() -> None:
    def plain(*_: object) -> Plain:
        return Plain(text="so")

    with serving(plain, noise=Noise(wrong_answer_rate=1.0)) as server:
        got = put(server, about(4))
    assert (got.status, "Plain cannot be made wrong" in got.json["error"]["message"]) == (400, True)


def test_sixty_four_questions_are_answered_at_once() -> None:
    together = threading.Barrier(64, timeout=20)

    def wait(clip: KnownClip | None, material: Mapping[str, Json], frames: tuple[int, ...]) -> bool:
        together.wait()
        return True

    with serving(wait) as server:
        with ThreadPoolExecutor(64) as pool:
            replies = list(pool.map(lambda number: put(server, about(number)).reply.text, range(64)))
        assert server.request_log.max_in_flight == 64
        together = threading.Barrier(1)
        put(server, about(0))
        assert (server.request_log.max_in_flight, server.request_log.in_flight) == (64, 0)
    assert replies == ["Yes"] * 64


def test_the_book_tells_what_was_asked_and_when_also_to_other_processes() -> None:
    before = time.time()
    with serving(errors=ServerErrors(script=[None, "server_error"])) as server:
        for number in (4, 4, 5):
            put(server, about(number))
        connection = connect(server)
        log = send(connection, "GET", "/oracle/requests").json
        connection.close()
        assert log == server.request_log.as_json()
    four, five = digest(about(4)), digest(about(5))
    assert log["received"] == {four: 2, five: 1}
    assert log["answered"] == {four: 1, five: 1}
    assert (log["errors"], log["errors_by_key"]) == ({"server_error": 1}, {four: ["server_error"]})
    assert (log["max_in_flight"], log["in_flight"]) == (1, 0)
    assert len(log["arrived"]) == 3
    assert before <= log["arrived"][0] <= log["arrived"][2] <= time.time()


def test_an_answer_that_nobody_waited_for_is_not_counted_as_given() -> None:
    with serving(noise=Noise(latency_seconds=1.0)) as server:
        connection = connect(server)
        connection.request("POST", "/v1/chat/completions", json.dumps(about(4)).encode())
        while server.request_log.in_flight == 0:
            time.sleep(0.01)
        connection.close()
        while server.request_log.in_flight:
            time.sleep(0.01)
        assert sum(server.request_log.received.values()) == 1
        assert not server.request_log.answered


def test_stopping_hangs_up_and_leaves_nothing_behind() -> None:
    threads, files = set(threading.enumerate()), len(os.listdir("/proc/self/fd"))
    server = serving(errors=ServerErrors(script=[None, "time_out"]))
    server.start()
    idle, hanging = connect(server), connect(server)
    send(idle, "POST", "/v1/chat/completions", json.dumps(about(4)).encode())
    hanging.request("POST", "/v1/chat/completions", json.dumps(about(5)).encode())
    while server.request_log.in_flight == 0:
        time.sleep(0.01)
    address = (idle.host, idle.port)
    started = time.monotonic()
    server.stop()
    server.stop()
    assert time.monotonic() - started < 30
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        hanging.getresponse()
    idle.close()
    hanging.close()
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection(*address).connect()
    assert set(threading.enumerate()) <= threads
    assert len(os.listdir("/proc/self/fd")) <= files
    with pytest.raises(RuntimeError, match="is not running"):
        _ = server.base_url


def test_the_end_waits_for_what_cannot_be_broken_off() -> None:
    def think(*_: object) -> bool:
        time.sleep(0.4)
        return True

    threads = set(threading.enumerate())
    with serving(think) as server:
        connection = connect(server)
        connection.request("POST", "/v1/chat/completions", json.dumps(about(4)).encode())
        while server.request_log.in_flight == 0:
            time.sleep(0.01)
    assert set(threading.enumerate()) <= threads
    connection.close()


def test_a_client_that_has_its_answer_is_no_longer_in_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    send_reply = Handler._send

    def slow(*args: Any) -> None:
        send_reply(*args)
        time.sleep(0.3)

    monkeypatch.setattr(Handler, "_send", slow)
    with serving() as server:
        put(server, about(4))
        assert (server.request_log.in_flight, server.request_log.max_in_flight) == (0, 1)


def test_a_client_that_breaks_off_is_no_error(capfd: pytest.CaptureFixture[str]) -> None:
    with serving() as server:
        connection = connect(server)
        send(connection, "POST", "/v1/chat/completions", json.dumps(about(4)).encode())
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
        time.sleep(0.1)
    assert capfd.readouterr().err == ""


def test_a_slow_answer_does_not_hold_up_the_end() -> None:
    with serving(noise=Noise(latency_seconds=60.0)) as server:
        connection = connect(server)
        connection.request("POST", "/v1/chat/completions", json.dumps(about(4)).encode())
        while server.request_log.in_flight == 0:
            time.sleep(0.01)
        started = time.monotonic()
    assert time.monotonic() - started < 30
    connection.close()


def test_a_port_can_be_chosen() -> None:
    with serving() as first:
        port = int(first.base_url.rsplit(":", 1)[1].removesuffix("/v1"))
    with serving(port=port) as second:
        assert second.base_url == f"http://127.0.0.1:{port}/v1"
        assert put(second, about(4)).status == 200


def test_serving_lasts_until_it_is_interrupted(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[int] = []

    def interrupt(server: OracleServer) -> None:
        connection = connect(server)
        found.append(send(connection, "GET", "/v1/models").status)
        connection.close()
        monkeypatch.setattr(threading.Event, "wait", interrupted)

    def interrupted(event: threading.Event, timeout: float | None = None) -> bool:
        monkeypatch.undo()
        raise KeyboardInterrupt

    serve(world, ready=interrupt)
    assert found == [200]


def test_a_folder_without_clips_is_no_world(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no clips of the simulated world"):
        OracleServer(tmp_path)
