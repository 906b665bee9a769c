"""The suite `revisit` on clips of the simulated world, from pixels and tracked poses; second tier, since it renders."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

import lookaway
from lookaway.core import Reason
from lookaway.io.pictures import picture_pixels
from lookaway.world.grid import Grid, with_fault
from tests.support.command import lookaway as command
from tests.support.rendered import copy_clips
from tests.support.world import FORM

FAULTS = (
    "vanish",
    "identity_colour",
    "teleport",
    "lighting_shift",
    "camera_drift",
    "temporal_cut",
    "camera_never_moves",
)
SHAPE = replace(FORM, width=368, height=208, fps=10, seconds=3.0, wait=1.0)

pytestmark = pytest.mark.merge


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    grid = Grid(
        families=("kitchen",), events=("none",), cameras=("yaw_left_60",), seeds=(3,), faults=FAULTS, severities=(1.0,),
        actors=("frozen",),
    )  # fmt: skip
    root = tmp_path_factory.mktemp("world")
    clean, *others = grid.recipes(SHAPE)
    copy_clips([clean, *others, with_fault(clean, "style_shift", 0.5)], root)
    return lookaway.evaluate(root, root / "run")


@pytest.fixture(scope="module")
def outcomes(run):
    found = defaultdict(dict)
    for row in run.items():
        found[row["model"]][row["metric"]] = row
    return found


def test_a_clean_return_is_remembered(outcomes):
    clean = {metric: row["value"] for metric, row in outcomes["perfect"].items()}
    assert clean["remembered"] == 1
    assert clean["changed_area"] == 0
    assert clean["return_error"] < 0.5
    assert clean["reach_missing"] < 5
    assert clean["cut"] < 1.6
    assert clean["carried"] == 0


@pytest.mark.parametrize(
    ("fault", "number", "limit"),
    [
        ("vanish-1.00", "changed_area", 0.5),
        ("identity_colour-1.00", "changed_area", 0.5),
        ("teleport-1.00", "changed_area", 0.5),
        ("lighting_shift-1.00", "light", 0.15),
        ("style_shift-0.50", "look", 5.0),
        ("camera_drift-1.00", "return_error", 0.5),
        ("temporal_cut-1.00", "cut", 1.6),
    ],
)
def test_a_fault_raises_the_number_that_is_there_to_find_it(outcomes, fault, number, limit):
    row = outcomes[fault][number]
    assert row["status"] == "score", row
    assert row["value"] > limit


@pytest.mark.parametrize(
    "fault", ["vanish-1.00", "identity_colour-1.00", "teleport-1.00", "lighting_shift-1.00", "style_shift-0.50"]
)
def test_a_place_that_came_back_otherwise_is_not_remembered(outcomes, fault):
    assert outcomes[fault]["remembered"]["value"] == 0


@pytest.mark.parametrize("model", ["frozen", "camera_never_moves-1.00"])
def test_a_video_whose_camera_never_leaves_has_no_memory_score(outcomes, model):
    for name in ("remembered", "changed_area", "light", "look", "aligned_ssim"):
        row = outcomes[model][name]
        assert (row["status"], row["reason"]) == ("abstention", Reason.GATE_CLOSED.value), name


def test_a_camera_that_never_moves_misses_the_whole_request(outcomes):
    assert outcomes["camera_never_moves-1.00"]["reach_missing"]["value"] == pytest.approx(100, abs=1)


def test_the_pictures_of_a_flagged_rollout_are_found_in_the_run(run, outcomes, tmp_path):
    rollout = outcomes["vanish-1.00"]["remembered"]["rollout"]
    shown = command("show", run.path, "--clip", rollout, "--pictures", tmp_path / "pictures", "--json").json
    assert {entry["metric"] for entry in shown["metrics"] if entry["is_flagged"]} >= {"remembered", "changed_area"}
    assert all(picture_pixels(Path(entry["path"]).read_bytes()).size for entry in shown["pictures"])
    assert len(shown["pictures"]) == 3
    sheet = command("show", run.path, "--contact-sheet", tmp_path / "sheet.jpg")
    assert (sheet.code, (tmp_path / "sheet.jpg").is_file()) == (0, True)
