from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Feature, Reason, Timeline, Unmeasurable
from lookaway.metrics.seen_phases import MotionSmoothness
from lookaway.perception.motion.warp_errors import WarpErrors, warp_error
from tests.support.watching import check_documented, perceive_frames, rollout_of

ROLLOUT = replace(
    rollout_of(Path("clip.mp4")), phases={"visible": (0, 9), "disappeared": (9, 12), "reappeared": (12, 21)}
)
PHASES = Feature(
    {"bounds": np.array([[0, 9], [9, 12], [12, 21]])}, {"phases": ["visible", "disappeared", "reappeared"]}
)
PUBLISHED = MotionSmoothness(averages_phases=True)
SHIFT = 6
LENGTH, AMPLITUDE = 20.9, 0.0243
"""Of a wave for which the errors are those of the published example."""


def wave(shift, *, width=418, height=24):
    columns = np.arange(width) - shift
    row = 0.5 + AMPLITUDE * np.sin(2 * np.pi * columns / LENGTH)
    return np.repeat(np.repeat(row[None], height, axis=0)[..., None], 3, axis=2)


def moved(pixels):
    return np.full((24, 418, 2), (pixels, 0.0))


# The warp


def test_a_shift_by_six_pixels_with_exact_flow_has_the_published_errors_and_none_by_default():
    earlier, later = wave(0), wave(SHIFT)
    assert warp_error(earlier, later, moved(SHIFT), samples_earlier=True) == pytest.approx(0.0301, abs=5e-4)
    assert warp_error(earlier, later, moved(0)) == pytest.approx(0.0243, abs=5e-4)
    assert warp_error(earlier, later, moved(-SHIFT), samples_earlier=True) == pytest.approx(0.0004, abs=5e-4)
    assert warp_error(earlier, later, moved(SHIFT)) == pytest.approx(0.0004, abs=5e-4)


def test_pictures_that_stand_still_have_no_error_either_way():
    for samples_earlier in (False, True):
        assert warp_error(wave(0), wave(0), moved(0), samples_earlier=samples_earlier) == 0


def test_fractions_of_pixels_are_interpolated():
    assert warp_error(wave(0), wave(0.5), moved(0.5)) < 1e-3 < warp_error(wave(0), wave(0.5), moved(-0.5))


# The extractor


@dataclass(frozen=True, slots=True)
class ShiftErrors(WarpErrors):
    """Knows that the picture shifts by so many pixels a frame to the right."""

    name = "shift_errors"
    shift: float = 1.0

    def load_flow(self):
        step = self.frames.step
        return lambda earlier, later: np.full((*earlier.shape[:2], 2), (self.shift * step, 0.0))


def pictures(shift, count=21):
    return [np.clip(np.rint(255 * wave(shift * index)), 0, 255).astype(np.uint8) for index in range(count)]


def errors(recipe, shown):
    feature = perceive_frames(recipe, shown, rollout=ROLLOUT)
    check_documented(recipe, feature)
    return feature


def test_sampled_frames_of_both_phases_are_compared_each_with_the_next():
    feature = errors(ShiftErrors(), pictures(1.0))
    assert feature["frame_indices"].tolist() == [0, 4, 8, 12, 16, 20]
    assert feature["errors"].max() < 0.004
    published = errors(ShiftErrors(samples_earlier=True), pictures(1.0))
    assert published["errors"].min() > 3 * feature["errors"].max()


def test_one_sampled_frame_is_too_short():
    short = replace(ROLLOUT, phases={"visible": (0, 1), "reappeared": (1, 1)})
    with pytest.raises(Unmeasurable) as raised:
        ShiftErrors().load().start(short, Timeline(np.zeros(1), 32, 24), {})
    assert raised.value.reason is Reason.TOO_SHORT


# The metric


def measured(steps, metric=None, indices=(0, 4, 8, 12, 16, 20), phases=PHASES):
    feature = Feature({"errors": np.array(steps, float), "frame_indices": np.array(indices)})
    return (metric or MotionSmoothness()).measure(ROLLOUT, {"warp_errors": feature, "phases": phases})


def test_without_errors_motion_is_smooth_and_with_large_ones_it_is_not():
    assert measured([0.0] * 5).value == 1
    assert measured([3.0] * 5).value < 1e-8


def test_a_step_between_phases_does_not_count():
    calm = measured([0.1, 0.1, 0.1, 0.1, 0.1])
    assert measured([0.1, 0.1, 0.9, 0.1, 0.1]) == calm
    assert (calm.raw, len(calm.units)) == (pytest.approx(0.1), 4)


def test_steps_are_averaged_or_phases():
    steps = [0.0, 0.0, 0.0, 0.3, 0.3]
    assert measured(steps).value == pytest.approx(np.exp(-0.15 / 0.15))
    assert measured(steps, PUBLISHED).value == pytest.approx((1 + np.exp(-0.3 / 0.15)) / 2)


def test_as_the_code_has_it_a_phase_of_two_sampled_frames_counts_as_0():
    assert measured([0.0] * 4, PUBLISHED, (0, 4, 8, 12, 16)).value == 0.5
    assert measured([0.0] * 4, None, (0, 4, 8, 12, 16)).value == 1


def test_as_the_code_has_it_a_phase_of_two_frames_is_left_out():
    ends = Feature({"bounds": np.array([[0, 9], [8, 20], [19, 21]])}, {"phases": list(PHASES.detail["phases"])})
    assert measured([0.0] * 3, PUBLISHED, (0, 4, 8, 19), ends).value == 1


def test_without_steps_it_abstains_and_is_0_as_the_code_has_it():
    assert measured([0.0], None, (8, 12)).reason is Reason.TOO_SHORT
    assert measured([0.0], PUBLISHED, (8, 12)).value == 0


def test_phases_of_other_names_are_missing():
    assert measured([0.0] * 5, MotionSmoothness(phases=("gone",))).reason is Reason.MISSING_INPUT
    with pytest.raises(ValueError, match="above 0"):
        MotionSmoothness(tau=0)
