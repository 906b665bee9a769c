"""Mined pairs against all pairs, compared one by one."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from lookaway.core import Score
from lookaway.training.pairs.mining import MiningRules, within_share
from tests.training.pairs.made_runs import CLOSED, LIGHT, LOOK, OPEN, SMALLEST, UNKNOWN, Clip, clip, exported, made_run

MARGIN = 2.0
ALL = 10_000


def random_clips(seed: int) -> list[Clip]:
    random = np.random.default_rng(seed)
    return [
        clip(
            f"m{random.integers(3)}",
            UNKNOWN if random.random() < 0.1 else float(random.integers(11)) / 10,
            f"case{random.integers(4)}",
            [OPEN, OPEN, CLOSED, UNKNOWN][random.integers(4)],
            seed=str(number),
            outcomes={LOOK: Score(float(random.integers(11)) / 10)},
        )
        for number in range(40)
    ]


def value_of(one: Clip, metric: str = LIGHT) -> float | None:
    outcome = one.outcomes[metric]
    is_tested = one.outcomes["revisited"] == OPEN
    return outcome.value if isinstance(outcome, Score) and is_tested else None


def expected(clips: list[Clip]) -> dict[frozenset[str], str]:
    """The video that wins, or `same`, of every pair that should be there."""
    found = {}
    for one, other in itertools.combinations(clips, 2):
        values = value_of(one), value_of(other)
        if one.case != other.case or None in values:
            continue
        units = round((values[0] - values[1]) / SMALLEST)
        if abs(units) >= MARGIN or units == 0:
            winner = "same" if units == 0 else str((one if units > 0 else other).rollout.video)
            found[frozenset(str(side.rollout.video) for side in (one, other))] = winner
    return found


@pytest.mark.parametrize("seed", range(5))
def test_every_pair_that_should_be_there_is_there_and_no_other(seed, tmp_path):
    clips = random_clips(seed)
    rules = MiningRules(margin=MARGIN, per_case=ALL)
    rows = exported(tmp_path / "pairs", made_run(tmp_path / "run", clips), rules=rules)
    found = {
        frozenset((row["video_a"], row["video_b"])): {"A": row["video_a"], "B": row["video_b"]}.get(
            row["label"], "same"
        )
        for row in rows
    }
    assert len(found) == len(rows)
    assert found == expected(clips)


def test_fewer_pairs_of_a_case_are_some_of_all(tmp_path):
    clips = random_clips(0)
    run = made_run(tmp_path / "run", clips)
    few = exported(tmp_path / "few", run, rules=MiningRules(margin=MARGIN, per_case=3))
    every = exported(tmp_path / "all", run, rules=MiningRules(margin=MARGIN, per_case=ALL))
    assert {row["pair_id"] for row in few} < {row["pair_id"] for row in every}
    counts = Counter((row["item_id"], row["label"] == "same") for row in few)
    assert max(counts.values()) == 3


def test_a_combined_winner_is_worse_on_no_metric(tmp_path):
    clips = random_clips(1)
    rules = MiningRules(per_case=ALL)
    rows = exported(
        tmp_path / "pairs", made_run(tmp_path / "run", clips), metrics=(LIGHT, LOOK), combined=True, rules=rules
    )
    by_video = {str(one.rollout.video): one for one in clips}
    assert rows
    for row in rows:
        a, b = by_video[row["video_a"]], by_video[row["video_b"]]
        units = [round((value_of(a, name) - value_of(b, name)) / SMALLEST) for name in (LIGHT, LOOK)]
        if row["label"] == "same":
            assert units == [0, 0]
        else:
            sign = 1 if row["label"] == "A" else -1
            assert min(sign * unit for unit in units) >= 0
            assert row["margin"] == pytest.approx(abs(sum(units)) / 2)


@pytest.mark.parametrize("share", [0.2, 0.34, 0.5, 0.9])
def test_no_model_wins_more_than_a_share_and_one_pair_more_would_be_too_many(share):
    random = np.random.default_rng(0)
    winners, losers = random.integers(0, 5, 400) ** 2 // 4, random.integers(0, 5, 400)
    kept = within_share(winners, losers, share)
    assert kept[winners == losers].all()
    wins = np.bincount(winners[kept & (winners != losers)])
    most = wins.max(initial=0)
    assert most <= share * wins.sum()
    every = np.bincount(winners[winners != losers])
    assert most == every.max() or most + 1 > share * np.minimum(every, most + 1).sum()
