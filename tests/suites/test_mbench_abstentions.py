"""Every reason for which a docstring says that its metric abstains, from files to rows."""

from __future__ import annotations

import numpy as np
import pytest

import lookaway
from tests.support.clips import write_clip
from tests.support.mbench import MBenchWriter, write_poses
from tests.support.room import Room, there_and_back

ROOM = Room(seed=1, width=96, height=64)
PATH = there_and_back("left_then_right", 21)
POSED = np.arange(0, 21, 2)
SPATIAL, LIGHTING, CAMERA = (
    ("spatial_epipolar", "spatial_reprojection"),
    ("rendering_lighting",),
    ("camera_interaction",),
)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Status and reason by sample and metric."""
    writer = MBenchWriter(tmp_path_factory.mktemp("abstentions") / "data")
    plain = np.full((64, 96, 3), 120, np.uint8)
    textured = list(ROOM.frames(PATH))
    add(writer, "without_poses", textured, poses=None)
    add(writer, "poses_named_but_gone", textured, poses=None, named=True)
    add(writer, "failed_poses", textured, poses=PATH * np.nan)
    add(writer, "plain", [plain] * 21)
    add(writer, "two_frames", textured[:2], poses=PATH[:2], posed=np.arange(2))
    add(writer, "no_video", None)
    add(writer, "not_a_video", None)
    for subset in ("environment", "causal"):
        writer.video(subset=subset, sample="not_a_video").write_text("this is no video")
    add(writer, "still_action", textured, condition="static_10s")
    add(writer, "unknown_action", textured, condition="moonwalk_10s")
    run = lookaway.evaluate(writer.finish(), writer.root.parent / "run")
    return {
        (item["case"].split(":")[1], item["metric"].rsplit(".", 1)[1]): (item["status"], item["reason"])
        for item in run.items()
    }


def add(writer, sample, frames, *, poses=PATH, posed=POSED, named=False, condition="left_then_right_10s"):
    for subset in ("environment", "causal"):
        place = {"subset": subset, "sample": sample, "condition": condition}
        writer.add(**place, metadata={"caption": "a room"}, poses=named or poses is not None)
        if frames is not None:
            write_clip(writer.video(**place), frames)
        if poses is not None:
            write_poses(writer.poses(**place), poses[posed], ROOM.intrinsics, size=(96, 64), frame_indices=posed)


@pytest.mark.parametrize(
    ("sample", "metrics", "expected"),
    [
        ("without_poses", SPATIAL + CAMERA, ("abstention", "missing_input")),
        ("without_poses", LIGHTING, ("score", None)),
        ("poses_named_but_gone", SPATIAL + CAMERA, ("abstention", "missing_input")),
        ("failed_poses", SPATIAL + CAMERA, ("abstention", "pose_failed")),
        ("failed_poses", LIGHTING, ("score", None)),
        ("plain", SPATIAL, ("abstention", "too_few_matches")),
        ("plain", LIGHTING + CAMERA, ("score", None)),
        ("two_frames", SPATIAL + LIGHTING + CAMERA, ("abstention", "too_short")),
        ("no_video", SPATIAL + LIGHTING + CAMERA, ("abstention", "missing_video")),
        ("not_a_video", SPATIAL + LIGHTING + CAMERA, ("abstention", "not_a_video")),
        ("still_action", CAMERA, ("abstention", "not_applicable")),
        ("unknown_action", CAMERA, ("abstention", "not_applicable")),
    ],
)
def test_what_cannot_be_measured_says_why(outcomes, sample, metrics, expected):
    assert {name: outcomes[sample, name] for name in metrics} == dict.fromkeys(metrics, expected)


def test_nothing_crashed(outcomes):
    assert "failure" not in {status for status, _ in outcomes.values()}
