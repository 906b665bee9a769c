"""Replicas on Ray Serve die, and nobody who asked notices."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from lookaway import Scorer, ScorerClient
from tests.serving.running import turned
from tests.serving.test_server import command
from tests.support.ray_runs import descendants, ray_folder

pytestmark = [pytest.mark.ray, pytest.mark.server, pytest.mark.merge]
REPLICA = "ray::ServeReplica"


def replicas(process: int) -> list[psutil.Process]:
    """Processes with a scorer, as Ray titles them."""
    return [found for found in descendants(process) if any(REPLICA in part for part in _title(found))]


def _title(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_a_replica_is_killed_and_every_request_is_answered_once_with_its_own_scores():
    clips = [turned(number) for number in range(4)]
    scorer = Scorer(["light"])
    expected = [scorer(clip, fps=8, paths=paths).values for clip, paths in clips]
    with ray_folder() as folder, command("--metrics", "light", "--replicas", "2", **folder) as (process, url):
        client = ScorerClient(url)
        with ThreadPoolExecutor(8) as pool:
            asked = [
                pool.submit(client, *clips[number % 4][:1], fps=8, paths=clips[number % 4][1]) for number in range(60)
            ]
            asked[5].result()
            victims = replicas(process.pid)
            assert len(victims) == 2
            os.kill(victims[0].pid, signal.SIGKILL)
            found = [future.result().values for future in asked]
        assert found == [expected[number % 4] for number in range(60)]
        counted = client._send("GET", "/metrics", b"", {}).decode()
        assert 'lookaway_requests_total{result="ok"} 60.0' in counted
        assert "replica_died" not in counted
        client.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=120) == 0
        assert not any(victim.is_running() and victim.status() != psutil.STATUS_ZOMBIE for victim in victims)
