"""What the simulated world exports in MemoBench's layout comes back whole."""

from __future__ import annotations

import numpy as np
import pytest

from lookaway.core import Trajectory
from lookaway.io.video import probe
from lookaway.perception.poses.reference_poses import ReferencePoses
from lookaway.suites.memobench.layout import MemoBenchReader
from lookaway.world.exports import export_world
from tests.support.exported import FRAMES, LEFT, RIGHT, clip_of, world_root
from tests.support.watching import perceive

pytestmark = [pytest.mark.render, pytest.mark.merge]

CASES = {"synthetic/playroom_001": RIGHT, "synthetic/playroom_002": LEFT}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("memobench") / "out"
    export_world(world_root(), "memobench", folder)
    return folder


@pytest.fixture(scope="module")
def reader(root):
    return MemoBenchReader(root)


@pytest.fixture(scope="module")
def rollouts(reader):
    return {(rollout.model, rollout.case.id): rollout for rollout in reader.rollouts()}


def test_every_exported_clip_is_read_without_a_problem(rollouts, reader):
    assert reader.problems == []
    there = {key for key, rollout in rollouts.items() if rollout.video.is_file()}
    assert there == {
        *((model, case) for model in ("perfect", "still") for case in CASES),
        ("still_take1", "synthetic/playroom_002"),
    }
    assert rollouts.keys() - there == {("still_take1", "synthetic/playroom_001")}
    for (model, case), rollout in rollouts.items():
        if model != "still_take1":
            assert rollout.video.samefile(clip_of(CASES[case], model).video)


def test_phases_subject_and_prompt_are_those_of_the_world(rollouts):
    for name, recipe in CASES.items():
        card, case = clip_of(recipe).card, rollouts["perfect", name].case
        assert case.reference.phase_starts == {
            "visible": 0,
            "disappeared": card.phases.disappeared[0],
            "reappeared": card.phases.reappeared[0],
        }
        assert (case.scene, case.target.name) == (card.family, card.target.name)
        assert card.caption in case.prompt[0]
        assert case.reference.end == probe(case.reference.video).frame_count == FRAMES


@pytest.mark.parametrize("source", ["poses.npy", "camera_full2.csv"])
def test_the_camera_of_the_reference_is_that_of_the_world(root, rollouts, source):
    rollout = rollouts["perfect", "synthetic/playroom_002"]
    artifacts = dict(rollout.case.reference.artifacts)
    if source.endswith(".csv"):
        folder = root / "data/Synthetic_processed/playroom/playroom_002"
        poses = folder / "2/poses.npy"
        hidden = poses.rename(poses.with_name("hidden.npy"))
        reader = MemoBenchReader(root)
        rollout = next(found for found in reader.rollouts() if found.case.id == "synthetic/playroom_002")
        hidden.rename(poses)
        assert rollout.case.reference.artifacts == {"poses": folder / source}
    else:
        assert artifacts["poses"].name == source
    trajectory = Trajectory.from_feature(perceive(ReferencePoses(layout="memobench"), rollout))
    arrays = clip_of(LEFT).arrays()
    np.testing.assert_allclose(trajectory.camera_to_world, arrays.camera_to_world, atol=1e-6)
    np.testing.assert_allclose(trajectory.intrinsics, np.tile(arrays.intrinsics, (FRAMES, 1, 1)), atol=1e-9)
