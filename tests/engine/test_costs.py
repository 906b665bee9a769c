"""Plans rest on what was measured where anything was, on what recipes declare elsewhere, and say on which."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

import lookaway
from lookaway.core import Abstention, Compute, JudgeModel, Reason
from lookaway.engine.binding import bind_metrics
from lookaway.engine.costs import Cost, JudgeCosts, MachineCosts, StageCost, estimate_cost, read_machine_costs
from lookaway.engine.plan import make_plan
from lookaway.engine.timings import StageTiming, StageTimings, kind_of_machine, read_run_costs
from lookaway.engine.worker import Work
from lookaway.io.sampling import UniformFrames
from lookaway.judges.client import RetryPolicy
from lookaway.judges.settings import JudgeSettings
from lookaway.reports.plan import print_plan
from lookaway.store.run_folder import RunFolder
from tests.support.command import lookaway as command
from tests.support.scripted import Brightness, bound, script
from tests.support.tiny import FRAMES, HEIGHT, WIDTH, write_folder, write_mbench

ASKS = 7
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


@dataclass(frozen=True)
class FromPath(Brightness):
    """Looks at frames that another feature chooses."""

    name: str = "pairs"
    usual_frames: ClassVar[int] = 6


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


def measured(**stages: StageTiming) -> MachineCosts:
    return MachineCosts({kind_of_machine(): StageTimings({name.replace("_on_", " "): s for name, s in stages.items()})})


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
        stage.stored_bytes for stage in read_run_costs(tmp_path / "run").timings.stages.values()
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
    known = measured(brightness=StageTiming(seconds=99.0, cpu_seconds=10.0, frames=5, rollouts=2, stored_bytes=50))
    stage = stages_of(plan_cost(root, measured=known))["brightness"]
    assert stage.seconds == pytest.approx(4 * FRAMES * 2.0)
    assert stage.disk_bytes == pytest.approx(4 * FRAMES * 10)
    assert stage.measured_rollouts == 2


def test_decoding_is_measured_by_pixels(root, monkeypatch):
    script(monkeypatch, bound())
    known = measured(decoding=StageTiming(cpu_seconds=1.0, frames=1, pixels=WIDTH * HEIGHT * 100, rollouts=1))
    assert stages_of(plan_cost(root, measured=known))["decoding"].seconds == pytest.approx(4 * FRAMES / 100)


def test_stages_without_frames_are_measured_by_rollouts(root, monkeypatch):
    script(monkeypatch, bound())
    known = measured(metrics=StageTiming(cpu_seconds=3.0, rollouts=6))
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
        "lookaway.engine.costs._Demand.add", lambda self, entry, bounds, extractors: seen.append(entry.content)
    )
    cost = estimate_cost(work, metrics)
    assert (cost.rollouts, cost.looked_at, len(set(seen))) == (40, 16, 16)
    assert {int(content) // 10 for content in seen} == {0, 1, 2, 3}
    assert int(seen[-1]) >= 36


class JudgeHandle(Brightness):
    """A judge who is asked seven questions about every rollout, with two frames."""

    judge = None
    frames = UniformFrames(2)

    def questions_per_rollout(self, rollout) -> int:
        return ASKS

    def conditional_questions(self, rollout) -> int:
        return 0

    def load_with(self, asking: Any) -> Any:
        raise NotImplementedError


class AskingSome(JudgeHandle):
    """Declines all but the rollouts of one case."""

    def declines(self, rollout) -> Abstention | None:
        return None if rollout.case.id == "case3" else Abstention(Reason.NO_TARGET, "nothing to ask.")


def many(root: Path, metrics: Callable[[int], tuple[str, ...]], count: int) -> list[Work]:
    """So many rollouts, one after the other of the four in a folder, each with metrics by its number."""
    dataset = lookaway.read(root, suite="scripted")
    four = make_plan(dataset, bind_metrics(dataset)).work()
    return [replace(four[n % 4], content=f"{n:032d}", metrics=metrics(n)) for n in range(count)]


@pytest.mark.parametrize("judged", [range(10), range(150, 160), range(300, 310)])
def test_a_small_part_that_a_judge_is_asked_about_is_neither_missed_nor_taken_for_the_whole(root, monkeypatch, judged):
    script(monkeypatch, bound("plain"), bound("judged", JudgeHandle(name="judge")))
    metrics = bind_metrics(lookaway.read(root, suite="scripted"))
    work = many(root, lambda n: ("judged",) if n in judged else ("plain",), 310)
    cost = estimate_cost(work, metrics)
    assert (cost.judge_calls, cost.judge_tokens) == (10 * ASKS, 10 * ASKS * (900 + 2 * 500))
    assert stages_of(cost)["brightness"].frames == pytest.approx(300 * FRAMES)
    assert stages_of(cost)["brightness"].disk_bytes == pytest.approx(300 * FRAMES * Brightness.bytes_per_frame)
    assert stages_of(cost)["judge"].rollouts == pytest.approx(10)
    assert stages_of(cost)["decoding"].rollouts == pytest.approx(310)
    assert cost.looked_at <= 20


def test_a_metric_that_few_rollouts_lack_is_planned_for_these(root, monkeypatch):
    script(monkeypatch, bound("plain"), bound("rare", Brightness(name="other")))
    work = many(root, lambda n: ("rare",) if n == 301 else ("plain",), 310)
    stages = stages_of(estimate_cost(work, bind_metrics(lookaway.read(root, suite="scripted"))))
    assert stages["brightness"].frames == pytest.approx(309 * FRAMES)
    assert stages["other"].frames == FRAMES


def test_some_of_every_subset_are_looked_at(root, monkeypatch):
    script(monkeypatch, bound())
    metrics = bind_metrics(lookaway.read(root, suite="scripted"))
    work = many(root, lambda n: (metrics[0].name,), 310)
    rare = [replace(e, rollout=replace(e.rollout, case=replace(e.rollout.case, subset="rare"))) for e in work[:10]]
    assert estimate_cost([*rare, *work[10:]], metrics).looked_at == 4 + 15


def test_questions_are_counted_where_cases_differ_and_metrics_do_not(root, monkeypatch):
    script(monkeypatch, bound("judged", AskingSome(name="judge"), needs=(), uses=("judge",)))
    metrics = bind_metrics(lookaway.read(root, suite="scripted"))
    work = [entry for n, entry in enumerate(many(root, lambda n: ("judged",), 400)) if n % 4 < 3 or n == 303]
    assert estimate_cost(work, metrics).judge_calls == ASKS


def test_questions_that_depend_on_a_gate_are_counted_apart_and_among_all(root, monkeypatch):
    class Gated(JudgeHandle):
        def conditional_questions(self, rollout) -> int:
            return ASKS - 2

    script(monkeypatch, bound("judged", Gated(name="judge")), bound("other", JudgeHandle(name="plain_judge")))
    metrics = bind_metrics(lookaway.read(root, suite="scripted"))
    cost = estimate_cost(many(root, lambda n: ("judged", "other"), 40), metrics)
    assert (cost.judge_calls, cost.conditional_judge_calls) == (40 * 2 * ASKS, 40 * (ASKS - 2))


def test_seconds_of_a_gpu_stand_apart_and_are_those_of_the_wall(root, monkeypatch):
    script(monkeypatch, bound(recipe=OnGpu()))
    name = "brightness cuda float16"
    known = MachineCosts(
        {kind_of_machine(): StageTimings({name: StageTiming(seconds=6.0, cpu_seconds=1.0, frames=3, rollouts=1)})}
    )
    cost = plan_cost(root, measured=known)
    assert cost.gpu_seconds == pytest.approx(4 * 3 * 2.0)
    assert cost.cpu_seconds == pytest.approx(stages_of(cost)["decoding"].seconds)


def test_what_needs_a_network_is_planned_too(root, monkeypatch):
    network = OnGpu()
    script(monkeypatch, bound(recipe=FromNetwork(from_features=(network,))))
    stages = stages_of(plan_cost(root))
    assert stages["brightness cuda float16"].frames == 4 * 3
    assert stages["crops"].frames == 4 * 5


def test_what_chooses_its_frames_by_another_feature_is_planned_by_what_it_usually_takes(root, monkeypatch):
    script(monkeypatch, bound(recipe=FromPath(from_features=(Brightness(),))))
    stages = stages_of(plan_cost(root))
    assert stages["brightness"].frames == 4 * FRAMES
    assert stages["pairs"].frames == 4 * 6
    assert stages["decoding"].frames == 4 * FRAMES


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
    script(monkeypatch, bound(recipe=JudgeHandle()))
    settings = JudgeSettings(model=JudgeModel(backend="server", model="known"))
    unknown = plan_cost(root, judge=settings)
    assert (unknown.judge_calls, unknown.judge_measured_calls, unknown.judge_seconds) == (4 * ASKS, 0, None)
    assert unknown.judge_tokens == 4 * ASKS * (900 + 2 * 500)
    known = MachineCosts(judges={"known": JudgeCosts(calls=10, tokens=50, paced_calls=5, seconds=10.0)})
    cost = plan_cost(root, judge=settings, measured=known)
    assert (cost.judge_tokens, cost.judge_measured_calls, cost.judge_seconds) == (4 * ASKS * 5, 10, 4 * ASKS * 2.0)
    hurried = MachineCosts(judges={"known": JudgeCosts(calls=10, tokens=50)})
    assert plan_cost(root, judge=settings, measured=hurried).judge_seconds is None
    assert plan_cost(root, judge=settings, measured=hurried).judge_tokens == 4 * ASKS * 5
    limited = replace(settings, policy=RetryPolicy(per_second=4.0))
    assert plan_cost(root, judge=limited, measured=known).judge_seconds == ASKS


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


def test_features_that_runs_share_are_not_planned_again(tmp_path):
    root = write_mbench(tmp_path / "dataset", samples=2, subsets=("environment",)).root
    arguments = (root, "--metrics", LIGHT, "--features", tmp_path / "shared")
    command("eval", *arguments, "-o", tmp_path / "run", "--quiet")
    for output in ((), ("-o", tmp_path / "another")):
        cost = command("plan", *arguments, *output, "--json").json["cost"]
        assert cost["measurements"] == 4
        assert not {stage["stage"] for stage in cost["stages"]} & {"lab_means", "decoding"}


def test_a_plan_says_that_kept_replies_count_and_when_the_pace_of_a_judge_is_not_known(capsys, root, monkeypatch):
    script(monkeypatch, bound(recipe=JudgeHandle()))
    dataset = lookaway.read(root, suite="scripted")
    plan = make_plan(dataset, bind_metrics(dataset))
    print_plan(plan, [], a_cost(judge_calls=3, judge_tokens=9, judge_seconds=None), as_json=False)
    out = capsys.readouterr().out
    assert "judge: about 3 calls of 9 tokens in all (declared); replies that are stored already are included" in out
    assert "with 1 worker and 1 GPU, without the judge, whose speed is not known until a run has mostly waited" in out
    print_plan(plan, [], a_cost(judge_calls=3, judge_tokens=9), as_json=False)
    out = capsys.readouterr().out
    assert "whose speed" not in out
    assert "gate" not in out
    print_plan(plan, [], a_cost(judge_calls=3, judge_tokens=9, conditional_judge_calls=2), as_json=False)
    assert "(declared); 2 of them only if a gate opens; replies" in capsys.readouterr().out
