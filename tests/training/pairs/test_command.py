"""`lookaway pairs`."""

from __future__ import annotations

import pytest

from tests.support.command import lookaway
from tests.training.pairs.made_runs import clip, made_run, sound_clips

CHOSEN = ("--metrics", "light", "--smallest-difference", "light=0.1", "--without-dataset")


def test_the_command_counts_labels_by_axis_and_split(tmp_path):
    run = made_run(tmp_path / "run", sound_clips())
    done = lookaway("pairs", run, "-o", tmp_path / "pairs", *CHOSEN, "--licence", "MIT", "--splits", "all=1")
    assert done.code == 0
    assert done.out.splitlines()[0].split() == ["axis", "split", "A", "B", "same"]
    assert done.out.splitlines()[1].split() == ["light", "all", "18", "18", "0"]
    assert "36 pairs, 36 preferences" in done.out
    assert "licence" not in done.err


def test_a_model_that_wins_everything_and_a_missing_licence_are_noted(tmp_path):
    run = made_run(tmp_path / "run", [clip("good", 0.9), clip("poor", 0.1)])
    done = lookaway("pairs", run, "-o", tmp_path / "pairs", *CHOSEN)
    assert "good wins 1 of 1 pairs between models" in done.err
    assert "licence of the videos is not stated" in done.err


@pytest.mark.parametrize(
    "wrong",
    [
        ("--margin", "0.5"),
        ("--max-wins", "2"),
        ("--per-case", "0"),
        ("--smallest-difference", "light=much"),
        ("--format", "pickle"),
        ("--splits", "train=2"),
    ],
)
def test_a_wrong_option_is_refused_and_nothing_is_written(wrong, tmp_path):
    run = made_run(tmp_path / "run", sound_clips(1))
    done = lookaway("pairs", run, "-o", tmp_path / "pairs", *CHOSEN, *wrong)
    assert done.code == 2
    assert not (tmp_path / "pairs").exists()
