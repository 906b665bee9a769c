from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from lookaway.statistics.intervals import scene_mean
from lookaway.statistics.paired_difference import CaseValues, paired_difference, sign_flip, signed_ranks


def model(seed: int = 0, *, cases: int = 24, scenes: int = 8, better_by: float = 0.0) -> CaseValues:
    """Cases that are easy or hard for everybody, with two seeds each."""
    ease = np.random.default_rng(99).normal(0.5, 0.3, cases)
    rng = np.random.default_rng(seed)
    places = np.repeat(np.arange(cases), 2)
    return CaseValues(
        values=ease[places] + better_by + rng.normal(0, 0.05, 2 * cases),
        cases=[f"case {place}" for place in places],
        scenes=[f"scene {place % scenes}" for place in places],
    )


def few(values, cases, scenes) -> CaseValues:
    return CaseValues(values=np.array(values, np.float64), cases=list(cases), scenes=list(scenes))


def taken(data: CaseValues, places) -> CaseValues:
    return few(
        [data.values[at] for at in places], [data.cases[at] for at in places], [data.scenes[at] for at in places]
    )


def test_every_clip_that_both_have_counts_once_and_a_case_has_the_mean_of_its_seeds():
    first = few([0.9, 0.7, 0.5, 0.4], ["1", "1", "2", "3"], "aaab")
    second = few([0.9, 0.6, 0.1, 0.3], ["0", "1", "2", "3"], "baab")
    found = paired_difference(first, second)
    in_a, in_b = ((0.8 - 0.6) + (0.5 - 0.1)) / 2, 0.4 - 0.3
    assert found.by_scene == {"a": pytest.approx(in_a), "b": pytest.approx(in_b)}
    assert found.difference.mean == pytest.approx((2 * in_a + in_b) / 3)
    assert found.first - found.second == pytest.approx(found.difference.mean)
    assert found.first == pytest.approx((0.8 + 0.5 + 0.4) / 3)
    assert (found.difference.scored, found.difference.scenes) == (3, 2)
    assert (found.only_first, found.only_second) == (0, 1)
    influences = 2 / 3 * np.array([2 * in_a, in_b]) - 2 / 3 * found.difference.mean * np.array([2, 1])
    assert found.deviation == pytest.approx(np.sqrt(np.sum(influences**2)))


def test_the_means_are_those_of_a_table_however_many_clips_cases_and_scenes_have():
    rng = np.random.default_rng(5)
    clips = [(f"case {case}", f"scene {case % 7}") for case in range(30) for _ in range(1 + case % 4)]
    one, other = (few(rng.random(len(clips)), *zip(*clips, strict=True)) for _ in range(2))
    found = paired_difference(one, other)
    assert (found.first, found.second) == (pytest.approx(one.values.mean()), pytest.approx(other.values.mean()))
    assert found.difference.mean == pytest.approx(np.mean(one.values - other.values))
    known = scene_mean(one.values - other.values, one.scenes)
    assert (found.difference.low, found.difference.high) == pytest.approx((known.low, known.high))


def test_a_difference_does_not_leave_the_span_of_the_metric():
    one, other = few([1.0, 1, 1, 1, 0], "12345", "abcde"), few([0.0] * 5, "12345", "abcde")
    assert paired_difference(one, other).difference.high > 1.0
    found = paired_difference(one, other, span=1.0).difference
    assert (found.mean, found.high) == (pytest.approx(0.8), 1.0)
    assert found.low == pytest.approx(paired_difference(one, other).difference.low)


def test_interval_and_tests_are_those_of_the_differences_of_scenes():
    found = paired_difference(model(1, better_by=0.03), model(2), seed=4)
    differences = np.array(list(found.by_scene.values()))
    theirs = stats.ttest_1samp(differences, 0).confidence_interval(0.95)
    assert (found.difference.low, found.difference.high) == pytest.approx((theirs.low, theirs.high), abs=1e-10)
    assert found.difference.low == pytest.approx(scene_mean(differences, list(found.by_scene)).low, abs=1e-12)
    assert found.sign_flip == sign_flip(differences, seed=4)
    assert found.signed_ranks == signed_ranks(differences)
    assert found.deviation == pytest.approx(differences.std(ddof=1))


def test_the_seed_reaches_the_draws():
    found = paired_difference(model(1, cases=50, scenes=50), model(2, cases=50, scenes=50), seed=4)
    assert found.sign_flip.seed == 4


def test_what_is_easy_for_both_cancels():
    one, other = model(1, better_by=0.05), model(2)
    found = paired_difference(one, other)
    unpaired = scene_mean(one.values, one.scenes)
    assert found.difference.high - found.difference.low < 0.5 * (unpaired.high - unpaired.low)
    assert found.difference.low > 0


def test_a_model_is_no_better_than_itself():
    found = paired_difference(model(1), model(1))
    assert (found.difference.mean, found.difference.low, found.difference.high) == (0.0, None, None)
    assert found.difference.scene_means == (0.0,)
    assert (found.sign_flip.p, found.signed_ranks.p) == (1.0, 1.0)


def test_seeds_in_another_order_are_no_difference():
    one, other = few([0.1, 0.2, 0.3], "111", "aaa"), few([0.3, 0.2, 0.1], "111", "aaa")
    assert np.bincount([0, 0, 0], one.values)[0] != np.bincount([0, 0, 0], other.values)[0]
    found = paired_difference(one, other)
    assert (found.by_scene, found.signed_ranks.zeros) == ({"a": 0.0}, 1)


def test_the_other_way_round_is_the_same_with_the_other_sign():
    one, other = paired_difference(model(1), model(2)), paired_difference(model(2), model(1))
    assert other.difference.mean == -one.difference.mean
    assert (other.difference.low, other.difference.high) == (-one.difference.high, -one.difference.low)
    assert (other.sign_flip, other.signed_ranks) == (one.sign_flip, one.signed_ranks)


def test_neither_the_order_of_rows_nor_names_nor_a_constant_for_both_matter():
    one, other = model(1), model(2)
    plain = paired_difference(one, other)
    shuffled = taken(one, np.random.default_rng(0).permutation(len(one.values)).tolist())
    renamed = [
        replace(
            data, cases=[f"x{c}" for c in data.cases], scenes=[f"y{s}" for s in data.scenes], values=data.values + 3
        )
        for data in (shuffled, other)
    ]
    again = paired_difference(*renamed)
    assert (again.difference.mean, again.difference.low) == pytest.approx(
        (plain.difference.mean, plain.difference.low), abs=1e-10
    )
    assert again.sign_flip.p == plain.sign_flip.p


def test_cases_that_one_model_lacks_do_not_move_the_difference():
    one, other = model(1), model(2)
    easy = few([9.0] * 3, ["extra 1", "extra 2", "extra 3"], ["scene 1"] * 3)
    more = few([*one.values, *easy.values], [*one.cases, *easy.cases], [*one.scenes, *easy.scenes])
    found = paired_difference(more, other)
    assert found.difference == paired_difference(one, other).difference
    assert (found.only_first, found.only_second) == (3, 0)


def test_one_scene_has_a_difference_and_no_interval():
    found = paired_difference(few([0.5, 0.7], "12", "aa"), few([0.1, 0.2], "12", "aa"))
    assert found.difference.mean == pytest.approx(0.45)
    assert (found.difference.low, found.difference.high, found.deviation) == (None, None, None)
    assert (found.sign_flip.p, found.signed_ranks.p) == (1.0, 1.0)


@pytest.mark.parametrize("other", [few([], "", ""), few([0.3], ["2"], ["a"])])
def test_without_a_case_of_both_there_is_no_comparison(other):
    assert paired_difference(few([0.5], ["1"], ["a"]), other) is None
    assert paired_difference(other, few([0.5], ["1"], ["a"])) is None


def test_a_case_of_two_scenes_is_refused():
    with pytest.raises(ValueError, match="Case '1' has two scenes, 'a' and 'b'"):
        paired_difference(few([0.5], ["1"], ["a"]), few([0.5], ["1"], ["b"]))
