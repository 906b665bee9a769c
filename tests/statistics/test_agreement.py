from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from lookaway.statistics.agreement import Ratings, agreement, credit_matrix, encode_ratings
from tests.statistics.test_scene_replicates import draws

ABSENT = -1
KRIPPENDORFF = (
    np.array(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
            [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
        ]
    ).T
    - 1
)
"""The worked example of Krippendorff (2011): four observers, twelve units, answers missing."""
PAIR = np.array([[0, 0, 1, 1, 2, 2, 2, 0, 1, 2, 1, 0], [0, 1, 1, 1, 2, 1, 2, 0, 0, 2, 2, 2]]).T
CREDITS = (None, "linear", "quadratic")


def table(codes, categories: int = 5) -> Ratings:
    return Ratings(
        codes=np.asarray(codes),
        categories=tuple("abcdefg"[:categories]),
        scenes=[f"{row:04d}" for row in range(len(codes))],
    )


def found(codes, categories: int = 5, **options):
    return agreement(table(codes, categories), seed=1, **{"shuffles": 3, **options})


def noisy(seed: int, items: int = 60, raters: int = 4, categories: int = 4, missing: float = 0.1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, categories, (items, 1))
    codes = np.where(rng.random((items, raters)) < 0.6, truth, rng.integers(0, categories, (items, raters)))
    return np.where(rng.random((items, raters)) < missing, ABSENT, codes)


def test_a_lopsided_table_has_high_raw_agreement_and_no_kappa():
    codes = [[1, 1]] * 90 + [[1, 0]] * 5 + [[0, 1]] * 5
    result = found(codes, 2)
    assert result.raw.estimate.mean == pytest.approx(0.9)
    assert result.kappa.estimate.mean == pytest.approx(-1 / 19)
    assert result.alpha.estimate.mean == pytest.approx(1 - 199 * 20 / (2 * 10 * 190))
    assert result.ac1.estimate.mean == pytest.approx((0.9 - 0.095) / (1 - 0.095))
    assert result.specific["b"].estimate.mean == pytest.approx(180 / 190)
    assert result.specific["a"].estimate.mean == 0
    assert (result.items, result.raters, result.ac2, result.weighted_kappa) == (100, 2, None, None)


@pytest.mark.parametrize(("yes", "ac1"), [(0.5, 0.00), (0.8, 0.53), (0.95, 0.90)])
def test_raters_who_answer_at_random_have_an_ac1_that_grows_with_their_habit_and_no_alpha(yes, ac1):
    codes = (np.random.default_rng(5).random((20_000, 3)) < yes).astype(int)
    result = found(codes, 2, shuffles=1)
    exact = (1 - 4 * yes * (1 - yes)) / (1 - 2 * yes * (1 - yes))
    assert exact == pytest.approx(ac1, abs=0.005)
    assert result.ac1.estimate.mean == pytest.approx(exact, abs=0.01)
    assert result.ac1.by_chance == pytest.approx(exact, abs=0.01)
    assert result.alpha.estimate.mean == pytest.approx(0, abs=0.01)
    assert result.alpha.by_chance == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
def test_alpha_is_what_krippendorff_printed(scale):
    printed = {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849}
    # krippendorff 0.9.0
    exact = {"nominal": 0.743421052631579, "ordinal": 0.8153875037548814, "interval": 0.8491071428571428}
    alpha = found(KRIPPENDORFF, scale=scale).alpha.estimate.mean
    assert alpha == pytest.approx(printed[scale], abs=5e-4)
    assert alpha == pytest.approx(exact[scale], abs=1e-12)


def test_gwet_is_what_the_reference_gives():
    # irrCAC 0.4.4
    assert found(KRIPPENDORFF).ac1.estimate.mean == pytest.approx(0.775444068127, abs=1e-11)
    assert found(KRIPPENDORFF).raw.estimate.mean == pytest.approx(0.81818181818182, abs=1e-12)
    assert found(KRIPPENDORFF, credit="linear").ac2.estimate.mean == pytest.approx(0.85873913643261, abs=1e-12)
    assert found(KRIPPENDORFF, credit="quadratic").ac2.estimate.mean == pytest.approx(0.9140007235516, abs=1e-12)


@pytest.mark.parametrize(("credit", "value"), [(None, 0.375), ("linear", 0.4375), ("quadratic", 0.5)])
def test_kappa_is_what_the_reference_gives(credit, value):
    # scikit-learn 1.9.1, cohen_kappa_score(labels=[0, 1, 2])
    result = found(PAIR, 3, credit=credit)
    assert (result.weighted_kappa if credit else result.kappa).estimate.mean == pytest.approx(value, abs=1e-12)
    assert result.kappa.estimate.mean == pytest.approx(0.375)


@pytest.mark.parametrize("seed", range(4))
def test_gwet_agrees_with_irrcac(seed):
    raw = pytest.importorskip("irrCAC.raw", reason="irrCAC, which is compared with, is not installed")
    pandas = pytest.importorskip("pandas", reason="pandas, which irrCAC needs, is not installed")
    codes = noisy(seed)
    rated = codes[np.any(codes != ABSENT, axis=1)]
    frame = pandas.DataFrame(np.where(rated == ABSENT, np.nan, rated + 1.0))
    for credit in CREDITS:
        other = raw.CAC(frame, weights=credit or "identity", categories=[1.0, 2.0, 3.0, 4.0, 5.0], digits=14)
        theirs = other.gwet()["est"]
        ours = found(rated, credit=credit)
        coefficient = ours.ac2 if credit else ours.ac1
        assert coefficient.estimate.mean == pytest.approx(theirs["coefficient_value"], abs=1e-8)
    assert ours.raw.estimate.mean == pytest.approx(
        raw.CAC(frame, weights="identity", categories=[1.0, 2.0, 3.0, 4.0, 5.0], digits=14).gwet()["est"]["pa"],
        abs=1e-8,
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
def test_alpha_agrees_with_krippendorff(scale, seed):
    krippendorff = pytest.importorskip("krippendorff", reason="krippendorff, which is compared with, is not installed")
    codes = noisy(seed, missing=0.3)
    theirs = krippendorff.alpha(
        np.where(codes == ABSENT, np.nan, codes).T, level_of_measurement=scale, value_domain=[0, 1, 2, 3, 4]
    )
    assert found(codes, scale=scale).alpha.estimate.mean == pytest.approx(theirs, abs=1e-8)


@pytest.mark.parametrize("credit", CREDITS)
def test_kappa_agrees_with_scikit_learn(credit):
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn, which is compared with, is not installed")
    codes = noisy(3, raters=2, missing=0)
    theirs = metrics.cohen_kappa_score(codes[:, 0], codes[:, 1], labels=range(5), weights=credit)
    ours = found(codes, credit=credit)
    assert (ours.weighted_kappa if credit else ours.kappa).estimate.mean == pytest.approx(theirs, abs=1e-8)


def test_percent_and_specific_agreement_count_pairs_of_raters():
    codes = noisy(9)
    same, pairs, said, said_by_both = [], [], 0, 0
    for row in codes:
        given = [code for code in row if code != ABSENT]
        both = list(combinations(given, 2))
        if both:
            same.append(sum(one == other for one, other in both) / len(both))
        pairs += both
    for one, other in pairs:
        said += [one, other].count(2)
        said_by_both += 2 * int(one == other == 2)
    result = found(codes)
    assert result.raw.estimate.mean == pytest.approx(np.mean(same))
    assert result.specific["c"].estimate.mean == pytest.approx(said_by_both / said)


def test_declaring_an_answer_that_nobody_gave_lifts_ac1_and_leaves_alpha():
    codes = noisy(2, items=200, categories=2)
    two, three = found(codes, 2), found(codes, 3)
    assert three.ac1.estimate.mean > two.ac1.estimate.mean + 0.03
    assert three.alpha.estimate.mean == pytest.approx(two.alpha.estimate.mean)
    assert three.specific["c"] is None


def coefficients(result) -> list[float]:
    shown = (result.raw, result.ac1, result.ac2, result.alpha, result.kappa, result.weighted_kappa)
    return [one.estimate.mean for one in shown if one]


@pytest.mark.parametrize("raters", [2, 4])
def test_neither_the_order_of_raters_nor_that_of_items_matters(raters):
    codes = noisy(4, raters=raters)
    rng = np.random.default_rng(0)
    other = rng.permutation(rng.permutation(codes, axis=0), axis=1)
    options = {"scale": "ordinal", "credit": "quadratic"}
    assert coefficients(found(other, **options)) == pytest.approx(coefficients(found(codes, **options)), abs=1e-12)


def test_names_of_answers_do_not_matter_to_nominal_coefficients_but_their_order_does_to_ordinal_ones():
    codes = noisy(4, raters=2, categories=4)
    renamed = np.where(codes == ABSENT, ABSENT, np.array([2, 0, 3, 1, 4])[codes])
    plain, other = found(codes), found(renamed)
    assert coefficients(other) == pytest.approx(coefficients(plain), abs=1e-12)
    assert other.specific["c"].estimate.mean == pytest.approx(plain.specific["a"].estimate.mean)
    ordered = {"scale": "ordinal", "credit": "linear"}
    backwards = np.where(codes == ABSENT, ABSENT, 4 - codes)
    assert coefficients(found(backwards, **ordered)) == pytest.approx(coefficients(found(codes, **ordered)), abs=1e-12)
    assert found(renamed, **ordered).ac2.estimate.mean != pytest.approx(found(codes, **ordered).ac2.estimate.mean)


def test_the_same_items_twice_agree_as_much_but_for_alpha_which_knows_that_samples_are_small():
    codes = noisy(4)
    once, twice = found(codes), found(np.concatenate([codes, codes]))
    assert coefficients(twice)[:2] == pytest.approx(coefficients(once)[:2])
    assert twice.alpha.estimate.mean == pytest.approx(once.alpha.estimate.mean, abs=0.01)


def test_credit_that_is_given_as_a_matrix_is_that_credit():
    codes = noisy(6, raters=2)
    named, given = (found(codes, credit=credit) for credit in ("linear", credit_matrix("linear", 5)))
    assert given == named
    assert found(codes, credit=np.eye(5)).ac2.estimate.mean == pytest.approx(found(codes).ac1.estimate.mean)


def test_perfect_agreement_is_one_everywhere():
    result = found(np.arange(20)[:, None].repeat(3, axis=1) % 3, 3, scale="ordinal", credit="linear")
    assert coefficients(result) == pytest.approx([1, 1, 1, 1])
    assert [one.estimate.mean for one in result.specific.values()] == [1, 1, 1]
    assert result.alpha.by_chance < 0.3


def test_where_only_one_answer_was_given_alpha_and_kappa_say_nothing():
    result = found(np.zeros((10, 2), int), 2)
    assert (result.alpha, result.kappa, result.specific["b"]) == (None, None, None)
    assert (result.raw.estimate.mean, result.ac1.estimate.mean) == (1, 1)
    assert not result.is_reliable(0.5)


def test_items_that_nobody_rated_twice_say_nothing():
    result = found([[0, ABSENT], [ABSENT, 1], [ABSENT, ABSENT]], 2)
    assert (result.items, result.raw, result.ac1, result.alpha, result.kappa) == (0, None, None, None, None)


def test_no_items_say_nothing():
    result = found(np.zeros((0, 3), int), 2, scale="ordinal", credit="linear")
    assert (result.items, result.raw, result.ac1, result.ac2, result.alpha) == (0, None, None, None, None)
    assert agreement(encode_ratings([], ["no", "yes"]), seed=1, shuffles=2).raw is None


def test_items_that_nobody_rated_do_not_count():
    codes = noisy(4)
    more = np.concatenate([codes, np.full((7, 4), ABSENT)])
    assert coefficients(found(more)) == pytest.approx(coefficients(found(codes)), abs=1e-12)


def test_intervals_are_of_scenes_and_hold_the_estimate():
    codes = noisy(4, items=120, missing=0.05)
    scenes = [f"{row // 4:02d}" for row in range(120)]
    ratings = Ratings(codes=codes, categories=tuple("abcd"), scenes=scenes)
    result = agreement(ratings, seed=1, scale="ordinal", credit="linear", weights=draws(30, 400), shuffles=3)
    for one in (result.raw, result.ac1, result.ac2, result.alpha, *result.specific.values()):
        assert one.estimate.low < one.estimate.mean < one.estimate.high
        assert (one.estimate.scored, one.estimate.scenes) == (120, 30)
    assert (result.replicates, result.seed, result.shuffles) == (400, 1, 3)
    lows = sorted((result.alpha.estimate.low, result.ac1.estimate.low))
    assert result.is_reliable(lows[0])
    assert not result.is_reliable((lows[0] + lows[1]) / 2)


def test_one_replicate_is_the_coefficient_of_its_scenes():
    codes = noisy(8, items=40, raters=2, missing=0)
    scenes = [f"{row // 8}" for row in range(40)]
    ratings = Ratings(codes=codes, categories=tuple("abcd"), scenes=scenes)
    weights = np.repeat([[2.0, 0, 1, 1, 1], [0.0, 0, 3, 1, 1]], 50, axis=0)
    drawn = agreement(ratings, seed=1, scale="ordinal", credit="linear", weights=weights, shuffles=1)
    direct = [
        found(codes[rows], 4, scale="ordinal", credit="linear")
        for rows in (np.r_[0:8, 0:8, 16:40], np.r_[16:24, 16:24, 16:40])
    ]
    for name in ("raw", "ac1", "ac2", "alpha", "kappa", "weighted_kappa"):
        low, high = sorted(getattr(one, name).estimate.mean for one in direct)
        estimate = getattr(drawn, name).estimate
        assert (estimate.low, estimate.high) == (pytest.approx(low), pytest.approx(high))


def test_the_chance_value_comes_from_the_seed_and_keeps_what_is_missing():
    codes = noisy(4)
    assert found(codes, shuffles=5) == found(codes, shuffles=5)
    other = agreement(table(codes), seed=2, shuffles=5)
    assert other.raw.by_chance != found(codes, shuffles=5).raw.by_chance
    sparse = np.full((30, 2), ABSENT)
    sparse[:10] = 1
    assert found(sparse, 2).raw.by_chance == 1
    assert found(codes, shuffles=0).raw.by_chance is None


def test_what_is_no_table_of_ratings_is_refused():
    with pytest.raises(ValueError, match="two or more different"):
        table([[0, 0]], 1)
    with pytest.raises(ValueError, match="index of the 2 categories"):
        table([[0, 2]], 2)
    with pytest.raises(ValueError, match="index of the 2 categories"):
        table([[0, -2]], 2)
    with pytest.raises(ValueError, match="one scene per item"):
        Ratings(codes=np.zeros((2, 2), int), categories=("a", "b"), scenes=["x"])
    with pytest.raises(ValueError, match=r"outside the declared categories .*'maybe'"):
        encode_ratings([["yes", "maybe"]], ["no", "yes"])


def test_answers_become_places_in_the_declared_categories():
    ratings = encode_ratings([["b", None], ["a", "c"]], ["c", "b", "a"], ["x", "y"])
    assert ratings.codes.tolist() == [[1, ABSENT], [2, 0]]
    assert list(ratings.scenes) == ["x", "y"]
    assert len(set(encode_ratings([["a", "a"]] * 12, ["a", "b"]).scenes)) == 12


@pytest.mark.parametrize(
    "credit", [np.eye(3), np.ones((2, 2)), np.array([[1, 0.5], [0.2, 1]]), np.array([[0.9, 0], [0, 1]]), -np.eye(2) + 2]
)
def test_credit_that_makes_no_sense_is_refused(credit):
    with pytest.raises(ValueError, match=r"Credit (is|must be)"):
        found([[0, 1]], 2, credit=credit)
