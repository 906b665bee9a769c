"""Judges from the command line, as processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

import pytest

from lookaway.judges.oracle import Noise, OracleServer
from tests.support.command import lookaway
from tests.support.rendered import copy_small
from tests.support.runs import outcomes, times_measured

pytestmark = pytest.mark.render

LOOKAWAY = (sys.executable, "-c", "from lookaway.cli import main; main()")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("judged") / "world"
    copy_small(root, faults=("vanish",), severities=(1.0,))
    return root


def start(*arguments: object, **variables: str) -> subprocess.Popen[str]:
    command = [*LOOKAWAY, *map(str, arguments)]
    environment = {**os.environ, **variables}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def test_an_oracle_serves_until_it_is_interrupted(world):
    process = start("judge", "oracle", world)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("Serving at http://127.0.0.1:")
        with urlopen(f"{line.split()[-1]}/models") as reply:
            assert reply.status == 200
    finally:
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")


def test_a_command_that_an_oracle_runs_asks_it_and_its_exit_code_counts(world, tmp_path):
    run = tmp_path / "run"
    evaluation = (*LOOKAWAY, "eval", world, "-o", run, "--metrics", "triggered", "--no-progress")
    process = start("judge", "oracle", world, "--", *evaluation)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    assert {row["value"] for row in outcomes(run).values()} == {1.0}
    assert "triggered" in out
    failing = start("judge", "oracle", world, "--", sys.executable, "-c", "raise SystemExit(7)")
    failing.communicate(timeout=60)
    assert failing.returncode == 7


def test_a_run_that_is_interrupted_while_it_waits_ends_at_once_and_writes_no_half_truth(world, tmp_path):
    run = tmp_path / "run"
    arguments = ("eval", world, "-o", run, "--metrics", "triggered", "--no-progress", "--judge-model", "oracle")
    with OracleServer(world, noise=Noise(latency_seconds=3600.0)) as server:
        process = start(*arguments, "--judge-url", server.base_url)
        while not server.request_log.received.total():
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "run the same command to resume" in err
    assert not list((run / "outcomes").glob("*.parquet"))
    with OracleServer(world) as server:
        assert lookaway(*arguments, "--judge-url", server.base_url).code == 0
    assert {row["value"] for row in outcomes(run).values()} == {1.0}
    assert set(times_measured(run).values()) == {1}
