"""The command that a page shows for a video gives the numbers that the page shows."""

from __future__ import annotations

import shlex

import lookaway as package
from lookaway.reports.case_page.reproduce import reproduce_command, run_command
from lookaway.reports.runs import load_runs
from tests.support.command import lookaway
from tests.support.runs import outcomes
from tests.support.tiny import QUICK, write_mbench


def test_the_command_of_a_video_measures_that_video_alone_and_gives_its_numbers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_mbench(tmp_path / "dataset", models=("alpha", "beta"))
    package.evaluate("dataset", "run", metrics=QUICK)
    (run,) = load_runs([tmp_path / "run"])
    rollout = next(each for each in run.rollouts.values() if each.model == "beta" and each.subset == "environment")
    _, *words = shlex.split(reproduce_command(run, rollout))
    assert lookaway(*words).code == 0
    own = {key: row for key, row in outcomes(tmp_path / "run").items() if key[0] == rollout.id}
    assert own
    assert outcomes(tmp_path / "again") == own


def test_the_command_of_a_run_of_single_cases_names_them_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_mbench(tmp_path / "dataset")
    cases = [f"{subset}:sample1:left_then_right_10s" for subset in ("environment", "causal")]
    package.evaluate("dataset", "run", metrics=QUICK, cases=cases)
    (run,) = load_runs([tmp_path / "run"])
    _, *words = shlex.split(run_command(run))
    assert lookaway(*words).code == 0
    assert {row["case"] for row in outcomes(tmp_path / "again").values()} == set(cases)
    assert outcomes(tmp_path / "again") == outcomes(tmp_path / "run")
