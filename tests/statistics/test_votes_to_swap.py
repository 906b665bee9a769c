from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from lookaway.statistics.bradley_terry import (
    Strengths,
    Unconnected,
    bradley_terry,
    preference_model,
    vote_columns,
    vote_support,
    votes_to_swap,
)
from tests.statistics.test_bradley_terry import both_sides, simulated
from tests.statistics.test_win_ratio import votes_of


def swapped(votes, removed, better, worse, ties="davidson") -> bool:
    rows = np.setdiff1d(np.arange(len(votes)), removed)
    found = bradley_terry(votes.keep(rows), ties=ties)
    if not isinstance(found, Strengths):
        return False
    strength = dict(zip(found.models, (one.mean for one in found.strengths), strict=True))
    return strength[worse] > strength[better] + 1e-9


def fewest(votes, better, worse) -> int:
    for size in range(1, len(votes)):
        if any(swapped(votes, rows, better, worse) for rows in combinations(range(len(votes)), size)):
            return size
    raise AssertionError


def test_two_models_swap_when_the_loser_has_more_wins():
    votes = votes_of([("A", "B", "left", "1", "x")] * 6 + [("A", "B", "right", "2", "y")] * 3, "AB")
    found = votes_to_swap(votes, 1)
    assert (found.better, found.worse, sorted(found.removed.tolist())) == ("A", "B", [0, 1, 2, 3])
    assert found.share == pytest.approx(4 / 9)


@pytest.mark.parametrize("ties", ["davidson", "half"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_without_these_votes_the_two_have_changed_places_and_without_one_fewer_they_have_not(rank, ties):
    votes = simulated(7, [0.4, 0.2, -0.1, -0.5], 0.3, 0.4)
    found = votes_to_swap(votes, rank, ties=ties)
    assert swapped(votes, found.removed, found.better, found.worse, ties)
    assert not swapped(votes, found.removed[:-1], found.better, found.worse, ties)
    strengths = [one.mean for one in bradley_terry(votes, ties=ties).strengths]
    order = [votes.models[place] for place in np.argsort(strengths)[::-1]]
    assert (found.better, found.worse) == (order[rank - 1], order[rank])
    assert found.share == len(found.removed) / len(votes)


@pytest.mark.parametrize("seed", [1, 3])
def test_it_is_never_fewer_than_the_min_and_here_nearly_as_few(seed):
    votes = simulated(seed, [0.6, 0.0, -0.6], 0.0, 0.3, count=14, scenes=3)
    found = votes_to_swap(votes, 1)
    best = fewest(votes, found.better, found.worse)
    assert best <= len(found.removed) <= best + 1


@pytest.mark.parametrize(("wins", "losses", "needed"), [(42, 38, 5), (60, 20, 41), (3000, 1000, 2001)])
def test_a_clear_lead_hangs_on_more_votes_than_a_narrow_one(wins, losses, needed):
    rows = [("A", "B", "left", "1", "x")] * wins + [("A", "B", "right", "1", "x")] * losses
    assert len(votes_to_swap(votes_of(rows, "AB"), 1).removed) == needed


@pytest.mark.parametrize("ties", ["davidson", "half"])
def test_the_support_of_a_vote_is_what_the_lead_loses_without_it(ties):
    votes = simulated(7, [1.2, 0.2, -0.9], 0.6, 0.8, count=3000)
    model = preference_model(votes, ties=ties, ridge=1e-3)
    size = len(model.design) * 3
    counts = np.bincount(vote_columns(model, votes), minlength=size).astype(float)
    without = (counts - np.eye(size)).reshape(size, -1, 3)
    found, others = model.fit(counts.reshape(1, -1, 3))[0], model.fit(without)
    lost = (found[0] - found[1]) - (others[:, 0] - others[:, 1])
    support = vote_support(model, counts.reshape(-1, 3), found, 0, 1)
    assert support == pytest.approx(lost, rel=0.05, abs=2e-6)


def test_a_model_that_nobody_ever_voted_against_keeps_its_place():
    found = votes_to_swap(both_sides({"AB": 5}, models="AB"), 1)
    assert (found.removed, found.share) == (None, None)


def test_the_order_of_votes_does_not_matter_to_the_number():
    votes = simulated(7, [0.4, 0.2, -0.5], 0.3, 0.4)
    other = votes.keep(np.random.default_rng(1).permutation(len(votes)))
    assert len(votes_to_swap(other, 1).removed) == len(votes_to_swap(votes, 1).removed)


@pytest.mark.parametrize("rank", [0, 3])
def test_a_rank_without_a_neighbour_is_refused(rank):
    with pytest.raises(ValueError, match="from 1 to 2"):
        votes_to_swap(simulated(7, [0.4, 0.2, -0.5], 0.3, 0.4), rank)


def test_models_that_were_never_compared_have_no_ranks_to_swap():
    votes = votes_of([("A", "B", "left", "1", "x"), ("C", "D", "left", "2", "x")], "ABCD")
    assert votes_to_swap(votes, 1) == Unconnected(components=(("A", "B"), ("C", "D")))
