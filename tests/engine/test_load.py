from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.large_run import METRICS, LargeRun
from tests.support.mbench import MBenchWriter
from tests.support.tiny import clip_bytes, pose_bytes

pytestmark = pytest.mark.nightly  # ten thousand rollouts, millions of rows

ROLLOUTS, VALIDATE_SECONDS = 10_000, 30
UNIT_ROWS, SHOW_SECONDS, SHOW_BYTES = 5_000_000, 10, 2_000_000_000


# Prints the most memory that this program held: `ru_maxrss` would begin with what the tests hold that started it.
PEAK = """
import atexit, sys
from pathlib import Path
def tell_peak():
    words = Path("/proc/self/status").read_text().split()
    print(words[words.index("VmHWM:") + 1], file=sys.stderr)
atexit.register(tell_peak)
from lookaway.cli import main
main()
"""


def timed(*arguments: object) -> tuple[Any, float, int]:
    """What a command printed as JSON, its processor time as seconds of two cores, and the most memory it held."""
    command = [sys.executable, "-c", PEAK, *map(str, arguments), "--json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) / 2
    return json.loads(run.stdout), seconds, int(run.stderr.split()[-1]) * 1024


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Ten thousand rollouts of ten models; their files are links to two."""
    clip, poses = tmp_path / "clip.mp4", tmp_path / "poses.npz"
    clip.write_bytes(clip_bytes())
    poses.write_bytes(pose_bytes())
    writer = MBenchWriter(tmp_path / "dataset")
    for number in range(ROLLOUTS):
        subset = "causal" if number % 3 == 0 else "environment"
        names = {"model": f"model{number % 10}", "sample": f"sample{number // 10:04d}", "subset": subset}
        writer.add(**names, metadata={"caption": "a room"})
        os.link(clip, writer.video(**names))
        os.link(poses, writer.poses(**names))
    return writer.finish()


def test_ten_thousand_rollouts_are_validated_within_half_a_minute(dataset):
    covered, seconds, memory = timed("validate", dataset)
    print(f"validate: {ROLLOUTS} rollouts in {seconds:.1f} s, {memory / 1e6:.0f} MB")
    assert covered["rollouts"] == ROLLOUTS
    assert {reason for cell in covered["coverage"] for reason in cell["reasons"]} <= {"missing_weights", "no_judge"}
    assert sum(cell["runnable"] == cell["asked"] for cell in covered["coverage"]) >= 4
    assert seconds < VALIDATE_SECONDS


def test_five_million_unit_rows_are_shown_within_ten_seconds_and_two_gigabytes(tmp_path):
    large = LargeRun(tmp_path / "run", models=12, cases=7000, units=20)
    folder = large.write(small_parts=100)
    large.write_part("compact-once-more", range(500, 700))
    large.write_part("once-more", range(650, 651))
    assert large.unit_rows > UNIT_ROWS
    table, seconds, memory = timed("show", folder.path)
    parts = len(folder.parts())
    print(f"show: {large.unit_rows} unit rows in {parts} files in {seconds:.1f} s, {memory / 1e6:.0f} MB")
    expected = large.values.reshape(12, 7000, len(METRICS)).mean(axis=1)
    means = np.array([cell["estimate"]["mean"] for cell in table["cells"]]).reshape(12, len(METRICS))
    np.testing.assert_allclose(means, expected, rtol=1e-12)
    assert {(cell["estimate"]["scored"], cell["asked"]) for cell in table["cells"]} == {(7000, 7000)}
    assert seconds < SHOW_SECONDS
    assert memory < SHOW_BYTES
