from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from lookaway.core import Reason, Unmeasurable
from lookaway.metrics.pose_alignment import Similarity, align
from tests.metrics.camera_paths import wandering
from tests.support.golden import golden_arrays, golden_numbers

TURN = Rotation.from_euler("xyz", [25, -70, 140], degrees=True).as_matrix()
SHIFT = np.array([3.0, -20.0, 11.0])
CENTRES = wandering()[:, :3, 3]
ON_A_LINE = np.linspace(-1, 2, 97)[:, None] * np.array([1.0, -2.0, 0.5]) + (4, 5, 6)
AT_A_POINT = np.tile([0.1, -0.7, 3.3], (97, 1))
every_alignment = pytest.mark.parametrize("alignment", ["sim3", "se3", "none"])


def fitted(similarity: Similarity, centres):
    return similarity.scale * centres @ similarity.rotation.T + similarity.translation


def assert_proper(similarity: Similarity):
    rotation = similarity.rotation
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(rotation) == pytest.approx(1)
    assert np.isfinite([similarity.scale, *similarity.translation]).all()


def test_it_is_the_similarity_that_the_official_code_finds():
    expected = golden_numbers("mind")["sim3"]
    arrays = golden_arrays("mind")
    found = align(arrays["poses_est_c2w"][:, :3, 3], arrays["poses_gt_c2w"][:, :3, 3], "sim3")
    assert found.scale == pytest.approx(expected["scale"], rel=1e-12)
    np.testing.assert_allclose(found.rotation, expected["rotation"], atol=1e-12)
    np.testing.assert_allclose(found.translation, expected["translation"], atol=1e-12)


@pytest.mark.parametrize("scale", [0.02, 1.0, 250.0])
def test_a_similarity_that_was_applied_is_found_again(scale):
    found = align(CENTRES, scale * CENTRES @ TURN.T + SHIFT, "sim3")
    assert found.scale == pytest.approx(scale, rel=1e-9)
    np.testing.assert_allclose(found.rotation, TURN, atol=1e-9)
    np.testing.assert_allclose(found.translation, SHIFT, atol=1e-9 * max(1, scale))


def test_without_scale_the_rotation_is_the_same_and_the_scale_stays():
    true = 3 * CENTRES @ TURN.T + SHIFT
    found = align(CENTRES, true, "se3")
    assert found.scale == 1
    np.testing.assert_allclose(found.rotation, TURN, atol=1e-9)
    np.testing.assert_allclose(fitted(found, CENTRES).mean(axis=0), true.mean(axis=0))


def test_without_alignment_nothing_moves():
    path = wandering()
    np.testing.assert_array_equal(align(CENTRES, CENTRES @ TURN.T + SHIFT, "none").moved(path), path)


def test_no_other_similarity_nearby_fits_better():
    noisy = 2 * CENTRES @ TURN.T + SHIFT + np.random.default_rng(1).normal(0, 0.2, CENTRES.shape)
    found = align(CENTRES, noisy, "sim3")

    def misfit(similarity: Similarity) -> float:
        return float(((fitted(similarity, CENTRES) - noisy) ** 2).sum())

    rng = np.random.default_rng(2)
    for _ in range(50):
        other = Similarity(
            found.scale * (1 + rng.normal(0, 1e-3)),
            Rotation.from_rotvec(rng.normal(0, 1e-3, 3)).as_matrix() @ found.rotation,
            found.translation + rng.normal(0, 1e-3, 3),
        )
        assert misfit(other) > misfit(found)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_mirrored_path_is_not_fitted_by_a_mirror(axis):
    mirrored = CENTRES.copy()
    mirrored[:, axis] *= -1
    found = align(CENTRES, mirrored, "sim3")
    assert_proper(found)
    least, *others = np.linalg.eigvalsh(np.cov(CENTRES.T))
    assert found.scale == pytest.approx((sum(others) - least) / (sum(others) + least), rel=1e-6)


def test_a_moved_camera_is_still_rigid_and_looks_at_what_it_looked_at():
    path, similarity = wandering(), Similarity(7.0, TURN, SHIFT)
    moved = similarity.moved(path)
    np.testing.assert_allclose(moved[:, 3], path[:, 3])
    np.testing.assert_allclose(np.linalg.det(moved[:, :3, :3]), 1)
    ahead = path[:, :3, 3] + path[:, :3, 2]
    np.testing.assert_allclose(fitted(similarity, ahead), moved[:, :3, 3] + 7 * moved[:, :3, 2])


def test_poses_given_are_left_as_they_were():
    path = wandering()
    Similarity(7.0, TURN, SHIFT).moved(path)
    np.testing.assert_array_equal(path, wandering())


@pytest.mark.parametrize("seed", range(40))
def test_any_two_paths_are_fitted_by_a_proper_rotation(seed):
    one, other = np.random.default_rng(seed).normal(size=(2, 5, 3))
    found = align(one, other, "sim3")
    assert_proper(found)
    assert ((fitted(found, one) - other) ** 2).sum() <= ((other - other.mean(axis=0)) ** 2).sum()


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (0, 2, 1), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
@pytest.mark.parametrize("extents", [(1, 2, 3), (3, 2, 1), (1, 0, 0), (0, 2, 1)])
def test_paths_along_the_axes_are_fitted_by_a_proper_rotation(order, extents):
    along = np.concatenate([np.diag(extents), -np.diag(extents)]).astype(float)
    assert_proper(align(along, along[:, order], "sim3"))


# Where the centres leave something open


@every_alignment
@pytest.mark.parametrize("estimated", [CENTRES, ON_A_LINE, AT_A_POINT])
@pytest.mark.parametrize("true", [CENTRES, ON_A_LINE, AT_A_POINT])
def test_the_rotation_is_proper_and_all_is_finite_whatever_the_paths_leave_open(estimated, true, alignment):
    assert_proper(align(estimated, true, alignment))


def test_a_camera_that_stands_still_is_put_in_the_middle_of_the_true_path_with_scale_zero():
    found = align(AT_A_POINT, CENTRES, "sim3")
    assert found.scale == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(fitted(found, AT_A_POINT), np.tile(CENTRES.mean(axis=0), (97, 1)), atol=1e-9)


def test_a_true_camera_that_stands_still_takes_all_motion_away_but_not_without_scale():
    assert align(CENTRES, AT_A_POINT, "sim3").scale == pytest.approx(0, abs=1e-9)
    assert align(CENTRES, AT_A_POINT, "se3").scale == 1


def test_jitter_of_a_camera_that_stands_still_is_not_blown_up_into_a_path():
    jitter = AT_A_POINT + np.random.default_rng(0).normal(0, 1e-9, AT_A_POINT.shape)
    assert np.ptp(fitted(align(jitter, CENTRES, "sim3"), jitter), axis=0).max() < 1e-4


def test_a_path_on_a_line_is_brought_onto_the_line_though_the_turn_about_it_is_open():
    estimated = np.linspace(0, 1, 97)[:, None] * np.array([0.0, 0.0, 1.0])
    found = align(estimated, ON_A_LINE, "sim3")
    np.testing.assert_allclose(fitted(found, estimated), ON_A_LINE, atol=1e-9)
    assert found.scale == pytest.approx(3 * np.linalg.norm([1, -2, 0.5]))


def test_a_path_in_a_plane_leaves_nothing_open():
    flat = CENTRES * [1, 1, 0]
    np.testing.assert_allclose(align(flat, 2 * flat @ TURN.T + SHIFT, "sim3").rotation, TURN, atol=1e-9)


@every_alignment
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_centres_that_are_no_numbers_have_failed(value, alignment):
    broken = CENTRES.copy()
    broken[3, 1] = value
    for pair in ((broken, CENTRES), (CENTRES, broken)):
        with pytest.raises(Unmeasurable) as caught:
            align(*pair, alignment)
        assert caught.value.reason is Reason.POSE_FAILED
