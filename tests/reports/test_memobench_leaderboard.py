from __future__ import annotations

import csv

import pytest

from lookaway.core import Abstention, Reason, Score, UserError
from lookaway.reports.export.memobench import export_memobench_leaderboard
from tests.support.command import lookaway
from tests.support.memobench_runs import memobench_run

COLUMNS = (
    "Model,VisualQuality,MotionSmoothness,ObjIdentityConsistency,Geo3DConsistency,CameraControllability,"
    "ImageRewardScore,ORS,GT_ALL_PSNR,GT_ALL_SSIM,GT_ALL_LPIPS,InstructionFollowing,ObjectBackground,"
    "ContinuityOfMemory,PhysicsAdherence"
)


def outcomes(psnr=20.0, ors=0.25):
    return {
        "memobench.all.psnr": Score(psnr),
        "memobench.all.ssim": Score(0.7),
        "memobench.ors": Score(ors),
        "memobench.vqa.physics_adherence": Score(0.75),
        "memobench.camera_controllability": Score(0.004, detail={}),
        "memobench.object_identity": Score(0.5, detail={"mean": 0.5, "min": 0.3}),
    }


def board(path):
    with path.open(newline="") as file:
        return {row["Model"]: row for row in csv.DictReader(file)}


@pytest.fixture
def row(tmp_path):
    clips = {("alpha", "synthetic/Nordic_003"): outcomes(), ("alpha", "real/007"): outcomes(psnr=23.0, ors=0.5)}
    export_memobench_leaderboard([memobench_run(tmp_path / "run", clips)], tmp_path / "board.csv")
    return board(tmp_path / "board.csv")["alpha"]


def test_the_columns_are_those_of_the_published_leaderboard(row):
    assert ",".join(row) == COLUMNS


def test_numbers_are_plain_means_over_clips_of_both_parts_with_four_digits(row):
    assert (row["GT_ALL_PSNR"], row["GT_ALL_SSIM"]) == ("21.5000", "0.7000")
    assert (row["ORS"], row["PhysicsAdherence"]) == ("37.5000", "75.0000")
    assert row["ObjIdentityConsistency"] == "44.0000"


def test_a_small_percentage_is_not_taken_for_a_share(row):
    assert row["CameraControllability"] == "0.4000"


def test_what_was_not_measured_is_empty(row):
    for column in ("VisualQuality", "ImageRewardScore", "Geo3DConsistency", "GT_ALL_LPIPS", "InstructionFollowing"):
        assert row[column] == ""


def test_a_clip_without_a_value_does_not_count(tmp_path):
    first, second = outcomes(psnr=10.0), outcomes()
    second["memobench.all.psnr"] = Abstention(Reason.UNDECODABLE, "broken.")
    run = memobench_run(tmp_path / "run", {("alpha", "real/001"): first, ("alpha", "real/002"): second})
    export_memobench_leaderboard([run], tmp_path / "board.csv")
    assert board(tmp_path / "board.csv")["alpha"]["GT_ALL_PSNR"] == "10.0000"


def test_a_video_that_stands_still_counts_as_in_the_published_table(tmp_path):
    found = {**outcomes(), "memobench.revisited": Score(0.0)}
    run = memobench_run(tmp_path / "run", {("=frozen", "real/001"): found})
    export_memobench_leaderboard([run], tmp_path / "board.csv")
    assert board(tmp_path / "board.csv")["'=frozen"]["ORS"] == "25.0000"


def test_a_model_may_be_spread_over_runs(tmp_path):
    clip = ("alpha", "real/001")
    questions = {"memobench.vqa.instruction_following": Score(1.0)}
    runs = [
        memobench_run(tmp_path / "a", {clip: outcomes(psnr=10.0)}),
        memobench_run(tmp_path / "b", {clip: questions, ("alpha", "real/002"): outcomes(psnr=20.0)}),
        memobench_run(tmp_path / "c", {("beta", "real/001"): outcomes()}),
    ]
    result = lookaway("export", "memobench-leaderboard", *(run.path for run in runs), "-o", tmp_path / "board.csv")
    assert (result.code, result.err) == (0, "")
    found = board(tmp_path / "board.csv")
    assert list(found) == ["alpha", "beta"]
    assert (found["alpha"]["GT_ALL_PSNR"], found["alpha"]["InstructionFollowing"]) == ("15.0000", "100.0000")


def test_two_runs_that_disagree_about_a_clip_are_refused(tmp_path):
    runs = [
        memobench_run(tmp_path / name, {("alpha", "real/001"): outcomes(psnr=psnr)})
        for name, psnr in (("a", 10.0), ("b", 11.0))
    ]
    with pytest.raises(UserError, match=r"memobench\.all\.psnr of .* is 11\.0, and 10\.0"):
        export_memobench_leaderboard(runs, tmp_path / "board.csv")


def test_a_run_of_another_suite_is_refused(tmp_path):
    run = memobench_run(tmp_path / "run", {("alpha", "real/001"): outcomes()}, suite="mind")
    with pytest.raises(UserError, match="is a run of 'mind'"):
        export_memobench_leaderboard([run], tmp_path / "board.csv")
