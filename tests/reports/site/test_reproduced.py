"""The command that a page shows for a video gives the numbers that the page shows."""

from __future__ import annotations

import shlex
from pathlib import Path

import lookaway as package
from lookaway.reports.case_page.reproduce import reproduce_command, run_command
from lookaway.reports.runs import load_runs
from tests.support.command import lookaway
from tests.support.runs import outcomes, times_measured
from tests.support.tiny import QUICK, write_mbench


def pasted(folder: Path, command: str) -> Path:
    """Run a command as it is printed; returns the folder of the run that it made."""
    _, *words = shlex.split(command)
    result = lookaway(*words)
    assert result.code == 0, result.err
    return folder / words[words.index("-o") + 1]


def test_the_command_of_a_video_measures_that_video_alone_and_gives_its_numbers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_mbench(tmp_path / "dataset", models=("alpha", "beta"))
    package.evaluate("dataset", "run", metrics=QUICK)
    (run,) = load_runs([tmp_path / "run"])
    rollout = next(each for each in run.rollouts.values() if each.model == "beta" and each.subset == "environment")
    own = {key: row for key, row in outcomes(tmp_path / "run").items() if key[0] == rollout.id}
    assert own
    assert outcomes(pasted(tmp_path, reproduce_command(run, rollout))) == own


def test_the_commands_of_a_report_work_one_after_the_other_in_one_folder_and_twice(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_mbench(tmp_path / "dataset", models=("alpha", "beta"))
    package.evaluate("dataset", "run", metrics=QUICK)
    (run,) = load_runs([tmp_path / "run"])
    commands = [run_command(run), *(reproduce_command(run, rollout) for rollout in list(run.rollouts.values())[:2])]
    folders = [pasted(tmp_path, command) for command in (*commands, *commands)]
    assert folders[:3] == folders[3:]
    assert len(set(folders)) == 3
    assert outcomes(folders[0]) == outcomes(tmp_path / "run")
    assert set(times_measured(folders[0]).values()) == {1}


def test_the_command_of_a_run_of_single_cases_names_them_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_mbench(tmp_path / "dataset")
    cases = [f"{subset}:sample1:left_then_right_10s" for subset in ("environment", "causal")]
    package.evaluate("dataset", "run", metrics=QUICK, cases=cases)
    (run,) = load_runs([tmp_path / "run"])
    again = pasted(tmp_path, run_command(run))
    assert {row["case"] for row in outcomes(again).values()} == set(cases)
    assert outcomes(again) == outcomes(tmp_path / "run")
