"""Hostile inputs and damaged datasets, each in a process with little memory and time: each is typed, none is over.

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

import cv2
import numpy as np
import pyarrow
import pytest

import lookaway
from lookaway.core import UserError, plugins
from tests.fuzz.damage import Damage, all_damage
from tests.fuzz.hostile import families
from tests.support.runs import outcomes_on_disk

DAMAGED = "damaged datasets"
FAMILIES = {**families(), DAMAGED: all_damage()}
FEWEST = 500
MAX_BYTES, MAX_CPU_SECONDS = 512_000_000, 20
TYPED = {"score", "abstention"}


def test_at_least_500_hostile_inputs_are_tried_before_a_merge_and_no_two_have_one_name():
    assert sum(len(inputs) for family, inputs in FAMILIES.items() if family != DAMAGED) >= FEWEST
    names = Counter(damage.name for inputs in FAMILIES.values() for damage in inputs)
    assert names.most_common(1)[0][1] == 1


@pytest.mark.merge
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "family", [pytest.param(name, marks=pytest.mark.nightly if name == DAMAGED else ()) for name in FAMILIES]
)
def test_every_hostile_input_is_typed_within_its_memory_and_its_time(family):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "tests.fuzz.test_hostile_inputs", folder, family],
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    ends = [json.loads(line) for line in done.stdout.splitlines()]
    print(family, dict(Counter(end["how"] for end in ends)))
    print("most bytes", max(end["bytes"] for end in ends), "most seconds", max(end["seconds"] for end in ends))
    assert done.returncode == 0
    assert [end["name"] for end in ends] == [damage.name for damage in FAMILIES[family]]
    assert [end for end in ends if end["how"] not in ("refused", "measured")] == []
    assert [(end["name"], end["bytes"]) for end in ends if end["bytes"] > MAX_BYTES] == []
    assert [(end["name"], end["seconds"]) for end in ends if end["seconds"] > MAX_CPU_SECONDS] == []


def main(folder: Path, family: str) -> None:
    """Try every input of a family, and print how it ended as a line of JSON."""
    _import_all()
    for number, damage in enumerate(FAMILIES[family]):
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
        end = {"name": damage.name, "bytes": used.ru_maxrss * 1024, "seconds": used.ru_utime + used.ru_stime, **found}
        print(json.dumps(end), flush=True)
        subprocess.run(["rm", "-rf", str(root), f"{root}-outside"], check=False)


def _import_all() -> None:
    """Import whatever an evaluation imports, so that no child has to."""
    for group in ("suites", "executors"):
        for name in plugins.names(group):
            plugins.load(group, name)
    for module in ("lookaway.engine.evaluate", "lookaway.engine.child_process", "scipy.spatial", "duckdb"):
        __import__(module)
    pyarrow.Table.from_pylist([{"a": 1}])  # imports what it finds installed
    cv2.cvtColor(np.zeros((1, 1, 3), np.float32), cv2.COLOR_RGB2LAB)  # makes its tables


def _tried(damage: Damage, root: Path) -> dict[str, Any]:
    """How reading and measuring ended."""
    os.chdir(root)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    # DuckDB reserves much that it does not use. What is used is measured; this only keeps the machine alive.
    resource.setrlimit(resource.RLIMIT_AS, (size + 4 * MAX_BYTES, hard))
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_SECONDS, MAX_CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (10**8, 10**8))
    try:
        lookaway.evaluate(root / "dataset", root / "run", suite=damage.suite, metrics=damage.metrics)
        rows = outcomes_on_disk(root / "run").values()
    except UserError as error:
        return {"how": "refused", "why": str(error)[:300]}
    except BaseException as error:
        return {"how": type(error).__name__, "why": traceback.format_exc()[-2000:]}
    statuses = Counter(row["status"] for row in rows)
    failures = {row["reason"]: row["message"][:300] for row in rows if row["status"] == "failure"}
    return {"how": "measured" if statuses.keys() <= TYPED else "failed", "rows": dict(statuses), "failures": failures}


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
