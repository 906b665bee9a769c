from __future__ import annotations

import json

import numpy as np

from lookaway.reports.table import print_table
from tests.support.chosen_run import STYLE, Clip, chosen_run, clips
from tests.support.hand_made import hand_made_run, scores


def printed(run, capsys, *, as_json: bool = False) -> str:
    print_table(run, run.table(), as_json=as_json)
    return capsys.readouterr().out


def test_a_mean_of_few_values_is_shown_with_its_mark_and_the_means_of_its_scenes(tmp_path, capsys):
    shown = printed(hand_made_run(tmp_path / "run", "mbench-a", {STYLE: scores("m", 0.2, 0.4, 0.9)}), capsys)
    assert "0.500‡" in shown
    assert "scenes 0.200 0.400 0.900" in shown
    assert "note: 1 of 1 cell has fewer than 5 scenes: their own means are shown" in shown
    assert "fewer than 20 scenes" not in shown
    assert shown.rstrip().endswith(
        "every rollout counts once; 95 % intervals over scenes; † imprecise, ‡ fewer than 10 values"
    )


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
