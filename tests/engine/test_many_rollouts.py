from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from benchmarks.many_rollouts import MOST_BYTES, MOST_GROWTH_BYTES, MOST_OVERHEAD_MS
from tests.support.ray_runs import ROOT, environment, ray_folder

ROLLOUTS, FULL_SIZE = 3_000, 100_000


@pytest.fixture(scope="module")
def watched() -> dict[str, Any]:
    """What a run of five thousand tiny rollouts on two workers took."""
    command = [sys.executable, "-m", "benchmarks.many_rollouts", "--rollouts", str(ROLLOUTS), "--json"]
    with ray_folder() as env:
        done = subprocess.run(command, cwd=ROOT, env=environment(env), capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(found)
    return found


def test_the_driver_of_a_hundred_thousand_rollouts_would_stay_below_a_gigabyte(watched):
    growth = watched["late_bytes"] - watched["early_bytes"]
    measured = 0.9 * ROLLOUTS
    assert growth * FULL_SIZE / measured < MOST_GROWTH_BYTES
    assert watched["peak_bytes"] + growth * (FULL_SIZE - ROLLOUTS) / measured < MOST_BYTES


def test_handing_out_a_tiny_rollout_costs_a_few_milliseconds_beyond_its_work(watched):
    assert 0 < watched["working_overhead_ms"] < MOST_OVERHEAD_MS
