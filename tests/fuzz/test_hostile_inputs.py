"""Hostile inputs, each in a process of its own with little memory and little time: each is typed, and none is over.

One helper process imports everything once and forks a child for each input, so that an input costs what it costs and
not the start of Python.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from lookaway.core import UserError
from tests.fuzz.hostile import all_hostile

FEWEST = 500
MAX_BYTES, MAX_CPU_SECONDS = 512_000_000, 20
TYPED = {"score", "abstention"}


def test_there_are_enough_hostile_inputs_and_no_two_of_one_name():
    names = Counter(damage.name for damage in all_hostile())
    assert sum(names.values()) >= FEWEST
    assert names.most_common(1)[0][1] == 1


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_every_hostile_input_is_typed_within_its_memory_and_its_time():
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "tests.fuzz.test_hostile_inputs", folder],
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    ends = [json.loads(line) for line in done.stdout.splitlines()]
    print(Counter(end["how"] for end in ends), "most memory", max(end["bytes"] for end in ends))
    assert done.returncode == 0
    assert len(ends) >= FEWEST
    assert [end for end in ends if end["how"] not in ("refused", "measured")] == []
    assert [(end["name"], end["bytes"]) for end in ends if end["bytes"] > MAX_BYTES] == []
    assert [(end["name"], end["seconds"]) for end in ends if end["seconds"] > MAX_CPU_SECONDS] == []


def main(folder: Path) -> None:
    """Try every input, and print how it ended as a line of JSON."""

    for module in ("engine.evaluate", "engine.run", "suites.folder", "suites.mbench", "io.video", "metrics.gates"):
        __import__(f"lookaway.{module}")
    __import__("cv2"), __import__("scipy.spatial"), __import__("duckdb"), __import__("pyarrow.parquet")
    pyarrow.Table.from_pylist([{"a": 1}])  # imports what it finds installed
    wanted = sys.argv[2:]
    for number, damage in enumerate(all_hostile()):
        if wanted and not any(part in damage.name for part in wanted):
            continue
        root = folder / str(number)
        damage.make(root / "dataset")
        damage.apply(root / "dataset")
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            os.write(writing, json.dumps(_tried(damage, root)).encode()[:60_000])
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            text = pipe.read()
        _, status, used = os.wait4(child, 0)
        found = json.loads(text) if text else {"how": f"died with {status}"}
        seconds = used.ru_utime + used.ru_stime
        print(
            json.dumps({"name": damage.name, "bytes": used.ru_maxrss * 1024, "seconds": seconds, **found}), flush=True
        )
        subprocess.run(["rm", "-rf", str(root)], check=False)


def _tried(damage: Any, root: Path) -> dict[str, Any]:
    """How reading and measuring ended."""
    import lookaway

    os.chdir(root)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size + MAX_BYTES, before[1]))
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_SECONDS, MAX_CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (10**8, 10**8))
    try:
        run = lookaway.evaluate(root / "dataset", root / "run", suite=damage.suite, metrics=damage.metrics)
        resource.setrlimit(resource.RLIMIT_AS, before)  # DuckDB reserves much that it does not use
        statuses = Counter(row["status"] for row in run.items())
        rows = {row["reason"]: row["message"][:300] for row in run.items() if row["status"] == "failure"}
    except UserError as error:
        return {"how": "refused", "why": str(error)[:300]}
    except BaseException as error:
        return {"how": type(error).__name__, "why": traceback.format_exc()[-2000:]}
    return {"how": "measured" if statuses.keys() <= TYPED else "failed", "rows": dict(statuses), "failures": rows}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
