"""Every way to spoil a set of pairs that we could think of, planted among sound clips: it is refused, or absent."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lookaway.core import Abstention, Failure, Reason, Score, Unit, UserError
from lookaway.store.outcome_rows import SCHEMA, Measured
from lookaway.store.run_folder import RunFolder
from lookaway.training.pairs.mining import MiningRules
from lookaway.training.pairs.scenes import parse_splits
from tests.training.pairs.made_runs import (
    CLOSED,
    GATE,
    LIGHT,
    LOOK,
    METRICS,
    UNKNOWN,
    Clip,
    MadeMetric,
    clip,
    exported,
    loser,
    made_run,
    sound_clips,
    winner,
)

Rows = list[dict[str, Any]]
BAD = "bad"
"""The model with what is planted; it would win every pair."""
FAILED = Failure("ValueError", "broken")
NOT_JUDGED = Abstention(Reason.NO_JUDGE, "no judge")


def plant(folder: Path, *planted: Clip, metrics: Sequence[MadeMetric] = METRICS) -> Path:
    """A run of sound clips and some more."""
    return made_run(folder / "run", [*sound_clips(), *planted], metrics)


def bad_clip(light: Any = 1.0, **more: Any) -> Clip:
    """A clip that would win against all others of its case."""
    return clip(BAD, light, "case0", **{"scene": "scene0", **more})


def is_bad(row: dict[str, Any]) -> bool:
    """Whether the planted model is in a pair."""
    return BAD in (row["model_a"], row["model_b"])


REFUSED: dict[str, tuple[Callable[[Path], Any], str]] = {}
"""What is planted, and what the message must say."""


def refused(message: str) -> Callable[[Callable[[Path], Any]], Callable[[Path], Any]]:
    def add(plant_it: Callable[[Path], Any]) -> Callable[[Path], Any]:
        REFUSED[plant_it.__name__] = (plant_it, message)
        return plant_it

    return add


def two_runs(folder: Path, second: Sequence[MadeMetric] = METRICS, clips: Sequence[Clip] = (), **more: Any) -> Rows:
    one = made_run(folder / "one", sound_clips())
    other = made_run(folder / "two", clips or [bad_clip()], second, **more)
    return exported(folder / "pairs", one, other)


@refused("different locks")
def locks_of_a_metric_differ(folder):
    two_runs(folder, [replace(METRICS[0], lock="other"), *METRICS[1:]])


@refused("different locks")
def locks_of_the_gate_differ(folder):
    two_runs(folder, [*METRICS[:2], replace(METRICS[2], lock="other")])


@refused("different suites")
def suites_differ(folder):
    two_runs(folder, suite="folder")


@refused("more than once")
def a_run_is_named_twice(folder):
    run = plant(folder)
    exported(folder / "pairs", run, run)


@refused("another scene")
def a_case_has_two_scenes(folder):
    two_runs(folder, clips=[bad_clip(scene="elsewhere")])


@refused("another subset")
def a_case_has_two_subsets(folder):
    two_runs(folder, clips=[bad_clip(subset="elsewhere")])


@refused("has no gate")
def the_run_has_no_gate(folder):
    run = made_run(folder / "run", [clip("a", 0.9, gate=None), clip("b", 0.1, gate=None)], METRICS[:2])
    exported(folder / "pairs", run)


@refused("not known which difference counts")
def no_card_says_which_difference_counts(folder):
    exported(folder / "pairs", plant(folder), smallest_differences={})


@refused("can rank videos")
def no_metric_has_a_card(folder):
    exported(folder / "pairs", plant(folder), metrics=None, smallest_differences={})


@refused("above 0")
def a_smallest_difference_of_nothing(folder):
    exported(folder / "pairs", plant(folder), smallest_differences={LIGHT: 0.0})


@refused("above 0")
def a_smallest_difference_that_is_not_a_number(folder):
    exported(folder / "pairs", plant(folder), smallest_differences={LIGHT: float("nan")})


@refused("No metric of these runs is named 'lihgt'")
def a_metric_is_misspelled(folder):
    exported(folder / "pairs", plant(folder), metrics=("lihgt",))


@refused("No metric of these runs is named 'light'")
def a_short_name_means_two_metrics(folder):
    metrics = [MadeMetric(name="a.light"), MadeMetric(name="b.light"), METRICS[2]]
    run = made_run(folder / "run", [Clip(model="a", outcomes={"a.light": Score(0.1), GATE: CLOSED})], metrics)
    exported(folder / "pairs", run)


@refused("No format is named 'pickle'")
def a_format_is_unknown(folder):
    exported(folder / "pairs", plant(folder), formats=("pickle",))


@refused("add up to 1")
def splits_that_overlap(folder):
    parse_splits("train=0.8,val=0.8")


@refused("add up to 1")
def a_split_twice(folder):
    parse_splits("train=0.5,train=0.5")


@refused("add up to 1")
def a_split_that_leaves_the_folder(folder):
    parse_splits("../train=1")


@refused("No scene, or file of scenes, for --held-out is named 'scene_0'")
def a_held_out_scene_is_misspelled(folder):
    exported(folder / "pairs", plant(folder), held_out=("scene_0",))


@refused("lists no scene")
def the_list_of_held_out_scenes_is_empty(folder):
    (folder / "held.txt").write_text("\n \n")
    exported(folder / "pairs", plant(folder), held_out=(str(folder / "held.txt"),))


@refused("not an empty folder")
def the_output_holds_another_set(folder):
    run = plant(folder)
    exported(folder / "pairs", run)
    exported(folder / "pairs", run)


@refused("No model is named 'goood'")
def a_model_is_misspelled(folder):
    exported(folder / "pairs", plant(folder), models=("goood", "poor"))


@refused("damaged")
def rows_were_changed(folder):
    run = plant(folder)
    (part,) = RunFolder(run).parts()
    part.write_bytes(part.read_bytes()[:-1] + b"x")
    exported(folder / "pairs", run)


@refused("not a finite number")
def a_score_is_not_finite(folder):
    run, first = plant(folder), sound_clips()[0]
    row = {"rollout": first.rollout.id, "content": first.key, "metric": LIGHT, "lock": "lock of light"}
    infinite = {**row, "status": "score", "value": float("inf")}
    RunFolder(run).write_part("zz", pa.Table.from_pylist([infinite], SCHEMA))
    exported(folder / "pairs", run)


@refused("cannot be measured")
def a_score_is_beyond_all_bounds(folder):
    exported(folder / "pairs", plant(folder, bad_clip(1e308)))


@refused("No pair is left")
def every_video_stands_still(folder):
    clips = [replace(one, outcomes={**one.outcomes, GATE: CLOSED}) for one in sound_clips()]
    exported(folder / "pairs", made_run(folder / "run", clips))


@refused("both for all models")
def two_licences_for_all(folder):
    exported(folder / "pairs", plant(folder), licences=("MIT", "CC0"))


@refused("No model for --licence is named 'goood'")
def a_licence_of_a_misspelled_model(folder):
    exported(folder / "pairs", plant(folder), licences=("goood=MIT",))


@refused("is not known, since no card says")
def a_confidence_that_nobody_knows(folder):
    exported(folder / "pairs", plant(folder), rules=MiningRules(min_confidence=0.9))


@refused("not below")
def a_video_lies_outside(folder):
    exported(folder / "pairs", plant(folder), relative_to=Path("/videos/good"))


@refused("has no gate|no gate")
def access_without_a_gate(folder):
    metrics = [replace(METRICS[0], is_consistency=False)]
    run = made_run(folder / "run", [clip("a", 0.9, gate=None), clip("b", 0.1, gate=None)], metrics)
    exported(folder / "pairs", run, access=True)


@pytest.mark.parametrize("name", REFUSED)
def test_a_planted_violation_is_refused(name, tmp_path):
    plant_it, message = REFUSED[name]
    with pytest.raises(UserError, match=message):
        plant_it(tmp_path)


def _add(run: Path, one: Clip, metric: str, outcome: Any, **key: str) -> None:
    """Another row of a rollout."""
    found = {"content": one.key, "lock": f"lock of {metric}", **key}
    RunFolder(run).add([Measured(rollout=one.rollout.id, metric=metric, outcome=outcome, **found)])


@dataclass(frozen=True, kw_only=True)
class Planted:
    """A clip of the model `bad`, or options, and what must not be among the pairs."""

    clips: tuple[Clip, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    metrics: Sequence[MadeMetric] = METRICS
    absent: Callable[[dict[str, Any]], bool] = is_bad


BETTER, WORSE = Score(1.0), Score(0.0)
ABSENT: dict[str, Planted] = {
    "its gate is closed": Planted(clips=(bad_clip(gate=CLOSED),)),
    "its gate abstained": Planted(clips=(bad_clip(gate=UNKNOWN),)),
    "its gate had no judge": Planted(clips=(bad_clip(gate=NOT_JUDGED),)),
    "its gate failed": Planted(clips=(bad_clip(gate=FAILED),)),
    "its gate was never measured": Planted(clips=(bad_clip(gate=None),)),
    "its gate is neither open nor closed": Planted(clips=(bad_clip(gate=Score(0.5)),)),
    "one of its two gates is closed": Planted(
        clips=(bad_clip(outcomes={"second": CLOSED}),),
        metrics=[*METRICS, MadeMetric(name="second", is_gate=True)],
        absent=lambda row: True,  # sound clips have no second gate
    ),
    "its metric failed": Planted(clips=(bad_clip(FAILED),)),
    "its metric abstained": Planted(clips=(bad_clip(UNKNOWN),)),
    "it has units and no score": Planted(
        clips=(bad_clip(Abstention(Reason.TOO_SHORT, "short", units=(Unit("f0", Score(1.0)),))),)
    ),
    "its metric was not asked of its subset": Planted(
        clips=(bad_clip(),), metrics=[replace(METRICS[0], subsets=("other",)), *METRICS[1:]], absent=lambda row: True
    ),
    "it is a copy of another model's file": Planted(
        clips=(bad_clip(0.9, content=sound_clips()[0].key),),
        absent=lambda row: {row["model_a"], row["model_b"]} >= {BAD, "good"},
    ),
    "its file is in two scenes": Planted(
        clips=(bad_clip(video="/videos/same.mp4"), clip(BAD, 1.0, "case1", scene="scene1", video="/videos/same.mp4"))
    ),
    "its scene is held out": Planted(
        clips=(clip(BAD, 1.0, "x", scene="secret"), clip("good", 0.1, "x", scene="secret")),
        options={"held_out": ("secret",)},
        absent=lambda row: is_bad(row) or row["scene_id"] == "secret",
    ),
    "it is better by less than a smallest difference": Planted(
        clips=(bad_clip(0.95),), absent=lambda row: winner(row) == BAD and loser(row) == "good"
    ),
    "it is better by less than the margin": Planted(
        clips=(bad_clip(1.0),),
        options={"rules": MiningRules(margin=2.0)},
        absent=lambda row: {row["model_a"], row["model_b"]} == {BAD, "good"},
    ),
    "it answers another case": Planted(
        clips=(clip(BAD, 1.0, "alone", scene="scene0"),),
    ),
    "higher is worse": Planted(
        clips=(bad_clip(1.0),),
        metrics=[replace(METRICS[0], higher_is_better=False), *METRICS[1:]],
        absent=lambda row: winner(row) == BAD,
    ),
    "its model was not asked for": Planted(clips=(bad_clip(),), options={"models": ("good", "fair", "poor")}),
    "it is of another model": Planted(
        clips=(bad_clip(), clip("good", 0.1, "case0", scene="scene0", seed="1")),
        options={"rules": MiningRules(same_model_only=True)},
        absent=lambda row: row["model_a"] != row["model_b"],
    ),
    "access is not asked for": Planted(clips=(bad_clip(gate=CLOSED),), absent=lambda row: row["axis"] == "access"),
    "its gate is unknown, on the axis of access": Planted(clips=(bad_clip(gate=UNKNOWN),), options={"access": True}),
    "another metric contradicts": Planted(
        clips=(
            clip(BAD, 1.0, "x", outcomes={LOOK: WORSE}),
            clip("good", 0.0, "x", outcomes={LOOK: BETTER}),
            clip("good", 0.9, "y", outcomes={LOOK: BETTER}),
            clip("poor", 0.1, "y", outcomes={LOOK: WORSE}),
        ),
        options={"metrics": (LIGHT, LOOK), "combined": True},
    ),
    "another metric has no score": Planted(
        clips=(
            clip(BAD, 1.0, "x", outcomes={LOOK: UNKNOWN}),
            clip("good", 0.0, "x", outcomes={LOOK: WORSE}),
            clip("good", 0.9, "y", outcomes={LOOK: BETTER}),
            clip("poor", 0.1, "y", outcomes={LOOK: WORSE}),
        ),
        options={"metrics": (LIGHT, LOOK), "combined": True},
    ),
}  # fmt: skip
NOTHING_LEFT = ("one of its two gates is closed", "its metric was not asked of its subset")


@pytest.mark.parametrize("name", ABSENT)
def test_a_planted_violation_is_absent(name, tmp_path):
    planted = ABSENT[name]
    run = plant(tmp_path, *planted.clips, metrics=planted.metrics)
    if name in NOTHING_LEFT:
        with pytest.raises(UserError, match="No pair is left"):
            exported(tmp_path / "pairs", run, **planted.options)
        return
    rows = exported(tmp_path / "pairs", run, **planted.options)
    assert rows
    assert not [row for row in rows if planted.absent(row)]


def test_there_are_at_least_forty_planted_violations():
    assert len(REFUSED) + len(ABSENT) >= 40


def test_a_sound_clip_in_the_same_place_would_win(tmp_path):
    rows = exported(tmp_path / "pairs", plant(tmp_path, bad_clip()))
    assert {winner(row) for row in rows if is_bad(row)} == {BAD}


def test_a_row_of_another_lock_is_no_score(tmp_path):
    run = plant(tmp_path, planted := bad_clip(UNKNOWN))
    _add(run, planted, LIGHT, Score(1.0), lock="another")
    assert not any(map(is_bad, exported(tmp_path / "pairs", run)))


def test_a_row_of_another_file_is_no_score(tmp_path):
    run = plant(tmp_path, planted := bad_clip(UNKNOWN))
    _add(run, planted, LIGHT, Score(1.0), content="an earlier video")
    assert not any(map(is_bad, exported(tmp_path / "pairs", run)))


def test_a_score_that_was_measured_again_counts_once_and_before_a_failure(tmp_path):
    run = plant(tmp_path, planted := bad_clip(FAILED))
    _add(run, planted, LIGHT, Score(1.0))
    rows = [row for row in exported(tmp_path / "pairs", run, rules=MiningRules(per_case=9)) if is_bad(row)]
    assert Counter(map(winner, rows)) == {BAD: 3}


def test_a_rollout_of_two_runs_makes_no_pair_twice(tmp_path):
    clips = sound_clips()
    runs = [made_run(tmp_path / name, clips) for name in ("one", "two")]
    rows = exported(tmp_path / "pairs", *runs)
    assert len(rows) == len({row["pair_id"] for row in rows}) == 36


def test_no_scene_is_in_two_splits(tmp_path):
    clips = [
        replace(one, case=f"{one.case}-{n}", scene=one.rollout.case.scene) for one in sound_clips(30) for n in "ab"
    ]
    rows = exported(tmp_path / "pairs", made_run(tmp_path / "run", clips))
    splits: dict[str, set[str]] = {}
    for row in rows:
        splits.setdefault(row["scene_id"], set()).add(row["split"])
    assert {len(own) for own in splits.values()} == {1}
    assert {split for own in splits.values() for split in own} == {"train", "val", "test"}


def test_scenes_in_a_list_are_held_out_and_not_even_named(tmp_path):
    (tmp_path / "held.txt").write_text("scene3\nscene4\nof another set\n")
    rows = exported(tmp_path / "pairs", plant(tmp_path), held_out=(str(tmp_path / "held.txt"), "scene5"))
    assert len({row["scene_id"] for row in rows}) == 9
    written = [path.read_bytes() for path in (tmp_path / "pairs").rglob("*") if path.is_file()]
    assert not any(name in content for content in written for name in (b"scene3", b"scene4", b"scene5"))
    card = json.loads((tmp_path / "pairs" / "card.json").read_text())
    assert card["left_out"]["rollouts of held-out scenes"] == 9


def test_no_model_wins_more_than_its_share(tmp_path):
    clips = [clip(model, value, f"z{n}") for n in range(8) for model, value in (("good", 0.1), ("poor", 0.9))]
    run = made_run(tmp_path / "run", [*sound_clips(), *clips])
    rows = exported(tmp_path / "pairs", run, rules=MiningRules(max_wins=0.4))
    for split in {row["split"] for row in rows}:
        wins = Counter(winner(row) for row in rows if row["split"] == split)
        assert max(wins.values()) <= 0.4 * sum(wins.values())


def test_a_tie_is_no_preference_in_formats_with_a_winner(tmp_path):
    run = made_run(tmp_path / "run", [clip("good", 0.9), clip("same", 0.9), clip("poor", 0.4)])
    rows = exported(tmp_path / "pairs", run, splits={"train": 1.0})
    assert Counter(row["label"] == "same" for row in rows) == {True: 1, False: 2}
    for name in ("unifiedreward", "hpdv3"):
        assert len(json.loads((tmp_path / "pairs" / name / LIGHT / "train.json").read_text())) == 2


def test_the_name_of_a_metric_cannot_leave_the_folder(tmp_path):
    metrics = [MadeMetric(name="../../escaped"), METRICS[2]]
    clips = [Clip(model=m, outcomes={"../../escaped": Score(v), GATE: Score(1.0)}) for m, v in (("a", 0.9), ("b", 0.1))]
    exported(tmp_path / "deep" / "pairs", made_run(tmp_path / "run", clips, metrics), metrics=("../../escaped",))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "run"]
    assert sorted(path.name for path in (tmp_path / "deep").iterdir()) == ["pairs"]
