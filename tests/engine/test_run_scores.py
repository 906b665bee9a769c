from __future__ import annotations

from tests.support.chosen_run import STYLE
from tests.support.hand_made import hand_made_run, scores


def test_scores_are_rows_of_what_was_scored_and_nothing_else(tmp_path):
    outcomes = {STYLE: scores("m", 0.2, 0.9)}
    run = hand_made_run(tmp_path / "run", "mbench-a", outcomes)
    assert sorted((row["model"], row["metric"], row["value"]) for row in run.scores) == [
        ("m", STYLE, 0.2),
        ("m", STYLE, 0.9),
    ]
    assert {"case", "subset", "scene", "seed", "raw", "rollout"} < run.scores[0].keys()
