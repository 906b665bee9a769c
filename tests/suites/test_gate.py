"""The gate of a plain folder, from files to the table."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

import lookaway
from lookaway.core import UserError
from lookaway.io.encoding import write_video

WIDTH, HEIGHT, FRAMES, FPS = 160, 96, 16, 8


def panning(largest: int) -> list[np.ndarray]:
    """Frames of a camera that moves along a wall by so many pixels, and back."""
    noise = np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH + 200, 3)).astype(np.float32)
    wall = cv2.GaussianBlur(noise, (0, 0), 2.5)
    wall = np.clip((wall - wall.mean()) * 5 + 128, 0, 255).astype(np.uint8)
    path = np.abs(np.abs(np.linspace(-largest, largest, FRAMES)) - largest).round().astype(int)
    return [np.ascontiguousarray(wall[:, left : left + WIDTH]) for left in path]


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> lookaway.Run:
    root = tmp_path_factory.mktemp("gate")
    for model, frames in {"mover": panning(120), "champion": panning(0), "brief": panning(120)[:1]}.items():
        (root / "videos" / model).mkdir(parents=True)
        write_video(root / "videos" / model / "case.mp4", frames, FPS)
    return lookaway.evaluate(root / "videos", root / "run", suite="folder", metrics=["rendering_lighting"])


def verdict(run: lookaway.Run, model: str) -> tuple[object, ...]:
    (row,) = (row for row in run.items() if row["metric"] == "revisited" and row["model"] == model)
    return row["status"], row["reason"], row["value"]


def test_a_camera_that_moves_along_and_back_is_tested_without_poses(run):
    assert verdict(run, "mover") == ("score", None, 1.0)
    cell = next(cell for cell in run.table().cells if cell.model == "mover")
    assert (cell.scored, cell.gated.coverage.mean) == (1, 1.0)


def test_a_still_video_has_no_score_whatever_its_model_is_called(run):
    assert verdict(run, "champion") == ("score", None, 0.0)
    cell = next(cell for cell in run.table().cells if cell.model == "champion")
    assert (cell.estimate, cell.reasons, cell.is_untested) == (None, {"gate_closed": 1}, True)


def test_without_poses_and_without_motion_the_reason_is_that_of_the_poses(run):
    assert verdict(run, "brief") == ("abstention", "missing_input", None)
    cell = next(cell for cell in run.table().cells if cell.model == "brief")
    assert cell.reasons["gate missing_input"] == 1


def test_triggers_cannot_be_ignored_where_no_publication_has_one(run, tmp_path):
    root = run.path.parent / "videos"
    with pytest.raises(UserError, match="--ignore-trigger: these metrics have no trigger of a publication"):
        lookaway.evaluate(root, tmp_path / "run", suite="folder", metrics=["rendering_lighting"], ignore_triggers=True)
