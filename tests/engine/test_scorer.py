from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import lookaway
from lookaway import Abstention, CasePaths, Reason, Score, Scorer, UserError
from lookaway.calibration.clip_changes import read_frames
from lookaway.io.world_clips import WorldClip
from tests.support.rendered import copy_small

pytestmark = pytest.mark.render

FPS = 8


@pytest.fixture(scope="module")
def clips(tmp_path_factory) -> list[Path]:
    """A clean clip, and one in which the light has changed at the return."""
    root = copy_small(
        tmp_path_factory.mktemp("scorer") / "world", families=("kitchen",), events=("none",),
        faults=("lighting_shift",), severities=(1.0,),
    )  # fmt: skip
    found = {rollout.model: rollout.video for rollout in lookaway.read(root).rollouts}
    return [found["perfect"], next(video for model, video in found.items() if model != "perfect")]


@pytest.fixture(scope="module")
def scorer() -> Scorer:
    return Scorer(["light", "changed_area", "aligned_ssim"])


@pytest.fixture(scope="module")
def arrays(clips) -> list[np.ndarray]:
    return [read_frames(clip).transpose(0, 3, 1, 2) for clip in clips]


def test_frames_in_memory_and_a_file_score_as_eval_does(scorer, clips, arrays, tmp_path):
    for number, (clip, frames) in enumerate(zip(clips, arrays, strict=True)):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        (folder / "clip.mp4").write_bytes(clip.read_bytes())
        run = lookaway.evaluate(folder, tmp_path / f"run-{number}", metrics=scorer.metrics, suite="revisit")
        expected = {row["metric"]: row["value"] for row in run.scores if row["metric"] in scorer.metrics}
        assert expected.keys() == set(scorer.metrics)
        assert scorer(clip).values == expected
        assert scorer(frames, fps=FPS).values == expected


def test_a_forgotten_light_scores_worse_and_both_clips_test_memory(scorer, arrays):
    clean, dark = scorer.batch(np.stack(arrays), fps=FPS)
    assert clean.is_tested
    assert dark.is_tested
    assert clean["light"].value < 0.05 < 0.5 < dark["light"].value


def test_a_still_video_is_untested_and_none_of_its_memory_scores_count(scorer, arrays):
    still = np.repeat(arrays[0][:1], len(arrays[0]), axis=0)
    found = scorer(still, fps=FPS)
    assert found.is_tested is False
    assert found.values == {}
    assert not found.is_measured("light")


def test_tensors_and_channels_last_give_the_same_numbers(scorer, arrays):
    import torch

    expected = scorer(arrays[1], fps=FPS).values
    assert scorer(torch.from_numpy(arrays[1]), fps=FPS).values == expected
    assert scorer(arrays[1].transpose(0, 2, 3, 1), fps=FPS).values == expected


def test_threads_get_the_numbers_of_their_own_video(scorer, arrays):
    expected = [scorer(frames, fps=FPS).values for frames in arrays]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda number: scorer(arrays[number % 2], fps=FPS).values, range(6)))
    assert found == [expected[number % 2] for number in range(6)]


def test_the_requested_path_of_a_clip_is_given_with_it(clips, arrays):
    truth = WorldClip.open(clips[0].parent).arrays()
    camera = Scorer(["return_error", "reach_missing"])
    without = camera(arrays[0], fps=FPS)
    assert isinstance(without["return_error"], Abstention)
    assert without["return_error"].reason is Reason.MISSING_INPUT
    asked = CasePaths(requested=truth.requested_camera_to_world, intrinsics=truth.intrinsics)
    found = camera(arrays[0], fps=FPS, paths=asked)
    assert isinstance(found["return_error"], Score)
    assert found["return_error"].value < 1
    given = CasePaths(
        poses=truth.camera_to_world, requested=truth.requested_camera_to_world, intrinsics=truth.intrinsics
    )
    assert camera(arrays[0], fps=FPS, paths=given)["return_error"].value == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        (np.zeros((4, 3, 32, 32), np.float32), "expected uint8"),
        (np.zeros((3, 32, 32), np.uint8), "expected [frames, 3, height, width]"),
        (np.zeros((0, 3, 32, 32), np.uint8), "expected [frames, 3, height, width]"),
        (np.zeros((4, 4, 32, 32), np.uint8), "expected [frames, 3, height, width]"),
        (np.zeros((2, 3, 2, 4096), np.uint8), "the longer at most"),
    ],
)
def test_arrays_that_are_no_video_are_refused_with_what_is_expected(scorer, frames, message):
    with pytest.raises(UserError) as raised:
        scorer(frames)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("poses", "message"),
    [(np.zeros((9, 3)), "expected [N, 3, 4] or [N, 4, 4]"), (np.tile(2 * np.eye(4), (9, 1, 1)), "poses")],
    ids=["shape", "no rotation"],
)
def test_poses_that_are_none_are_refused_with_what_is_wrong(scorer, arrays, poses, message):
    with pytest.raises(UserError) as raised:
        scorer(arrays[0], fps=FPS, paths=CasePaths(poses=poses))
    assert message in str(raised.value)


def test_a_file_that_is_no_video_is_an_abstention(scorer, tmp_path):
    (tmp_path / "empty.mp4").touch()
    for path in (tmp_path / "empty.mp4", tmp_path / "missing.mp4"):
        found = scorer(path)
        assert {type(outcome) for outcome in found.outcomes.values()} == {Abstention}
        assert found.values == {}
        assert found.is_tested is None


def test_evaluate_without_a_folder_measures_videos_as_a_scorer_does(scorer, clips, arrays):
    expected = [scorer(frames, fps=FPS).outcomes for frames in arrays]
    every = np.stack(arrays)
    for videos, count in ((arrays, 2), (every, 2), (arrays[0], 1)):
        found = lookaway.evaluate(videos, metrics=scorer.metrics, fps=FPS)
        assert [one.outcomes for one in found] == expected[:count]
    (of_file,) = lookaway.evaluate(clips[1], metrics=scorer.metrics)
    assert of_file.outcomes == scorer(clips[1]).outcomes


def test_scores_print_as_a_line_for_each_metric_with_the_reason_where_there_is_none(arrays):
    (found,) = lookaway.evaluate(arrays[1], metrics=["light", "undone"], fps=FPS)
    light, undone = str(found).splitlines()
    assert light == f"light   {found.values['light']:.4g}"
    assert undone.startswith("undone  not_applicable: ")


@pytest.mark.parametrize("option", [{"executor": "ray"}, {"smoke": True}, {"limit": 3}, {"on_note": print}])
def test_options_of_runs_are_refused_where_no_run_is_written(arrays, option):
    with pytest.raises(UserError, match=f"{next(iter(option))}: for runs, and nothing says where to write one"):
        lookaway.evaluate(arrays[0], metrics=["light"], **option)


def test_a_folder_without_a_place_for_its_numbers_is_refused_with_the_call(clips):
    with pytest.raises(UserError, match=r"evaluate\(videos, 'runs/first'\)"):
        lookaway.evaluate(clips[0].parent)


def test_a_metric_that_asks_a_judge_is_refused():
    with pytest.raises(UserError, match="asks a judge"):
        Scorer(["mbencha.causal.state_progress"])
