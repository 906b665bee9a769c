from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lookaway.core import JudgeModel, Rollout
from lookaway.io.world_clips import open_world
from lookaway.judges.judge_feature import SYSTEM
from lookaway.judges.openai_format import completion_fields
from lookaway.judges.oracle import OracleServer
from lookaway.judges.oracle.true_answers import TRUE_ANSWERS
from lookaway.judges.probe_probabilities import ProbeProbabilities
from lookaway.judges.prompts import Prompt
from lookaway.judges.question import TypedQuestion, YesNoQuestion
from lookaway.judges.rating import CorrectnessRating, ProgressRating
from lookaway.judges.reobservation import Reobservation
from lookaway.judges.settings import Ready
from lookaway.judges.trigger_verdict import TriggerVerdict
from lookaway.suites.folder.layout import world_rollouts
from tests.judges.oracle.sending import ask, pictures, put

pytestmark = pytest.mark.render

Rollouts = dict[str, Rollout]
CLIPS = ("perfect", "vanish", "frozen_while_unseen", "camera_never_moves", "static")


@pytest.mark.parametrize("what", ["human", "object", "environment", "causal"])
@pytest.mark.parametrize("name", CLIPS)
def test_a_video_triggers_exactly_where_the_camera_looks_away_and_back(
    oracle: OracleServer, rollouts: Rollouts, what: str, name: str
) -> None:
    (answer,) = ask(oracle, TriggerVerdict.about(what), rollouts[name], pictures(rollouts[name]))
    assert answer.triggered is (name not in ("camera_never_moves", "static"))


def test_ratings_fall_with_the_faults_that_touch_the_event(oracle: OracleServer, rollouts: Rollouts) -> None:
    progress, correctness = (
        {name: ask(oracle, recipe, rollouts[name], pictures(rollouts[name]))[0].rating for name in CLIPS}
        for recipe in (ProgressRating(), CorrectnessRating())
    )
    assert progress == {
        "perfect": 5,
        "vanish": 1,
        "frozen_while_unseen": 1,
        "camera_never_moves": 5,
        "static": 5,
    }
    assert correctness == {
        "perfect": 5,
        "vanish": 1,
        "frozen_while_unseen": 1,
        "camera_never_moves": 5,
        "static": 5,
    }


def test_probes_find_what_is_wrong_and_nothing_else(oracle: OracleServer, rollouts: Rollouts) -> None:
    recipe = ProbeProbabilities()
    right = [probe.is_positive for probe in recipe.probes]
    said = {
        name: [round(answer.p_yes, 9) for answer in ask(oracle, recipe, rollouts[name], pictures(rollouts[name]))]
        for name in ("perfect", "vanish", "frozen_while_unseen")
    }
    assert said["perfect"] == [0.95 if is_right else 0.05 for is_right in right]
    wrong = {
        name: {
            probe.name
            for probe, found, expected in zip(recipe.probes, chances, said["perfect"], strict=True)
            if found != expected
        }
        for name, chances in said.items()
    }
    assert wrong["vanish"] == {
        "visible_state.action",
        "visible_state.progress",
        "visible_state.absent_or_frozen",
        "hidden_space.return",
        "hidden_space.vanished_or_reset",
        "hidden_state.progress",
        "hidden_state.frozen_or_reset",
    }
    everything = {probe.name for probe in recipe.probes}
    assert wrong["frozen_while_unseen"] == everything - {"visible_space.static_anchors"}


def test_the_target_is_judgeable_in_the_seconds_whose_shown_frames_show_it(
    world: Path, oracle: OracleServer, rollouts: Rollouts
) -> None:
    recipe, rollout = Reobservation(), rollouts["perfect"]
    question = recipe.question_about((0, 1), rollout)

    def judgeable(frames: tuple[int, ...]) -> list[bool]:
        request = question.request(SYSTEM, JudgeModel(model="asked"), pictures(rollout, frames), 0)
        return [row.judgeable for row in question.read(put(oracle, completion_fields(request)).reply).seconds]

    clip = next(clip for clip in open_world(world) if clip.video == rollout.video)
    start, end = clip.card.phases.disappeared
    assert judgeable((0, 4, 8, 12)) == [True, True]
    assert judgeable((start, end - 1)) == [False, False]
    assert judgeable((0, end - 1)) == [True, False]


def test_a_judge_introduces_itself_without_pictures() -> None:
    question = TypedQuestion(name="introduction", prompts=(Prompt.named("introduction"),), answer=Ready)
    with OracleServer(None) as server:
        got = put(server, completion_fields(question.request(SYSTEM, JudgeModel(model="asked"), (), 0)))
    assert question.read(got.reply) == Ready(ready=True)
    assert got.reply.model == "asked"


def test_a_question_about_a_video_is_not_answered_without_pictures() -> None:
    question = YesNoQuestion(name="", prompts=(Prompt.named("probe_visible_state_action"),), max_doubt=1e-3)
    with OracleServer(None) as server:
        got = put(server, completion_fields(question.request(SYSTEM, JudgeModel(model="asked"), (), 0)))
    assert (got.status, "has no pictures" in got.json["error"]["message"]) == (400, True)


def test_every_clip_of_a_world_without_its_remembered_one_is_still_rated(world: Path) -> None:
    alone = [clip for clip in open_world(world) if clip.card.model.startswith("frozen")]
    with OracleServer(alone) as server:
        rollout = next(each for each in world_rollouts(world)[0] if each.model.startswith("frozen"))
        (answer,) = ask(server, ProgressRating(), rollout, pictures(rollout))
    assert answer.rating == 1 + round(4 * float(np.min(alone[0].arrays().progress[-1])))


def test_all_our_questions_that_have_a_truth_have_an_answer() -> None:
    probes = {probe.prompts[-1].name for probe in ProbeProbabilities().probes}
    triggers = {TriggerVerdict.about(what).prompts[-1].name for what in ("human", "object", "environment", "causal")}
    ratings = {recipe.prompts[-1].name for recipe in (ProgressRating(), CorrectnessRating())}
    others = {"introduction", "reobservation", "check_description", "check_yes_no"}
    assert set(TRUE_ANSWERS) == probes | triggers | ratings | others
