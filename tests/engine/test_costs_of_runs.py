"""What a run took is kept with it, over all its sessions, however they end; and what happened is in the events."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lookaway
from lookaway.core import RunError
from lookaway.engine import session
from lookaway.engine import session as account
from lookaway.engine.costs import read_machine_costs
from lookaway.engine.inline import Inline
from lookaway.engine.timings import (
    ASKING,
    RunCosts,
    SessionCosts,
    StageTiming,
    StageTimings,
    read_run_costs,
    save_session,
)
from lookaway.judges.budget import Spent
from lookaway.store.run_folder import RunFolder
from tests.support.runs import events
from tests.support.scripted import Brightness, bound, install, script
from tests.support.tiny import FRAMES, write_folder


class Mortal(Inline):
    """Two of its workers die, before the second item."""

    name = "mortal"
    deaths = retries = 0

    def map(self, make_worker: Any, items: Any, **options: Any) -> Iterator[Any]:
        for number, result in enumerate(super().map(make_worker, items, **options)):
            if number == 1:
                self.deaths, self.retries = 2, 3
            yield result


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("LOOKAWAY_HOME", str(tmp_path / "home"))
    script(monkeypatch, bound("first"), bound("second", Brightness(name="other")))
    return write_folder(tmp_path / "videos", cases=3)


def interrupt_after(rollouts: int):
    def on_progress(progress) -> None:
        if progress.done == rollouts:
            raise KeyboardInterrupt

    return on_progress


def test_a_run_keeps_what_it_took(root, tmp_path):
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    (only,) = read_run_costs(tmp_path / "run").sessions
    assert (only.executor, only.workers, only.rollouts, only.failures) == ("inline", 1, 3, 0)
    assert only.timings.stages["brightness"].frames == 3 * FRAMES
    assert 0 < only.timings.stages["decoding"].seconds < only.seconds
    assert only.judge == Spent()


def test_sessions_of_a_resumed_run_add_up(root, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        lookaway.evaluate(root, tmp_path / "run", suite="scripted", on_progress=interrupt_after(1))
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    costs = read_run_costs(tmp_path / "run")
    assert [session.rollouts for session in costs.sessions] == [1, 2]
    assert costs.sessions[0].started <= costs.sessions[1].started
    assert costs.timings.stages["brightness"].rollouts == 3


def test_a_run_that_lacks_nothing_has_no_session_and_no_event(root, tmp_path):
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    before = (tmp_path / "run" / "costs.json").read_bytes(), events(tmp_path / "run", None)
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    assert ((tmp_path / "run" / "costs.json").read_bytes(), events(tmp_path / "run", None)) == before


def test_features_that_were_kept_are_counted_and_not_paid_for(root, tmp_path):
    for name in ("one", "two"):
        lookaway.evaluate(root, tmp_path / name, suite="scripted", features=tmp_path / "features")
    stage = read_run_costs(tmp_path / "two").timings.stages["brightness"]
    assert (stage.kept, stage.rollouts, stage.seconds) == (3, 0, 0)


def test_the_events_tell_what_happened(root, tmp_path):
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    started, *between, finished = events(tmp_path / "run", None)
    assert {event["event"] for event in between} == {"measured", "working"}
    assert (started["event"], started["rollouts"], started["measurements"]) == ("started", 3, 6)
    (working,) = (event for event in between if event["event"] == "working")
    assert (started["executor"], working["workers"], "dashboard" in working) == ("inline", 1, False)
    assert (finished["event"], finished["rollouts"], finished["failures"]) == ("finished", 3, 0)
    assert started["session"] == finished["session"] == read_run_costs(tmp_path / "run").sessions[0].id


def test_an_interrupted_session_says_what_stopped_it(root, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        lookaway.evaluate(root, tmp_path / "run", suite="scripted", on_progress=interrupt_after(1))
    last = events(tmp_path / "run", None)[-1]
    assert (last["event"], last["error"], last["rollouts"]) == ("stopped", "KeyboardInterrupt", 1)


def test_deaths_of_workers_and_retries_are_kept(root, tmp_path, monkeypatch):
    install(monkeypatch, "executors", mortal=f"{__name__}:Mortal")
    progress = []
    lookaway.evaluate(root, tmp_path / "run", suite="scripted", executor="mortal", on_progress=progress.append)
    (only,) = read_run_costs(tmp_path / "run").sessions
    assert (only.deaths, only.retries) == (2, 3)
    (event,) = events(tmp_path / "run", "worker_died")
    assert (event["deaths"], event["retries"]) == (2, 3)
    assert progress[-1].retries == 3


def test_costs_are_saved_while_the_run_continues(root, tmp_path, monkeypatch):
    monkeypatch.setattr(session, "COMPACT_AFTER_PARTS", 1)
    seen = []
    lookaway.evaluate(
        root,
        tmp_path / "run",
        suite="scripted",
        on_progress=lambda progress: (
            progress.done > 1 and seen.append([entry.rollouts for entry in read_run_costs(tmp_path / "run").sessions])
        ),
    )
    assert seen[0] in ([1], [2])
    assert len(read_run_costs(tmp_path / "run").sessions) == 1


def test_damaged_costs_are_a_warning_and_counting_starts_again(root, tmp_path, caplog):
    with pytest.raises(KeyboardInterrupt):
        lookaway.evaluate(root, tmp_path / "run", suite="scripted", on_progress=interrupt_after(1))
    (tmp_path / "run" / "costs.json").write_text('{"sessions": [{"id"')
    with caplog.at_level(logging.WARNING):
        lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    assert "starts again from zero" in caplog.text
    assert [session.rollouts for session in read_run_costs(tmp_path / "run").sessions] == [2]


@pytest.mark.parametrize(
    "text", ["[]", "{}", '{"sessions": [1]}', '{"sessions": [{"id": "a"}]}', "not json", '{"sessions": [NaN]}']
)
def test_damaged_costs_are_refused_with_what_to_do(tmp_path, text):
    (tmp_path / "costs.json").write_text(text)
    with pytest.raises(RunError, match=r"costs\.json: the costs of the run cannot be read.*Delete it"):
        read_run_costs(tmp_path)


def test_a_number_that_is_none_is_refused(tmp_path):
    save_session(tmp_path, SessionCosts(executor="inline", workers=1))
    value = json.loads((tmp_path / "costs.json").read_text())
    value["sessions"][0]["seconds"] = "<b>"
    (tmp_path / "costs.json").write_text(json.dumps({"sessions": value["sessions"]}))
    with pytest.raises(RunError, match="seconds"):
        read_run_costs(tmp_path)


def test_a_session_that_is_saved_again_replaces_itself_and_no_other(tmp_path):
    one, two = (SessionCosts(executor="ray", workers=2, started=start) for start in (2.0, 1.0))
    for costs in (one, two, one):
        costs.rollouts += 1
        costs.judge = Spent(calls=costs.rollouts, prompt_tokens=10, answer_tokens=1)
        save_session(tmp_path, costs)
    found = read_run_costs(tmp_path)
    assert [(entry.id, entry.rollouts) for entry in found.sessions] == [(two.id, 1), (one.id, 2)]
    assert found.judge == Spent(calls=3, prompt_tokens=20, answer_tokens=2)


def test_a_run_without_costs_took_nothing_that_is_known(tmp_path):
    assert read_run_costs(tmp_path) == RunCosts()


def test_the_error_that_ended_a_session_is_not_hidden_by_one_of_its_account(root, tmp_path, monkeypatch, caplog):
    def full(*arguments: Any) -> None:
        raise RunError("the disk is full.")

    monkeypatch.setattr(account, "save_session", full)
    with pytest.raises(KeyboardInterrupt), caplog.at_level(logging.WARNING):
        lookaway.evaluate(root, tmp_path / "run", suite="scripted", on_progress=interrupt_after(1))
    assert "the disk is full" in caplog.text
    with pytest.raises(RunError, match="the disk is full"):
        lookaway.evaluate(root, tmp_path / "run", suite="scripted")


def test_the_judge_costs_what_was_spent_in_this_session(tmp_path, monkeypatch):
    monkeypatch.setenv("LOOKAWAY_HOME", str(tmp_path / "home"))
    spending = tmp_path / "spending.jsonl"
    spending.write_text('{"calls": 5}\n{"prompt_tokens": 500, "answer_tokens": 5}\n')
    judge: Any = type("Settings", (), {"model": type("Model", (), {"model": "oracle"})})
    with (
        account.SessionLog(RunFolder(tmp_path), Inline(), judge, [], account.StageTimings()),
        spending.open("a") as file,
    ):
        file.write('{"calls": 2}\n{"prompt_tokens": 70, "answer_tokens": 7}\n')
    assert read_run_costs(tmp_path).judge == Spent(calls=2, prompt_tokens=70, answer_tokens=7)
    table = json.loads((tmp_path / "home" / "costs.json").read_text())
    assert (table["judges"]["oracle"]["calls"], table["judges"]["oracle"]["tokens"]) == (2, 77)


@pytest.mark.parametrize(("asked", "paced_calls"), [(1000.0, 2), (0.0, 0)])
def test_a_session_says_how_fast_a_judge_is_only_if_it_waited_for_it(tmp_path, monkeypatch, asked, paced_calls):
    monkeypatch.setenv("LOOKAWAY_HOME", str(tmp_path / "home"))
    judge: Any = type("Settings", (), {"model": type("Model", (), {"model": "oracle"})})
    timings = StageTimings({ASKING: StageTiming(seconds=asked)})
    a_second_ago = time.perf_counter() - 1
    with account.SessionLog(RunFolder(tmp_path), Inline(), judge, [], timings, a_second_ago):
        (tmp_path / "spending.jsonl").write_text('{"calls": 2}\n')
    costs = read_machine_costs().judges["oracle"]
    assert (costs.calls, costs.paced_calls, costs.seconds > 0) == (2, paced_calls, paced_calls > 0)


def test_rollouts_of_a_batch_that_was_written_count_though_not_all_were_reported(root, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        lookaway.evaluate(root, tmp_path / "run", suite="scripted", on_progress=interrupt_after(2))
    assert sum(session.rollouts for session in read_run_costs(tmp_path / "run").sessions) == len(
        events(tmp_path / "run")
    )
