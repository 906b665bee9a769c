"""Clips that real models generated; they lie beside the project and are not part of it."""

from __future__ import annotations

import lookaway
from lookaway.io.video import Video
from tests.support.beside import DATA, needs_clips

CLIPS = DATA / "wrbench" / "videos"
pytestmark = needs_clips


def test_every_frame_of_every_clip_is_read_in_order_of_time():
    paths = sorted(CLIPS.glob("*.mp4"))
    assert len(paths) == 10
    for path in paths:
        with Video(path) as video:
            timeline = video.timeline
            times = [frame.time_seconds for window in video.windows(32, height=90) for frame in window]
        assert times == sorted(times)
        assert len(times) == timeline.frame_count
        assert (81 <= timeline.frame_count <= 150, 15.9 < timeline.fps < 30.1) == (True, True), path.name


def test_a_folder_of_clips_without_anything_else_gets_a_table_of_what_can_be_measured(tmp_path):
    run = lookaway.evaluate(CLIPS, tmp_path / "run", suite="folder")
    cells = {cell.metric: cell for cell in run.table().cells}
    assert 0.1 < cells["rendering_lighting"].estimate.mean < 1
    with_poses = [name for name, cell in cells.items() if not name.startswith("rendering_lighting") and not cell.scored]
    assert {"spatial_epipolar", "spatial_reprojection", "camera_interaction", "spatial_within_2px"} <= set(with_poses)
    for metric in with_poses:
        assert (cells[metric].scored, cells[metric].reasons["missing_input"]) == (0, 10)
    # All of them were asked to turn away and back; one did not.
    verdicts = {row["case"]: row["value"] for row in run.items() if row["metric"] == "revisited"}
    assert [case for case, value in verdicts.items() if value != 1] == ["case_c_wan27"]
    assert (cells["rendering_lighting"].scored, cells["rendering_lighting"].gated.coverage.mean) == (9, 0.9)
