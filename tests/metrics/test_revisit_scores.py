from __future__ import annotations

import numpy as np
import pytest

from lookaway.core import Abstention, Feature, Reason
from lookaway.metrics.frame_metrics import Psnr
from lookaway.metrics.revisit_scores import LoopSimilarity, MirrorSymmetry, RevisitMemory
from tests.metrics.test_arc_pairs import official_reversals
from tests.metrics.test_known_returns import WBENCH, turned
from tests.support.revisit_golden import arrays, official, rollout_of, timeline_of

WRITTEN = MirrorSymmetry(rate=0.2, as_written=True)


def distances(values: list[float] | np.ndarray) -> dict[str, Feature]:
    frames = np.stack([np.zeros(len(values), int), 1 + np.arange(len(values))], axis=1)
    return {"distances": Feature({"distances": np.asarray(values, float), "frames": frames})}


def mirrored(mse: list[float] | np.ndarray, count: int) -> dict[str, Feature]:
    arrays = {"mse": np.asarray(mse) / 255**2, "frame_indices": np.arange(len(mse))}
    return {"fidelity": Feature(arrays, {"video_frames": count})}


@pytest.mark.parametrize("name", ["ws_good", "lr_good_w640", "lr_good_w1280", "wsw_double"])
def test_revisit_memory_is_that_of_the_official_code(name):
    patches = arrays()["wm_patch"]
    unit = (patches / np.linalg.norm(patches, axis=-1, keepdims=True)).mean(axis=1)
    unit /= np.linalg.norm(unit, axis=-1, keepdims=True)
    pairs = [pair for reversal in official_reversals(name) for pair in reversal.pairs]
    found = RevisitMemory().measure(rollout_of(), distances([1 - unit[i] @ unit[j] for i, j in pairs]))
    expected = official()["worldmark"]["cases"][name]["official"]
    assert found.value == pytest.approx(expected["C2"], abs=5.1e-4)
    assert found.raw == pytest.approx(expected["dbar"], abs=5.1e-5)
    assert len(found.units) == expected["n_pairs"]


def test_equal_views_score_100_and_unrelated_ones_67():
    assert RevisitMemory().measure(rollout_of(), distances([0.0, 0.0])).value == 100
    assert RevisitMemory().measure(rollout_of(), distances([0.5, 0.5])).value == pytest.approx(200 / 3)
    assert RevisitMemory().measure(rollout_of(), distances([2.0])).value == pytest.approx(100 / 3)


def test_the_soft_gate_is_that_of_the_official_code():
    for back, least, score, gate in official()["wbench"]["score_table"]:
        found = LoopSimilarity(min_change=0.15).measure(rollout_of(), distances([1 / least - 1, 1 / back - 1]))
        if least > back:  # the return is a frame like any other, so that no clip has such a table row
            continue
        assert found.value == pytest.approx(score)
        assert found.detail["gate"] == pytest.approx(gate)


def loop_of(name: str):
    """The score of an official loop, with the official stand-in for DreamSim: the mean absolute difference."""
    case, yaws = official()["wbench"]["cases"][name], arrays()[f"wb_yaw_{name}"]
    video = [arrays()["sana_frame_game_style_001"]] * 41 if name == "frozen" else arrays()["sana_vid_indoor_001"]
    action = {2: "left_then_right", 3: "left,W,right", 4: "left,left,right,right"}[case["n_turns"]]
    poses = turned(yaws, case["stride"]).to_feature()
    pairs = WBENCH.choose(rollout_of(action=action), timeline_of(41), {"poses": poses}).frames
    apart = [np.abs(video[0].astype(float) - video[frame]).mean() / 255 for frame in pairs[:, 1]]
    return LoopSimilarity(min_change=0.15).measure(rollout_of(), distances(apart))


LOOPS = ["loop", "loop_stride2", "overshoot", "frozen", "three_turns", "translation_only_jitter"]


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_has_the_official_similarities_gate_and_score(name):
    expected, found = official()["wbench"]["cases"][name]["official"], loop_of(name)
    assert round(found.value, 4) == expected["score"]
    assert round(found.detail["return_similarity"], 4) == expected["ret_sim"]
    assert round(found.detail["min_similarity"], 4) == expected["min_sim"]
    assert round(found.detail["gate"], 4) == expected["gate"]


def test_the_mean_over_loops_is_the_official_one():
    summary = official()["wbench"]["summary"]
    found = [loop_of(name) for name in LOOPS]
    assert len(found) == summary["n_cases"]
    assert np.mean([score.value for score in found]) == pytest.approx(summary["score"], abs=1e-4)
    assert np.mean([score.detail["return_similarity"] for score in found]) == pytest.approx(
        summary["ret_sim"], abs=1e-4
    )


def test_a_picture_that_never_changes_scores_1_without_and_0_with_the_gate():
    still = distances([0.0] * 9)
    assert LoopSimilarity().measure(rollout_of(), still).value == 1
    assert LoopSimilarity(min_change=0.15).measure(rollout_of(), still).value == 0


def test_a_view_that_was_left_and_found_again_scores_the_same_with_and_without_the_gate():
    loop = distances([0.2, 0.4, 0.2, 0.05])
    plain, gated = (LoopSimilarity(min_change=change).measure(rollout_of(), loop).value for change in (None, 0.15))
    assert plain == gated == pytest.approx(1 / 1.05)


@pytest.mark.parametrize(
    ("name", "frames"), [("indoor_001", 41), ("indoor_002_even60", 60), ("frozen", 41), ("unrelated", 21)]
)
def test_symmetry_is_that_of_the_official_code_as_written_and_as_intended(name, frames):
    case = official()["iworld"]["cases"][name]
    features = mirrored(case["pair_mse"], frames)
    for metric, key in ((WRITTEN, "written_score"), (MirrorSymmetry(), "intended_score")):
        assert metric.measure(rollout_of(), features).value == pytest.approx(case[key], abs=1e-6)


def test_the_map_from_squared_differences_is_that_of_the_official_code():
    mse, expected = np.array(official()["iworld"]["mse_map"]).T
    np.testing.assert_allclose(MirrorSymmetry().scores(mse), expected, atol=1e-12)


def test_as_written_the_last_frames_decide_and_as_intended_both_ends_do():
    poor_ends = [9000.0] * 4 + [0.0] * 16
    poor_middle = poor_ends[::-1]
    intended = [MirrorSymmetry().measure(rollout_of(), mirrored(mse, 40)).value for mse in (poor_ends, poor_middle)]
    written = [WRITTEN.measure(rollout_of(), mirrored(mse, 40)).value for mse in (poor_ends, poor_middle)]
    assert written[0] < intended[0] < intended[1] < written[1]


def test_psnr_is_averaged_over_frames_and_then_over_videos():
    expected = official()["worldmem"]
    generated, true = (np.clip(arrays()[f"worldmem_{name}"], 0, 1).astype(float) for name in ("pred", "gt"))
    squares = (generated - true) ** 2
    videos = []
    for video in range(2):
        mse = squares[:, video].mean(axis=(1, 2, 3))
        feature = Feature({"mse": mse, "frame_indices": np.arange(len(mse))})
        found = Psnr().measure(rollout_of(), {"fidelity": feature})
        assert [unit.outcome.value for unit in found.units] == pytest.approx(expected["frame_psnr"][video], abs=1e-5)
        assert found.value == pytest.approx(expected["video_psnr"][video], abs=1e-5)
        videos.append(found.value)
    assert np.mean(videos) == pytest.approx(expected["psnr"], abs=1e-5)
    assert -10 * np.log10(squares.mean()) == pytest.approx(expected["psnr_pooled_mse"], abs=1e-5)


@pytest.mark.parametrize("metric", [RevisitMemory(), LoopSimilarity()])
def test_no_pairs_are_too_short(metric):
    outcome = metric.measure(rollout_of(), distances([]))
    assert isinstance(outcome, Abstention)
    assert outcome.reason == Reason.TOO_SHORT


def test_no_mirrored_frames_are_too_short():
    outcome = MirrorSymmetry().measure(rollout_of(), mirrored([], 1))
    assert isinstance(outcome, Abstention)
    assert outcome.reason == Reason.TOO_SHORT
