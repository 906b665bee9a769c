from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest

from lookaway.core import Reason, Unmeasurable
from lookaway.judges.probe_probabilities import (
    HIDDEN_SPACE,
    HIDDEN_STATE,
    VISIBLE_SPACE,
    VISIBLE_STATE,
    ProbeProbabilities,
)
from lookaway.judges.prompts import Prompt
from tests.judges.scripted_client import JUDGE, ScriptedClient, completion, judged, rollout_of, words
from tests.support.watching import check_documented

RECIPE = ProbeProbabilities(judge=JUDGE)
CASE = rollout_of("The cat jumps onto the bed.")


def likely(p_yes: float) -> dict:
    return words({"Yes": math.log(p_yes), "No": math.log(1 - p_yes)})


def by_probe(p_yes: dict[str, float]) -> ScriptedClient:
    """Says yes to each probe, known by its question, with a probability of its own."""
    endings = {probe.name: probe.prompts[-1].text.strip() for probe in RECIPE.probes}

    def script(request):
        (name,) = (name for name, ending in endings.items() if request.instruction.endswith(ending))
        return likely(p_yes[name])

    return ScriptedClient(script)


SPREAD = {probe.name: (place + 1) / 11 for place, probe in enumerate(RECIPE.probes)}


def test_every_probe_has_the_probability_of_its_own_question():
    feature = judged(RECIPE, by_probe(SPREAD), CASE)
    check_documented(RECIPE, feature)
    assert feature.detail["probes"] == list(SPREAD)
    np.testing.assert_allclose(feature["p_yes"][:, 0], list(SPREAD.values()), atol=1e-9)
    np.testing.assert_allclose(feature["mass"], 1, atol=1e-9)
    assert (feature["least"] == feature["p_yes"]).all()
    assert (feature["most"] == feature["p_yes"]).all()
    assert feature.detail["medians"] == feature["p_yes"][:, 0].tolist()


def test_a_probe_of_failure_keeps_the_probability_of_yes_as_it_is():
    feature = judged(RECIPE, ScriptedClient(lambda request: likely(0.9)), CASE)
    np.testing.assert_allclose(feature["p_yes"], 0.9)
    assert feature["is_positive"].tolist() == [True, True, False, True, True, False, True, False, True, False]


def test_there_are_ten_probes_of_four_subjects():
    assert RECIPE.probes == (*VISIBLE_SPACE, *VISIBLE_STATE, *HIDDEN_SPACE, *HIDDEN_STATE)
    groups = {"visible_space": 3, "visible_state": 3, "hidden_space": 2, "hidden_state": 2}
    found = [probe.name.partition(".")[0] for probe in RECIPE.probes]
    assert {subject: found.count(subject) for subject in groups} == groups
    for subject in groups:
        assert [p.is_positive for p in RECIPE.probes if p.name.startswith(subject)].count(False) == 1
    assert all(f"`{probe.name}`" in ProbeProbabilities.__doc__ for probe in RECIPE.probes)


def test_the_rule_of_an_answer_follows_the_polarity_and_the_rest_the_subject():
    client = by_probe(SPREAD)
    judged(RECIPE, client, CASE)
    rules = {rule: Prompt.named(f"probe_answer_rule_{rule}").text.strip() for rule in ("support", "failure")}
    sights = {sight: Prompt.named(f"probe_{sight}").text.strip() for sight in ("visible", "hidden")}
    for probe, request in zip(RECIPE.probes, client.requests, strict=True):
        wanted, other = ("support", "failure") if probe.is_positive else ("failure", "support")
        assert rules[wanted] in request.instruction
        assert rules[other] not in request.instruction
        assert [sight for sight, text in sights.items() if text in request.instruction] == [
            probe.name.partition("_")[0]
        ]
        assert request.instruction.startswith(Prompt.named("probe").text.strip())
        assert (request.max_tokens, request.token_choices) == (1, 20)
        assert json.loads(request.material.split("\n")[1]) == ["The cat jumps onto the bed."]
    assert len({request.instruction for request in client.requests}) == 10


def test_repeats_become_columns_and_facts_their_median():
    recipe = dataclasses.replace(RECIPE, probes=VISIBLE_SPACE, judge=dataclasses.replace(JUDGE, repeats=3))
    client = ScriptedClient(lambda request: likely([0.2, 0.9, 0.4][request.repeat]))
    feature = judged(recipe, client, CASE)
    check_documented(recipe, feature)
    np.testing.assert_allclose(feature["p_yes"], [[0.2, 0.9, 0.4]] * 3)
    assert feature.detail["medians"] == pytest.approx([0.4] * 3)
    assert recipe.questions_per_rollout(CASE) == 9


def test_the_judge_sees_two_frames_a_second():
    client = by_probe(SPREAD)
    feature = judged(RECIPE, client, CASE, [index / 8 for index in range(17)])
    assert feature["frame_indices"].tolist() == [0, 4, 8, 12, 16]


def test_doubt_about_a_hidden_side_is_kept():
    client = ScriptedClient(lambda request: words({"Yes": math.log(0.9995)}))
    feature = judged(RECIPE, client, CASE)
    assert (feature["p_yes"] == 1).all()
    np.testing.assert_allclose(feature["least"], 0.9995)


def test_more_doubt_than_the_recipe_allows_is_not_guessed_away():
    client = ScriptedClient(lambda request: words({"Yes": math.log(0.9)}))
    with pytest.raises(Unmeasurable, match=r"anything from 0\.9000 to 1\.0000"):
        judged(RECIPE, client, CASE)
    feature = judged(dataclasses.replace(RECIPE, max_doubt=0.2), client, CASE)
    np.testing.assert_allclose(feature["least"], 0.9)


def test_an_answer_without_log_probabilities_is_not_taken_for_a_yes():
    client = ScriptedClient(lambda request: completion("Yes"))
    with pytest.raises(Unmeasurable, match=r"^visible_space\.position_relation: ") as caught:
        judged(RECIPE, client, CASE)
    assert caught.value.reason is Reason.NO_LOG_PROBABILITIES


def test_a_word_that_is_neither_yes_nor_no_is_not_asked_for_again():
    client = ScriptedClient(lambda request: words({"Perhaps": -0.01}))
    with pytest.raises(Unmeasurable) as caught:
        judged(RECIPE, client, CASE)
    assert caught.value.reason is Reason.JUDGE_FAILED
    assert len(client.requests) == 10


def test_without_an_event_nothing_can_be_probed():
    assert RECIPE.declines(rollout_of()).reason is Reason.MISSING_INPUT


@pytest.mark.parametrize("probes", [(), (*VISIBLE_SPACE, VISIBLE_SPACE[0])])
def test_probes_have_names_of_their_own_and_there_is_at_min_one(probes):
    with pytest.raises(ValueError, match="unique name"):
        ProbeProbabilities(probes=probes)
