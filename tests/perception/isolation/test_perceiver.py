"""Extractors that run in environments of their own, in the engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
import pytest

from lookaway.core import Case, ExtractorBase, Feature, Rollout, Unmeasurable
from lookaway.engine.feature_job import Extractors, FeatureJob
from lookaway.io.sampling import EveryFrame, UniformFrames
from lookaway.perception.isolation.environment import Environment
from lookaway.perception.isolation.process import RunnerFailed
from lookaway.perception.isolation.runner import LoadedIsolated, Runner
from tests.support.tiny import clip_bytes

pytestmark = pytest.mark.merge

RUNNERS = Path(__file__).parent / "runners"
NUMPY = "numpy==2.4.6"


@dataclass(frozen=True, slots=True)
class Isolated(ExtractorBase):
    """A recipe with its environment and a runner file of the tests."""

    name: ClassVar[str] = "isolated"
    bytes_per_frame: ClassVar[float] = 8.0
    arrays: ClassVar[Mapping[str, str]] = {}

    environment: Annotated[Environment, "packages"]
    runner: Annotated[str, "name of the runner file"] = "six_version"
    settings: Annotated[tuple[tuple[str, str], ...], "of the runner"] = ()
    batch: Annotated[int | None, "frames at once"] = None
    count: Annotated[int, "frames"] = 3

    def load(self) -> LoadedIsolated:
        runner = Runner(environment=self.environment, file=RUNNERS / f"{self.runner}.py", settings=dict(self.settings))
        runner.start()
        return LoadedIsolated(runner=runner, frames=UniformFrames(self.count), height=24, batch=self.batch)


@pytest.fixture
def rollout(tmp_path):
    (tmp_path / "clip.mp4").write_bytes(clip_bytes())
    case = Case(id="clip", subset="all", scene="clip")
    return Rollout(case=case, model="model", video=tmp_path / "clip.mp4")


def perceived(rollout, *recipes, extractors=None):
    return FeatureJob(extractors or Extractors(None), rollout, "content", recipes).run()


def test_two_extractors_see_each_its_own_version_of_one_library(rollout):
    older, newer = (Isolated(Environment((NUMPY, f"six=={version}"))) for version in ("1.15.0", "1.16.0"))
    found = perceived(rollout, older, newer)
    assert found[older]["version"].tolist() == [[1, 15, 0]] * 3
    assert found[newer]["version"].tolist() == [[1, 16, 0]] * 3
    assert found[older]["frame_indices"].tolist() == found[newer]["frame_indices"].tolist()
    assert found[older]["frame_indices"].dtype == np.int64


def test_a_child_that_dies_costs_one_rollout_its_feature(rollout):
    environment = Environment((NUMPY,))
    dying = Isolated(environment, "scripted", (("do", "die"),))
    fine = Isolated(environment, "scripted", (("do", "shapes"),))
    extractors = Extractors(None)
    for _ in range(2):
        found = perceived(rollout, dying, fine, extractors=extractors)
        assert isinstance(found[dying], RunnerFailed)
        assert "SIGKILL" in str(found[dying])
        assert isinstance(found[fine], Feature)


def test_nothing_to_measure_is_a_finding(rollout):
    recipe = Isolated(Environment((NUMPY,)), "scripted", (("do", "unmeasurable"), ("reason", "no_target")))
    found = perceived(rollout, recipe)[recipe]
    assert isinstance(found, Unmeasurable)
    assert found.reason.value == "no_target"


@pytest.mark.parametrize(("batch", "sizes"), [(None, [5] * 5), (2, [2, 2, 2, 2, 1]), (5, [5] * 5), (1, [1] * 5)])
def test_frames_go_in_batches_and_answers_are_joined(rollout, batch, sizes):
    recipe = Isolated(Environment((NUMPY,)), "scripted", (("do", "shapes"),), batch=batch, count=5)
    found = perceived(rollout, recipe)[recipe]
    whole = perceived(rollout, Isolated(recipe.environment, "scripted", recipe.settings, count=5))
    assert found["batch"].tolist() == sizes
    np.testing.assert_allclose(found["means"], next(iter(whole.values()))["means"])
    assert len(found["frame_indices"]) == 5


def test_a_request_for_frames_is_what_the_sampler_chose(rollout):
    loaded = LoadedIsolated(runner=None, frames=EveryFrame(2), height=24)
    timeline = type("T", (), {"frame_count": 5})
    assert sorted(loaded.start(rollout, timeline, {}).request.indices) == [0, 2, 4]
    assert loaded.start(rollout, timeline, {}).request.height == 24
