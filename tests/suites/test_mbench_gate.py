"""Setting T with its gate, judged over real HTTP by an oracle that knows the simulated world."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import lookaway
from lookaway.core import Abstention, JudgeModel, Reason
from lookaway.engine.run import Run
from lookaway.io.world_clips import open_world
from lookaway.judges.client import RetryPolicy
from lookaway.judges.oracle import Noise, OracleServer, ServerErrors
from lookaway.judges.server import Connection
from lookaway.judges.settings import JudgeSettings
from lookaway.world.exports.mbench import export_mbench_t
from tests.judges.requests import QUICK
from tests.support.command import lookaway as command
from tests.support.hand_made import hand_made_run, scores
from tests.support.rendered import copy_small
from tests.support.runs import outcomes
from tests.support.scripted import install

pytestmark = [pytest.mark.render, pytest.mark.merge]

METRICS = ("state_progress", "progress_correctness")
STILL, RESET, PERFECT, MIXED = "camera_never_moves-1.00", "state_reset-0.50", "perfect", "mixed"
SUBSETS = ("human", "object", "environment", "causal")
BRIGHTNESS, GATE = "mean_brightness", "mbencht.causal.trigger"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("gate") / "world"
    axes = {"families": ("playroom", "kitchen", "street"), "events": ("both",)}
    copy_small(root, **axes, faults=("camera_never_moves",), severities=(1.0,))
    copy_small(root, **axes, faults=("state_reset",), severities=(0.5,))
    return root


@pytest.fixture(scope="module")
def dataset(world: Path) -> Path:
    export_mbench_t(open_world(world), world.parent / "text")
    return world.parent / "text"


def evaluate(server: OracleServer, dataset: Path, run: Path, **changes) -> Run:
    policy = RetryPolicy(concurrent=4, tries=changes.pop("tries", 4), trip_after=1000, **QUICK)
    connection = Connection(url=server.base_url, timeout_seconds=10)
    judge = JudgeSettings(model=JudgeModel(model="oracle"), connection=connection, policy=policy)
    return lookaway.evaluate(dataset, run, **{"metrics": METRICS, "judge": judge, **changes})


@pytest.fixture(scope="module")
def run(world: Path, dataset: Path) -> Run:
    with OracleServer(world) as server:
        return evaluate(server, dataset, world.parent / "run")


@pytest.fixture(scope="module")
def mixed(dataset: Path) -> Path:
    """One model that looks away in two scenes and stands still in the third; its clips stand in for every subset's."""
    root = dataset.parent / "mixed"
    shutil.copytree(dataset, root)
    lines = []
    for model in (PERFECT, STILL):
        for text in (root / "models" / model / "samples.jsonl").read_text().splitlines():
            line = json.loads(text)
            if (model == STILL) is line["sample_id"].startswith("street"):
                line["media"]["videos"][0]["path"] = f"models/{model}/{line['media']['videos'][0]['path']}"
                named = {"model_id": MIXED, "artifacts": {}}
                lines += [
                    {**line, **named, "subset": subset, "item_id": line["item_id"].replace("causal:", f"{subset}:")}
                    for subset in SUBSETS
                ]
    for subset in SUBSETS[:-1]:
        shutil.copytree(root / "samples" / "causal", root / "samples" / subset)
    (root / "models" / MIXED).mkdir()
    (root / "models" / MIXED / "samples.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return root


@pytest.fixture(scope="module")
def mixed_run(world: Path, mixed: Path) -> Run:
    """A metric of each subset, two of which have no network here, and one that every rollout has a score of."""
    metrics = ["human_identity_consistency", "object_texture_consistency", "rendering_lighting", *METRICS, BRIGHTNESS]
    with pytest.MonkeyPatch.context() as monkeypatch, OracleServer(world) as server:
        install(monkeypatch, "metrics", mean_brightness="tests.support.scripted:MeanBrightness")
        install(monkeypatch, "extractors", brightness="tests.support.scripted:Brightness")
        return evaluate(server, mixed, mixed.parent / "mixed_run", metrics=metrics, models=(MIXED,))


def test_in_every_subset_the_judge_tells_clips_that_pose_the_test_from_those_that_do_not(mixed_run):
    for subset in SUBSETS:
        said = {row["case"]: row["value"] for row in mixed_run.items() if row["metric"] == f"mbencht.{subset}.trigger"}
        assert sorted(said.values()) == [0.0, 1.0, 1.0]
        assert [case.split(":")[1].split("-")[0] for case, value in said.items() if value == 0.0] == ["street"]


def test_in_every_subset_the_m_score_is_that_of_a_hand_computation_where_some_clips_pose_no_test(mixed_run):
    found = {(cell.metric, cell.subset): cell for cell in mixed_run.table().cells if cell.estimate is not None}
    names = {(f"mbencht.causal.{name}", "causal") for name in METRICS}
    lighting = ("mbencht.environment.rendering_lighting", "environment")
    assert found.keys() == {*names, lighting, *((BRIGHTNESS, subset) for subset in SUBSETS)}
    items = list(mixed_run.items())
    for (metric, subset), cell in found.items():
        rows = [row for row in items if (row["metric"], row["subset"]) == (metric, subset)]
        moving = [row for row in rows if ":street-" not in row["case"]]
        mean, share = sum(row["value"] for row in moving) / 2, 2 / 3
        assert (len(rows), len(moving), cell.scored, cell.reasons) == (3, 2, 2, {"gate_closed": 1})
        assert cell.estimate.mean == pytest.approx(mean, abs=1e-9)
        assert cell.raw_mean == pytest.approx(sum(row["raw"] for row in moving) / 2, abs=1e-9)
        assert cell.gated.coverage.mean == pytest.approx(share, abs=1e-9)
        assert cell.gated.combined.mean == pytest.approx(2 * mean * share / (mean + share), abs=1e-9)


def test_the_judge_says_of_every_rollout_what_is_true(run):
    said = {row["rollout"]: row["value"] for row in run.items() if row["metric"] == GATE}
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
    shown = run.table(ignore_triggers=True)
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
        ignored = evaluate(server, dataset, tmp_path / "run", ignore_triggers=True)
    assert {row["metric"] for row in ignored.items()} == {f"mbencht.causal.{name}" for name in METRICS}


def test_a_failed_judge_call_is_never_not_triggered_and_leaves_all_other_numbers(world, dataset, run, tmp_path):
    with OracleServer(world, noise=Noise(seed=2), errors=ServerErrors(server_error=0.2)) as server:
        disturbed = evaluate(server, dataset, tmp_path / "run", tries=1)
    whole, found = outcomes(run.path), outcomes(disturbed.path)
    failed = {key for key, row in found.items() if row["reason"] == "judge_failed"}
    assert 2 <= len(failed) <= 12
    assert {key: row["value"] for key, row in found.items() if key not in failed} == {
        key: row["value"] for key, row in whole.items() if key not in failed
    }
    for cell in disturbed.table().cells:
        gate = {key[0] for key in failed if key[1] == GATE and key[0].startswith(cell.model)}
        own = {key[0] for key in failed if key[1] == cell.metric and key[0].startswith(cell.model)}
        coverage = cell.gated.coverage
        assert (coverage.scored if coverage else 0) == 3 - len(gate)
        assert coverage is None or coverage.mean == (0.0 if cell.model == STILL else 1.0)
        told = {"judge_failed": len(own), "gate judge_failed": len(gate)}
        if cell.model == STILL:
            told["gate_closed"] = 3 - len(gate | own)
        assert cell.reasons == {reason: count for reason, count in told.items() if count}
        assert cell.scored == (0 if cell.model == STILL else 3 - len(gate | own))
    assert {"gate judge_failed", "judge_failed"} <= {why for cell in disturbed.table().cells for why in cell.reasons}
    assert "gate judge_failed" in command("show", disturbed.path).out


def test_a_judge_that_refuses_a_whole_subset_leaves_its_cells_without_a_number_and_the_others_as_they_are(
    tmp_path,
):
    human, style = "mbencht.entity.human_identity_consistency", "mbencht.environment.rendering_style"
    refused = dict.fromkeys(scores("m", 0, 0, 0), Abstention(Reason.JUDGE_REFUSED, "no."))
    made = {human: scores("m", 0.9, 0.9, 0.9), "mbencht.human.trigger": refused}
    other = {style: scores("m", 0.5, 0.7, 0.9), "mbencht.environment.trigger": scores("m", 1.0, 1.0, 0.0)}
    run = hand_made_run(tmp_path / "run", "mbench-t", {**made, **other})
    cells = {cell.subset: cell for cell in run.table().cells}
    assert (cells["human"].estimate, cells["human"].reasons) == (None, {"gate judge_refused": 3})
    assert cells["environment"].estimate.mean == pytest.approx(0.6)
    assert run.table().notes == hand_made_run(tmp_path / "alone", "mbench-t", made).table().notes == ()
    (line,) = [line for line in command("show", run.path).out.splitlines() if human in line]
    assert line.partition(" human ")[2].split() == [
        "-",
        "-",
        "-",
        "0",
        "of",
        "3",
        "gate",
        "judge_refused",
        "3",
        "-",
        "0",
        "of",
        "3",
        "-",
        "-",
    ]


def test_where_some_cells_alone_have_no_judge_the_note_names_them(tmp_path):
    human, style = "mbencht.entity.human_identity_consistency", "mbencht.environment.rendering_style"
    nobody = dict.fromkeys(scores("two", 0, 0), Abstention(Reason.NO_JUDGE, "no judge."))
    made = {
        human: {**scores("one", 0.9, 0.9), **scores("two", 0.9, 0.9)},
        "mbencht.human.trigger": {**scores("one", 1.0, 0.0), **nobody},
        style: {**scores("one", 0.5, 0.7), ("three", "s0"): Abstention(Reason.NO_TARGET, "nothing.")},
    }
    (note,) = hand_made_run(tmp_path / "run", "mbench-t", made).table().notes
    assert note.startswith("Raw consistency of one (environment); two (human): no judge decided which rollouts met")
