from __future__ import annotations

import cv2
import numpy as np
import pytest

from lookaway.core import Reason, Unmeasurable
from lookaway.metrics.frame_metrics import Psnr, Ssim
from lookaway.metrics.given_pairs import GivenPairs
from lookaway.metrics.known_returns import AnchorPairs
from lookaway.perception.similarity.pair_fidelity import PairFidelity, SsimWindow
from tests.support.compared import kept
from tests.support.picture_networks import noise
from tests.support.revisit_golden import arrays, extracted, official, rollout_of
from tests.support.watching import check_documented, perceive

SANA = PairFidelity(pairs=GivenPairs(clamps=True), window=SsimWindow(11))
SKIMAGE = SsimWindow(7, is_cropped=True, is_sample=True)
SKIMAGE_GREY = SsimWindow(7, is_cropped=True, is_sample=True, is_grey=True)


def scene(name: str):
    """The pairs, frames and rate of a scene of the official run."""
    revisit = official()["sana"]["revisit"]
    given = next(scene for scene in revisit["metadata"]["scenes"] if scene["scene_id"] == name)["evaluation_pairs"]
    pairs = [(pair["frame_a"], pair["frame_b"], pair.get("quality_score")) for pair in given]
    stored = arrays()
    video = stored[f"sana_vid_{name}"] if f"sana_vid_{name}" in stored else [stored[f"sana_frame_{name}"]] * 41
    return rollout_of(pairs=pairs), video, revisit["video_fps"][name]


@pytest.mark.parametrize("name", ["indoor_001", "indoor_002", "game_style_001"])
def test_pairs_have_the_psnr_and_ssim_of_the_official_code(name):
    rollout, video, fps = scene(name)
    feature = extracted(SANA, video, rollout, fps=fps)
    check_documented(SANA, feature)
    psnr, ssim = (metric.measure(rollout, {"fidelity": feature}) for metric in (Psnr(), Ssim()))
    found = {
        tuple(frames): (first.outcome.value, second.outcome.value)
        for frames, first, second in zip(feature["frames"].tolist(), psnr.units, ssim.units, strict=True)
    }
    rows = [row for row in official()["sana"]["revisit"]["unrounded_pairs"] if row[0] == name]
    assert len(found) == len(rows)
    for _, first, second, decibels, similarity in rows:
        assert found[first, second] == pytest.approx((decibels, similarity), abs=1e-6)
    expected = official()["sana"]["revisit"]["official"]["per_scene"][name]
    assert round(psnr.value, 2) == expected["mean_psnr"]
    assert round(ssim.value, 4) == expected["mean_ssim"]
    assert psnr.detail["pairs"] == expected["n_pairs"]


def test_pooled_pairs_weigh_scenes_by_their_pairs_and_means_of_rollouts_do_not():
    expected = official()["sana"]["revisit"]["official"]["summary"]
    scores = []
    for name in ("indoor_001", "indoor_002", "game_style_001"):
        rollout, video, fps = scene(name)
        scores.append(Psnr().measure(rollout, {"fidelity": extracted(SANA, video, rollout, fps=fps)}))
    pooled = [unit.outcome.value for score in scores for unit in score.units]
    assert len(pooled) == expected["n_total_pairs"]
    assert round(float(np.mean(pooled)), 2) == expected["overall_mean_psnr"]
    assert np.mean([score.value for score in scores]) > np.mean(pooled) + 5


@pytest.mark.parametrize(
    ("window", "name"),
    [
        (SsimWindow(11), "sana_uniform11_reflect_population_rgb"),
        (SKIMAGE, "skimage_uniform7_sample_cropped_rgb"),
        (SKIMAGE_GREY, "skimage_uniform7_sample_cropped_grey_mean"),
        (SsimWindow(11, sigma=1.5, is_cropped=True), "skimage_gaussian1.5_population_rgb"),
    ],
)
def test_four_definitions_of_ssim_give_the_official_four_numbers(window, name):
    video = arrays()["sana_vid_indoor_001"]
    assert window.similarity(cv2, video[0], video[40]) == pytest.approx(official()["ssim_definitions"][name], abs=1e-9)


def test_first_and_last_frame_have_the_official_numbers_of_echo_memory_and_of_folded_paths():
    video, rollout = arrays()["sana_vid_indoor_001"], rollout_of()
    echo, folded = official()["echo_memory"], official()["l2r"]
    recipe = PairFidelity(pairs=AnchorPairs(), window=SKIMAGE)
    feature = extracted(recipe, video, rollout)
    assert feature["frames"].tolist() == [[0, 40]]
    assert feature["mse"][0] * 255**2 == pytest.approx(echo["mse"])
    assert Psnr().measure(rollout, {"fidelity": feature}).value == pytest.approx(echo["psnr_first_last"], abs=1e-6)
    assert feature["ssim"][0] == pytest.approx(echo["ssim_first_last"], abs=1e-6)
    grey = extracted(PairFidelity(pairs=AnchorPairs(), window=SKIMAGE_GREY), video, rollout)
    assert grey["ssim"][0] == pytest.approx(folded["ssim_grey_mean"], abs=1e-6)


def test_pairs_that_share_a_frame_are_all_compared(tmp_path):
    pictures = noise(12, 48, 64)
    recipe = PairFidelity(pairs=GivenPairs(fps=8))
    rollout = rollout_of(pairs=[(1, 8, 0), (1, 11, 1), (3, 8, 2), (8, 9, 3)])
    video = kept(tmp_path / "clip.mp4", pictures)
    feature = perceive(recipe, type(rollout)(case=rollout.case, model="model", video=video))
    assert feature["frames"].tolist() == [[1, 8], [3, 8], [8, 9], [1, 11]]
    for (first, second), mse in zip(feature["frames"], feature["mse"], strict=True):
        difference = (pictures[first].astype(float) - pictures[second]) / 255
        assert mse == pytest.approx((difference**2).mean())


def test_equal_frames_are_equal_by_every_definition():
    picture = noise(1, 48, 64)[0]
    for window in (SsimWindow(), SKIMAGE, SKIMAGE_GREY):
        feature = extracted(PairFidelity(pairs=AnchorPairs(), window=window), [picture] * 3, rollout_of())
        assert feature["ssim"].tolist() == pytest.approx([1.0])
        assert feature["mse"].tolist() == [0.0]


def test_what_happens_between_the_frames_of_a_pair_changes_nothing():
    pictures = noise(6, 48, 64)
    recipe = PairFidelity(pairs=AnchorPairs())
    other = [pictures[0], *noise(4, 48, 64, seed=1), pictures[5]]
    assert extracted(recipe, pictures, rollout_of())["ssim"] == extracted(recipe, other, rollout_of())["ssim"]


def test_a_rollout_without_pairs_is_declined():
    declined = PairFidelity(pairs=GivenPairs()).declines(rollout_of())
    assert declined is not None
    assert declined.reason == Reason.MISSING_INPUT
    with pytest.raises(Unmeasurable):
        extracted(PairFidelity(pairs=AnchorPairs()), noise(1, 48, 64), rollout_of())


def test_a_window_without_a_middle_is_refused():
    with pytest.raises(ValueError, match="its side is odd, found 8"):
        SsimWindow(8)
