from __future__ import annotations

from pathlib import Path

import pytest
import ray

import lookaway
from lookaway.core import Resources
from lookaway.engine.on_ray.cluster import start_local
from lookaway.engine.run import Run
from lookaway.reports.export.rows import write_tidy_table
from tests.support.runs import table_text
from tests.support.tiny import QUICK, write_mbench

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.ray,  # warnings are of Ray's own making
    pytest.mark.merge,
]
MODELS = ("alpha", "beta", "gamma", "delta", "epsilon")
SAMPLES = 8
ROLLOUTS = len(MODELS) * 2 * SAMPLES
SHORT, EMPTY, MISSING = 3, 5, 7
"""Samples whose videos cannot be measured, so that tables hold reasons, too."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eighty rollouts, some of them broken."""
    writer = write_mbench(tmp_path_factory.mktemp("identical") / "dataset", models=MODELS, samples=SAMPLES)
    for model in MODELS:
        names = {"model": model, "subset": "environment"}
        cut = writer.video(**names, sample=f"sample{SHORT}")
        cut.write_bytes(cut.read_bytes()[:200])
        writer.video(**names, sample=f"sample{EMPTY}").write_bytes(b"")
        writer.video(**names, sample=f"sample{MISSING}").unlink()
    return writer.root


@pytest.fixture(scope="module")
def cluster():
    """Ray, started once for all runs."""
    start_local(ray, num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def written(root: Path, folder: Path, **how: object) -> dict[str, bytes]:
    """Everything that a user takes away from a run, as bytes."""
    run: Run = lookaway.evaluate(root, folder / "run", metrics=QUICK, **how)
    write_tidy_table(run, folder / "items.csv")
    write_tidy_table(run, folder / "units.csv", units=True)
    tables = {path.name: path.read_bytes() for path in (folder / "items.csv", folder / "units.csv")}
    return {"table": table_text(folder / "run").encode(), **tables}


def test_inline_and_one_and_two_workers_on_ray_write_the_same_bytes(root, cluster, tmp_path):
    inline = written(root, tmp_path / "inline")
    gates = ROLLOUTS // 2
    assert inline["items.csv"].count(b"\n") == 1 + ROLLOUTS + gates
    assert inline["items.csv"].count(b",abstention,") == 2 * 3 * len(MODELS)
    for workers in (1, 2):
        on_ray = written(root, tmp_path / f"ray{workers}", executor="ray", resources=Resources(workers=workers))
        assert on_ray == inline
