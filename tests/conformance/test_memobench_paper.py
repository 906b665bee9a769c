"""MemoBench's paper, equation by equation, and its code by the numbers it gave, against what published names print.

Expected values are written from the text, in numpy alone. Where paper and code differ, the published name has the
code's reading, and the paper's is the same metric with other fields: both are tested.
"""

from __future__ import annotations

import csv
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from lookaway.core import Case, Feature, Reference, Rollout, Score, Timeline, Trajectory
from lookaway.engine.reading import load_suite
from lookaway.io import phases as phase_files
from lookaway.perception.motion.warp_errors import warp_error
from lookaway.reports.export.memobench import export_memobench_table
from tests.support.compared import answered
from tests.support.golden import golden_arrays, golden_numbers
from tests.support.memobench_runs import memobench_run
from tests.support.watching import perceive, rollout_of

ROLLOUT = rollout_of(Path("clip.mp4"))
RANDOM = np.random.default_rng(7)
BOUNDS = {"visible": (0, 28), "disappeared": (27, 55), "reappeared": (54, 81)}
"""Phases of the code, whose neighbours share a frame, of 81 frames with keyframes 27 and 54."""
EQUATIONS = {
    1: "test_equation_1_is_a_clipped_percentage_of_a_range",
    2: "test_equation_2_is_the_mean_of_both_normalised_qualities",
    3: "test_equation_3_is_an_exponential_of_the_mean_warp_error",
    4: "test_equation_4_is_the_mean_and_the_least_of_the_most_similar_patches",
    5: "test_equation_5_is_the_mean_and_the_least_cosine_of_depth_in_both_phases",
    6: "test_equation_6_is_the_detection_rate_times_the_mean_confidence",
    7: "test_equation_7_is_the_rotation_error_over_the_net_rotation",
}
"""All numbered equations of the paper; its supplement numbers none, and there is no algorithm."""


@pytest.fixture(scope="module")
def bound():
    """By published name."""
    metrics = load_suite("memobench").metrics({"has_question_banks": True})
    return {found.name: found for found in metrics if found.is_of("published")}


@pytest.fixture(scope="module")
def golden():
    return golden_numbers("memobench")


def phases(**bounds):
    bounds = bounds or BOUNDS
    return Feature({"bounds": np.array(list(bounds.values()), np.int64)}, {"phases": list(bounds)})


def value(metric, **features):
    outcome = metric.measure(ROLLOUT, features)
    assert isinstance(outcome, Score), outcome
    return outcome.value


def test_every_numbered_equation_has_a_test():
    assert list(EQUATIONS) == list(range(1, 8))
    assert set(EQUATIONS.values()) <= globals().keys()


# Numbered equations


@pytest.mark.parametrize(("raw", "shown"), [(5.1234, "51.2"), (12.0, "100.0"), (-1.0, "0.0")])
def test_equation_1_is_a_clipped_percentage_of_a_range(tmp_path, raw, shown):
    scores = {"memobench.aesthetic": Score(raw / 10, raw=raw), "memobench.image_quality": Score(0.70149)}
    written = export_memobench_table(memobench_run(tmp_path / "run", {("alpha", "real/001"): scores}), tmp_path / "out")
    with written[0].open(newline="") as file:
        (line,) = csv.DictReader(file)
    assert line["AestheticScore_pct"] == shown == f"{100 * np.clip((raw - 0) / (10 - 0), 0, 1):.1f}"
    assert line["ImageQuality_pct"] == "70.2"  # the code rounds to 4 decimals first, then to one of a percentage
    assert float(line["VisualQuality"]) == pytest.approx((float(shown) + 70.2) / 2, abs=0.006)


def test_equation_2_is_the_mean_of_both_normalised_qualities(bound):
    metric = bound["memobench.visual_quality"].metric
    for scale in (1.0, 3.0):
        aesthetic, quality = scale * RANDOM.uniform(4, 6, 20), RANDOM.uniform(0, 1, 20)
        features = {
            "aesthetic": Feature({"aesthetic": aesthetic, "frame_indices": np.arange(20)}),
            "image_quality": Feature({"quality": quality, "frame_indices": np.arange(20)}),
        }
        for low, high, own in ((0, 10, metric), (1, 10, replace(metric, aesthetic_range=(1.0, 10.0)))):
            expected = (min(1, (aesthetic.mean() - low) / (high - low)) + quality.mean()) / 2
            assert value(own, **features) == pytest.approx(expected, abs=1e-6)


def test_equation_3_is_an_exponential_of_the_mean_warp_error(bound):
    metric = bound["memobench.motion_smoothness"].metric
    visible, back = np.arange(0, 28, 4), np.arange(54, 81, 4)
    errors = RANDOM.uniform(0.01, 0.2, len(visible) + len(back) - 1)
    first, second = errors[: len(visible) - 1], errors[len(visible) :]  # the step between the phases counts in none
    features = {
        "warp_errors": Feature({"errors": errors, "frame_indices": np.concatenate([visible, back])}),
        "phases": phases(),
    }
    code = (np.exp(-first.mean() / 0.15) + np.exp(-second.mean() / 0.15)) / 2
    paper = np.exp(-np.concatenate([first, second]).mean() / 0.15)
    assert value(metric, **features) == pytest.approx(code, abs=1e-6)
    assert value(replace(metric, averages_phases=False), **features) == pytest.approx(paper, abs=1e-6)


def test_equation_3_warps_frame_i_by_the_flow_to_the_next(bound):
    recipe = bound["memobench.motion_smoothness"].recipes["warp_errors"]
    earlier, later = RANDOM.random((2, 9, 14, 3))
    right, down = 3, 2
    flow = np.full((9, 14, 2), (right, down), float)
    rows, columns = np.minimum(np.arange(9) + down, 8), np.minimum(np.arange(14) + right, 13)
    expected = np.abs(earlier[rows][:, columns] - later).mean()
    assert warp_error(earlier, later, flow, samples_earlier=recipe.samples_earlier) == pytest.approx(expected, abs=1e-6)


def top_cosines(tokens):
    unit = tokens / np.linalg.norm(tokens, axis=-1, keepdims=True)
    cosines = np.clip((unit[1:] * unit[0]).sum(axis=-1), 0, 1)
    return np.sort(cosines, axis=1)[:, -int(0.4 * tokens.shape[1]) :]


@pytest.mark.parametrize("frames", [9, 4])
def test_equation_4_is_the_mean_and_the_least_of_the_most_similar_patches(bound, frames):
    tokens = RANDOM.normal(size=(1 + frames, 256, 8)) + RANDOM.normal(size=(256, 8))
    feature = Feature({"patches": tokens, "frame_indices": np.array([0, *range(72, 72 + frames)])})
    top = top_cosines(tokens)
    assert top.shape[1] == 102
    sampled = [int(i * (frames - 1) / 8) for i in range(9)]  # of a phase of fewer than nine frames, some count again
    expected = 0.7 * top[sampled].mean() + 0.3 * top.min()
    assert value(bound["memobench.object_identity"].metric, tokens=feature) == pytest.approx(expected, abs=1e-6)


def depth_cosines(maps):
    found = []
    for first, second in pairwise(maps):
        one, other = ((each - each.min()) / (each.max() - each.min() + 1e-8) for each in (first, second))
        found.append((one * other).sum() / np.sqrt((one**2).sum() * (other**2).sum()))
    return np.clip(found, 0, 1)


def test_equation_5_is_the_mean_and_the_least_cosine_of_depth_in_both_phases(bound):
    metric = bound["memobench.geo3d"].metric
    maps = RANDOM.uniform(1, 9, (6, 12, 16))
    feature = Feature({"inverse_depth": maps, "frame_indices": np.array([0, 13, 27, 54, 67, 80])})
    seen, back = depth_cosines(maps[:3]), depth_cosines(maps[3:])
    expected = 0.7 * (seen.mean() + back.mean()) / 2 + 0.3 * min(seen.min(), back.min())
    assert value(metric, inverse_depth=feature, phases=phases()) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("last", [1, 2])
def test_equation_5_in_short_phases_is_that_of_the_code(bound, last):
    """A phase of two frames is sampled at its first, its first and its last one; one of a single frame counts as 0."""
    maps = RANDOM.uniform(1, 9, (3 + last, 12, 16))
    feature = Feature({"inverse_depth": maps, "frame_indices": np.array([0, 13, 27, *range(81 - last, 81)])})
    seen = depth_cosines(maps[:3])
    back = np.array([1.0, *depth_cosines(maps[3:])]) if last == 2 else np.zeros(1)
    expected = 0.7 * (seen.mean() + back.mean()) / 2 + 0.3 * min(seen.min(), back.min())
    bounds = phases(**{**BOUNDS, "reappeared": (81 - last, 81)})
    assert value(bound["memobench.geo3d"].metric, inverse_depth=feature, phases=bounds) == pytest.approx(expected)


def detections(*frames):
    found = [(place, coverage, score) for place, pairs in enumerate(frames) for coverage, score in pairs]
    where, coverages, scores = (np.array(column) for column in zip(*found, strict=True))
    return Feature(
        {
            "coverages": coverages,
            "scores": scores,
            "detection_frames": where,
            "frame_indices": np.arange(len(frames)),
        }
    )


def test_equation_6_is_the_detection_rate_times_the_mean_confidence(bound):
    frames = [[(0.1, 0.3), (0.2, 0.02)], [(0.65, 0.4)], [(0.65, 0.9), (0.5, 0.01)], [(0.0004, 0.9)], [(0.71, 0.9)]]
    confidences = [0.3, 0.4, 0.01]  # the usual range first, then the fallback; no threshold on confidence
    expected = len(confidences) / 5 * np.mean(confidences)
    assert value(bound["memobench.ors"].metric, detections=detections(*frames)) == pytest.approx(expected, abs=1e-6)


def camera(degrees):
    matrices = np.tile(np.eye(4), (len(degrees), 1, 1))
    matrices[:, :3, :3] = Rotation.from_rotvec(np.outer(np.radians(degrees), [0, 1, 0])).as_matrix()
    count = len(degrees)
    return Trajectory(
        camera_to_world=matrices,
        intrinsics=np.tile(np.eye(3), (count, 1, 1)),
        frame_indices=np.arange(count),
        median_depth=np.ones(count),
        width=32,
        height=24,
        frame_count=count,
    ).to_feature()


PAN = np.concatenate([np.linspace(0, 90, 40), np.linspace(90, 0, 41)])
U_TURN = np.linspace(0, 170, 81)


@pytest.mark.parametrize("true", [PAN, U_TURN])
@pytest.mark.parametrize("scale", [0.0, 0.5, 0.95, 1.2])
def test_equation_7_is_the_rotation_error_over_the_net_rotation(bound, true, scale):
    error = np.sqrt(np.mean((scale * true - true) ** 2))  # about one axis, first frames equal
    expected = np.clip(1 - error / max(abs(true[-1] - true[0]), 10), 0, 1)
    found = value(
        bound["memobench.camera_controllability"].metric, poses=camera(scale * true), reference_poses=camera(true)
    )
    assert found == pytest.approx(expected, abs=1e-6)


# Constants


def test_section_3_4_names_the_networks_that_are_bound(bound):
    named = {
        "memobench.object_identity": ("tokens", "dinov2-base"),
        "memobench.geo3d": ("inverse_depth", "depth-anything-v2-small"),
        "memobench.ors": ("detections", "sam3"),
        "memobench.motion_smoothness": ("warp_errors", "raft-large"),
        "memobench.camera_controllability": ("poses", "map-anything"),
        "memobench.image_reward": ("rewards", "image-reward"),
    }
    for name, (feature, network) in named.items():
        assert bound[name].recipes[feature].weights.name.startswith(network), name
    # The paper names VGG for LPIPS; the code that made the table has AlexNet. `LpipsPairs(trunk="vgg")` is the paper's.
    assert {found.recipes["lpips"].trunk for name, found in bound.items() if name.endswith(".lpips")} == {"alex"}


def test_table_s3_default_is_a_coverage_of_5_in_10000_to_a_half_with_a_fallback_of_70_percent(bound):
    metric = bound["memobench.ors"].metric
    assert (metric.min_coverage, metric.max_coverage, metric.fallback_coverage) == (0.0005, 0.5, 0.7)


def test_table_s5_keeps_references_that_turn_by_90_degrees(bound):
    metric = bound["memobench.motion_gate"].metric
    for degrees, kept in ((89.0, 0.0), (91.0, 1.0)):
        assert value(metric, reference_poses=camera(np.linspace(0, degrees, 30))) == kept
    assert value(metric, reference_poses=camera(PAN)) == 0  # end to end, as in equation 7


def test_table_s7_defaults_are_bound(bound):
    assert bound["memobench.object_identity"].metric.top_share == 0.4
    assert bound["memobench.motion_smoothness"].metric.tau == 0.15
    assert bound["memobench.geo3d"].recipes["inverse_depth"].frames.count == 3


def test_section_3_3_interpolates_frame_indices_over_the_whole_video(bound, monkeypatch):
    monkeypatch.setattr("lookaway.perception.phases.reference_frames", lambda rollout: 280)
    monkeypatch.setattr(phase_files, "reference_frames", lambda rollout: 280)
    starts = {"visible": 0, "disappeared": 110, "reappeared": 190}
    reference = Reference(video=Path("gt.mp4"), end=280, phase_starts=starts)
    case = Case(id="a", subset="real", scene="a", reference=reference)
    rollout, timeline = Rollout(case=case, model="m", video=Path("clip.mp4")), Timeline(np.arange(81) / 16, 640, 360)

    def partners(phase):
        return bound[f"memobench.{phase}.psnr"].recipes["fidelity"].compared.partners(timeline, rollout).indices

    assert partners("all") == {frame: round(frame * 279 / 80) for frame in range(81)}
    left, back = (
        round(110 / 280 * 81),
        round(190 / 280 * 81),
    )  # the code: piece by piece inside of phases
    pieces = ((0, left, 0, 110), (left, back, 110, 190), (back, 80, 190, 279))
    expected = {
        frame: round(theirs + (frame - first) * (until - theirs) / (last - first))
        for first, last, theirs, until in pieces
        for frame in range(first, last + 1)
    }
    assert partners("reappeared") == expected


# Numbers that the code gave


def test_camera_controllability_is_that_of_the_code(bound, golden):
    metric = bound["memobench.camera_controllability"].metric
    for name, expected in golden["camera_controllability"].items():
        true = PAN if name.startswith("pan") else U_TURN
        scale = float(name.rpartition("x")[2])
        found = value(metric, poses=camera(scale * true), reference_poses=camera(true))
        assert round(found, 4) == pytest.approx(expected["camera_controllability"], abs=1e-6), name


def test_the_reappearance_score_is_that_of_the_code(bound, golden):
    height, width = golden["ors"]["frame_size"]
    cases = golden["ors"]["cases(mask_area_fraction,confidence) per R frame"]
    frames = [
        [(round(area * height * width) / (height * width), score) for area, score in zip(*both, strict=True)]
        for both in cases
    ]
    found = value(bound["memobench.ors"].metric, detections=detections(*frames))
    assert round(found, 4) == pytest.approx(golden["ors"]["result"]["ors"], abs=1e-6)


def test_keyframes_are_those_of_the_code(bound, golden, monkeypatch):
    recipe = bound["memobench.geo3d"].recipes["phases"]
    for case in golden["map_keyframes(d_start,r_start,gt_frames,gen_frames)"]:
        left, back, total, frames = case["in"]
        monkeypatch.setattr(phase_files, "reference_frames", lambda rollout, total=total: total)
        starts = {"visible": 0, "disappeared": left, "reappeared": back}
        reference = Reference(video=Path("gt.mp4"), end=total, phase_starts=starts)
        rollout = replace(ROLLOUT, case=replace(ROLLOUT.case, reference=reference))
        bounds = recipe.read(rollout, Timeline(np.arange(frames) / 16, 64, 36), {})["bounds"]
        assert bounds[1:, 0].tolist() == case["out"]


@pytest.mark.golden("memobench.json", metrics=["memobench.all.psnr", "memobench.all.ssim"])
def test_psnr_and_grey_ssim_are_those_of_the_code(bound, golden, tmp_path):
    pictures = golden_arrays("mind")
    rollout = answered(tmp_path, pictures["pred"], pictures["gt"])
    feature = perceive(bound["memobench.all.psnr"].recipes["fidelity"], rollout)
    for name, numbers in (("psnr", golden["psnr"]), ("ssim", golden["ssim_gray"])):
        outcome = bound[f"memobench.all.{name}"].metric.measure(rollout, {"fidelity": feature})
        assert [unit.outcome.value for unit in outcome.units] == pytest.approx(numbers, abs=1e-4)
        assert outcome.value == pytest.approx(np.mean(numbers), abs=1e-4)
