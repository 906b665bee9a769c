"""The client against a server that does what a test tells it: it comes back when that can help, or says why not."""

from __future__ import annotations

import http.server
import json
import socket
import struct
import threading
from email.utils import formatdate

import numpy as np
import pytest

from lookaway import Scorer, ScorerClient, ScoringFailed
from lookaway.core import UserError
from lookaway.judges.server import Secret
from lookaway.serving.client import ClientRetries
from lookaway.serving.scoring import ClipScorer, InProcess
from lookaway.training.reward import Reward, RewardRecipe, RewardTerm
from tests.serving.running import CLIP, TOKEN, Counting, running, turned

pytestmark = pytest.mark.server
ANSWER = {
    "id": "a",
    "outcomes": {"light": {"status": "score", "value": 0.5}},
    "is_tested": True,
    "untested": [],
    "seconds": 1,
}
"""What a server answers with."""


class Scripted(http.server.ThreadingHTTPServer):
    """Answers each request with the next entry of a list: a status with headers, or `reset`; then measures."""

    daemon_threads = True

    def __init__(self, script) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = list(script)
        self.ids: list[str] = []


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Scripted

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.ids.append(self.headers["Idempotency-Key"])
        status, headers = self.server.script.pop(0) if self.server.script else (200, {})
        if status == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()
            return
        reason = {"error": "failed", "message": "a reason of the server"}
        body = headers.pop("body", json.dumps(ANSWER if status == 200 else reason)).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def finish(self) -> None:
        if not self.wfile.closed and not self.close_connection:
            super().finish()

    def log_message(self, *args) -> None:
        """Nothing is printed."""


@pytest.fixture
def scripted():
    started = []

    def start(*script, tries: int = 4):
        server = Scripted(script)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        started.append((server, thread))
        waits: list[float] = []
        retries = ClientRetries(tries=tries, first_wait_seconds=1.0, longest_wait_seconds=20.0)
        url = f"http://127.0.0.1:{server.server_port}"
        return server, ScorerClient(url, retries=retries, sleep=waits.append), waits

    yield start
    for server, thread in started:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    "trouble", [(429, {}), (503, {}), (502, {}), (504, {}), (408, {"Connection": "close"}), ("reset", {})]
)
def test_what_may_pass_is_sent_again_under_the_same_id(trouble, scripted):
    server, client, waits = scripted(trouble, trouble)
    assert client(CLIP)["light"].value == 0.5
    assert len(set(server.ids)) == 1
    assert len(server.ids) == 3
    assert len(waits) == 2
    client.close()


def test_waits_grow_and_are_as_long_as_the_server_asks(scripted):
    _, client, waits = scripted((503, {}), (503, {}), (429, {"Retry-After": "7"}))
    client(CLIP)
    assert 0.5 <= waits[0] <= 1 <= waits[1] <= 2
    assert waits[2] == 7
    client.close()


def test_a_server_cannot_make_a_client_wait_for_ever(scripted):
    _, client, waits = scripted((429, {"Retry-After": "86400"}), (429, {"Retry-After": formatdate(4e9, usegmt=True)}))
    client(CLIP)
    assert waits == [20, 20]
    client.close()


def test_a_client_gives_up_and_says_what_the_server_said(scripted):
    server, client, waits = scripted(*[(503, {})] * 9)
    with pytest.raises(ScoringFailed, match="in 4 tries; the last one: a reason of the server") as found:
        client(CLIP)
    assert (found.value.status, len(server.ids), len(waits)) == (503, 4, 3)
    client.close()


def test_a_client_gives_up_on_an_address_where_nobody_listens():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    client = ScorerClient(f"http://127.0.0.1:{port}", retries=ClientRetries(tries=2), sleep=lambda seconds: None)
    with pytest.raises(ScoringFailed, match="in 2 tries; the last one: ConnectionRefusedError") as found:
        client(CLIP)
    assert found.value.status is None


@pytest.mark.parametrize("status", [400, 401, 409, 413, 415, 422, 500])
def test_what_cannot_pass_is_not_sent_again(status, scripted):
    server, client, waits = scripted((status, {}))
    with pytest.raises(ScoringFailed, match=rf"refused the request \({status}\): a reason of the server"):
        client(CLIP)
    assert (len(server.ids), waits) == (1, [])
    client.close()


@pytest.mark.parametrize("body", ["<html>a proxy</html>", "{}", json.dumps({**ANSWER, "more": 1})])
def test_an_answer_of_another_version_is_not_a_measurement(body, scripted):
    _, client, _ = scripted((200, {"body": body}))
    with pytest.raises(ScoringFailed, match="Install the same version"):
        client(CLIP)
    client.close()


def test_a_refusal_without_a_reason_is_told_as_such(scripted):
    _, client, _ = scripted((404, {"body": "<html>"}))
    with pytest.raises(ScoringFailed, match="status 404, and no reason"):
        client(CLIP)
    client.close()


def test_a_client_is_called_like_a_scorer_and_finds_the_same():
    clip, paths = turned(3)
    with running(InProcess(ClipScorer(Scorer(["light"]))), token=Secret(TOKEN)) as server:
        client = ScorerClient(server.url, token=TOKEN)
        found, expected = client(clip, fps=8, paths=paths), Scorer(["light"])(clip, fps=8, paths=paths)
        assert found.values == expected.values
        assert client.info().metrics == ("light",)
        with pytest.raises(UserError, match="has no reward"):
            client.reward(clip, fps=8, paths=paths)
        client.close()


def test_a_server_with_a_reward_pays_what_the_reward_pays():
    clip, paths = turned(3)
    reward = Reward(RewardRecipe(terms={"light": RewardTerm(floor=1.0, ceiling=0.0)}))
    with running(InProcess(ClipScorer(reward))) as server:
        client = ScorerClient(server.url)
        found, expected = client.reward(clip, fps=8, paths=paths), reward(clip, fps=8, paths=paths)
        client.close()
    assert found.is_measured
    assert (found.value, found.parts, found.scores.values) == (expected.value, expected.parts, expected.scores.values)


def test_the_token_comes_from_the_environment_and_is_not_shown(monkeypatch):
    monkeypatch.setenv("LOOKAWAY_TOKEN", TOKEN)
    with running(Counting(), token=Secret(TOKEN)) as server:
        client = ScorerClient(server.url)
        assert client(CLIP)["light"].value == len(CLIP)
        client.close()
    assert TOKEN not in repr(vars(client))


def test_a_wrong_token_is_refused_at_once():
    with running(Counting(), token=Secret(TOKEN)) as server:
        client = ScorerClient(server.url, token="another one that is wrong")
        with pytest.raises(ScoringFailed, match=r"refused the request \(401\): The token is missing or wrong") as found:
            client(CLIP)
        client.close()
    assert found.value.status == 401


@pytest.mark.parametrize("url", ["127.0.0.1:8321", "ftp://host", "http://user:password@host:80", ""])
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(UserError) as found:
        ScorerClient(url)
    assert "password@" not in str(found.value)


def test_frames_of_torch_are_sent_as_they_are(scripted):
    torch = pytest.importorskip("torch")
    with running(Counting()) as server:
        client = ScorerClient(server.url)
        assert client(torch.from_numpy(np.array(CLIP)))["light"].value == len(CLIP)
        client.close()
