from __future__ import annotations

import lookaway
from lookaway.engine.binding import bind_metrics
from lookaway.engine.coverage import coverage
from tests.support.tiny import write_mbench

LIGHT, CAMERA = "mbencha.environment.rendering_lighting", "mbencha.causal.camera_interaction"
EPIPOLAR = "mbencha.environment.spatial_epipolar"


def covered(root, **options):
    dataset = lookaway.read(root)
    return {cell.metric: cell for cell in coverage(dataset, bind_metrics(dataset), **options)}


def test_a_whole_dataset_is_covered_wholly(tmp_path):
    cells = covered(write_mbench(tmp_path).root)
    assert {cell.asked for cell in cells.values()} == {2}
    assert [cells[name].runnable for name in (LIGHT, CAMERA, EPIPOLAR)] == [2, 2, 2]


def test_what_this_machine_lacks_is_not_what_the_dataset_lacks(tmp_path):
    cells = covered(write_mbench(tmp_path).root)
    reasons = {reason for cell in cells.values() for reason in cell.reasons}
    assert reasons == {"missing_weights", "no_judge"}


def test_missing_poses_count_only_against_the_metrics_that_need_them(tmp_path):
    writer = write_mbench(tmp_path)
    writer.poses(model="alpha", subset="environment", sample="sample0").unlink()
    cells = covered(writer.root)
    assert (cells[EPIPOLAR].runnable, dict(cells[EPIPOLAR].reasons)) == (1, {"missing_input": 1})
    assert cells[LIGHT].runnable == 2


def test_an_example_names_the_rollout_and_what_it_lacks(tmp_path):
    writer = write_mbench(tmp_path)
    writer.video(model="alpha", subset="causal", sample="sample1").unlink()
    assert covered(writer.root)[CAMERA].example == (
        "alpha/causal:sample1:left_then_right_10s/0: video.mp4: there is no such file."
    )


def test_a_damaged_video_is_found_only_by_opening_it(tmp_path):
    writer = write_mbench(tmp_path)
    writer.video(model="alpha", subset="environment", sample="sample0").write_bytes(b"no video")
    assert covered(writer.root)[LIGHT].runnable == 2
    opened = covered(writer.root, open_videos=True)[LIGHT]
    assert (opened.runnable, dict(opened.reasons)) == (1, {"not_a_video": 1})
