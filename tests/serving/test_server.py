"""The command in a process of its own: where it listens, and how it stops."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from urllib.parse import urlsplit

import numpy as np
import pytest

from lookaway import ScorerClient
from lookaway.core import UserError
from lookaway.judges.server import Secret
from lookaway.serving.client import ClientRetries
from lookaway.serving.server import ServerSettings, listening, take_token
from tests.serving.running import TOKEN

pytestmark = pytest.mark.server
MAIN = "from lookaway.cli import main; main()"


@contextmanager
def command(*arguments: str, **variables: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`lookaway serve` on a free port, and its address."""
    environment = {**os.environ, "RAY_ADDRESS": "", **variables}
    process = subprocess.Popen(
        [sys.executable, "-c", MAIN, "serve", "--port", "0", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("Listening on "), process.stderr and process.stderr.read()
        yield process, line.removeprefix("Listening on ").strip()
    finally:
        process.kill()
        process.communicate()


def waiting(url: str) -> int:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    connection.request("GET", "/health")
    found = json.loads(connection.getresponse().read())["waiting"]
    connection.close()
    return int(found)


@pytest.mark.merge
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_told_to_stop_answers_what_it_took_and_exits_with_0(number):
    clip = np.random.default_rng(0).integers(0, 255, (24, 3, 128, 192)).astype(np.uint8)
    with command("--metrics", "cut", LOOKAWAY_TOKEN=TOKEN) as (process, url), ThreadPoolExecutor() as pool:
        client = ScorerClient(url, token=TOKEN, retries=ClientRetries(tries=1))
        taken = [pool.submit(client, clip) for _ in range(4)]
        while waiting(url) < 4 and not any(future.done() for future in taken):
            threading.Event().wait(0.01)
        process.send_signal(number)
        assert [list(future.result().outcomes) for future in taken] == [["cut"]] * 4
        client.close()
        printed, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (0, "")
    assert "all accepted requests are answered" in printed
    with pytest.raises(ConnectionRefusedError):
        waiting(url)


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_an_address_that_others_reach_needs_a_token(host):
    with pytest.raises(UserError, match="Set LOOKAWAY_TOKEN"), listening(ServerSettings(host=host, port=0)):
        pass
    with listening(ServerSettings(host=host, port=0, token=Secret(TOKEN))) as listener:
        assert listener.getsockname()[1]


def test_an_address_of_another_machine_is_refused():
    with pytest.raises(UserError, match="Cannot listen on 192"):
        listening(ServerSettings(host="192.0.2.250", port=0, token=Secret(TOKEN))).__enter__()


def test_a_port_that_is_taken_is_told_as_such():
    with listening(ServerSettings(port=0)) as listener:
        settings = ServerSettings(port=listener.getsockname()[1])
        with pytest.raises(UserError, match="Choose another --port"), listening(settings):
            pass


def test_the_token_is_removed_from_the_environment_and_never_shown(monkeypatch):
    monkeypatch.setenv("LOOKAWAY_TOKEN", TOKEN)
    token = take_token()
    assert token.reveal() == TOKEN
    assert "LOOKAWAY_TOKEN" not in os.environ
    assert TOKEN not in repr(ServerSettings(token=token))
    assert not take_token()


def test_a_short_token_is_refused_without_showing_it(monkeypatch):
    monkeypatch.setenv("LOOKAWAY_TOKEN", "secret")
    with pytest.raises(UserError, match="has 6 characters") as found:
        take_token()
    assert "'secret'" not in str(found.value)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--metrics", "lihgt"], "Did you mean 'light'?"),
        (["--reward", "memory", "--metrics", "light"], "Leave --metrics, --protocol and --use out"),
        (["--ray-address", "auto"], "Add --replicas"),
        (["--token", "secret"], "No such option"),
        (["--host", "0.0.0.0"], "Set LOOKAWAY_TOKEN"),
    ],
)
def test_a_mistake_is_told_before_anything_listens(arguments, why):
    found = subprocess.run(
        [sys.executable, "-c", MAIN, "serve", "--port", "0", *arguments], capture_output=True, text=True, timeout=120
    )
    assert (found.returncode, found.stdout) == (2, "")
    assert why in found.stderr
    assert "Traceback" not in found.stderr
