"""What an item page knows from the truth of the simulated world, wherever a dataset keeps it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lookaway.core import Lock
from lookaway.engine.locking import content_key
from lookaway.engine.reading import read
from lookaway.io.clip_card import write_clip_arrays
from lookaway.io.world_clips import ARRAYS, CARD, open_world
from lookaway.reports.case_page.camera_path import camera_paths
from lookaway.reports.case_page.curves import band_rows
from lookaway.reports.case_page.videos import CaseVideos, case_videos
from lookaway.reports.runs import load_runs
from lookaway.reports.site.building import write_items
from lookaway.reports.site.media import SiteMedia
from lookaway.store.run_folder import RunFolder
from lookaway.world.exports import EXPORTS
from tests.support.world_clip import FOLDER, FRAMES, clip_arrays, write_clip_folder

TURN_DEGREES = 30.0


def turning() -> np.ndarray:
    """A camera that is asked to turn to the right, by the same angle from frame to frame."""
    poses = np.tile(np.eye(4), (FRAMES, 1, 1))
    for pose, angle in zip(poses, np.radians(np.linspace(0, TURN_DEGREES, FRAMES)), strict=True):
        pose[:3, :3] = [[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]]
    return poses


def exported(root: Path) -> Path:
    """The run of a dataset of MBench, whose truth lies in folders of its own; the camera stood still all the same."""
    folder = root / "world" / FOLDER
    write_clip_folder(folder, action="left_then_right", camera="yaw_left_60")
    write_clip_arrays(folder / ARRAYS, replace(clip_arrays(), requested_camera_to_world=turning()))
    EXPORTS["mbench-a"](open_world(root / "world"), root / "dataset")
    rollouts = read(root / "dataset", subsets=["environment"]).rollouts
    metric = {"name": "mbencha.environment.spatial_epipolar", "lock": "a" * 32, "subsets": None, "is_gate": False}
    about = {"suite": "mbench-a", "dataset": str(root / "dataset"), "lock_sha256": "", "problems": []}
    lock = Lock({"dataset": {"settings": {}}, "metrics": {}})
    content = [(rollout, content_key(rollout)) for rollout in rollouts]
    RunFolder(root / "run").start(lock, content, {**about, "metrics": [metric]})
    return root / "run"


def only_case(root: Path) -> CaseVideos:
    (case,) = case_videos(load_runs([root / "run"]), SiteMedia(root / "site"))
    return case


def change_card(root: Path, **changes: Any) -> None:
    """Another card beside the truth of the exported clip, and a run that measured it so."""
    for path in (root / "dataset").rglob(CARD):
        fields = json.loads(path.read_text())
        path.unlink()  # a second name of the file in the world
        path.write_text(json.dumps({**fields, **changes}))
    rollouts = read(root / "dataset", subsets=["environment"]).rollouts
    about = json.loads((root / "run" / "run.json").read_text())
    content = [(rollout, content_key(rollout)) for rollout in rollouts]
    RunFolder(root / "run").start(Lock({"dataset": {"settings": {}}, "metrics": {}}), content, about)


def test_the_path_that_was_asked_for_is_drawn_from_truth_that_lies_apart_from_the_video(tmp_path: Path) -> None:
    exported(tmp_path)
    (path,), _ = camera_paths(only_case(tmp_path))
    assert path.requested_from == "the simulated world"
    assert path.last_yaw == {"requested": pytest.approx(TURN_DEGREES), "found": 0.0}
    assert path.largest_difference == (pytest.approx(TURN_DEGREES), pytest.approx((FRAMES - 1) / 8))


def test_phases_of_the_truth_are_the_bands_of_a_dataset_that_marks_none(tmp_path: Path) -> None:
    exported(tmp_path)
    (row,) = band_rows(only_case(tmp_path))
    assert [(band.name, band.start, band.end) for band in row.bands] == [
        ("visible", 0.0, 0.25),
        ("disappeared", 0.25, 0.5),
        ("reappeared", 0.5, 0.75),
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"format": 2},
        {
            "frames": 8,
            "phases": {"visible": [0, 2], "disappeared": [2, 4], "reappeared": [4, 8], "causes": []},
        },
    ],
    ids=["no valid card", "of another video"],
)
def test_truth_that_is_not_about_the_video_gives_neither_bands_nor_paths(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    exported(tmp_path)
    change_card(tmp_path, **changes)
    case = only_case(tmp_path)
    assert case.videos[0].described is not None
    assert band_rows(case) == []
    assert camera_paths(case)[0] == []


def test_one_caption_for_the_whole_video_is_no_band(tmp_path: Path) -> None:
    exported(tmp_path)
    for path in (tmp_path / "dataset").rglob(CARD):
        path.unlink()
    change_card(tmp_path)
    case = only_case(tmp_path)
    assert case.case is not None
    assert len(case.case.prompt) == 1
    assert band_rows(case) == []


def legend(root: Path) -> list[str]:
    """What the page says that the lines of its camera paths are."""
    (href,) = (page.href for page in write_items(load_runs([root / "run"]), root / "site").values())
    page = (root / "site" / href).read_text()
    return re.findall(r'<path class="(?:asked|found)" d="M0 4H28"/></svg> ([a-z ]+)</span>', page)


def test_the_legend_names_both_lines_where_both_are_drawn(tmp_path: Path) -> None:
    exported(tmp_path)
    assert legend(tmp_path) == ["requested", "found"]
