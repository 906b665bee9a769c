from __future__ import annotations

import csv
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookaway.core import Abstention, Group, Lock, Reason, Score, Table, Unit, UserError, describe
from lookaway.engine.run import Run, RunResults
from lookaway.perception.similarity.compared_frames import MirroredFrames, ReferenceFrames
from lookaway.perception.similarity.frame_fidelity import FrameFidelity
from lookaway.reports import drift as drift_module
from lookaway.reports.drift import SCHEMA, curve_rows, drifts, drifts_json, drifts_markdown, half_life_row, write_drifts
from lookaway.reports.metric_facts import MetricFacts
from lookaway.store.outcome_reader import FrameUnits
from tests.support.drifting import STYLE, SUBSET, drifting_run, framed
from tests.support.hand_made import hand_made_run

LINE = 1.0 - 0.01 * np.arange(100)
EPIPOLAR = "mbencha.environment.spatial_epipolar"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A model that forgets steadily and one that forgets nothing, in a clip each of two scenes."""
    return drifting_run(tmp_path / "run", {"forgets": [LINE, LINE], "keeps": [[0.875] * 100, [0.625] * 60]})


def unbounded(monkeypatch) -> None:
    """Let every metric be an error without a worst value."""
    facts = MetricFacts(unit="error", range=(0.0, None), higher_is_better=False)
    monkeypatch.setattr(drift_module, "metric_facts", lambda run: {metric.name: facts for metric in run.metrics})


def test_every_model_has_the_curve_and_the_half_life_of_its_frames(run):
    forgets, keeps = drifts(run, bin_width=10)
    assert [(d.model, d.metric, d.subset, d.rollouts) for d in (forgets, keeps)] == [
        ("forgets", STYLE, SUBSET, 2),
        ("keeps", STYLE, SUBSET, 2),
    ]
    np.testing.assert_allclose([b.estimate.mean for b in forgets.bins], LINE.reshape(10, 10).mean(axis=1))
    assert forgets.half_life.frames == pytest.approx((1.0 - 0.955 / 2) / 0.01, abs=1e-9)
    assert (keeps.half_life.frames, keeps.half_life.within) == (None, 54.5)
    assert [b.estimate.scored for b in keeps.bins] == [2] * 6 + [1] * 4


def test_all_curves_of_a_metric_have_the_same_bins(tmp_path):
    run = drifting_run(tmp_path, {"long": [[1.0] * 200], "short": [[1.0] * 50]})
    long, short = drifts(run)
    assert (long.bin_width, short.bin_width, len(long.bins), len(short.bins)) == (10, 10, 20, 5)


def test_only_frames_of_measurements_with_a_score_count(tmp_path):
    units = (
        Unit("f0", Score(0.5)),
        Unit("f1", Abstention(Reason.TOO_SHORT, "no")),
        Unit("f2_f9", Score(0.1)),
        Unit("phase1", Score(0.1)),
        Unit("f", Score(0.1)),
        Unit("f3", Score(0.25)),
    )
    declined = Abstention(Reason.TOO_SHORT, "too few", units=(Unit("f0", Score(0.0)),))
    outcomes = {
        ("m", "s0"): Score(0.4, units=units),
        ("m", "s1"): declined,
        ("m", "s2"): Score(0.9),
        ("without frames", "s0"): Score(0.9),
    }
    run = hand_made_run(tmp_path, "mbench-a", {STYLE: outcomes})
    (found,) = drifts(run, bin_width=1)
    assert [(b.first, b.estimate.mean) for b in found.bins] == [(0, 0.5), (3, 0.25)]
    assert found.rollouts == 1


def test_rollouts_keep_their_own_scenes():
    units = FrameUnits(
        rollouts=np.array([2, 0, 1]),
        frames=np.zeros(3, np.int64),
        values=np.array([0.5, 1.0, 0.25]),
        models=("a", "b", "b"),
        subsets=("all",) * 3,
        scenes=("x", "y", "y"),
        ids=("1", "2", "3"),
    )
    group = Group(
        model="a",
        metric="light",
        subset="all",
        values=np.ones(3),
        rollouts=units.ids,
        scenes=units.scenes,
        raw_values=np.array([]),
        has_raw=np.zeros(3, np.bool_),
        asked=3,
        failures=0,
        reasons={},
    )
    stub = SimpleNamespace(
        lock=Lock({}),
        about={"metrics": [{"name": "light"}]},
        results=lambda: RunResults(groups=(group,), table=Table(suite="folder", cells=())),
        metrics_with_frames=lambda: ["light"],
        frames=lambda names: [(name, units) for name in names],
    )
    a, b = drifts(stub)
    assert (a.bins[0].estimate.mean, a.bins[0].estimate.scored, a.bins[0].estimate.scenes) == (1.0, 1, 1)
    assert (b.bins[0].estimate.mean, b.bins[0].estimate.scored, b.bins[0].estimate.scenes) == (0.375, 2, 1)


def test_curves_come_by_metric_subset_and_model_and_values_do_not_mix(tmp_path):
    outcomes = {
        STYLE: {("b", "s0"): framed([0.5, 0.5]), ("a", "s0"): framed([0.25, 0.25])},
        EPIPOLAR: {("a", "s0"): framed([0.75, 0.75])},
    }
    run = hand_made_run(tmp_path, "mbench-a", outcomes)
    found = drifts(run, bin_width=2)
    assert [(d.metric, d.model, d.bins[0].estimate.mean) for d in found] == [
        (STYLE, "a", 0.25),
        (STYLE, "b", 0.5),
        (EPIPOLAR, "a", 0.75),
    ]
    assert drifts(run, ["spatial_epipolar"], bin_width=2) == drifts(run, [EPIPOLAR], bin_width=2) == found[2:]
    assert drifts(run, ["spatial_epipolar", "rendering_style"], bin_width=2) == found


@pytest.mark.parametrize("name", ["rendering_lighting", "style", "nothing"])
def test_a_metric_without_values_of_frames_is_refused_with_those_that_have_them(name, tmp_path):
    lighting = "mbencha.environment.rendering_lighting"
    pairs = Score(0.5, units=(Unit("f0_f16", Score(0.5)),))
    run = hand_made_run(tmp_path, "mbench-a", {STYLE: {("m", "s"): framed([1.0])}, lighting: {("m", "s"): pairs}})
    with pytest.raises(UserError, match=f"{name}.*It has them for: {STYLE}"):
        drifts(run, [name])
    with pytest.raises(UserError, match=f"{name}.*It has them for: {STYLE}"):
        drifts(run, towards={name: 0.5})


def test_a_run_in_which_no_metric_looks_at_single_frames_is_refused(tmp_path):
    run = hand_made_run(tmp_path, "mbench-a", {STYLE: {("m", "s"): Score(0.5)}})
    with pytest.raises(UserError, match="no metric of this run has per-frame values"):
        drifts(run)


def test_the_level_at_which_nothing_is_left_can_be_given(run):
    forgets, keeps = drifts(run, bin_width=1, towards={"rendering_style": 0.8})
    assert forgets.half_life.frames == pytest.approx(10.0, abs=1e-9)
    assert forgets.half_life.towards == 0.8
    assert keeps.half_life is None
    assert keeps.no_half_life == "it starts no better than 0.8"
    assert half_life_row(keeps)["start"] == "0.750"


def test_a_metric_without_a_worst_value_has_a_half_life_only_towards_a_given_one(tmp_path, monkeypatch):
    errors = 0.001 * (1 + np.arange(100))
    run = drifting_run(tmp_path, {"m": [errors, errors]})
    unbounded(monkeypatch)
    (found,) = drifts(run, bin_width=1)
    assert found.half_life is None
    assert found.no_half_life == f"it has no worst value; give one: --towards {STYLE}=VALUE"
    (found,) = drifts(run, bin_width=1, towards={STYLE: 0.101})
    assert found.half_life.frames == pytest.approx(50.0, abs=1e-9)
    assert found.no_half_life == ""


def test_a_metric_that_is_not_installed_has_a_curve_and_no_half_life(tmp_path):
    run = drifting_run(tmp_path, {"m": [LINE]}, kind="of_another_package")
    (found,) = drifts(run, towards={STYLE: 0.0})
    assert len(found.bins) == 20
    assert found.half_life is None
    assert "not installed" in found.no_half_life


def test_frames_of_a_mirrored_path_count_from_the_turn(tmp_path):
    """The frame next to the turn is compared with one that hardly had time to be forgotten."""
    way_out = [0.25, 0.5, 0.75, 1.0], [0.5, 1.0]
    recipes = {
        compared: {"fidelity": describe(FrameFidelity(compared=compared))}
        for compared in (MirroredFrames(), ReferenceFrames())
    }
    (mirrored,) = drifts(drifting_run(tmp_path / "1", {"m": way_out}, features=recipes[MirroredFrames()]), bin_width=1)
    assert [b.estimate.mean for b in mirrored.bins] == [1.0, 0.625, 0.5, 0.25]
    assert [b.estimate.scored for b in mirrored.bins] == [2, 2, 1, 1]
    (plain,) = drifts(drifting_run(tmp_path / "2", {"m": way_out}, features=recipes[ReferenceFrames()]), bin_width=1)
    assert [b.estimate.mean for b in plain.bins] == [0.375, 0.75, 0.75, 1.0]


def test_the_text_of_a_curve_shows_bands_changes_and_how_many_reach_each_bin(run):
    _, keeps = drifts(run, bin_width=50)
    first, second = curve_rows(keeps)
    assert (first["frames"], first["mean"], first["rollouts"], first["scenes"]) == ("0-49", "0.750", "2 of 2", "2")
    assert first["95 %"] == "scenes 0.625 0.875"
    assert (second["mean"], second["change"], second["change 95 %"]) == ("0.750", "0.000", "all 2 scenes 0.000")
    (single, *_) = curve_rows(drifts(run, bin_width=1)[0])
    assert single["frames"] == "0"


def test_a_tail_of_one_scene_has_no_band(run):
    last = curve_rows(drifts(run, bin_width=10)[1])[-1]
    assert (last["mean"], last["95 %"], last["rollouts"], last["scenes"]) == ("0.875", "one scene", "1 of 2", "1")


def test_small_errors_are_shown_with_digits_enough_to_see_them_drift(tmp_path):
    run = drifting_run(tmp_path, {"m": [[0.00123, 0.00456]], "nought": [[0.0, 0.0]], "large": [[29.5, 28.25]]})
    large, small, nought = drifts(run, bin_width=1)
    assert [row["mean"] for row in curve_rows(small)] == ["0.00123", "0.00456"]
    assert [row["mean"] for row in curve_rows(nought)] == ["0.000", "0.000"]
    assert [row["mean"] for row in curve_rows(large)] == ["29.500", "28.250"]


def test_a_half_life_beyond_the_clips_is_more_than_their_length_and_never_empty(run):
    forgets, keeps = (half_life_row(drift) for drift in drifts(run, bin_width=10))
    assert (forgets["half-life"], forgets["95 %"], forgets["towards"]) == ("52.2", "-", "0.000")
    assert (keeps["half-life"], keeps["95 %"]) == ("> 54.5", "-")


def test_the_half_life_of_five_scenes_has_an_interval(tmp_path):
    rates = (0.01, 0.012, 0.008, 0.011, 0.009)
    found = drifts(drifting_run(tmp_path, {"m": [1.0 - rate * np.arange(100) for rate in rates]}), bin_width=10)
    (row,) = (half_life_row(drift) for drift in found)
    assert re.fullmatch(r"\[\d\d\.\d, \d\d\.\d\]", row["95 %"])


def test_json_holds_everything_unrounded(run):
    found = drifts(run, bin_width=10)
    told = drifts_json(run, found)
    assert told["lock_sha256"] == run.about["lock_sha256"]
    forgets, keeps = told["curves"]
    assert forgets["half_life"]["frames"] == found[0].half_life.frames
    assert forgets["bins"][3]["estimate"]["mean"] == found[0].bins[3].estimate.mean
    assert keeps["half_life"]["frames"] is None


def test_parquet_and_csv_hold_one_row_a_bin_with_all_digits(run, tmp_path):
    found = drifts(run, bin_width=10)
    write_drifts(run, found, tmp_path / "drift.parquet")
    write_drifts(run, found, tmp_path / "drift.CSV")
    table = pq.read_table(tmp_path / "drift.parquet")
    assert table.schema.equals(SCHEMA)
    assert table.schema.field("rollouts").type == pa.int64()
    rows = table.to_pylist()
    assert len(rows) == 20
    third, last = found[0].bins[2], found[1].bins[-1]
    assert rows[2] == {
        "model": "forgets",
        "metric": STYLE,
        "subset": SUBSET,
        "first_frame": 20,
        "last_frame": 29,
        "mean_frame": 24.5,
        "mean": third.estimate.mean,
        "low": third.estimate.low,
        "high": third.estimate.high,
        "change": third.change.mean,
        "change_low": third.change.low,
        "change_high": third.change.high,
        "rollouts": 2,
        "of_rollouts": 2,
        "scenes": 2,
        "half_life": found[0].half_life.frames,
        "half_life_low": None,
        "half_life_high": None,
        "within": 94.5,
        "towards": 0.0,
    }
    tail = rows[-1]
    assert (tail["mean"], tail["low"], tail["rollouts"], tail["of_rollouts"]) == (last.estimate.mean, None, 1, 2)
    assert (tail["half_life"], tail["half_life_low"], tail["half_life_high"]) == (None, None, None)
    with (tmp_path / "drift.CSV").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert [{k: None if v == "" else v for k, v in row.items()} for row in read] == [
        {k: None if v is None else str(v) for k, v in row.items()} for row in rows
    ]


def test_a_curve_without_a_half_life_and_a_bin_without_a_change_leave_their_columns_empty(tmp_path):
    units = (Unit("f0", Score(0.5)),), (Unit("f9", Score(0.5)),)
    outcomes = {("m", f"s{number}"): Score(0.5, units=own) for number, own in enumerate(units)}
    run = hand_made_run(tmp_path / "run", "mbench-a", {STYLE: outcomes})
    write_drifts(run, drifts(run, bin_width=5), tmp_path / "drift.parquet")
    _, second = pq.read_table(tmp_path / "drift.parquet").to_pylist()
    assert second["change"] is second["change_low"] is second["change_high"] is None
    assert second["half_life"] is second["within"] is second["towards"] is None


def test_markdown_takes_names_neither_for_markup_nor_for_columns(tmp_path):
    hostile = "a|b*c*\x1b[31m<i>\nd`"
    run = drifting_run(tmp_path, {hostile: [[1.0, 0.5], [1.0, 0.25]]})
    text = drifts_markdown(run, drifts(run))
    assert r"a\|b\*c\*\\x1b\[31m\<i\>\\nd\`" in text
    assert text.isprintable() or all(c.isprintable() or c == "\n" for c in text)
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.replace(r"\|", "").count("|") for line in tables[:4]} == {8}
    assert {line.replace(r"\|", "").count("|") for line in tables[4:]} == {9}
    assert "| 0 | 1.000 | all 2 scenes 1.000 | 0.000 |" in text
    assert text.count("\n## ") + text.startswith("## ") == 2


def test_csv_holds_no_formula(tmp_path):
    run = drifting_run(tmp_path / "run", {"=cmd()": [[1.0, 0.5]]})
    write_drifts(run, drifts(run), tmp_path / "drift.csv")
    with (tmp_path / "drift.csv").open(newline="") as file:
        assert {row["model"] for row in csv.DictReader(file)} == {"'=cmd()"}


def test_another_suffix_and_a_place_that_cannot_be_written_are_refused(run, tmp_path):
    found = drifts(run)
    with pytest.raises(UserError, match=r"expected \.csv, \.parquet or \.md"):
        write_drifts(run, found, tmp_path / "drift.xlsx")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        write_drifts(run, found, tmp_path / "file" / "drift.csv")
