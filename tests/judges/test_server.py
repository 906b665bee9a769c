"""What a server says, as typed faults: over real HTTP, from a server that says what it is told."""

from __future__ import annotations

import asyncio
import base64
import email.utils
import gzip
import json
import threading
import time
import tracemalloc
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from lookaway.core import JudgeModel, JudgeUnusable, Picture, Sampling
from lookaway.judges.errors import PermanentError, TransientError
from lookaway.judges.server import Connection, Secret, ServerJudge
from tests.judges.one_reply import saying
from tests.judges.requests import completion, question

KEY = "sk-very-private-key"


def reply(url: str, request=None, timeout_seconds: float = 5.0, key: str = KEY) -> Any:
    async def asked() -> Any:
        judge = ServerJudge(Connection(url=url, key=Secret(key), timeout_seconds=timeout_seconds))
        try:
            return await judge.reply(request or question())
        finally:
            await judge.close()

    return asyncio.run(asked())


def error(message: str, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "error", "code": code}}


def test_a_completion_comes_back_as_it_was_sent():
    with saying(200, {**completion(), "system_fingerprint": "fp"}) as (url, _):
        assert reply(url) == {**completion(), "system_fingerprint": "fp"}


def test_a_request_says_everything_that_moves_the_answer():
    judge = JudgeModel(
        model="asked", sampling=Sampling(temperature=0.5, top_p=0.9, seed=7, max_tokens=33), extra='{"top_k":5}'
    )
    pixels = np.zeros((4, 6, 3), np.uint8)
    request = question(
        judge=judge,
        pictures=(Picture(0, 0.0, pixels), Picture(9, 1.5, pixels + 1)),
        material="<material>",
        schema={"name": "A", "strict": True, "schema": {"type": "object"}},
        token_choices=20,
        repeat=2,
        corrections=(("bad", "again"),),
    )
    with saying(200, completion()) as (url, sent):
        reply(url, request)
    found = sent[0]
    assert found["path"] == "/v1/chat/completions"
    assert found["key"] == f"Bearer {KEY}"
    body = found["body"]
    wanted = ("model", "temperature", "top_p", "seed", "max_tokens", "logprobs", "top_logprobs", "top_k")
    assert [body[name] for name in wanted] == ["asked", 0.5, 0.9, 9, 33, True, 20, 5]
    assert body["response_format"] == {"type": "json_schema", "json_schema": request.schema}
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "user"]
    parts = body["messages"][1]["content"]
    kinds = [part["type"] for part in parts]
    assert kinds == ["text", "text", "image_url", "text", "image_url", "text"]
    assert [part["text"] for part in parts if part["type"] == "text"] == [
        "Question 0.\n",
        "Frame 1 of 2, at 0.00 s:\n",
        "Frame 2 of 2, at 1.50 s:\n",
        "<material>\n",
    ]
    assert parts[2]["image_url"]["url"].startswith("data:image/png;base64,")


def test_a_field_that_a_server_does_not_take_can_be_left_out_or_put_otherwise():
    judge = JudgeModel(model="asked", extra='{"max_completion_tokens":64,"max_tokens":null,"temperature":1}')
    with saying(200, completion()) as (url, sent):
        reply(url, question(judge=judge))
    body = sent[0]["body"]
    assert "max_tokens" not in body
    assert (body["max_completion_tokens"], body["temperature"]) == (64, 1)


def test_a_judge_that_is_told_in_words_gets_the_schema_as_text():
    judge = JudgeModel(model="asked", wording="text")
    schema = {"name": "A", "strict": True, "schema": {"type": "object", "title": "Told"}}
    with saying(200, completion()) as (url, sent):
        reply(url, question(judge=judge, schema=schema))
    body = sent[0]["body"]
    assert "response_format" not in body
    assert json.dumps(schema["schema"], sort_keys=True) in body["messages"][1]["content"][1]["text"]


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_worth_another_try(status):
    with saying(status, error("not now")) as (url, _), pytest.raises(TransientError, match=f"{status} not now"):
        reply(url)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry_After": "7"}, 7.0),
        ({"Retry_After": "0.25"}, 0.25),
        ({"retry_after_ms": "1500"}, 1.5),
        ({"Retry_After": "999999"}, 600.0),
        ({"Retry_After": "-3"}, 0.0),
        ({"Retry_After": "soon"}, None),
        ({}, None),
    ],
)
def test_the_wait_that_a_server_asks_for_is_understood(headers, seconds):
    with saying(429, error("slow down"), **headers) as (url, _), pytest.raises(TransientError) as caught:
        reply(url)
    assert caught.value.after_seconds == seconds


def test_a_wait_until_a_date_is_understood():
    date = email.utils.formatdate(time.time() + 300, usegmt=True)
    with saying(503, error("maintenance"), Retry_After=date) as (url, _), pytest.raises(TransientError) as caught:
        reply(url)
    assert 200 < (caught.value.after_seconds or 0) <= 300


def test_a_model_that_is_gone_may_come_back():
    with (
        saying(404, error("gone", "model_not_found")) as (url, _),
        pytest.raises(TransientError, match="does not serve the model 'asked'"),
    ):
        reply(url)


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key_ends_the_run_and_is_not_repeated(status):
    told = error(f"Incorrect API key provided: {KEY}.")
    with saying(status, told) as (url, _), pytest.raises(JudgeUnusable, match="refused the key") as caught:
        reply(url)
    assert KEY not in str(caught.value)
    assert "***" in str(caught.value)


def test_an_empty_account_ends_the_run():
    told = error("You exceeded your quota", "insufficient_quota")
    with saying(429, told) as (url, _), pytest.raises(JudgeUnusable, match="is used up"):
        reply(url)


@pytest.mark.parametrize(
    ("status", "code", "is_refusal"),
    [
        (400, None, False),
        (413, None, False),
        (422, "x", False),
        (400, "content_filter", True),
        (400, "content_policy_violation", True),
    ],
)
def test_a_question_that_the_server_cannot_take_lasts(status, code, is_refusal):
    with saying(status, error("no", code)) as (url, _), pytest.raises(PermanentError) as caught:
        reply(url)
    assert caught.value.is_refusal is is_refusal


@pytest.mark.parametrize(
    "body", [b"", b'{"choices": [', b"<html>", b"\xff\xfe", b'{"x": NaN}', b'{"x": 1e999}', b"[" * 100_000]
)
def test_a_reply_that_is_cut_or_no_json_is_worth_another_try(body):
    with saying(200, body) as (url, _), pytest.raises(TransientError, match="cut off or not JSON"):
        reply(url)


def test_a_server_that_repeats_the_key_is_scrubbed():
    with saying(200, completion(f"Your key is {KEY}.")) as (url, _):
        assert reply(url)["choices"][0]["message"]["content"] == "Your key is ***."


CANARY = 'sk-ca"na\\ry/key+8f2c?='
"""A key with characters that every encoding writes differently."""
SPELLINGS = {
    "plain": CANARY,
    "json": json.dumps(CANARY)[1:-1],
    "json twice": json.dumps(json.dumps(CANARY))[1:-1],
    "every character escaped": "".join(f"\\u{ord(character):04X}" for character in CANARY),
    "base64": base64.b64encode(CANARY.encode()).decode(),
    "base64 for addresses": base64.urlsafe_b64encode(CANARY.encode()).decode(),
    "base64 of a header": base64.b64encode(f"Bearer {CANARY}".encode()).decode(),
    "base64 of a pair": base64.b64encode(f"user:{CANARY}".encode()).decode(),
    "address": urllib.parse.quote(CANARY, safe=""),
    "form": urllib.parse.quote_plus(CANARY),
    "address twice": urllib.parse.quote(urllib.parse.quote(CANARY, safe=""), safe=""),
    "hex": CANARY.encode().hex(),
}


def encoded_forms(text: str) -> list[str]:
    """What must not appear anywhere: the key, and the middle of the key in every encoding."""
    middle = base64.b64encode(CANARY.encode()).decode()[4:20]
    return [form for form in (CANARY, CANARY.encode().hex(), urllib.parse.quote(CANARY), middle) if form in text]


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("place", ["content", "name of a field", "another field", "error", "raw"])
def test_a_key_is_removed_however_a_server_spells_it(spelling, place):
    text = SPELLINGS[spelling]
    bodies: dict[str, Any] = {
        "content": completion(f"It is {text}!"),
        "name of a field": {**completion(), text: 1},
        "another field": {**completion(), "headers": [{"Authorization": text}]},
        "error": error(f"wrong: {text}!"),
        "raw": json.dumps({**completion(), "x": "HERE"}).replace("HERE", text.replace('"', '\\"')).encode(),
    }
    with saying(400 if place == "error" else 200, bodies[place]) as (url, _):
        try:
            shown = json.dumps(reply(url, key=CANARY), ensure_ascii=False)
        except (PermanentError, TransientError) as caught:
            shown = str(caught)
    assert not encoded_forms(shown), shown
    assert text not in shown


def test_text_without_the_key_is_left_as_it_is():
    text = "A sk-key, base64 c2stY2E=, \\u0073 and %73: none of them is the key."
    with saying(200, completion(text)) as (url, _):
        assert reply(url, key=CANARY)["choices"][0]["message"]["content"] == text


def test_scrubbing_takes_linear_time():
    started = time.process_time()
    Secret(CANARY).scrub("\\" * 200_000 + "%25" * 100_000 + "sk-ca" * 50_000)
    assert time.process_time() - started < 10


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status):
    with (
        saying(200, completion()) as (other, received),
        saying(status, b"", Location=f"{other}/chat/completions") as (url, sent),
        pytest.raises(JudgeUnusable, match=r"redirects requests to 127\.0\.0\.1:[0-9]+\. Frames and captions"),
    ):
        reply(url)
    assert len(sent) == 1
    assert received == []


def test_a_reply_that_unpacks_beyond_the_limit_is_refused():
    bomb = gzip.compress(bytes(100_000_000), 9)
    assert len(bomb) < 200_000
    tracemalloc.start()
    with (
        saying(200, bomb, Content_Encoding="gzip") as (url, _),
        pytest.raises(TransientError, match=r"larger than 16,777,216 bytes"),
    ):
        reply(url)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64_000_000


def test_a_reply_that_is_packed_is_read():
    with saying(200, gzip.compress(json.dumps(completion()).encode()), Content_Encoding="gzip") as (url, _):
        assert reply(url) == completion()


PACKED = gzip.compress(b"{}", mtime=0)


@pytest.mark.parametrize(
    ("body", "encoding"),
    [(b"{}", "br"), (b"{}", "gzip"), (PACKED[:-4], "gzip"), (PACKED, "gzip, gzip")],
    ids=["unknown", "not packed", "cut", "packed once of twice"],
)
def test_a_reply_that_cannot_be_unpacked_is_worth_another_try(body, encoding):
    with saying(200, body, Content_Encoding=encoding) as (url, _), pytest.raises(TransientError, match="the reply is"):
        reply(url)


@pytest.mark.parametrize("chunk", [b" ", b" " * 65536])
def test_a_reply_without_an_end_is_given_up_in_time_or_at_its_limit(chunk):
    is_slow = len(chunk) == 1
    with dripping(chunk, pause_seconds=0.05 if is_slow else 0.0) as url:
        started = time.monotonic()
        with pytest.raises(TransientError, match=r"no answer within 0\.5 s" if is_slow else "larger than"):
            reply(url, timeout_seconds=0.5 if is_slow else 60.0)
        assert time.monotonic() - started < 30


@contextmanager
def dripping(chunk: bytes, pause_seconds: float) -> Iterator[str]:
    """A server whose replies never end."""
    stop = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):
                while not stop.wait(pause_seconds):
                    self.wfile.write(chunk)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        stop.set()
        server.shutdown()
        thread.join()
        server.server_close()


def test_nobody_at_the_address_is_worth_another_try():
    with pytest.raises(TransientError, match=r"the connection to http://127\.0\.0\.1:9/v1 failed"):
        reply("http://127.0.0.1:9/v1")


def test_a_server_that_never_answers_is_waited_for_as_long_as_was_said():
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    try:
        started = time.monotonic()
        with pytest.raises(TransientError, match=r"no answer within 0\.3 s"):
            reply(f"http://127.0.0.1:{server.server_port}/v1", timeout_seconds=0.3)
        assert 0.3 <= time.monotonic() - started < 30
    finally:
        server.server_close()


def test_a_long_message_of_a_server_is_cut():
    with saying(400, error("word " * 10_000)) as (url, _), pytest.raises(PermanentError) as caught:
        reply(url)
    assert len(str(caught.value)) < 400
