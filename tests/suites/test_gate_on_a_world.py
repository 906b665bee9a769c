"""A still video gets no memory score from any suite, whatever its model is called; looking away and back does."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import lookaway
from lookaway.core import Cell
from lookaway.engine.run import Run
from lookaway.io.encoding import write_video
from lookaway.io.video import Video
from lookaway.judges.oracle import OracleServer
from lookaway.reports.export.mbench import export_mbench
from lookaway.reports.leaderboards import leaderboards
from lookaway.reports.runs import load_runs
from lookaway.world.exports import export_world
from lookaway.world.grid import Grid
from tests.judges.test_judge_runs import KEY, settings
from tests.support.ranking import require_leads_nothing
from tests.support.rendered import copy_clips
from tests.support.world import FORM

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.render,  # the clips are rendered and measured before the first test
    pytest.mark.merge,
]

PERFECT, STILL = "perfect", "camera_never_moves-1.00"
CAMERAS = ("yaw_right_60", "yaw_left_60")


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("gate")
    grid = Grid(
        families=("playroom",),
        events=("none",),
        cameras=CAMERAS,
        seeds=(0,),
        faults=("camera_never_moves",),
        severities=(1.0,),
    )
    copy_clips(grid.recipes(replace(FORM, seconds=4.0)), root / "world")
    return root


def consistency(run: Run) -> dict[tuple[str, str], Cell]:
    """The cells of consistency, by model and metric."""
    gated = {metric.name for metric in run.metrics if metric.is_consistency and metric.protocol in (None, "corrected")}
    return {(cell.model, cell.metric): cell for cell in run.table().cells if cell.metric in gated}


def require_only_tested(run: Run, still: tuple[str, ...]) -> None:
    """That still models have no score of consistency and are known as untested, and that others have some."""
    cells = consistency(run)
    assert {model for model, _ in cells} > set(still)
    for (model, metric), cell in cells.items():
        if model in still:
            assert cell.estimate is None, metric
            assert cell.gated.label == "tested"
            assert cell.gated.coverage.mean == 0
    others = [cell for (model, _), cell in cells.items() if model not in still]
    assert all(cell.gated.coverage.mean == 1 for cell in others)
    assert any(cell.estimate for cell in others)


def frozen_folder(world: Path, root: Path) -> Path:
    """Clips of the world without anything beside them, and stills of them by a model with a fine name."""
    for video in (world / "world/clips").rglob("video.mp4"):
        case, model = video.parts[-4:-2]
        path = root / ("mover" if model == PERFECT else "champion") / f"{case}.mp4"
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(video, path)
        if model == PERFECT:
            with Video(video) as opened:
                first = next(iter(opened.windows(1)))[0].pixels
                count = opened.timeline.frame_count
            (root / "frozen").mkdir(exist_ok=True)
            write_video(root / "frozen" / f"{case}.mp4", [np.ascontiguousarray(first)] * count, 8)
    return root


@pytest.fixture(scope="module")
def folder_run(world) -> Run:
    return lookaway.evaluate(frozen_folder(world, world / "videos"), world / "folder run", suite="folder")


def test_in_a_plain_folder_image_motion_tells_who_looked_away(folder_run):
    require_only_tested(folder_run, still=("champion", "frozen"))
    sources = {row["detail"] for row in folder_run.items() if row["metric"] == "revisited"}
    assert all('"image motion"' in detail for detail in sources)


def test_a_still_model_has_no_rank(folder_run):
    for leaderboard in leaderboards(load_runs([folder_run.path])):
        assert not [row for row in leaderboard.rows if row.ranks and row.model in ("champion", "frozen")]


@pytest.fixture(scope="module")
def action_run(world) -> Run:
    export_world(world / "world", "mbench-a", world / "action")
    return lookaway.evaluate(world / "action", world / "action run", protocol="both")


def test_in_mbench_a_poses_tell_who_looked_away(action_run):
    require_only_tested(action_run, still=(STILL,))


def test_the_export_in_the_layout_of_mbench_keeps_its_means_and_says_what_is_untested(action_run, tmp_path):
    export_mbench(action_run, tmp_path)
    summary = (tmp_path / "metrics/mbencha.environment.rendering_lighting/summary.json").read_text()
    cells = {
        cell.model: cell for cell in action_run.table().cells if cell.metric == "mbencha.environment.rendering_lighting"
    }
    assert cells[STILL].untested == cells[STILL].scored == len(CAMERAS)
    assert cells[PERFECT].untested == 0
    assert f'"n_untested": {len(CAMERAS)}' in summary


def test_commanded_poses_with_a_still_video_test_nothing(world, action_run, tmp_path):
    shutil.copytree(world / "action", tmp_path / "data")
    # The still video of one model stands beside the poses of the other, as if these were what was asked for.
    moving, still = (sorted((tmp_path / "data/models" / name).rglob("*.mp4")) for name in (PERFECT, STILL))
    for there, here in zip(still, moving, strict=True):
        shutil.copy(there, here)
    run = lookaway.evaluate(tmp_path / "data", tmp_path / "run", metrics=["rendering_lighting"], models=[PERFECT])
    gates = [row for row in run.items() if row["metric"] == "mbencha.revisited"]
    assert [row["value"] for row in gates] == [0.0] * len(CAMERAS)
    assert all("but the picture does not move" in row["detail"] for row in gates)


def test_in_mind_a_still_mirror_test_has_no_score(world, tmp_path):
    export_world(world / "world", "mind", tmp_path / "data")
    names = [f"gsc.{name}" for name in ("mse", "psnr", "ssim")]
    run = lookaway.evaluate(tmp_path / "data", tmp_path / "run", metrics=names, protocol="corrected")
    require_only_tested(run, still=(STILL,))
    published = lookaway.evaluate(tmp_path / "data", tmp_path / "published", metrics=names)
    cells = {(cell.model, cell.metric): cell for cell in published.table().cells}
    cell = cells[STILL, "mind.gsc.ssim"]
    assert cell.estimate is not None
    assert (cell.untested, cell.tested.share.mean, cell.tested.estimate) == (len(CAMERAS), 0.0, None)


@pytest.fixture(scope="module")
def text_run(world) -> Run:
    export_world(world / "world", "mbench-t", world / "text")
    names = [f"mbencht.environment.{name}" for name in ("rendering_lighting", "spatial_epipolar")]
    with OracleServer(world / "world", key=KEY) as server:
        return lookaway.evaluate(world / "text", world / "text run", metrics=names, judge=settings(server))


def test_in_mbench_t_a_still_video_is_not_triggered_and_combines_to_nothing(text_run):
    cells = {(cell.model, cell.metric): cell for cell in text_run.table().cells}
    for name in ("rendering_lighting", "spatial_epipolar"):
        still, perfect = (cells[model, f"mbencht.environment.{name}"].gated for model in (STILL, PERFECT))
        assert (still.label, still.coverage.mean, still.combined.mean) == ("triggered", 0.0, 0.0)
        assert perfect.coverage.mean == 1.0
        assert perfect.combined.mean > 0


def test_a_still_video_leads_no_column_of_memory(action_run, text_run, folder_run):
    for run, models in ((action_run, [STILL]), (text_run, [STILL]), (folder_run, ["champion", "frozen"])):
        for model in models:
            require_leads_nothing(run, model)
