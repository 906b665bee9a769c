"""Plans rest on what was measured where anything was, on what recipes declare elsewhere, and say on which."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import lookaway
from lookaway.core import Compute, JudgeModel
from lookaway.engine.binding import bind_metrics
from lookaway.engine.costs import Cost, StageCost, estimate_cost
from lookaway.engine.effort import Effort, Stage
from lookaway.engine.machine import kind_of_machine
from lookaway.engine.machine_costs import JudgeCosts, MachineCosts, read_machine_costs
from lookaway.engine.plan import make_plan
from lookaway.engine.run_costs import read_run_costs
from lookaway.io.sampling import UniformFrames
from lookaway.judges.pacing import Manners
from lookaway.judges.settings import JudgeSettings
from lookaway.store.run_folder import RunFolder
from tests.support.command import lookaway as command
from tests.support.scripted import Brightness, bound, script
from tests.support.tiny import FRAMES, HEIGHT, WIDTH, write_folder, write_mbench

LIGHT = "mbencha.environment.rendering_lighting"


@dataclass(frozen=True)
class OnGpu(Brightness):
    """A network on a GPU, which looks at three frames."""

    weights: str = "large"
    frames: UniformFrames = UniformFrames(3)
    compute: Compute = Compute(device="cuda", precision="float16")


@dataclass(frozen=True)
class FromNetwork(Brightness):
    """Made from what a network perceives, and looks at five frames itself."""

    name: str = "crops"
    frames: UniformFrames = UniformFrames(5)


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("LOOKAWAY_HOME", str(tmp_path / "home"))


@pytest.fixture
def root(tmp_path) -> Path:
    return write_folder(tmp_path / "videos", cases=4)


def plan_cost(root: Path, *, features: Path | None = None, **options: Any) -> Cost:
    dataset = lookaway.read(root, suite="scripted")
    metrics = bind_metrics(dataset)
    return estimate_cost(make_plan(dataset, metrics).work(), metrics, features, **options)


def measured(**stages: Stage) -> MachineCosts:
    return MachineCosts({kind_of_machine(): Effort({name.replace("_on_", " "): s for name, s in stages.items()})})


def stages_of(cost: Cost) -> dict[str, StageCost]:
    return {stage.stage: stage for stage in cost.stages}


def test_after_a_run_the_plan_of_its_dataset_says_what_it_took(tmp_path, monkeypatch):
    root = write_mbench(tmp_path / "dataset", samples=24, subsets=("environment",)).root
    with monkeypatch.context() as patch:
        patch.setenv("LOOKAWAY_HOME", str(tmp_path / "warming_up"))
        lookaway.evaluate(root, tmp_path / "warming_up", metrics=[LIGHT], limit=2)
    started = time.process_time()
    lookaway.evaluate(root, tmp_path / "run", metrics=[LIGHT])
    took = time.process_time() - started
    dataset = lookaway.read(root)
    metrics = bind_metrics(dataset, [LIGHT])
    planned = estimate_cost(make_plan(dataset, metrics).work(), metrics, measured=read_machine_costs())
    assert planned.cpu_seconds == pytest.approx(took, rel=0.3)
    assert planned.disk_bytes > sum(
        stage.stored_bytes for stage in read_run_costs(tmp_path / "run").effort.stages.values()
    )
    assert all(stage.measured_rollouts == 24 for stage in planned.stages)


def test_before_any_run_a_plan_rests_on_declarations(root, monkeypatch):
    script(monkeypatch, bound())
    cost = plan_cost(root, measured=read_machine_costs())
    assert {stage.measured_rollouts for stage in cost.stages} == {0}
    assert stages_of(cost)["brightness"].seconds_per_frame == pytest.approx(Brightness.seconds_per_frame)
    assert stages_of(cost).keys() == {"brightness", "decoding"}


def test_what_was_measured_counts_more_than_what_is_declared(root, monkeypatch):
    script(monkeypatch, bound())
    known = measured(brightness=Stage(seconds=99.0, cpu_seconds=10.0, frames=5, rollouts=2, stored_bytes=50))
    stage = stages_of(plan_cost(root, measured=known))["brightness"]
    assert stage.seconds == pytest.approx(4 * FRAMES * 2.0)
    assert stage.disk_bytes == pytest.approx(4 * FRAMES * 10)
    assert stage.measured_rollouts == 2


def test_decoding_is_measured_by_pixels(root, monkeypatch):
    script(monkeypatch, bound())
    known = measured(decoding=Stage(cpu_seconds=1.0, frames=1, pixels=WIDTH * HEIGHT * 100, rollouts=1))
    assert stages_of(plan_cost(root, measured=known))["decoding"].seconds == pytest.approx(4 * FRAMES / 100)


def test_stages_without_frames_are_measured_by_rollouts(root, monkeypatch):
    script(monkeypatch, bound())
    known = measured(metrics=Stage(cpu_seconds=3.0, rollouts=6))
    stage = stages_of(plan_cost(root, measured=known))["metrics"]
    assert (stage.seconds, stage.seconds_per_frame) == (pytest.approx(4 * 0.5), None)


def test_what_was_kept_is_not_planned(root, tmp_path, monkeypatch):
    script(monkeypatch, bound("first"), bound("second", Brightness(name="other")))
    lookaway.evaluate(root, tmp_path / "run", suite="scripted", metrics=["first"])
    folder = RunFolder(tmp_path / "run")
    stages = stages_of(plan_cost(root, features=folder.features, measured=read_machine_costs()))
    assert "brightness" not in stages
    assert stages["other"].frames == 4 * FRAMES


def test_answers_that_are_alike_are_planned_once(tmp_path, monkeypatch):
    script(monkeypatch, bound())
    root = write_folder(tmp_path / "twice", models=("alpha", "beta"), cases=2)
    cost = plan_cost(root)
    assert (cost.rollouts, cost.looked_at) == (4, 2)
    assert stages_of(cost)["brightness"].frames == 2 * FRAMES


def test_a_plan_of_many_looks_at_rollouts_from_all_over_it(tmp_path, monkeypatch):
    script(monkeypatch, bound())
    root = write_folder(tmp_path / "many", cases=4)
    dataset = lookaway.read(root, suite="scripted")
    metrics = bind_metrics(dataset)
    four = make_plan(dataset, metrics).work()
    work = [replace(four[n // 10], content=f"{n:032d}") for n in range(40)]
    seen = []
    monkeypatch.setattr(
        "lookaway.engine.costs._Look.add", lambda self, entry, bounds, extractors: seen.append(entry.content)
    )
    cost = estimate_cost(work, metrics)
    assert (cost.rollouts, cost.looked_at, len(set(seen))) == (40, 16, 16)
    assert {int(content) // 10 for content in seen} == {0, 1, 2, 3}
    assert int(seen[-1]) >= 36


def test_seconds_of_a_gpu_stand_apart_and_are_those_of_the_wall(root, monkeypatch):
    script(monkeypatch, bound(recipe=OnGpu()))
    name = "brightness cuda float16"
    known = MachineCosts({kind_of_machine(): Effort({name: Stage(seconds=6.0, cpu_seconds=1.0, frames=3, rollouts=1)})})
    cost = plan_cost(root, measured=known)
    assert cost.gpu_seconds == pytest.approx(4 * 3 * 2.0)
    assert cost.cpu_seconds == pytest.approx(stages_of(cost)["decoding"].seconds)


def test_what_needs_a_network_is_planned_too(root, monkeypatch):
    network = OnGpu()
    script(monkeypatch, bound(recipe=FromNetwork(from_features=(network,))))
    stages = stages_of(plan_cost(root))
    assert stages["brightness cuda float16"].frames == 4 * 3
    assert stages["crops"].frames == 4 * 5


def a_cost(**fields: Any) -> Cost:
    stages = tuple(
        StageCost(stage=name, rollouts=1, frames=1, seconds=seconds, disk_bytes=0, measured_rollouts=0)
        for name, seconds in (("decoding", 30.0), ("sift", 70.0), ("vit cuda float16", 60.0))
    )
    plain = {"rollouts": 1, "measurements": 1, "disk_bytes": 0.0, "judge_calls": 0, "judge_tokens": 0}
    return Cost(
        **(plain | {"judge_measured_calls": 0, "judge_seconds": 0.0, "looked_at": 1, "stages": stages} | fields)
    )


def test_cores_gpus_and_the_judge_work_side_by_side():
    cost = a_cost()
    assert (cost.cpu_seconds, cost.gpu_seconds) == (100, 60)
    assert cost.wall_seconds() == 160  # one worker alone
    assert cost.wall_seconds(1) == 100
    assert cost.wall_seconds(10) == 60
    assert cost.wall_seconds(10, gpus=8) == 10
    assert a_cost(judge_seconds=500.0).wall_seconds(10, gpus=8) == a_cost(judge_seconds=500.0).wall_seconds() == 500
    assert a_cost(judge_seconds=None).wall_seconds(10, gpus=8) == 10


def test_the_judge_takes_what_it_took_before(root, monkeypatch):
    asks = 7

    class Asking(Brightness):
        judge = None
        frames = UniformFrames(2)

        def questions_per_rollout(self, rollout) -> int:
            return asks

        def load_with(self, asking: Any) -> Any:
            raise NotImplementedError

    script(monkeypatch, bound(recipe=Asking()))
    settings = JudgeSettings(model=JudgeModel(backend="server", model="known"))
    unknown = plan_cost(root, judge=settings)
    assert (unknown.judge_calls, unknown.judge_measured_calls, unknown.judge_seconds) == (4 * asks, 0, None)
    assert unknown.judge_tokens == 4 * asks * (900 + 2 * 500)
    known = MachineCosts(judges={"known": JudgeCosts(calls=10, tokens=50, seconds=20.0)})
    cost = plan_cost(root, judge=settings, measured=known)
    assert (cost.judge_tokens, cost.judge_measured_calls, cost.judge_seconds) == (4 * asks * 5, 10, 4 * asks * 2.0)
    limited = replace(settings, manners=Manners(per_second=4.0))
    assert plan_cost(root, judge=limited, measured=known).judge_seconds == asks


def test_a_plan_is_printed_with_its_sources(tmp_path):
    root = write_mbench(tmp_path / "dataset", samples=2, subsets=("environment",)).root
    arguments = (root, "--metrics", LIGHT)
    before = command("plan", *arguments)
    assert [line.split()[-1] for line in before.out.splitlines() if line.startswith(("lab_means", "decoding"))] == [
        "declared",
        "declared",
    ]
    command("eval", *arguments, "-o", tmp_path / "run", "--quiet")
    after = command("plan", *arguments, "--workers", "2")
    (line,) = (line for line in after.out.splitlines() if line.startswith("lab_means"))
    assert line.rstrip().endswith("measured on 2 rollouts")
    assert "with 2 workers" in after.out
    cost = json.loads(command("plan", *arguments, "--workers", "2", "--json").out)["cost"]
    assert {stage["source"] for stage in cost["stages"]} == {"measured"}
    assert cost["wall_seconds"] == pytest.approx(cost["cpu_seconds"] / 2)
    assert (cost["workers"], cost["gpu_seconds"], cost["judge_calls"]) == (2, 0, 0)
