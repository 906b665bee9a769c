from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from lookaway.core import DatasetError, Reason, UserError
from lookaway.engine.reading import read as read_any
from lookaway.suites.folder import Folder


def put(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"file")
    return root


def read(root: Path, **options):
    return read_any(root, suite="folder", **options)


def ids(dataset) -> list[tuple[str, str, str]]:
    return [(rollout.model, rollout.case.id, rollout.seed) for rollout in dataset.rollouts]


def only(dataset):
    (rollout,) = dataset.rollouts
    return rollout


def manifest(root: Path, *lines: object) -> Path:
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    (root / "manifest.jsonl").write_text(text)
    return root


# Without a manifest


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["b.mp4", "a.webm"], [("model", "a", "0"), ("model", "b", "0")]),
        (["wan/kitchen.mp4", "ltx/kitchen.mp4"], [("ltx", "kitchen", "0"), ("wan", "kitchen", "0")]),
        (["wan/kitchen/1.mp4", "wan/kitchen/2.MOV"], [("wan", "kitchen", "1"), ("wan", "kitchen", "2")]),
    ],
    ids=["one deep", "two deep", "three deep"],
)
def test_the_depth_of_the_folders_says_what_they_mean(tmp_path, names, expected):
    dataset = read(put(tmp_path, *names, "notes.txt"))
    assert ids(dataset) == expected
    assert dataset.problems == ()


@pytest.mark.parametrize("names", [["a.mp4", "wan/b.mp4"], ["a/b/c/d.mp4"]], ids=["several depths", "too deep"])
def test_folders_that_could_mean_anything_are_asked_about(tmp_path, names):
    with pytest.raises(DatasetError, match="--pattern"):
        read(put(tmp_path, *names))


def test_a_folder_without_videos_is_refused(tmp_path):
    with pytest.raises(DatasetError, match="no videos found; expected a manifest"):
        read(put(tmp_path, "notes.txt"))


def test_a_pattern_says_what_the_folders_mean(tmp_path):
    put(tmp_path, "rooms/wan/hall_1/7.mp4", "rooms/wan/notes.mp4")
    dataset = read(tmp_path, pattern="{subset}/{model}/{scene}_{case}/{seed}.mp4")
    rollout = only(dataset)
    assert (rollout.case.subset, rollout.model, rollout.case.scene) == ("rooms", "wan", "hall")
    assert (rollout.case.id, rollout.seed) == ("1", "7")
    assert [(p.where, p.message) for p in dataset.problems] == [
        ("rooms/wan/notes.mp4", "does not match the pattern; left out")
    ]


def test_a_pattern_goes_before_a_manifest(tmp_path):
    manifest(put(tmp_path, "wan/a.mp4"), {"video": "wan/a.mp4", "case": "from the manifest"})
    assert ids(read(tmp_path, pattern="{model}/{case}.mp4")) == [("wan", "a", "0")]


def test_characters_of_regular_expressions_mean_themselves_in_a_pattern(tmp_path):
    put(tmp_path, "a+b (1).mp4", "aab 1xmp4.mp4")
    assert ids(read(tmp_path, pattern="a+b ({case}).mp4")) == [("model", "1", "0")]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("{model}/{prompt}.mp4", r"names \{prompt\}; known: \{model\}, \{case\}"),
        ("{model}/{case.mp4", "unmatched brace"),
        ("{model}/case}.mp4", "unmatched brace"),
        ("{case}/{case}.mp4", "cannot be used"),
    ],
)
def test_a_pattern_that_cannot_be_meant_is_refused(tmp_path, pattern, message):
    with pytest.raises(UserError, match=message):
        read(put(tmp_path, "wan/a.mp4"), pattern=pattern)


# With a manifest


def test_a_manifest_of_json_lines_says_all_there_is_to_know(tmp_path):
    line = {
        "video": "clips/a.mp4",
        "case": "kitchen_left",
        "model": "wan",
        "seed": 3,
        "subset": "rooms",
        "scene": "kitchen",
        "prompt": ["a kitchen", "a hall"],
        "action": "left_then_right",
        "poses": "poses/a.npz",
        "phases": {"away": [10, 30]},
    }
    rollout = only(read(manifest(tmp_path, line)))
    assert (rollout.id, rollout.video) == ("wan/kitchen_left/3", tmp_path / "clips/a.mp4")
    assert (rollout.case.subset, rollout.case.scene) == ("rooms", "kitchen")
    assert (rollout.case.prompt, rollout.case.action) == (("a kitchen", "a hall"), "left_then_right")
    assert (rollout.artifacts, rollout.phases) == ({"poses": tmp_path / "poses/a.npz"}, {"away": (10, 30)})


def test_a_manifest_of_csv_is_read_and_empty_cells_are_not_said(tmp_path):
    (tmp_path / "manifest.csv").write_text(
        "video,model,case,prompt,action\na.mp4,wan,one,a hall,\nb.mp4,wan,,,left\n", encoding="utf-8-sig"
    )
    first, second = read(tmp_path).rollouts
    assert (first.case.id, first.case.prompt, first.case.action) == ("one", ("a hall",), None)
    assert (second.case.id, second.case.prompt, second.case.action) == ("b", (), "left")


def test_a_case_without_a_name_is_named_after_its_video_and_is_its_own_scene(tmp_path):
    rollout = only(read(manifest(tmp_path, {"video": "clips/a.b.mp4"})))
    assert (rollout.case.id, rollout.case.scene) == ("clips/a.b", "clips/a.b")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"model": "wan"}, "video: Field required"),
        ({"video": ""}, "video: String should have at least 1 character"),
        ({"video": "a.mp4", "vidoe": "b.mp4"}, "an unknown field; did you mean 'video'?"),
        ({"video": ["a.mp4"]}, "video: Input should be a valid string"),
        ({"video": "a.mp4", "phases": {"away": [1]}}, "phases.*.1: Field required"),
        ("{", "not valid JSON"),
        ("[1]", "the record: Input should be a valid dictionary or instance of ManifestLine, found a list"),
    ],
)
def test_a_wrong_line_is_reported_with_its_place_and_the_rest_is_read(tmp_path, line, message):
    dataset = read(manifest(tmp_path, {"video": "first.mp4"}, line, "", {"video": "last.mp4"}))
    assert [rollout.case.id for rollout in dataset.rollouts] == ["first", "last"]
    (problem,) = dataset.problems
    assert problem.where == "manifest.jsonl:2"
    assert message in problem.message


def test_a_row_of_csv_with_too_many_cells_is_reported_by_its_line(tmp_path):
    (tmp_path / "manifest.csv").write_text('video,prompt\na.mp4,"two\nlines"\nb.mp4,a hall,what is this\n')
    dataset = read(tmp_path)
    assert ids(dataset) == [("model", "a", "0")]
    assert [problem.where for problem in dataset.problems] == ["manifest.csv:4"]


def test_csv_that_is_not_text_is_refused(tmp_path):
    (tmp_path / "manifest.csv").write_bytes(b"video\n\xff\xfe.mp4\n")
    with pytest.raises(DatasetError, match="cannot be read as CSV"):
        read(tmp_path)


def test_a_rollout_that_stands_there_twice_is_left_out_and_reported(tmp_path):
    lines = [
        {"video": "a.mp4", "case": "one"},
        {"video": "b.mp4", "case": "one"},
        {"video": "c.mp4", "case": "one", "seed": 1},
    ]
    dataset = read(manifest(tmp_path, *lines))
    assert [rollout.video.name for rollout in dataset.rollouts] == ["a.mp4", "c.mp4"]
    (problem,) = dataset.problems
    assert (problem.where, problem.message) == ("manifest.jsonl:2", "model/one/0 is listed twice; left out")


@pytest.mark.parametrize("depth", [40, 1000])
def test_folders_inside_each_other_are_read_up_to_a_limit_and_the_rest_is_reported(tmp_path, depth):
    put(tmp_path, "wan/a.mp4")
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(depth):  # step by step, since the whole path is longer than a path may be
        os.mkdir("deep", dir_fd=here)
        below = os.open("deep", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("b.mp4", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    dataset = read(tmp_path)
    assert ids(dataset) == [("wan", "a", "0")]
    (problem,) = dataset.problems
    assert problem.message == "it is more than 32 folders deep; left out"
    assert problem.where == "/".join(["deep"] * 33)
    remove_deep(tmp_path / "deep")


def remove_deep(folder: Path) -> None:
    """Remove nested folders from the outermost on, moving each inner one up."""
    while folder.exists():
        aside = folder.with_name("aside")
        if (folder / "deep").exists():
            (folder / "deep").rename(aside)
        shutil.rmtree(folder)
        if aside.exists():
            aside.rename(folder)


# Poses beside the video


def test_poses_beside_a_video_are_found(tmp_path):
    put(tmp_path, "wan/a.mp4", "wan/a.poses.npz", "wan/b.mp4")
    with_poses, without = read(tmp_path).rollouts
    assert with_poses.artifacts == {"poses": tmp_path / "wan/a.poses.npz"}
    assert without.artifacts == {}


def test_poses_that_a_manifest_names_go_before_those_beside_the_video(tmp_path):
    put(tmp_path, "a.mp4", "a.poses.npz")
    rollout = only(read(manifest(tmp_path, {"video": "a.mp4", "poses": "other.npz"})))
    assert rollout.artifacts == {"poses": tmp_path / "other.npz"}


def test_a_requested_path_is_found_beside_a_video_or_by_the_manifest(tmp_path):
    put(tmp_path, "wan/a.mp4", "wan/a.request.npz")
    assert only(read(tmp_path)).artifacts == {"commanded_poses": tmp_path / "wan/a.request.npz"}
    rollout = only(read(manifest(tmp_path, {"video": "wan/a.mp4", "request": "other.npz"})))
    assert rollout.artifacts == {"commanded_poses": tmp_path / "other.npz"}


def test_poses_beside_a_link_to_a_video_are_found(tmp_path):
    put(tmp_path, "pool/1234.mp4", "wan/a.poses.npz")
    (tmp_path / "wan/a.mp4").symlink_to(tmp_path / "pool/1234.mp4")
    rollout = next(r for r in read(tmp_path).rollouts if r.model == "wan")
    assert rollout.artifacts == {"poses": tmp_path / "wan/a.poses.npz"}


# Hostile content


@pytest.mark.parametrize(
    "line", [{"video": "{outside}"}, {"video": "../secret.mp4"}, {"video": "a.mp4", "poses": "../p.npz"}]
)
def test_a_path_out_of_the_folder_becomes_a_rollout_that_says_why_it_cannot_be_measured(tmp_path, line):
    put(tmp_path, "secret.mp4", "p.npz", "data/a.mp4")
    line = {name: value.format(outside=tmp_path / "secret.mp4") for name, value in line.items()}
    manifest(tmp_path / "data", {**line, "case": "one"}, {"video": "a.mp4", "case": "two"})
    refused, read_well = read(tmp_path / "data").rollouts
    assert refused.problem.reason is Reason.UNSAFE_PATH
    assert (refused.case.id, read_well.problem) == ("one", None)
    allowed, _ = read(tmp_path / "data", allow_outside=True).rollouts
    assert allowed.problem is None


def test_poses_that_are_a_link_out_of_the_folder_are_refused(tmp_path):
    put(tmp_path, "secret.npz", "data/a.mp4")
    (tmp_path / "data/a.poses.npz").symlink_to(tmp_path / "secret.npz")
    assert only(read(tmp_path / "data")).problem.reason is Reason.UNSAFE_PATH
    assert only(read(tmp_path / "data", allow_outside=True)).problem is None


@pytest.mark.parametrize(
    "name",
    [
        "-rf .mp4",
        "a b\tc.mp4",
        "line\nbreak.mp4",
        "{model}.mp4",
        "<b>'\"%s.mp4",
        "кухня 厨房 🍳.mp4",
        "a..b.mp4",
        "x" * 251 + ".mp4",
    ],
)
def test_odd_names_are_just_names(tmp_path, name):
    rollout = only(read(put(tmp_path, f"wan/{name}")))
    assert (rollout.case.id, rollout.video, rollout.problem) == (
        name.removesuffix(".mp4"),
        tmp_path / "wan" / name,
        None,
    )


def test_a_name_that_is_not_utf8_is_left_out_and_reported(tmp_path):
    put(tmp_path, "good.mp4")
    os.close(os.open(os.fsencode(tmp_path) + b"/bad\xff.mp4", os.O_CREAT))
    dataset = read(tmp_path)
    assert ids(dataset) == [("model", "good", "0")]
    assert [(p.where, p.message) for p in dataset.problems] == [(r"bad\xff.mp4", "the name is not UTF-8; left out")]


# The suite


def test_without_a_name_videos_and_manifests_are_read_by_the_suite_revisit(tmp_path):
    put(tmp_path, "a.mp4")
    assert read_any(tmp_path).suite == "revisit"
    manifest(tmp_path, {"video": "a.mp4"})
    assert read_any(tmp_path).suite == "revisit"
    assert not Folder().recognises(tmp_path)


def test_a_convention_of_poses_is_a_setting_that_reaches_the_recipes(tmp_path):
    dataset = read(put(tmp_path, "a.mp4"), extrinsics_convention="camera_to_world")
    assert dataset.settings == {"extrinsics_convention": "camera_to_world"}
    bounds = Folder().metrics(dataset.settings)
    recipes = [bound.recipes["poses"] for bound in bounds if "poses" in bound.recipes]
    recipes += [bound.recipes["matches"].poses for bound in bounds if "matches" in bound.recipes]
    assert {recipe.convention for recipe in recipes} == {"camera_to_world"}


def test_a_file_is_no_folder(tmp_path):
    with pytest.raises(DatasetError, match="a file, expected a folder of videos"):
        read(put(tmp_path, "a.mp4") / "a.mp4")
