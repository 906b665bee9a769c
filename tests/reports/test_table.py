from __future__ import annotations

import json

import numpy as np
import pytest

from lookaway.calibration.card import CardSet
from lookaway.core import Abstention, Reason
from lookaway.reports.table import print_table
from tests.reports.site.simulated import KINDS, Simulated
from tests.support.chosen_run import STYLE, Clip, chosen_run, clips
from tests.support.hand_made import hand_made_run, scores

pytestmark = pytest.mark.usefixtures("tried_on_frozen", "as_published")

SIMULATED = "mbencht.environment.rendering_style"


@pytest.fixture
def as_published(monkeypatch):
    """Simulated metrics have public names and constants of their own."""
    monkeypatch.setattr("lookaway.reports.table.not_as_published", lambda run: {})


def printed(run, capsys, *, as_json: bool = False) -> str:
    print_table(run, run.table(), as_json=as_json)
    return capsys.readouterr().out


def test_a_mean_of_few_values_is_shown_with_its_mark_and_the_means_of_its_scenes(tmp_path, capsys):
    shown = printed(hand_made_run(tmp_path / "run", "mbench-a", {STYLE: scores("m", 0.2, 0.4, 0.9)}), capsys)
    assert "0.500‡" in shown
    assert "scenes 0.200 0.400 0.900" in shown
    assert "note: 1 of 1 cell has fewer than 5 scenes: the mean of each scene is shown" in shown
    assert "fewer than 20 scenes" not in shown
    assert shown.rstrip().endswith(
        "every rollout counts once; 95 % intervals over scenes; † imprecise, ‡ fewer than 10 values"
    )


@pytest.mark.parametrize("layout", ["rows", "models"])
def test_a_column_that_nobody_tried_on_a_frozen_video_is_unranked_in_every_layout(
    tmp_path, capsys, monkeypatch, layout
):
    monkeypatch.setattr(CardSet, "is_won_by_frozen", lambda cards, *hashes: None)
    run = hand_made_run(tmp_path / "run", "mbench-a", {STYLE: scores("m", 0.2, 0.4, 0.9)})
    print_table(run, run.table(), as_json=False, layout=layout)
    assert "(unranked)" in capsys.readouterr().out


def test_many_scenes_have_an_interval_inside_the_range_and_no_note(tmp_path, capsys):
    values = np.where(np.arange(60) % 12 == 0, 0.9, 1.0)
    shown = printed(hand_made_run(tmp_path / "run", "mbench-a", {STYLE: scores("m", *values)}), capsys)
    assert "note: 1 of" not in shown
    assert "‡" not in shown
    assert "[0.9" in shown


def test_json_says_what_is_noted_of_scenes(tmp_path, capsys):
    own = [
        Clip(metric=STYLE, case=f"c{n}", seed=str(n % 3), outcome=clip.outcome)
        for n, clip in enumerate(clips(STYLE, [0.5] * 21))
    ]
    told = json.loads(printed(chosen_run(tmp_path / "run", own), capsys, as_json=True))
    assert [note for note in told["notes"] if note.startswith("Every rollout of m has a scene of its own")]
    assert told["cells"][0]["effective"] == 21.0


def models_layout(run, capsys, monkeypatch, columns: int, **more) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(columns))
    print_table(run, run.table(), as_json=False, layout="models", **more)
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_a_line_for_each_model_has_the_best_marked(tmp_path, capsys, monkeypatch):
    run = Simulated(path=tmp_path / "run", skills={"poor": 0.3, "good": 0.8}, metrics=[SIMULATED]).write()
    lines = models_layout(run, capsys, monkeypatch, 80)[1:]
    assert [line.split()[0] for line in lines[1:3]] == ["good", "poor"]
    assert "*" in lines[1]
    assert "*" not in lines[2]
    assert lines[3].split() == ["n", "of", "N", "40", "of", "40"]


@pytest.mark.parametrize("columns", [40, 60, 200])
def test_no_block_is_wider_than_the_terminal(tmp_path, capsys, monkeypatch, columns):
    metrics = [f"mbencht.environment.{kind}" for kind in KINDS]
    skills = {"a model with a rather long name": 0.3, "good": 0.8}
    run = Simulated(path=tmp_path / "run", skills=skills, metrics=metrics, scenes=12).write()
    lines = models_layout(run, capsys, monkeypatch, columns)
    table = lines[: next(number for number, line in enumerate(lines) if line.startswith("* not significantly"))]
    assert max(map(len, table)) <= columns
    assert sum(line.startswith("n of N") for line in table) == len([line for line in table if line.startswith("good")])


def test_metrics_without_values_are_one_line_with_the_command_that_makes_them_run(tmp_path, capsys, monkeypatch):
    missing = Abstention(Reason.MISSING_WEIGHTS, "none. Fetch them with: lookaway weights fetch dinov2-base")
    run = Simulated(
        path=tmp_path / "run",
        skills={"a": 0.3, "b": 0.8},
        metrics=[SIMULATED, "mbencht.environment.object_texture"],
        decide=lambda model, number, metric: missing if "texture" in metric else None,
    ).write()
    lines = models_layout(run, capsys, monkeypatch, 80)
    assert "texture" not in lines[0]
    line = (
        "missing_weights: 80 of 80 values missing, object_texture. Download the weights. Run: lookaway weights fetch "
    )
    assert f"{line}dinov2-base" in " ".join(lines)


def test_a_control_stands_below_and_is_never_the_best(tmp_path, capsys, monkeypatch):
    run = Simulated(path=tmp_path / "run", skills={"still": 0.9, "a": 0.3, "b": 0.8}, metrics=[SIMULATED]).write()
    lines = models_layout(run, capsys, monkeypatch, 80, controls=["still"])[1:]
    assert [line.split()[0] for line in lines[1:4]] == ["b", "a", "still"]
    assert "*" not in lines[3]
