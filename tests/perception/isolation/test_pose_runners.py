"""Runner files of networks that cannot be installed here, with packages that answer in the form that theirs do."""

from __future__ import annotations

import numpy as np
import pytest

from lookaway.core import Case, Compute, Reason, Rollout, Timeline, Trajectory, Unmeasurable
from lookaway.engine.feature_job import Extractors, FeatureJob
from lookaway.io.sampling import UniformFrames
from lookaway.perception.isolation.environment import Environment
from lookaway.perception.poses.network_poses import DA3_ENVIRONMENT, MapAnythingPoses, VggtPoses, network_trajectory
from lookaway.perception.poses.vipe_poses import VipePoses
from lookaway.perception.similarity.compared_frames import GeneratedSize
from tests.perception.isolation.torch_environment import local_weights, site_packages, snapshot, torch_python
from tests.support.tiny import clip_bytes

pytestmark = pytest.mark.merge

NETWORK = """
import torch
from safetensors.torch import load_file

class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.step = torch.nn.Parameter(torch.zeros(1))

    @classmethod
    def from_pretrained(cls, folder, local_files_only):
        assert local_files_only
        network = cls()
        network.load_state_dict(load_file(folder + "/model.safetensors"))
        return network
"""
VGGT = """
import torch
from network import Network

class VGGT(Network):
    def aggregator(self, images):
        assert images.ndim == 5 and images.dtype == torch.float32 and 0 <= images.min() and images.max() <= 1
        return [images], 5

    def camera_head(self, tokens):
        count = tokens[0].shape[1]
        encoded = torch.zeros(1, count, 9)
        encoded[..., 0] = -self.step * torch.arange(count)
        encoded[..., 6], encoded[..., 7:] = 1, torch.pi / 2
        return [encoded * 0, encoded]

    def depth_head(self, tokens, images, first_patch):
        assert first_patch == 5
        depth = images.mean(2)[..., None] * 0 + 3
        return depth, depth
"""
POSE_ENCODING = """
import torch

def pose_encoding_to_extri_intri(encoded, size):
    height, width = size
    count = encoded.shape[1]
    poses = torch.cat([torch.eye(3).expand(1, count, 3, 3), encoded[..., :3, None]], -1)
    lens = torch.tensor([[width / 2, 0, width / 2], [0, height / 2, height / 2], [0, 0, 1.0]])
    return poses, lens.expand(1, count, 3, 3)
"""
MAPANYTHING = """
import torch
from network import Network

class MapAnything(Network):
    def infer(self, views, memory_efficient_inference, use_amp, amp_dtype, apply_mask, mask_edges):
        assert (use_amp, amp_dtype) == (True, "bf16")
        found = []
        for index, view in enumerate(views):
            height, width = view["size"]
            pose = torch.eye(4)[None].clone()
            pose[0, 0, 3] = self.step.detach() * index
            lens = torch.tensor([[[width / 2, 0, width / 2], [0, height / 2, height / 2], [0, 0, 1.0]]])
            depth = torch.full((1, height, width, 1), 3.0)
            found.append({"camera_poses": pose, "intrinsics": lens, "depth_z": depth})
        return found
"""
PREPARE = """
def preprocess_inputs(views, resize_mode="fixed_mapping", size=None, resolution_set=518):
    if resize_mode == "fixed_mapping":
        assert [view["img"].shape for view in views] == [(36, 48, 3)] * len(views)
        return [{"size": (56, resolution_set)} for view in views]
    assert resize_mode == "longest_side"
    for view in views:
        assert max(view["img"].shape) == size and view["img"].dtype == "uint8"
    return [{"size": view["img"].shape[:2]} for view in views]
"""
PACKAGES = {
    "network.py": NETWORK,
    "vggt/models/vggt.py": VGGT,
    "vggt/utils/pose_enc.py": POSE_ENCODING,
    "mapanything/models.py": MAPANYTHING,
    "mapanything/utils/image.py": PREPARE,
}


@pytest.fixture(scope="module")
def hub(home, tmp_path_factory):
    """The packages, and a cache of the hub with weights of one number for each."""
    from safetensors.numpy import save_file

    site = site_packages(torch_python())
    for name, text in PACKAGES.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    folder = tmp_path_factory.mktemp("hub")
    (snapshot(folder, "facebook/tiny")).mkdir(parents=True)
    save_file({"step": np.array([0.5], np.float32)}, snapshot(folder, "facebook/tiny") / "model.safetensors")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_CACHE", str(folder))
        yield folder


@pytest.fixture
def rollout(tmp_path):
    (tmp_path / "clip.mp4").write_bytes(clip_bytes())
    case = Case(id="clip", subset="all", scene="clip")
    return Rollout(case=case, model="model", video=tmp_path / "clip.mp4")


def perceive(recipe, rollout):
    found = FeatureJob(Extractors(None), rollout, "content", [recipe]).run()[recipe]
    if isinstance(found, Exception):
        raise found
    return Trajectory.from_feature(found)


@pytest.mark.parametrize("kind", [VggtPoses, MapAnythingPoses])
def test_what_the_network_answers_becomes_a_trajectory(hub, rollout, kind):
    recipe = kind(
        weights=local_weights(hub, "facebook/tiny", "model.safetensors"),
        environment=DA3_ENVIRONMENT,
        frames=UniformFrames(3),
        height=48,
        longest_side=112,
        compute=Compute(precision="bfloat16"),
    )
    trajectory = perceive(recipe, rollout)
    # One network answers with world-to-camera, the other with camera-to-world matrices: both walk to the right.
    np.testing.assert_allclose(trajectory.centres, [[0, 0, 0], [0.5, 0, 0], [1, 0, 0]])
    assert trajectory.frame_indices.tolist() == [0, 10, 19]
    assert (trajectory.width, trajectory.height) == (112, 84)
    assert trajectory.intrinsics[2].tolist() == [[56, 0, 56], [0, 42, 42], [0, 0, 1]]
    assert trajectory.median_depth.tolist() == [3, 3, 3]


def test_reduced_frames_go_to_the_preparation_of_the_network_itself_uncropped(hub, rollout):
    recipe = MapAnythingPoses(
        weights=local_weights(hub, "facebook/tiny", "model.safetensors"),
        environment=DA3_ENVIRONMENT,
        frames=UniformFrames(3),
        longest_side=112,
        compute=Compute(precision="bfloat16"),
        reduced=GeneratedSize(48),
    )
    trajectory = perceive(recipe, rollout)
    np.testing.assert_allclose(trajectory.centres, [[0, 0, 0], [0.5, 0, 0], [1, 0, 0]])
    assert (trajectory.width, trajectory.height) == (112, 56)


# ViPE

VIPE_COMMAND = """
import sys
from pathlib import Path
import numpy as np
verb, video, _, output, _, pipeline = sys.argv[1:]
assert verb == "infer" and Path(video).is_file()
if pipeline == "failing":
    sys.exit("CUDA is not here")
if pipeline == "silent":
    sys.exit()
output = Path(output)
frames = np.arange(0, 20, 2) if pipeline != "other frames" else np.arange(1, 11)
poses = np.tile(np.eye(4, dtype=np.float32), (10, 1, 1))
poses[:, 2, 3] = np.arange(10)
for folder in ("pose", "intrinsics", "depth"):
    (output / folder).mkdir()
np.savez(output / "pose" / "clip.npz", data=poses, inds=np.arange(0, 20, 2))
columns = 5 if pipeline == "wide_angle" else 4
np.savez(output / "intrinsics" / "clip.npz", data=np.tile([50, 55, 32, 24, 1.0][:columns], (10, 1)), inds=frames)
if pipeline != "pose_only":
    np.save(output / "depth" / "clip.zip", np.zeros(1))
    (output / "depth" / "clip.zip.npy").rename(output / "depth" / "clip.zip")
"""
VIPE_DEPTH = """
import numpy as np

def read_depth_artifacts(path):
    for frame in range(20):
        depth = np.full((48, 64), 99, np.float32)
        depth[::8, ::8] = 2.0 + frame
        yield frame, depth
"""


@pytest.fixture(scope="module")
def vipe(home):
    environment = Environment(("numpy==2.4.6", "six==1.17.0"))
    python = environment.ensure()
    command = python.parent / "vipe"
    command.write_text(f"#!{python} -I\n{VIPE_COMMAND}")
    command.chmod(0o755)
    reader = site_packages(python) / "vipe" / "utils" / "io.py"
    reader.parent.mkdir(parents=True, exist_ok=True)
    reader.write_text(VIPE_DEPTH)
    return environment


def test_what_vipe_writes_becomes_a_trajectory(vipe, rollout):
    trajectory = perceive(VipePoses(vipe), rollout)
    np.testing.assert_allclose(trajectory.centres[:, 2], np.arange(10))
    assert trajectory.frame_indices.tolist() == list(range(0, 20, 2))
    assert trajectory.intrinsics[3].tolist() == [[50, 0, 32], [0, 55, 24], [0, 0, 1]]
    assert trajectory.median_depth.tolist() == [2.0 + frame for frame in range(0, 20, 2)]
    assert (trajectory.width, trajectory.height, trajectory.frame_count) == (64, 48, 20)


def test_vipe_sees_the_first_frames_alone_where_they_are_asked_for(vipe, rollout, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "lookaway.perception.poses.vipe_poses.write_beginning",
        lambda path, video, count, crf: seen.append((video, count, crf)) or path.write_bytes(video.read_bytes()),
    )
    perceive(VipePoses(vipe, first_frames=7), rollout)
    assert seen == [(rollout.video.absolute(), 7, 18)]


def test_vipe_that_is_to_be_there_beforehand_and_is_not_is_told_with_the_command_that_makes_it(vipe, rollout):
    assert VipePoses(vipe, is_made_beforehand=True).declines(rollout) is None
    other = Environment(("numpy==2.4.6",), python="3.12")
    assert VipePoses(other).declines(rollout) is None
    declined = VipePoses(other, is_made_beforehand=True).declines(rollout)
    assert declined is not None
    assert declined.reason is Reason.MISSING_WEIGHTS
    assert other.entry_command() in declined.message


@pytest.mark.parametrize(
    ("pipeline", "told"),
    [
        ("failing", "exit code 1 and 0 files of poses(?s:.*)CUDA is not here"),
        ("silent", "exit code 0 and 0 files of poses"),
        ("other frames", "poses and intrinsics of different frames"),
        ("wide_angle", "fx, fy, cx, cy of a pinhole"),
        ("pose_only", "choose a pipeline with depth, not 'pose_only'"),
    ],
)
def test_what_vipe_cannot_do_is_told(vipe, rollout, pipeline, told):
    with pytest.raises(Unmeasurable, match=told) as caught:
        perceive(VipePoses(vipe, pipeline), rollout)
    assert caught.value.reason is Reason.POSE_FAILED


# What a network answers


def answer(**changes):
    whole = {
        "poses": np.tile(np.eye(4), (3, 1, 1)),
        "intrinsics": np.tile(np.array([[5.0, 0, 4], [0, 5, 3], [0, 0, 1]]), (3, 1, 1)),
        "depth": np.full((3, 6, 8), 2.0, np.float32),
    }
    return {**whole, **changes}


def finished(**changes):
    timeline = Timeline(times_seconds=np.arange(9) / 8, width=64, height=48)
    options = {"convention": "camera_to_world", "tolerance": 1e-2, "stride": 1}
    return network_trajectory(answer(**changes), np.array([0, 4, 8]), timeline, **options)


@pytest.mark.parametrize(
    "changes",
    [
        {"poses": np.full((3, 4, 4), np.nan)},
        {"poses": np.zeros((3, 4, 4))},
        {"poses": np.tile(np.eye(4), (2, 1, 1))},
        {"poses": np.eye(4)},
        {"intrinsics": -np.ones((3, 3, 3))},
        {"intrinsics": np.ones((3, 4))},
        {"depth": np.zeros((3, 6, 8))},
        {"depth": np.full((3, 6, 8), np.nan)},
        {"depth": np.ones((2, 6, 8))},
        {"depth": np.ones((3, 6, 8, 1))},
    ],
)
def test_an_answer_that_is_no_trajectory_has_failed(changes):
    with pytest.raises(Unmeasurable, match="of what the network answered") as caught:
        finished(**changes)
    assert caught.value.reason is Reason.POSE_FAILED


def test_a_whole_answer_is_taken_as_it_is():
    feature = finished()
    assert feature["frame_indices"].tolist() == [0, 4, 8]
    assert feature["size"].tolist() == [8, 6, 9]
    assert {name: values.dtype.name for name, values in feature.arrays.items()} == {
        "camera_to_world": "float64",
        "intrinsics": "float64",
        "frame_indices": "int64",
        "median_depth": "float64",
        "size": "int64",
    }
