from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lookaway.core import Resources
from lookaway.engine.inline import Inline
from lookaway.engine.on_ray.executor import RayExecutor
from lookaway.io.world_clips import open_world
from lookaway.world.grid import Grid
from lookaway.world.recipe import ClipRecipe
from lookaway.world.rendering import CaseRenderer, render_set
from lookaway.world.studio import Studio
from tests.support.world import FORM, render_small, small

pytestmark = pytest.mark.render

FAULTS = {"faults": ("vanish", "layout_change"), "severities": (1.0,)}


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("world")
    render_small(root, **FAULTS)
    return root


def hashes(root: Path) -> dict[str, str]:
    return {
        clip["path"]: clip["hashes"]["frames"] for clip in json.loads((root / "manifest.json").read_text())["clips"]
    }


def test_a_set_has_a_folder_for_every_clip_and_a_manifest_of_all(world):
    found = {(clip.card.model, clip.card.take) for clip in open_world(world)}
    assert found == {("perfect", 0), ("vanish-1.00", 0), ("layout_change-1.00", 0)}
    assert len(hashes(world)) == 3
    assert len(set(hashes(world).values())) == 3


def test_what_is_finished_is_kept_and_not_drawn_again(world, tmp_path):
    shutil.copytree(world, tmp_path / "world")
    stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "world").rglob("clip.json")}
    (report,) = render_small(tmp_path / "world", **FAULTS)
    assert (report.rendered, report.kept, report.refused) == (0, 3, ())
    assert stamps == {path: path.stat().st_mtime_ns for path in stamps}


def test_a_clip_that_was_cut_off_is_drawn_again_to_the_same_hash(world, tmp_path):
    shutil.copytree(world, tmp_path / "world")
    before = hashes(world)
    (cut,) = (tmp_path / "world").rglob("vanish-1.00/0/clip.json")
    cut.unlink()
    (report,) = render_small(tmp_path / "world", **FAULTS)
    assert (report.rendered, report.kept) == (1, 2)
    assert hashes(tmp_path / "world") == before


def test_a_clip_of_another_size_in_the_same_place_is_drawn_again(world, tmp_path):
    shutil.copytree(world, tmp_path / "world")
    grid = Grid(families=("playroom",), events=("both",), cameras=("yaw_right_60",), seeds=(0,))
    (report,) = render_set(grid.recipes(small(height=144, family="", camera="")), tmp_path / "world", Inline())
    assert (report.rendered, report.kept) == (1, 0)


def test_what_cannot_be_made_is_refused_with_its_reason_and_the_rest_is_made(tmp_path):
    (report,) = render_small(tmp_path, events=("none",), faults=("state_reset", "vanish"), severities=(1.0,))
    assert report.rendered == 2
    (reason,) = report.refused
    assert "state_reset" in reason
    assert "nothing happens" in reason


def test_nothing_is_drawn_to_refuse_an_event_fault_where_nothing_happens(tmp_path, monkeypatch):
    asked = {"events": ("none",), "faults": ("state_reset",), "severities": (1.0,)}
    render_small(tmp_path, **asked)

    def draw_no_more(self: Studio, recipe: ClipRecipe) -> None:
        raise AssertionError(recipe)

    monkeypatch.setattr(Studio, "_clean_shot", draw_no_more)
    (report,) = render_small(tmp_path, **asked)
    assert (report.rendered, report.kept, len(report.refused)) == (0, 1, 1)


def test_the_order_in_which_cases_are_drawn_changes_no_hash(world, tmp_path):
    grid = Grid(families=("playroom",), events=("spatial", "both"), cameras=("yaw_right_60",), seeds=(0,), **FAULTS)
    render_set(reversed(list(grid.recipes(FORM))), tmp_path, Inline())
    assert hashes(world).items() <= hashes(tmp_path).items()


@pytest.mark.ray
@pytest.mark.merge
@pytest.mark.filterwarnings("ignore")
@pytest.mark.nightly
def test_two_workers_give_the_same_hashes_as_one(world, tmp_path):
    grid = Grid(families=("playroom",), events=("both",), cameras=("yaw_right_60",), seeds=(0, 1), **FAULTS)
    reports = render_set(grid.recipes(FORM), tmp_path, RayExecutor(Resources(workers=2)))
    assert sum(report.rendered for report in reports) == 6
    assert hashes(world).items() <= hashes(tmp_path).items()


@pytest.mark.nightly
def test_a_render_that_is_killed_leaves_only_whole_clips_and_goes_on(world, tmp_path):
    command = [sys.executable, "-m", "tests.world.render_forever", str(tmp_path / "world")]
    process = subprocess.Popen(command, cwd=Path(__file__).parents[2], start_new_session=True)
    try:
        for _ in range(600):
            if list((tmp_path / "world").rglob("clip.json")):
                break
            time.sleep(0.1)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for clip in open_world(tmp_path / "world"):
        assert clip.check() == []
    render_small(tmp_path / "world", **FAULTS)
    assert hashes(world).items() <= hashes(tmp_path / "world").items()


def test_a_bug_in_drawing_is_not_taken_for_a_refusal(tmp_path, monkeypatch):
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("lookaway.world.studio.find_phases", broken)
    with pytest.raises(ZeroDivisionError):
        CaseRenderer(tmp_path)([small()])
