from __future__ import annotations

import time

import pytest

from lookaway.world.actors import ACTORS
from tests.support.command import lookaway

pytestmark = [pytest.mark.timeout(900), pytest.mark.render, pytest.mark.nightly]  # README runs the demo in tier two


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    root = tmp_path_factory.mktemp("demo") / "demo"
    start = time.process_time()
    result = lookaway("demo", "-o", root, "--json")
    return root, result, time.process_time() - start


def test_the_demo_ranks_perfect_first_and_frozen_nowhere(demo):
    _, result, _ = demo
    assert result.code == 0, result.err
    ranks = {row["model"]: row["rank"] for row in result.json["standings"]}
    assert ranks.keys() == ACTORS.keys()
    assert ranks["perfect"] == 1
    assert ranks["frozen"] is None


def test_the_demo_finds_the_true_order_of_the_actors(demo):
    _, result, _ = demo
    ranked = [row["model"] for row in result.json["standings"] if row["rank"] is not None]
    assert ranked == [name for name in ACTORS if name != "frozen"]


def test_the_demo_is_over_before_a_newcomer_loses_patience(demo):
    _, _, seconds = demo
    assert seconds < 180  # about 90 of the processor on a quiet machine


def test_the_demo_again_draws_and_measures_nothing_anew(demo):
    root, result, seconds = demo
    start = time.process_time()
    again = lookaway("demo", "-o", root, "--json")
    assert again.json == result.json
    assert time.process_time() - start < seconds / 3


def test_the_demo_says_where_to_look_next(demo):
    root, _, _ = demo
    text = lookaway("demo", "-o", root).out
    (clip,) = [line.split()[-1] for line in text.splitlines() if line.startswith("See a clip:")]
    assert lookaway("world", "show", clip).code == 0
    assert "not tested" in text
