from __future__ import annotations

import numpy as np
import pytest

from lookaway.core import Feature, Reason, Unmeasurable
from lookaway.metrics.arc_pairs import ArcPairs, FlowSignals, Reversal
from lookaway.metrics.known_returns import keys_of
from tests.support.revisit_golden import arrays, official, rollout_of, timeline_of

STEPS, FPS = 160, 8
PUBLISHED_GATES = {"dir": "direction", "undershoot": "magnitude", "gain": "gain", "response": "response"}


def official_reversals(name: str) -> list[Reversal]:
    case = official()["worldmark"]["cases"][name]
    signals = FlowSignals(arrays()[f"wm_{name}_Sx"], arrays()[f"wm_{name}_Srad"])
    keys = keys_of(case["keys"])
    assert keys is not None
    return ArcPairs(published_units=True).reversals(signals, keys, np.arange(638) / 16, case["width"])


CASES = ["ws_good", "ad_weak_return", "lr_good_w640", "lr_good_w1280", "lr_undershoot", "wsw_double", "frozen"]


@pytest.mark.parametrize("name", [*CASES, "noise_only", "wrong_dir"])
def test_gates_and_pairs_are_those_of_the_official_code(name):
    case = official()["worldmark"]["cases"][name]
    found = official_reversals(name)
    for reversal, expected in zip(found, case["detail"], strict=True):
        assert (reversal.step, reversal.response) == (expected["t0"], expected["return_start"])
        assert reversal.direction == pytest.approx(expected["dir"])
        assert reversal.gain == pytest.approx(expected["gain"])
        assert reversal.outward_arc == pytest.approx(expected["outbound_arc"])
        assert [list(pair) for pair in reversal.pairs] == [pair[:2] for pair in expected["pairs"] or []]
    gates = [reversal.closed_by for reversal in found if reversal.closed_by]
    assert gates == [PUBLISHED_GATES[reason] for reason in case["official"].get("reasons", [])]


def flow_of(across: np.ndarray, *, width: int = 640) -> Feature:
    """Flow of a picture that moves sideways as a whole, in pixels a step."""
    flow = np.zeros((len(across), 4, 6, 2), np.float32)
    flow[..., 0] = across[:, None, None]
    indices = np.arange(len(across) + 1)
    trusted = np.ones((len(across), 4, 6), bool)
    return Feature({"flow": flow, "is_trusted": trusted, "frame_indices": indices, "size": np.array([width, 360])})


def chosen(feature: Feature, action: str = "left_then_right", **constants):
    timeline = timeline_of(len(feature["frame_indices"]), FPS, width=1280)
    return ArcPairs(**constants).choose(rollout_of(action=action), timeline, {"flow": feature})


THERE_AND_BACK = np.repeat([3.0, -3.0], STEPS // 2)


def test_pairs_lie_at_equal_distance_from_the_reversal():
    frames = chosen(flow_of(THERE_AND_BACK)).frames
    assert len(frames) == 10
    assert np.abs(frames.sum(axis=1) - (STEPS - 1)).max() <= 1


def test_a_slower_way_back_is_followed_by_its_own_speed():
    slow = np.repeat([4.0, -2.5], STEPS // 2)
    first, second = chosen(flow_of(slow)).frames.T
    np.testing.assert_allclose(4 * (80 - first), 2.5 * (second + 1 - 80), atol=4)


def test_the_size_at_which_flow_was_estimated_changes_nothing():
    small = flow_of(THERE_AND_BACK / 2, width=320)
    assert chosen(small).frames.tolist() == chosen(flow_of(THERE_AND_BACK)).frames.tolist()


def test_published_units_count_motion_twice_and_go_by_the_width_of_the_file():
    turn = flow_of(THERE_AND_BACK / 2.2)  # 11.9 degrees of a field of 70 at 640 pixels
    with pytest.raises(Unmeasurable, match="magnitude"):
        chosen(turn)
    assert len(chosen(turn, published_units=True, min_turn_degrees=11).frames) > 0


@pytest.mark.parametrize(
    ("across", "gate"),
    [
        (np.zeros(STEPS), "direction"),
        (np.full(STEPS, 3.0), "direction"),
        (-THERE_AND_BACK, "direction"),
        (np.repeat([3.0, -1.0], STEPS // 2), "gain"),
        (THERE_AND_BACK / 4, "magnitude"),
        (np.random.default_rng(0).normal(0, 1, STEPS), "direction"),
    ],
    ids=["still", "never turns back", "the wrong way", "hardly returns", "hardly turns", "noise"],
)
def test_a_clip_that_does_not_go_out_and_back_is_closed_by_its_gate(across, gate):
    with pytest.raises(Unmeasurable, match=gate) as error:
        chosen(flow_of(across))
    assert error.value.reason == Reason.GATE_CLOSED


def test_untrusted_flow_does_not_count():
    feature = flow_of(THERE_AND_BACK)
    feature["flow"][:, 0] = 50
    feature["is_trusted"][:, 0] = False
    assert chosen(feature).frames.tolist() == chosen(flow_of(THERE_AND_BACK)).frames.tolist()


@pytest.mark.parametrize(
    ("action", "reason"),
    [(None, Reason.MISSING_INPUT), ("left_then_left", Reason.NOT_APPLICABLE), ("up_then_down", Reason.NOT_APPLICABLE)],
)
def test_a_case_without_a_reversal_is_declined(action, reason):
    declined = ArcPairs().declines(rollout_of(action=action))
    assert declined is not None
    assert declined.reason == reason
    assert ArcPairs().declines(rollout_of(action="WSW")) is None


def test_a_clip_of_fewer_steps_than_keys_need_is_too_short():
    with pytest.raises(Unmeasurable) as error:
        chosen(flow_of(np.ones(3)))
    assert error.value.reason == Reason.TOO_SHORT
