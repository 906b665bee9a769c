from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from lookaway.core import DatasetError, GivenPair, Reason
from lookaway.suites.revisit.sana_layout import MANIFEST, PAIRS, SanaReader, looks_like_sana

SIMPLE, HARD = "benchmark_v2_smooth_60s", "benchmark_v2_hard_60s"
FEW = "scenes, SANA-WM-Bench has 80"


class SanaWriter:
    """Writes scenes and results as SANA-WM-Bench lays them out; videos are files of any content."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def scenes(self, folder: str = SIMPLE, pairs: object = None, **lines: dict[str, object]) -> None:
        """Scenes with what their lines say beside the id, and with their pairs."""
        below = self.root / folder
        (below / MANIFEST).parent.mkdir(parents=True, exist_ok=True)
        records = [{"id": scene, **self._usual(folder, scene), **line} for scene, line in lines.items()]
        (below / MANIFEST).write_text("".join(json.dumps(record) + "\n" for record in records))
        (below / PAIRS).write_text(json.dumps({"scenes": [] if pairs is None else pairs}))
        for scene in lines:
            np.savez(below / "sanawm_export_v2" / f"{scene}.npz", c2w=np.tile(np.eye(4), (9, 1, 1)))

    def _usual(self, folder: str, scene: str) -> dict[str, object]:
        return {"prompt": "a room", "camera_path": f"{folder}/sanawm_export_v2/{scene}.npz", "scene_type": "indoor"}

    def video(self, scene: str, method: str = "alpha", split: str = "simple_60s", end: str = "_generated.mp4") -> Path:
        path = self.root / "results" / method / split / f"{scene}{end}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"video")
        return path


@pytest.fixture
def writer(tmp_path):
    return SanaWriter(tmp_path / "data")


def problems(reader: SanaReader) -> dict[str, str]:
    return {problem.where: problem.message for problem in reader.problems if FEW not in problem.message}


def test_a_scene_has_its_prompt_pairs_path_and_video(writer):
    pairs = [{"frame_a": 4, "frame_b": 36, "quality_score": 0.2, "distance_m": 0.1}, {"frame_a": 8, "frame_b": 32}]
    writer.scenes(pairs=[{"scene_id": "indoor_001", "evaluation_pairs": pairs}], indoor_001={})
    video = writer.video("indoor_001")
    reader = SanaReader(writer.root)
    (rollout,) = reader.rollouts()
    assert (rollout.id, rollout.case.subset, rollout.case.scene) == (
        "alpha/simple_60s/indoor_001/0",
        "simple_60s",
        "indoor_001",
    )
    assert rollout.case.prompt == ("a room",)
    assert rollout.case.pairs == (GivenPair(first=4, second=36, cost=0.2), GivenPair(first=8, second=32))
    assert (rollout.video, rollout.problem) == (video.resolve(), None)
    assert rollout.artifacts["commanded_poses"].name == "indoor_001.npz"
    assert problems(reader) == {}
    assert [FEW in problem.message for problem in reader.problems] == [True]
    assert reader.identity == {"simple_60s": {"scenes": 1, "pairs": 2}, "method alpha": {}}


def test_every_scene_of_a_split_is_asked_of_a_method_that_has_the_split(writer):
    writer.scenes(indoor_001={}, indoor_002={})
    writer.scenes(HARD, indoor_001={})
    writer.video("indoor_001")
    writer.video("indoor_001", method="beta", split="hard_60s")
    found = {rollout.id: rollout.video.is_file() for rollout in SanaReader(writer.root).rollouts()}
    assert found == {
        "alpha/simple_60s/indoor_001/0": True,
        "alpha/simple_60s/indoor_002/0": False,
        "beta/hard_60s/indoor_001/0": True,
    }


def test_results_may_lie_apart_from_the_scenes(writer, tmp_path):
    writer.scenes(indoor_001={})
    elsewhere = SanaWriter(tmp_path / "elsewhere")
    elsewhere.video("indoor_001")
    (rollout,) = SanaReader(elsewhere.root / "results", dataset=writer.root).rollouts()
    assert rollout.video.is_file()


def test_a_video_with_an_overlay_is_refused(writer):
    writer.scenes(indoor_001={}, indoor_002={})
    writer.video("indoor_001", end="_generated_combined.mp4")
    writer.video("indoor_002", end="_combined.mp4")
    writer.video("indoor_002")
    reader = SanaReader(writer.root)
    refused, clean = reader.rollouts()
    assert not refused.video.is_file()
    assert clean.video.name == "indoor_002_generated.mp4"
    ((where, message),) = problems(reader).items()
    assert where.endswith("indoor_001_generated_combined.mp4")
    assert "Supply the clean video" in message


def test_what_a_method_says_about_itself_goes_into_the_lock(writer):
    writer.scenes(indoor_001={})
    info = {"model": "alpha", "variant": "streaming", "refiner": True, "secret": "none"}
    (writer.video("indoor_001").parents[1] / "method_info.json").write_text(json.dumps(info))
    reader = SanaReader(writer.root)
    reader.rollouts()
    assert reader.identity["method alpha"] == {"model": "alpha", "variant": "streaming", "refiner": True}


def test_results_of_vbench_are_found_beside_the_videos(writer):
    writer.scenes(indoor_001={})
    folder = writer.video("indoor_001").parents[1] / "eval" / "simple_60s"
    folder.mkdir(parents=True)
    (folder / "results_eval_results.json").write_text("{}")
    (rollout,) = SanaReader(writer.root).rollouts()
    assert rollout.artifacts["vbench"].name == "results_eval_results.json"


def test_results_of_single_dimensions_of_vbench_are_all_found(writer):
    writer.scenes(indoor_001={})
    folder = writer.video("indoor_001").parents[1] / "eval" / "simple_60s"
    folder.mkdir(parents=True)
    for dimension in ("imaging_quality", "aesthetic_quality"):
        (folder / f"eval_{dimension}_eval_results.json").write_text("{}")
    (rollout,) = SanaReader(writer.root).rollouts()
    found = {name: path.name for name, path in rollout.artifacts.items() if name.startswith("vbench")}
    assert found == {
        "vbench": "eval_aesthetic_quality_eval_results.json",
        "vbench_01": "eval_imaging_quality_eval_results.json",
    }


def test_the_picture_of_a_scene_is_what_a_model_starts_from_where_it_is_there(writer):
    writer.scenes(
        indoor_001={"image_path": "first.png"},
        indoor_002={"image_path": "gone.png"},
        indoor_003={"image_path": "../a.png"},
    )
    (writer.root / "first.png").write_bytes(b"picture")
    for scene in ("indoor_001", "indoor_002", "indoor_003"):
        writer.video(scene)
    there, gone, outside = SanaReader(writer.root).rollouts()
    assert there.case.first_frame == (writer.root / "first.png").resolve()
    assert (gone.case.first_frame, gone.problem) == (None, None)
    assert outside.problem.reason == Reason.UNSAFE_PATH


def test_paths_that_leave_the_dataset_are_refused(writer, tmp_path):
    outside = tmp_path / "outside.mp4"
    outside.write_bytes(b"video")
    writer.scenes(indoor_001={"camera_path": "../../secret.npz"}, indoor_002={})
    writer.video("indoor_001")
    os.symlink(outside, writer.root / "results" / "alpha" / "simple_60s" / "indoor_002_generated.mp4")
    for rollout in SanaReader(writer.root).rollouts():
        assert rollout.problem is not None
        assert rollout.problem.reason == Reason.UNSAFE_PATH
        assert "commanded_poses" not in rollout.artifacts
    first, second = SanaReader(writer.root, allow_outside=True).rollouts()
    assert (first.problem, second.problem) == (None, None)


def test_scenes_that_cannot_be_read_are_problems_and_the_others_are_kept(writer):
    pairs = [{"scene_id": "indoor_001", "evaluation_pairs": [{"frame_a": -4, "frame_b": 9}]}, {"scene": 3}]
    writer.scenes(pairs=pairs, indoor_001={})
    manifest = writer.root / SIMPLE / MANIFEST
    manifest.write_text(manifest.read_text() + 'not json\n{"id": "../up"}\n' + manifest.read_text())
    writer.video("indoor_001")
    writer.video("unknown_007")
    reader = SanaReader(writer.root)
    (rollout,) = reader.rollouts()
    assert rollout.case.pairs is None
    found = problems(reader)
    assert "greater than or equal to 0" in found[f"{SIMPLE}/{PAIRS}: scene 0"]
    assert "not valid JSON" in found[f"{SIMPLE}/{MANIFEST}:2"]
    assert "id" in found[f"{SIMPLE}/{MANIFEST}:3"]
    assert "listed twice" in found[f"{SIMPLE}/{MANIFEST}"]
    assert "no scene of the manifest" in found["results/alpha/simple_60s/unknown_007_generated.mp4"]


def test_a_folder_is_recognised_by_its_pairs(writer, tmp_path):
    writer.scenes(indoor_001={})
    assert looks_like_sana(writer.root)
    assert not looks_like_sana(tmp_path)


@pytest.mark.parametrize("has_scenes", [False, True])
def test_a_folder_without_scenes_or_without_videos_is_refused(writer, has_scenes):
    writer.root.mkdir()
    if has_scenes:
        writer.scenes(indoor_001={})
    with pytest.raises(DatasetError, match="no generated videos found" if has_scenes else "no scenes found"):
        SanaReader(writer.root).rollouts()


def test_a_split_without_its_list_of_scenes_is_refused(writer):
    (writer.root / SIMPLE).mkdir(parents=True)
    writer.video("indoor_001")
    with pytest.raises(DatasetError, match=r"run_manifest\.jsonl: there is no such file"):
        SanaReader(writer.root).rollouts()
