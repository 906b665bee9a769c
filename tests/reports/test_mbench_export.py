from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Abstention, Reason, Score, Unit, UserError
from lookaway.engine.evaluate import evaluate
from lookaway.engine.run import Run
from lookaway.reports.export.mbench import export_mbench, folder_name
from tests.support.command import lookaway
from tests.support.hand_made import hand_made_run, scores
from tests.support.scripted import install
from tests.support.tiny import QUICK, write_folder, write_mbench

LIGHT, CAMERA = QUICK
IDENTITY, GATE = "mbencht.entity.human_identity_consistency", "mbencht.human.trigger"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Two models; one video of the first is missing."""
    writer = write_mbench(tmp_path / "dataset", models=("alpha", "beta"))
    writer.video(model="alpha", subset="environment", sample="sample0").unlink()
    return evaluate(writer.root, tmp_path / "run", metrics=QUICK)


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_layout_is_that_of_mbench(run, tmp_path):
    result = lookaway("export", "mbench", run.path, "-o", tmp_path / "out")
    assert (result.code, result.out) == (0, f"Wrote {tmp_path / 'out'}\n")
    found = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file()}
    per_metric = {f"metrics/{name}/{file}" for name in QUICK for file in ("units.jsonl", "items.jsonl", "summary.json")}
    assert found == {"items.jsonl", "eval.log", *per_metric}


def test_items_list_every_sample_of_every_model_once(run, tmp_path):
    export_mbench(run, tmp_path / "out")
    records = lines(tmp_path / "out" / "items.jsonl")
    assert len(records) == len({(record["item_id"], record["model_id"]) for record in records}) == 8
    assert records[0] == {"item_id": "causal:sample0:left_then_right_10s", "model_id": "alpha"}


def test_units_carry_the_score_and_the_raw_score_of_a_frame_pair(run, tmp_path):
    export_mbench(run, tmp_path / "out")
    records = lines(tmp_path / "out" / "metrics" / LIGHT / "units.jsonl")
    measured = {(row["model"], row["case"], row["unit"]): row for row in run.units(LIGHT)}
    assert len(records) == len(measured) > 0
    for record in records:
        unit = record["unit_id"].removeprefix(record["item_id"] + "__")
        row = measured[record["model_id"], record["item_id"], unit]
        assert record["scores"] == (
            {"score": row["value"], "score_raw": row["raw"]} if row["value"] is not None else {}
        )


def test_a_raw_score_that_says_nothing_new_is_left_out(run, tmp_path):
    export_mbench(run, tmp_path / "out")
    record = lines(tmp_path / "out" / "metrics" / CAMERA / "items.jsonl")[0]
    assert record["scores"].keys() == {"score"}


def test_where_nothing_was_measured_there_is_no_score_but_a_reason(run, tmp_path):
    export_mbench(run, tmp_path / "out")
    records = {(r["model_id"], r["item_id"]): r for r in lines(tmp_path / "out" / "metrics" / LIGHT / "items.jsonl")}
    missing = records["alpha", "environment:sample0:left_then_right_10s"]
    assert missing["scores"] == {}
    assert (missing["metadata"]["status"], missing["metadata"]["reason"]) == ("abstention", "missing_video")
    assert records["beta", "environment:sample0:left_then_right_10s"]["scores"]["score"] > 0


def test_the_summary_is_grouped_by_model_with_n_of_how_many(run, tmp_path):
    export_mbench(run, tmp_path / "out")
    summary = json.loads((tmp_path / "out" / "metrics" / LIGHT / "summary.json").read_text())
    assert summary["metric"] == LIGHT
    alpha, beta = summary["groups"]["alpha"], summary["groups"]["beta"]
    assert (alpha["n"], alpha["n_asked"], alpha["not_scored"]) == (1, 2, {"missing_video": 1})
    assert (beta["n"], beta["n_asked"], beta["not_scored"]) == (2, 2, {})
    means = {cell.model: cell for cell in run.table().cells if cell.metric == LIGHT}
    assert beta["score"] == means["beta"].estimate.mean
    assert beta["score_raw"] == means["beta"].raw_mean
    assert "score_low" not in beta
    assert "score_low" not in alpha


def test_the_summary_of_five_scenes_has_both_ends_of_the_interval(tmp_path):
    run = hand_made_run(tmp_path / "run", "mbench-a", {LIGHT: scores("m", 0.4, 0.5, 0.6, 0.7, 0.8)})
    export_mbench(run, tmp_path / "out")
    summary = json.loads((tmp_path / "out" / "metrics" / LIGHT / "summary.json").read_text())["groups"]["m"]
    assert 0 < summary["score_low"] < summary["score"] < summary["score_high"] < 1


def test_a_group_without_any_measurement_has_no_score_key(tmp_path):
    writer = write_mbench(tmp_path / "dataset", subsets=("environment",))
    for path in writer.root.rglob("video.mp4"):
        path.unlink()
    export_mbench(evaluate(writer.root, tmp_path / "run", metrics=QUICK[:1]), tmp_path / "out")
    summary = json.loads((tmp_path / "out" / "metrics" / LIGHT / "summary.json").read_text())
    assert summary["groups"] == {"alpha": {"n": 0, "n_asked": 2, "not_scored": {"missing_video": 2}}}
    assert (tmp_path / "out" / "metrics" / LIGHT / "units.jsonl").read_text() == ""


def test_the_log_has_one_line_for_every_measurement(run, tmp_path):
    export_mbench(run, tmp_path / "out")
    log = (tmp_path / "out" / "eval.log").read_text().splitlines()
    assert len(log) == 8
    assert sum("abstention missing_video: video.mp4: there is no such file." in line for line in log) == 1


def test_each_line_of_the_log_begins_with_the_time_at_which_its_rollout_was_last_measured(run, tmp_path):
    items = [row["rollout"] for row in run.items()]
    events = [
        {"time": 1_700_000_000, "event": "measured", "rollout": items[0]},
        {"time": 1_700_000_003.7, "event": "measured", "rollout": items[0]},
        {"time": 1_700_000_001, "event": "measured", "rollout": items[0]},
        {"time": 1_700_000_005, "event": "lost", "rollout": items[0]},
        {"time": "never", "event": "measured", "rollout": items[1]},
    ]
    (run.path / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events) + "{cut off")
    export_mbench(run, tmp_path / "out")
    first, second, *_ = (tmp_path / "out" / "eval.log").read_text().splitlines()
    assert first.startswith("2023-11-14T22:13:23Z alpha ")
    assert second.startswith("alpha ")


def test_a_metric_asked_of_several_subsets_has_a_number_for_each(tmp_path, monkeypatch):
    install(monkeypatch, "metrics", mean_brightness="tests.support.scripted:MeanBrightness")
    install(monkeypatch, "extractors", brightness="tests.support.scripted:Brightness")
    root = write_mbench(tmp_path / "dataset").root
    export_mbench(evaluate(root, tmp_path / "run", metrics=["mean_brightness"]), tmp_path / "out")
    summary = json.loads((tmp_path / "out" / "metrics" / "mean_brightness" / "summary.json").read_text())
    subsets = summary["groups"]["alpha"]["subsets"]
    assert {name: group["n"] for name, group in subsets.items()} == {"causal": 2, "environment": 2}


def test_a_run_of_another_suite_is_refused_before_anything_is_written(tmp_path):
    root = write_folder(tmp_path / "videos")
    run = evaluate(root, tmp_path / "run", suite="folder", metrics=["rendering_lighting"])
    with pytest.raises(UserError, match="is a run of 'folder'; the MBench layout is for runs of mbench-a and mbench-t"):
        export_mbench(run, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert lookaway("export", "mbench", run.path, "-o", tmp_path / "out").code == 2


def test_an_output_that_cannot_be_written_is_an_error_of_the_user(run, tmp_path):
    (tmp_path / "out").write_text("a file where a folder should be")
    result = lookaway("export", "mbench", run.path, "-o", tmp_path / "out")
    assert result.code == 2
    assert result.err.startswith(f"error: {tmp_path / 'out'}: cannot be written")


@pytest.mark.parametrize("name", ["../../escaped", "/absolute/escaped", "..", ".", "a/../../b", "nul\0", "a\\b"])
def test_a_metric_of_any_name_is_exported_inside_the_folder(name, tmp_path, monkeypatch):
    install(monkeypatch, "metrics", **{name: "tests.support.scripted:MeanBrightness"})
    install(monkeypatch, "extractors", brightness="tests.support.scripted:Brightness")
    root = write_mbench(tmp_path / "dataset", samples=1, subsets=("environment",)).root
    run = evaluate(root, tmp_path / "run", metrics=[name])
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    export_mbench(run, tmp_path / "deep" / "er" / "out")
    written = {path for path in tmp_path.rglob("*") if path.is_file()} - before
    assert len(written) == 5
    assert all(path.is_relative_to(tmp_path / "deep" / "er" / "out") for path in written)
    assert len(list((tmp_path / "deep" / "er" / "out" / "metrics").iterdir())) == 1
    summary = next((tmp_path / "deep").rglob("summary.json"))
    assert json.loads(summary.read_text())["metric"] == name


def test_two_names_never_share_a_folder():
    names = ["a/b", "a%2Fb", "a\\b", "..", "%2E%2E", ".", "a b"]
    assert len({folder_name(name) for name in names}) == len(names)


def test_a_model_of_any_name_changes_no_path(tmp_path):
    writer = write_mbench(tmp_path / "dataset", models=("..hidden",), samples=1, subsets=("environment",))
    export_mbench(evaluate(writer.root, tmp_path / "run", metrics=QUICK[:1]), tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"items.jsonl", "eval.log", "metrics"}


@pytest.fixture
def gated(tmp_path: Path) -> Run:
    """Two samples trigger, one does not, and for one the judge gives no answer."""
    measured = {
        ("m", "s0"): Score(0.8, raw=4.0, units=(Unit("u", Score(0.8)),)),
        ("m", "s1"): Score(0.4, raw=2.0),
        ("m", "s2"): Score(1.0, raw=9.0, units=(Unit("u", Score(1.0, raw=9.0)),)),
        ("m", "s3"): Score(0.9, raw=7.0),
    }
    verdicts = {
        ("m", "s0"): Score(1.0, raw=0.9),
        ("m", "s1"): Score(1.0, raw=0.7),
        ("m", "s2"): Score(0.0, raw=0.75),
        ("m", "s3"): Abstention(Reason.JUDGE_FAILED, "no answer."),
    }
    return hand_made_run(tmp_path / "gated", "mbench-t", {IDENTITY: measured, GATE: verdicts})


def gated_items(run: Run, output: Path) -> dict[str, dict]:
    export_mbench(run, output)
    return {line["item_id"].split(":")[1]: line for line in lines(output / "metrics" / IDENTITY / "items.jsonl")}


def test_the_gate_stands_beside_each_score_and_has_no_folder_of_its_own(gated, tmp_path):
    items = gated_items(gated, tmp_path / "out")
    assert items["s0"]["scores"] == {"score": 0.8, "score_raw": 4.0, "triggered": 1.0, "trigger_score": 0.9}
    assert [path.name for path in (tmp_path / "out" / "metrics").iterdir()] == [IDENTITY]


def test_what_was_not_put_to_the_test_has_no_score_but_keeps_what_was_measured(gated, tmp_path):
    item = gated_items(gated, tmp_path / "out")["s2"]
    assert item["scores"] == {"triggered": 0.0, "trigger_score": 0.25}
    assert item["metadata"]["scores_not_counted"] == {"score": 1.0, "score_raw": 9.0}
    units = {line["item_id"].split(":")[1]: line for line in lines(tmp_path / f"out/metrics/{IDENTITY}/units.jsonl")}
    assert units["s0"]["scores"] == {"score": 0.8, "triggered": 1.0, "trigger_score": 0.9}
    assert units["s2"]["scores"] == {"triggered": 0.0, "trigger_score": 0.25}
    assert "scores_not_counted" not in units["s0"]["metadata"]


def test_a_judge_that_failed_is_neither_a_yes_nor_a_no(gated, tmp_path):
    item = gated_items(gated, tmp_path / "out")["s3"]
    assert item["scores"] == {}
    assert item["metadata"]["trigger"] == {"status": "abstention", "reason": "judge_failed", "message": "no answer."}
    assert item["metadata"]["scores_not_counted"] == {"score": 0.9, "score_raw": 7.0}


def test_the_mean_of_the_exported_scores_is_the_reliability_of_the_summary(gated, tmp_path):
    items = gated_items(gated, tmp_path / "out").values()
    group = json.loads((tmp_path / f"out/metrics/{IDENTITY}/summary.json").read_text())["groups"]["m"]
    counted = [item["scores"]["score"] for item in items if "score" in item["scores"]]
    assert group["s_rel"] == group["score"] == pytest.approx(sum(counted) / len(counted), abs=1e-12)
    assert group["c_trig"] == group["triggered"] == pytest.approx(2 / 4)  # of all, as equation 1 has it
    assert group["m_score"] == pytest.approx(2 * 0.6 * 0.5 / (0.6 + 0.5), abs=1e-12)
    assert group["trigger_score"] == pytest.approx((0.9 + 0.7 + 0.25) / 3)
    assert group["score_raw"] == 3.0
    assert (group["mode"], group["n"], group["n_judged"], group["n_asked"]) == ("trigger-conditioned", 2, 3, 4)
    assert not {"c_trig_low", "s_rel_low", "m_score_low"} & group.keys()


def test_the_summary_of_a_gated_metric_has_an_interval_for_each_of_its_numbers(tmp_path):
    outcomes = {IDENTITY: scores("m", *np.linspace(0.4, 0.8, 12)), GATE: scores("m", *[1.0, 1.0, 0.0] * 4)}
    export_mbench(hand_made_run(tmp_path / "run", "mbench-t", outcomes), tmp_path / "out")
    group = json.loads((tmp_path / f"out/metrics/{IDENTITY}/summary.json").read_text())["groups"]["m"]
    for name in ("c_trig", "s_rel", "m_score"):
        assert 0 < group[f"{name}_low"] < group[name] < group[f"{name}_high"] < 1


def test_what_is_said_of_one_model_is_not_said_of_another(tmp_path):
    one, two = {("one", "s"): Score(0.5, raw=4.0)}, {("two", "s"): Score(0.5, raw=2.0)}
    verdicts = {("one", "s"): Score(1.0, raw=0.9), ("two", "s"): Score(1.0, raw=0.6)}
    run = hand_made_run(tmp_path / "both", "mbench-t", {IDENTITY: {**one, **two}, GATE: verdicts})
    export_mbench(run, tmp_path / "out")
    groups = json.loads((tmp_path / f"out/metrics/{IDENTITY}/summary.json").read_text())["groups"]
    found = {model: (group["trigger_score"], group["score_raw"]) for model, group in groups.items()}
    assert found == {"one": (0.9, 4.0), "two": (0.6, 2.0)}


def test_without_a_gate_setting_t_says_raw_consistency_and_setting_a_has_nothing_to_say(run, tmp_path):
    ungated = hand_made_run(tmp_path / "raw", "mbench-t", {IDENTITY: scores("m", 0.5, 0.7)})
    export_mbench(ungated, tmp_path / "out")
    group = json.loads((tmp_path / f"out/metrics/{IDENTITY}/summary.json").read_text())["groups"]["m"]
    assert group["mode"] == "raw consistency"
    assert not {"m_score", "c_trig", "s_rel", "triggered"} & group.keys()
    export_mbench(run, tmp_path / "a")
    assert "mode" not in json.loads((tmp_path / f"a/metrics/{LIGHT}/summary.json").read_text())["groups"]["beta"]


def test_where_the_judge_answered_nobody_no_score_counts_and_each_says_why(tmp_path):
    failed = dict.fromkeys([("m", "s0"), ("m", "s1")], Abstention(Reason.JUDGE_FAILED, "no answer."))
    run = hand_made_run(tmp_path / "failed", "mbench-t", {IDENTITY: scores("m", 0.5, 0.7), GATE: failed})
    item = gated_items(run, tmp_path / "out")["s0"]
    assert item["scores"] == {}
    assert item["metadata"]["scores_not_counted"] == {"score": 0.5}
    assert item["metadata"]["trigger"]["reason"] == "judge_failed"
    summary = json.loads((tmp_path / f"out/metrics/{IDENTITY}/summary.json").read_text())
    assert summary["groups"]["m"] == {
        "n": 0,
        "n_asked": 2,
        "not_scored": {"gate judge_failed": 2},
        "mode": "trigger-conditioned",
        "n_judged": 0,
    }


def test_a_judge_that_is_sure_of_a_no_is_sure_that_the_trigger_did_not_fire(tmp_path):
    verdicts = {("m", "s0"): Score(0.0, raw=1.0), ("m", "s1"): Score(1.0, raw=1.0), ("m", "s2"): Score(0.0)}
    run = hand_made_run(tmp_path / "sure", "mbench-t", {IDENTITY: scores("m", 0.5, 0.7, 0.9), GATE: verdicts})
    items = gated_items(run, tmp_path / "out")
    assert [items[name]["scores"]["trigger_score"] for name in ("s0", "s1", "s2")] == [0.0, 1.0, 0.0]


def test_no_log_is_written_where_none_is_wanted(gated, tmp_path):
    export_mbench(gated, tmp_path / "out", log=False)
    assert not (tmp_path / "out" / "eval.log").exists()
    assert (tmp_path / "out" / "items.jsonl").exists()
