from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import lookaway
from lookaway.core import DatasetError, UnknownName, UserError
from lookaway.engine.binding import bind_metrics
from lookaway.engine.costs import estimate_cost
from lookaway.engine.plan import make_plan
from lookaway.io.sampling import UniformFrames
from lookaway.perception.similarity.compared_frames import MirroredFrames
from lookaway.store.run_folder import RunFolder
from tests.support.scripted import CALLS, Brightness, bound, install, script
from tests.support.tiny import FRAMES, HEIGHT, QUICK, WIDTH, clip_bytes, write_folder, write_mbench


@dataclass(frozen=True)
class Network(Brightness):
    """An extractor with weights, which looks at three frames."""

    weights: str = "large"
    frames: UniformFrames = UniformFrames(3)


@dataclass(frozen=True)
class ComparingNetwork(Brightness):
    """An extractor with weights, which compares the first half of a clip with the second."""

    weights: str = "large"
    compared: MirroredFrames = MirroredFrames()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "videos", cases=2)


def files_under(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_plan_holds_every_metric_of_the_protocol_that_a_rollout_is_asked(tmp_path):
    dataset = lookaway.read(write_mbench(tmp_path / "dataset", samples=1).root)
    work = make_plan(dataset, bind_metrics(dataset)).work()
    assert {entry.rollout.case.subset: len(entry.metrics) for entry in work} == {"environment": 4 + 1, "causal": 4}


def test_a_plan_leaves_out_what_the_folder_holds(root, tmp_path, monkeypatch):
    script(monkeypatch, bound("first"), bound("second"))
    lookaway.evaluate(root, tmp_path / "run", suite="scripted", metrics=["first"])
    dataset = lookaway.read(root, suite="scripted")
    work = make_plan(dataset, bind_metrics(dataset)).work(RunFolder(tmp_path / "run"))
    assert [entry.metrics for entry in work] == [("second",), ("second",)]


def test_a_plan_knows_of_a_video_that_changed_since_the_run(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    (root / "alpha" / "case1.mp4").write_bytes(clip_bytes(9))
    dataset = lookaway.read(root, suite="scripted")
    work = make_plan(dataset, bind_metrics(dataset)).work(RunFolder(tmp_path / "run"))
    assert [entry.rollout.id for entry in work] == ["alpha/case1/0"]


def test_the_cost_of_a_plan_is_positive_and_grows_with_the_rollouts(tmp_path):
    root = write_mbench(tmp_path / "dataset", models=("alpha", "beta"), subsets=("environment",)).root
    costs = []
    for models in (("alpha",), ("alpha", "beta")):
        dataset = lookaway.read(root, models=models)
        metrics = bind_metrics(dataset, QUICK[:1])
        costs.append(estimate_cost(make_plan(dataset, metrics).work(), metrics))
    one, two = costs
    assert (one.rollouts, one.measurements, one.looked_at) == (2, 4, 2)
    seconds = {stage.stage: stage.seconds for stage in one.stages}
    assert seconds["decoding"] == pytest.approx(2 * FRAMES * WIDTH * HEIGHT / (200 * 832 * 480))
    assert seconds["lab_means"] > 0
    assert one.disk_bytes > 0
    assert two.rollouts == 2 * one.rollouts


def test_estimating_a_cost_perceives_nothing_and_writes_nothing(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    dataset = lookaway.read(root, suite="scripted")
    metrics = bind_metrics(dataset)
    before = files_under(tmp_path)
    cost = estimate_cost(make_plan(dataset, metrics).work(), metrics, tmp_path / "features")
    assert files_under(tmp_path) == before
    assert CALLS["brightness.add_frame"] == CALLS["brightness.finish"] == 0
    assert cost.cpu_seconds > 0


@pytest.mark.parametrize(("recipe", "frames"), [(Network(), 3), (ComparingNetwork(), FRAMES // 2)])
def test_estimating_a_cost_loads_no_network(root, monkeypatch, recipe, frames):
    script(monkeypatch, bound(recipe=recipe))
    dataset = lookaway.read(root, suite="scripted")
    metrics = bind_metrics(dataset)
    cost = estimate_cost(make_plan(dataset, metrics).work(), metrics)
    assert CALLS["brightness.load"] == 0
    (stage,) = (stage for stage in cost.stages if stage.stage == "brightness")
    assert stage.seconds == pytest.approx(frames * recipe.seconds_per_frame * len(dataset.rollouts))


def test_files_that_are_read_for_an_estimate_leave_no_feature(tmp_path):
    dataset = lookaway.read(write_mbench(tmp_path / "dataset", samples=1).root)
    metrics = bind_metrics(dataset)
    before = files_under(tmp_path)
    estimate_cost(make_plan(dataset, metrics).work(), metrics, tmp_path / "features")
    assert files_under(tmp_path) == before


def test_a_name_that_is_no_unicode_is_an_error_of_the_user(root):
    dataset = lookaway.read(root)
    odd = replace(dataset.rollouts[0], model="caf\udce9")
    with pytest.raises(DatasetError, match="not valid Unicode"):
        make_plan(replace(dataset, rollouts=(odd,)), bind_metrics(dataset))
    odd = replace(dataset.rollouts[0], case=replace(odd.case, prompt=("caf\udce9",)))
    with pytest.raises(DatasetError, match="not valid Unicode"):
        make_plan(replace(dataset, rollouts=(odd,)), bind_metrics(dataset))


def test_features_that_are_kept_cost_nothing(root, tmp_path, monkeypatch):
    script(monkeypatch, bound("first"), bound("second"))
    lookaway.evaluate(root, tmp_path / "run", suite="scripted", metrics=["first"])
    dataset = lookaway.read(root, suite="scripted")
    metrics = bind_metrics(dataset)
    folder = RunFolder(tmp_path / "run")
    cost = estimate_cost(make_plan(dataset, metrics).work(folder), metrics, folder.features)
    assert (cost.measurements, cost.cpu_seconds, cost.stages) == (2, 0, ())


def test_a_cost_is_estimated_where_videos_are_missing(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    dataset = lookaway.read(root, suite="scripted")
    for rollout in dataset.rollouts:
        rollout.video.unlink()
    metrics = bind_metrics(dataset)
    cost = estimate_cost(make_plan(dataset, metrics).work(), metrics)
    assert (cost.cpu_seconds, cost.looked_at) == (0, 2)


def test_a_plan_without_metrics_is_an_error_of_the_user(root):
    dataset = lookaway.read(root)
    with pytest.raises(UserError, match="no metric was chosen"):
        make_plan(dataset, bind_metrics(dataset, []))


def test_a_metric_is_found_by_the_end_of_its_name(tmp_path):
    dataset = lookaway.read(write_mbench(tmp_path / "dataset", samples=1).root)
    (metric,) = bind_metrics(dataset, ["camera_interaction"])
    assert metric.name == "mbencha.causal.camera_interaction"


def test_an_installed_metric_that_the_suite_does_not_name_runs_with_default_recipes(root, tmp_path, monkeypatch):
    script(monkeypatch)
    install(monkeypatch, "metrics", mean_brightness="tests.support.scripted:MeanBrightness")
    install(monkeypatch, "extractors", brightness="tests.support.scripted:Brightness")
    run = lookaway.evaluate(root, tmp_path / "run", suite="scripted", metrics=["mean_brightness"])
    assert run.table().cells[0].scored == 2


def test_an_unknown_metric_is_refused_with_the_nearest_name(root):
    with pytest.raises(UnknownName, match="Did you mean 'spatial_epipolar'"):
        bind_metrics(lookaway.read(root, suite="folder"), ["spatial_epipolr"])
