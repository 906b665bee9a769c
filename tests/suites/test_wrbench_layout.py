from __future__ import annotations

import json

import numpy as np
import pytest

from lookaway.core import DatasetError, Reason, UnsafePath
from lookaway.engine.reading import read
from lookaway.suites.wrbench.layout import WrBenchReader
from tests.support.wrbench import EVENTS, FAMILY, WrBenchWriter, there_and_back


@pytest.fixture
def writer(tmp_path):
    return WrBenchWriter(tmp_path / "set")


def rollouts_of(writer, **options):
    reader = WrBenchReader(writer.root, **options)
    return reader, reader.rollouts()


def only_problem(reader):
    (problem,) = reader.problems
    return problem


def test_a_video_has_its_record_and_its_sidecars(writer):
    writer.sidecars(writer.add(), there_and_back(-60), yaw_peak_deg=60.0, payload_type="poses")
    reader, (rollout,) = rollouts_of(writer)
    assert reader.problems == []
    case = rollout.case
    assert rollout.id == f"alpha/{FAMILY}__T2_div_b__none__yaw60_LR/0"
    assert (case.subset, case.scene, case.action) == ("yaw", FAMILY, "left_then_right")
    assert (case.prompt, case.target.name) == ((EVENTS["full"].happens,), "a cat")
    assert case.first_frame.name == f"{FAMILY}.png"
    assert set(rollout.artifacts) == {"target_poses", "camera_sidecar"}
    provenance = reader.provenance(rollout)
    assert provenance.delivered.payload_type == "poses"
    assert provenance.delivered.measured_yaw_degrees == pytest.approx(-60, abs=1e-3)
    assert provenance.video == f"videos/alpha/{FAMILY}__T2_div_b__none__yaw60_LR.mp4"
    assert len(provenance.video_sha256) == len(provenance.first_frame_sha256) == 64


def test_two_models_with_one_video_id_are_two_rollouts(writer):
    writer.add(model="alpha")
    writer.add(model="beta")
    reader, rollouts = rollouts_of(writer)
    assert [rollout.model for rollout in rollouts] == ["alpha", "beta"]
    assert len({reader.provenance(rollout).id for rollout in rollouts}) == 2


def test_one_video_twice_is_a_problem(writer):
    writer.add()
    writer.add()
    reader, rollouts = rollouts_of(writer)
    assert len(rollouts) == 1
    assert only_problem(reader).where == "videos.json:2"


@pytest.mark.parametrize("name", ["videos.jsonl", "manifest.json", "manifest.jsonl"])
def test_lists_may_be_arrays_or_lines(writer, name):
    writer.add()
    (writer.root / "videos.json").unlink()
    writer.write(name)
    assert len(rollouts_of(writer)[1]) == 1


def test_the_suite_recognises_videos_beside_their_prompts(writer, tmp_path):
    writer.add()
    assert read(writer.root).suite == "wrbench"
    elsewhere = tmp_path / "prompts"
    (writer.root / "natural25").rename(elsewhere)
    dataset = read(writer.root, suite="wrbench", natural25=elsewhere)
    assert dataset.rollouts[0].case.target.name == "a cat"


def test_the_spellings_of_the_published_programs_are_read(writer):
    happens = EVENTS["full"].happens
    writer.add(
        path=...,
        video_path="a.mp4",
        world_state_prompt=...,
        prompt_text=happens,
        camera=...,
        camera_type="yaw_LR",
        stress_yaw_deg=30,
    )
    _, (rollout,) = rollouts_of(writer)
    assert rollout.case.id.endswith("__yaw30_LR")
    assert rollout.case.prompt == (happens,)


def test_rows_without_a_prompt_suite_name_family_and_event_themselves(writer):
    writer.add(variant_id=..., family_id="own", event_delta="full")
    writer.add(variant_id=...)
    for path in (writer.root / "natural25").glob("*.jsonl"):
        path.unlink()
    reader, (rollout,) = rollouts_of(writer)
    assert rollout.case.id == "own__T2_div_b__none__yaw60_LR"
    assert "expected a variant_id" in only_problem(reader).message


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"variant_id": "other__T0__none"}, "does not have its variant_id"),
        ({"world_state_prompt": "The dog barks."}, "is not that of its variant"),
        ({"event_delta": "none"}, "event_delta is not that of its variant"),
        ({"camera": "zoom"}, "'zoom' is not known"),
        ({"camera": ...}, "expected the name of a camera"),
        ({"camera": "yaw60_LR", "stress_yaw_deg": 30}, "is not of camera_type"),
        ({"camera": "yaw60_LR", "camera_type": "yaw_RL"}, "is not of camera_type"),
        ({"stress_yaw_deg": "wide"}, "expected a number"),
        ({"model": ...}, "model"),
        ({"model": "a/b"}, "model"),
        ({"path": ...}, "path"),
    ],
)
def test_a_row_that_is_wrong_is_a_problem_and_the_others_are_read(writer, fields, message):
    writer.add(model="good")
    writer.add(**{"model": "bad", **fields})
    reader, rollouts = rollouts_of(writer)
    assert [rollout.model for rollout in rollouts] == ["good"]
    assert only_problem(reader).where == "videos.json:2"
    assert message in only_problem(reader).message


def test_lines_that_are_not_json_are_problems(writer):
    writer.add()
    (writer.root / "videos.json").unlink()
    (writer.root / "videos.jsonl").write_text(json.dumps(writer.rows[0]) + "\n{\n[]\n")
    reader, rollouts = rollouts_of(writer)
    assert len(rollouts) == 1
    assert [problem.where for problem in reader.problems] == ["videos.jsonl:2", "videos.jsonl:3"]


def test_a_dataset_without_a_usable_video_says_what_it_expected(writer):
    with pytest.raises(DatasetError, match="no video of the list can be used"):
        rollouts_of(writer)
    (writer.root / "videos.json").write_text("{}")
    with pytest.raises(DatasetError, match="expected a list of records, found a mapping"):
        rollouts_of(writer)
    (writer.root / "videos.json").unlink()
    with pytest.raises(DatasetError, match=r"no list of videos found; expected videos\.json"):
        rollouts_of(writer)


def test_a_path_that_leads_out_of_the_dataset_is_refused_unless_allowed(writer, tmp_path):
    (tmp_path / "outside.mp4").write_bytes(b"")
    writer.add(path="../outside.mp4")
    assert rollouts_of(writer)[1][0].problem.reason is Reason.UNSAFE_PATH
    assert rollouts_of(writer, allow_outside=True)[1][0].problem is None


def test_a_missing_first_frame_is_a_problem_and_not_a_stop(writer):
    writer.add()
    writer.add(camera="static")
    listed = [{"family_id": FAMILY, "image_path": "first_frames/gone.png", "width": 8, "height": 8}]
    (writer.root / "natural25/first_frames_manifest.json").write_text(json.dumps(listed))
    reader, rollouts = rollouts_of(writer)
    assert [rollout.case.first_frame for rollout in rollouts] == [None, None]
    assert only_problem(reader).where == "first_frames/gone.png"


# What is declared is measured


def test_a_gain_in_the_target_is_undone(writer):
    writer.sidecars(writer.add(), there_and_back(-180), rotation_gain=3.0, yaw_peak_deg=180.0)
    reader, (rollout,) = rollouts_of(writer)
    assert reader.problems == []
    assert reader.provenance(rollout).delivered.measured_yaw_degrees == pytest.approx(-60, abs=1e-3)


@pytest.mark.parametrize(
    ("camera", "target", "declared", "message"),
    [
        ("yaw60_LR", there_and_back(0), 60.0, "declares a turn of 60 degrees, but the path turns by 0.0"),
        ("yaw60_LR", there_and_back(-30), None, "yaw60_LR was asked for, but the requested path turns by -30.0"),
        ("yaw60_LR", there_and_back(60), 60.0, "yaw60_LR was asked for, but the requested path turns by 60.0"),
        ("yaw60_RL", there_and_back(-60), -60.0, "yaw60_RL was asked for, but the requested path turns by -60.0"),
        ("yaw_RL", there_and_back(0), None, "yaw_RL was asked for, but the requested path turns by 0.0"),
        ("static", there_and_back(10), None, "static was asked for, but the requested path turns by 10.0"),
    ],
)
def test_a_path_that_is_not_the_declared_one_is_a_problem_of_the_record(writer, camera, target, declared, message):
    writer.sidecars(writer.add(camera=camera), target, **({} if declared is None else {"yaw_peak_deg": declared}))
    reader, (rollout,) = rollouts_of(writer)
    assert message in only_problem(reader).message
    assert "target_poses" not in rollout.artifacts
    assert rollout.problem is None


@pytest.mark.parametrize("frames", [21, 65])
def test_a_path_of_another_length_than_the_clip_is_none(writer, frames):
    writer.sidecars(writer.add(camera="yaw30_RL"), there_and_back(30, frames), yaw_peak_deg=30.0)
    reader, (rollout,) = rollouts_of(writer)
    assert reader.problems == []
    assert reader.provenance(rollout).delivered.target_poses == frames


@pytest.mark.parametrize(
    ("target", "message"),
    [(np.ones((5, 4, 4)), "last row"), (np.zeros((5, 3)), "expected [N, 3, 4]"), (there_and_back(60) * np.nan, "NaN")],
)
def test_a_target_that_is_no_path_is_a_problem(writer, target, message):
    writer.sidecars(writer.add(), target)
    assert message in only_problem(rollouts_of(writer)[0]).message


def test_a_sidecar_in_another_convention_is_a_problem(writer):
    writer.sidecars(writer.add(), there_and_back(-60), target_coordinate_convention="opengl_c2w")
    assert "target_coordinate_convention" in only_problem(rollouts_of(writer)[0]).message


def test_the_identity_changes_with_what_is_asked(writer):
    writer.add()
    first = read(writer.root).identity
    writer.add(camera="static")
    assert read(writer.root).identity != first
    assert read(writer.root).identity["prompts"] == first["prompts"]


@pytest.mark.parametrize("name", ["videos.json", "natural25/variants.jsonl", "natural25"])
def test_no_file_of_the_dataset_is_a_way_out_of_it(writer, tmp_path, name):
    writer.add()
    outside = tmp_path / "outside"
    (writer.root / name).rename(outside)
    (writer.root / name).symlink_to(outside)
    with pytest.raises((DatasetError, UnsafePath), match="leads out of the dataset"):
        WrBenchReader(writer.root).rollouts()
    assert WrBenchReader(writer.root, allow_outside=True).rollouts()
