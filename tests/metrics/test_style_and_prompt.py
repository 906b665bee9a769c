from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Abstention, Case, Feature, Reason, Rollout
from lookaway.metrics.prompt_interaction import PromptInteraction
from lookaway.metrics.rendering_style import RenderingStyle


def rollout(*prompt):
    return Rollout(case=Case(id="c", subset="causal", scene="s", prompt=prompt), model="m", video=Path("v.mp4"))


def style(distances, frames=None):
    rows = np.array(distances, np.float32).reshape(-1, 2)
    indices = np.arange(len(rows) + 1) * 4 if frames is None else np.array(frames)
    return Feature({"distances": rows, "frame_indices": indices.astype(np.int64)})


def test_a_style_that_never_changes_has_the_best_score():
    outcome = RenderingStyle().measure(rollout(), {"style": style([[0, 0], [0, 0]])})
    assert (outcome.value, outcome.raw) == (1.0, 0.0)
    assert [unit.name for unit in outcome.units] == ["f0_f4", "f4_f8"]


def test_the_distance_is_the_mean_over_layers_and_steps():
    outcome = RenderingStyle().measure(rollout(), {"style": style([[0.2, 0.4], [0.0, 0.2]])})
    assert outcome.raw == pytest.approx(0.2)
    assert outcome.value == pytest.approx(0.8)


def test_a_distance_of_more_than_1_is_a_score_of_0_with_its_raw_value():
    outcome = RenderingStyle().measure(rollout(), {"style": style([[3.0, 3.0]])})
    assert (outcome.value, outcome.raw) == (0.0, 3.0)


def test_lpips_of_the_same_steps_is_told_and_moves_no_score():
    lpips = Feature({"distances": np.array([0.5, 0.25], np.float32), "frame_indices": np.array([0, 4, 8])})
    alone = RenderingStyle().measure(rollout(), {"style": style([[0.1, 0.1], [0.1, 0.1]])})
    beside = RenderingStyle().measure(rollout(), {"style": style([[0.1, 0.1], [0.1, 0.1]]), "lpips": lpips})
    assert beside.value == alone.value
    assert [unit.outcome.detail for unit in beside.units] == [{"lpips": 0.5}, {"lpips": 0.25}]
    other = Feature({"distances": np.array([0.5], np.float32), "frame_indices": np.array([0, 8])})
    unlike = RenderingStyle().measure(rollout(), {"style": style([[0.1, 0.1]] * 2), "lpips": other})
    assert [unit.outcome.detail for unit in unlike.units] == [{}, {}]


def test_what_dinov2_sees_of_the_same_steps_is_told_and_moves_no_score():
    tokens = np.array([[1, 0], [3, 0], [0, 2], [0, 0]], np.float32)
    dinov2 = Feature({"cls": tokens, "frame_indices": np.array([0, 4, 8, 12])})
    steps = style([[0.1, 0.1]] * 3)
    alone, beside = (RenderingStyle().measure(rollout(), {"style": steps, **more}) for more in ({}, {"dinov2": dinov2}))
    assert beside.value == alone.value
    assert [unit.outcome.detail for unit in beside.units] == [{"dinov2": 0.0}, {"dinov2": 1.0}, {"dinov2": 1.0}]
    other = Feature({"cls": tokens[:3], "frame_indices": np.array([0, 8, 12])})
    unlike = RenderingStyle().measure(rollout(), {"style": steps, "dinov2": other})
    assert [unit.outcome.detail for unit in unlike.units] == [{}, {}, {}]


def test_a_single_frame_has_no_change_of_style():
    outcome = RenderingStyle().measure(rollout(), {"style": style([], frames=[0])})
    assert isinstance(outcome, Abstention)
    assert outcome.reason is Reason.TOO_SHORT


def similarity(cosines, frames, frame_count):
    arrays = {"cosines": np.array(cosines, np.float32), "frame_indices": np.array(frames, np.int64)}
    return {"similarity": Feature(arrays, {"frame_count": frame_count})}


def test_a_frame_is_compared_with_the_segment_it_belongs_to_and_no_other():
    features = similarity([[0.3, 0.9], [0.3, 0.9], [0.9, 0.2], [0.9, 0.4]], [0, 4, 5, 9], 10)
    outcome = PromptInteraction().measure(rollout("one", "two"), features)
    assert outcome.value == pytest.approx((0.3 + 0.3) / 2)
    assert [unit.outcome.value for unit in outcome.units] == pytest.approx([0.3, 0.3])


def test_segments_weigh_the_same_however_many_frames_they_have():
    features = similarity([[0.2, 0], [0.2, 0], [0.2, 0], [0, 0.8]], [0, 1, 2, 9], 10)
    assert PromptInteraction().measure(rollout("one", "two"), features).value == pytest.approx(0.5)


def test_one_caption_is_one_segment():
    outcome = PromptInteraction().measure(rollout("one"), similarity([[0.25], [0.35]], [0, 9], 10))
    assert outcome.value == pytest.approx(0.3)


def test_a_video_of_the_opposite_is_worth_nothing_with_its_raw_value():
    outcome = PromptInteraction().measure(rollout("one"), similarity([[-0.5]], [0], 1))
    assert (outcome.value, outcome.raw) == (0.0, -0.5)


def test_without_a_prompt_or_without_frames_of_a_segment_nothing_is_compared():
    assert PromptInteraction().declines(rollout()).reason is Reason.MISSING_INPUT
    assert PromptInteraction().declines(rollout("one")) is None
    outcome = PromptInteraction().measure(rollout("one", "two"), similarity([[0.3, 0.3]], [0], 10))
    assert outcome.reason is Reason.TOO_SHORT
