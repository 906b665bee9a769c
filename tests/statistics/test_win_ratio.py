from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from lookaway.statistics.bradley_terry import Unconnected, bradley_terry
from lookaway.statistics.win_ratio import Votes, pair_verdicts, win_ratios
from tests.statistics.test_scene_replicates import draws

WORDS = {"left": 1, "tie": 0, "right": -1}


def votes_of(rows, models="ABC") -> Votes:
    """From (left, right, verdict, pair, scene)."""
    left, right, verdicts, pairs, scenes = zip(*rows, strict=True)
    return Votes(
        models=tuple(models),
        left=np.array([models.index(name) for name in left]),
        right=np.array([models.index(name) for name in right]),
        verdicts=np.array([WORDS[word] for word in verdicts]),
        pairs=pairs,
        scenes=scenes,
    )


def flipped(votes: Votes, rows) -> Votes:
    """The same votes, some of them with the sides exchanged."""
    rows = np.asarray(rows)
    return Votes(
        models=votes.models,
        left=np.where(rows, votes.right, votes.left),
        right=np.where(rows, votes.left, votes.right),
        verdicts=np.where(rows, -votes.verdicts, votes.verdicts),
        pairs=votes.pairs,
        scenes=votes.scenes,
    )


FEW = votes_of(
    [
        ("A", "B", "left", "1", "x"),
        ("B", "A", "right", "1", "x"),
        ("A", "B", "tie", "1", "x"),
        ("A", "C", "right", "2", "y"),
        ("C", "A", "tie", "2", "y"),
        ("B", "C", "left", "3", "y"),
        ("B", "C", "right", "3", "y"),
    ]
)


def test_a_tie_is_half_a_win_for_both():
    a, b, c = win_ratios(FEW)
    assert [(one.wins, one.ties, one.losses) for one in (a, b, c)] == [(2, 2, 1), (1, 1, 3), (2, 1, 1)]
    assert [one.ratio.mean for one in (a, b, c)] == pytest.approx([3 / 5, 1.5 / 5, 2.5 / 4])
    assert [one.ties_excluded.mean for one in (a, b, c)] == pytest.approx([2 / 3, 1 / 4, 2 / 3])
    assert [one.tie_rate.mean for one in (a, b, c)] == pytest.approx([2 / 5, 1 / 5, 1 / 4])
    assert (a.ratio.scored, a.ties_excluded.scored, a.ratio.scenes) == (5, 3, 2)


def test_a_model_that_always_won_has_all_and_one_that_was_never_shown_nothing():
    a, b, c = win_ratios(votes_of([("A", "B", "left", "1", "x"), ("B", "A", "right", "2", "y")]))
    assert (a.ratio.mean, a.ties_excluded.mean, b.ratio.mean) == (1, 1, 0)
    assert (c.wins, c.ratio, c.ties_excluded, c.tie_rate) == (0, None, None, None)


def test_nothing_but_ties_has_a_ratio_of_a_half_and_none_without_ties():
    a, _, _ = win_ratios(votes_of([("A", "B", "tie", "1", "x")] * 3))
    assert (a.ratio.mean, a.ties_excluded, a.tie_rate.mean) == (0.5, None, 1)


def test_a_majority_throws_pairs_away_and_exaggerates_what_is_left():
    for wins, ties, losses, lost, before, after in [(4, 3, 3, 0.43, 0.57, 0.62), (5, 3, 2, 0.40, 0.71, 0.83)]:
        kinds = ["left"] * wins + ["tie"] * ties + ["right"] * losses
        rows = [
            ("A", "B", word, f"{number}", "x")
            for number, three in enumerate(product(kinds, repeat=3))
            for word in three
        ]
        votes = votes_of(rows, "AB")
        found = pair_verdicts(votes)
        majority_a = sum(three.count("left") >= 2 for three in product(kinds, repeat=3))
        assert found.pairs == 1000
        assert (found.tied + found.split) / found.pairs == pytest.approx(lost, abs=0.005)
        assert win_ratios(votes)[0].ties_excluded.mean == pytest.approx(before, abs=0.005)
        assert majority_a / found.decided == pytest.approx(after, abs=0.005)
        assert found.tie_rate.mean == found.tied / 1000
        assert found.split_rate.mean == found.split / 1000


def test_pairs_are_decided_tied_or_split_by_more_than_half_of_their_people():
    found = pair_verdicts(FEW)
    assert (found.pairs, found.decided, found.tied, found.split) == (3, 1, 0, 2)
    assert found.split_rate.mean == pytest.approx(2 / 3)
    assert (found.split_rate.scored, found.split_rate.scenes) == (3, 2)


def test_a_pair_with_one_vote_has_no_majority_to_speak_of():
    found = pair_verdicts(votes_of([("A", "B", "left", "1", "x")]))
    assert (found.pairs, found.tie_rate, found.split_rate, found.ceiling) == (0, None, None, None)


def test_the_ceiling_is_how_often_a_person_says_what_the_others_say():
    rows = [("A", "B", word, "1", "x") for word in ("left", "left", "tie")]
    rows += [("A", "B", word, "2", "y") for word in ("right", "right", "right")]
    found = pair_verdicts(votes_of(rows))
    # Of pair 1, only who said tie has two others who agree; of pair 2, all three do.
    assert (found.ceiling.mean, found.ceiling.scored) == (0.75, 4)


@pytest.mark.parametrize("rows", [[True] * 7, [True, False, True, False, False, True, False]])
def test_which_side_was_left_does_not_matter(rows):
    assert win_ratios(flipped(FEW, rows)) == win_ratios(FEW)
    assert pair_verdicts(flipped(FEW, rows)) == pair_verdicts(FEW)


def test_the_order_of_votes_and_models_does_not_matter():
    order = np.array([6, 2, 0, 5, 1, 4, 3])
    assert win_ratios(FEW.keep(order)) == win_ratios(FEW)
    assert pair_verdicts(FEW.keep(order)) == pair_verdicts(FEW)
    place = {"C": 0, "A": 1, "B": 2}
    codes = np.array([place[name] for name in FEW.models])
    other = Votes(
        models=("C", "A", "B"),
        left=codes[FEW.left],
        right=codes[FEW.right],
        verdicts=FEW.verdicts,
        pairs=FEW.pairs,
        scenes=FEW.scenes,
    )
    assert sorted(win_ratios(other), key=lambda one: one.model) == list(win_ratios(FEW))
    assert pair_verdicts(other) == pair_verdicts(FEW)


def test_intervals_are_of_scenes():
    rng = np.random.default_rng(1)
    rows = [
        ("A", "B", ("left", "left", "tie", "right")[rng.integers(4)], f"{number}", f"{number % 20:02d}")
        for number in range(200)
    ] * 3
    votes = votes_of(rows, "AB")
    one = win_ratios(votes, draws(20, 500))[0]
    for found in (one.ratio, one.ties_excluded, one.tie_rate):
        assert found.low < found.mean < found.high
        assert found.scenes == 20
    verdicts = pair_verdicts(votes, draws(20, 500))
    assert verdicts.tie_rate.low < verdicts.tie_rate.mean < verdicts.tie_rate.high
    assert win_ratios(FEW, np.array([[1.0, 1.0], [2.0, 0.0]] * 4))[0].ratio.low is None


def test_no_votes_say_nothing():
    none = np.zeros(0, np.int64)
    nothing = Votes(models=("A", "B"), verdicts=none, left=none, right=none, pairs=[], scenes=[])
    assert [one.ratio for one in win_ratios(nothing)] == [None, None]
    assert (pair_verdicts(nothing).pairs, pair_verdicts(nothing).ceiling) == (0, None)
    assert bradley_terry(nothing) == Unconnected(components=(("A",), ("B",)))


def test_votes_that_cannot_be_are_refused():
    none = np.zeros(0, np.int64)
    with pytest.raises(ValueError, match="two different ones"):
        votes_of([("A", "A", "left", "1", "x")])
    with pytest.raises(ValueError, match="same two models"):
        pair_verdicts(votes_of([("A", "B", "left", "1", "x"), ("A", "C", "left", "1", "x")]))
    with pytest.raises(ValueError, match="same scene"):
        pair_verdicts(votes_of([("A", "B", "left", "1", "x"), ("A", "B", "left", "1", "y")]))
    good = {"models": ("A", "B"), "left": np.array([0]), "right": np.array([1]), "pairs": ["1"], "scenes": ["x"]}
    with pytest.raises(ValueError, match="A verdict must be"):
        Votes(verdicts=np.array([2]), **good)
    with pytest.raises(ValueError, match="one length"):
        Votes(verdicts=np.array([1, 1]), **good)
    with pytest.raises(ValueError, match="different names"):
        Votes(verdicts=np.array([1]), **{**good, "models": ("A", "A")})
    with pytest.raises(ValueError, match="two or more models"):
        Votes(models=("A",), verdicts=none, left=none, right=none, pairs=[], scenes=[])
    with pytest.raises(ValueError, match="of the 2 models"):
        Votes(verdicts=np.array([1]), **{**good, "right": np.array([2])})
