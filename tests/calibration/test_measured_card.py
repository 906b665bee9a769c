from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lookaway.calibration.measured_card import CalibratedMetric, ClipLabel, label_of, label_rows, make_cards, role_of
from lookaway.core import Estimate
from lookaway.statistics.detection import auc, auc_estimate
from lookaway.statistics.paired_difference import exceeds_floor, smallest_difference
from tests.calibration.planted import (
    FAULTS,
    SETTING,
    card_of,
    labels,
    noise,
    prefers_frozen,
    reacts_to_everything,
    reacts_to_nothing,
    rows_of,
)


def response(card, fault):
    return next(found for found in card.responses if found.fault == fault)


def control(card, name):
    return next(found for found in card.controls if found.name == name)


def test_a_metric_that_reacts_to_nothing_finds_no_fault():
    card = card_of(reacts_to_nothing)
    assert card.found == ()
    assert card.specificity == 1.0
    assert all(abs(point.auc.mean - 0.5) < 0.3 for found in card.responses for point in found.points)
    assert all(found.smallest_dose is None and abs(found.correlation) < 0.5 for found in card.responses)


def test_a_metric_that_reacts_to_nothing_is_won_by_a_frozen_video():
    card = card_of(reacts_to_nothing)
    assert card.is_won_by_frozen
    assert control(card, "reversed").verdict == "wins"


def test_a_metric_that_does_not_move_at_all_is_level_and_has_no_smallest_difference_but_zero():
    card = card_of(lambda label, rng: 0.5)
    assert {found.course for found in card.responses} == {"level"}
    assert (card.floor.spread, card.smallest_difference) == (0.0, 0.0)
    assert {found.correlation for found in card.responses} == {0.0}


def test_a_metric_that_reacts_to_everything_finds_all_faults_and_has_no_specificity():
    card = card_of(reacts_to_everything)
    assert {found.fault for found in card.found} == set(FAULTS)
    assert card.specificity == 0.0
    assert card.nuisances[0].largest > 0.3
    assert not card.is_won_by_frozen
    assert control(card, "frozen").verdict == "loses"


def test_a_metric_that_prefers_frozen_clips_is_said_to():
    card = card_of(prefers_frozen)
    assert card.is_won_by_frozen
    assert control(card, "frozen").gain.mean > 0.1
    assert control(card, "reversed").gain.low < 0 < control(card, "reversed").gain.high


@pytest.mark.parametrize("is_better", [True, False])
def test_a_fault_is_found_whichever_way_the_metric_goes(is_better):
    metric = CalibratedMetric(name="planted", higher_is_better=is_better)

    def planted(label: ClipLabel, rng: np.random.Generator) -> float:
        good = reacts_to_everything(label, rng)
        return good if is_better else 1 - good

    card = card_of(planted, metric)
    assert response(card, "vanish").at(1.0).auc.mean == 1.0
    assert response(card, "vanish").is_monotone
    assert control(card, "frozen").gain.mean < 0


def test_the_smallest_dose_is_the_realised_one_from_which_on_a_fault_is_found():
    def found_from_a_half(label: ClipLabel, rng: np.random.Generator) -> float:
        return 0.9 - 0.3 * (label.severity >= 0.5) + noise(rng)

    found = response(card_of(found_from_a_half), "teleport")
    assert not found.at(0.25).is_found
    assert found.smallest_dose == pytest.approx(found.at(0.5).dose) == pytest.approx(0.5 * (1 + 0.01 * 9.5))
    assert found.dose_unit == "diameters"


def test_a_fault_that_is_found_only_when_it_is_small_is_not_found():
    def blind_to_large(label: ClipLabel, rng: np.random.Generator) -> float:
        return 0.9 - 0.3 * (0 < label.severity < 1) + noise(rng)

    found = response(card_of(blind_to_large), "vanish")
    assert found.at(0.5).is_found
    assert not found.is_found
    assert found.course == "mixed"


def test_a_score_that_rises_with_the_fault_improves_and_is_not_monotone():
    found = response(card_of(lambda label, rng: 0.5 + 0.4 * label.severity), "vanish")
    assert (found.course, found.is_monotone) == ("improves", False)
    assert found.at(1.0).auc.mean == 0.0
    assert found.correlation == -1.0


def test_clips_that_are_declined_are_counted_and_have_no_part_in_a_mean():
    def declines_frozen(label: ClipLabel, rng: np.random.Generator) -> float | None:
        return None if label.name in ("frozen", "vanish") else reacts_to_nothing(label, rng)

    card = card_of(declines_frozen)
    assert control(card, "frozen").verdict == "declined"
    assert card.is_won_by_frozen is False
    point = response(card, "vanish").at(1.0)
    assert (point.auc, point.score, point.dose) == (None, None, None)
    assert point.declined == {"gate_closed": 20}


def test_a_metric_without_a_clean_score_has_a_card_that_says_only_why():
    card = card_of(lambda label, rng: None)
    assert card.floor is None
    assert (card.responses, card.controls, card.smallest_difference, card.specificity) == ((), (), None, None)
    assert card.is_won_by_frozen is None


def test_the_floor_has_its_mean_its_spread_and_its_ends_over_scenes():
    values = iter(np.linspace(0.5, 0.9, 20))
    card = card_of(lambda label, rng: next(values) if label.kind == "clean" else 0.1)
    assert card.floor.score.mean == pytest.approx(0.7)
    assert (card.floor.p5, card.floor.p95) == (pytest.approx(0.52), pytest.approx(0.88))
    assert card.floor.score.scenes == card.scenes == 20


def test_scores_at_an_end_of_the_range_are_saturated():
    card = card_of(lambda label, rng: 0.995 if label.kind == "clean" else 0.5)
    assert card.saturated == pytest.approx(20 / len(labels()))
    unbounded = CalibratedMetric(name="planted", range=(0.0, None))
    assert card_of(reacts_to_nothing, unbounded).saturated is None


def test_branches_are_counted():
    assert card_of(reacts_to_nothing).branches == {"sift": len(labels())}


def test_a_fault_that_the_metric_is_there_to_find_is_no_part_of_its_specificity():
    def sees_light(label: ClipLabel, rng: np.random.Generator) -> float:
        return 0.9 - 0.5 * (label.name == "lighting_shift") + noise(rng)

    card = card_of(sees_light, CalibratedMetric(name="mbencha.environment.rendering_lighting"))
    assert response(card, "lighting_shift").role == "must_find"
    assert response(card, "vanish").role == "must_spare"
    assert card.specificity == 1.0


@pytest.mark.parametrize(
    ("metric", "fault", "role"),
    [
        ("carried", "dragged_along", "must_find"),
        ("cut", "vanish", "free"),
        ("camera_interaction", "vanish", "must_spare"),
    ],
)
def test_a_role_is_known_by_the_last_word_of_a_metric(metric, fault, role):
    assert role_of(f"suite.{metric}", fault) == role


def test_each_size_and_rate_has_a_card_of_its_own():
    found = {rollout: label for rollout, (label, _) in labels().items()}
    rows = label_rows(rows_of(reacts_to_nothing), found)["planted"]
    metric = CalibratedMetric(name="planted")
    small = [replace(score, label=replace(score.label, fps=24)) for score in rows]
    assert [card.fps for card in make_cards(metric, [*rows, *small], SETTING)] == [12, 24]


def test_a_rollout_without_a_label_is_left_out():
    assert label_rows(rows_of(reacts_to_nothing), {}) == {}


def test_equal_outcomes_give_an_equal_hash_and_others_another():
    assert card_of(reacts_to_nothing).sha256 == card_of(reacts_to_nothing).sha256
    assert card_of(reacts_to_nothing).sha256 != card_of(reacts_to_nothing, seed=1).sha256


SPREAD, REPETITIONS = 0.05, 200


def share_apart(difference_of: float, *, shared: float, scenes: int = 20) -> float:
    """How often two models are apart whose true means differ by a multiple of the card's smallest difference.

    `shared` is the part of the variance that both models have in common, since they are shown the same scenes.
    """
    rng = np.random.default_rng(7)
    apart = 0
    for _ in range(REPETITIONS):
        clean = rng.normal(0.8, SPREAD, scenes)
        spread = float(np.std(clean, ddof=1))
        true = difference_of * smallest_difference(spread, scenes, measured_scenes=scenes)
        scene = rng.normal(0, SPREAD * shared**0.5, scenes)
        one, other = (scene + rng.normal(0, SPREAD * (1 - shared) ** 0.5, scenes) for _ in range(2))
        difference = float(np.mean(one + true - other))
        apart += exceeds_floor(difference, spread, scenes, measured_scenes=scenes)
    return apart / REPETITIONS


@pytest.mark.parametrize("shared", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("scenes", [20, 60])
def test_models_that_differ_by_less_than_the_smallest_difference_are_equal_in_95_of_100(shared, scenes):
    assert share_apart(0.0, shared=shared, scenes=scenes) == 0.0
    assert share_apart(0.99, shared=shared, scenes=scenes) <= 0.05


@pytest.mark.parametrize("shared", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("scenes", [20, 60])
def test_models_that_differ_by_twice_the_smallest_difference_are_apart_in_90_of_100(shared, scenes):
    assert share_apart(2.0, shared=shared, scenes=scenes) >= 0.90


def test_a_spread_of_one_scene_is_refused():
    with pytest.raises(ValueError, match="two scenes or more"):
        smallest_difference(0.1, 10, measured_scenes=1)


def test_the_auc_with_an_interval_is_the_plain_one_and_the_interval_holds_it():
    rng = np.random.default_rng(1)
    faulty, clean = rng.normal(1, 1, 40), rng.normal(0, 1, 40)
    scenes = [f"scene{number % 20}" for number in range(40)]
    found = auc_estimate(faulty, scenes, clean, scenes)
    assert found.mean == pytest.approx(auc(faulty, clean))
    assert found.low < found.mean < found.high


def test_without_faulty_clips_there_is_no_auc():
    assert auc_estimate(np.array([]), [], np.array([1.0]), ["a"]) is None


def test_four_scenes_have_an_auc_without_an_interval():
    found = auc_estimate(np.array([1.0, 2.0]), ["a", "b"], np.array([0.0, 1.5]), ["a", "b"])
    assert found == Estimate(mean=0.75, low=None, high=None, scored=2, scenes=2)


class _Injection:
    fault, severity, dose, dose_unit = "vanish", 0.5, 0.4, "opacity lost"


@pytest.mark.parametrize(("count", "kind"), [(0, "clean"), (1, "fault"), (2, None)])
def test_a_clip_with_several_faults_has_no_label(count, kind):
    class Card:
        family, height, width, fps, injections = "kitchen", 256, 448, 12, (_Injection(),) * count

    label = label_of(Card())
    assert (label and label.kind) == kind
    if kind == "fault":
        assert (label.dose, label.dose_unit, label.size) == (0.4, "opacity lost", (256, 448))
