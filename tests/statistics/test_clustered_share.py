from __future__ import annotations

import numpy as np
import pytest

from lookaway.statistics.intervals import clustered_share, proportion


def own_scenes(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def test_with_one_clip_per_scene_it_is_wilsons_interval():
    found, known = clustered_share(np.arange(50) < 37, own_scenes(50)), proportion(37, 50)
    assert (found.mean, found.low, found.high) == (known.share, pytest.approx(known.low), pytest.approx(known.high))
    assert (found.low, found.high) == (pytest.approx(0.604, abs=5e-4), pytest.approx(0.841, abs=5e-4))
    assert (found.scored, found.scenes) == (50, 50)


def test_clips_that_repeat_their_scene_count_as_one():
    yes = np.arange(50) < 37
    once, often = (
        clustered_share(yes, own_scenes(50)),
        clustered_share(yes.repeat(8), np.repeat(own_scenes(50), 8).tolist()),
    )
    assert (often.low, often.high) == (pytest.approx(once.low, abs=6e-3), pytest.approx(once.high, abs=6e-3))
    assert often.scored == 400


def test_clips_of_scenes_that_are_all_alike_count_as_many():
    yes, scenes = np.tile([True, False, True, True], 50), np.repeat(own_scenes(50), 4).tolist()
    found, known = clustered_share(yes, scenes), proportion(150, 200)
    assert (found.low, found.high) == (pytest.approx(known.low), pytest.approx(known.high))


@pytest.mark.parametrize(("answer", "ends"), [(True, (0.722, 1.0)), (False, (0.0, 0.278))])
def test_where_all_say_the_same_a_scene_is_one_clip(answer, ends):
    found = clustered_share(np.full(40, answer), np.repeat(own_scenes(10), 4).tolist())
    assert (found.low, found.high) == (pytest.approx(ends[0], abs=1e-3), pytest.approx(ends[1], abs=1e-3))


def test_clips_are_worth_less_by_how_much_scenes_differ_more_than_clips():
    yes = np.array([1, 1, 1, 0, 1, 0, 0, 0, 0, 1, 1], bool)
    scenes = list("aaabbcccdee")
    residuals = {name: sum(yes[place] - 6 / 11 for place in range(11) if scenes[place] == name) for name in "abcde"}
    clustered = 5 / 4 * sum(value**2 for value in residuals.values()) / 11**2
    z2, t2 = 1.959963984540054**2, 2.7764451051977987**2
    worth = 11 / (clustered / (6 / 11 * 5 / 11 / 11)) * z2 / t2
    found = clustered_share(yes, scenes)
    assert worth < 11
    assert (found.low + found.high) / 2 == pytest.approx((6 / 11 * worth + z2 / 2) / (worth + z2))


def test_none_has_no_share_and_fewer_than_five_scenes_have_their_own_shares():
    assert clustered_share(np.zeros(0, bool), []) is None
    found = clustered_share(np.array([True, False]), ["a", "a"])
    assert (found.mean, found.low, found.high, found.scenes) == (0.5, None, None, 1)
    assert clustered_share(np.array([True]), ["a"]).low is None
    found = clustered_share(np.array([True, False, True, True, True]), list("aabcd"))
    assert (found.low, found.scene_means) == (None, (0.5, 1.0, 1.0, 1.0))


def test_the_order_of_clips_does_not_matter():
    rng = np.random.default_rng(2)
    yes, scenes = rng.random(60) < 0.6, rng.integers(0, 9, 60).astype(str)
    order = rng.permutation(60)
    one, other = clustered_share(yes, scenes.tolist()), clustered_share(yes[order], scenes[order].tolist())
    assert (other.low, other.high) == (pytest.approx(one.low), pytest.approx(one.high))
