"""Setting T, from files to a table."""

from __future__ import annotations

import json

import pytest

import lookaway
from tests.support.clips import write_clip
from tests.support.mbench import MBenchWriter, write_poses
from tests.support.room import Room, there_and_back

ROOM = Room(seed=2, width=208, height=120)
PATH = there_and_back("left_then_right", 25, degrees=20)
WITHOUT_NETWORKS = ("spatial_epipolar", "spatial_reprojection", "rendering_lighting")
SEGMENTS = ["a door", "a wall", "a window", "the wall", "the door"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    writer = MBenchWriter(tmp_path_factory.mktemp("text") / "data", dataset_id="mbencht")
    for sample, metadata in (("told", {"caption_segments": SEGMENTS}), ("untold", {"caption": "a door"})):
        writer.add(sample=sample, condition="text", metadata=metadata)
        write_clip(writer.video(sample=sample, condition="text"), ROOM.frames(PATH), options={"crf": "12"})
        write_poses(writer.poses(sample=sample, condition="text"), PATH, ROOM.intrinsics, size=(208, 120))
    return lookaway.evaluate(writer.finish(), writer.root.parent / "run", metrics=WITHOUT_NETWORKS)


def pairs_of(run, sample: str, name: str) -> list[str]:
    return [unit["unit"] for unit in run.units(f"mbencht.environment.{name}") if f":{sample}:" in unit["case"]]


def test_the_nearest_views_of_the_first_and_last_segments_are_compared(run):
    units = pairs_of(run, "told", "spatial_epipolar")
    assert len(units) == 5
    for first, second in (unit.removeprefix("f").split("_f") for unit in units):
        assert int(first) + int(second) == 24


@pytest.mark.parametrize("name", ["spatial_epipolar", "spatial_reprojection"])
def test_a_rigid_room_with_true_poses_has_errors_below_a_pixel(run, name):
    raws = [item["raw"] for item in run.items() if item["metric"].endswith(name) and item["status"] == "score"]
    # Pixels of a picture that was enlarged four times before points were looked for.
    assert len(raws) == 2
    assert max(raws) < 1


@pytest.mark.parametrize("name", WITHOUT_NETWORKS)
def test_a_clip_without_caption_segments_is_compared_as_one_of_five_and_says_so(run, name):
    rules = {item["case"]: json.loads(item["detail"])["pairs"] for item in run.items() if item["metric"].endswith(name)}
    assert rules == {
        "environment:told:text": "segment",
        "environment:untold:text": "segment; 5 equal parts, the prompt has 1 of the 4 segments needed",
    }
    assert pairs_of(run, "untold", name) == pairs_of(run, "told", name)


def test_a_table_without_a_judge_says_that_it_shows_raw_consistency(run):
    table = run.table()
    assert any("Raw consistency" in note for note in table.notes)
    assert {cell.metric: (cell.scored, cell.asked) for cell in table.cells} == {
        f"mbencht.environment.{name}": (2, 2) for name in WITHOUT_NETWORKS
    }


def test_the_room_looks_the_same_when_the_camera_comes_back(run):
    values = [item["value"] for item in run.items() if item["metric"].endswith("lighting")]
    assert min(values) > 0.95
