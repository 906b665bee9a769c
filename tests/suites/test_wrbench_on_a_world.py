"""What the simulated world exports in WRBench's layout comes back whole, and its cameras are scored as they were."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from lookaway.core import Trajectory
from lookaway.engine.evaluate import evaluate
from lookaway.engine.reading import read
from lookaway.engine.run import Run
from lookaway.io.encoding import write_video
from lookaway.io.video import Video
from lookaway.judges.oracle import OracleServer
from lookaway.metrics.requested_camera import RequestedCameraAlignment, RequestedCameraPrecision
from lookaway.perception.poses.requested_poses import RequestedPoses
from lookaway.suites.wrbench.layout import WrBenchReader
from lookaway.suites.wrbench.probes import RETURNED
from lookaway.suites.wrbench.records import CaseKey
from lookaway.world.exports import export_world
from tests.judges.test_judge_runs import KEY, settings
from tests.support.exported import FRAMES, LEFT, RIGHT, clip_of, world_root
from tests.support.hub import empty_hub, publish
from tests.support.networks import tiny_dinov2
from tests.support.ranking import require_leads_nothing
from tests.support.watching import perceive

pytestmark = [pytest.mark.render, pytest.mark.merge]

CASES = {"yaw60_LR": LEFT, "yaw60_RL": RIGHT}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wrbench") / "out"
    export_world(world_root(), "wrbench", folder)
    return folder


@pytest.fixture(scope="module")
def reader(root):
    found = WrBenchReader(root)
    found.rollouts()
    return found


@pytest.fixture(scope="module")
def rollouts(reader, root):
    return {
        (rollout.model, CaseKey.parse(rollout.case.id).camera): rollout for rollout in WrBenchReader(root).rollouts()
    }


def test_every_exported_clip_is_read_and_a_static_label_on_a_turning_path_is_noticed(rollouts, reader):
    # The static clip of the rendered set is a copy of one that turns, under another name.
    (problem,) = reader.problems
    assert "declares a turn of 0 degrees, but the path turns by 60.0" in problem.message
    assert set(rollouts) == {
        *((model, camera) for model in ("perfect", "still") for camera in CASES),
        ("still_take1", "yaw60_LR"),
        ("perfect", "static"),
    }
    for (model, camera), rollout in rollouts.items():
        if (model, camera) in {("perfect", name) for name in CASES}:
            assert rollout.video.samefile(clip_of(CASES[camera]).video)


def test_the_suite_recognises_the_export(root):
    assert read(root).suite == "wrbench"


def test_records_are_those_of_the_world(rollouts, reader):
    rollout = rollouts["perfect", "yaw60_RL"]
    record, card = reader.records[rollout.case.id], clip_of(RIGHT).card
    assert record.event == (True, True)
    assert (record.subject, record.view.degrees, record.visibility) == (card.target.name, 60.0, "leaves_and_returns")
    assert (rollout.case.subset, rollout.case.action) == ("yaw", card.action)
    assert rollout.case.first_frame.is_file()
    provenance = reader.provenance(rollout)
    assert provenance.id.startswith("perfect__")
    assert provenance.record_sha256 == record.sha256
    assert provenance.delivered.measured_yaw_degrees == pytest.approx(60, abs=0.01)


def test_the_requested_path_is_that_of_the_world_whatever_the_camera_did(rollouts):
    for model in ("perfect", "still"):
        feature = perceive(RequestedPoses(), rollouts[model, "yaw60_LR"])
        requested = clip_of(LEFT, model).arrays().requested_camera_to_world
        relative = np.linalg.inv(requested[0]) @ requested
        assert np.abs(Trajectory.from_feature(feature).camera_to_world - relative).max() < 1e-5
        assert len(feature["frame_indices"]) == FRAMES


def scored(metric, rollout, poses):
    features = {"poses": poses, "requested_poses": perceive(RequestedPoses(), rollout)}
    return metric.measure(rollout, features).value


@pytest.mark.parametrize(("model", "value"), [("perfect", 1.0), ("still", 0.0)])
@pytest.mark.parametrize("camera", CASES)
def test_true_poses_are_scored_as_the_camera_went(rollouts, camera, model, value):
    poses = clip_of(CASES[camera], model).trajectory().to_feature()
    rollout = rollouts[model, camera]
    for metric in (RequestedCameraPrecision(), RequestedCameraAlignment()):
        assert scored(metric, rollout, poses) == pytest.approx(value, abs=0.01)


def test_a_sidecar_that_declares_another_turn_is_a_problem_of_its_record(root, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(root, other)
    row = json.loads((other / "manifest.json").read_text())[0]
    sidecar = other / f"{row['path']}.camera.json"
    content = json.loads(sidecar.read_text())
    sidecar.unlink()
    sidecar.write_text(json.dumps({**content, "yaw_peak_deg": 77.0}))
    reader = WrBenchReader(other)
    rollouts = reader.rollouts()
    assert len(reader.problems) == 2
    assert "declares a turn of 77 degrees" in reader.problems[0].message
    assert "target_poses" not in rollouts[0].artifacts


PUBLISHED = ("wrbench.camera_precision", "wrbench.camera_alignment", "wrbench.static_hold")
CORRECTED = tuple(name.replace("wrbench", "wrbench.corrected") for name in PUBLISHED)
REVISITED = "wrbench.revisited"


def rows_of(root, run, *metrics, **options):
    evaluate(read(root, **options), run, metrics=metrics)
    return {(row["metric"], row["model"], row["case"].rpartition("__")[2]): row for row in Run(run).items()}


def test_cached_poses_tell_cameras_that_went_from_those_that_did_not(root, tmp_path):
    rows = rows_of(root, tmp_path / "run", *PUBLISHED, *CORRECTED, REVISITED, cached_poses=True)
    values = {key: row["value"] for key, row in rows.items()}
    for camera in CASES:
        for metric in (*PUBLISHED[:2], *CORRECTED[:2]):
            assert values[metric, "perfect", camera] == pytest.approx(1, abs=0.01)
            assert values[metric, "still", camera] == pytest.approx(0, abs=0.01)
        assert (values[REVISITED, "perfect", camera], values[REVISITED, "still", camera]) == (1, 0)
    assert (CORRECTED[0], "perfect", "static") not in values
    assert values[PUBLISHED[2], "perfect", "static"] == values[CORRECTED[2], "perfect", "static"] == 0


@pytest.fixture(scope="module")
def frozen_run(root, tmp_path_factory):
    """The clips of one model hold their first picture, whatever was asked for; a tiny network stands in for DINOv2."""
    folder = tmp_path_factory.mktemp("frozen")
    shutil.copytree(root, folder / "set")
    for video in sorted((folder / "set/videos/still").rglob("*.mp4")):
        with Video(video) as opened:
            first = next(iter(opened.windows(1)))[0].pixels
        video.unlink()  # it may be one file with that of the world
        write_video(video, [np.ascontiguousarray(first)] * FRAMES, LEFT.fps, lossless=True)
    metrics = [*PUBLISHED, "wrbench.visual_integrity"]
    with pytest.MonkeyPatch.context() as monkeypatch:
        empty_hub(folder / "home", monkeypatch)
        publish(tiny_dinov2(), monkeypatch)
        return evaluate(read(folder / "set", cached_poses=True), folder / "run", metrics=metrics)


def test_a_frozen_video_has_the_published_scores_of_a_camera_that_does_not_turn(frozen_run):
    rows = [row for row in frozen_run.items() if row["model"] == "still"]
    for metric in PUBLISHED[:2]:
        # The code gives 0 to a camera that turns less than 2 degrees, however near the request that is at its ends.
        assert [row["value"] for row in rows if row["metric"] == metric] == [0.0] * len(CASES)
    # Equal frames have equal tokens, so that every cosine is 1.
    integrity = [row["value"] for row in rows if row["metric"] == "wrbench.visual_integrity"]
    assert integrity == pytest.approx([1.0] * len(CASES), abs=1e-5)


def test_a_camera_that_stands_still_is_not_asked_about_a_return_and_leads_no_column_of_memory(root, tmp_path):
    with OracleServer(world_root(), key=KEY) as server:
        run = evaluate(read(root), tmp_path / "run", metrics=RETURNED, judge=settings(server))
    reasons = [row["reason"] for row in run.items() if row["model"] == "still" and row["metric"] in RETURNED]
    assert reasons == ["gate_closed"] * len(RETURNED) * len(CASES)
    require_leads_nothing(run, "still")


def test_without_the_published_network_its_columns_say_which_weights_are_missing(root, tmp_path, monkeypatch):
    empty_hub(tmp_path / "home", monkeypatch)
    rows = rows_of(root, tmp_path / "run", *PUBLISHED[:2], "wrbench.visual_integrity")
    turning = [row for (metric, _, camera), row in rows.items() if metric != PUBLISHED[0] or camera in CASES]
    assert {row["reason"] for row in turning} == {"missing_weights"}
    for row in turning:
        assert "lookaway weights" in row["message"]


@pytest.mark.nightly
def test_tracked_cameras_that_went_are_told_from_those_that_did_not(root, tmp_path):
    rows = rows_of(root, tmp_path / "run", *CORRECTED, REVISITED)
    values = {key: row["value"] for key, row in rows.items()}
    for camera in CASES:
        for metric, limit in zip(CORRECTED[:2], (0.8, 0.85), strict=True):
            assert values[metric, "perfect", camera] > limit
            assert values[metric, "still", camera] < 0.1
        assert values[REVISITED, "still", camera] == 0
