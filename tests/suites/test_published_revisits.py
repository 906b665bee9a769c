from __future__ import annotations

import inspect
from dataclasses import fields, replace
from typing import get_type_hints

import numpy as np
import pytest

from lookaway.core import BoundMetric, Extractor, Feature, Reason, Score, UnknownName, Unmeasurable
from lookaway.engine.locking import content_key, metric_key
from lookaway.io.encoding import write_video
from lookaway.suites.revisit.published import VARIANTS, pooled_drop, pooled_mean, published_gate, published_metrics
from lookaway.suites.two_protocols import corrected_name
from tests.perception.test_pair_fidelity import scene
from tests.suites.test_locked_constants import changed_bindings
from tests.support.compared import kept
from tests.support.picture_networks import noise
from tests.support.revisit_golden import official, rollout_of
from tests.support.watching import perceive

BOUND = {
    bound.name: bound for variant in VARIANTS for bound in (*published_metrics(variant, {}), published_gate(variant))
}
every_bound = pytest.mark.parametrize("bound", BOUND.values(), ids=list(BOUND))


def one(name: str, **settings) -> BoundMetric:
    (found,) = (bound for bound in published_metrics(name.partition(".")[0], settings) if bound.name == name)
    return found


def measured(bound: BoundMetric, rollout):
    return bound.metric.measure(rollout, {name: perceive(recipe, rollout) for name, recipe in bound.recipes.items()})


@every_bound
def test_a_metric_has_a_recipe_for_every_feature_and_no_other(bound):
    assert bound.recipes.keys() == {*bound.metric.needs, *bound.metric.uses}
    assert all(isinstance(recipe.name, str) for recipe in bound.recipes.values())


@every_bound
def test_a_metric_says_when_it_abstains(bound):
    assert "\nAbstains: " in (inspect.getdoc(type(bound.metric)) or "")


@every_bound
def test_every_constant_says_what_it_is(bound):
    hints = get_type_hints(type(bound.metric), include_extras=True)
    assert all(getattr(hints[field.name], "__metadata__", None) for field in fields(bound.metric))


@every_bound
def test_every_constant_moves_the_lock(bound):
    key = metric_key(bound)
    assert [place for place, other in changed_bindings(bound) if metric_key(other) == key] == []


@pytest.mark.parametrize("variant", [name for name, found in VARIANTS.items() if found.published])
def test_every_published_metric_has_a_corrected_one_with_another_lock(variant):
    found = {bound.name: bound for bound in published_metrics(variant, {})}
    published = [name for name, bound in found.items() if bound.protocol == "published"]
    ours = {name for name, bound in found.items() if bound.protocol == "corrected"}
    assert len(published) + len(ours) == len(found)
    pairs = {corrected_name(name): name for name in published}
    assert ours - pairs.keys() == ({"echo_ov.corrected.weighted"} if variant == "echo_ov" else set())
    assert pairs.keys() <= ours
    assert [name for name, other in pairs.items() if metric_key(found[name]) == metric_key(found[other])] == []


@pytest.mark.parametrize("variant", VARIANTS)
def test_scores_of_the_camera_count_without_the_gate(variant):
    bounds = published_metrics(variant, {})
    free = {bound.name.rpartition(".")[2] for bound in bounds if not bound.is_consistency}
    assert free == {
        "sana": {"rot_err", "trans_err", "cam_mc", "delta_iq", "vbench_overall"},
        "worldmem": {"psnr", "lpips"},
    }.get(variant, set())
    assert (published_gate(variant).name, published_gate(variant).protocol) == (f"{variant}.revisited", None)


def test_pairs_of_our_own_are_never_called_published():
    found = published_metrics("sana_like", {})
    assert {bound.protocol for bound in found} == {None}
    assert all(bound.name.startswith("sana_like.") for bound in found)


def test_an_unknown_protocol_is_refused_with_its_nearest_name():
    with pytest.raises(UnknownName, match="Did you mean 'worldmark'"):
        published_metrics("worldmarks", {})


def test_pairs_of_our_own_can_come_from_the_requested_path():
    (psnr, *_) = published_metrics("sana_like", {"pairs_from": "commanded"})
    assert psnr.recipes["fidelity"].needs["poses"].name == "commanded_poses"


def test_a_first_frame_that_a_refiner_made_can_be_left_out():
    for bound in published_metrics("sana", {"skip_first_frame": True}):
        assert getattr(bound.metric, "skips_first", True)


def test_a_whole_run_has_the_official_pooled_numbers(tmp_path):
    expected = official()["sana"]["revisit"]["official"]["summary"]
    scores: dict[str, list[Score]] = {"revisit_psnr": [], "revisit_ssim": []}
    for name in ("indoor_001", "indoor_002", "game_style_001"):
        rollout, pictures, fps = scene(name)
        write_video(tmp_path / f"{name}.mp4", pictures, fps=fps, lossless=True)
        placed = replace(rollout, video=tmp_path / f"{name}.mp4")
        for metric, found in scores.items():
            found.append(measured(one(f"sana.{metric}"), placed))
    psnr, ssim = (pooled_mean(found) for found in scores.values())
    assert (round(psnr or 0, 2), round(ssim or 0, 4)) == (expected["overall_mean_psnr"], expected["overall_mean_ssim"])


def test_a_pooled_mean_of_nothing_is_nothing():
    assert pooled_mean([]) is None
    assert pooled_drop([]) is None


def drops(*lengths: int, start: float = 73.0, step: float = 0.4):
    """Clips of some windows each; every window is a step worse than the one before, and every clip 20 than the last."""
    metric = one("sana.delta_iq").metric
    for clip, windows in enumerate(lengths):
        quality = np.repeat(start - 20 * clip - step * np.arange(windows), 160)
        feature = Feature({"quality": quality, "frame_indices": np.arange(len(quality))})
        yield metric.measure(rollout_of(), {"quality": feature})


def test_a_short_clip_moves_the_published_drop_though_no_clip_drops_more():
    equal, unequal = pooled_drop(list(drops(6, 6))), pooled_drop(list(drops(6, 1)))
    assert equal == pytest.approx(0.02)
    assert unequal == pytest.approx(0.02 - 0.1)


@pytest.mark.parametrize("number", range(3))
def test_the_published_drop_of_a_run_is_official(number):
    case = official()["sana"]["temporal"][number]
    windows = [max(1, frames // 160) for frames in case["lengths"]]
    found = pooled_drop([score for count in windows for score in drops(count)])
    assert found == pytest.approx(case["trend_imaging_quality"]["degradation"], abs=1e-6)


@pytest.fixture
def still(tmp_path):
    """A clip whose every frame is the first one, with pairs of frames and an action."""
    video = kept(tmp_path / "still.mp4", noise(1, 48, 64) * 24)
    return replace(rollout_of(action="left_then_right", pairs=[(2, 20, 0.1)]), video=video)


@pytest.mark.parametrize(
    ("variant", "name", "published", "corrected"),
    [
        ("sana", "revisit_psnr", 100, 50),
        ("sana", "revisit_ssim", 1, 1),
        ("echo_loop", "psnr", 100, 50),
        ("echo_loop", "mse", 0, 0),
        ("l2r_far", "ssim", None, 1),
        ("iworld", "symmetry", 1, 1),
    ],
)
def test_a_still_clip_gets_the_best_score_of_protocols_without_a_gate(still, variant, name, published, corrected):
    for prefix, expected in ((variant, published), (f"{variant}.corrected", corrected)):
        bound = one(f"{prefix}.{name}")
        if expected is None:
            with pytest.raises(Unmeasurable) as error:
                measured(bound, still)
            assert error.value.reason == Reason.TOO_SHORT
        else:
            assert measured(bound, still).value == pytest.approx(expected, abs=1e-6)


def test_pairs_that_lie_beyond_the_end_are_clamped_as_published_and_refused_as_corrected(still):
    rollout = replace(still, case=replace(still.case, pairs=rollout_of(pairs=[(2, 60, 0.1)]).case.pairs))
    assert measured(one("sana.revisit_psnr"), rollout).value == 100
    with pytest.raises(Unmeasurable) as error:
        measured(one("sana.corrected.revisit_psnr"), rollout)
    assert error.value.reason == Reason.TOO_SHORT


def test_an_action_that_does_not_lead_back_is_declined_only_when_corrected(still):
    one_way = replace(still, case=replace(still.case, action="left_then_left"))
    for name, is_declined in (("echo_loop.psnr", False), ("echo_loop.corrected.psnr", True)):
        recipe: Extractor = one(name).recipes["fidelity"]
        assert (recipe.declines(one_way) is not None) is is_declined


def test_other_pairs_give_another_content_key(still):
    more = replace(still.case, pairs=(*(still.case.pairs or ()), *(still.case.pairs or ())))
    assert content_key(still) != content_key(replace(still, case=more))
    assert content_key(still) != content_key(replace(still, case=replace(still.case, pairs=None)))


def test_the_way_back_is_compared_and_not_what_lies_between(tmp_path):
    out, changed = noise(12, 48, 64), noise(12, 48, 64, seed=5)
    same = replace(rollout_of(), video=kept(tmp_path / "same.mp4", [*out, *out[::-1]]))
    other = replace(rollout_of(), video=kept(tmp_path / "other.mp4", [out[0], *changed, *changed[:10], out[0]]))
    forgot = replace(rollout_of(), video=kept(tmp_path / "forgot.mp4", [*out, *changed]))
    bound = one("echo_loop.corrected.ssim")
    assert measured(bound, same).value == pytest.approx(1)
    assert measured(bound, other).value == pytest.approx(1)
    assert measured(bound, forgot).value < 0.1
    assert np.isclose(measured(one("iworld.corrected.symmetry"), same).value, 1)
