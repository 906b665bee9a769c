from __future__ import annotations

import json
from pathlib import Path

import pytest

from lookaway.core import Score
from lookaway.engine.run import Run
from tests.cli.test_untrusted_text import HOSTILE, assert_harmless
from tests.support.command import lookaway
from tests.support.hand_made import hand_made_run, scores

LIGHT, STYLE = "mbencha.environment.rendering_lighting", "mbencha.environment.rendering_style"
IDENTITY, GATE = "mbencht.entity.human_identity_consistency", "mbencht.human.trigger"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """0.5 and 0.9, from three scenes, which have no interval."""
    outcomes = {LIGHT: scores("m", 0.49, 0.51, 0.5), STYLE: scores("m", 0.9, 0.9, 0.9)}
    return hand_made_run(tmp_path / "run", "mbench-a", outcomes)


def table(tmp_path: Path, *rows: str, header: str = "model,metric,score") -> Path:
    path = tmp_path / "published.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_a_table_that_agrees_exits_with_0_and_shows_every_cell(run, tmp_path):
    result = lookaway("verify", run.path, table(tmp_path, "m,rendering_lighting,50.0", "m,rendering_style,90.2"))
    assert (result.code, result.err) == (0, "")
    (light,) = [line.split() for line in result.out.splitlines() if LIGHT in line]
    assert " ".join(light) == f"m {LIGHT} environment score 0.5000 0.5000 0.0000 agrees 3 of 3 -"
    assert "2 agrees" in result.out
    assert "possible explanations" not in result.out


def test_a_number_that_differs_exits_with_3_and_names_the_constants_that_could_explain_it(run, tmp_path):
    result = lookaway("verify", run.path, table(tmp_path, "m,rendering_lighting,0.5", "m,rendering_style,0.7"))
    assert result.code == 3
    assert "1 agrees, 1 differs" in result.out
    assert f"{STYLE}: possible explanations" in result.out
    assert f"  {STYLE}.metric.tau = 10.0" in result.out
    assert f"{LIGHT}: possible" not in result.out


def test_a_number_inside_our_interval_is_told_and_explained_but_is_no_difference(tmp_path):
    values = scores("m", 0.49, 0.51, 0.5, 0.49, 0.51)
    run = hand_made_run(tmp_path / "run", "mbench-a", {LIGHT: values, STYLE: scores("m", *[0.9] * 5)})
    rows = ("m,rendering_lighting,0.51", "m,rendering_style,0.9")
    result = lookaway("verify", run.path, table(tmp_path, *rows), "--tolerance", "0.001")
    assert result.code == 0
    assert "1 inside our interval" in result.out
    assert f"{LIGHT}: possible explanations" in result.out


def test_a_number_that_is_missing_here_exits_with_3_and_one_that_is_missing_there_with_0(run, tmp_path):
    assert lookaway("verify", run.path, table(tmp_path, "m,rendering_style,0.9", "n,rendering_style,0.9")).code == 3
    result = lookaway("verify", run.path, table(tmp_path, "m,rendering_style,0.9"))
    assert result.code == 0
    assert "missing there" in result.out


def test_with_a_lock_only_what_differs_in_it_is_told(run, tmp_path):
    path = tmp_path / "their_lock.json"
    entries = {name: entry for name, entry in run.lock.entries.items() if name != "metrics"}
    metrics = {LIGHT: {"metric": {"tau": 99.0}}, STYLE: {"metric": {"tau": 12.5}}}
    path.write_text(json.dumps({**entries, "metrics": metrics}))
    result = lookaway("verify", run.path, table(tmp_path, "m,rendering_style,0.7"), "--lock", path)
    assert result.code == 3
    assert f"  metrics.{STYLE}.metric.tau: 10.0 here, 12.5 there" in result.out
    assert "99.0" not in result.out
    same = lookaway("verify", run.path, table(tmp_path, "m,rendering_style,0.7"), "--lock", run.path / "lock.json")
    assert f"{STYLE}: the locks agree in everything that concerns it" in same.out


def test_the_gate_of_a_metric_could_explain_it_too(tmp_path):
    outcomes = {IDENTITY: scores("m", 0.8, 0.8, 0.2), GATE: scores("m", 1.0, 1.0, 0.0)}
    run = hand_made_run(tmp_path / "run", "mbench-t", outcomes)
    rows = table(tmp_path, f"m,{IDENTITY},0.6,{2 * 0.8 * 2 / 3 / (0.8 + 2 / 3)}", header="model,metric,score,m_score")
    result = lookaway("verify", run.path, rows, "--json")
    assert result.code == 3
    assert [cell["verdict"] for cell in result.json["cells"]] == ["differs", "agrees"]
    assert [entry["path"] for entry in result.json["could_explain"][IDENTITY]] == [
        f"{IDENTITY}.metric.tau",
        f"{GATE}.metric.tau",
    ]


def test_the_raw_value_of_a_gated_cell_is_the_mean_over_what_passed(tmp_path):
    measured = {("m", f"s{n}"): Score(0.8, raw=raw) for n, raw in enumerate((4.0, 2.0, 9.0))}
    run = hand_made_run(tmp_path / "run", "mbench-t", {IDENTITY: measured, GATE: scores("m", 1.0, 1.0, 0.0)})
    rows = table(tmp_path, f"m,{IDENTITY},0.8,3.0", header="model,metric,s_rel,raw")
    result = lookaway("verify", run.path, rows)
    assert (result.code, "2 agrees" in result.out, "note:" in result.out) == (0, True, False)


def test_a_run_without_a_gate_says_raw_consistency_and_columns_that_are_ignored_are_named(tmp_path):
    run = hand_made_run(tmp_path / "run", "mbench-t", {IDENTITY: scores("m", 0.8, 0.8)})
    rows = table(tmp_path, f"m,{IDENTITY},0.8,x,y", header="model,metric,score,Remark,colour")
    result = lookaway("verify", run.path, rows)
    assert result.code == 0
    assert "note: Raw consistency: no judge decided" in result.out
    assert "note: ignored columns of the published table: remark, colour\n" in result.out
    found = lookaway("verify", run.path, rows, "--json").json
    assert found["notes"][0].startswith("Raw consistency:")
    assert found["ignored_columns"] == ["remark", "colour"]


def test_json_holds_every_number_unrounded(run, tmp_path):
    result = lookaway("verify", run.path, table(tmp_path, "m,rendering_lighting,0.5001"), "--json")
    light, style = result.json["cells"]
    assert light["difference"] == pytest.approx(-0.0001, abs=1e-12)
    assert (light["n"], light["asked"], style["verdict"]) == (3, 3, "missing there")
    assert result.json["verdicts"] == {"agrees": 1, "missing there": 1}
    assert (result.json["notes"], result.json["ignored_columns"]) == ([], [])


def test_what_cannot_be_used_exits_with_2_and_one_line(run, tmp_path):
    bad = table(tmp_path, "m,rendering_lighting,nan")
    good = tmp_path / "good.csv"
    good.write_text("model,metric,score\nm,rendering_lighting,0.5\n")
    for arguments in (
        (run.path, bad),
        (run.path, tmp_path / "none.csv"),
        (tmp_path / "none", good),
        (run.path, good, "--lock", tmp_path / "none.json"),
        (run.path, good, "--tolerance", "nan"),
        (run.path, good, "--tolerance", "-1"),
        (run.path, good, "--scale", "10"),
    ):
        result = lookaway("verify", *arguments)
        assert (result.code, result.out) == (2, ""), arguments
        assert "Traceback" not in result.err


def test_text_of_the_file_cannot_speak_to_the_terminal(run, tmp_path):
    path = tmp_path / "published.csv"
    path.write_text(f"model,metric,score\n{HOSTILE},[red]x,0.5\n", encoding="utf-8")
    for more in ([], ["--json"]):
        result = lookaway("verify", run.path, path, *more)
        assert result.code == 3
        assert_harmless(result.out)
    path.write_text(f"model,metric,score\nm,x,{HOSTILE}\n", encoding="utf-8")
    assert_harmless(lookaway("verify", run.path, path).err)
