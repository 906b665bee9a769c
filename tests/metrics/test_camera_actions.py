from __future__ import annotations

import pytest

from lookaway.metrics.relative_pose import MOTIONS, WAITS, parse_action

LEFT, RIGHT, FORWARD, BACKWARD = (MOTIONS[word] for word in ("left", "right", "forward", "backward"))


@pytest.mark.parametrize(
    ("action", "phases"),
    [
        ("left_then_right", (LEFT, RIGHT)),
        ("right_then_left", (RIGHT, LEFT)),
        ("forward_then_backward", (FORWARD, BACKWARD)),
        ("left_360", (LEFT,)),
        ("right_1080", (RIGHT,)),
        ("left_90_then_wait_2_then_right_90", (LEFT, None, RIGHT)),
        ("static", (None,)),
        ("Left_Then_Right", (LEFT, RIGHT)),
    ],
)
def test_known_actions_have_known_phases(action, phases):
    assert parse_action(action) == phases


@pytest.mark.parametrize(
    "action",
    ["", "moonwalk", "left_then_", "_then_right", "left_right", "left then right", "left_then_moonwalk", "360"],
)
def test_an_action_with_any_unknown_word_is_not_known(action):
    assert parse_action(action) is None


@pytest.mark.parametrize(("word", "opposite"), [("left", "right"), ("forward", "backward"), ("up", "down")])
def test_opposite_words_are_opposite_motions(word, opposite):
    assert MOTIONS[word] == tuple(-part for part in MOTIONS[opposite])


def test_every_motion_has_length_one_and_left_and_right_turn():
    assert all(sum(part * part for part in motion) == 1 for motion in MOTIONS.values())
    assert LEFT[:3] == RIGHT[:3] == (0, 0, 0)


def test_no_word_both_moves_and_waits():
    assert not WAITS & set(MOTIONS)
