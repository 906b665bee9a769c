"""Whole runs with a judge behind real HTTP."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path

import pytest

import lookaway
from lookaway.core import BudgetSpent, JudgeModel, JudgeUnusable, Lock
from lookaway.judges.budget import Budget
from lookaway.judges.client import RetryPolicy
from lookaway.judges.oracle import Noise, OracleServer, ServerErrors
from lookaway.judges.prompts import Prompt
from lookaway.judges.server import Connection, Secret
from lookaway.judges.settings import JudgeSettings
from lookaway.judges.trigger_verdict import TriggerVerdict
from tests.judges.one_reply import saying
from tests.judges.requests import QUICK, completion
from tests.support.command import lookaway as command
from tests.support.rendered import copy_small
from tests.support.runs import outcomes, table_text
from tests.support.spellings import spellings

pytestmark = pytest.mark.render

KEY = "sk-of-the-oracle-0123456789"
METRICS = ("triggered", "state_progress")
CLIPS = 3


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("judged") / "world"
    copy_small(root, faults=("state_reset",), severities=(0.5, 1.0))
    return root


def settings(server: OracleServer | None, **changes) -> JudgeSettings:
    url = server.base_url if server else "http://127.0.0.1:9/v1"
    given = {
        "model": JudgeModel(model="oracle"),
        "connection": Connection(url=url, key=Secret(KEY), timeout_seconds=10),
        "policy": RetryPolicy(concurrent=4, tries=4, **QUICK),
        **changes,
    }
    return JudgeSettings(**given)


def values(run: Path) -> dict[str, dict[str, float | str]]:
    """By metric and model: the value, or the reason why there is none."""
    found: dict[str, dict[str, float | str]] = {}
    for (rollout, metric), row in outcomes(run).items():
        found.setdefault(metric, {})[rollout.split("/")[0]] = row["reason"] or row["value"]
    return found


def test_what_an_all_knowing_judge_says_is_what_is_true(world, tmp_path):
    with OracleServer(world, key=KEY) as server:
        lookaway.evaluate(world, tmp_path / "run", metrics=METRICS, judge=settings(server))
    assert values(tmp_path / "run") == {
        "triggered": {"perfect": 1.0, "state_reset-0.50": 1.0, "state_reset-1.00": 1.0},
        "state_progress": {"perfect": 1.0, "state_reset-0.50": 0.25, "state_reset-1.00": 0.0},
    }


def test_the_lock_names_the_model_that_answered_the_prompts_the_frames_and_the_sampling(world, tmp_path):
    with OracleServer(world, noise=Noise(reported_model="oracle-of-november"), key=KEY) as server:
        run = lookaway.evaluate(world, tmp_path / "run", metrics=["triggered"], judge=settings(server))
        address = server.base_url
    recipe = run.lock.entries["metrics"]["triggered"]["features"]["trigger_verdict"]
    judge = recipe["judge"]
    assert (judge["model"], judge["reported"]) == ("oracle", "oracle-of-november")
    assert (judge["wording"], judge["media"], judge["repeats"]) == ("schema", "png", 1)
    assert judge["sampling"] == {
        "kind": "Sampling",
        "temperature": 0.0,
        "top_p": 1.0,
        "seed": 0,
        "max_tokens": 1024,
    }
    assert recipe["frames"] == {"kind": "UniformFrames", "count": 8}
    assert recipe["prompts"] == [
        {"kind": name, "name": name, "sha256": Prompt.named(name).sha256} for name in ("trigger", "trigger_object")
    ]
    assert recipe["system"]["sha256"] == Prompt.named("system").sha256
    assert address not in json.dumps(run.lock.entries)


def test_another_model_another_prompt_or_other_frames_are_another_lock(world, tmp_path):
    locks: set[str] = set()
    with OracleServer(world, key=KEY) as server:
        for model in (JudgeModel(model="oracle"), JudgeModel(model="other"), JudgeModel(model="oracle", repeats=2)):
            judge = settings(server, model=model, replies=tmp_path / "replies")
            run = lookaway.evaluate(world, tmp_path / "run", metrics=["triggered"], judge=judge, new=True)
            locks.add(run.lock.sha256)
    entries = run.lock.entries
    assert len(locks) == 3
    text = json.dumps(entries).replace(Prompt.named("trigger").sha256, "0" * 64)
    assert Lock(json.loads(text)).sha256 not in locks


def test_a_replay_without_a_server_gives_the_same_table(world, tmp_path):
    with OracleServer(
        world, noise=Noise(wrong_answer_rate=0.4, seed=3), errors=ServerErrors.mixed(0.3), key=KEY
    ) as server:
        lookaway.evaluate(world, tmp_path / "run", metrics=METRICS, judge=settings(server))
    replay = settings(None, is_replay=True, replies=tmp_path / "run" / "replies")
    lookaway.evaluate(world, tmp_path / "replay", metrics=METRICS, judge=replay)
    assert table_text(tmp_path / "replay") == table_text(tmp_path / "run")
    assert _rows(tmp_path / "replay") == _rows(tmp_path / "run")


def _rows(run: Path) -> list[tuple[object, ...]]:
    """All that was measured but the wording of faults that only the first run saw."""
    return [(key, row["status"], row["value"], row["raw"], row["reason"]) for key, row in sorted(outcomes(run).items())]


def test_a_run_that_goes_on_asks_nothing_twice(world, tmp_path):
    run = tmp_path / "run"
    with OracleServer(world, key=KEY) as server:
        for metrics in (["triggered"], METRICS, METRICS):
            lookaway.evaluate(world, run, metrics=metrics, judge=settings(server))
        assert set(server.request_log.received.values()) == {1}
        assert len(server.request_log.received) == 1 + 2 * CLIPS


def test_answers_are_read_again_without_asking_when_reading_has_changed(world, tmp_path, monkeypatch):
    with OracleServer(world, key=KEY) as server:
        lookaway.evaluate(world, tmp_path / "run", metrics=["triggered"], judge=settings(server))
        asked = server.request_log.received.total()
        monkeypatch.setattr(TriggerVerdict, "version", TriggerVerdict.version + 1)
        before = outcomes(tmp_path / "run")
        shutil.rmtree(tmp_path / "run" / "features")
        lookaway.evaluate(world, tmp_path / "run", metrics=["triggered"], judge=settings(server), new=True)
        assert server.request_log.received.total() == asked
    after = outcomes(tmp_path / "run")
    assert {row["lock"] for row in after.values()}.isdisjoint({row["lock"] for row in before.values()})
    assert {key: row["value"] for key, row in after.items()} == {key: row["value"] for key, row in before.items()}


def test_what_was_not_answered_is_asked_again_and_nothing_else(world, tmp_path):
    run, patience = tmp_path / "run", RetryPolicy(concurrent=1, tries=1, **QUICK)
    errors = ServerErrors(script=[None, "server_error"])
    with OracleServer(world, errors=errors, key=KEY) as server:
        lookaway.evaluate(world, run, metrics=["triggered"], judge=settings(server, policy=patience))
        first = values(run)["triggered"]
        lookaway.evaluate(world, run, metrics=["triggered"], judge=settings(server, policy=patience))
        assert sorted(server.request_log.received.values()) == [1] * CLIPS + [2]
    assert sorted(map(str, first.values())) == ["1.0"] * (CLIPS - 1) + ["judge_failed"]
    assert set(values(run)["triggered"].values()) == {1.0}


def test_a_budget_that_is_spent_ends_the_run_and_a_raised_one_goes_on(world, tmp_path):
    run = tmp_path / "run"
    patience = RetryPolicy(concurrent=1, **QUICK)
    with OracleServer(world, key=KEY) as server:
        spare = settings(server, policy=patience, budget=Budget(calls=3))
        with pytest.raises(BudgetSpent, match=r"3 of 3 calls.*--judge-calls"):
            lookaway.evaluate(world, run, metrics=["triggered"], judge=spare)
        assert len(values(run)["triggered"]) == 2
        raised = settings(server, policy=patience, budget=Budget(calls=4))
        lookaway.evaluate(world, run, metrics=["triggered"], judge=raised)
        assert set(server.request_log.received.values()) == {1}
    assert set(values(run)["triggered"].values()) == {1.0}


def test_without_a_judge_metrics_that_ask_one_abstain_and_the_others_run(world, tmp_path):
    lookaway.evaluate(world, tmp_path / "run", suite="folder", metrics=["triggered", "rendering_lighting"])
    found = values(tmp_path / "run")
    assert set(found["triggered"].values()) == {"no_judge"}
    assert all(isinstance(value, float) for value in found["rendering_lighting"].values())


def test_no_judge_calls_are_made_where_no_metric_needs_them(world, tmp_path):
    unreachable = settings(None)
    lookaway.evaluate(world, tmp_path / "run", suite="folder", metrics=["rendering_lighting"], judge=unreachable)
    assert not (tmp_path / "run" / "spending.jsonl").exists()


def test_a_refusal_is_a_refusal_and_not_a_no(world, tmp_path):
    errors = ServerErrors(script=[None, *["refusal"] * 12])
    with OracleServer(world, errors=errors, key=KEY) as server:
        lookaway.evaluate(world, tmp_path / "run", metrics=["triggered"], judge=settings(server))
    assert set(values(tmp_path / "run")["triggered"].values()) == {"judge_refused"}


def test_a_server_without_log_probabilities_leads_to_an_abstention(world, tmp_path):
    with OracleServer(world, noise=Noise(gives_logprobs=False), key=KEY) as server:
        lookaway.evaluate(world, tmp_path / "run", metrics=["probe_support"], judge=settings(server))
    assert set(values(tmp_path / "run")["probe_support"].values()) == {"no_log_probabilities"}


def test_a_server_that_does_not_hold_to_schemas_is_asked_in_words_and_gives_the_same_values(world, tmp_path):
    with OracleServer(world, noise=Noise(holds_schema=False), key=KEY) as server:
        run = lookaway.evaluate(world, tmp_path / "free", metrics=METRICS, judge=settings(server))
    with OracleServer(world, key=KEY) as server:
        lookaway.evaluate(world, tmp_path / "held", metrics=METRICS, judge=settings(server))
    features = run.lock.entries["metrics"]["triggered"]["features"]
    assert features["trigger_verdict"]["judge"]["wording"] == "text"
    assert values(tmp_path / "free") == values(tmp_path / "held")


@pytest.mark.parametrize("media", ["jpeg", "video"])
def test_frames_can_be_sent_in_other_forms(world, tmp_path, media):
    judge = JudgeModel(model="oracle", media=media)
    with OracleServer(world, key=KEY) as server:
        lookaway.evaluate(world, tmp_path / "run", metrics=["state_progress"], judge=settings(server, model=judge))
    assert values(tmp_path / "run")["state_progress"]["state_reset-1.00"] == 0.0


def test_repeats_are_counted_and_their_agreement_is_told(world, tmp_path):
    judge = JudgeModel(model="oracle", repeats=3)
    with OracleServer(world, noise=Noise(wrong_answer_rate=0.4, seed=1), key=KEY) as server:
        lookaway.evaluate(world, tmp_path / "run", metrics=["triggered"], judge=settings(server, model=judge))
        assert len(server.request_log.received) == 1 + 3 * CLIPS
    details = [json.loads(row["detail"]) for row in outcomes(tmp_path / "run").values()]
    assert {detail["repeats"] for detail in details} == {3}
    for detail in details:
        expected = 1.0 if detail["yes"] in (0, 3) else 1 / 3
        assert detail["agreement"] == pytest.approx(expected)
    assert {detail["yes"] for detail in details} - {0, 3}


def test_another_model_in_the_middle_of_a_run_is_not_believed(world, tmp_path):
    run = tmp_path / "run"
    with OracleServer(world, key=KEY) as server:
        lookaway.evaluate(world, run, metrics=["triggered"], judge=settings(server))
    with OracleServer(world, noise=Noise(reported_model="cheaper"), key=KEY) as server:
        lookaway.evaluate(world, run, metrics=METRICS, judge=settings(server))
    assert set(values(run)["triggered"].values()) == {1.0}
    assert set(values(run)["state_progress"].values()) == {"judge_failed"}
    messages = {row["message"] for (_, metric), row in outcomes(run).items() if metric == "state_progress"}
    assert all("another model answered: found 'cheaper', expected 'oracle'" in message for message in messages)


def test_a_wrong_key_ends_the_run_with_advice(world, tmp_path):
    with (
        OracleServer(world, key="another key") as server,
        pytest.raises(JudgeUnusable, match="LOOKAWAY_JUDGE_KEY") as caught,
    ):
        lookaway.evaluate(world, tmp_path / "run", metrics=["triggered"], judge=settings(server))
    assert KEY not in str(caught.value)


@pytest.mark.ray
@pytest.mark.merge
def test_inline_and_ray_give_the_same_table(world, tmp_path):
    with OracleServer(world, key=KEY) as server:
        for executor in ("inline", "ray"):
            judge = settings(server)
            lookaway.evaluate(world, tmp_path / executor, metrics=METRICS, judge=judge, executor=executor)
    assert table_text(tmp_path / "ray") == table_text(tmp_path / "inline")


def test_the_command_line_takes_the_judge_from_the_environment_and_writes_the_key_nowhere(world, tmp_path, monkeypatch):
    run = tmp_path / "run"
    with OracleServer(world, errors=ServerErrors(script=["rate_limited", "dropped_connection"]), key=KEY) as server:
        monkeypatch.setenv("MBENCH_VLM_BASE_URL", server.base_url)
        monkeypatch.setenv("MBENCH_VLM_API_KEY", KEY)
        monkeypatch.setenv("MBENCH_VLM_MODEL", "oracle")
        result = command("eval", world, "-o", run, "--metrics", "triggered", "--no-progress")
    assert result.code == 0
    assert "triggered" in result.out
    written = [path for path in run.rglob("*") if path.is_file()]
    assert len(written) > 5
    assert not [path for path in written if KEY.encode() in path.read_bytes()]
    assert KEY not in result.out + result.err


@pytest.mark.merge  # a whole run, its report, and every file of both
@pytest.mark.parametrize("status", [200, 400])
def test_a_key_that_a_server_gives_back_in_any_spelling_is_nowhere(world, tmp_path, caplog, status):
    packed = [
        base64.b64encode(f"{before}{KEY}{after}".encode()).decode() for before in ("", "a", "ab") for after in ("", ":")
    ]
    told = " ".join([*(form.decode() for form in spellings(KEY)[:4]), *packed])
    assert all(form in told.encode() for form in spellings(KEY))
    run, site = tmp_path / "run", tmp_path / "site"
    body = {**completion(told), "error": {"message": told}}
    with saying(status, body) as (url, asked):
        options = ("--judge-url", url, "--judge-key", KEY, "--judge-model", "oracle", "--no-progress")
        shown = [command("eval", world, "-o", run, "--metrics", "triggered", "--limit", "1", *options)]
    shown += [command("show", run), command("check", run), command("report", run, "-o", site)]
    assert asked
    texts = [caplog.text.encode(), *((result.out + result.err).encode() for result in shown)]
    texts += [path.read_bytes() for folder in (run, site) for path in folder.rglob("*") if path.is_file()]
    assert not [form for form in spellings(KEY) for text in texts if form in text]


def test_a_check_shows_what_came_back_and_what_a_run_would_take(world):
    with OracleServer(world, noise=Noise(reported_model="oracle-of-november"), key=KEY) as server:
        judge = ("--judge-url", server.base_url, "--judge-key", KEY, "--judge-model", "oracle")
        shown = command("judge", "check", world, "--metrics", "triggered,state_progress", *judge)
        found = command("judge", "check", world, "--metrics", "triggered", "--json", *judge).json
    assert shown.code == 0
    for line in (
        "model: oracle, which reports itself as oracle-of-november",
        "follows a JSON schema: yes",
        "gives log-probabilities: yes",
        "p(yes) = 0.9500",
        f"a run on this dataset: {2 * CLIPS} calls",
    ):
        assert line in shown.out
    assert found["holds_schema"] is True
    assert found["described"]["frames"] == 8
    assert found["run"]["calls"] == CLIPS
    assert found["run"]["prompt_tokens"] > 0
    assert KEY not in shown.out + shown.err


def test_a_check_without_a_judge_says_how_to_name_one(world):
    result = command("judge", "check", world)
    assert (result.code, "--judge-model" in result.err) == (2, True)


def test_a_plan_counts_the_questions_and_makes_no_judge_calls(world, tmp_path, monkeypatch):
    monkeypatch.setenv("LOOKAWAY_HOME", str(tmp_path / "home"))  # where no judge was ever asked
    judge = ("--judge-url", "http://127.0.0.1:9/v1", "--judge-model", "oracle", "--judge-repeats", "2")
    cost = command("plan", world, "--metrics", "triggered,state_progress", "--json", *judge).json["cost"]
    assert cost["judge_calls"] == 2 * 2 * CLIPS
    assert cost["judge_tokens"] > 1000 * cost["judge_calls"]
    assert command("plan", world, "--metrics", "rendering_lighting", "--json", *judge).json["cost"]["judge_calls"] == 0
