"""Each function called as its trainer calls it, with videos of its type and layout."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
import torch

from lookaway.core import Abstention, Score, UserError
from lookaway.engine.scorer import VideoScores
from lookaway.io.encoding import write_video
from lookaway.training import trainers
from lookaway.training.reward import MEMORY

FRAMES = np.arange(4 * 3 * 16 * 24, dtype=np.uint8).reshape(4, 3, 16, 24)
KEPT = {name: Score(1.0 if name == "aligned_ssim" else 0.0) for name in MEMORY.terms}


class Scorer:
    """A scorer whose answer is known, that remembers what it was asked."""

    def __init__(self) -> None:
        self.is_tested = True
        self.asked: list[tuple] = []

    def __call__(self, video, *, fps, paths, prompt=()):
        self.asked.append((video, fps, paths, prompt))
        outcomes = dict(KEPT) if self.is_tested else dict.fromkeys(KEPT, Abstention("gate_closed", "not tested"))
        return VideoScores(outcomes=outcomes, is_tested=self.is_tested, untested=frozenset(), seconds=0.0)


@pytest.fixture
def scorer(monkeypatch):
    for name in (trainers.REWARD, trainers.UNMEASURED, trainers.FPS):
        monkeypatch.delenv(name, raising=False)
    trainers._reward.cache_clear()
    scorer = Scorer()
    monkeypatch.setattr(trainers._reward(), "scorer", scorer)
    yield scorer
    trainers._reward.cache_clear()


def verl_omni(path: str, video) -> dict:
    """As its reward loop calls a scorer: by keyword, with what the dataset row has."""
    module, _, name = path.rpartition(".")
    scored = getattr(importlib.import_module(module), name)(
        data_source="worlds",
        solution_image=video,
        ground_truth="",
        extra_info={"fps": 8, "index": 3},
        reward_router=None,
    )
    assert isinstance(scored["score"], float)
    return scored


def test_verl_omni_gets_a_score_and_whether_it_is_measured(scorer):
    scored = verl_omni("lookaway.training.trainers.compute_score", torch.from_numpy(FRAMES))
    assert (scored["score"], scored["measured"], scored["changed_area"]) == (1.0, 1.0, 1.0)
    frames, fps, paths, _ = scorer.asked[0]
    assert np.array_equal(frames, FRAMES)
    assert (fps, paths) == (8.0, None)


def test_an_untested_video_is_paid_the_constant_and_is_marked_as_unmeasured(scorer, monkeypatch):
    scorer.is_tested = False
    assert verl_omni("lookaway.training.trainers.compute_score", FRAMES) == {"score": 0.0, "measured": 0.0}
    monkeypatch.setenv(trainers.UNMEASURED, "-0.25")
    assert verl_omni("lookaway.training.trainers.compute_score", FRAMES)["score"] == -0.25


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.uint8])
def test_flow_grpo_gets_one_score_for_each_video_of_its_floats(scorer, dtype):
    scale = 1 if dtype == torch.uint8 else 255
    videos = (torch.from_numpy(np.stack([FRAMES, FRAMES])) / scale).to(dtype)
    scores, extra = trainers.memory_score(videos, ["a room", "a room"], [{"fps": 12}, {}])
    assert (scores, extra) == ([1.0, 1.0], {"measured": [1.0, 1.0]})
    seen = [asked[0].astype(int) for asked in scorer.asked]
    assert max(np.abs(frames - FRAMES).max() for frames in seen) <= (0 if dtype != torch.float16 else 1)
    assert [asked[1] for asked in scorer.asked] == [12.0, 16.0]


def test_flow_grpo_with_metadata_of_another_length_is_told_so(scorer):
    with pytest.raises(UserError, match="metadata has 1 entries for 2 videos"):
        trainers.memory_score(np.stack([FRAMES, FRAMES]), ["", ""], [{}])


def test_dance_grpo_reads_the_axes_of_videoalign(scorer, tmp_path):
    """As DanceGRPO does: one file at a time, normalised, and the axis that it trains on."""
    path = tmp_path / "0.mp4"
    write_video(path, FRAMES.transpose(0, 2, 3, 1), 8)
    inferencer = trainers.VideoAlignReward("checkpoints/VideoReward", device="cuda:0", dtype=torch.bfloat16)
    with torch.no_grad():
        reward = inferencer.reward([str(path)], ["a room"], use_norm=True)
    assert [reward[0][axis] for axis in ("VQ", "MQ", "TA", "Overall")] == [1.0] * 4
    assert reward[0]["measured"] == 1.0


def test_worldplay_hands_over_the_path_that_the_camera_was_asked_for(scorer):
    poses = torch.eye(4).repeat(4, 1, 1)
    found = trainers.world_reward("0.mp4", gt_camera_pose=poses, gt_action=[0, 1], caption="a room", step=7)
    assert found["reward"] == 1.0
    _, _, paths, prompt = scorer.asked[0]
    assert paths.requested.shape == (4, 4, 4)
    assert prompt == ("a room",)


def test_a_file_that_cannot_be_read_is_unmeasured_and_not_minus_one(monkeypatch, tmp_path):
    monkeypatch.delenv(trainers.REWARD, raising=False)
    trainers._reward.cache_clear()
    (tmp_path / "broken.mp4").write_bytes(b"no video")
    (found,) = trainers.VideoAlignReward().reward([str(tmp_path / "broken.mp4")], [""])
    assert found == {"VQ": 0.0, "MQ": 0.0, "TA": 0.0, "Overall": 0.0, "measured": 0.0}


def test_the_reward_of_a_file_is_used_and_its_constant_counts(monkeypatch, tmp_path):
    path = tmp_path / "reward.yaml"
    path.write_text("unmeasured: -1\nterms:\n  light: {floor: 2, ceiling: 0}\n")
    monkeypatch.setenv(trainers.REWARD, str(path))
    trainers._reward.cache_clear()
    monkeypatch.setattr(trainers._reward(), "scorer", Scorer())
    trainers._reward().scorer.is_tested = False
    assert trainers.compute_score(solution_image=FRAMES) == {"score": -1.0, "measured": 0.0}
    trainers._reward.cache_clear()


@pytest.mark.parametrize("frames", [FRAMES.astype(np.float32), np.full(FRAMES.shape, np.nan, np.float32)])
def test_floats_that_are_not_from_0_to_1_are_refused(scorer, frames):
    with pytest.raises(UserError, match="Expected 0 to 1"):
        trainers.compute_score(solution_image=frames)


def test_a_constant_that_is_no_number_is_refused(scorer, monkeypatch):
    scorer.is_tested = False
    monkeypatch.setenv(trainers.UNMEASURED, "nothing")
    with pytest.raises(UserError, match="LOOKAWAY_UNMEASURED is 'nothing'"):
        trainers.compute_score(solution_image=FRAMES)
