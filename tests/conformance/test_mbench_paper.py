"""Every numbered equation of MBench's paper (arXiv 2606.00793), by hand, against what its published names print.

The networks' features, matches and ratings are given: what equations say begins after them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar, Final

import numpy as np
import pytest
import torch
from scipy.ndimage import convolve
from scipy.spatial.transform import Rotation

from lookaway.core import Feature, MaskTrack, Pairs, Timeline, Trajectory
from lookaway.engine.reading import load_suite
from lookaway.io.sampling import EveryFrame
from tests.metrics.two_view_scenes import elsewhere, matches, rollout
from tests.support.hand_made import hand_made_run, scores
from tests.support.hub import empty_hub
from tests.support.picture_networks import noise, random_vgg19
from tests.support.room import pose, there_and_back, trajectory
from tests.support.watching import perceive_frames

EQUATIONS: Final = {
    1: "test_equations_1_2_and_3_are_coverage_reliability_and_their_harmonic_mean",
    2: "test_equations_1_2_and_3_are_coverage_reliability_and_their_harmonic_mean",
    3: "test_equations_1_2_and_3_are_coverage_reliability_and_their_harmonic_mean",
    4: "test_equation_4_is_the_ssim_of_pictures_that_are_multiplied_by_the_mask",
    5: "test_equation_5_is_the_mean_cosine_with_the_mean_feature",
    6: "test_equation_6_is_the_mean_over_all_people_of_the_cosine_with_the_mean_face",
    7: "test_equation_7_is_the_mean_distance_to_epipolar_lines_both_ways",
    8: "test_equation_8_is_the_mean_distance_to_the_projection_of_the_triangulated_point",
    9: "test_equations_9_and_12_are_the_weighted_change_between_segments_and_its_exponential",
    10: "test_equations_10_and_11_are_means_of_lightness_and_colour",
    11: "test_equations_10_and_11_are_means_of_lightness_and_colour",
    12: "test_equations_9_and_12_are_the_weighted_change_between_segments_and_its_exponential",
    13: "test_equation_13_is_one_minus_the_mean_gram_distance_of_each_frame_to_the_one_before",
    14: "test_equation_14_is_the_product_of_progress_and_correctness",
    15: "test_equation_15_is_the_mean_cosine_over_frames_and_segments",
    16: "test_equation_16_is_the_unscaled_twist",
    17: "test_equation_17_is_the_mean_cosine_of_twist_and_target",
    18: "test_equation_18_gives_each_outbound_frame_the_nearest_inbound_frame",
}
"""Numbered equations of the paper, and their tests. Each defines a score or a part of one."""

A = {bound.name: bound for bound in load_suite("mbench-a").metrics({})}
T = {bound.name: bound for bound in load_suite("mbench-t").metrics({})}
BOTH = [("mbencha", A), ("mbencht", T)]
settings = pytest.mark.parametrize(("prefix", "bound"), BOTH, ids=["A", "T"])
RNG = np.random.default_rng(0)


def test_every_numbered_equation_is_listed():
    assert list(EQUATIONS) == list(range(1, 19))
    assert all(name in globals() for name in EQUATIONS.values())


def cosine(first, second):
    return first @ second / (np.linalg.norm(first) * np.linalg.norm(second))


def test_equations_1_2_and_3_are_coverage_reliability_and_their_harmonic_mean(tmp_path):
    name = "mbencht.causal.state_progress"
    values, triggers = (0.9, 0.4, 0.2, 0.8, 0.6), (1.0, 1.0, 0.0, 0.0, 1.0)
    outcomes = {name: scores("m", *values), "mbencht.causal.trigger": scores("m", *triggers)}
    (cell,) = (cell for cell in hand_made_run(tmp_path, "mbench-t", outcomes).table().cells if cell.metric == name)
    coverage, reliability = 3 / 5, (0.9 + 0.4 + 0.6) / 3
    assert cell.gated.coverage.mean == pytest.approx(coverage)
    assert cell.estimate.mean == pytest.approx(reliability)
    assert cell.gated.combined.mean == pytest.approx(2 * reliability * coverage / (reliability + coverage))


@dataclass(frozen=True)
class FirstAndLast:
    """The first and the last frame."""

    version: ClassVar[int] = 1

    def select(self, rollout, frame_count, trajectory):
        return Pairs(np.array([[0, frame_count - 1]]), "chosen")


def ssim_by_hand(first, second):
    """Map of SSIM with a Gaussian window of 7 pixels and a spread of 1.5, of pictures from 0 to 255."""
    line = np.exp(-(np.arange(-3, 4) ** 2) / (2 * 1.5**2))
    window = np.outer(line, line) / line.sum() ** 2

    def mean(picture):
        return convolve(picture, window, mode="mirror")

    mean_1, mean_2 = mean(first), mean(second)
    variance_1, variance_2 = mean(first**2) - mean_1**2, mean(second**2) - mean_2**2
    shared = mean(first * second) - mean_1 * mean_2
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    level = (2 * mean_1 * mean_2 + c1) / (mean_1**2 + mean_2**2 + c1)
    return level * (2 * shared + c2) / (variance_1 + variance_2 + c2)


def geometry(bound, pictures, mask):
    """What the published metric makes of pictures by a camera that stands still before a wall."""
    height, width = mask.shape
    lens = np.array([[80.0, 0, width / 2], [0, 80, height / 2], [0, 0, 1]])
    count, frames = len(pictures), np.arange(len(pictures))
    poses = Trajectory(
        camera_to_world=np.tile(np.eye(4), (count, 1, 1)),
        intrinsics=np.tile(lens, (count, 1, 1)),
        frame_indices=frames,
        median_depth=np.full(count, 4.0),
        width=width,
        height=height,
        frame_count=count,
    )
    depth = {"depth": np.full((count, height, width), 4, np.float16), "frame_indices": frames}
    masks = MaskTrack.of([mask] * count, frames.tolist(), [0] * count, [1.0] * count)
    given = {"poses": poses.to_feature(), "depth": Feature(depth), "masks": masks.to_feature()}
    recipe = replace(bound.recipes["warped_similarity"], pairs=FirstAndLast(), height=height)
    return bound.metric.measure(rollout(), {"warped_similarity": perceive_frames(recipe, pictures, given)})


@settings
def test_equation_4_is_the_ssim_of_pictures_that_are_multiplied_by_the_mask(prefix, bound):
    published = bound[f"{prefix}.entity.object_geometry_consistency"]
    mask = np.zeros((64, 96), bool)
    mask[20:44, 30:62] = True
    first = np.kron(RNG.integers(30, 225, (16, 24, 3)), np.ones((4, 4, 1))).astype(np.uint8)
    last = np.roll(first, 2, axis=1)
    grey_1, grey_2 = (picture @ np.array([0.299, 0.587, 0.114]) for picture in (first, last))
    expected = ssim_by_hand(grey_1 * mask, grey_2 * mask)[mask].mean()
    assert 0.1 < expected < 0.9
    assert geometry(published, [first, first, last], mask).raw == pytest.approx(expected, abs=1e-4)
    # Only the object counts: another background changes nothing.
    elsewhere_else = np.where(mask[..., None], first, 255 - first)
    assert geometry(published, [first, first, elsewhere_else], mask).value == pytest.approx(1, abs=1e-6)


@settings
@pytest.mark.parametrize("sights", [1, 6])
def test_equation_5_is_the_mean_cosine_with_the_mean_feature(prefix, bound, sights):
    features = (RNG.normal(1, 1, (sights, 8)) * RNG.uniform(0.3, 3, (sights, 1))).astype(np.float32)
    regions = Feature({"vectors": features, "frame_indices": np.arange(sights)})
    found = bound[f"{prefix}.entity.object_texture_consistency"].metric.measure(rollout(), {"regions": regions})
    mean = features.astype(np.float64).mean(axis=0)
    assert found.value == pytest.approx(np.mean([cosine(feature, mean) for feature in features]), abs=1e-6)


def people():
    """Faces of two people in four frames, and a face that is there once; rows of each."""
    frames = np.array([0, 0, 1, 1, 2, 2, 2, 3, 3])
    rows = [[0, 2, 4, 7], [1, 3, 5, 8], [6]]
    vectors = np.zeros((9, 6), np.float32)
    for axis, own in enumerate(rows):
        vectors[own] = np.eye(6)[axis] + RNG.normal(0, 0.1, (len(own), 6))
    return vectors * RNG.uniform(0.5, 2, (9, 1)).astype(np.float32), frames, rows


def by_equation_6(vectors, rows):
    cosines = [np.mean([cosine(vectors[row], vectors[own].mean(axis=0)) for row in own]) for own in rows]
    return np.mean(cosines)


@settings
def test_equation_6_is_the_mean_over_all_people_of_the_cosine_with_the_mean_face(prefix, bound):
    vectors, frames, rows = people()
    faces = Feature({"embeddings": vectors, "frame_indices": frames})
    found = bound[f"{prefix}.entity.human_identity_consistency"].metric.measure(rollout(), {"faces": faces})
    assert len(found.units) == 3
    assert found.value == pytest.approx(by_equation_6(vectors.astype(np.float64), rows), abs=1e-6)


@settings
def test_appearance_is_equation_6_of_bodies_on_the_tracks_of_faces(prefix, bound):
    vectors, frames, rows = people()
    looks = (RNG.normal(1, 1, (9, 6)) * RNG.uniform(0.5, 2, (9, 1))).astype(np.float32)
    faces = Feature({"embeddings": vectors, "frame_indices": frames})
    numbers = np.array([0, 1, 0, 1, 0, 1, 2, 0, 1])
    bodies = Feature({"vectors": looks, "frame_indices": frames, "things": numbers})
    metric = bound[f"{prefix}.entity.human_appearance_consistency"].metric
    found = metric.measure(rollout(), {"faces": faces, "bodies": bodies})
    assert found.value == pytest.approx(by_equation_6(looks.astype(np.float64), rows), abs=1e-6)


def two_views():
    """Cameras at some frames, and matches that are off by about a pixel."""
    path = elsewhere(np.stack([pose(yaw_degrees=4 * s, centre=(0.1 * s, 0.05 * s, -0.02 * s)) for s in range(4)]))
    cameras = trajectory(path)
    exact = matches(cameras, [(0, 3), (1, 3)])
    noisy = {name: exact[name] + RNG.normal(0, 1, exact[name].shape) for name in ("points_1", "points_2")}
    return cameras, Feature({**exact.arrays, **noisy}, exact.detail)


def homogeneous(points):
    return np.column_stack([points, np.ones(len(points))])


def pairs_by_hand(cameras, feature):
    """World-to-camera [R|t] and intrinsics of both frames of each pair, and the points."""
    extrinsics = np.linalg.inv(cameras.camera_to_world)[:, :3]
    for number, (first, second) in enumerate(feature["pairs"]):
        span = slice(*feature["offsets"][number : number + 2])
        views = [(extrinsics[frame], cameras.intrinsics[frame]) for frame in (first, second)]
        yield views, feature["points_1"][span], feature["points_2"][span]


def spatial(bound, name, cameras, feature):
    features = {"poses": cameras.to_feature(), "matches": feature}
    return bound[name].metric.measure(rollout(), features)


@settings
def test_equation_7_is_the_mean_distance_to_epipolar_lines_both_ways(prefix, bound):
    cameras, feature = two_views()
    errors = []
    for ((e1, k1), (e2, k2)), points_1, points_2 in pairs_by_hand(cameras, feature):
        turn = e2[:, :3] @ e1[:, :3].T
        x, y, z = e2[:, 3] - turn @ e1[:, 3]
        f = np.linalg.inv(k2).T @ np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]) @ turn @ np.linalg.inv(k1)
        distances = []
        for p, q in zip(homogeneous(points_1), homogeneous(points_2), strict=True):
            for point, line in ((p, f.T @ q), (q, f @ p)):
                distances.append(abs(point @ line) / np.hypot(*line[:2]))
        errors.append(np.sum(distances) / (2 * len(points_1)))
    found = spatial(bound, f"{prefix}.environment.spatial_epipolar", cameras, feature)
    assert [unit.outcome.raw for unit in found.units] == pytest.approx(errors, rel=1e-6)
    assert [unit.outcome.value for unit in found.units] == pytest.approx(np.exp(-np.array(errors)), abs=1e-6)
    assert found.value == pytest.approx(np.exp(-np.array(errors)).mean(), abs=1e-6)


@settings
def test_equation_8_is_the_mean_distance_to_the_projection_of_the_triangulated_point(prefix, bound):
    cameras, feature = two_views()
    errors = []
    for ((e1, k1), (e2, k2)), points_1, points_2 in pairs_by_hand(cameras, feature):
        turn = e2[:, :3] @ e1[:, :3].T
        step = e2[:, 3] - turn @ e1[:, 3]
        views = (np.eye(3, 4), np.column_stack([turn, step / np.linalg.norm(step)]))  # linear, baseline 1: pinned
        distances = []
        for p, q in zip(homogeneous(points_1), homogeneous(points_2), strict=True):
            rows = []
            for view, ray in zip(views, (np.linalg.solve(k1, p), np.linalg.solve(k2, q)), strict=True):
                rows += [ray[0] * view[2] - view[0], ray[1] * view[2] - view[1]]
            found = np.linalg.eigh(np.array(rows).T @ np.array(rows))[1][:, 0]
            for view, lens, point in ((views[0], k1, p), (views[1], k2, q)):
                seen = lens @ view @ found
                distances.append(np.linalg.norm(point[:2] - seen[:2] / seen[2]))
        errors.append(np.mean(distances))
    found = spatial(bound, f"{prefix}.environment.spatial_reprojection", cameras, feature)
    assert [unit.outcome.raw for unit in found.units] == pytest.approx(errors, rel=1e-6)
    assert found.value == pytest.approx(np.exp(-np.array(errors)).mean(), abs=1e-6)


def degrees_between(first, second):
    return np.degrees(Rotation.from_matrix(first[:3, :3].T @ second[:3, :3]).magnitude())


def distance_of_equation_18(first, second):
    return np.linalg.norm(first[:3, 3] - second[:3, 3]) + degrees_between(first, second) / 180


def fold_pairs_by_hand(path):
    away = [distance_of_equation_18(path[0], camera) for camera in path]
    peak = int(np.argmax(away))
    pairs = []
    for i in range(peak):
        inbound = range(peak + 1, len(path))
        pairs.append((i, min(inbound, key=lambda j, i=i: distance_of_equation_18(path[i], path[j]))))
    wide = [pair for pair in pairs if pair[1] - pair[0] >= 2]
    return sorted(wide, key=lambda pair: pair[0] - pair[1])[:20]


def wandering_return(frames=61):
    """A camera that comes back to a third of its way, in a unit in which its path is some 12 long."""
    out, back = np.linspace(0, 60, frames // 2), np.linspace(59, 20, frames - frames // 2)
    path = np.stack([pose(yaw_degrees=-yaw, centre=(0.2 * yaw, 0, 0.01 * yaw)) for yaw in (*out, *back)])
    path[:, :3, 3] += RNG.normal(0, 0.05, (frames, 3))
    return path


FOLDED = [
    A["mbencha.environment.spatial_epipolar"].recipes["matches"].pairs,
    A["mbencha.environment.rendering_lighting"].metric.pairs,
    A["mbencha.entity.object_geometry_consistency"].recipes["warped_similarity"].pairs,
]


@pytest.mark.parametrize("pairs", FOLDED, ids=["spatial", "lighting", "geometry"])
def test_equation_18_gives_each_outbound_frame_the_nearest_inbound_frame(pairs):
    for path in (there_and_back("left_then_right", 81), wandering_return()):
        expected = fold_pairs_by_hand(path)
        found = [tuple(pair) for pair in pairs.select(rollout(), len(path), trajectory(path)).frames.tolist()]
        assert sorted(found) == sorted(expected)
    assert len({second for _, second in expected}) < len(expected), "no partner repeats: the example shows nothing"


def test_pairs_of_setting_t_are_ranked_by_the_return_score_of_appendix_b_1():
    path = wandering_return()
    bound = T["mbencht.environment.spatial_epipolar"].recipes["matches"].pairs
    found = bound.select(rollout(prompt=("a", "b", "c", "d", "e")), 61, trajectory(path)).frames.tolist()
    parts = np.minimum(np.arange(61) * 5 // 61, 4)

    def score(pair):
        step = np.linalg.norm(path[pair[0], :3, 3] - path[pair[1], :3, 3])
        return step / 0.1 + degrees_between(path[pair[0]], path[pair[1]]) / 10, pair[0] - pair[1]

    candidates = [(i, j) for i in np.flatnonzero(parts <= 1) for j in np.flatnonzero(parts >= 3)]
    assert [tuple(pair) for pair in found] == sorted(candidates, key=score)[:5]


def test_equations_9_and_12_are_the_weighted_change_between_segments_and_its_exponential():
    path, lab = wandering_return(), RNG.uniform(20, 80, (61, 3))
    features = {"lab_means": Feature({"lab": lab}), "poses": trajectory(path).to_feature()}
    found = A["mbencha.environment.rendering_lighting"].metric.measure(rollout(), features)
    changes = []
    for i, j in fold_pairs_by_hand(path):
        start_i, start_j = min(max(0, i - 4), 53), min(max(0, j - 3), 53)  # 8 frames, mirrored in time: pinned
        if start_j - start_i >= 8:
            change = lab[start_i : start_i + 8].mean(axis=0) - lab[start_j : start_j + 8].mean(axis=0)
            changes.append(0.5 * abs(change[0]) + 0.5 * np.linalg.norm(change[1:]))
    assert found.raw == pytest.approx(np.mean(changes), rel=1e-6)
    assert found.value == pytest.approx(np.exp(-np.mean(changes) / 10), abs=1e-6)


@settings
def test_equations_10_and_11_are_means_of_lightness_and_colour(prefix, bound):
    pictures = list(RNG.integers(0, 256, (2, 240, 32, 3), np.uint8))
    found = perceive_frames(bound[f"{prefix}.environment.rendering_lighting"].recipes["lab_means"], pictures)["lab"]
    for picture, row in zip(pictures, found, strict=True):
        linear = np.where(picture <= 0.04045 * 255, picture / 255 / 12.92, ((picture / 255 + 0.055) / 1.055) ** 2.4)
        to_xyz = np.array(
            [[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]]
        )
        x, y, z = np.moveaxis(linear @ (to_xyz / [[0.950456], [1.0], [1.088754]]).T, -1, 0)
        f_x, f_y, f_z = (np.where(v > 0.008856, np.cbrt(v), 7.787 * v + 16 / 116) for v in (x, y, z))
        lightness = np.where(y > 0.008856, 116 * f_y - 16, 903.3 * y)
        expected = [lightness.mean(), (500 * (f_x - f_y)).mean(), (200 * (f_y - f_z)).mean()]
        assert row == pytest.approx(expected, abs=1e-2)  # OpenCV's matrices have six digits


@settings
def test_equation_13_is_one_minus_the_mean_gram_distance_of_each_frame_to_the_one_before(
    prefix, bound, tmp_path, monkeypatch
):
    empty_hub(tmp_path, monkeypatch)
    published = bound[f"{prefix}.environment.rendering_style"]
    assert published.recipes["style"].frames == EveryFrame(step=1)
    recipe = replace(published.recipes["style"], weights=random_vgg19(), height=32)
    frames = noise(4, 32, 48)
    found = published.metric.measure(rollout(), {"style": perceive_frames(recipe, frames)})
    state = torch.load(recipe.weights.file("vgg19-dcbb9e9d.pth"))
    places = [int(name.split(".")[1]) for name in state if name.startswith("features.") and name.endswith("weight")]
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    values = ((torch.from_numpy(np.stack(frames)).float() / 255 - mean) / std).permute(0, 3, 1, 2)
    steps = []
    for place in sorted(places):
        if place > 28:
            break
        if place in (5, 10, 19, 28):
            values = torch.nn.functional.max_pool2d(values, 2)
        weight, bias = state[f"features.{place}.weight"], state[f"features.{place}.bias"]
        values = torch.relu(torch.nn.functional.conv2d(values, weight, bias, padding=1))
        if place in (0, 5, 10, 19, 28):  # relu1_1 to relu5_1, divided by channels times pixels: pinned
            flat = values.flatten(2)
            grams = flat @ flat.mT / (flat.shape[1] * flat.shape[2])
            steps.append([float((grams[t] - grams[t - 1]).norm()) for t in range(1, 4)])
    distance = np.mean(steps)
    assert found.raw == pytest.approx(distance, rel=1e-4)
    assert found.value == pytest.approx(np.clip(1 - distance, 0, 1), abs=1e-4)


def rated(*ratings):
    return Feature({"rating": np.array(ratings, np.float64)})


@settings
@pytest.mark.parametrize(("progress", "correctness"), [(1, 5), (3, 4), (5, 5), (5, 1)])
def test_equation_14_is_the_product_of_progress_and_correctness(prefix, bound, progress, correctness):
    features = {"progress_rating": rated(progress), "correctness_rating": rated(correctness)}
    g, s = (progress - 1) / 4, (correctness - 1) / 4
    assert bound[f"{prefix}.causal.state_progress"].metric.measure(rollout(), features).value == pytest.approx(g)
    found = bound[f"{prefix}.causal.progress_correctness"].metric.measure(rollout(), features)
    assert found.value == pytest.approx(g * s)
    # README: `score_raw` is the signal before normalisation, so that the score is the normalised raw value.
    assert (found.raw - 1) / 4 == pytest.approx(found.value)


@pytest.mark.parametrize(("prefix", "bound", "captions"), [("mbencha", A, "a"), ("mbencht", T, "abcde")])
def test_equation_15_is_the_mean_cosine_over_frames_and_segments(prefix, bound, captions):
    published = bound[f"{prefix}.causal.prompt_interaction"]
    told = rollout(prompt=tuple(captions))
    frames = np.array(published.recipes["similarity"].frames.indices(Timeline(np.arange(125) / 5, 64, 48), told))
    assert len(frames) == len(captions) * 8
    cosines = RNG.uniform(0.1, 0.4, (len(frames), len(captions)))
    given = Feature({"cosines": cosines, "frame_indices": frames}, {"frame_count": 125})
    expected = np.mean([[cosines[8 * k + i, k] for i in range(8)] for k in range(len(captions))])
    assert published.metric.measure(told, {"similarity": given}).raw == pytest.approx(expected, abs=1e-6)


def twists_by_hand(path):
    """Equation 16: of camera centres in the axes of the first camera, which is where the example's world begins."""
    v = np.diff(path[:, :3, 3], axis=0)
    omega = [Rotation.from_matrix(a[:3, :3].T @ b[:3, :3]).as_rotvec() for a, b in pairwise(path)]
    return np.column_stack([v, omega])


def follow(path, action):
    features = {"poses": trajectory(path).to_feature()}
    return A["mbencha.causal.camera_interaction"].metric.measure(rollout(action=action), features)


def jittered(action):
    path = there_and_back(action, 81, degrees=60)
    path[1:, :3, 3] += RNG.normal(0, 0.01, (80, 3))
    path[1:, :3, :3] = path[1:, :3, :3] @ Rotation.from_rotvec(RNG.normal(0, 0.003, (80, 3))).as_matrix()
    return path


TARGETS = {
    # The paper's +1 for left is of world-to-camera matrices; in axes of the camera, y down, it is -1.
    "left_then_right": (np.array([0, 0, 0, 0, -1, 0]), np.array([0, 0, 0, 0, 1, 0])),
    "forward_then_backward": (np.array([0, 0, 1, 0, 0, 0]), np.array([0, 0, -1, 0, 0, 0])),
}


@pytest.mark.parametrize("action", TARGETS)
def test_equation_17_is_the_mean_cosine_of_twist_and_target(action):
    path = jittered(action)
    out, back = TARGETS[action]
    cosines = [cosine(xi, out if i < 40 else back) for i, xi in enumerate(twists_by_hand(path))]
    found = follow(path, action)
    assert 0.1 < np.mean(cosines) < 0.99
    assert found.raw == pytest.approx(np.mean(cosines), abs=1e-6)
    assert found.value == pytest.approx(max(0, np.mean(cosines)), abs=1e-6)


def test_equation_16_is_the_unscaled_twist():
    """A centre that jitters more is less of the turn that was asked for, whatever the clip's extent."""
    quiet, loud = jittered("left_then_right"), jittered("left_then_right")
    loud[:, :3, 3] *= 3
    for path in (quiet, loud):
        xi = twists_by_hand(path)
        turned = np.where(np.arange(80) < 40, -1, 1) * xi[:, 4] / np.linalg.norm(xi, axis=1)
        assert follow(path, "left_then_right").raw == pytest.approx(turned.mean(), abs=1e-6)
    assert follow(loud, "left_then_right").raw < follow(quiet, "left_then_right").raw
