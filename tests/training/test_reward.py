from __future__ import annotations

from collections.abc import Mapping

import pytest

from lookaway.core import Abstention, DatasetError, Outcome, Score, UserError
from lookaway.engine.scorer import VideoScores
from lookaway.training.reward import MEMORY, Reward, RewardRecipe, RewardTerm, card_limits
from tests.calibration.planted import card_of, reacts_to_everything, reacts_to_nothing

LIGHT_AND_LOOK = RewardRecipe(terms={"light": RewardTerm(floor=2.0, ceiling=0.0), "look": RewardTerm(weight=3.0)})


def scores(values: Mapping[str, float | None], *, is_tested: bool | None = True) -> VideoScores:
    outcomes: dict[str, Outcome] = {
        name: Abstention("pose_failed", "the track broke") if value is None else Score(value)
        for name, value in values.items()
    }
    return VideoScores(outcomes=outcomes, is_tested=is_tested, untested=frozenset(), seconds=0.0)


def test_a_clean_video_earns_everything_and_half_a_fault_half():
    reward = Reward(RewardRecipe(terms={"light": RewardTerm(floor=2.0, ceiling=0.0)}))
    assert reward.of(scores({"light": 0.0})).value == 1.0
    assert reward.of(scores({"light": 1.0})).value == pytest.approx(0.5)
    assert reward.of(scores({"light": 7.0})).value == 0.0


@pytest.mark.parametrize(("combine", "expected"), [("product", 0.0), ("mean", 0.75)])
def test_nothing_makes_up_for_a_term_that_earns_nothing_unless_the_recipe_says_mean(combine, expected):
    reward = Reward(LIGHT_AND_LOOK.model_copy(update={"combine": combine}))
    assert reward.of(scores({"light": 9.0, "look": 0.0})).value == pytest.approx(expected)


@pytest.mark.parametrize("is_tested", [False, None])
def test_an_untested_video_earns_nothing_however_consistent_it_is(is_tested):
    found = Reward(LIGHT_AND_LOOK).of(scores({"light": 0.0, "look": 0.0}, is_tested=is_tested))
    assert (found.value, found.is_measured, found.why_not) == (None, False, "memory was not tested")


@pytest.mark.parametrize(("unmeasured", "value"), [("mask", None), (-0.5, -0.5), (0.0, 0.0)])
def test_what_could_not_be_measured_is_masked_or_earns_the_stated_constant(unmeasured, value):
    reward = Reward(LIGHT_AND_LOOK.model_copy(update={"unmeasured": unmeasured}))
    found = reward.of(scores({"light": 0.0, "look": None}))
    assert (found.value, found.is_measured, found.why_not) == (value, False, "look: pose_failed")


def test_a_term_that_is_not_required_is_left_out_where_it_has_no_score():
    terms = {"light": RewardTerm(floor=2.0, ceiling=0.0), "carried": RewardTerm(required=False)}
    reward = Reward(RewardRecipe(terms=terms))
    assert reward.of(scores({"light": 0.0, "carried": None})).value == 1.0
    assert reward.of(scores({"light": 0.0, "carried": 100.0})).value == 0.0


def test_the_limits_are_those_of_the_card_and_none_is_taken_from_a_blind_metric():
    seeing, blind = (
        card.model_copy(update={"responses": tuple(r.model_copy(update={"role": "must_find"}) for r in card.responses)})
        for card in (card_of(reacts_to_everything), card_of(reacts_to_nothing))
    )
    floor, ceiling = card_limits(seeing)
    assert floor < ceiling == seeing.floor.p5
    assert floor == max(response.at(1.0).score.mean for response in seeing.responses)
    assert card_limits(blind) is None


def test_the_reward_of_this_package_pays_half_for_what_lies_half_way_to_a_vanished_target():
    limits = Reward(MEMORY).limits
    floor, ceiling = limits["changed_area"]
    assert ceiling < 0.5 < floor < 10


def test_a_metric_without_a_card_needs_both_limits():
    with pytest.raises(UserError, match="undone: no card says"):
        Reward(RewardRecipe(terms={"undone": RewardTerm(floor=1.0)}))


def test_limits_the_wrong_way_round_are_refused():
    with pytest.raises(UserError, match=r"light: the ceiling is 2\. Expected it below the floor, which is 0."):
        Reward(RewardRecipe(terms={"light": RewardTerm(floor=0.0, ceiling=2.0)}))


def test_a_reward_is_read_from_yaml(tmp_path):
    path = tmp_path / "reward.yaml"
    path.write_text("unmeasured: -1\nterms:\n  light: {weight: 2, floor: 2, ceiling: 0}\n")
    reward = Reward.read(path)
    assert reward.recipe.unmeasured == -1
    assert reward.limits == {"light": (2.0, 0.0)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("terms: {}", "terms"),
        ("terms: {light: {wieght: 2}}", "did you mean 'weight'"),
        ("terms: {light: {weight: -1}}", "weight: Input should be greater than 0"),
        ("unmeasured: .nan\nterms: {light: {}}", "unmeasured"),
        ("- light", "the record"),
        ("terms: {light: ", "not readable as YAML"),
    ],
)
def test_a_wrong_file_is_refused_with_the_field_that_is_wrong(tmp_path, text, message):
    path = tmp_path / "reward.yaml"
    path.write_text(text)
    with pytest.raises(DatasetError, match=message):
        Reward.read(path)


def test_a_recipe_that_states_its_limits_pays_the_same_and_leaves_nothing_to_cards():
    reward = Reward()
    stated = Reward(reward.stated)
    assert stated.limits == reward.limits
    assert all(term.floor is not None and term.ceiling is not None for term in reward.stated.terms.values())
    assert stated.lock.sha256 == reward.lock.sha256


def test_the_lock_of_a_reward_moves_with_its_limits_and_with_its_metrics():
    terms = dict(MEMORY.terms)
    lower = Reward(MEMORY.model_copy(update={"terms": {**terms, "light": RewardTerm(floor=2.0, ceiling=0.1)}}))
    fewer = Reward(MEMORY.model_copy(update={"terms": {name: terms[name] for name in terms if name != "light"}}))
    assert len({reward.lock.sha256 for reward in (Reward(), lower, fewer)}) == 3
