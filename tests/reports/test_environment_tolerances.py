from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Lock, plugins
from lookaway.engine.environment import environment
from lookaway.reports import lock_explanations
from lookaway.reports.compare.comparison import Verdict, compare_runs
from lookaway.reports.lock_explanations import TOLERANCES, Tolerance, environment_tolerances, read_lock
from lookaway.reports.verification import FigureVerdict, compare, is_reproduced
from lookaway.store.run_folder import RunFolder
from tests.reports.test_verification import cell, published
from tests.support.chosen_run import STYLE, chosen_run, clips
from tests.support.command import lookaway

HERE, THERE = {"blas": "SkylakeX", "opencv": "5.0.0"}, {"blas": "Haswell", "opencv": "5.0.0"}
ENTRY = {"metrics": {STYLE: {"metric": {"kind": "rendering_style"}}}}
MOVED = Tolerance(value=0.01, raw=2.0, moved_by=("blas",))
BASE = np.random.default_rng(3).uniform(0.3, 0.6, 24)


@pytest.fixture(autouse=True)
def _tolerances(monkeypatch):
    monkeypatch.setattr(lock_explanations, "TOLERANCES", {"rendering_style": MOVED})


def test_only_what_moves_a_metric_and_differs_between_the_machines_counts():
    assert environment_tolerances(Lock(ENTRY, (HERE,)), Lock(ENTRY, (THERE,))) == {STYLE: MOVED}
    other_opencv = {**HERE, "opencv": "4.10.0"}
    assert environment_tolerances(Lock(ENTRY, (HERE,)), Lock(ENTRY, (other_opencv,))) == {}
    assert environment_tolerances(Lock(ENTRY, (HERE,)), Lock(ENTRY, (HERE,))) == {}


def test_a_run_without_a_recorded_environment_has_no_tolerance():
    assert environment_tolerances(Lock(ENTRY), Lock(ENTRY, (THERE,))) == {}
    assert environment_tolerances(Lock(ENTRY, (HERE,)), Lock(ENTRY)) == {}


def test_a_run_of_several_machines_differs_from_one_of_a_single_machine():
    assert environment_tolerances(Lock(ENTRY, (HERE, THERE)), Lock(ENTRY, (HERE,))) == {STYLE: MOVED}


@pytest.mark.parametrize(
    ("theirs", "verdict"),
    [("0.5", "agrees"), ("0.51", "of the environment"), ("0.49", "of the environment"), ("0.511", "differs")],
)
def test_a_published_score_within_the_tolerance_of_its_metric_is_of_the_environment(theirs, verdict, tmp_path):
    rows = published(tmp_path, f"m,{STYLE},{theirs}")
    (entry,) = compare([cell(STYLE, mean=0.5)], rows, 0.0, {STYLE: MOVED})
    assert entry.verdict.value == verdict
    assert is_reproduced([entry]) == (verdict != "differs")
    assert ("blas may move it by 0.01" in entry.note) == (verdict == "of the environment")


def test_a_raw_value_has_the_tolerance_of_raw_values_and_a_gate_has_none(tmp_path):
    rows = published(tmp_path, f"m,{STYLE},11.5,0.505", header="model,metric,raw,m_score")
    found = compare([cell(STYLE, mean=0.5, raw=10.0, m_score=0.5)], rows, 0.0, {STYLE: MOVED})
    assert {entry.figure: entry.verdict for entry in found} == {
        "raw": FigureVerdict.OF_ENVIRONMENT,
        "m_score": FigureVerdict.DIFFERS,
    }


def runs(tmp_path: Path, change: float, *environments: dict[str, str]):
    found = [chosen_run(tmp_path / str(n), clips(STYLE, BASE + n * change)) for n in range(2)]
    for run, machine in zip(found, environments, strict=True):
        RunFolder(run.path).add_environment(machine)
    return found


def test_verify_takes_a_small_difference_between_two_machines_for_theirs(tmp_path):
    ours, theirs = runs(tmp_path, 0.0, HERE, THERE)
    table = tmp_path / "published.csv"
    table.write_text(f"model,metric,score\nm,{STYLE},{BASE.mean() + 0.009}\n")
    given = ("verify", ours.path, table, "--tolerance", 0)
    result = lookaway(*given, "--lock", theirs.path / "lock.json")
    assert (result.code, "1 of the environment" in result.out) == (0, True)
    RunFolder(theirs.path).lock_file.write_text(json.dumps(Lock(theirs.lock.entries, (HERE,)).to_json()))
    assert "1 of the environment" not in lookaway(*given, "--lock", theirs.path / "lock.json").out


@pytest.mark.parametrize(
    ("change", "machine", "verdict"),
    [(-0.005, THERE, Verdict.OF_ENVIRONMENT), (-0.005, HERE, Verdict.WORSE), (-0.02, THERE, Verdict.WORSE)],
)
def test_compare_calls_a_drop_worse_only_where_the_machines_cannot_explain_it(change, machine, verdict, tmp_path):
    found = compare_runs(*runs(tmp_path, change, HERE, machine))
    (entry,) = found.dimensions
    assert entry.verdict is verdict
    assert found.got_worse == (0 if verdict is Verdict.OF_ENVIRONMENT else 24)
    noted = [note for note in found.notes if "blas (SkylakeX before, Haswell after)" in note]
    assert bool(noted) == (machine is THERE)


def test_the_lock_of_another_run_keeps_its_environments_and_its_hash_is_checked_without_them(tmp_path):
    path = tmp_path / "lock.json"
    path.write_text(json.dumps(Lock(ENTRY, (HERE,)).to_json()))
    assert read_lock(path).environments == (HERE,)


def test_every_tolerance_is_of_an_installed_metric_and_of_entries_that_are_recorded():
    assert TOLERANCES.keys() <= set(plugins.names("metrics"))
    for tolerance in TOLERANCES.values():
        assert tolerance.moved_by
        assert set(tolerance.moved_by) <= environment().keys()
        assert tolerance.value > 0 or tolerance.raw > 0
