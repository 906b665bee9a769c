from __future__ import annotations

import numpy as np
import pytest

from tests.cli.test_untrusted_text import HOSTILE, assert_harmless
from tests.support.chosen_run import STYLE, chosen_run, clips
from tests.support.command import lookaway

BASE = np.linspace(0.3, 0.6, 12)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    old = chosen_run(folder / "old", clips(STYLE, BASE), constants={"tau": 1})
    new = chosen_run(folder / "new", clips(STYLE, BASE - 0.1), constants={"tau": 1})
    other = chosen_run(folder / "other", clips(STYLE, BASE), constants={"tau": 2})
    return old.path, new.path, other.path


def test_a_condition_that_is_met_exits_with_3_and_one_that_is_not_with_0(runs):
    old, new, _ = runs
    failed = lookaway("compare", old, new, "--fail-if", "environment < -0.02")
    assert (failed.code, failed.err) == (3, "")
    assert "failed: environment < -0.02" in failed.out
    passed = lookaway("compare", new, old, "--fail-if", "environment < -0.02", "--fail-if", "rendering_style.low < 0")
    assert passed.code == 0
    assert passed.out.count("passed: ") == 2


def test_without_a_condition_worse_is_told_and_exits_with_0(runs):
    result = lookaway("compare", *runs[:2])
    assert (result.code, result.err) == (0, "")
    assert "1 worse" in result.out
    (row,) = [line.split() for line in result.out.splitlines() if line.startswith("m  ")]
    assert row[1:6] == [STYLE, "environment", "0.450", "0.350", "-0.100"]


def test_a_lock_that_differs_is_told_and_fails_a_condition_until_it_is_allowed(runs):
    old, _, other = runs
    result = lookaway("compare", old, other)
    assert result.code == 0
    assert f"not compared: {STYLE}" in result.out
    assert f"metrics.{STYLE}.metric.tau: 1 before, 2 after" in result.out
    assert lookaway("compare", old, other, "--fail-if", "rendering_style < -0.5").code == 3
    assert lookaway("compare", old, other, "--fail-if", "rendering_style < -0.5", "--across-locks").code == 0


def test_json_is_unrounded_and_the_same_every_time(runs):
    arguments = ("compare", *runs[:2], "--format", "json", "--fail-if", "rendering_style < -0.02")
    result = lookaway(*arguments)
    assert result.code == 3
    (entry,) = result.json["dimensions"]
    assert entry["difference"]["mean"] == pytest.approx(-0.1, abs=1e-12)
    assert (entry["verdict"], entry["p"], result.json["family"]) == ("worse", 2 / 4096, 1)
    assert [check["failed"] for check in result.json["checks"]] == [True]
    assert len(result.json["worst"]) == 10
    assert lookaway(*arguments).out == result.out


def test_the_number_of_clips_is_chosen(runs):
    assert lookaway("compare", *runs[:2], "--worst", "3", "--format", "json").json["worst"][2]["video"].endswith(".mp4")
    assert lookaway("compare", *runs[:2], "--worst", "0", "--format", "json").json["worst"] == []


def test_markdown_is_printed_for_a_pull_request(runs):
    result = lookaway("compare", *runs[:2], "--format", "markdown")
    assert result.out.startswith("### 1 worse\n\n| model |")
    assert result.out.endswith("\n")


def test_two_models_of_one_run_need_no_second_run(tmp_path):
    run = chosen_run(tmp_path / "run", [*clips(STYLE, BASE, model="a"), *clips(STYLE, BASE - 0.1, model="b")])
    result = lookaway("compare", run.path, "--models", "a,b")
    assert result.code == 0
    assert "a → b" in result.out


def test_what_cannot_be_used_exits_with_2_and_one_line(runs, tmp_path):
    old, new, _ = runs
    for arguments in (
        (old, tmp_path / "none"),
        (old,),
        (old, new, "--models", "m"),
        (old, new, "--models", "m,x"),
        (old, new, "--fail-if", "entity <"),
        (old, new, "--fail-if", "nothing < 0"),
        (old, new, "--format", "html"),
        (old, new, "--worst", "-1"),
    ):
        result = lookaway("compare", *arguments)
        assert (result.code, result.out) == (2, ""), arguments
        assert "Traceback" not in result.err


def test_a_condition_with_a_mistake_is_refused_before_runs_are_read(tmp_path):
    result = lookaway("compare", tmp_path / "a", tmp_path / "b", "--fail-if", "entity ~ 1")
    assert "expected NAME < NUMBER" in result.err


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_names_of_a_dataset_are_printed_as_text(form, tmp_path):
    fields = {"model": HOSTILE, "scene": None}
    old = chosen_run(tmp_path / "old", clips(STYLE, BASE, **fields))
    new = chosen_run(tmp_path / "new", clips(STYLE, BASE - 0.1, **fields))
    result = lookaway("compare", old.path, new.path, "--format", form)
    assert result.code == 0
    assert_harmless(result.out)
