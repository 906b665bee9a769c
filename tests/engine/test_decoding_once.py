"""All metrics of all suites on one rollout: they share one decoding, and nothing is perceived twice."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from lookaway.core import plugins
from lookaway.engine import feature_job
from lookaway.engine.binding import bind_metrics
from lookaway.engine.feature_job import with_needs
from lookaway.engine.plan import make_plan
from lookaway.engine.reading import load_suite, read
from lookaway.engine.worker import RolloutWorker, Work, why_not_applicable
from lookaway.io.video import Video
from lookaway.store.feature_store import FeatureStore
from lookaway.store.run_folder import RunFolder
from tests.support.rendered import copy_small

pytestmark = pytest.mark.render

PROTOCOLS = {suite: "both" for suite in plugins.names("suites") if suite not in ("folder", "revisit")}
METRICS = {bound.name for suite in plugins.names("suites") for bound in load_suite(suite).metrics({})}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("world")
    copy_small(root)
    return root


@pytest.mark.parametrize("poses", ["true_poses", "tracked_poses"])
def test_all_metrics_of_all_suites_share_one_decoding_and_every_feature(world, tmp_path, monkeypatch, poses):
    counts: Counter[str] = Counter()
    finished: Counter[str] = Counter()

    class CountingVideo(Video):
        def __init__(self, path: Path) -> None:
            counts["opened"] += 1
            super().__init__(path)

    original = feature_job.FeatureJob._finish

    def counting(self, recipe):
        finished[self.extractors.key(recipe)] += 1
        original(self, recipe)

    monkeypatch.setattr(feature_job, "Video", CountingVideo)
    monkeypatch.setattr(feature_job.FeatureJob, "_finish", counting)
    dataset = read(world, suite="folder", pattern="clips/{case}/{model}/{seed}/video.mp4")
    (rollout,) = [rollout for rollout in dataset.rollouts if rollout.model == "perfect"]
    rollout = replace(
        rollout, case=replace(rollout.case, subset="any", action="right_then_left", prompt=("a room",) * 5)
    )
    bounds = {
        bound.name: replace(bound, subsets=None)
        for suite in plugins.names("suites")
        for bound in bind_metrics(replace(dataset, suite=suite), protocol=PROTOCOLS.get(suite), using={"poses": poses})
    }
    folder = RunFolder(tmp_path / "run")
    plan = make_plan(replace(dataset, rollouts=(rollout,)), tuple(bounds.values()))
    folder.start(plan.lock, plan.rollouts, {})
    worker = RolloutWorker(folder, FeatureStore(tmp_path / "features"), bounds)
    (report,) = worker([Work(rollout=rollout, content=plan.rollouts[0][1], metrics=tuple(bounds))]).reports
    able = [bound for bound in bounds.values() if why_not_applicable(bound, rollout) is None]
    recipes = with_needs(recipe for bound in able for recipe in bound.recipes.values())
    recipes = [recipe for recipe in recipes if recipe.declines(rollout) is None]
    assert len(able) >= 8
    assert bounds.keys() == METRICS
    assert report.failures == 0
    assert report.scores > 0
    assert counts == {"opened": 1}
    assert report.decoded_frames == 16 + 16  # the way back of mirrored paths is read once more, for all that compare it
    assert finished == {worker._extractors.key(recipe): 1 for recipe in recipes}
