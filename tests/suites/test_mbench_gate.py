"""Setting T with its gate, judged over real HTTP by an oracle that knows the simulated world."""

from __future__ import annotations

from pathlib import Path

import pytest

import lookaway
from lookaway.core import JudgeModel
from lookaway.engine.run import Run
from lookaway.io.world_clips import open_world
from lookaway.judges.connection import Connection
from lookaway.judges.oracle import Dials, Faults, OracleServer
from lookaway.judges.pacing import Manners
from lookaway.judges.settings import JudgeSettings
from lookaway.world.exports.mbench import export_mbench_t
from tests.judges.asked import QUICK
from tests.support.command import lookaway as command
from tests.support.runs import outcomes
from tests.support.world import render_small

METRICS = ("state_progress", "progress_correctness")
STILL, RESET, PERFECT = "camera_never_moves-1.00", "state_reset-0.50", "perfect"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("gate") / "world"
    axes = {"families": ("playroom", "kitchen", "street"), "events": ("both",)}
    render_small(root, **axes, faults=("camera_never_moves",), severities=(1.0,))
    render_small(root, **axes, faults=("state_reset",), severities=(0.5,))
    return root


@pytest.fixture(scope="module")
def dataset(world: Path) -> Path:
    export_mbench_t(open_world(world), world.parent / "text")
    return world.parent / "text"


def evaluate(server: OracleServer, dataset: Path, run: Path, **changes) -> Run:
    manners = Manners(concurrent=4, tries=changes.pop("tries", 4), trip_after=1000, **QUICK)
    connection = Connection(url=server.base_url, timeout_seconds=10)
    judge = JudgeSettings(model=JudgeModel(model="oracle"), connection=connection, manners=manners)
    return lookaway.evaluate(dataset, run, metrics=METRICS, judge=judge, **changes)


@pytest.fixture(scope="module")
def run(world: Path, dataset: Path) -> Run:
    with OracleServer(world) as server:
        return evaluate(server, dataset, world.parent / "run")


def test_the_judge_says_of_every_rollout_what_is_true(run):
    said = {row["rollout"]: row["value"] for row in run.items() if row["metric"] == "mbencht.causal.trigger"}
    assert len(said) == 9
    assert {rollout for rollout, triggered in said.items() if triggered == 0.0} == {
        rollout for rollout in said if rollout.startswith(STILL)
    }


def test_the_m_score_is_that_of_a_hand_computation(run):
    cells = {(cell.model, cell.metric.split(".")[-1]): cell for cell in run.table().cells}
    assert {metric for _, metric in cells} == set(METRICS)
    for (model, metric), cell in cells.items():
        scores = [
            row["value"]
            for row in run.items()
            if row["model"] == model and row["metric"] == f"mbencht.causal.{metric}" and model != STILL
        ]
        share = 0.0 if model == STILL else 1.0
        mean = sum(scores) / len(scores) if scores else 0.0
        expected = 2 * mean * share / (mean + share) if mean + share else 0.0
        assert cell.gated.coverage.mean == share
        assert cell.gated.combined.mean == pytest.approx(expected, abs=1e-9)
    assert cells[PERFECT, "state_progress"].gated.combined.mean == 1.0
    assert 0 < cells[RESET, "state_progress"].gated.combined.mean < 1


def test_a_camera_that_never_looks_away_has_no_score_and_an_m_score_of_0(run):
    still = [cell for cell in run.table().cells if cell.model == STILL]
    for cell in still:
        assert cell.estimate is None
        assert cell.gated.combined.mean == 0.0
        assert cell.reasons == {"gate_closed": 3}


def test_without_the_gate_a_still_camera_is_scored_and_the_table_says_so(run):
    shown = run.table(ignore_gates=True)
    assert any("Raw consistency" in note for note in shown.notes)
    assert all(cell.gated is None and cell.estimate is not None for cell in shown.cells)
    result = command("show", run.path, "--ignore-trigger")
    assert "Raw consistency" in result.out
    assert "M-Score" not in result.out


def test_the_table_shows_score_coverage_and_m_score_with_their_support(run):
    result = command("show", run.path)
    header = result.out.splitlines()[0]
    for column in ("triggered", "judged", "M-Score", "M-Score 95 %"):
        assert column in header
    assert "Raw consistency" not in result.out


def test_a_gate_that_is_ignored_asks_nobody(world, dataset, tmp_path):
    with OracleServer(world) as server:
        ignored = evaluate(server, dataset, tmp_path / "run", ignore_gates=True)
    assert {row["metric"] for row in ignored.items()} == {f"mbencht.causal.{name}" for name in METRICS}


def test_a_failed_judge_call_is_never_not_triggered_and_leaves_all_other_numbers(world, dataset, run, tmp_path):
    with OracleServer(world, dials=Dials(seed=2), faults=Faults(server_error=0.2)) as server:
        disturbed = evaluate(server, dataset, tmp_path / "run", tries=1)
    whole, found = outcomes(run.path), outcomes(disturbed.path)
    failed = {key for key, row in found.items() if row["reason"] == "judge_failed"}
    assert 2 <= len(failed) <= 12
    assert {key: row["value"] for key, row in found.items() if key not in failed} == {
        key: row["value"] for key, row in whole.items() if key not in failed
    }
    assert any(cell.gated for cell in disturbed.table().cells)
    for cell in disturbed.table().cells:
        gate_failed = sum(key[1] == "mbencht.causal.trigger" and key[0].startswith(cell.model) for key in failed)
        assert cell.gated is None or cell.gated.coverage.scored == 3 - gate_failed
        assert cell.gated is None or cell.gated.coverage.mean in (0.0, 1.0)
