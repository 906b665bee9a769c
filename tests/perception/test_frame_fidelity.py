from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from lookaway.core import Feature, FrameRequest, Reason, Unmeasurable, VideoError
from lookaway.io.video import Video
from lookaway.metrics.frame_metrics import Psnr
from lookaway.perception.similarity.compared_frames import Canvas, MirroredFrames
from lookaway.perception.similarity.frame_fidelity import (
    FrameFidelity,
    mean_structural_similarity,
    ssim,
)
from tests.support.clips import numbered_frames, write_clip
from tests.support.compared import answered, beside, kept
from tests.support.golden import golden_arrays, golden_numbers
from tests.support.picture_networks import noise
from tests.support.watching import check_documented, perceive, rollout_of

MIRRORED = FrameFidelity(compared=MirroredFrames())


def decibels(feature: Feature) -> list[float]:
    """Of each frame, as the metric says."""
    outcome = Psnr().measure(rollout_of(Path("clip.mp4")), {"fidelity": feature})
    return [unit.outcome.value for unit in outcome.units]


@pytest.fixture(scope="module")
def official():
    """Frames of two clips, and what MIND's own code says of them."""
    pictures = golden_arrays("mind")
    return pictures["gt"], pictures["pred"], golden_numbers("mind")["lcm"]


def test_numbers_are_those_of_the_official_code(tmp_path, official):
    truth, answer, numbers = official
    rollout = answered(tmp_path, answer, truth)
    for path, pictures in ((rollout.video, answer), (rollout.case.reference.video, truth)):
        with Video(path) as video:
            read = [frame.pixels for _, frame in video.frames([FrameRequest(frozenset(range(10)))])]
        np.testing.assert_array_equal(read, pictures)
    feature = perceive(FrameFidelity(), rollout)
    check_documented(FrameFidelity(), feature)
    np.testing.assert_allclose(feature["mse"], numbers["mse"], atol=1e-8)
    np.testing.assert_allclose(feature["ssim"], numbers["ssim"], atol=5e-6)
    np.testing.assert_allclose(decibels(feature), numbers["psnr"], atol=1e-5)
    assert feature["frame_indices"].tolist() == feature["partner_indices"].tolist() == list(range(10))


def test_numbers_are_those_of_torchmetrics(tmp_path):
    image = pytest.importorskip("torchmetrics.image", reason="torchmetrics, which is compared with, is not installed")
    import torch

    answer, truth = numbered_frames(3, width=96, height=64), numbered_frames(3, width=96, height=64, seed=1)
    truth[1] = np.clip(answer[1] * 0.8 + 20, 0, 255).astype(np.uint8)
    feature = perceive(FrameFidelity(), answered(tmp_path, answer, truth))
    ours, theirs = (torch.from_numpy(np.stack(each)).permute(0, 3, 1, 2) / 255 for each in (answer, truth))
    ssim = image.StructuralSimilarityIndexMeasure(data_range=1.0, reduction="none")(ours, theirs)
    psnr = image.PeakSignalNoiseRatio(data_range=1.0, reduction="none", dim=[1, 2, 3])(ours, theirs)
    np.testing.assert_allclose(feature["ssim"], ssim, atol=1e-5)
    np.testing.assert_allclose(decibels(feature), psnr, atol=1e-5)


def test_frames_that_are_equal_are_without_error(tmp_path):
    pictures = noise(3, 32, 48)
    feature = perceive(FrameFidelity(), answered(tmp_path, pictures, pictures))
    assert (feature["mse"].tolist(), feature["ssim"].tolist()) == ([0] * 3, [1] * 3)


def test_black_against_white_is_the_worst_error_and_a_negative_the_worst_likeness(tmp_path):
    black, (texture,) = np.zeros((32, 48, 3), np.uint8), noise(1, 32, 48)
    feature = perceive(FrameFidelity(), answered(tmp_path, [black, texture], [255 - black, 255 - texture]))
    assert feature["mse"][0] == pytest.approx(1, abs=1e-12)
    assert feature["ssim"][0] < 1e-3
    assert feature["ssim"][1] < -0.9


def test_errors_grow_with_noise(tmp_path):
    rng = np.random.default_rng(0)
    truth = numbered_frames(4, width=64, height=48)
    answer = [np.clip(each + rng.normal(0, 8 * step, each.shape), 0, 255) for step, each in enumerate(truth)]
    feature = perceive(FrameFidelity(), answered(tmp_path, [each.astype(np.uint8) for each in answer], truth))
    assert (np.diff(feature["mse"]) > 0).all()
    assert (np.diff(feature["ssim"]) < 0).all()


def test_turning_both_videos_around_changes_nothing(tmp_path):
    answer, truth = noise(2, 32, 48), noise(2, 32, 48, seed=1)
    found = perceive(FrameFidelity(), answered(tmp_path, answer, truth))
    turned = [[picture[::-1, ::-1, ::-1] for picture in each] for each in (answer, truth)]
    again = perceive(FrameFidelity(), answered(tmp_path / "turned", *turned))
    for name in ("mse", "ssim"):
        np.testing.assert_allclose(found[name], again[name], atol=1e-7)


def test_a_path_that_is_gone_back_is_without_error_and_one_that_is_not_is_not(tmp_path):
    way = numbered_frames(4, width=64, height=48)
    back = perceive(MIRRORED, kept(tmp_path / "back.mp4", [*way, *way[::-1]]))
    assert back.detail == {"video_frames": 8}
    assert (back["mse"].tolist(), back["ssim"].tolist()) == ([0] * 4, [1] * 4)
    assert (back["frame_indices"].tolist(), back["partner_indices"].tolist()) == ([0, 1, 2, 3], [7, 6, 5, 4])
    onwards = perceive(MIRRORED, kept(tmp_path / "onwards.mp4", [*way, *way]))
    assert (onwards["mse"] > 0.001).all()


def test_videos_of_two_sizes_are_compared_on_a_canvas(tmp_path):
    truth = [np.full((64, 96, 3), 100, np.uint8)] * 2
    answer = [np.full((30, 60, 3), 100, np.uint8), np.full((30, 60, 3), 151, np.uint8)]
    rollout = answered(tmp_path, answer, truth)
    with pytest.raises(Unmeasurable, match="frames are 60 x 30") as found:
        perceive(FrameFidelity(), rollout)
    assert found.value.reason is Reason.INVALID_INPUT
    feature = perceive(FrameFidelity(canvas=Canvas(36, 64)), rollout)
    np.testing.assert_allclose(feature["mse"], [0, 0.04], atol=1e-8)


def test_a_canvas_is_what_both_pictures_are_compared_on(tmp_path):
    answer, truth, canvas = noise(1, 64, 96), noise(1, 48, 64, seed=1), Canvas(36, 64)
    feature = perceive(FrameFidelity(canvas=canvas), answered(tmp_path, answer, truth))
    first, second = canvas.cover(answer[0]), canvas.cover(truth[0])
    assert feature["mse"][0] == pytest.approx(np.square((first - second) / 255.0).mean(), rel=1e-6)
    expected = ssim(cv2, first, second, window=11, sigma=1.5).mean()
    assert feature["ssim"][0] == pytest.approx(expected, abs=1e-6)


def test_window_and_sigma_reach_the_likeness(tmp_path):
    rollout = answered(tmp_path, noise(1, 32, 48), noise(1, 32, 48, seed=1))
    found = [perceive(FrameFidelity(**each), rollout)["ssim"][0] for each in ({}, {"window": 7}, {"sigma": 0.8})]
    assert len({round(each, 6) for each in found}) == 3
    with pytest.raises(ValueError, match="its side is odd, found 10"):
        FrameFidelity(window=10)


def test_what_there_is_to_compare_with_must_be_named_and_readable(tmp_path):
    answer = kept(tmp_path / "answer.mp4", noise(2, 32, 48))
    declined = FrameFidelity().declines(rollout_of(answer))
    assert declined.reason is Reason.MISSING_INPUT
    with pytest.raises(VideoError, match="the video to compare with") as missing:
        perceive(FrameFidelity(), beside(answer, tmp_path / "truth.mp4"))
    assert missing.value.reason is Reason.MISSING_VIDEO
    with pytest.raises(Unmeasurable, match="begins at frame 2") as short:
        perceive(FrameFidelity(), beside(answer, answer, start=2))
    assert short.value.reason is Reason.TOO_SHORT


def test_who_answered_changes_nothing(tmp_path):
    rollout = answered(tmp_path, noise(2, 32, 48), noise(2, 32, 48, seed=1))
    other = replace(rollout, model="other", seed="7")
    for name in ("mse", "ssim"):
        np.testing.assert_array_equal(perceive(FrameFidelity(), rollout)[name], perceive(FrameFidelity(), other)[name])


@pytest.mark.parametrize("height", [3, 64, 65, 130, 200])
@pytest.mark.parametrize("window", [1, 11, 21])
def test_strips_join_without_a_seam(height, window):
    first, second = noise(1, height, 40)[0], noise(1, height, 40, seed=1)[0]
    whole = ssim(cv2, first, second, window=window, sigma=1.5)
    found = mean_structural_similarity(cv2, first, second, window=window, sigma=1.5)
    assert found == pytest.approx(whole.mean(), abs=1e-6)


@pytest.mark.parametrize(("level", "other"), [(255, 255), (255, 250), (250, 250), (3, 3), (0, 255)])
def test_single_precision_is_enough_where_pictures_are_bright_and_flat(level, other):
    rng = np.random.default_rng(0)
    first, second = (
        np.clip(each + rng.normal(0, 1, (150, 170, 3)), 0, 255).astype(np.uint8) for each in (level, other)
    )
    exact = ssim(cv2, first, second, window=11, sigma=1.5)
    found = ssim(cv2, first, second, window=11, sigma=1.5, precision=np.float32)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, exact, atol=2e-4)
    assert mean_structural_similarity(cv2, first, second, window=11, sigma=1.5) == pytest.approx(exact.mean(), abs=1e-6)


MEMORY = """
import sys
from pathlib import Path
from lookaway.perception.similarity.compared_frames import Canvas
from lookaway.perception.similarity.compared_frames import MirroredFrames
from lookaway.perception.similarity.frame_fidelity import FrameFidelity
from tests.support.watching import perceive

def peak():
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024

recipe = FrameFidelity(compared=MirroredFrames(), canvas=Canvas(720, 1280))
perceive(recipe, Path(sys.argv[1]))
before = peak()
print(len(perceive(recipe, Path(sys.argv[2]))["ssim"]), peak() - before)
"""


def test_a_long_path_in_1080p_takes_less_than_300_megabytes(tmp_path):
    small = write_clip(tmp_path / "small.mp4", numbered_frames(4, width=320, height=180))
    # As decoded, all pairs together would take 373 MB, and on the canvas 664 MB.
    pictures = numbered_frames(2, width=1920, height=1080)
    large = write_clip(tmp_path / "large.mp4", [pictures[0]] * 30 + [pictures[1]] * 30, options={"preset": "ultrafast"})
    command = [sys.executable, "-c", MEMORY, str(small), str(large)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    pairs, megabytes = done.stdout.split()
    assert pairs == "30"
    assert 100 < float(megabytes) < 300
