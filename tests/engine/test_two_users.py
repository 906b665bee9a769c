from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

import lookaway
from lookaway.engine.on_ray.cluster import variables_of_workers
from tests.support import lightness_suite
from tests.support.ray_runs import AGENTS, ROOT, descendants, ended, ray_folder, start
from tests.support.runs import outcomes, table_text
from tests.support.tiny import write_folder

pytestmark = [pytest.mark.ray, pytest.mark.nightly]  # kills, and runs that wait for each other

CASES = 30
SECONDS_PER_ROLLOUT = "0.1"
SECONDS_TO_START = 90


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster of two cores that belongs to neither user."""

    address: str
    env: dict[str, str] = field(repr=False)
    """What users need to know to join it."""


@pytest.fixture(scope="module", autouse=True)
def _lightness() -> Iterator[None]:
    with lightness_suite.offered():
        yield


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    ray = Path(sys.executable).with_name("ray")
    port, *other_ports = _free_ports(3)
    with ray_folder() as env:
        env |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        options = {
            "num-cpus": 2,
            "port": port,
            "temp-dir": env["RAY_TMPDIR"],
            "include-dashboard": "false",
            "object-store-memory": 200_000_000,
            **dict(zip(("ray-client-server-port", "dashboard-agent-listen-port"), other_ports, strict=True)),
        }
        head = subprocess.Popen(
            [ray, "start", "--head", "--block", *(f"--{name}={value}" for name, value in options.items())],
            env={**os.environ, **env, "PYTHONPATH": str(ROOT), lightness_suite.SECONDS: SECONDS_PER_ROLLOUT},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        _await_port(head, port)
        yield Cluster(f"127.0.0.1:{port}", env)
        started = descendants(head.pid)
        head.terminate()
        head.communicate()
        _, left = psutil.wait_procs(started, timeout=10)
        for process in left:
            process.kill()
        assert all(name in AGENTS for name in map(psutil.Process.name, left) if name)


def _free_ports(count: int) -> list[int]:
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def _await_port(head: subprocess.Popen[str], port: int) -> None:
    until = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < until:
        assert head.poll() is None, head.communicate()[1]
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError("the cluster did not start")


@dataclass(frozen=True)
class User:
    """Somebody with a folder of their own, who works in it and names files by relative paths."""

    home: Path
    model: str
    features: Path

    def starts(self, cluster: Cluster, run: str, workers: int) -> subprocess.Popen[str]:
        """`lookaway eval` on the cluster."""
        command = ("eval", "videos", "--suite", lightness_suite.NAME, "-o", run, "--features", self.features)
        where = ("--executor", "ray", "--address", cluster.address, "--workers", workers)
        env = {**cluster.env, "LOOKAWAY_HOME": str(self.home / "cache")}
        return start(*command, *where, "--quiet", env=env, cwd=self.home)

    def table_alone(self) -> str:
        """What they would have found without the cluster and the other user."""
        lookaway.evaluate(self.home / "videos", self.home / "alone", suite=lightness_suite.NAME)
        return table_text(self.home / "alone")

    def check(self, run: str) -> None:
        """The table is as alone, all rows are of this user's rollouts, and workers knew where the user's caches are."""
        assert table_text(self.home / run) == self.table_alone()
        found = outcomes(self.home / run)
        assert {rollout for rollout, _ in found} == {f"{self.model}/case{case}/0" for case in range(CASES)}
        assert {row["detail"] for row in found.values()} == {f'{{"home":"{self.home / "cache"}"}}'}


@pytest.fixture
def users(tmp_path: Path) -> tuple[User, User]:
    names = ("alpha", "beta")
    for name in names:
        write_folder(tmp_path / name / "videos", models=(name,), cases=CASES)
    first, second = (User(tmp_path / name, name, tmp_path / "features") for name in names)
    return first, second


def test_two_users_of_one_cluster_get_their_own_tables(cluster, users):
    both = [user.starts(cluster, "run", workers=1) for user in users]
    assert [ended(process) for process in both] == [(0, ""), (0, "")]
    for user in users:
        user.check("run")


@pytest.mark.nightly
def test_a_user_who_is_killed_does_not_disturb_the_other_who_gets_the_cores(cluster, users):
    first, second = users
    killed = first.starts(cluster, "run", workers=2)
    while not (first.home / "run" / "events.jsonl").exists():
        assert killed.poll() is None, killed.communicate()[1]
        time.sleep(0.05)
    other = second.starts(cluster, "run", workers=2)
    killed.kill()
    killed.communicate()
    assert ended(other)[0] == 0
    second.check("run")
    assert ended(first.starts(cluster, "run", workers=1))[0] == 0
    first.check("run")


def test_more_workers_than_the_cluster_has_cores_wait_for_each_other_and_finish(cluster, users):
    both = [user.starts(cluster, "run", workers=4) for user in users]
    assert [ended(process)[0] for process in both] == [0, 0]
    for user in users:
        user.check("run")


def test_workers_of_a_cluster_are_told_of_folders_and_addresses_and_never_of_keys(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = {"LOOKAWAY_HOME": "cache", "AWS_REGION": "eu-1", "AWS_ENDPOINT_URL": "http://store:9000", "HF_HOME": ""}
    kept = {
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_ENDPOINT_URL_S3": "http://user:secret@store",
        "LOOKAWAY_JUDGE_KEY": "secret",
        "HF_TOKEN": "secret",
    }
    expected = {**told, "LOOKAWAY_HOME": str(tmp_path / "cache")}
    del expected["HF_HOME"]
    assert variables_of_workers({**told, **kept}) == expected
