"""Metrics that are given to `evaluate` as objects, without an entry point."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import lookaway
from lookaway.core import Dataset, MetricBase, Outcome, Score, UserError
from lookaway.engine.binding import bind_metrics
from lookaway.engine.locking import metric_entries, metric_key
from lookaway.metrics.rendering_lighting import RenderingLighting
from lookaway.perception.quality.lab_means import LabMeans
from lookaway.reports.case_page.reproduce import run_command
from lookaway.reports.metric_facts import MetricFacts, metric_facts
from lookaway.reports.runs import load_run
from tests.support.tiny import write_folder, write_mbench


@dataclass(frozen=True, slots=True)
class Flicker(MetricBase):
    """Change of lightness."""

    name = "flicker"
    unit = "L*"
    range = (0.0, None)
    higher_is_better = False
    needs = ("lab_means",)

    factor: float = 1.0

    def measure(self, rollout, features) -> Outcome:
        lightness = features["lab_means"]["lab"][:, 0]
        return Score(self.factor * float(abs(lightness[1:] - lightness[:-1]).mean()))


SOURCE = """
from dataclasses import dataclass
from lookaway.core import MetricBase, Score

FACTOR = 2.0

@dataclass(frozen=True)
class Written(MetricBase):
    name = "written"
    needs = ("lab_means",)

    def measure(self, rollout, features):
        return Score(FACTOR * len(features))
"""


def imported(path: Path, source: str):
    """The class of a file, imported under a name of its own."""
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    sys.modules[path.stem] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Written


@pytest.fixture
def root(tmp_path) -> Path:
    return write_folder(tmp_path / "videos")


@pytest.fixture
def dataset(tmp_path) -> Dataset:
    return Dataset(suite="folder", root=tmp_path, rollouts=())


def test_an_object_is_measured_beside_a_metric_of_the_suite_and_resumes(root, tmp_path):
    metrics = [Flicker(), "rendering_lighting"]
    run = lookaway.evaluate(root, tmp_path / "run", suite="folder", metrics=metrics)
    before = {cell.metric: cell.scored for cell in run.table().cells}
    assert before == {"flicker": 2, "rendering_lighting": 0}  # the camera never looks away
    assert run.about["requested"]["metrics"] == ["flicker", "rendering_lighting"]
    reports = []
    again = lookaway.evaluate(root, tmp_path / "run", suite="folder", metrics=metrics, on_progress=reports.append)
    assert again.lock == run.lock
    assert not [progress for progress in reports if progress.done]


def test_the_lock_holds_class_version_fields_and_source_of_an_object(dataset):
    (bound,) = bind_metrics(dataset, [Flicker(factor=3.0)])
    entries = metric_entries(bound)
    assert entries["metric"] == {"kind": "flicker", "version": 1, "factor": 3.0}
    assert entries["source"] == {"class": "Flicker", "sha256": bound.source_sha256}
    assert len(bound.source_sha256) == 64


def test_an_object_of_an_installed_metric_has_the_lock_of_its_name(dataset):
    assert bind_metrics(dataset, [RenderingLighting()]) == bind_metrics(dataset, ["rendering_lighting"])


def test_a_change_of_the_source_changes_the_lock(dataset, tmp_path):
    keys = {
        metric_key(bind_metrics(dataset, [imported(tmp_path / f"{name}.py", source)()])[0])
        for name, source in {
            "first": SOURCE,
            "the_same_elsewhere": SOURCE,
            "another_helper": SOURCE.replace("2.0", "3.0"),
            "another_measure": SOURCE.replace("len(features)", "1"),
        }.items()
    }
    assert len(keys) == 3


def test_the_source_of_a_base_class_counts_too(dataset, tmp_path):
    bases = (imported(tmp_path / f"base{number}.py", SOURCE.replace("2.0", number)) for number in ("4", "5"))
    first, second = (dataclass(frozen=True)(type("Derived", (base,), {})) for base in bases)
    assert bind_metrics(dataset, [first()])[0].source_sha256 != bind_metrics(dataset, [second()])[0].source_sha256


def test_a_feature_comes_from_the_suite_where_it_has_a_recipe_and_else_from_the_extractor(tmp_path):
    suite = lookaway.read(write_mbench(tmp_path / "dataset", samples=1).root)
    (bound,) = bind_metrics(suite, [Flicker()])
    own = next(metric for metric in bind_metrics(suite, ["rendering_lighting"]))
    assert bound.recipes == {"lab_means": own.recipes["lab_means"]}
    assert bound.subsets is None

    @dataclass(frozen=True)
    class Blurry(Flicker):
        name = "blurry"
        needs = ("frame_fidelity",)

    assert bind_metrics(suite, [Blurry()])[0].recipes["frame_fidelity"].name == "frame_fidelity"
    assert isinstance(own.recipes["lab_means"], LabMeans)


@pytest.mark.parametrize("other", [Flicker(factor=2.0), Flicker(factor=4.0)])
def test_two_metrics_of_one_name_are_refused(dataset, other):
    with pytest.raises(UserError, match=r"Two different metrics are named 'flicker': Flicker\(factor=1.0\) and"):
        bind_metrics(dataset, [Flicker(), other])


def test_an_object_and_a_metric_of_the_suite_with_one_name_are_refused(dataset):
    with pytest.raises(UserError, match="Two different metrics are named 'rendering_lighting'"):
        bind_metrics(dataset, ["rendering_lighting", RenderingLighting(tau=99.0)])


def test_a_class_in_place_of_an_object_is_explained(dataset):
    with pytest.raises(UserError, match=r"Flicker is a class, expected a metric: write Flicker\(\)"):
        bind_metrics(dataset, [Flicker])


def test_an_object_that_is_no_metric_is_refused_with_what_it_lacks(dataset):
    with pytest.raises(UserError, match=r"int is not a metric: it has no name, .*measure\. Derive it from"):
        bind_metrics(dataset, [3])


def test_a_class_that_is_no_frozen_dataclass_itself_is_refused(dataset):
    class Undecorated(Flicker):
        scale: float = 2.0

    with pytest.raises(UserError, match=r"Undecorated is not a frozen dataclass.*@dataclass\(frozen=True\)"):
        bind_metrics(dataset, [Undecorated()])


def test_a_constant_that_no_lock_can_hold_is_refused(dataset):
    with pytest.raises(UserError, match="Flicker: set cannot be locked"):
        bind_metrics(dataset, [Flicker(factor={1, 2})])


def test_a_class_without_source_is_refused_with_what_to_do(dataset):
    space = {"__name__": "typed_at_a_prompt"}
    exec(SOURCE, space)
    with pytest.raises(UserError, match=r"module 'typed_at_a_prompt' was not found\. Write the class into a file"):
        bind_metrics(dataset, [space["Written"]()])


def test_a_report_knows_the_direction_and_the_unit_of_an_object(root, tmp_path):
    run = lookaway.evaluate(root, tmp_path / "run", metrics=[Flicker()])
    assert metric_facts(run) == {"flicker": MetricFacts(unit="L*", range=(0.0, None), higher_is_better=False)}
    site = load_run(run, "run")
    assert (site.metrics[0].unit, site.metrics[0].higher_is_better) == ("L*", False)
    assert run_command(site).endswith("# in Python with lookaway.evaluate: flicker came as an object")
