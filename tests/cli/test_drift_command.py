from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from lookaway.engine.run import Run
from tests.cli.test_untrusted_text import HOSTILE, assert_harmless
from tests.support.command import lookaway
from tests.support.drifting import STYLE, drifting_run

LINE = 1.0 - 0.01 * np.arange(100)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return drifting_run(tmp_path / "run", {"forgets": [LINE, LINE], "keeps": [[0.8] * 100, [0.8] * 100]})


def test_curves_and_half_lives_are_printed_for_every_model(run):
    result = lookaway("drift", run.path, "--bin", 50)
    assert (result.code, result.err) == (0, "")
    lines = [" ".join(line.split()) for line in result.out.splitlines()]
    assert lines[:5] == [
        f"{STYLE} environment forgets",
        "frames mean 95 % change change 95 % rollouts scenes",
        "0-49 0.755 all 2 scenes 0.755 0.000 all 2 scenes 0.000 2 of 2 2",
        "50-99 0.255 all 2 scenes 0.255 -0.500 all 2 scenes -0.500 2 of 2 2",
        "",
    ]
    assert f"{STYLE} environment forgets 0.755 0.000 62.2 -" in lines
    assert f"{STYLE} environment keeps 0.800 0.000 > 74.5 -" in lines
    assert lines[-1].startswith("lock ")


def test_json_holds_the_curves_unrounded(run):
    forgets, keeps = lookaway("drift", run.path, "--json", "--metric", "rendering_style").json["curves"]
    assert (forgets["model"], forgets["bin_width"], len(forgets["bins"])) == ("forgets", 5, 20)
    assert forgets["half_life"]["frames"] == pytest.approx((1.0 - 0.98 / 2) / 0.01, abs=1e-9)
    assert keeps["half_life"]["frames"] is None


def test_a_file_is_written_beside_what_is_printed(run, tmp_path):
    target = tmp_path / "drift.parquet"
    result = lookaway("drift", run.path, "-o", target)
    assert result.out.splitlines()[-1] == f"Wrote {target}"
    assert pq.read_table(target).num_rows == 40
    assert "forgets" in result.out
    assert len(lookaway("drift", run.path, "-o", tmp_path / "drift.md", "--json").json["curves"]) == 2
    assert (tmp_path / "drift.md").read_text().startswith("## mbencha")


def test_the_level_of_nothing_left_is_an_option(run):
    forgets, keeps = lookaway("drift", run.path, "--towards", " rendering_style = 0.9 ", "--json").json["curves"]
    assert forgets["half_life"]["towards"] == 0.9
    assert (keeps["half_life"], keeps["no_half_life"]) == (None, "it starts no better than 0.9")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--metric", "ssim"], f"It has them for: {STYLE}"),
        (["--towards", "ssim=0.2"], f"It has them for: {STYLE}"),
        (["--towards", "rendering_style"], "is not METRIC=VALUE"),
        (["--towards", "rendering_style=low"], "is not METRIC=VALUE"),
        (["--towards", "rendering_style=nan"], "is not METRIC=VALUE"),
        (["--towards", "=1"], "is not METRIC=VALUE"),
        (["--bin", "0"], "0 is not in the range x>=1"),
        (["-o", "drift.xlsx"], "expected .csv, .parquet or .md"),
    ],
)
def test_what_cannot_be_answered_is_explained_with_exit_code_2(arguments, said, run):
    result = lookaway("drift", run.path, *arguments)
    assert (result.code, result.out) == (2, "")
    assert said in result.err


def test_a_folder_that_is_no_run_is_explained(tmp_path):
    result = lookaway("drift", tmp_path)
    assert result.code == 2
    assert "not a run folder" in result.err


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_names_of_models_are_printed_as_text_whatever_they_hold(options, tmp_path):
    run = drifting_run(tmp_path / "run", {HOSTILE: [[1.0, 0.5]], "[red]x[/red]": [[1.0, 0.5]]})
    result = lookaway("drift", run.path, *options)
    assert_harmless(result.out)
    assert "[red]x[/red]" in result.out
    if options:
        assert {curve["model"] for curve in result.json["curves"]} == {HOSTILE, "[red]x[/red]"}
