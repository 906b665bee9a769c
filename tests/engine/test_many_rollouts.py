from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from benchmarks.many_rollouts import MAX_BYTES, MAX_GROWTH_BYTES, MAX_OVERHEAD_MS, Watched
from tests.support.ray_runs import ROOT, environment, ray_folder

ROLLOUTS, FULL_SIZE = 3_000, 100_000


@pytest.fixture(scope="module")
def watched() -> dict[str, Any]:
    """What a run of three thousand tiny rollouts on two workers took."""
    command = [sys.executable, "-m", "benchmarks.many_rollouts", "--rollouts", str(ROLLOUTS), "--json"]
    with ray_folder() as env:
        done = subprocess.run(command, cwd=ROOT, env=environment(env), capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(found)
    return found


@pytest.mark.ray
@pytest.mark.nightly
def test_the_driver_of_a_hundred_thousand_rollouts_would_stay_below_a_gigabyte(watched):
    growth = watched["late_bytes"] - watched["early_bytes"]
    measured = 0.9 * ROLLOUTS
    assert growth * FULL_SIZE / measured < MAX_GROWTH_BYTES
    assert watched["peak_bytes"] + growth * (FULL_SIZE - ROLLOUTS) / measured < MAX_BYTES


@pytest.mark.ray
@pytest.mark.nightly
def test_handing_out_a_tiny_rollout_costs_a_few_milliseconds_beyond_its_work(watched):
    assert 0 < watched["working_overhead_ms"] < MAX_OVERHEAD_MS


@pytest.mark.parametrize(
    ("figures", "is_as_asked"),
    [
        ({}, True),
        ({"processor_seconds": MAX_OVERHEAD_MS + 1.1}, False),
        ({"peak_bytes": MAX_BYTES}, False),
        ({"late_bytes": MAX_GROWTH_BYTES + 1}, False),
    ],
)
def test_a_run_of_many_is_as_asked_only_if_its_overhead_and_its_memory_are(figures, is_as_asked):
    small = {"bare_ms": 1.0, "processor_seconds": MAX_OVERHEAD_MS + 0.9, "peak_bytes": 1, "early_bytes": 1}
    assert Watched(rollouts=1000, **(small | figures)).is_as_asked == is_as_asked


@pytest.mark.parametrize(("hand", "inline", "is_as_asked"), [(9.1, 17.1, True), (8.9, 17.1, False), (9.1, 16.9, False)])
def test_the_engine_is_as_asked_only_if_it_keeps_up_with_a_script_and_outdoes_one_process(hand, inline, is_as_asked):
    from benchmarks import scale

    rounds = {scale.HAND: [(hand, 1.0)], scale.ENGINE: [(10.0, 1.0)], scale.INLINE: [(inline, 1.0)]}
    assert scale.report(rounds, clips=1) == is_as_asked
