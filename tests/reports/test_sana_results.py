from __future__ import annotations

import json
from pathlib import Path

import pytest

from lookaway.core import Abstention, Case, Lock, Reason, Rollout, Score, Unit, UserError
from lookaway.engine.evaluate import evaluate
from lookaway.engine.run import Run
from lookaway.io.encoding import write_video
from lookaway.reports.export.sana_results import export_sana_results, vbench_totals
from lookaway.store.outcome_rows import Measured
from lookaway.store.run_folder import RunFolder
from tests.perception.test_pair_fidelity import scene
from tests.suites.test_sana_layout import SanaWriter
from tests.support.command import lookaway
from tests.support.revisit_golden import official
from tests.support.runs import write_about

NAMES = (
    "revisit_psnr", "revisit_ssim", "revisit_lpips", "rot_err", "trans_err", "cam_mc", "delta_iq", "vbench_overall",
    "revisited", "corrected.revisit_psnr",
)  # fmt: skip
DIMENSIONS = {"imaging_quality": 0.7, "dynamic_degree": 0.5, "overall_consistency": 0.2}


def pairs(*values: float) -> Score:
    units = tuple(Unit(f"f{place}_f{place + 30}", Score(value)) for place, value in enumerate(values))
    return Score(sum(values) / len(values), units=units)


def windows(*values: float) -> Score:
    units = tuple(
        Unit(f"w{place}_{10 * place}s-{10 * place + 10}s", Score(value)) for place, value in enumerate(values)
    )
    return Score(values[0] - values[-1], units=units)


def error(value: float) -> Score:
    return Score(value, detail={"frames": 241, "scale": 1.0})


def a_run(path: Path, outcomes, *, seeds=("0",), **settings) -> Run:
    """Outcomes by scene and metric."""
    rollouts, measured = [], []
    for scene_id, found in outcomes.items():
        for seed in seeds:
            case = Case(id=f"hard_60s/{scene_id}", subset="hard_60s", scene=scene_id)
            rollout = Rollout(case=case, model="alpha", seed=seed, video=Path("nowhere.mp4"))
            rollouts.append(rollout)
            measured += [
                Measured(rollout=rollout.id, content="c", metric=f"sana.{name}", lock="l", outcome=outcome)
                for name, outcome in found.items()
            ]
    identity = {"method alpha": {"model": "alpha", "variant": "small"}}
    lock = Lock({"dataset": {"identity": identity, "settings": {"scores": "sana", **settings}}})
    metrics = [{"name": f"sana.{name}", "lock": "l", "subsets": None, "is_gate": name == "revisited"} for name in NAMES]
    about = {"suite": "revisit", "lock_sha256": lock.sha256, "metrics": metrics, "problems": []}
    folder = RunFolder(path)
    folder.start(lock, [(rollout, "c") for rollout in rollouts], about)
    folder.add(measured)
    return Run(path)


def written(run: Run, output: Path) -> dict[str, object]:
    export_sana_results(run, output)
    found = output / "alpha" / "eval" / "hard_60s"
    return {path.stem: json.loads(path.read_text()) for path in found.iterdir()}


def complete() -> dict[str, dict[str, object]]:
    return {
        "indoor_001": {
            "revisit_psnr": pairs(20.004, 30.0),
            "revisit_ssim": pairs(0.5, 0.9),
            "revisit_lpips": pairs(0.2, 0.4),
            "rot_err": error(2.0),
            "trans_err": error(0.25),
            "cam_mc": error(0.5),
            "delta_iq": windows(0.7, 0.6, 0.5),
            "vbench_overall": Score(63.3, detail={"missing": [], "dimensions": DIMENSIONS}),
            "revisited": Score(1.0),
        },
        "indoor_002": {
            "revisit_psnr": pairs(10.0),
            "revisit_ssim": pairs(0.3),
            "rot_err": error(4.0),
            "trans_err": error(0.75),
            "cam_mc": error(0.7),
            "delta_iq": windows(0.5, 0.5),
            "revisited": Score(0.0),
        },
        "game_style_001": {"revisit_psnr": Abstention(Reason.MISSING_VIDEO, "no video")},
    }


def test_a_run_pools_pairs_and_sorts_windows_by_name(tmp_path):
    found = written(a_run(tmp_path / "run", complete()), tmp_path / "out")
    assert found["revisit_consistency"]["summary"] == {
        "overall_mean_psnr": 20.0,
        "overall_mean_ssim": 0.5667,
        "overall_mean_lpips": 0.3,
        "n_scenes_evaluated": 2,
        "n_total_pairs": 3,
        "n_lpips_pairs": 2,
        "per_category": {"indoor": {"mean_psnr": 17.5, "mean_ssim": 0.5, "mean_lpips": 0.3, "n_scenes": 2}},
    }
    assert found["revisit_consistency"]["per_scene"]["indoor_001"] == {
        "mean_psnr": 25.0,
        "mean_ssim": 0.7,
        "mean_lpips": 0.3,
        "n_pairs": 2,
        "pairs": [
            {
                "frame_a": place, "frame_b": place + 30, "psnr": psnr, "ssim": ssim, "lpips": lpips,
                "distance_m": None, "angle_diff_deg": None,
            }
            for place, (psnr, ssim, lpips) in enumerate([(20.0, 0.5, 0.2), (30.0, 0.9, 0.4)])
        ],
    }  # fmt: skip
    assert found["temporal_degradation"]["trend"]["imaging_quality"] == {
        "first_window": 0.6, "last_window": 0.5, "degradation": 0.1, "per_window": [0.6, 0.55, 0.5],
    }  # fmt: skip
    assert found["summary"]["n_videos"] == 2
    assert found["summary"]["lookaway"] | {"lock_sha256": ""} == {"untested": 1, "lock_sha256": ""}


def test_camera_errors_are_where_the_aggregator_looks_for_them(tmp_path):
    found = written(a_run(tmp_path / "run", complete()), tmp_path / "out")
    poses = json.loads((tmp_path / "out/alpha/hard_60s/eval_poses.json").read_text())
    assert poses == found["camera_accuracy"]
    assert poses["indoor_002"] == {
        "RotErr": 4.0, "RotErr_unit": "deg", "TransErr_rel": 0.75, "CamMC_rel": 0.7, "n_frames": 241,
        "scene_type": "indoor", "skip_first_frame": False,
    }  # fmt: skip
    assert found["summary"]["camera"] == {"mean_rot_err_deg": 3.0, "mean_trans_err_rel": 0.5, "n_scenes": 2}


def test_what_was_not_measured_is_left_out(tmp_path):
    outcomes = {"indoor_001": {"revisit_psnr": Abstention(Reason.MISSING_INPUT, "no pairs")}}
    assert written(a_run(tmp_path / "run", outcomes), tmp_path / "out").keys() == {"summary"}


def test_two_videos_of_a_scene_are_refused(tmp_path):
    with pytest.raises(UserError, match="several videos of indoor_001"):
        export_sana_results(a_run(tmp_path / "run", complete(), seeds=("0", "1")), tmp_path / "out")


@pytest.mark.parametrize(
    ("name", "found"), [("remembered", "no metric"), ("sana.corrected.revisit_psnr", "corrected metrics alone")]
)
def test_a_run_without_published_values_is_refused_with_the_command_that_measures_them(tmp_path, name, found):
    run = a_run(tmp_path / "run", {})
    about = {**run.about, "metrics": [{"name": name, "lock": "l", "subsets": None}]}
    write_about(tmp_path / "run", about)
    with pytest.raises(UserError, match=f"has {found} of SANA-WM-Bench.* --scores sana --protocol published"):
        export_sana_results(run, tmp_path / "out")


def test_corrected_values_beside_published_ones_are_not_written(tmp_path):
    outcomes = {"indoor_001": {"revisit_psnr": pairs(20.0), "revisit_ssim": pairs(0.5)}}
    both = {"indoor_001": {**outcomes["indoor_001"], "corrected.revisit_psnr": pairs(30.0)}}
    assert (
        written(a_run(tmp_path / "both", both), tmp_path / "a")["revisit_consistency"]
        == (written(a_run(tmp_path / "run", outcomes), tmp_path / "b")["revisit_consistency"])
    )


@pytest.mark.parametrize("name", ["sana_wm_simple", "lingbot_hard", "frozen_first_frame_assumed", "only_two"])
def test_totals_of_vbench_are_official(name):
    stored = official()["sana"]["vbench"]
    found = vbench_totals(stored["inputs"][name])
    assert {key: found[key] for key in stored["official"][name]} == stored["official"][name]


def test_a_measured_run_has_the_official_file(tmp_path):
    stored = official()["sana"]["revisit"]
    writer = SanaWriter(tmp_path / "data")
    writer.scenes(
        pairs=stored["metadata"]["scenes"], **{entry["scene_id"]: {} for entry in stored["metadata"]["scenes"]}
    )
    for name in ("indoor_001", "indoor_002", "game_style_001"):
        _, pictures, fps = scene(name)
        write_video(writer.video(name), pictures, fps=fps, lossless=True)
    metrics = ["sana.revisit_psnr", "sana.revisit_ssim"]
    run = evaluate(writer.root, tmp_path / "run", suite="revisit", metrics=metrics)
    lookaway("export", "sana-results", str(run.path), "-o", str(tmp_path / "out"))
    found = json.loads((tmp_path / "out/alpha/eval/simple_60s/revisit_consistency.json").read_text())
    expected = stored["official"]
    assert found["summary"] == expected["summary"]
    assert found["per_scene"].keys() == expected["per_scene"].keys()

    def by_frames(record):
        return {(pair["frame_a"], pair["frame_b"]): (pair["psnr"], pair["ssim"]) for pair in record["pairs"]}

    for name, record in expected["per_scene"].items():
        assert by_frames(found["per_scene"][name]) == by_frames(record)
        assert found["per_scene"][name]["mean_psnr"] == record["mean_psnr"]
