from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from lookaway.core import Abstention, Case, Failure, Lock, Reason, Rollout, RunError, Score, Unit, UserError
from lookaway.engine.evaluate import evaluate
from lookaway.engine.run import Run
from lookaway.reports.export.mind_result import export_mind_result, schema_text
from lookaway.store.outcome_reader import OutcomeReader
from lookaway.store.outcome_rows import Measured
from lookaway.store.run_folder import RunFolder
from lookaway.suites.mind import Mind
from tests.support.clips import numbered_frames, write_clip
from tests.support.command import lookaway
from tests.support.mind import MindWriter, actions
from tests.support.tiny import write_folder

MEMORY, MIRROR = "1st_data/mem_test", "3rd_data/mirror_test"
TIMES = {f"{MEMORY}/street": {"mark_time": 2, "total_time": 8}}
SCHEMA = json.loads(schema_text())
MISSING = Abstention(Reason.MISSING_WEIGHTS, "alexnet is not here.")
GROUP = {"count": 11, "mean": 0.5, "median": 0.25}
METRICS = {bound.name: bound for bound in Mind().metrics({})}


def series(*values: float, **facts: int) -> Score:
    """The last frame stands first: nothing but its name says where a unit belongs."""
    units = tuple(Unit(f"f{frame}", Score(value)) for frame, value in enumerate(values))
    return Score(sum(values) / len(values), units=units[::-1], detail={"video_frames": 6, **facts})


def steps(**groups: object) -> Score:
    detail = {"groups": {"__overall__": GROUP, **groups}, "video_frames": 6}
    return Score(0.5, units=(Unit("f0", Score(0.5)),), detail=detail)


def a_run(path: Path, outcomes, *, settings=None, metrics=tuple(METRICS)) -> Run:
    """Outcomes by model, case and metric; where a case has none, nothing was measured yet."""
    rollouts, measured = {}, []
    for (model, case), found in outcomes.items():
        subset = "/".join(case.split("/")[:2])
        asked = Case(id=case, subset=subset, scene=case.split("/")[2])
        rollout = Rollout(case=asked, model=model, video=Path("nowhere.mp4"))
        rollouts[rollout.id] = rollout
        measured += [
            Measured(rollout=rollout.id, content="c", metric=_full(name), lock="l", outcome=outcome)
            for name, outcome in found.items()
        ]
    lock = Lock({"dataset": {"identity": {"times": TIMES}, "settings": settings or {"video_max_time": None}}})
    about = {
        "suite": "mind",
        "lock_sha256": lock.sha256,
        "metrics": [
            {"name": name, "lock": "l", "subsets": _subsets(name), "is_gate": name == "mind.revisited"}
            for name in metrics
        ],
        "problems": [],
    }
    folder = RunFolder(path)
    folder.start(lock, [(rollout, "c") for rollout in rollouts.values()], about)
    folder.add(measured)
    return Run(path)


def _full(name: str) -> str:
    return f"mind.{name}" if "." in name else name


def _subsets(metric: str) -> list[str] | None:
    return list(METRICS[metric].subsets) if metric in METRICS else None


def complete() -> dict:
    return {
        **{f"lcm.{name}": series(0.1, 0.3) for name in ("mse", "psnr", "ssim", "lpips")},
        "visual.imaging": series(0.6, 0.8),
        "visual.aesthetic": series(0.4, 0.5),
        "dino.dino_mse": series(0.001, 0.003),
        "action.rpe_trans": steps(translation=GROUP, **{"act:forward": GROUP}),
        "action.rpe_rot": steps(translation=GROUP, **{"act:forward": GROUP}),
    }


def exported(run: Run, output: Path, model: str = "alpha"):
    export_mind_result(run, output)
    text = (output / model / "Result.json").read_text()
    result = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    Draft202012Validator(SCHEMA).validate(result)
    return result


def test_the_schema_is_one_and_is_written_beside_the_results(tmp_path):
    Draft202012Validator.check_schema(SCHEMA)
    exported(a_run(tmp_path / "run", {("alpha", f"{MEMORY}/street"): complete()}), tmp_path / "out")
    assert json.loads((tmp_path / "out/Result.schema.json").read_text()) == SCHEMA


def test_a_case_that_was_measured_completely_has_all_that_the_card_names(tmp_path):
    run = a_run(tmp_path / "run", {("alpha", f"{MEMORY}/street"): complete()}, settings={"video_max_time": 50})
    result = exported(run, tmp_path / "out")
    assert result["video_max_time"] == 50
    (entry,) = result["data"]
    assert {name: entry[name] for name in ("path", "perspective", "test_type", "error", "mark_time", "total_time")} == {
        "path": "street", "perspective": "1st_data", "test_type": "mem_test", "error": None,
        "mark_time": 2, "total_time": 8,
    }  # fmt: skip
    assert entry["sample_frames"] == 6
    assert entry["lcm"] == {
        "length": 2,
        **{name: [0.1, 0.3] for name in ("mse", "psnr", "ssim", "lpips")},
        **{f"avg_{name}": 0.2 for name in ("mse", "psnr", "ssim", "lpips")},
    }
    assert entry["visual_quality"] == {
        "imaging": [0.6, 0.8], "avg_imaging": 0.7, "aesthetic": [0.4, 0.5], "avg_aesthetic": 0.45,
    }  # fmt: skip
    assert entry["dino"] == {"dino_mse": [0.001, 0.003], "avg_dino_mse": 0.002}
    step = {
        "count": 11, "rpe_trans_mean": 0.5, "rpe_trans_median": 0.25, "rpe_rot_mean_deg": 0.5,
        "rpe_rot_median_deg": 0.25,
    }  # fmt: skip
    assert entry["action"] == {"__overall__": step, "translation": step, "act:forward": step}


def test_frames_stand_in_their_order_beyond_the_tenth(tmp_path):
    values = [frame / 25 for frame in range(25)]
    run = a_run(tmp_path / "run", {("alpha", f"{MEMORY}/street"): {"lcm.mse": series(*values)}})
    assert exported(run, tmp_path / "out")["data"][0]["lcm"]["mse"] == values


def test_frames_of_one_model_and_case_are_not_those_of_another(tmp_path):
    outcomes = {
        (model, f"{MEMORY}/{name}"): {"lcm.mse": series(*([number / 8] * (number + 1)))}
        for number, (model, name) in enumerate([("beta", "b"), ("alpha", "b"), ("alpha", "a"), ("Zeta", "é")])
    }
    outcomes["alpha", f"{MEMORY}/none"] = {"lcm.mse": MISSING}
    run = a_run(tmp_path / "run", outcomes, metrics=("mind.lcm.mse",))
    for number, (model, name) in enumerate([("beta", "b"), ("alpha", "b"), ("alpha", "a"), ("Zeta", "é")]):
        data = {entry["path"]: entry for entry in exported(run, tmp_path / "out", model)["data"]}
        assert data[name]["lcm"]["mse"] == [number / 8] * (number + 1)
        assert data[name]["error"] is None
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"alpha", "beta", "Zeta", "Result.schema.json"}


def test_what_was_not_measured_has_no_key_and_the_error_says_why(tmp_path):
    outcomes = {**complete(), "lcm.lpips": MISSING, "dino.dino_mse": Failure("OSError", "disk full")}
    del outcomes["visual.imaging"], outcomes["visual.aesthetic"], outcomes["action.rpe_trans"]
    (entry,) = exported(a_run(tmp_path / "run", {("alpha", f"{MEMORY}/street"): outcomes}), tmp_path / "out")["data"]
    assert entry["lcm"].keys() == {"length", *(f"{avg}{n}" for avg in ("", "avg_") for n in ("mse", "psnr", "ssim"))}
    assert not {"dino", "visual_quality"} & entry.keys()
    assert entry["action"]["__overall__"] == {"count": 11, "rpe_rot_mean_deg": 0.5, "rpe_rot_median_deg": 0.25}
    assert entry["error"] == (
        "mind.lcm.lpips: missing_weights: alexnet is not here.; "
        "mind.visual.imaging, mind.visual.aesthetic, mind.action.rpe_trans: not_yet_measured; "
        "mind.dino.dino_mse: OSError: disk full"
    )


def test_a_case_of_which_nothing_is_known_is_an_entry_with_an_error(tmp_path):
    run = a_run(tmp_path / "run", {("alpha", f"{MEMORY}/other"): {"lcm.mse": MISSING}}, metrics=("mind.lcm.mse",))
    (entry,) = exported(run, tmp_path / "out")["data"]
    assert entry == {
        "path": "other",
        "perspective": "1st_data",
        "test_type": "mem_test",
        "error": "mind.lcm.mse: missing_weights: alexnet is not here.",
    }


def test_what_was_not_asked_is_no_error(tmp_path):
    found = {"lcm.mse": series(0.1)}
    run = a_run(tmp_path / "run", {("alpha", f"{MEMORY}/street"): found}, metrics=("mind.lcm.mse",))
    assert exported(run, tmp_path / "out")["data"][0]["error"] is None


def test_what_has_no_place_in_the_file_is_no_error(tmp_path):
    found = {"lcm.mse": series(0.1), "rendering_lighting": MISSING}
    metrics = ("mind.lcm.mse", "rendering_lighting")
    run = a_run(tmp_path / "run", {("alpha", f"{MEMORY}/street"): found}, metrics=metrics)
    assert exported(run, tmp_path / "out")["data"][0]["error"] is None


def test_an_entry_without_a_measure_says_that_none_was_asked_for(tmp_path):
    outcomes = {("alpha", f"{MEMORY}/street"): {"lcm.mse": series(0.1)}, ("alpha", f"{MIRROR}/walk/path-1"): {}}
    run = a_run(tmp_path / "run", outcomes, metrics=("mind.lcm.mse",))
    _, mirrored = exported(run, tmp_path / "out")["data"]
    assert mirrored["video_results"] == [
        {"video_name": "path-1.mp4", "error": "no metric of mind was requested for 3rd_data/mirror_test."}
    ]


def test_a_frame_count_that_no_score_holds_is_missing_and_said_to_be(tmp_path):
    bare = Score(0.1, units=(Unit("f0", Score(0.1)),))
    run = a_run(tmp_path / "run", {("alpha", f"{MEMORY}/street"): {"lcm.mse": bare}}, metrics=("mind.lcm.mse",))
    (entry,) = exported(run, tmp_path / "out")["data"]
    assert "sample_frames" not in entry
    assert entry["error"] == "sample_frames: no score of this run gives the number of frames of the video."


def test_any_score_that_holds_the_frame_count_will_do(tmp_path):
    outcomes = {("alpha", f"{MEMORY}/{name}"): {name: outcome} for name, outcome in complete().items()}
    data = exported(a_run(tmp_path / "run", outcomes), tmp_path / "out")["data"]
    assert {entry["path"]: entry["sample_frames"] for entry in data} == dict.fromkeys(complete(), 6)


def test_groups_of_steps_stand_in_the_order_of_the_card(tmp_path):
    names = ["__overall__", "translation", "rotation", "other", "act:forward", "act:look_right", "act:no_op"]
    found = {f"action.{name}": steps(**dict.fromkeys(names[::-1], GROUP)) for name in ("rpe_trans", "rpe_rot")}
    run = a_run(tmp_path / "run", {("alpha", f"{MEMORY}/street"): found})
    assert list(exported(run, tmp_path / "out")["data"][0]["action"]) == names


def test_mirrored_paths_of_one_folder_are_one_entry(tmp_path):
    good = {f"gsc.{name}": series(0.1, 0.2, 0.3, video_frames=7) for name in ("mse", "psnr", "ssim", "lpips")}
    bad = {f"gsc.{name}": Abstention(Reason.TOO_SHORT, "one frame.") for name in ("mse", "psnr", "ssim", "lpips")}
    outcomes = {("alpha", f"{MIRROR}/walk/path-1"): good, ("alpha", f"{MIRROR}/walk/path-2"): bad}
    run = a_run(tmp_path / "run", outcomes)
    (entry,) = exported(run, tmp_path / "out")["data"]
    one, two = entry.pop("video_results")
    message = "mind.gsc.mse, mind.gsc.psnr, mind.gsc.ssim, mind.gsc.lpips: too_short: one frame."
    assert entry == {
        "path": "walk",
        "perspective": "3rd_data",
        "test_type": "mirror_test",
        "videos": ["path-1.mp4", "path-2.mp4"],
        "error": f"path-2.mp4: {message}",
    }
    assert (one["video_name"], one["error"], one["mark_time"], one["sample_frames"]) == ("path-1.mp4", None, 3, 7)
    assert (one["gsc"]["length"], one["gsc"]["mse"], one["gsc"]["avg_mse"]) == (3, [0.1, 0.2, 0.3], pytest.approx(0.2))
    assert two == {"video_name": "path-2.mp4", "error": message}


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> tuple[MindWriter, Run]:
    """A dataset of real files with a run of it: of two cases one has an answer, and there is a path of four frames."""
    folder = tmp_path_factory.mktemp("measured")
    writer = MindWriter(folder / "data")
    frames = numbered_frames(8, width=64, height=36)
    whole, short = (write_clip(folder / f"{len(part)}.mp4", part).read_bytes() for part in (frames, frames[2:6]))
    writer.case(record=actions(2, 8), video=whole)
    writer.case("yard", record=actions(2, 9), video=whole)
    writer.answer(video=short)
    writer.mirror(video=short)
    return writer, evaluate(writer.root, folder / "run", metrics=["lcm.mse", "lcm.psnr", "gsc.mse"])


def test_a_run_of_real_files_counts_frames_in_them(tmp_path, measured):
    street, yard, walk = exported(measured[1], tmp_path / "out")["data"]
    assert (street["mark_time"], street["total_time"], "lcm" in street) == (2, 8, False)
    assert street["error"].startswith("mind.lcm.mse, mind.lcm.psnr: too_short: ")
    assert yard["error"] == "mind.lcm.mse, mind.lcm.psnr: missing_video: video.mp4: there is no such file."
    assert (yard["total_time"], "lcm" in yard, "sample_frames" in yard) == (9, False, False)
    (path,) = walk["video_results"]
    assert (path["mark_time"], path["sample_frames"], path["gsc"]["length"], path["error"]) == (2, 4, 2, None)


@pytest.mark.parametrize("is_replaced", [True, False], ids=["replaced", "moved"])
def test_videos_that_were_replaced_or_moved_since_do_not_change_what_was_measured(tmp_path, measured, is_replaced):
    writer, run = measured
    before = exported(run, tmp_path / "before")
    later = write_clip(tmp_path / "later.mp4", numbered_frames(5, width=64, height=36))
    for video in (writer.root / "models").rglob("*.mp4"):
        video.unlink()
        if is_replaced:
            shutil.copy(later, video)
    assert exported(run, tmp_path / "after") == before


def test_the_command_says_what_it_wrote(tmp_path):
    run = a_run(tmp_path / "run", {("alpha", f"{MEMORY}/street"): complete()})
    result = lookaway("export", "mind-result", run.path, "-o", tmp_path / "out")
    assert (result.code, result.out) == (0, f"Wrote {tmp_path / 'out/alpha/Result.json'}\n")


def test_a_model_cannot_lead_out_of_the_export(tmp_path):
    run = a_run(tmp_path / "run", {("..", f"{MEMORY}/street"): complete()})
    (path,) = export_mind_result(run, tmp_path / "out")
    assert path == tmp_path / "out/%2E%2E/Result.json"


def test_a_run_of_another_suite_is_refused_before_anything_is_written(tmp_path):
    root = write_folder(tmp_path / "videos", cases=1)
    run = evaluate(root, tmp_path / "run", suite="folder", metrics=["rendering_lighting"])
    with pytest.raises(UserError, match=r"is a run of 'folder'; Result\.json is for runs of 'mind'"):
        export_mind_result(run, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_place_that_cannot_be_written_is_an_error_of_the_user(tmp_path):
    run = a_run(tmp_path / "run", {("alpha", f"{MEMORY}/street"): complete()})
    (tmp_path / "out").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        export_mind_result(run, tmp_path / "out")


def test_a_run_that_grows_while_it_is_read_is_not_exported(tmp_path, monkeypatch):
    run = a_run(tmp_path / "run", {("alpha", f"{MEMORY}/street"): complete()})
    items = OutcomeReader.items
    monkeypatch.setattr(OutcomeReader, "items", lambda reader: iter([*items(reader), *items(reader)]))
    with pytest.raises(RunError, match="still being written"):
        export_mind_result(run, tmp_path / "out")
