from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from lookaway.statistics.bradley_terry import Strengths, Unconnected, bradley_terry
from lookaway.statistics.win_ratio import Votes
from tests.statistics.test_scene_replicates import draws
from tests.statistics.test_win_ratio import flipped, votes_of

WINS = {"AB": 5, "BA": 3, "BC": 6, "CB": 2, "AC": 4, "CD": 5, "DC": 3, "DA": 2, "AD": 1}
"""First beat second so many times."""


def both_sides(wins: dict[str, int], ties: dict[str, int] | None = None, models="ABCD") -> Votes:
    """Every vote once on each side: no side has an advantage."""
    rows = []
    for (one, other), count in wins.items():
        rows += [(one, other, "left", "p", "x"), (other, one, "right", "p", "x")] * count
    for (one, other), count in (ties or {}).items():
        rows += [(one, other, "tie", "p", "x"), (other, one, "tie", "p", "x")] * count
    return votes_of(rows, models)


def simulated(seed: int, strengths, bias: float, nu: float, count: int = 400, scenes: int = 20) -> Votes:
    rng = np.random.default_rng(seed)
    size = len(strengths)
    left = rng.integers(0, size, count)
    right = (left + rng.integers(1, size, count)) % size
    lead = np.asarray(strengths)[left] - np.asarray(strengths)[right] + bias
    weights = np.stack([np.exp(lead / 2), np.full(count, nu), np.exp(-lead / 2)])
    bounds = np.cumsum(weights / weights.sum(axis=0), axis=0)
    verdicts = 1 - (rng.random(count) > bounds).sum(axis=0)
    return Votes(
        models=tuple("ABCDEFGH"[:size]),
        left=left,
        right=right,
        verdicts=verdicts,
        pairs=[str(number) for number in range(count)],
        scenes=[f"{number:03d}" for number in rng.integers(0, scenes, count)],
    )


def means(found: Strengths) -> list[float]:
    return [one.mean for one in found.strengths]


def naive(votes: Votes, ties: str, ridge: float) -> np.ndarray:
    """The likelihood vote by vote, as Davidson writes it, with pi = exp(strength)."""
    size = len(votes.models)

    def loss(x):
        total = ridge / 2 * np.sum(x**2) if ties == "davidson" else ridge / 2 * np.sum(x[:-1] ** 2)
        for left, right, verdict in zip(votes.left, votes.right, votes.verdicts, strict=True):
            one, other = math.exp(x[left] + x[size]), math.exp(x[right])
            between = math.exp(x[size + 1]) * math.sqrt(one * other) if ties == "davidson" else 0.0
            chances = {1: one, 0: between, -1: other}
            if ties == "half" and verdict == 0:
                total -= (math.log(one) + math.log(other)) / 2
            else:
                total -= math.log(chances[int(verdict)])
            total += math.log(one + other + between)
        return total

    return minimize(loss, np.zeros(size + 2), method="BFGS", options={"gtol": 1e-7}).x


@pytest.mark.parametrize("ties", ["davidson", "half"])
def test_two_models_are_apart_by_the_log_odds_of_their_wins(ties):
    votes = both_sides({"AB": 30, "BA": 10}, models="AB")
    found = bradley_terry(votes, ties=ties, ridge=1e-9)
    assert means(found) == pytest.approx([math.log(3) / 2, -math.log(3) / 2])
    assert found.left_bias.mean == pytest.approx(0, abs=1e-9)
    assert (found.tie_weight, found.separated) == (None, ())


def test_ties_of_two_models_have_davidsons_closed_form():
    votes = both_sides({"AB": 30, "BA": 10}, {"AB": 20}, models="AB")
    found = bradley_terry(votes, ridge=1e-9)
    assert means(found)[0] - means(found)[1] == pytest.approx(math.log(3))
    assert found.tie_weight.mean == pytest.approx(20 / math.sqrt(30 * 10))
    half = bradley_terry(votes, ties="half", ridge=1e-9)
    assert means(half)[0] - means(half)[1] == pytest.approx(math.log(40 / 20))
    assert half.tie_weight is None


def test_the_advantage_of_the_left_side_has_its_closed_form():
    rows = [("A", "B", "left", "p", "x")] * 40 + [("A", "B", "right", "p", "x")] * 10
    rows += [("B", "A", "left", "p", "x")] * 20 + [("B", "A", "right", "p", "x")] * 20
    found = bradley_terry(votes_of(rows, "AB"), ridge=1e-9)
    assert found.left_bias.mean == pytest.approx(math.log(4) / 2)
    assert means(found)[0] - means(found)[1] == pytest.approx(math.log(4) / 2)


def test_strengths_are_what_the_reference_gives():
    found = bradley_terry(both_sides(WINS), ridge=1e-10)
    # choix 0.4.1, ilsr_pairwise(4, data, alpha=0)
    assert means(found) == pytest.approx([0.66263174, 0.32786958, -0.55742232, -0.43307901], abs=1e-8)


def test_strengths_agree_with_choix():
    choix = pytest.importorskip("choix", reason="choix, which is compared with, is not installed")
    once = [("ABCD".index(a), "ABCD".index(b)) for (a, b), count in WINS.items() for _ in range(count)]
    theirs = choix.ilsr_pairwise(4, once, alpha=0, tol=1e-14, max_iter=10_000)
    assert means(bradley_terry(both_sides(WINS), ridge=1e-11)) == pytest.approx(theirs, abs=1e-8)
    theirs = choix.opt_pairwise(4, once * 2, alpha=0.05, tol=1e-13)
    assert means(bradley_terry(both_sides(WINS), ridge=0.1)) == pytest.approx(theirs, abs=1e-8)


def test_strengths_with_a_side_agree_with_a_logistic_regression():
    linear = pytest.importorskip(
        "sklearn.linear_model", reason="scikit-learn, which is compared with, is not installed"
    )
    votes = simulated(3, [0.8, 0.2, -0.3, -0.7], 0.4, 0.0)
    design = np.zeros((len(votes), 5))
    design[np.arange(len(votes)), votes.left] = 1
    design[np.arange(len(votes)), votes.right] = -1
    design[:, 4] = 1
    other = linear.LogisticRegression(C=2.0, fit_intercept=False, solver="newton-cholesky", tol=1e-14, max_iter=1000)
    theirs = other.fit(design, votes.verdicts == 1).coef_[0]
    ours = bradley_terry(votes, ridge=0.5)
    assert [*means(ours), ours.left_bias.mean] == pytest.approx(theirs.tolist(), abs=1e-8)


@pytest.mark.parametrize("ties", ["davidson", "half"])
def test_strengths_maximise_the_likelihood_written_out_vote_by_vote(ties):
    votes = simulated(5, [0.6, 0.0, -0.6], 0.5, 0.7, count=90)
    found, other = bradley_terry(votes, ties=ties, ridge=1e-7), naive(votes, ties, 1e-7)
    assert means(found) == pytest.approx((other[:3] - other[:3].mean()).tolist(), abs=2e-5)
    assert found.left_bias.mean == pytest.approx(other[3], abs=2e-5)
    if ties == "davidson":
        assert found.tie_weight.mean == pytest.approx(math.exp(other[4]), abs=2e-5)


def test_what_the_votes_were_made_from_is_found_again():
    truth = [0.9, 0.3, -0.4, -0.8]
    found = bradley_terry(simulated(1, truth, 0.3, 0.6, count=60_000))
    assert means(found) == pytest.approx(truth, abs=0.03)
    assert found.left_bias.mean == pytest.approx(0.3, abs=0.03)
    assert found.tie_weight.mean == pytest.approx(0.6, abs=0.03)
    assert sum(means(found)) == pytest.approx(0, abs=1e-9)


def test_models_that_were_never_compared_have_no_strengths_but_names():
    found = bradley_terry(votes_of([("A", "B", "left", "1", "x"), ("D", "C", "tie", "2", "x")], "ABCDE"))
    assert found == Unconnected(components=(("A", "B"), ("C", "D"), ("E",)))


def test_a_model_that_never_lost_is_finite_and_said_to_be_apart():
    wins = {"AB": 5, "AC": 5, "BC": 3, "CB": 4}
    found = bradley_terry(both_sides(wins, models="ABC"))
    assert found.separated == (("A",), ("B", "C"))
    assert 5 < means(found)[0] < 12
    weaker = bradley_terry(both_sides(wins, models="ABC"), ridge=0.1)
    assert means(weaker)[0] < means(found)[0]
    assert bradley_terry(both_sides(wins, {"AB": 1}, "ABC")).separated == ()


def test_groups_that_are_apart_are_named_from_the_strongest_whatever_their_size():
    wins = {
        "AB": 1,
        "BC": 2,
        "CB": 2,
        **{f"{one}{other}": 50 for one in "BC" for other in "DEF"},
        "DE": 1,
        "EF": 1,
        "FD": 1,
    }
    found = bradley_terry(both_sides(wins, models="ABCDEF"), ridge=0.1)
    assert means(found)[0] < 4 * means(found)[1]
    assert found.separated == (("A",), ("B", "C"), ("D", "E", "F"))


def test_a_side_that_goes_with_the_model_cannot_be_told_from_it():
    rows = [("A", "B", "left", "1", "x")] * 3 + [("A", "B", "right", "1", "y")]
    found = bradley_terry(votes_of(rows, "AB"), ridge=1e-9)
    assert found.left_bias is None
    assert means(found)[0] - means(found)[1] == pytest.approx(math.log(3))


@pytest.mark.parametrize("ties", ["davidson", "half"])
def test_nothing_but_ties_makes_all_equal(ties):
    found = bradley_terry(both_sides({}, {"AB": 5, "BC": 2}, "ABC"), ties=ties)
    assert means(found) == pytest.approx([0, 0, 0], abs=1e-9)


@pytest.mark.parametrize("ties", ["davidson", "half"])
def test_exchanging_all_sides_turns_the_advantage_around_and_nothing_else(ties):
    votes = simulated(2, [0.5, 0.1, -0.6], 0.7, 0.5)
    plain, other = (bradley_terry(one, ties=ties) for one in (votes, flipped(votes, np.ones(len(votes), bool))))
    assert means(other) == pytest.approx(means(plain), abs=1e-9)
    assert other.left_bias.mean == pytest.approx(-plain.left_bias.mean, abs=1e-9)
    if ties == "davidson":
        assert other.tie_weight.mean == pytest.approx(plain.tie_weight.mean, abs=1e-9)


def test_the_order_of_votes_and_models_does_not_matter():
    votes = simulated(2, [0.5, 0.1, -0.6], 0.7, 0.5)
    plain = bradley_terry(votes)
    shuffled = bradley_terry(votes.keep(np.random.default_rng(0).permutation(len(votes))))
    assert means(shuffled) == pytest.approx(means(plain), abs=1e-9)
    places = np.array([2, 0, 1])
    renamed = Votes(
        models=("B", "C", "A"),
        left=places[votes.left],
        right=places[votes.right],
        verdicts=votes.verdicts,
        pairs=votes.pairs,
        scenes=votes.scenes,
    )
    again = dict(zip(renamed.models, means(bradley_terry(renamed)), strict=True))
    assert [again[name] for name in "ABC"] == pytest.approx(means(plain), abs=1e-9)


@pytest.mark.parametrize("ties", ["davidson", "half"])
def test_a_replicate_is_the_fit_of_its_scenes(ties):
    votes = simulated(4, [0.5, 0.1, -0.6], 0.4, 0.5, scenes=4)
    weights = np.array([[2.0, 0, 1, 1], [1, 1, 1, 1], [0, 3, 1, 0]])
    found = bradley_terry(votes, ties=ties, weights=weights)
    scene = np.array([int(name) for name in votes.scenes])
    for row, drawn in zip(weights, found.replicates, strict=True):
        rows = np.repeat(np.arange(len(votes)), row[scene].astype(int))
        assert drawn == pytest.approx(means(bradley_terry(votes.keep(rows), ties=ties)), abs=1e-9)


def test_intervals_are_of_scenes_and_hold_the_estimate():
    votes = simulated(4, [0.5, 0.1, -0.6], 0.4, 0.5)
    found = bradley_terry(votes, weights=draws(20, 300))
    for one in (*found.strengths, found.left_bias, found.tie_weight):
        assert one.low < one.mean < one.high
        assert (one.scored, one.scenes) == (400, 20)
    assert found.replicates.shape == (300, 3)
    assert bradley_terry(votes).strengths[0].low is None


def test_one_sided_votes_settle_however_lopsided():
    wins = {"AB": 10_000, "BC": 1, "CD": 10_000, "DA": 1}
    found = bradley_terry(both_sides(wins), ridge=1e-3)
    assert np.isfinite(means(found)).all()
    chain = {f"{a}{b}": 500 for a, b in zip("ABCDEFG", "BCDEFGH", strict=True)}
    far = bradley_terry(both_sides(chain, models="ABCDEFGH"), ridge=1e-6)
    assert means(far) == sorted(means(far), reverse=True)
    assert len(far.separated) == 8
