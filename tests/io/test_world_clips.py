import json
import os
import shutil

import numpy as np
import pytest

from lookaway.core import ArtifactError, DatasetError, LookawayError, Reason, UnsafePath
from lookaway.io.clip_card import write_clip_arrays
from lookaway.io.encoding import write_video
from lookaway.io.files import write_json
from lookaway.io.manifest import MANIFEST, read_manifest, write_manifest
from lookaway.io.planes import write_planes
from lookaway.io.world_clips import ARRAYS, CARD, DEPTH, INSTANCES, VIDEO, WorldClip, open_world
from tests.support.clips import numbered_frames
from tests.support.world_clip import (
    FOLDER,
    FRAMES,
    HEIGHT,
    THINGS,
    WIDTH,
    card_fields,
    clip_arrays,
    depth_planes,
    instance_planes,
    write_clip_folder,
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("world")
    write_clip_folder(root / FOLDER)
    return root


@pytest.fixture
def root(made, tmp_path):
    """A copy that may be damaged."""
    shutil.copytree(made, tmp_path / "world")
    return tmp_path / "world"


@pytest.fixture
def folder(root):
    return root / FOLDER


def put(folder, **changes):
    """Write other values into the card."""
    write_json(folder / CARD, {**card_fields(), **changes})
    return folder


def put_arrays(folder, **changes):
    arrays = {**clip_arrays().named(), **changes}
    np.savez(folder / ARRAYS, **{name: array for name, array in arrays.items() if array is not None})
    return WorldClip.open(folder)


def problems(folder):
    return {os.path.basename(problem.where): problem.message for problem in WorldClip.open(folder).check()}


# What was written comes back.


def test_a_whole_clip_has_no_problems(folder):
    clip = WorldClip.open(folder)
    assert clip.check() == []
    assert clip.video == folder / "video.mp4"
    assert all(file.is_file() for file in clip.files)
    assert {file.name for file in clip.files} == set(os.listdir(folder))


def test_the_card_comes_back_as_it_was_written(folder):
    card = WorldClip.open(folder).card
    assert card.model_dump(mode="json") == card_fields()
    assert card.target.name == "thing 1"


def test_arrays_come_back_as_they_were_written(folder):
    found, written = WorldClip.open(folder).arrays().named(), clip_arrays().named()
    assert found.keys() == written.keys()
    for name, values in written.items():
        assert found[name].dtype == values.dtype
        np.testing.assert_array_equal(found[name], values)


def test_the_same_arrays_give_the_same_bytes(tmp_path):
    for name in ("a.npz", "b.npz"):
        write_clip_arrays(tmp_path / name, clip_arrays())
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_depth_is_in_metres_and_the_sky_has_none(folder):
    for found, steps in zip(WorldClip.open(folder).depth(), depth_planes(), strict=True):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, steps / 1000, rtol=1e-6)
        assert (found == 0).any()


def test_masks_are_where_the_instances_have_the_id(folder):
    clip = WorldClip.open(folder)
    for mask, found, written in zip(clip.masks(2), clip.instances(), instance_planes(), strict=True):
        np.testing.assert_array_equal(found, written)
        np.testing.assert_array_equal(mask, written == 2)


def test_a_mask_of_a_thing_that_is_not_there_is_refused(folder):
    with pytest.raises(ValueError, match=r"no thing has the id 4; known: \[1, 2, 3\]"):
        WorldClip.open(folder).masks(4)


def test_the_trajectory_has_the_executed_camera_and_the_depth_of_every_frame(folder):
    arrays = clip_arrays()
    executed = arrays.camera_to_world.copy()
    executed[:, 0, 3] = np.arange(FRAMES)
    trajectory = put_arrays(folder, camera_to_world=executed).trajectory()
    np.testing.assert_array_equal(trajectory.camera_to_world, executed)
    assert trajectory.intrinsics.shape == (FRAMES, 3, 3)
    np.testing.assert_array_equal(trajectory.intrinsics[-1], arrays.intrinsics)
    np.testing.assert_array_equal(trajectory.frame_indices, range(FRAMES))
    np.testing.assert_allclose(trajectory.median_depth, 2.007, rtol=1e-6)
    assert (trajectory.width, trajectory.height, trajectory.frame_count) == (WIDTH, HEIGHT, FRAMES)


def test_a_frame_of_sky_has_the_median_depth_of_the_clip(folder):
    planes = depth_planes()
    planes[2] = np.zeros_like(planes[2])
    write_planes(folder / DEPTH, planes)
    np.testing.assert_allclose(WorldClip.open(folder).trajectory().median_depth, 2.007, rtol=1e-6)


def test_a_clip_of_nothing_but_sky_has_no_trajectory(folder):
    write_planes(folder / DEPTH, [np.zeros_like(plane) for plane in depth_planes()])
    with pytest.raises(ArtifactError, match="only sky") as raised:
        WorldClip.open(folder).trajectory()
    assert raised.value.reason is Reason.POSE_FAILED


# Cards.


def test_a_folder_without_a_card_is_no_clip(folder):
    (folder / CARD).unlink()
    with pytest.raises(DatasetError, match="there is no such file"):
        WorldClip.open(folder)
    assert open_world(folder.parents[3]) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": 2}, "format"),
        ({"frames": 0}, "frames"),
        ({"frames": "many"}, "frames: .*found text"),
        ({"frames": 10**200}, "frames"),
        ({"frames": 10**4000}, "more than 300 digits"),
        ({"width": 63}, "width"),
        ({"height": 10**9}, "height"),
        ({"seconds": None}, "seconds"),
        ({"depth_metres_per_step": 0}, "depth_metres_per_step"),
        ({"event": "sometimes"}, "event"),
        ({"things": []}, "things"),
        ({"things": card_fields()["things"][1:]}, "first thing must be the target"),
        ({"things": [card_fields()["things"][0]] * 2}, "no two things may have one id"),
        ({"target_box": [0.5]}, "target_box"),
        ({"extra": 1}, "unknown field"),
        ({"injections": [{"fault": "vanish", "severity": 2, "dose": 1, "dose_unit": "x"}]}, "injections.0.severity"),
        ({"phases": {**card_fields()["phases"], "visible": [0, 3]}}, "three phases must follow"),
        ({"phases": {**card_fields()["phases"], "reappeared": [4, 99]}}, "three phases must follow"),
        ({"phases": {**card_fields()["phases"], "disappeared": [2, -4], "reappeared": [-4, 6]}}, "three phases"),
        ({"question": {"question": "?", "choices": ["a"], "answer": "b"}}, "answer must be one of the choices"),
        ({"hashes": {**card_fields()["hashes"], "depth": "0"}}, "hashes.depth"),
    ],
)
def test_a_card_that_is_not_valid_is_refused_with_file_and_place(folder, changes, words):
    with pytest.raises(DatasetError, match=words) as raised:
        WorldClip.open(put(folder, **changes))
    assert str(folder / CARD) in str(raised.value)


@pytest.mark.parametrize("name", sorted(card_fields().keys() - {"format", "light_flicker_stops"}))
def test_no_field_of_the_card_but_one_that_older_cards_lack_may_be_missing(folder, name):
    fields = card_fields()
    del fields[name]
    write_json(folder / CARD, fields)
    with pytest.raises(DatasetError, match=name):
        WorldClip.open(folder)


@pytest.mark.parametrize("text", ["", "[]", "null", '{"frames": NaN}', "{" * 5000, "\x00", '"\\ud800"'])
def test_what_is_no_card_is_refused(folder, text):
    (folder / CARD).write_text(text)
    with pytest.raises(DatasetError):
        WorldClip.open(folder)


# Arrays.


@pytest.mark.parametrize("name", sorted(clip_arrays().named()))
def test_every_array_is_checked_for_presence_shape_type_and_numbers(folder, name):
    values = clip_arrays().named()[name]
    broken = {
        "no array named": None,
        "expected": values[:-1],
        "holds float32": values.astype(np.float32),
        "pickled objects": np.full(values.shape, {}, object),
    }
    if values.dtype.kind == "f":
        spoilt = values.copy()
        spoilt.flat[-1] = np.nan
        endless = values.copy()
        endless.flat[0] = np.inf
        broken |= {"NaN or infinity": spoilt, "infinity": endless}
    for words, change in broken.items():
        with pytest.raises(ArtifactError, match=words):
            put_arrays(folder, **{name: change}).arrays()


def test_arrays_of_another_number_of_things_than_the_card_are_refused(folder):
    assert THINGS == 3
    put(folder, things=card_fields()["things"][:2])
    with pytest.raises(ArtifactError, match=r"position has the shape \(6, 3, 3\), expected \(6, 2, 3\)"):
        WorldClip.open(folder).arrays()


# Every kind of damage is noticed.


@pytest.mark.parametrize("name", [VIDEO, DEPTH, INSTANCES, ARRAYS])
def test_a_missing_file_is_a_problem(folder, name):
    (folder / name).unlink()
    assert problems(folder) == {name: "there is no such file."}


def test_values_that_changed_since_they_were_hashed_are_problems(folder):
    depth, instances = depth_planes(), instance_planes()
    depth[3][30, 30] += 1
    instances[5][0, 0] = 3
    write_planes(folder / DEPTH, depth)
    write_planes(folder / INSTANCES, instances)
    put_arrays(folder, opacity=clip_arrays().opacity * 0.5)
    found = problems(folder)
    assert found.keys() == {DEPTH, INSTANCES, ARRAYS}
    assert all("expected" in message and "hash" in message for message in found.values())


def test_planes_of_another_number_size_or_type_are_refused(folder):
    clip = WorldClip.open(folder)
    for planes, words in (
        (depth_planes()[:-1], "5 pictures, expected 6"),
        (depth_planes() * 2, "12 pictures, expected 6"),
        ([plane[:, :32] for plane in depth_planes()], r"expected uint16 \(48, 64\)"),
        (instance_planes(), "holds uint8"),
    ):
        write_planes(folder / DEPTH, planes)
        with pytest.raises(ArtifactError, match=words):
            list(clip.depth())
    write_planes(folder / INSTANCES, depth_planes())
    with pytest.raises(ArtifactError, match="holds uint16"):
        list(clip.instances())


def test_a_video_of_another_length_or_size_is_a_problem(folder):
    write_video(folder / VIDEO, numbered_frames(FRAMES - 1, width=WIDTH, height=HEIGHT), 8)
    assert "5 frames of 64x48, expected 6" in problems(folder)[VIDEO]
    write_video(folder / VIDEO, numbered_frames(FRAMES, width=HEIGHT, height=HEIGHT), 8)
    assert "6 frames of 48x48" in problems(folder)[VIDEO]


@pytest.mark.parametrize("name", [DEPTH, INSTANCES, ARRAYS])
def test_flipped_bits_and_cuts_are_problems_or_change_nothing(folder, name):
    whole = (folder / name).read_bytes()
    random = np.random.default_rng(3)
    noticed = 0
    for attempt in range(60):
        copy = bytearray(whole)
        copy[random.integers(len(whole))] ^= 1 << random.integers(8)
        (folder / name).write_bytes(copy if attempt % 4 else whole[: random.integers(len(whole))])
        found = problems(folder)
        assert found.keys() <= {name}
        noticed += bool(found)
        if not found:
            assert attempt % 4, "a cut went unnoticed"
    assert noticed > 30


def test_a_damaged_card_is_a_typed_error_or_still_a_card(folder):
    whole = (folder / CARD).read_bytes()
    random = np.random.default_rng(4)
    refusals = 0
    for attempt in range(80):
        copy = bytearray(whole)
        copy[random.integers(len(whole))] ^= 1 << random.integers(8)
        (folder / CARD).write_bytes(copy if attempt % 4 else whole[: random.integers(len(whole))])
        try:
            WorldClip.open(folder).check()
        except LookawayError:
            refusals += 1
    assert refusals > 20


# Many clips.


def test_clips_are_found_in_the_order_of_their_paths(root):
    for case, take in (("b", 1), ("a", 0), ("b", 0)):
        put_clip(root, case, take)
    found = [clip.folder.relative_to(root).as_posix() for clip in open_world(root)]
    assert found == ["clips/a/perfect/0", "clips/b/perfect/0", "clips/b/perfect/1", FOLDER]


def put_clip(root, case, take):
    folder = root / "clips" / case / "perfect" / str(take)
    shutil.copytree(root / FOLDER, folder)
    put(folder, case=case, take=take)
    return folder


def test_a_folder_without_clips_is_an_empty_world(tmp_path):
    assert open_world(tmp_path) == []
    assert write_manifest(tmp_path).clips == ()


def test_the_same_take_twice_is_refused(root):
    shutil.copytree(root / FOLDER, root / "clips" / "copy" / "perfect" / "0")
    with pytest.raises(DatasetError, match="same take"):
        open_world(root)


@pytest.mark.parametrize("name", [VIDEO, DEPTH, INSTANCES, ARRAYS, CARD])
def test_a_file_that_leads_out_of_the_world_is_unsafe(root, tmp_path, name):
    os.replace(root / FOLDER / name, tmp_path / name)
    (root / FOLDER / name).symlink_to(tmp_path / name)
    with pytest.raises(UnsafePath, match="leads out"):
        open_world(root)


def test_a_folder_that_leads_out_of_the_world_is_unsafe(root, tmp_path):
    os.rename(root / "clips", tmp_path / "clips")
    (root / "clips").symlink_to(tmp_path / "clips")
    with pytest.raises(UnsafePath, match="leads out"):
        open_world(root)


def test_a_folder_whose_name_is_not_text_is_refused(root):
    odd = os.path.join(os.fsencode(root), b"clips", b"caf\xe9")
    os.rename(os.fsencode(root / "clips" / "room-none-static-000"), odd)
    with pytest.raises(DatasetError, match=r"caf\\xe9 is not UTF-8|caf\\xe9.* is not UTF-8"):
        open_world(root)


# The manifest.


def test_the_manifest_lists_every_clip_with_its_hashes(root):
    put_clip(root, "a", 0)
    written = write_manifest(root)
    assert read_manifest(root) == written
    assert [entry.path for entry in written.clips] == ["clips/a/perfect/0", FOLDER]
    assert written.clips[0].case == "a"
    assert written.clips[0].hashes.model_dump() == card_fields()["hashes"]
    assert json.loads((root / MANIFEST).read_text())["format"] == 1


def test_the_same_clips_give_the_same_manifest_wherever_they_lie(root, tmp_path):
    put_clip(root, "a", 0)
    write_manifest(root)
    shutil.copytree(root, tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / MANIFEST).unlink()
    write_manifest(tmp_path / "elsewhere")
    assert (tmp_path / "elsewhere" / MANIFEST).read_bytes() == (root / MANIFEST).read_bytes()


@pytest.mark.parametrize("path", ["../outside", "/etc", "", "a\0b", "clips/../../x"])
def test_a_path_of_the_manifest_that_leads_out_is_unsafe(root, path):
    write_manifest(root)
    fields = json.loads((root / MANIFEST).read_text())
    fields["clips"][0]["path"] = path
    write_json(root / MANIFEST, fields)
    with pytest.raises(UnsafePath):
        read_manifest(root)


def test_a_manifest_that_is_not_valid_is_refused(root):
    with pytest.raises(DatasetError, match="no such file"):
        read_manifest(root)
    write_manifest(root)
    fields = json.loads((root / MANIFEST).read_text())
    for changed, words in (
        ({**fields, "format": 2}, "format"),
        ({**fields, "clips": fields["clips"] * 2}, "more than once"),
        ({**fields, "clips": [{"path": "x"}]}, "clips.0"),
        ([], "the record"),
    ):
        write_json(root / MANIFEST, changed)
        with pytest.raises(DatasetError, match=words):
            read_manifest(root)
