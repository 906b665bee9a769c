"""Depth Anything 3 itself, with random weights in its own format."""

from __future__ import annotations

import subprocess
import time

import numpy as np
import pytest

from lookaway.core import Case, Reason, Rollout, Trajectory, UnknownName, Unmeasurable, describe
from lookaway.engine.feature_job import Extractors, FeatureJob
from lookaway.io.sampling import UniformFrames
from lookaway.perception.poses.network_poses import Da3Poses
from tests.perception.isolation.torch_environment import local_weights, snapshot, torch_python
from tests.support.tiny import clip_bytes

SOURCE = "depth-anything/tiny"
MAKE_WEIGHTS = """
import sys, types
for name in ("depth_anything_3.utils.export", "depth_anything_3.utils.pose_align"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["depth_anything_3.utils.export"].export = None
sys.modules["depth_anything_3.utils.pose_align"].align_poses_umeyama = None
import torch
from depth_anything_3.api import DepthAnything3
torch.manual_seed(0)
DepthAnything3(model_name="da3-small").save_pretrained(sys.argv[1])
"""


@pytest.fixture(scope="module")
def hub(home, tmp_path_factory):
    """A cache of the hub that holds a network of random weights, saved by the real class."""
    before = time.monotonic()
    python = torch_python()
    print(f"environment made in {time.monotonic() - before:.1f} s")
    folder = tmp_path_factory.mktemp("hub")
    subprocess.run([python, "-I", "-c", MAKE_WEIGHTS, snapshot(folder, SOURCE)], check=True, capture_output=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_CACHE", str(folder))
        yield folder


@pytest.fixture
def rollout(tmp_path):
    (tmp_path / "clip.mp4").write_bytes(clip_bytes())
    case = Case(id="clip", subset="all", scene="clip")
    return Rollout(case=case, model="model", video=tmp_path / "clip.mp4")


def recipe(hub, **fields):
    weights = local_weights(hub, SOURCE, "config.json", "model.safetensors")
    return Da3Poses(weights=weights, frames=UniformFrames(4), height=48, longest_side=112, **fields)


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_the_real_network_gives_a_trajectory(hub, rollout):
    wanted = recipe(hub)
    extractors = Extractors(None)
    found = FeatureJob(extractors, rollout, "content", [wanted]).run()[wanted]
    if isinstance(found, Exception):
        raise found
    trajectory = Trajectory.from_feature(found)
    assert found.arrays.keys() == Da3Poses.arrays.keys()
    assert trajectory.frame_indices.tolist() == [0, 6, 13, 19]
    assert (trajectory.width, trajectory.height, trajectory.frame_count) == (112, 84, 20)
    assert trajectory.camera_to_world.shape == (4, 4, 4)
    np.testing.assert_allclose(
        trajectory.rotations @ trajectory.rotations.transpose(0, 2, 1), [np.eye(3)] * 4, atol=1e-5
    )
    assert (trajectory.median_depth > 0).all()
    np.testing.assert_allclose(trajectory.intrinsics[:, :2, 2], [[56, 42]] * 4)

    before = time.monotonic()
    again = FeatureJob(extractors, rollout, "content", [wanted]).run()[wanted]
    print(f"4 frames of 112 x 84 in {time.monotonic() - before:.2f} s, the video included")
    np.testing.assert_array_equal(again["camera_to_world"], found["camera_to_world"])


def test_weights_that_are_not_there_are_told_before_anything_is_made(hub, rollout, monkeypatch, tmp_path):
    monkeypatch.setenv("LOOKAWAY_HOME", str(tmp_path / "never"))
    wanted = recipe(hub)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "empty"))
    assert wanted.declines(rollout).reason is Reason.MISSING_WEIGHTS
    with pytest.raises(Unmeasurable) as caught:
        wanted.load()
    assert caught.value.reason is Reason.MISSING_WEIGHTS
    assert not (tmp_path / "never").exists()


DROP = """
import sys
from safetensors.numpy import load_file, save_file
values = load_file(sys.argv[1])
values.pop(min(name for name in values if "cam_dec" in name))
save_file(values, sys.argv[1], {"format": "pt"})
"""


def test_weights_with_a_hole_are_not_filled_by_chance(hub, tmp_path, monkeypatch):
    source, target = snapshot(hub, SOURCE), snapshot(tmp_path, SOURCE)
    target.mkdir(parents=True)
    for name in ("config.json", "model.safetensors"):
        (target / name).write_bytes((source / name).read_bytes())
    subprocess.run([torch_python(), "-I", "-c", DROP, target / "model.safetensors"], check=True, capture_output=True)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(
        Unmeasurable, match=r"no values for 1 parameters of DepthAnything3, such as model\.cam_dec"
    ) as caught:
        recipe(tmp_path).load()
    assert caught.value.reason is Reason.WRONG_WEIGHTS


def test_its_packages_and_weights_are_in_the_lock(hub):
    described = describe(recipe(hub))
    assert "torch==2.13.0" in described["environment"]["requirements"]
    assert described["environment"]["bare"] == ["depth-anything-3==0.1.1"]
    assert len(described["weights"]["files"]) == 2


def test_a_reference_view_that_does_not_exist_is_refused(hub):
    with pytest.raises(UnknownName, match="Did you mean 'middle'"):
        recipe(hub, reference_view="midle")
