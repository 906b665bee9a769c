"""D3 to D6 of WRBench: what is asked, when, how often, and what an all-knowing judge makes of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lookaway
from lookaway.core import Feature, JudgeModel, Reason, Timeline, Unmeasurable, UserError
from lookaway.engine.binding import Overrides
from lookaway.engine.locking import metric_key
from lookaway.judges import openai_format
from lookaway.judges.oracle import OracleServer
from lookaway.suites.folder import Folder
from lookaway.suites.wrbench import WrBench
from lookaway.suites.wrbench.probes import GATE, RETURNED, VISIBLE, probe_metrics
from lookaway.world.grid import Grid
from tests.judges.scripted_client import JUDGE, ScriptedClient, judged, rollout_of, words
from tests.judges.test_judge_runs import KEY, settings
from tests.judges.test_reobservation import FIVE_SECONDS, said
from tests.support.command import lookaway as command
from tests.support.rendered import copy_clips
from tests.support.runs import outcomes, table_text
from tests.support.world import FORM

EVENT = "The cat jumps onto the bed."
TIMELINE = Timeline(np.array(FIVE_SECONDS), 8, 6)
VISIBLE_CALLS, RETURNED_CALLS = 6, 4


def bound(**chosen: Any):
    return {metric.name: metric for metric in probe_metrics(chosen)}


def recipe_of(name: str, **chosen: Any):
    (recipe,) = bound(**chosen)[name].recipes.values()
    return replace(recipe, judge=JUDGE, **({"gate": replace(recipe.gate, judge=JUDGE)} if name in RETURNED else {}))


def gate_feature(pattern: str) -> Feature:
    judgeable = np.array([[mark == "y"] for mark in pattern], np.bool_).reshape(len(pattern), 1)
    return Feature({"judgeable": judgeable, "seconds": np.arange(len(pattern))})


# The protocol


def test_the_dimensions_and_their_gate_have_public_names():
    assert tuple(bound()) == (*VISIBLE, *RETURNED, GATE)
    assert [name for name, metric in bound().items() if metric.is_gate] == [GATE]
    assert [name for name, metric in bound().items() if metric.is_consistency] == list(RETURNED)


def test_three_probes_are_visible_two_returned_and_each_dimension_has_one_of_failure():
    for name, metric in bound().items():
        if name != GATE:
            probes = metric.recipes["probe_probabilities"].probes
            assert len(probes) == (3 if name in VISIBLE else 2)
            assert [probe.is_positive for probe in probes].count(False) == 1


def test_the_gate_of_the_returned_probes_is_the_gate_of_the_table():
    for chosen in ({}, {"names_subject": True}):
        metrics = bound(**chosen)
        for name in RETURNED:
            assert metrics[name].recipes["probe_probabilities"].gate == metrics[GATE].recipes["reobservation"]


def test_naming_the_subject_is_another_instrument_with_another_lock():
    for name, metric in bound().items():
        assert metric_key(metric) != metric_key(bound(names_subject=True)[name]), name


def test_both_protocols_ask_the_same():
    found = {metric.name: metric.protocol for metric in WrBench().metrics({})}
    assert {found[name] for name in (*VISIBLE, *RETURNED, GATE)} == {"both"}


# What is asked


def test_only_the_instrument_that_names_the_subject_tells_its_name():
    case = rollout_of(EVENT, target="the tabby")
    for name in VISIBLE:
        for chosen, is_named in (({}, False), ({"names_subject": True}, True)):
            client = ScriptedClient(lambda request: words({"Yes": -0.1, "No": -2.4}))
            judged(recipe_of(name, **chosen), client, case)
            assert ["tabby" in request.material for request in client.requests] == [is_named] * 3
    client = ScriptedClient(lambda request: said("ynnyy"))
    judged(recipe_of(GATE, names_subject=True), client, case, FIVE_SECONDS)
    assert "tabby" in client.requests[0].material


def test_a_case_without_a_subject_declines_the_instrument_that_names_it():
    for name in (*VISIBLE, GATE):
        assert recipe_of(name, names_subject=True).declines(rollout_of(EVENT)).reason is Reason.MISSING_INPUT
        assert recipe_of(name).declines(rollout_of(EVENT)) is None


@pytest.mark.parametrize(("pattern", "reason"), [("yyyyy", "no_oov"), ("ynnnn", "no_return"), ("nnyyy", "no_initial")])
@pytest.mark.parametrize("name", RETURNED)
def test_a_closed_gate_is_the_reason_why_returned_probes_are_not_asked(name, pattern, reason):
    client = ScriptedClient(lambda request: words({"Yes": -0.1, "No": -2.4}))
    loaded = recipe_of(name).load_with(client)
    with pytest.raises(Unmeasurable, match=reason) as caught:
        loaded.start(rollout_of(EVENT), TIMELINE, {"reobservation": gate_feature(pattern)})
    assert caught.value.reason is Reason.GATE_CLOSED
    assert client.requests == []


def test_an_open_gate_lets_the_probes_be_asked():
    loaded = recipe_of("wrbench.d5.returned_spatial").load_with(ScriptedClient(lambda request: None))
    features = {"reobservation": gate_feature("ynnyy")}
    started = loaded.start(rollout_of(EVENT), TIMELINE, features)
    assert sorted(started.request.indices) == list(range(0, 40, 4))


def test_the_first_look_decides():
    client = ScriptedClient(lambda request: said("yyyyy"))
    judged(recipe_of(GATE), client, rollout_of(EVENT), FIVE_SECONDS)
    assert len(client.requests) == 1


def test_the_gate_asks_about_a_case_whose_prompt_requests_no_camera():
    case = rollout_of(EVENT, case="bedroom__T0__none__yaw60_LR")
    assert recipe_of(GATE).questions_per_rollout(case) == 1
    for name in RETURNED:
        assert recipe_of(name).declines(case) is None


# On clips whose truth is known


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("wrbench") / "world"
    faults = ("vanish", "teleport", "camera_never_moves")
    grid = Grid(
        families=("playroom",),
        events=("both",),
        cameras=("yaw_right_60",),
        seeds=(0,),
        faults=faults,
        severities=(1.0,),
    )
    return copy_clips(grid.recipes(replace(FORM, width=128, height=74, fps=4, seconds=5.0)), root)


@pytest.fixture
def as_wrbench(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders of clips are measured with these metrics."""
    monkeypatch.setattr(Folder, "metrics", lambda self, settings: probe_metrics(settings))


def values(run: Path) -> dict[str, dict[str, float | str]]:
    found: dict[str, dict[str, float | str]] = {}
    for (rollout, metric), row in outcomes(run).items():
        found.setdefault(rollout.split("/")[0], {})[metric] = row["reason"] or round(row["value"], 2)
    return found


@pytest.mark.render
@pytest.mark.merge
@pytest.mark.usefixtures("as_wrbench")
def test_an_all_knowing_judge_is_asked_as_often_as_the_plan_says_and_a_replay_gives_its_table(
    world, tmp_path, monkeypatch
):
    encoded: list[str] = []
    encode = openai_format._encode
    monkeypatch.setattr(
        openai_format, "_encode", lambda pictures, media: encoded.append(pictures[0].sha256) or encode(pictures, media)
    )
    dataset = lookaway.read(world, suite="folder")
    planned = ("plan", world, "--suite", "folder", "--judge-url", "http://127.0.0.1:9/v1", "--judge-model", "oracle")
    cost = command(*planned, "--json").json["cost"]
    with OracleServer(world, key=KEY) as server:
        lookaway.evaluate(dataset, tmp_path / "run", judge=settings(server))
        asked = server.request_log.received.total() - 1  # the introduction
    found = values(tmp_path / "run")
    assert found["perfect"] == {**dict.fromkeys((*VISIBLE, *RETURNED), 0.95), GATE: 1.0}
    assert found["teleport-1.00"]["wrbench.d5.returned_spatial"] == 0.05
    closed = dict.fromkeys(RETURNED, "gate_closed")
    assert found["vanish-1.00"].items() >= {**closed, GATE: 0.0}.items()
    assert found["camera_never_moves-1.00"].items() >= {**closed, GATE: 0.0}.items()

    rollouts, support = len(dataset.rollouts), 2
    assert asked == VISIBLE_CALLS * rollouts + rollouts + RETURNED_CALLS * support
    assert cost["conditional_judge_calls"] == RETURNED_CALLS * rollouts
    assert cost["judge_calls"] - cost["conditional_judge_calls"] == (VISIBLE_CALLS + 1) * rollouts
    assert len(encoded) == len(set(encoded))

    replay = settings(None, is_replay=True, replies=tmp_path / "run" / "replies")
    lookaway.evaluate(dataset, tmp_path / "replay", judge=replay)
    assert table_text(tmp_path / "replay") == table_text(tmp_path / "run")


@pytest.mark.render
@pytest.mark.merge
@pytest.mark.usefixtures("as_wrbench")
def test_another_judge_model_answers_the_questions_of_the_gate_and_nothing_else(world, tmp_path):
    dataset = lookaway.read(world, suite="folder").select(lambda rollout: rollout.model == "perfect")
    with OracleServer(world, key=KEY) as server, OracleServer(world, key=KEY) as gatekeeper:
        gate = settings(gatekeeper, model=JudgeModel(model="gatekeeper"))
        run = lookaway.evaluate(dataset, tmp_path / "run", judge=settings(server, gate=gate))
        asked = [each.request_log.received.total() for each in (server, gatekeeper)]
    assert asked == [1 + VISIBLE_CALLS + RETURNED_CALLS, 1 + 1]
    locked = {name: entries["features"] for name, entries in run.lock.entries["metrics"].items()}
    assert locked[GATE]["reobservation"]["judge"]["reported"] == "gatekeeper"
    for name in RETURNED:
        probes = locked[name]["probe_probabilities"]
        assert (probes["judge"]["model"], probes["gate"]["judge"]["model"]) == ("oracle", "gatekeeper")


def test_two_judges_of_one_name_are_refused():
    with pytest.raises(UserError, match="Leave it out, or name another model"):
        settings(None, gate=settings(None))


def test_the_judge_of_gates_is_set_for_gates_alone():
    models = {"judge": JudgeModel(model="scorer"), "gate_judge": JudgeModel(model="gatekeeper")}
    metrics = {metric.name: metric for metric in Overrides(**models).apply(probe_metrics({}))}
    assert metrics[GATE].recipes["reobservation"].judge.model == "gatekeeper"
    for name in (*VISIBLE, *RETURNED):
        recipe = metrics[name].recipes["probe_probabilities"]
        assert recipe.judge.model == "scorer"
        assert recipe.gate is None or recipe.gate == metrics[GATE].recipes["reobservation"]
