"""What a set of pairs holds."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from lookaway.calibration.card import MetricCard
from lookaway.calibration.run_cards import shipped_cards
from lookaway.core import Score
from lookaway.training.pairs.export import PairOptions, export_pairs
from lookaway.training.pairs.mining import MiningRules
from lookaway.training.pairs.preferences import SCHEMA
from tests.training.pairs.made_runs import (
    GATE,
    LIGHT,
    LOOK,
    SMALLEST,
    MadeMetric,
    clip,
    exported,
    loser,
    made_run,
    sound_clips,
    winner,
)


def card_of(metric: str, suits: Callable[[MetricCard], bool]) -> MetricCard:
    """A card of this package."""
    return next(card for card in shipped_cards().cards if card.metric == metric and suits(card))


def test_the_better_of_two_tested_videos_wins_by_its_margin(tmp_path):
    run = made_run(tmp_path / "run", [clip("good", 0.9), clip("poor", 0.4)])
    (row,) = exported(tmp_path / "pairs", run)
    assert (winner(row), loser(row), row["margin"]) == ("good", "poor", pytest.approx(5.0))
    assert row["axis"] == LIGHT
    assert (row["scene_id"], row["item_id"], row["source"]) == ("case0", "case0", "metric")
    assert row["judgeable_a"]
    assert row["judgeable_b"]
    assert row["n_votes"] is None


def test_every_pair_of_models_of_a_case_is_mined(tmp_path):
    rows = exported(tmp_path / "pairs", made_run(tmp_path / "run", sound_clips()))
    assert Counter((winner(row), loser(row)) for row in rows) == {
        ("good", "fair"): 12,
        ("good", "poor"): 12,
        ("fair", "poor"): 12,
    }


def test_winners_are_as_often_a_as_b_in_each_split(tmp_path):
    rows = exported(tmp_path / "pairs", made_run(tmp_path / "run", sound_clips(40)))
    for split in {row["split"] for row in rows}:
        labels = Counter(row["label"] for row in rows if row["split"] == split)
        assert abs(labels["A"] - labels["B"]) <= 1


def test_a_scene_is_in_the_same_split_whatever_else_is_in_the_runs(tmp_path):
    few = exported(tmp_path / "few", made_run(tmp_path / "run", sound_clips(10)))
    many = exported(tmp_path / "many", made_run(tmp_path / "larger", sound_clips(60)))
    splits = {row["scene_id"]: row["split"] for row in many}
    assert len(set(splits.values())) == 3
    assert all(splits[row["scene_id"]] == row["split"] for row in few)


def test_the_order_of_runs_changes_nothing(tmp_path):
    clips = sound_clips()
    first, second = made_run(tmp_path / "a", clips[::2]), made_run(tmp_path / "b", clips[1::2])
    assert exported(tmp_path / "one", first, second) == exported(tmp_path / "other", second, first)


def test_metrics_of_one_rollout_in_two_runs_make_one_pair_with_two_axes(tmp_path):
    gate = MadeMetric(name=GATE, is_gate=True)
    light = made_run(tmp_path / "a", [clip("good", 0.9), clip("poor", 0.4)], [MadeMetric(name=LIGHT), gate])
    clips = [clip(model, 0.0, outcomes={LOOK: Score(value)}) for model, value in (("good", 0.2), ("poor", 0.8))]
    without_light = [
        type(one)(**{**vars(one), "outcomes": {LOOK: one.outcomes[LOOK], GATE: one.outcomes[GATE]}}) for one in clips
    ]
    look = made_run(tmp_path / "b", without_light, [MadeMetric(name=LOOK), gate])
    rows = exported(tmp_path / "pairs", light, look, metrics=(LIGHT, LOOK))
    assert {row["axis"]: winner(row) for row in rows} == {LIGHT: "good", LOOK: "poor"}
    assert len({row["pair_id"] for row in rows}) == 1


def test_axes_of_one_pair_have_the_same_sides(tmp_path):
    clips = [
        clip(model, value, f"case{n}", outcomes={LOOK: Score(1.0 - value)})
        for n in range(20)
        for model, value in (("good", 0.9), ("poor", 0.4))
    ]
    rows = exported(tmp_path / "pairs", made_run(tmp_path / "run", clips), metrics=(LIGHT, LOOK))
    sides = {}
    for row in rows:
        assert sides.setdefault(row["pair_id"], (row["video_a"], row["video_b"])) == (row["video_a"], row["video_b"])
    assert len(rows) == 40


def test_a_card_gives_the_smallest_difference_and_how_sure_a_pair_is(tmp_path):
    card = card_of("light", lambda card: card.smallest_difference > 0 and card.is_won_by_frozen is False)
    metrics = [MadeMetric(name=LIGHT, higher_is_better=False, range=(0, None)), MadeMetric(name=GATE, is_gate=True)]
    close = 2 * card.smallest_difference
    clips = [clip("good", 0.1), clip("near", 0.1 + close), clip("far", 5.0)]
    run = made_run(tmp_path / "run", clips, metrics, cards={LIGHT: card.sha256})
    rows = exported(tmp_path / "pairs", run, metrics=None, smallest_differences={})
    found = {(winner(row), loser(row)): row for row in rows}
    assert found["good", "near"]["margin"] == pytest.approx(2.0)
    assert 0.8 < found["good", "near"]["confidence"] < 1.0
    assert found["good", "far"]["confidence"] == pytest.approx(1.0)
    row = found["good", "near"]
    assert row["p_a"] == pytest.approx(row["confidence"] if row["label"] == "A" else 1 - row["confidence"])


def test_a_metric_whose_clean_clips_are_equal_counts_from_one_hundredth_of_its_range(tmp_path):
    card = card_of("remembered", lambda card: card.smallest_difference == 0)
    metrics = [MadeMetric(name="remembered"), MadeMetric(name=GATE, is_gate=True)]
    clips = [
        type(one)(**{**vars(one), "outcomes": {"remembered": one.outcomes[LIGHT], GATE: one.outcomes[GATE]}})
        for one in (clip("good", 1.0), clip("poor", 0.5))
    ]
    run = made_run(tmp_path / "run", clips, metrics, cards={"remembered": card.sha256})
    (row,) = exported(tmp_path / "pairs", run, metrics=("remembered",), smallest_differences={})
    assert row["margin"] == pytest.approx(50.0)


def test_a_metric_that_asks_a_judge_says_so(tmp_path):
    metrics = [
        MadeMetric(name=LIGHT, features={"rating": {"kind": "Rating", "judge": {"model": "m"}}}),
        MadeMetric(name=GATE, is_gate=True),
    ]
    run = made_run(tmp_path / "run", [clip("good", 0.9), clip("poor", 0.4)], metrics)
    (row,) = exported(tmp_path / "pairs", run)
    assert row["source"] == "judge"


def test_a_metric_that_is_not_about_memory_needs_no_gate(tmp_path):
    metrics = [MadeMetric(name=LIGHT, is_consistency=False)]
    clips = [clip("good", 0.9, gate=None), clip("poor", 0.4, gate=None)]
    (row,) = exported(tmp_path / "pairs", made_run(tmp_path / "run", clips, metrics))
    assert winner(row) == "good"


def test_the_gate_of_another_subset_does_not_decide(tmp_path):
    metrics = [
        MadeMetric(name=LIGHT),
        MadeMetric(name=GATE, is_gate=True, subsets=("all",)),
        MadeMetric(name="other", is_gate=True, subsets=("elsewhere",)),
    ]
    (row,) = exported(tmp_path / "pairs", made_run(tmp_path / "run", [clip("good", 0.9), clip("poor", 0.4)], metrics))
    assert winner(row) == "good"


def test_access_prefers_the_video_that_tested_memory(tmp_path):
    clips = [clip("moves", 0.1), clip("still", 0.9, gate=Score(0.0)), clip("other", 0.1)]
    rows = exported(tmp_path / "pairs", made_run(tmp_path / "run", clips), access=True)
    access = [row for row in rows if row["axis"] == "access"]
    assert {(winner(row), loser(row)) for row in access} == {("moves", "still"), ("other", "still")}
    assert {row["margin"] for row in access} == {None}


def test_combined_is_one_axis_of_all_metrics(tmp_path):
    clips = [
        clip("good", 0.9, outcomes={LOOK: Score(0.9)}),
        clip("poor", 0.4, outcomes={LOOK: Score(0.6)}),
    ]
    run = made_run(tmp_path / "run", clips)
    (row,) = exported(tmp_path / "pairs", run, metrics=(LIGHT, LOOK), combined=True)
    assert (row["axis"], winner(row), row["margin"]) == ("combined", "good", pytest.approx(4.0))


def test_a_share_of_wins_keeps_as_many_pairs_as_it_can(tmp_path):
    better = [clip(model, value, f"x{n}") for n in range(30) for model, value in (("a", 0.9), ("b", 0.1))]
    worse = [clip(model, value, f"y{n}") for n in range(10) for model, value in (("a", 0.1), ("b", 0.9))]
    run = made_run(tmp_path / "run", better + worse)
    rows = exported(tmp_path / "pairs", run, rules=MiningRules(max_wins=0.5), splits={"train": 1.0})
    assert Counter(map(winner, rows)) == {"a": 10, "b": 10}


def test_a_case_with_many_rollouts_gives_as_many_pairs_as_asked_for(tmp_path):
    clips = [clip("m", n / 100, seed=str(n)) for n in range(60)]
    rows = exported(tmp_path / "pairs", made_run(tmp_path / "run", clips), rules=MiningRules(per_case=7))
    assert sum(row["label"] != "same" for row in rows) == 7


def test_the_table_has_the_columns_that_are_documented(tmp_path):
    exported(tmp_path / "pairs", made_run(tmp_path / "run", sound_clips(2)))
    assert pq.read_schema(tmp_path / "pairs" / "preferences.parquet").equals(SCHEMA)


def test_the_card_counts_what_was_left_out_and_names_locks_and_licences(tmp_path):
    clips = [*sound_clips(3), clip("still", 1.0, "case0", gate=Score(0.0), scene="scene0")]
    run = made_run(tmp_path / "run", clips)
    options = PairOptions(
        metrics=(LIGHT,),
        smallest_differences={LIGHT: SMALLEST},
        reads_dataset=False,
        licences=("good=CC-BY-4.0", "MIT"),
    )
    card = export_pairs([run], tmp_path / "pairs", options)
    assert card == {
        k: v for k, v in json.loads((tmp_path / "pairs" / "card.json").read_text()).items() if k != "sha256"
    }
    assert card["counts"][LIGHT]["rollouts"] == {"asked": 10, "scored": 10, "judgeable": 9}
    assert card["axes"][LIGHT]["lock"] == "lock of light"
    assert card["axes"][LIGHT]["gates"] == {GATE: "lock of revisited"}
    assert card["licences"] == {"good": "CC-BY-4.0", "fair": "MIT", "poor": "MIT"}
    assert "still" not in card["models"]
    text = (tmp_path / "pairs" / "README.md").read_text()
    assert "`CC-BY-4.0`" in text
    assert "9 pairs" in text


def test_a_failed_export_leaves_nothing_behind(tmp_path):
    run = made_run(tmp_path / "run", sound_clips(2))
    with pytest.raises(Exception, match="not below"):
        exported(tmp_path / "pairs", run, relative_to=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


def test_paths_can_be_relative_to_a_folder(tmp_path):
    rows = exported(
        tmp_path / "pairs",
        made_run(tmp_path / "run", [clip("good", 0.9), clip("poor", 0.4)]),
        relative_to=Path("/videos"),
    )
    assert {rows[0]["video_a"], rows[0]["video_b"]} == {"good/case0-0.mp4", "poor/case0-0.mp4"}
