from __future__ import annotations

import csv
from dataclasses import replace

import pytest

from lookaway.core import Abstention, Compute, Reason, Score, UserError
from lookaway.engine.binding import Overrides
from lookaway.reports.export.memobench import COLUMNS, ORS_COLUMNS, export_memobench_leaderboard, export_memobench_table
from lookaway.suites.memobench import MemoBench
from tests.support.memobench_runs import memobench_run

METRICS = [bound.name for bound in MemoBench().metrics({}) if bound.is_of("published") and not bound.is_gate]


REAPPEARANCE = {
    "words": "fox",
    "video_frames": 81,
    "first_frame": 54,
    "frames": 27,
    "detection_rate": 0.66667,
    "mean_confidence": 0.55833,
    "frames_detected": 18,
}


def phase(name, value, start, stop):
    known = {"phase": name, "first_frame": start, "past_last_frame": stop, "reference_frames": 120}
    return Score(value, detail=known)


def complete():
    bounds = {"visible": (0, 28), "disappeared": (27, 55), "reappeared": (54, 81)}
    found = {
        f"memobench.{name}.{metric}": phase(name, value, *own)
        for name, own in bounds.items()
        for metric, value in (("psnr", 23.52334), ("ssim", 0.74131), ("lpips", 0.3))
    }
    found |= {
        f"memobench.all.{metric}": Score(value) for metric, value in (("psnr", 20.5), ("ssim", 0.7), ("lpips", 0.4))
    }
    camera = {"ate_rot_deg": 4.40012, "total_gt_rot_deg": 12.0, "mean_rot_error_deg": 2.79821}
    return {
        **found,
        "memobench.camera_controllability": Score(0.63333, raw=4.40012, detail=camera),
        "memobench.object_identity": Score(0.5, detail={"mean": 0.61236, "min": 0.3}),
        "memobench.geo3d": Score(0.9, detail={"mean": 0.98765, "min": 0.9}),
        "memobench.motion_smoothness": Score(0.87678, raw=0.02),
        "memobench.image_quality": Score(0.70149),
        "memobench.aesthetic": Score(0.5, raw=5.1234),
        "memobench.ors": Score(0.37222, detail=REAPPEARANCE),
        "memobench.gt_revisit_similarity": Score(0.81236),
        "memobench.image_reward": Score(0.44449),
        "memobench.motion_gate": Score(1.0, raw=100.0),
    }


def a_run(path, outcomes, *, suite="memobench"):
    return memobench_run(path, outcomes, suite=suite, metrics=METRICS, scene="=Nordic")


def exported(run, output, model="alpha"):
    export_memobench_table(run, output)
    with (output / "outputs" / model / "eval_both.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def line(tmp_path):
    (row,) = exported(a_run(tmp_path / "run", {("alpha", "synthetic/Nordic_003"): complete()}), tmp_path / "out")
    return row


def test_there_are_the_48_columns_of_the_published_table(line):
    assert len(COLUMNS) == len(set(COLUMNS)) == 48
    assert tuple(line) == COLUMNS


def test_a_clip_has_its_lengths_and_keyframes(line):
    assert {name: line[name] for name in COLUMNS[:7]} == {
        "id": "Nordic_003",
        "scene": "'=Nordic",
        "data_type": "synthetic",
        "num_frames": "81",
        "h_start": "27",
        "r_start": "54",
        "gt_frames": "120",
    }


def test_values_are_rounded_as_published(line):
    assert (line["GT_O_PSNR"], line["GT_R_SSIM"], line["GT_ALL_LPIPS"]) == ("23.5233", "0.7413", "0.4")
    assert (line["ATE_RotDeg"], line["TotalGT_RotDeg"], line["MeanRotErrorDeg"]) == ("4.4", "12.0", "2.798")
    assert (line["ObjIdentityMean"], line["AestheticScore"]) == ("0.6124", "5.1234")
    assert (line["TemporalScore"], line["ImageQuality"]) == ("0.8768", "0.7015")


def test_percentages_are_made_from_rounded_values_and_composites_from_rounded_percentages(line):
    assert (line["ObjIdentityMean_pct"], line["ObjIdentityMin_pct"], line["AestheticScore_pct"]) == (
        "61.2",
        "30.0",
        "51.2",
    )
    assert line["ObjIdentityConsistency"] == "51.84"
    assert line["Geo3DConsistency"] == str(round(0.7 * 98.8 + 0.3 * 90.0, 2))
    assert line["ImageQuality_pct"] == "70.2"
    assert line["VisualQuality"] == "60.7"
    assert line["ImageRewardScore"] == line["ImageRewardScore_pct"] == "44.5"
    assert line["GTRevisitSim"] == line["GTRevisitSim_pct"] == "81.2"
    assert line["MotionSmoothness"] == line["TemporalScore_pct"] == "87.7"
    assert line["CameraControllability"] == line["CameraControllability_pct"] == "63.3"


def test_what_is_not_measured_here_is_empty(line):
    for name in ("fx", "fy"):
        assert line[name] == ""


def test_what_has_no_score_is_empty_and_has_its_reason(tmp_path):
    found = complete()
    found["memobench.reappeared.lpips"] = Abstention(Reason.MISSING_WEIGHTS, "no alexnet.")
    del found["memobench.geo3d"]
    whole = {("alpha", "synthetic/Nordic_003"): found, ("alpha", "synthetic/Nordic_004"): complete()}
    first, second = exported(a_run(tmp_path / "run", whole), tmp_path / "out")
    assert first["GT_R_LPIPS"] == first["GeoConsistencyMean"] == first["Geo3DConsistency"] == ""
    assert "memobench.reappeared.lpips: missing_weights: no alexnet." in first["error"]
    assert "memobench.geo3d: not_yet_measured" in first["error"]
    assert second["error"] == ""


def test_every_model_has_a_file_of_its_own(tmp_path):
    run = a_run(tmp_path / "run", {(model, "real/001"): complete() for model in ("alpha", "../beta")})
    written = export_memobench_table(run, tmp_path / "out")
    assert [path.parent.name for path in written] == ["alpha", "alpha", "..%2Fbeta", "..%2Fbeta"]
    assert exported(run, tmp_path / "out")[0]["data_type"] == "real"


def test_reappearance_scores_have_a_table_of_their_own(tmp_path):
    never = {**REAPPEARANCE, "detection_rate": 0.0, "mean_confidence": None, "frames_detected": 0}
    found = {
        ("alpha", "synthetic/Nordic_003"): complete(),
        ("alpha", "real/001"): complete() | {"memobench.ors": Score(0.0, detail=never)},
        ("alpha", "real/002"): complete() | {"memobench.ors": Abstention(Reason.MISSING_WEIGHTS, "no sam3.")},
        ("beta", "real/002"): complete() | {"memobench.ors": Abstention(Reason.MISSING_WEIGHTS, "no sam3.")},
    }
    written = export_memobench_table(a_run(tmp_path / "run", found), tmp_path / "out")
    assert [path.relative_to(tmp_path / "out").as_posix() for path in written] == [
        "outputs/alpha/eval_both.csv",
        "ors_results/alpha/ors_scores.csv",
        "outputs/beta/eval_both.csv",
    ]
    with written[1].open(newline="") as file:
        first, second = csv.DictReader(file)
    assert tuple(first) == ORS_COLUMNS
    assert list(first.values()) == [
        *("Nordic_003", "synthetic", "'=Nordic", "81", "54"),
        *("0.3722", "0.6667", "0.5583", "27", "18"),
    ]
    assert list(second.values())[5:] == ["0.0", "0.0", "0.0", "27", "0"]


def test_a_run_of_another_suite_is_refused(tmp_path):
    run = a_run(tmp_path / "run", {("alpha", "real/001"): {}}, suite="mind")
    with pytest.raises(UserError, match="is a run of 'mind'"):
        export_memobench_table(run, tmp_path / "out")


def test_a_run_of_repaired_metrics_alone_is_refused_with_the_command_that_measures_the_published_ones(tmp_path):
    clip = {("alpha", "real/001"): {"memobench.corrected.all.ssim": Score(0.7), "memobench.revisited": Score(1.0)}}
    run = memobench_run(tmp_path / "run", clip)
    for export in (export_memobench_table, lambda run, path: export_memobench_leaderboard([run], path)):
        with pytest.raises(UserError, match=r"has corrected metrics alone of memobench.* --protocol published"):
            export(run, tmp_path / "out")


def test_repaired_values_do_not_reach_the_official_columns(tmp_path):
    repaired = {name.replace("memobench.", "memobench.corrected."): Score(0.123) for name in complete()}
    repaired["memobench.corrected.reappeared.ssim"] = phase("reappeared", 0.123, 55, 81)
    run = memobench_run(tmp_path / "run", {("alpha", "real/001"): {**complete(), **repaired}})
    (row,) = exported(run, tmp_path / "out")
    assert (row["r_start"], row["GT_R_SSIM"]) == ("54", "0.7413")
    assert "0.123" not in row.values()


def test_a_column_that_was_measured_in_another_way_is_refused(tmp_path):
    bound = {bound.name: bound for bound in MemoBench().metrics({})}
    name = "memobench.camera_controllability"
    tracked = replace(bound[name], recipes=bound["memobench.corrected.camera_controllability"].recipes)
    clip = {("alpha", "real/001"): complete()}
    changed = memobench_run(tmp_path / "run", clip, changed={name: tracked})
    with pytest.raises(UserError, match=r"not as published.*memobench\.camera_controllability \(features\.poses"):
        export_memobench_table(changed, tmp_path / "out")
    (on_gpu,) = Overrides(compute=Compute("cuda")).apply((bound["memobench.geo3d"],))
    export_memobench_table(memobench_run(tmp_path / "gpu", clip, changed={"memobench.geo3d": on_gpu}), tmp_path / "out")
