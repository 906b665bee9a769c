from __future__ import annotations

import cv2
import numpy as np
import pytest

from lookaway.core import Reason, Trajectory, Unmeasurable
from lookaway.metrics.aligned_similarity import DinoLift, LpipsLift, SsimLift
from lookaway.metrics.revisit_pairs import RevisitPairs
from lookaway.perception.networks.fits import WholeFrame
from lookaway.perception.poses.tracked_poses import TrackedPoses
from lookaway.perception.revisit.aligned_views import ComparedPart, choose_controls
from lookaway.perception.revisit.revisit_changes import RevisitChanges
from lookaway.perception.revisit.revisit_networks import RevisitLpips, RevisitTokens, patch_shares
from lookaway.perception.similarity.dinov2_embeddings import Dinov2Embeddings
from lookaway.perception.similarity.dinov3_embeddings import Dinov3Embeddings
from tests.support import panorama
from tests.support.networks import tiny_dinov2
from tests.support.picture_networks import random_lpips, tiny_dinov3
from tests.support.revisit_golden import rollout_of
from tests.support.watching import check_documented, perceive_frames

CHANGES = RevisitChanges(poses=TrackedPoses(), pairs=RevisitPairs())
LEFT, TOP = panorama.WIDE[0] // 2 + 20, panorama.WIDE[1] // 2


def clip(returning=lambda backdrop: backdrop, after=lambda frame: frame, degrees=panorama.OUT_AND_BACK):
    pictures = [after(frame) for frame in panorama.pictures(degrees, None, returning)]
    features = {"poses": panorama.poses(degrees)}
    return pictures, features | {"changes": perceive_frames(CHANGES, pictures, features)}


@pytest.fixture(scope="module")
def clips():
    def elsewhere(_):
        return panorama.backdrop(seed=5)

    def with_patch(backdrop):
        backdrop[TOP - 12 : TOP + 12, LEFT : LEFT + 30] = (220, 30, 30)
        return backdrop

    def compressed(frame):
        return cv2.imdecode(cv2.imencode(".jpg", frame, [cv2.IMWRITE_JPEG_QUALITY, 80])[1], cv2.IMREAD_COLOR)

    return {
        "same": clip(),
        "patch": clip(with_patch),
        "elsewhere": clip(elsewhere),
        "compressed": clip(after=compressed),
    }


def recipe(kind):
    if kind == "lpips":
        weights, heads = random_lpips("alex")
        return RevisitLpips(changes=CHANGES, weights=weights, heads=heads)
    fit = WholeFrame(112)
    embeddings = {
        "dinov2": lambda: Dinov2Embeddings(weights=tiny_dinov2(), fit=fit),
        "dinov3": lambda: Dinov3Embeddings(weights=tiny_dinov3(), fit=fit),
    }
    return RevisitTokens(changes=CHANGES, embedding=embeddings[kind]())


@pytest.mark.parametrize("kind", ["lpips", "dinov2", "dinov3"])
def test_a_place_that_came_back_is_nearer_than_one_that_changed(hub, clips, kind):
    found = {name: perceive_frames(recipe(kind), *clips[name]) for name in clips}
    check_documented(recipe(kind), found["same"])
    distances = {name: float(np.median(feature["distances"])) for name, feature in found.items()}
    assert distances["same"] < distances["patch"] < distances["elsewhere"]
    assert distances["compressed"] < distances["patch"]


def test_the_lift_of_a_place_that_came_back_is_near_1_and_of_another_place_near_0(hub, clips):
    found = {name: perceive_frames(recipe("lpips"), *clips[name]) for name in ("same", "elsewhere")}
    rollout = rollout_of()
    lifts = {name: LpipsLift().measure(rollout, {"revisit_lpips": found[name]}).value for name in found}
    assert lifts["same"] == pytest.approx(1, abs=0.1)
    assert lifts["elsewhere"] < 0.4
    ssim = {name: SsimLift().measure(rollout, clips[name][1]).value for name in clips}
    assert ssim["same"] == pytest.approx(1, abs=0.1)
    assert ssim["compressed"] > 0.9
    assert ssim["same"] > ssim["patch"] > ssim["elsewhere"]
    assert ssim["elsewhere"] == pytest.approx(0, abs=0.25)


def test_what_is_outside_of_the_compared_part_hardly_counts(hub, clips):
    pictures, features = clips["same"]
    returned = int(features["changes"]["pairs"][0, 1])

    def distance(columns):
        painted = [picture.copy() for picture in pictures]
        painted[returned][:, columns] = 0
        return perceive_frames(recipe("lpips"), painted, features)["distances"][0]

    # The panorama turns to the left, so that it is the right side of the first view that is left.
    assert distance(slice(0, 30)) < 0.02 * distance(slice(-30, None))


def test_without_weights_the_networks_decline(hub):
    for kind in (RevisitLpips, RevisitTokens):
        assert kind(changes=CHANGES).declines(rollout_of()).reason is Reason.MISSING_WEIGHTS


def test_a_still_clip_has_no_pairs_to_compare():
    with pytest.raises(Unmeasurable) as refusal:
        clip(degrees=(0.0,) * 12)
    assert refusal.value.reason is Reason.GATE_CLOSED


def test_controls_are_a_frame_of_another_view_and_the_neighbour_of_the_first_visit():
    trajectory = Trajectory.from_feature(panorama.poses())
    controls = choose_controls(trajectory, 0, 16, ComparedPart())
    assert 5 <= controls.floor <= 11
    assert controls.ceiling == 1


@pytest.mark.parametrize(
    "degrees",
    [
        pytest.param((0.0, 40.0, 0.0, -40.0, 0.0), id="each frame shows a half of what was left"),
        pytest.param((0.0, 80.0, 0.0), id="no neighbour shows the view"),
    ],
)
def test_a_path_without_another_view_or_without_a_neighbour_has_no_controls(degrees):
    trajectory = Trajectory.from_feature(panorama.poses(degrees))
    assert choose_controls(trajectory, 0, len(degrees) - 1, ComparedPart()) is None


def test_patches_count_by_the_share_that_is_compared():
    mask = np.zeros((28, 56), bool)
    mask[:14, 21:] = True
    shares = patch_shares(mask, WholeFrame(56).fitted(56, 28, 14), 14)
    assert shares.tolist() == [0, 0.5, 1, 1, 0, 0, 0, 0]


def test_tokens_of_dino_have_a_lift_where_the_network_tells_views_apart(hub, clips):
    outcome = DinoLift(min_gap=0.0).measure(
        rollout_of(), {"revisit_tokens": perceive_frames(recipe("dinov2"), *clips["same"])}
    )
    assert outcome.value > 0.5
