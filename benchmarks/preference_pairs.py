"""What pairs of millions of outcomes cost: seconds and peak memory of `lookaway pairs` in a process of its own.

The run has twelve models, four metrics and a gate that two of three rollouts pass, in files as compaction leaves them.
There is no dataset, so that prompts and files are not looked at: opening a video takes some milliseconds more for each
one that is exported. Processor time is printed beside the time of the clock, which other work on the machine moves.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookaway.core import Lock
from lookaway.store.outcome_rows import SCHEMA
from lookaway.store.run_folder import COMPACT, RunFolder

MODELS, METRICS, GATE = 12, ("light", "look", "copied", "moved"), "revisited"
CASES_AT_ONCE = 8_000
START = "from lookaway.cli import main; main()"
MAX_SECONDS, MAX_BYTES = 300, 4 * 1024**3


def write_run(path: Path, cases: int) -> int:
    """Write a run of so many cases, and return its outcomes."""
    folder = RunFolder(path)
    names = (*METRICS, GATE)
    lock = Lock({"suite": {"name": "revisit"}, "metrics": {name: {} for name in names}})
    entries = [
        {
            "name": name,
            "lock": f"lock of {name}",
            "subsets": None,
            "is_gate": name == GATE,
            "is_consistency": name != GATE,
            "unit": "1",
            "range": [0.0, 1.0],
            "higher_is_better": True,
        }
        for name in names
    ]
    about = {"suite": "revisit", "lock_sha256": lock.sha256, "problems": [], "metrics": entries}
    rollouts = _rollouts(np.arange(cases))
    folder.begin_with(lock, rollouts, about)
    random = np.random.default_rng(0)
    for start in range(0, cases, CASES_AT_ONCE):
        some = rollouts.slice(start * MODELS, CASES_AT_ONCE * MODELS)
        folder.write_part(f"{COMPACT}{start:09d}", _rows(some, names, random))
    return len(rollouts) * len(names)


def _rollouts(cases: np.ndarray) -> pa.Table:
    number = np.repeat(cases, MODELS)
    model = pc.binary_join_element_wise(
        "model", pa.array(np.tile(np.arange(MODELS), len(cases))).cast(pa.string()), "_"
    )
    case = pc.binary_join_element_wise("left_then_right", pa.array(number).cast(pa.string()), "-")
    scene = pc.binary_join_element_wise("scene", pa.array(number // 4).cast(pa.string()), "-")
    rollout = pc.binary_join_element_wise(model, case, "0", "/")
    size = len(number)
    columns = {
        "rollout": rollout,
        "content": pc.binary_join_element_wise("0123456789abcdef", pa.array(np.arange(size)).cast(pa.string()), ""),
        "model": model,
        "case": case,
        "subset": pa.repeat("all", size),
        "scene": scene,
        "seed": pa.repeat("0", size),
        "video": pc.binary_join_element_wise("/data/videos", rollout, "video.mp4", "/"),
    }
    return pa.table(columns)


def _rows(rollouts: pa.Table, names: tuple[str, ...], random: np.random.Generator) -> pa.Table:
    size = len(rollouts)
    each = pa.array(np.repeat(np.arange(size), len(names)))
    metric = pa.array(names).take(pa.array(np.tile(np.arange(len(names)), size)))
    values = random.random((size, len(names)))
    values[:, -1] = values[:, -1] < 2 / 3
    count = size * len(names)
    found = {
        "rollout": rollouts["rollout"].take(each),
        "content": rollouts["content"].take(each),
        "metric": metric,
        "lock": pc.binary_join_element_wise("lock of", metric, " "),
        "unit": pa.nulls(count, pa.string()),
        "status": pa.repeat("score", count),
        "reason": pa.nulls(count, pa.string()),
        "value": pa.array(values.ravel()),
        "raw": pa.nulls(count, pa.float64()),
        "message": pa.nulls(count, pa.string()),
        "detail": pa.repeat('{"pairs":20}', count),
    }
    return pa.table(found, SCHEMA)


def measure(run: Path, output: Path, formats: str) -> tuple[float, float, int]:
    """Seconds of the clock and of the processor, and peak memory, of the command."""
    smallest = [f"--smallest-difference={name}=0.05" for name in METRICS]
    command = [sys.executable, "-c", START, "pairs", str(run), "-o", str(output), "--without-dataset", *smallest]
    begun = time.perf_counter()
    child = subprocess.Popen([*command, "--format", formats], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status:
        raise RuntimeError(f"`lookaway pairs` ended with {status}.")
    return time.perf_counter() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def main() -> int:
    """Measure, and compare with the limits."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--cases", type=int, default=166_667, help="166667 are 10 million outcomes")
    parser.add_argument("--format", default="videoalign,videodpo,unifiedreward,hpdv3,trl,csv")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run, output = Path(folder) / "run", Path(folder) / "pairs"
        outcomes = write_run(run, options.cases)
        seconds, processor, peak = measure(run, output, options.format)
        card = json.loads((output / "card.json").read_text())
        written = sum(path.stat().st_size for path in output.rglob("*") if path.is_file())
    print(f"{outcomes:,} outcomes: {card['pairs']:,} pairs, {card['rows']:,} preferences, {written / 1e9:.2f} GB")
    print(f"{seconds:.1f} s, {processor:.1f} s of the processor, {peak / 1024**3:.2f} GiB at most")
    print(f"limits: {MAX_SECONDS} s, {MAX_BYTES / 1024**3:.0f} GiB")
    return 0 if seconds <= MAX_SECONDS and peak <= MAX_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
