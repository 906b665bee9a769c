"""All 23 metrics end to end, published and corrected: real loading code, tiny random networks in the real files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import lookaway
from lookaway.core import Dataset, JudgeModel
from lookaway.engine.reading import load_suite
from lookaway.engine.run import Run
from lookaway.judges.client import RetryPolicy
from lookaway.judges.oracle import OracleServer
from lookaway.judges.server import Connection, Secret
from lookaway.judges.settings import JudgeSettings
from lookaway.perception.weights import Weights
from lookaway.world.exports import export_world
from lookaway.world.grid import Grid
from tests.judges.requests import QUICK
from tests.support.hub import empty_hub, publish
from tests.support.mask_networks import tiny_grounding_dino, tiny_sam2
from tests.support.networks import tiny_dinov2
from tests.support.onnx_networks import tiny_buffalo
from tests.support.picture_networks import random_lpips, random_vgg19, spoil, tiny_clip
from tests.support.rendered import copy_clips
from tests.support.runs import outcomes
from tests.support.world import FORM

pytestmark = [pytest.mark.render, pytest.mark.merge]

KEY = "sk-of-the-oracle-0123456789"
NETWORKS = {
    "human_identity_consistency": {"buffalo-l"},
    "human_appearance_consistency": {"buffalo-l", "sam2.1-base-plus", "dinov2-base"},
    "object_texture_consistency": {"sam2.1-base-plus", "dinov2-base"},
    "object_geometry_consistency": {"sam2.1-base-plus"},
    "rendering_style": {"vgg19", "alexnet", "lpips-alex", "dinov2-base"},
    "prompt_interaction": {"clip-vit-b-32-laion2b"},
}
ENTITY = [name for name in NETWORKS if name.endswith("_consistency")]


@dataclass(frozen=True)
class Stage:
    """Two datasets of one rollout a subset, and what a judge knows about them."""

    root: Path
    oracle: OracleServer
    weights: tuple[Weights, ...]

    def dataset(self, setting: str) -> Dataset:
        return lookaway.read(self.root / setting)

    def evaluate(self, setting: str, name: str, **options) -> Run:
        judge = JudgeSettings(
            model=JudgeModel(model="oracle"),
            connection=Connection(url=self.oracle.base_url, key=Secret(KEY), timeout_seconds=10),
            policy=RetryPolicy(concurrent=1, tries=4, **QUICK),
        )
        given = {"judge": judge, "features": self.root / "features", **options}
        return lookaway.evaluate(self.dataset(setting), self.root / name, **given)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    root = tmp_path_factory.mktemp("tiny")
    grid = Grid(families=("playroom",), events=("none", "in_place"), cameras=("yaw_right_60",), seeds=(0,))
    copy_clips(grid.recipes(replace(FORM, width=96)), root / "world")
    for setting in ("mbench-a", "mbench-t"):
        export_world(root / "world", setting, root / setting)
        keep_one_a_subset(root / setting)
    with pytest.MonkeyPatch.context() as patch, OracleServer(root / "world", key=KEY) as oracle:
        empty_hub(root / "home", patch)
        weights = (
            tiny_buffalo(),
            tiny_sam2(seen=5.0),
            tiny_dinov2(),
            tiny_grounding_dino(),
            tiny_clip(),
            random_vgg19(),
            *random_lpips("alex"),
        )
        for each in weights:
            publish(each, patch)
        yield Stage(root, oracle, weights)


def keep_one_a_subset(root: Path) -> None:
    """What changes is of the causal subset, what stays is of all others; the human one shows the object's clip."""
    path = root / "models" / "perfect" / "samples.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    kept = [line for line in lines if ("-in_place-" in line["sample_id"]) == (line["subset"] == "causal")]
    thing = next(line for line in kept if line["subset"] == "object")
    kept.append({**thing, "subset": "human", "item_id": thing["item_id"].replace("object:", "human:")})
    os.symlink("object", root / "samples" / "human")
    path.write_text("".join(json.dumps(line) + "\n" for line in kept))


@pytest.fixture(scope="module", params=["mbench-a", pytest.param("mbench-t", marks=pytest.mark.nightly)])
def run(request: pytest.FixtureRequest, stage: Stage) -> Run:
    every = [bound.name for bound in load_suite(request.param).metrics({}) if not bound.is_gate]
    return stage.evaluate(request.param, f"run-{request.param}", metrics=every)


def found(run: Run) -> dict[str, float | str]:
    """By metric, the value, or why there is none; every metric but the gate of setting A is asked of one rollout."""
    rows = {key: row for key, row in outcomes(run.path).items() if not key[1].endswith(".revisited")}
    assert len({metric for _, metric in rows}) == len(rows)
    return {metric: row["value"] if row["status"] == "score" else row["reason"] for (_, metric), row in rows.items()}


def test_every_metric_gives_a_score(run, stage):
    suite = run.about["suite"]
    bound = load_suite(suite).metrics(stage.dataset(suite).settings)
    values = found(run)
    assert values.keys() == {metric.name for metric in bound if metric.metric.name != "revisited"}
    published = [metric for metric in bound if metric.is_of("published") and not metric.is_gate]
    assert len(published) == {"mbench-a": 12, "mbench-t": 11}[suite]
    without = {name: value for name, value in values.items() if not isinstance(value, float)}
    assert set(without.values()) <= {"not_applicable"}
    assert all(name.startswith("further.") for name in without)
    assert all(0 <= value <= 1 for value in values.values() if isinstance(value, float))


def test_what_the_judge_knows_and_what_stands_still_scores_as_it_is(run):
    values = {metric.partition(".")[2]: value for metric, value in found(run).items()}
    for name in ("causal.state_progress", "causal.progress_correctness", "corrected.causal.progress_correctness"):
        assert values[name] == 1.0
    assert {value for name, value in values.items() if name.endswith(".trigger")} <= {1.0}
    for start in ("", "corrected."):
        assert values[f"{start}entity.object_geometry_consistency"] > 0.95
        assert values[f"{start}environment.spatial_epipolar"] > 0.7


def test_every_step_of_style_tells_what_lpips_and_dinov2_say_of_it(run):
    for metric in (name for name in found(run) if name.endswith("rendering_style")):
        details = [json.loads(unit["detail"]) for unit in run.units(metric)]
        assert {tuple(sorted(detail)) for detail in details} == {("dinov2", "lpips")}


def test_both_faces_and_both_bodies_of_every_frame_are_in_a_track(run):
    for name in ("human_identity_consistency", "human_appearance_consistency"):
        for metric in (entry.name for entry in run.metrics if entry.name.endswith(name)):
            tracks = [json.loads(unit["detail"])["frames"] for unit in run.units(metric) if unit["status"] == "score"]
            single = [unit for unit in run.units(metric) if unit["reason"] == "too_short"]
            assert sum(map(len, tracks)) + len(single) == 2 * FORM.frames
            assert {frame for frames in tracks for frame in frames} == set(range(FORM.frames))


def test_the_lock_names_every_file_that_was_loaded(run, stage):
    hashes = {each.name: {file.sha256 for file in each.files} for each in stage.weights}
    for name, entry in run.lock.entries["metrics"].items():
        *_, family, metric = name.split(".")
        loaded = set(NETWORKS.get(metric, ()))
        if family == "entity" and metric.startswith("object") and name.startswith("mbencht"):
            loaded.add("grounding-dino-tiny")
        told = json.dumps(entry)
        assert {weights for weights, files in hashes.items() if any(file in told for file in files)} == loaded, name
        assert all(file in told for weights in loaded for file in hashes[weights])


def test_a_changed_file_is_refused_by_those_who_load_it_and_by_nobody_else(stage):
    (buffalo,) = (each for each in stage.weights if each.name == "buffalo-l")
    path = buffalo.file("recognition/model.onnx")
    before = path.read_bytes()
    spoil(path)
    try:
        run = stage.evaluate("mbench-a", "spoilt", metrics=ENTITY, features=stage.root / "spoilt_features")
    finally:
        path.write_bytes(before)
    reasons = {metric.rpartition(".")[2]: value for metric, value in found(run).items()}
    assert reasons.pop("human_identity_consistency") == reasons.pop("human_appearance_consistency") == "wrong_weights"
    assert len(reasons) == 2
    assert all(isinstance(value, float) for value in reasons.values())


def test_without_files_those_who_load_them_abstain_and_all_others_score(stage, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "empty"))
    run = stage.evaluate("mbench-a", "without", features=tmp_path / "features")
    lacking = {metric.rpartition(".")[2] for metric, value in found(run).items() if value == "missing_weights"}
    assert lacking == set(NETWORKS)
    others = [value for value in found(run).values() if value not in ("missing_weights", "not_applicable")]
    assert others
    assert all(isinstance(value, float) for value in others)
