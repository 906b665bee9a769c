from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import click
import pytest

from lookaway.cli.world import world_command
from lookaway.world.actors import ACTORS
from lookaway.world.cameras import CAMERAS
from lookaway.world.families import FAMILIES
from lookaway.world.faults import FAULTS
from tests.support.command import lookaway

pytestmark = pytest.mark.render

SMALL = ("--size", "128x224", "--fps", 8, "--seconds", 2, "--wait", 0.5)


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("commands") / "world"
    chosen = ("--families", "playroom", "--events", "both", "--faults", "teleport", "--severities", "0.6,1")
    result = lookaway("world", "render", "-o", root, *chosen, *SMALL)
    assert result.code == 0, result.err
    assert result.out == f"3 clips rendered, 0 kept, 0 refused, in {root}\n"
    return root


def test_the_same_command_again_keeps_what_is_there(world):
    chosen = ("--families", "playroom", "--events", "both", "--faults", "teleport", "--severities", "0.6,1")
    result = lookaway("world", "render", "-o", world, *chosen, *SMALL, "--json")
    assert result.json == {"root": str(world), "rendered": 0, "kept": 3, "refused": []}


def test_show_writes_a_sheet_into_the_clip_or_where_it_is_told(world, tmp_path):
    clip = world / "clips" / "playroom-both-yaw_right_60-wait0.5-000" / "teleport-1.00" / "0"
    assert lookaway("world", "show", clip).out == f"Wrote {clip / 'sheet.png'}\n"
    assert (clip / "sheet.png").read_bytes().startswith(b"\x89PNG")
    lookaway("world", "show", clip, "-o", tmp_path / "other.png")
    assert (tmp_path / "other.png").read_bytes() == (clip / "sheet.png").read_bytes()


def test_show_of_something_else_is_one_line(tmp_path):
    result = lookaway("world", "show", tmp_path)
    assert result.code == 2
    assert result.err.startswith("error: ")
    assert "clip.json" in result.err


def test_an_exported_world_can_be_validated_and_measured(world, tmp_path):
    exported = lookaway("world", "export", world, "--layout", "mbench-a", "-o", tmp_path / "dataset")
    assert exported.code == 0, exported.err
    assert "3 clips" in exported.out
    assert lookaway("validate", tmp_path / "dataset").code == 0


def test_a_layout_that_nobody_knows_is_one_line_with_the_nearest_name(world, tmp_path):
    result = lookaway("world", "export", world, "--layout", "mbench", "-o", tmp_path / "dataset")
    assert result.code == 2
    assert "Did you mean 'mbench-" in result.err


def test_list_names_everything_that_can_be_asked_for():
    rows = lookaway("world", "list", "--json").json
    found = {(row["kind"], row["name"]) for row in rows}
    for kind, known in (("family", FAMILIES), ("camera", CAMERAS), ("fault", FAULTS), ("actor", ACTORS)):
        assert {(kind, name) for name in known} <= found
    assert all(row["what it is"] for row in rows)


def test_all_stands_for_every_name(world, tmp_path):
    shutil.copytree(world, tmp_path / "world")
    chosen = ("--families", "playroom", "--events", "all")
    result = lookaway("world", "render", "-o", tmp_path / "world", *chosen, *SMALL, "--json")
    assert (result.json["rendered"], result.json["kept"]) == (3, 1)


def test_a_camera_path_from_a_file_is_rendered_once(tmp_path):
    keyframes = [
        {"time": time, "position": [0, 0, 0], "yaw": yaw, "pitch": 0}
        for time, yaw in ((0.0, 0), (0.3, 100), (0.7, 100), (1.0, 0))
    ]
    path = {"name": "peek", "action": "peek", "words": "the camera peeks", "looks_away": True, "keyframes": keyframes}
    (tmp_path / "peek.json").write_text(json.dumps(path))
    chosen = ("-o", tmp_path / "world", "--families", "playroom", "--camera-file", tmp_path / "peek.json")
    form = ("--size", "128x224", "--fps", 8, "--seconds", 2)
    first = lookaway("world", "render", *chosen, *form, "--json")
    assert (first.code, first.json["rendered"]) == (0, 1), first
    assert lookaway("world", "render", *chosen, *form, "--json").json["kept"] == 1
    (folder,) = (tmp_path / "world" / "clips").iterdir()
    assert folder.name.startswith("playroom-none-peek-")


def test_clips_that_cannot_be_made_are_named_and_the_exit_code_says_so(tmp_path):
    chosen = ("--families", "playroom", "--faults", "state_reset", "--severities", "1")
    result = lookaway("world", "render", "-o", tmp_path, *chosen, *SMALL)
    assert result.code == 2
    assert "not rendered: " in result.out
    assert "nothing happens to the target" in result.out
    assert "1 clip rendered, 0 kept, 1 refused" in result.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--size", "832by480"), "HEIGHTxWIDTH"),
        (("--size", "101x200"), "even numbers"),
        (("--seeds", "0-x"), "expected seeds"),
        (("--severities", "much"), "expected numbers"),
        (("--faults", "vanish"), "faults need severities"),
        (("--faults", "vanish", "--severities", "2"), "from 0 to 1"),
        (("--faults", "vanishes", "--severities", "1"), "Did you mean 'vanish'"),
        (("--actors", "perfekt"), "Did you mean 'perfect'"),
        (("--families", "playrom"), "Did you mean 'playroom'"),
        (("--cameras", "yaw_left_6"), "Did you mean 'yaw_left_60'"),
        (("--events", "spacial"), "Did you mean 'spatial'"),
        (("--camera-file", "nowhere.json"), "nowhere.json: there is no such file"),
        (("--wait", "9"), "does not fit"),
        (("--workers", "0"), "0 is not in the range"),
    ],
)
def test_a_mistaken_option_is_explained_before_anything_is_rendered(options, said, tmp_path):
    result = lookaway("world", "render", "-o", tmp_path / "world", "--families", "playroom", *options)
    assert result.code == 2
    assert said in result.err
    assert "Traceback" not in result.err
    assert not (tmp_path / "world").exists()


def test_without_mujoco_one_line_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    result = lookaway("world", "render", "-o", tmp_path / "world", "--families", "playroom,kitchen", *SMALL)
    assert (result.code, result.out) == (2, "")
    assert result.err.count("\n") == 1
    assert "pip install 'lookaway[world]'" in result.err


def test_seeds_can_be_lists_and_ranges():
    option = next(option for option in world_command.commands["render"].params if option.name == "seeds")
    assert option.process_value(click.Context(world_command), "7,10-12") == (7, 10, 11, 12)


def test_the_manifest_lists_the_clips_of_the_set(world):
    manifest = json.loads((world / "manifest.json").read_text())
    assert [clip["model"] for clip in manifest["clips"]] == ["perfect", "teleport-0.60", "teleport-1.00"]
