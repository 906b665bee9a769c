from __future__ import annotations

from dataclasses import dataclass

import pytest

from lookaway.core import Dataset, UnknownName, UserError
from lookaway.engine.binding import bind_metrics
from lookaway.engine.reading import load_suite
from tests.support.scripted import MeanBrightness, install


@dataclass(frozen=True)
class MatchCount(MeanBrightness):
    needs: tuple[str, ...] = ("sift_matches",)


@dataclass(frozen=True)
class NeedsArguments:
    pairs: int


@dataclass(frozen=True)
class Unbindable(MeanBrightness):
    needs: tuple[str, ...] = ("needs_arguments",)


@pytest.fixture
def dataset(tmp_path) -> Dataset:
    return Dataset(suite="mbench-a", root=tmp_path, rollouts=())


def test_the_whole_protocol_is_the_default(dataset):
    assert bind_metrics(dataset) == load_suite("mbench-a").metrics({})


def test_the_last_part_of_a_public_name_is_enough(dataset):
    (bound,) = bind_metrics(dataset, ["camera_interaction"])
    assert bound.name == "mbencha.causal.camera_interaction"


def test_a_metric_named_twice_runs_once(dataset):
    assert len(bind_metrics(dataset, ["camera_interaction", "mbencha.causal.camera_interaction"])) == 1


def test_a_contributed_metric_takes_the_recipe_that_the_suite_has_for_its_extractor(dataset, monkeypatch):
    install(monkeypatch, "metrics", match_count=f"{__name__}:MatchCount")
    (bound,) = bind_metrics(dataset, ["match_count"])
    (epipolar,) = bind_metrics(dataset, ["spatial_epipolar"])
    assert bound.recipes["sift_matches"] == epipolar.recipes["matches"]


def test_an_extractor_without_defaults_is_refused_with_what_to_do(dataset, monkeypatch):
    install(monkeypatch, "metrics", unbindable=f"{__name__}:Unbindable")
    install(monkeypatch, "extractors", needs_arguments=f"{__name__}:NeedsArguments")
    with pytest.raises(UserError, match=r"'needs_arguments' cannot be used by name alone.*give its fields defaults"):
        bind_metrics(dataset, ["unbindable"])


def test_an_unknown_metric_is_answered_with_the_nearest_name(dataset):
    with pytest.raises(UnknownName, match=r"Did you mean 'mbencha.environment.spatial_epipolar'\?"):
        bind_metrics(dataset, ["mbencha.environment.spatial_epipolr"])
