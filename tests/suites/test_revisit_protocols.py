from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import lookaway
from lookaway.core import BoundMetric, Reason, Rollout, Timeline, UnknownName, Unmeasurable, UserError
from lookaway.engine.binding import bind_metrics
from lookaway.perception.poses.tracked_poses import TrackedPoses
from lookaway.perception.similarity.compared_frames import MirroredFrames
from lookaway.perception.similarity.retraced_frames import RetracedFrames
from lookaway.suites.revisit import Revisit
from lookaway.suites.revisit.published import POSES
from lookaway.world.grid import Grid
from tests.suites.test_revisit import SHAPE
from tests.support import panorama
from tests.support.compared import kept
from tests.support.rendered import copy_clips
from tests.support.watching import rollout_of

TABLES = "sana_like,mbench-a,mind"
COMPARED = ("sana_like.revisit_psnr", "mbencha.environment.rendering_lighting", "mind.corrected.gsc.psnr")
"""A score of each table that another light lowers."""
DECLINED = {
    "sana.revisit_psnr": Reason.MISSING_INPUT,
    "mind.action.rpe_rot": Reason.MISSING_WEIGHTS,
    "mbencha.entity.object_geometry_consistency": Reason.MISSING_INPUT,
    "mind.corrected.gsc.lpips": Reason.MISSING_WEIGHTS,
}
"""What these clips lack: a list of pairs, poses of the reference, depth, and weights."""


def bound(scores: str, **settings) -> tuple[BoundMetric, ...]:
    return Revisit().metrics({"scores": scores, **settings})


def test_several_protocols_are_one_list_with_one_gate():
    found = bound("sana,mbench-a,mind")
    names = [metric.name for metric in found]
    assert len(set(names)) == len(names)
    starts = Counter(name.partition(".")[0] for name in names)
    assert starts.keys() == {"sana", "mbencha", "mind", "revisited"}
    assert [metric.name for metric in found if metric.is_gate] == ["revisited"]
    assert all(metric.subsets is None for metric in found)


def test_each_table_has_the_names_and_constants_of_its_own_suite():
    from lookaway.suites.mbench import MBenchA
    from lookaway.suites.mind import Mind

    found = {metric.name: metric for metric in bound(TABLES)}
    for suite, start in ((MBenchA(), "mbencha."), (Mind(), "mind.")):
        own = {metric.name: metric for metric in suite.metrics({}) if not metric.is_gate}
        own = {name: metric for name, metric in own.items() if name.startswith(start)}
        assert own.keys() == {name for name in found if name.startswith(start)}
        for name, metric in own.items():
            assert found[name].metric == metric.metric
            assert found[name].is_consistency == metric.is_consistency


def test_the_tracked_camera_is_one_recipe_for_all():
    recipes = [recipe for metric in bound(TABLES) for name, recipe in metric.recipes.items() if name == "poses"]
    assert POSES in recipes
    tracked = {recipe for recipe in recipes if isinstance(recipe, TrackedPoses)}
    assert tracked == {POSES}


def test_own_numbers_can_stand_beside_published_ones():
    names = [metric.name for metric in bound("revisit,sana")]
    assert "remembered" in names
    assert "sana.revisit_psnr" in names


def test_an_unknown_protocol_is_refused_with_its_nearest_name(tmp_path):
    with pytest.raises(UnknownName, match="Did you mean 'mbench-a'"):
        bound("sana,mbench")


def test_own_numbers_have_no_protocol_and_refuse_the_option(tmp_path):
    kept(tmp_path / "clip.mp4", panorama.pictures())
    assert {metric.protocol for metric in bound("revisit")} == {None}
    with pytest.raises(UserError, match="no publication has these metrics of the suite 'revisit'"):
        bind_metrics(lookaway.read(tmp_path, suite="revisit"), protocol="published")


def test_published_frames_are_mirrored_and_corrected_ones_where_the_requested_camera_retraces_its_path():
    found = {metric.name: metric for metric in bound("mind")}
    published, corrected = (found[name].recipes["fidelity"] for name in ("mind.gsc.psnr", "mind.corrected.gsc.psnr"))
    assert published.compared == MirroredFrames(even_only=True)
    assert corrected.compared == RetracedFrames()


def requested(folder, degrees) -> Rollout:
    path = np.tile(np.eye(4), (len(degrees), 1, 1))
    path[:, :3, :3] = panorama.rotations(degrees)
    np.savez(folder / "clip.request.npz", c2w=path, fps=8.0)
    return rollout_of(folder / "clip.mp4", artifacts={"commanded_poses": folder / "clip.request.npz"})


def timeline(count: int) -> Timeline:
    return Timeline(np.arange(count) / 8, panorama.WIDTH, panorama.HEIGHT)


def test_frames_are_mirrored_where_the_requested_path_is(tmp_path):
    rollout = requested(tmp_path, panorama.OUT_AND_BACK)
    found = RetracedFrames().partners(timeline(17), rollout)
    assert found.indices == {index: 16 - index for index in range(8)}


def test_a_camera_that_waits_first_is_mirrored_around_its_turning_point(tmp_path):
    found = RetracedFrames().partners(timeline(21), requested(tmp_path, (0, 0, 0, 0, *panorama.OUT_AND_BACK)))
    assert found.indices == {4 + index: 20 - index for index in range(8)}


@pytest.mark.parametrize(
    "degrees",
    [
        pytest.param(tuple(range(0, 49, 3)), id="one way"),
        pytest.param((0.0,) * 17, id="still"),
        pytest.param((*range(0, 60, 4), 52, 48), id="a short way back"),
    ],
)
def test_mirrored_frames_of_another_path_are_not_compared(tmp_path, degrees):
    with pytest.raises(Unmeasurable, match="of 17 frames") as refusal:
        RetracedFrames().partners(timeline(17), requested(tmp_path, degrees))
    assert refusal.value.reason is Reason.NOT_APPLICABLE


def test_a_clip_of_an_unknown_path_is_not_taken_for_a_mirror(tmp_path):
    assert RetracedFrames().declines(rollout_of(tmp_path / "clip.mp4")).reason is Reason.MISSING_INPUT


def test_a_camera_that_moves_on_is_no_mirror_whatever_the_unit_of_its_path(tmp_path):
    path = np.tile(np.eye(4), (9, 1, 1))
    for extent in (0.02, 2.0):
        path[:, 0, 3] = np.linspace(0, extent, 9)
        np.savez(tmp_path / "clip.request.npz", c2w=path, fps=8.0)
        rollout = rollout_of(tmp_path / "clip.mp4", artifacts={"commanded_poses": tmp_path / "clip.request.npz"})
        with pytest.raises(Unmeasurable, match="0 of 9 frames"):
            RetracedFrames().partners(timeline(9), rollout)


@pytest.mark.merge
def test_one_set_of_rollouts_fills_three_tables_and_the_camera_is_tracked_once(tmp_path, monkeypatch):
    grid = Grid(
        families=("kitchen",), events=("none",), cameras=("yaw_left_60",), seeds=(3,), faults=("lighting_shift",),
        severities=(1.0,),
    )  # fmt: skip
    copy_clips(grid.recipes(SHAPE), tmp_path)
    tracked, start = Counter(), TrackedPoses.start

    def counted(self, rollout, *arguments):
        tracked[self, rollout.video] += 1
        return start(self, rollout, *arguments)

    monkeypatch.setattr(TrackedPoses, "start", counted)
    names = ("sana.corrected.rot_err", *COMPARED, *DECLINED)
    scores = "sana,sana_like,mbench-a,mind"
    run = lookaway.evaluate(tmp_path, tmp_path / "run", suite="revisit", scores=scores, metrics=names)
    assert set(tracked.values()) == {1}
    videos = {rollout.video for rollout in lookaway.read(tmp_path, suite="revisit").rollouts}
    assert {video for recipe, video in tracked if recipe == POSES} == videos
    assert len(videos) == 2

    rows = {(row["model"], row["metric"]): row for row in run.items()}
    for name in COMPARED:
        assert rows["perfect", name]["value"] > rows["lighting_shift-1.00", name]["value"], name
    tables = {cell.metric.partition(".")[0] for cell in run.table().cells if cell.estimate}
    assert tables == {"sana", "sana_like", "mbencha", "mind"}
    for name, reason in DECLINED.items():
        assert rows["perfect", name]["reason"] == reason.value, name
