from __future__ import annotations

from pathlib import Path

import pytest
import ray

import lookaway
from lookaway.core import Resources
from lookaway.engine.on_ray.cluster import start_local
from tests.engine.test_limits import REASONS, found, scored_but, tried
from tests.support.hungry import hungry_metric
from tests.support.runs import outcomes
from tests.support.scripted import script
from tests.support.tiny import write_folder

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.ray, pytest.mark.nightly]  # warnings are Ray's own

ALLOWED = {"sleep": {"rollout_seconds": 1.0}, "grow": {"rollout_memory": 1_500_000_000}, "die": {}}


@pytest.fixture(scope="module")
def cluster():
    start_local(ray, num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.mark.parametrize("how", ["sleep", "grow", "die"])
def test_a_spoilt_rollout_costs_no_other_one_and_a_resume_on_ray_goes_on(how, cluster, tmp_path, monkeypatch):
    marks: Path = tmp_path / "marks"
    marks.mkdir()
    root = write_folder(tmp_path / "videos", cases=4)
    script(monkeypatch, *hungry_metric(how, marks))
    options = {"suite": "scripted", "executor": "ray", "resources": Resources(workers=1, **ALLOWED[how])}
    lookaway.evaluate(root, tmp_path / "run", **options)
    assert found(tmp_path / "run", "hungry") == scored_but(REASONS[how])
    assert "--rollout-" in outcomes(tmp_path / "run")["alpha/case1/0", "hungry"]["message"]
    times = tried(marks)
    assert times == (3 if how == "die" else 1)
    lookaway.evaluate(root, tmp_path / "run", **options)
    assert found(tmp_path / "run", "hungry") == scored_but(REASONS[how])
    assert tried(marks) == (2 * times if how == "die" else times)
