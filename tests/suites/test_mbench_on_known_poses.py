"""Thirty clips of rooms whose camera poses are known exactly: MBench-A must see what is right and what is wrong.

The tables of figures that these tests print are shown by `pytest -rP`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import lookaway
from lookaway.core import Dataset, Feature, Score, plugins
from lookaway.engine.locking import content_key, recipe_key
from lookaway.store.feature_store import FeatureStore
from tests.metrics.two_view_scenes import rollout
from tests.support.clips import write_clip
from tests.support.mbench import MBenchWriter, write_poses
from tests.support.room import Room, there_and_back, trajectory

pytestmark = [pytest.mark.timeout(900), pytest.mark.nightly]  # thirty clips, measured before the first test

FRAMES, FPS = 81, 8
OPPOSITES = {
    "left_then_right": "right_then_left",
    "right_then_left": "left_then_right",
    "forward_then_backward": "backward_then_forward",
}
RETURN_OFFSETS = (0.0, 0.0, 0.0, 0.05, 0.05, 0.1, 0.1, 0.15, 0.15, 0.2)
"""Metres beside the way out, one of each room; 0 makes every pair a pure rotation or no motion at all."""
POSED = np.arange(0, FRAMES, 8)
"""Frames with poses for the spatial metrics: an estimator seldom looks at every frame, and points take time to find."""
DENSE_ROOM = 6
"""The room whose clips have poses for every frame."""
DEGREES = (0.0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
METRES = (0.0, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32)
TINTS = (0, 2, 4, 8, 16, 32, 64)
QUICK = {"preset": "ultrafast", "crf": "14"}
SPATIAL = ("spatial_epipolar", "spatial_reprojection")


@dataclass(frozen=True)
class Clip:
    room: int
    action: str

    @property
    def offset(self) -> float:
        return RETURN_OFFSETS[self.room]

    @property
    def path(self):
        return there_and_back(self.action, FRAMES, return_offset_metres=self.offset)

    @property
    def posed(self):
        return np.arange(FRAMES) if self.room == DENSE_ROOM else POSED

    @property
    def case(self) -> str:
        return f"environment:room_{self.room}:{self.action}_10s"


CLIPS = [Clip(room, action) for room in range(len(RETURN_OFFSETS)) for action in OPPOSITES]


@dataclass(frozen=True)
class Truth:
    """The dataset of all clips with true poses, and the run that measured it."""

    dataset: Dataset
    run: lookaway.Run

    @property
    def items(self) -> dict[tuple[str, str], dict]:
        """Outcomes by case and the last word of the metric's name."""
        return {(item["case"], item["metric"].rsplit(".", 1)[1]): item for item in self.run.items()}

    def matches(self, clip: Clip) -> Feature:
        """The matches that were found in a clip, as they were kept."""
        bound = next(m for m in plugins.load("suites", "mbench-a")().metrics({}) if "matches" in m.recipes)
        measured = next(rollout for rollout in self.dataset.rollouts if rollout.case.id == clip.case)
        store = FeatureStore(self.run.path / "features")
        kept = store.get(content_key(measured), recipe_key(bound.recipes["matches"]))
        assert kept is not None
        return kept


@pytest.fixture(scope="module")
def truth(tmp_path_factory) -> Truth:
    folder = tmp_path_factory.mktemp("known_poses")
    writer = MBenchWriter(folder / "data")
    rooms = {clip.room: Room(seed=clip.room) for clip in CLIPS}
    for clip in CLIPS:
        add_clip(writer, clip, rooms[clip.room])
    dataset = lookaway.read(writer.finish())
    assert dataset.problems == ()
    metrics = (*SPATIAL, "rendering_lighting", "camera_interaction")
    return Truth(dataset, lookaway.evaluate(dataset, folder / "run", metrics=metrics))


def add_clip(writer: MBenchWriter, clip: Clip, room: Room) -> None:
    """The clip for the environment, and twice more for the camera: with its own action and with the opposite."""
    sample, condition = f"room_{clip.room}", f"{clip.action}_10s"
    writer.add(sample=sample, condition=condition)
    video = write_clip(writer.video(sample=sample, condition=condition), room.frames(clip.path), fps=FPS, options=QUICK)
    write_poses(
        writer.poses(sample=sample, condition=condition),
        clip.path[clip.posed],
        room.intrinsics,
        frame_indices=clip.posed,
    )
    every_pose = write_poses(video.with_name("every_pose.npz"), clip.path, room.intrinsics)
    for asked in (clip.action, OPPOSITES[clip.action]):
        writer.add(
            subset="causal",
            sample=f"{sample}_{clip.action}",
            condition=f"{asked}_10s",
            metadata={"caption": "a room"},
            video=str(video),
            poses=str(every_pose),
        )


def perturbed(path, *, degrees: float = 0.0, metres: float = 0.0):
    """Wrong poses: on the way back the camera is thought to look lower and to stand higher than it does."""
    wrong, back = path.copy(), len(path) // 2
    wrong[back:, :3, :3] = path[back:, :3, :3] @ Rotation.from_euler("x", -degrees, degrees=True).as_matrix()
    wrong[back:, 1, 3] -= metres
    return wrong


def drifting(path, degrees: float):
    """Wrong poses: an error that grows from the first frame to the last."""
    wrong = path.copy()
    turns = Rotation.from_euler("x", np.linspace(0, degrees, len(path))[:, None], degrees=True)
    wrong[:, :3, :3] = path[:, :3, :3] @ turns.as_matrix()
    return wrong


def raw_errors(name: str, clip: Clip, paths, matches: Feature) -> list[float]:
    """The metric's raw value on the same matches under several sets of poses."""
    metric = plugins.load("metrics", name)()
    raws = []
    for path in paths:
        poses = trajectory(path[clip.posed], frame_indices=clip.posed, frame_count=FRAMES)
        outcome = metric.measure(rollout(), {"poses": poses.to_feature(), "matches": matches})
        assert isinstance(outcome, Score)
        raws.append(outcome.raw)
    return raws


def show(title: str, levels, rows: dict[str, list[float]]) -> None:
    print(f"\n{title:<34}" + "".join(f"{level:>9g}" for level in levels))
    for name, values in rows.items():
        print(f"{name:<34}" + "".join(f"{value:>9.3f}" for value in values))


def is_rising(values) -> bool:
    return all(less < more for less, more in pairwise(values))


def test_true_poses_give_errors_below_half_a_pixel_on_all_thirty_clips(truth):
    items = truth.items
    print(f"\n{'clip':<32}{'offset m':>9}{'epipolar px':>12}{'reproj. px':>12}{'lighting D':>12}")
    worst = {name: 0.0 for name in SPATIAL}
    for clip in CLIPS:
        epipolar, reprojection, lighting = (items[clip.case, name] for name in (*SPATIAL, "rendering_lighting"))
        figures = [item["raw"] for item in (epipolar, reprojection, lighting)]
        print(f"room {clip.room} {clip.action:<25}{clip.offset:>9.2f}" + "".join(f"{raw:>12.3f}" for raw in figures))
        for name, raw in zip(SPATIAL, figures, strict=False):
            worst[name] = max(worst[name], raw)
    assert len(CLIPS) == 30
    assert worst["spatial_epipolar"] < 0.5
    assert worst["spatial_reprojection"] < 0.5


def test_each_clip_is_measured_by_the_model_that_fits_its_camera(truth):
    rooms = {rollout.id: rollout.case.scene for rollout in truth.dataset.rollouts}
    models: dict[str, set[str]] = {}
    for unit in truth.run.units("mbencha.environment.spatial_epipolar"):
        models.setdefault(rooms[unit["rollout"]], set()).add(json.loads(unit["detail"])["model"])
    expected = {f"environment:room_{clip.room}": {"epipolar" if clip.offset else "homography"} for clip in CLIPS}
    assert models == expected


@pytest.mark.parametrize("name", SPATIAL)
def test_the_error_rises_with_a_wrong_turn_on_the_way_back_on_every_clip(truth, name):
    rows = {
        f"room {clip.room} {clip.action}": raw_errors(
            name, clip, [perturbed(clip.path, degrees=level) for level in DEGREES], truth.matches(clip)
        )
        for clip in CLIPS
    }
    show(f"{name}, degrees", DEGREES, {"mean of 30 clips": np.mean(list(rows.values()), axis=0).tolist()})
    assert [clip for clip, values in rows.items() if not is_rising(values)] == []


@pytest.mark.parametrize("name", SPATIAL)
def test_the_error_rises_with_a_drift_along_every_clip(truth, name):
    rows = {
        f"room {clip.room} {clip.action}": raw_errors(
            name, clip, [drifting(clip.path, level) for level in DEGREES], truth.matches(clip)
        )
        for clip in CLIPS
    }
    show(f"{name}, degrees of drift", DEGREES, {"mean of 30 clips": np.mean(list(rows.values()), axis=0).tolist()})
    assert [clip for clip, values in rows.items() if not is_rising(values)] == []


# A camera that only turns has no epipolar lines that a wrong baseline could move: those clips are left out here.
@pytest.mark.parametrize("name", SPATIAL)
def test_the_error_rises_with_a_wrong_place_on_the_way_back_on_every_clip_with_a_baseline(truth, name):
    rows = {
        f"room {clip.room} {clip.action}": raw_errors(
            name, clip, [perturbed(clip.path, metres=level) for level in METRES], truth.matches(clip)
        )
        for clip in CLIPS
        if clip.offset
    }
    show(f"{name}, metres", METRES, {f"mean of {len(rows)} clips": np.mean(list(rows.values()), axis=0).tolist()})
    assert len(rows) == 21
    assert [clip for clip, values in rows.items() if not is_rising(values)] == []


def test_scores_fall_with_the_pose_error_from_file_to_table(tmp_path):
    clip, room = Clip(room=7, action="left_then_right"), Room(seed=7)
    (tmp_path / "data").mkdir()
    video = write_clip(tmp_path / "data/video.mp4", room.frames(clip.path), fps=FPS, options=QUICK)
    writer = MBenchWriter(tmp_path / "data")
    for degrees in DEGREES:
        model = f"wrong_by_{degrees}"
        writer.add(model=model, video=str(video))
        wrong = perturbed(clip.path, degrees=degrees)[POSED]
        write_poses(writer.poses(model=model), wrong, room.intrinsics, frame_indices=POSED)
    run = lookaway.evaluate(writer.finish(), tmp_path / "run", metrics=SPATIAL)
    cells = {(cell.metric.rsplit(".", 1)[1], cell.model): cell for cell in run.table().cells}
    for name in SPATIAL:
        chosen = [cells[name, f"wrong_by_{degrees}"] for degrees in DEGREES]
        raws, values = [cell.raw_mean for cell in chosen], [cell.estimate.mean for cell in chosen]
        show(f"{name}, degrees, end to end", DEGREES, {"raw value, pixels": raws, "score": values})
        assert is_rising(raws)
        assert is_rising(values[::-1])


@pytest.mark.parametrize("action", OPPOSITES)
def test_lighting_falls_with_a_tint_on_the_way_back(tmp_path, action):
    room = Room(seed=20, width=416, height=240)
    path = there_and_back(action, FRAMES)
    frames = list(room.frames(path))
    writer = MBenchWriter(tmp_path / "data")
    for tint in TINTS:
        model = f"tint_{tint}"
        writer.add(model=model)
        write_clip(writer.video(model=model), tinted(frames, tint), fps=FPS, options=QUICK)
        write_poses(writer.poses(model=model), path, room.intrinsics, size=(416, 240))
    run = lookaway.evaluate(writer.finish(), tmp_path / "run", metrics=["rendering_lighting"])
    cells = {cell.model: cell for cell in run.table().cells}
    values = [cells[f"tint_{tint}"].estimate.mean for tint in TINTS]
    distances = [cells[f"tint_{tint}"].raw_mean for tint in TINTS]
    show(f"lighting, {action}, tint", TINTS, {"raw value, CIELAB": distances, "score": values})
    assert values[0] > 0.99
    assert is_rising(values[::-1])
    assert is_rising(distances)


def tinted(frames, tint: int):
    """The same frames, warmer and darker from the turnaround on."""
    for index, frame in enumerate(frames):
        shift = np.array([0, -tint, -tint]) if index > len(frames) // 2 else np.zeros(3, int)
        yield np.clip(frame + shift, 0, 255).astype(np.uint8)


def test_lighting_of_a_world_that_does_not_change_is_all_but_perfect(truth):
    items = truth.items
    same_views = [items[clip.case, "rendering_lighting"]["value"] for clip in CLIPS if not clip.offset]
    other_views = [items[clip.case, "rendering_lighting"]["value"] for clip in CLIPS if clip.offset]
    print(f"\nlighting, least of the same views {min(same_views):.4f}, of views from beside {min(other_views):.4f}")
    assert min(same_views) > 0.999
    assert min(other_views) > 0.9


def test_the_camera_did_what_was_asked_and_nothing_of_the_opposite(truth):
    items = truth.items
    scores: dict[str, list[float]] = {"asked for": [], "the opposite": []}
    for clip in CLIPS:
        sample = f"causal:room_{clip.room}_{clip.action}"
        scores["asked for"].append(items[f"{sample}:{clip.action}_10s", "camera_interaction"]["value"])
        scores["the opposite"].append(items[f"{sample}:{OPPOSITES[clip.action]}_10s", "camera_interaction"]["value"])
    for name, values in scores.items():
        print(f"\ncamera interaction, {name}: {min(values):.4f} to {max(values):.4f}")
    assert scores["asked for"] == pytest.approx([1.0] * 30, abs=0.02)
    assert scores["the opposite"] == [0.0] * 30


def test_every_rollout_was_measured(truth):
    statuses = {(item["status"], item["reason"]) for item in truth.run.items()}
    assert statuses == {("score", None)}
    assert sum(1 for _ in truth.run.items()) == 30 * 4 + 60
