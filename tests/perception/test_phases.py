from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest

from lookaway.core import Case, Reason, Reference, Rollout, Timeline, Unmeasurable
from lookaway.metrics.frame_metrics import Psnr
from lookaway.perception.phases import PhasedFrames, SpreadPartners
from lookaway.perception.similarity.compared_frames import GeneratedSize, ReferenceFrames
from lookaway.perception.similarity.frame_fidelity import FrameFidelity, LumaFidelity
from tests.support.compared import answered
from tests.support.golden import golden_arrays, golden_numbers
from tests.support.memobench import write_pictures
from tests.support.watching import check_documented, perceive

STARTS = {"visible": 0, "disappeared": 40, "reappeared": 80}


@pytest.fixture(scope="module")
def rollout(tmp_path_factory):
    video = write_pictures(tmp_path_factory.mktemp("reference") / "RGB1", 120)
    case = Case(id="a", subset="s", scene="a", reference=Reference(video=video, phase_starts=STARTS))
    return Rollout(case=case, model="m", video=video / "clip.mp4")


def partners(rollout, frames=81, **options):
    return dict(PhasedFrames(**options).partners(Timeline(np.arange(frames) / 16, 32, 24), rollout).indices)


def published(first, last, reference_first, reference_last):
    """The official formula, spelled out."""
    count = last - first + 1
    return {
        first + i: round(reference_first + i * (reference_last - reference_first) / (count - 1)) for i in range(count)
    }


def test_published_partners_are_piecewise_and_meet_at_keyframes(rollout):
    expected = published(0, 27, 0, 40) | published(27, 54, 40, 80) | published(54, 80, 80, 119)
    assert partners(rollout, shares_ends=True) == expected


def test_the_whole_video_is_published_along_a_line(rollout):
    assert partners(rollout, shares_ends=True, is_linear=True) == published(0, 80, 0, 119)


def test_by_default_every_frame_has_its_partner_in_the_same_phase(rollout):
    found = partners(rollout)
    assert list(found) == list(range(81))
    assert (found[0], found[26], found[27], found[54]) == (0, 39, 40, 80)
    assert partners(rollout, 120) == {frame: frame for frame in range(120)}


def spread_partners(rollout, frames=81, **options):
    found = SpreadPartners(**options).partners(Timeline(np.arange(frames) / 16, 32, 24), rollout)
    return dict(found.indices)


def test_a_phase_is_spread_over_as_published_in_both_videos(rollout):
    expected = {int(54 + k * (80 - 54) / 2): int(80 + k * (119 - 80) / 2) for k in range(3)}
    assert spread_partners(rollout, shares_ends=True) == expected == {54: 80, 67: 99, 80: 119}
    assert spread_partners(rollout, phase="visible", count=2) == {0: 0, 26: 39}
    assert spread_partners(rollout, 3) == {2: 119}


def test_a_spread_needs_two_frames_and_a_reference_with_phases(rollout):
    with pytest.raises(ValueError, match="2 or more"):
        SpreadPartners(count=1)
    bare = replace(rollout, case=replace(rollout.case, reference=None))
    assert SpreadPartners().declines(rollout) is None
    assert SpreadPartners().declines(bare).reason is Reason.MISSING_INPUT
    with pytest.raises(Unmeasurable, match="phases seen are not annotated"):
        spread_partners(rollout, phase="seen")


def test_annotated_phases_of_the_rollout_do_not_move_partners(rollout):
    assert partners(replace(rollout, phases={"visible": (0, 3)})) == partners(rollout)


def test_without_a_reference_or_its_phases_there_is_nothing_to_compare(rollout):
    bare = replace(rollout, case=replace(rollout.case, reference=None))
    unphased = replace(rollout, case=replace(rollout.case, reference=Reference(video=rollout.video)))
    assert PhasedFrames().declines(rollout) is None
    assert PhasedFrames().declines(bare).reason is PhasedFrames().declines(unphased).reason is Reason.MISSING_INPUT
    assert PhasedFrames(is_linear=True).declines(unphased) is None
    with pytest.raises(Unmeasurable):
        partners(bare)


# Sizes


def picture(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def test_frames_are_compared_at_the_reduced_size_of_the_generated_one():
    first, second = GeneratedSize(640).pair(picture(480, 832), picture(1080, 1920))
    assert first.shape == second.shape == (369, 640, 3)
    np.testing.assert_array_equal(second, cv2.resize(picture(1080, 1920), (640, 369), interpolation=cv2.INTER_AREA))
    assert GeneratedSize(640).size_of(Timeline(np.zeros(1), 832, 480)) == (640, 369)


def test_small_frames_are_never_enlarged():
    small = picture(30, 40)
    first, second = GeneratedSize(640).pair(small, picture(60, 80))
    assert first is small
    assert second.shape == small.shape


def test_a_side_has_a_pixel():
    with pytest.raises(ValueError, match="at least"):
        GeneratedSize(0)


# Numbers of the official code


def test_psnr_and_grey_ssim_are_those_of_the_official_code(tmp_path):
    pictures = golden_arrays("mind")
    numbers = golden_numbers("memobench")
    rollout = answered(tmp_path, pictures["pred"], pictures["gt"])
    recipe = LumaFidelity(compared=ReferenceFrames(), canvas=GeneratedSize())
    feature = perceive(recipe, rollout)
    check_documented(recipe, feature)
    np.testing.assert_allclose(feature["ssim"], numbers["ssim_gray"], atol=1e-5)
    outcome = Psnr(ceiling_db=99).measure(rollout, {"fidelity": feature})
    np.testing.assert_allclose([unit.outcome.value for unit in outcome.units], numbers["psnr"], atol=1e-4)


def test_luma_alone_decides_ssim_and_all_channels_the_difference(tmp_path):
    level = np.zeros((2, 48, 64, 3), np.uint8) + 90
    shifted = level.copy()
    shifted[..., 0], shifted[..., 1] = 90 + 58, 90 - 29  # luma stays at 90, give or take a rounding
    rollout = answered(tmp_path, shifted, level)
    luma, colour = (perceive(kind(compared=ReferenceFrames()), rollout) for kind in (LumaFidelity, FrameFidelity))
    assert luma["ssim"].min() > 0.999 > 0.99 > colour["ssim"].max()
    np.testing.assert_array_equal(luma["mse"], colour["mse"])
