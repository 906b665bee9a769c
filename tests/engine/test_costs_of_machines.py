"""The table of what work takes on this kind of machine, which every run adds to."""

from __future__ import annotations

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import lookaway
from lookaway.engine import costs as machine_costs
from lookaway.engine import timings as machine
from lookaway.engine.costs import JudgeCosts, MachineCosts, add_to_machine_costs, read_machine_costs
from lookaway.engine.timings import ASKING, WAITING, StageTiming, StageTimings, kind_of_machine
from lookaway.judges.budget import Spent
from tests.support.scripted import bound, script
from tests.support.tiny import FRAMES, write_folder


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("LOOKAWAY_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def some(rollouts: int = 1) -> dict[str, StageTimings]:
    return {
        kind_of_machine(): StageTimings(
            {"sift": StageTiming(seconds=2.0 * rollouts, frames=rollouts, rollouts=rollouts)}
        )
    }


def test_every_run_adds_what_its_stages_took(tmp_path, monkeypatch):
    script(monkeypatch, bound())
    root = write_folder(tmp_path / "videos", cases=2)
    for name in ("one", "two"):
        lookaway.evaluate(root, tmp_path / name, suite="scripted")
    stage = read_machine_costs().of_stage("brightness")
    assert (stage.rollouts, stage.frames) == (4, 4 * FRAMES)
    assert stage.cpu_seconds > 0


def test_a_stage_that_was_only_kept_was_never_measured():
    add_to_machine_costs({kind_of_machine(): StageTimings({"sift": StageTiming(kept=5)})})
    assert read_machine_costs().of_stage("sift") is None
    assert read_machine_costs().of_stage("never heard of") is None


def test_other_kinds_of_machines_say_nothing_of_this_one():
    add_to_machine_costs({"Another + GPU": some()[kind_of_machine()]})
    assert read_machine_costs().of_stage("sift") is None
    assert read_machine_costs().machines["Another + GPU"].stages["sift"].frames == 1


def test_waiting_is_nothing_of_the_machine():
    add_to_machine_costs(
        {kind_of_machine(): StageTimings({name: StageTiming(seconds=9, rollouts=1) for name in (WAITING, ASKING)})}
    )
    assert read_machine_costs().machines[kind_of_machine()].stages == {}


def test_runs_at_the_same_time_lose_nothing_of_each_other():
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: add_to_machine_costs(some()), range(40)))
    assert read_machine_costs().of_stage("sift").rollouts == 40


def test_old_measurements_fade(monkeypatch):
    monkeypatch.setattr(machine_costs, "MAX_FRAMES", 100)
    add_to_machine_costs(
        {kind_of_machine(): StageTimings({"sift": StageTiming(cpu_seconds=100.0, frames=100, rollouts=100)})}
    )
    for _ in range(10):
        add_to_machine_costs(
            {kind_of_machine(): StageTimings({"sift": StageTiming(cpu_seconds=500.0, frames=50, rollouts=50)})}
        )
    stage = read_machine_costs().of_stage("sift")
    assert stage.frames <= 100
    assert stage.cpu_seconds / stage.frames == pytest.approx(
        10, rel=0.05
    )  # it took 1 s for a frame at first, and 10 s since


def test_stages_without_frames_fade_too(monkeypatch):
    monkeypatch.setattr(machine_costs, "MAX_ROLLOUTS", 10)
    add_to_machine_costs({kind_of_machine(): StageTimings({"metrics": StageTiming(seconds=16.0, rollouts=32)})})
    assert read_machine_costs().of_stage("metrics") == StageTiming(seconds=4.0, rollouts=8)


def test_judges_are_known_by_their_models_and_fade(monkeypatch):
    monkeypatch.setattr(machine_costs, "MAX_CALLS", 10)
    add_to_machine_costs({}, ("oracle", Spent(calls=8, prompt_tokens=80, answer_tokens=8), 4.0))
    add_to_machine_costs({}, ("oracle", Spent(calls=8, prompt_tokens=80, answer_tokens=8), 4.0))
    add_to_machine_costs({}, ("silent", Spent(), 4.0))
    (oracle,) = read_machine_costs().judges.values()
    assert (oracle.calls, oracle.tokens, oracle.paced_calls, oracle.seconds) == (8, 88, 8, 4.0)


def test_a_session_that_was_busy_with_something_else_tells_tokens_of_a_judge_and_no_pace():
    add_to_machine_costs({}, ("oracle", Spent(calls=8, prompt_tokens=80), 4.0))
    add_to_machine_costs({}, ("oracle", Spent(calls=2, prompt_tokens=20), None))
    assert read_machine_costs().judges["oracle"] == JudgeCosts(calls=10, tokens=100, paced_calls=8, seconds=4.0)


def test_a_pace_that_was_kept_without_saying_what_was_waited_for_is_none(home):
    home.mkdir()
    (home / "costs.json").write_text('{"machines": {}, "judges": {"o": {"calls": 5, "tokens": 9, "seconds": 7.0}}}')
    assert read_machine_costs().judges["o"].paced_calls == 0


@pytest.mark.parametrize(
    "text", ["not json", "[]", '{"machines": [], "judges": {}}', '{"machines": {"x": {"sift": 1}}, "judges": {}}', ""]
)
def test_a_damaged_table_is_a_warning_and_a_new_one_is_started(home, caplog, text):
    home.mkdir()
    (home / "costs.json").write_text(text)
    with caplog.at_level(logging.WARNING):
        add_to_machine_costs(some())
    assert "cannot be read" in caplog.text
    assert "starting a new one" in caplog.text
    assert read_machine_costs().of_stage("sift").rollouts == 1


def test_a_home_that_cannot_be_written_ends_no_run(tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("LOOKAWAY_HOME", str(tmp_path / "file" / "home"))
    script(monkeypatch, bound())
    with caplog.at_level(logging.WARNING):
        run = lookaway.evaluate(write_folder(tmp_path / "videos", cases=1), tmp_path / "run", suite="scripted")
    assert run.table().cells[0].scored == 1
    assert "were not added to the table of measured costs" in caplog.text


def test_a_table_comes_back_as_it_was_kept(home):
    add_to_machine_costs(some(3), ("oracle", Spent(calls=1, prompt_tokens=2), 1.0))
    kept = json.loads((home / "costs.json").read_text())
    assert MachineCosts.from_json(kept).to_json() == kept


def test_a_machine_is_known_by_its_processor_and_gpus(tmp_path, monkeypatch):
    (tmp_path / "cpuinfo").write_text(
        "processor\t: 0\nmodel name\t: Fast  CPU\nprocessor\t: 1\nmodel name\t: Fast CPU\n"
    )
    for number in range(2):
        (tmp_path / "gpus" / str(number)).mkdir(parents=True)
        (tmp_path / "gpus" / str(number) / "information").write_text("Model: \t\t Large GPU\nIRQ: 1\n")
    monkeypatch.setattr(machine, "PROCESSORS", tmp_path / "cpuinfo")
    assert kind_of_machine.__wrapped__() == "Fast CPU"
    monkeypatch.setattr(machine, "GPUS", tmp_path / "gpus")
    assert (kind_of_machine.__wrapped__(), machine.gpu_count()) == ("Fast CPU + Large GPU", 2)
    monkeypatch.setattr(machine, "PROCESSORS", tmp_path / "nowhere")
    monkeypatch.setattr(machine, "GPUS", tmp_path / "nowhere")
    assert kind_of_machine.__wrapped__()
