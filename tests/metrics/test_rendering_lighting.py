from __future__ import annotations

import math

import numpy as np
import pytest

from lookaway.core import Abstention, Feature, Reason
from lookaway.metrics.fold_pairs import FoldPairs
from lookaway.metrics.rendering_lighting import LightingChange, RenderingLighting, RenderingLightingSeconds
from tests.metrics.two_view_scenes import rollout
from tests.support.room import pose, there_and_back, trajectory


def measure(lab, metric: LightingChange | None = None, *, poses=None, fps: float = 16.0):
    lab = np.asarray(lab, np.float64)
    features = {"lab_means": Feature({"lab": lab, "times_seconds": np.arange(len(lab)) / fps})}
    if poses is not None:
        features["poses"] = poses.to_feature()
    return (metric or RenderingLighting()).measure(rollout(), features)


def there_and_back_again(frames: int) -> np.ndarray:
    """What a camera sees of a world whose brightness and colour change from place to place but not in time."""
    place = 1 - np.abs(np.linspace(-1, 1, frames))
    return np.column_stack([30 + 50 * place, 20 * place, -10 * place])


def naive(lab, pairs, *, alpha: float = 0.5, length: int = 8) -> float:
    """The formula, frame by frame; the segment on the way back is the mirror image of the one on the way out."""
    total = 0.0
    for first, second in pairs:
        out = [min(max(first + step, 0), len(lab) - 1) for step in range(-(length // 2), length - length // 2)]
        back = [min(max(second - step, 0), len(lab) - 1) for step in range(-(length // 2), length - length // 2)]
        mean = [
            [sum(lab[frame][channel] for frame in frames) / length for channel in range(3)] for frames in (out, back)
        ]
        lightness = abs(mean[0][0] - mean[1][0])
        colour = math.sqrt((mean[0][1] - mean[1][1]) ** 2 + (mean[0][2] - mean[1][2]) ** 2)
        total += alpha * lightness + (1 - alpha) * colour
    return total / len(pairs)


@pytest.mark.parametrize("frames", [40, 41])
def test_a_world_that_does_not_change_in_time_scores_one_however_it_varies_in_space(frames):
    outcome = measure(there_and_back_again(frames))
    assert (outcome.value, outcome.raw) == (pytest.approx(1), pytest.approx(0, abs=1e-12))


def test_day_on_the_way_out_and_night_on_the_way_back_scores_next_to_nothing():
    lab = np.zeros((80, 3))
    lab[:40] = (100, 80, -100)
    outcome = measure(lab)
    assert outcome.raw == pytest.approx(50 + math.hypot(80, 100) / 2)
    assert outcome.value < 1e-4


@pytest.mark.parametrize("shift", [(25, 0, 0), (0, -30, 12)])
def test_a_tint_that_is_there_from_the_first_frame_to_the_last_does_not_matter(shift):
    lab = np.random.default_rng(0).uniform(20, 60, (60, 3))
    assert measure(lab + shift).raw == pytest.approx(measure(lab).raw)


def test_playing_the_clip_backwards_does_not_matter():
    lab = np.random.default_rng(0).uniform(20, 60, (60, 3))
    assert measure(lab[::-1]).raw == pytest.approx(measure(lab).raw)


def test_the_raw_value_equals_the_formula_written_out():
    lab = np.random.default_rng(0).uniform(20, 60, (80, 3))
    pairs = [(first, 79 - first) for first in range(4, 20)]
    # Pairs nearer to the ends than half a segment are left to the test below.
    outcome = measure(lab, RenderingLighting(pairs=FoldPairs(most=20)))
    scored = [unit.outcome.raw for unit in outcome.units[4:]]
    assert sum(scored) / len(scored) == pytest.approx(naive(lab, pairs))


def test_a_segment_at_either_end_lies_inside_the_clip():
    lab = np.zeros((40, 3))
    lab[:8, 0], lab[-8:, 0] = 60, 20
    first = measure(lab).units[0]
    assert (first.name, first.outcome.raw) == ("f0_f39", pytest.approx(20))


@pytest.mark.parametrize(("weight", "expected"), [(1.0, 12.0), (0.0, 5.0), (0.25, 0.25 * 12 + 0.75 * 5)])
def test_the_weight_divides_between_lightness_and_colour(weight, expected):
    lab = np.zeros((40, 3))
    lab[20:] = (12, 3, 4)
    outcome = measure(lab, RenderingLighting(lightness_weight=weight, pairs=FoldPairs(most=12)))
    assert outcome.raw == pytest.approx(expected)


def test_a_distance_of_tau_divides_the_score_by_e():
    lab = np.zeros((80, 3))
    lab[40:, 0] = 20
    assert measure(lab).value == pytest.approx(math.exp(-1))


def test_pairs_come_from_the_camera_where_it_is_known_and_from_the_middle_where_not():
    lab = there_and_back_again(41)
    poses = trajectory(there_and_back("left_then_right", 41))
    assert measure(lab, poses=poses).detail["pairs"] == "fold"
    assert measure(lab).detail["pairs"] == "symmetric: no poses"


def test_a_camera_that_lingers_is_compared_where_it_was_not_when():
    # The camera turns at a third of the clip, and the brightness belongs to the place.
    place = np.concatenate([np.linspace(0, 1, 31), np.linspace(1, 0, 61)[1:]])
    lab = np.column_stack([30 + 50 * place, place, place])
    poses = trajectory(np.stack([pose(yaw_degrees=40 * there) for there in place]))
    assert measure(lab, poses=poses).raw < measure(lab).raw / 5


@pytest.mark.parametrize("frames", [3, 8, 15])
def test_it_abstains_where_no_two_segments_are_apart(frames):
    # The brightness jumps; averaged over one and the same segment it would seem not to.
    lab = np.zeros((frames, 3))
    lab[frames // 2 :, 0] = 90
    outcome = measure(lab)
    assert isinstance(outcome, Abstention)
    assert outcome.reason is Reason.TOO_SHORT


def test_pairs_whose_segments_overlap_are_left_out_and_listed():
    lab = np.zeros((24, 3))
    lab[12:, 0] = 20
    outcome = measure(lab)
    left_out = [unit.name for unit in outcome.units if isinstance(unit.outcome, Abstention)]
    assert left_out == ["f9_f14", "f10_f13"]
    assert (outcome.detail["pairs_scored"], outcome.detail["pairs_asked"]) == (9, 11)


def test_the_row_says_by_which_pairs_it_was_measured_and_how_many_partners_there_are():
    lab = there_and_back_again(41)
    detail = measure(lab, poses=trajectory(there_and_back("left_then_right", 41))).detail
    assert (detail["branch"], detail["pairs_asked"], detail["partner_frames"]) == ("fold", 20, 20)
    assert measure(lab).detail["branch"] == "symmetric: no poses"


class TestSegmentsInSeconds:
    METRIC = RenderingLightingSeconds()

    def poses(self, frames: int):
        return trajectory(there_and_back("left_then_right", frames))

    def test_a_world_that_does_not_change_in_time_scores_one(self):
        outcome = measure(there_and_back_again(41), self.METRIC, poses=self.poses(41))
        assert (outcome.value, outcome.raw) == (pytest.approx(1), pytest.approx(0, abs=1e-12))

    def test_day_on_the_way_out_and_night_on_the_way_back_scores_next_to_nothing(self):
        lab = np.zeros((81, 3))
        lab[:40] = (100, 80, -100)
        assert measure(lab, self.METRIC, poses=self.poses(81)).value < 1e-3

    def test_a_tint_that_is_there_from_the_first_frame_to_the_last_does_not_matter(self):
        lab, poses = np.random.default_rng(0).uniform(20, 60, (61, 3)), self.poses(61)
        shifted = measure(lab + np.array([0, -30, 12]), self.METRIC, poses=poses)
        assert shifted.raw == pytest.approx(measure(lab, self.METRIC, poses=poses).raw)

    def test_at_sixteen_frames_a_second_it_is_the_published_number(self):
        lab, poses = np.random.default_rng(0).uniform(20, 60, (61, 3)), self.poses(61)
        assert measure(lab, self.METRIC, poses=poses).raw == measure(lab, poses=poses).raw

    @pytest.mark.parametrize(("fps", "frames"), [(6, 3), (16, 8), (30, 15), (0.5, 1)])
    def test_a_segment_lasts_as_long_at_every_frame_rate(self, fps, frames):
        outcome = measure(there_and_back_again(41), self.METRIC, poses=self.poses(41), fps=fps)
        assert outcome.detail["segment_frames"] == frames

    def test_a_quarter_of_the_frames_moves_it_less_than_it_moves_the_published_number(self):
        # Brightness belongs to the place, and the camera comes back at half the speed.
        place = np.concatenate([np.linspace(0, 1, 65), np.linspace(1, 0, 129)[1:]])
        lab = np.column_stack([30 + 50 * place, place, place])
        path = np.stack([pose(yaw_degrees=40 * there) for there in place])

        def raw(metric, every: int) -> float:
            return measure(lab[::every], metric, poses=trajectory(path[::every]), fps=16 / every).raw

        changes = [abs(raw(metric, 4) - raw(metric, 1)) for metric in (RenderingLighting(), self.METRIC)]
        assert changes[1] < changes[0] / 2

    def test_a_camera_that_does_not_come_back_is_declined(self):
        onward = trajectory(np.stack([pose(yaw_degrees=step) for step in range(41)]))
        outcome = measure(there_and_back_again(41), self.METRIC, poses=onward)
        assert isinstance(outcome, Abstention)
        assert outcome.reason is Reason.NOT_APPLICABLE

    def test_a_clip_shorter_than_two_segments_is_declined(self):
        outcome = measure(there_and_back_again(11), self.METRIC, poses=self.poses(11), fps=30)
        assert (type(outcome), outcome.reason) == (Abstention, Reason.TOO_SHORT)
