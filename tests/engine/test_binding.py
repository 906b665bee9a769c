from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from lookaway.core import BoundMetric, Compute, Dataset, UnknownName, UserError, plugins
from lookaway.engine.binding import Overrides, bind_metrics
from lookaway.engine.locking import metric_key
from lookaway.engine.reading import load_suite
from lookaway.perception.faces.sface_faces import SfaceFaces
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


@dataclass(frozen=True)
class Network:
    """An extractor with a network, made from another with one."""

    name: ClassVar[str] = "network"
    compute: Compute = Compute()
    inner: Network | None = None

    @property
    def needs(self):
        return {"inner": self.inner} if self.inner else {}


@dataclass(frozen=True)
class TrueNetwork(Network):
    """One that reads the reference video."""

    of_reference: ClassVar[bool] = True


@pytest.fixture
def dataset(tmp_path) -> Dataset:
    return Dataset(suite="mbench-a", root=tmp_path, rollouts=())


def test_the_published_protocol_is_the_default(dataset):
    every = load_suite("mbench-a").metrics({})
    assert bind_metrics(dataset) == tuple(bound for bound in every if bound.protocol != "corrected")
    assert bind_metrics(dataset, protocol="corrected") == tuple(bound for bound in every if bound.is_of("corrected"))
    assert bind_metrics(dataset, protocol="both") == every


def test_a_suite_without_a_publication_refuses_a_protocol(tmp_path):
    folder = Dataset(suite="folder", root=tmp_path, rollouts=())
    with pytest.raises(
        UserError, match=r"no publication has these metrics of the suite 'folder'.* Leave --protocol out"
    ):
        bind_metrics(folder, protocol="published")


def test_a_short_name_is_that_of_the_protocol_and_a_whole_name_of_either(tmp_path):
    dataset = Dataset(suite="mind", root=tmp_path, rollouts=())

    def names(*wanted, **options):
        return [bound.name for bound in bind_metrics(dataset, wanted, **options) if not bound.is_gate]

    assert names("lcm.psnr") == ["mind.lcm.psnr"]
    assert names("lcm.psnr", protocol="corrected") == ["mind.corrected.lcm.psnr"]
    assert names("lcm.psnr", protocol="both") == ["mind.lcm.psnr", "mind.corrected.lcm.psnr"]
    assert names("mind.corrected.lcm.psnr") == ["mind.corrected.lcm.psnr"]


def test_the_last_part_of_a_public_name_is_enough(dataset):
    (bound,) = bind_metrics(dataset, ["camera_interaction"])
    assert bound.name == "mbencha.causal.camera_interaction"


def test_the_name_of_a_suite_stands_for_its_protocol(dataset):
    own = tuple(bound for bound in load_suite("mbench-a").metrics({}) if bound.is_of("published"))
    assert bind_metrics(dataset, ["mbench-a"]) == own
    joined = bind_metrics(dataset, ["mbench-a", "mind"])
    added = [bound for bound in joined if bound not in own]
    assert [bound.name for bound in added] == [
        bound.name for bound in load_suite("mind").metrics({}) if bound.is_of("published") and not bound.is_gate
    ]
    assert all(bound.subsets is None for bound in added)
    assert [bound.name for bound in joined if bound.is_gate] == ["mbencha.revisited"]


def test_another_suite_is_measured_with_the_settings_of_the_dataset(dataset):
    ours = bind_metrics(dataset, ["mind"])
    theirs = bind_metrics(replace(dataset, settings={"alignment": "se3"}), ["mind"])
    assert {metric_key(bound) for bound in ours} != {metric_key(bound) for bound in theirs}


def test_the_gate_comes_with_consistency_for_its_subsets_alone(dataset):
    bound, gate = bind_metrics(dataset, ["object_texture_consistency"])
    assert (bound.is_consistency, gate.name, gate.is_gate) == (True, "mbencha.revisited", True)
    assert gate.subsets == ("object",)


def test_the_gate_can_be_measured_by_itself(dataset):
    (gate,) = bind_metrics(dataset, ["revisited"])
    assert gate in load_suite("mbench-a").metrics({})


def test_a_gate_of_all_subsets_stays_so_for_a_metric_of_all(tmp_path):
    folder = Dataset(suite="folder", root=tmp_path, rollouts=())
    gate = bind_metrics(folder, ["spatial_epipolar"])[-1]
    assert (gate.name, gate.subsets) == ("revisited", None)


@pytest.mark.parametrize(
    ("metric", "is_gated"), [("rendering_lighting", True), ("state_progress", False), ("camera_interaction", False)]
)
def test_the_gate_comes_with_what_other_suites_call_consistency(tmp_path, metric, is_gated):
    plain = Dataset(suite="revisit", root=tmp_path, rollouts=())
    bounds = bind_metrics(plain, [metric])
    assert (bounds[0].is_consistency, [bound.name for bound in bounds[1:]]) == (
        is_gated,
        ["revisited"] if is_gated else [],
    )


def test_a_feature_without_a_recipe_is_met_with_the_suites_that_have_one(tmp_path):
    plain = Dataset(suite="revisit", root=tmp_path, rollouts=())
    with pytest.raises(UserError, match=r"no recipe for the feature 'matches'.*--suite folder, --suite mbench-a"):
        bind_metrics(plain, ["spatial_epipolar"])


def test_a_metric_named_twice_runs_once(dataset):
    assert len(bind_metrics(dataset, ["camera_interaction", "mbencha.causal.camera_interaction"])) == 1


def test_a_contributed_metric_takes_the_recipe_that_the_suite_has_for_its_extractor(dataset, monkeypatch):
    install(monkeypatch, "metrics", match_count=f"{__name__}:MatchCount")
    (bound,) = bind_metrics(dataset, ["match_count"])
    epipolar, _ = bind_metrics(dataset, ["spatial_epipolar"])
    assert bound.recipes["sift_matches"] == epipolar.recipes["matches"]


def test_an_extractor_without_defaults_is_refused_with_what_to_do(dataset, monkeypatch):
    install(monkeypatch, "metrics", unbindable=f"{__name__}:Unbindable")
    install(monkeypatch, "extractors", needs_arguments=f"{__name__}:NeedsArguments")
    with pytest.raises(UserError, match=r"'needs_arguments' cannot be used by name alone.*give its fields defaults"):
        bind_metrics(dataset, ["unbindable"])


def test_an_unknown_metric_is_answered_with_the_nearest_name(dataset):
    with pytest.raises(UnknownName, match=r"Did you mean 'mbencha.environment.spatial_epipolar'\?"):
        bind_metrics(dataset, ["mbencha.environment.spatial_epipolr"])


def test_another_extractor_takes_the_place_of_a_feature_wherever_it_is_used(dataset):
    bound, gate = bind_metrics(dataset, ["spatial_epipolar"], using={"poses": "true_poses"})
    assert bound.recipes["poses"].name == gate.recipes["poses"].name == "true_poses"
    assert bound.recipes["matches"].poses == bound.recipes["poses"]
    plain, _ = bind_metrics(dataset, ["spatial_epipolar"])
    assert bound.recipes["matches"].pairs == plain.recipes["matches"].pairs


def test_an_extractor_named_instead_of_another_compares_the_same_frames(dataset):
    bound, _ = bind_metrics(dataset, ["spatial_epipolar"], using={"matches": "true_matches", "poses": "true_poses"})
    plain, _ = bind_metrics(dataset, ["spatial_epipolar"])
    assert bound.recipes["matches"].name == "true_matches"
    assert bound.recipes["matches"].pairs == plain.recipes["matches"].pairs
    assert bound.recipes["matches"].poses == bound.recipes["poses"] != plain.recipes["poses"]


def test_an_extractor_that_misses_what_the_replaced_one_does_not_have_is_refused(dataset):
    message = "'true_matches' cannot replace 'supplied_poses' by name alone: it has no default for poses, pairs"
    with pytest.raises(UserError, match=message):
        bind_metrics(dataset, ["spatial_epipolar"], using={"poses": "true_matches"})


def test_another_extractor_is_another_lock(dataset):
    plain, changed = (
        metric_key(bind_metrics(dataset, ["spatial_epipolar"], using=using)[0])
        for using in ({}, {"poses": "true_poses"})
    )
    assert plain != changed


def test_a_feature_that_no_metric_uses_is_met_with_the_nearest(dataset):
    with pytest.raises(UnknownName, match="Did you mean 'poses'"):
        bind_metrics(dataset, ["spatial_epipolar"], using={"pose": "true_poses"})


def test_an_extractor_that_is_not_installed_is_met_with_the_nearest(dataset):
    with pytest.raises(UnknownName, match="Did you mean 'true_poses'"):
        bind_metrics(dataset, using={"poses": "tru_poses"})


@pytest.mark.parametrize("extractor", plugins.names("extractors"))
def test_the_answer_s_camera_and_the_true_one_are_never_one_feature(tmp_path, extractor):
    mind = Dataset(suite="mind", root=tmp_path, rollouts=())
    chosen = []
    for feature in ("poses", "reference_poses"):
        with suppress(UserError):
            (bound,) = bind_metrics(mind, ["action.rpe_rot"], using={feature: extractor})
            assert bound.recipes["poses"] != bound.recipes["reference_poses"]
            chosen.append(feature)
    assert len(chosen) <= 1


@pytest.mark.parametrize(
    ("feature", "extractor", "message"),
    [
        ("reference_poses", "tracked_poses", "'reference_poses' is extracted from the reference video, but"),
        ("poses", "reference_poses", "'poses' is extracted from the generated video, but"),
    ],
)
def test_a_camera_that_would_be_compared_with_itself_is_refused(tmp_path, feature, extractor, message):
    mind = Dataset(suite="mind", root=tmp_path, rollouts=())
    with pytest.raises(UserError, match=f"{message}.*would be compared with itself"):
        bind_metrics(mind, using={feature: extractor})


def test_an_extractor_of_the_true_video_may_take_the_place_of_another(tmp_path, monkeypatch):
    install(monkeypatch, "extractors", true_network=f"{__name__}:TrueNetwork")
    mind = Dataset(suite="mind", root=tmp_path, rollouts=())
    (bound,) = bind_metrics(mind, ["action.rpe_rot"], using={"reference_poses": "true_network"})
    assert bound.recipes["reference_poses"] == TrueNetwork()


def test_networks_run_where_the_user_says_however_deep_they_are():
    bound = BoundMetric(name="any", metric=MeanBrightness(), recipes={"outer": Network(inner=Network())})
    asked = Compute(device="cuda:1", precision="bfloat16")
    (changed,) = Overrides(compute=asked).apply((bound,))
    assert changed.recipes["outer"].compute == changed.recipes["outer"].inner.compute == asked


def test_networks_that_know_no_precision_run_on_the_device_too():
    bound = BoundMetric(name="any", metric=MeanBrightness(), recipes={"faces": SfaceFaces()})
    (changed,) = Overrides(compute=Compute(device="cuda")).apply((bound,))
    assert changed.recipes["faces"].device == "cuda"


def test_without_changes_a_protocol_stays_as_it_is(dataset):
    bounds = bind_metrics(dataset)
    assert Overrides().apply(bounds) == bounds


def test_the_whole_name_of_a_metric_of_another_suite_is_that_metric_for_every_rollout(tmp_path):
    dataset = Dataset(suite="revisit", root=tmp_path, rollouts=())
    first, *_ = bind_metrics(dataset, ["mind.lcm.psnr"])
    (own,) = (bound for bound in load_suite("mind").metrics({}) if bound.name == "mind.lcm.psnr")
    assert first == replace(own, subsets=None)
    with pytest.raises(UnknownName, match=r"mind\.lcm\.psn"):
        bind_metrics(dataset, ["mind.lcm.psn"])
