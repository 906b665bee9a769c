from __future__ import annotations

import os
import shutil

import numpy as np
import pytest
import yaml

import lookaway
from lookaway.core import DatasetError, UnknownName, UserError
from lookaway.engine.reading import read
from lookaway.io.pose_files.layouts import read_da3
from lookaway.io.pose_files.source import PoseSource
from lookaway.io.video import probe
from lookaway.io.world_clips import WorldClip, open_world
from lookaway.world.exports import EXPORTS, export_world
from lookaway.world.exports.folder import checked_name
from tests.support.exported import (
    FRAMES,
    LEFT,
    ORBIT,
    QUIET,
    RIGHT,
    STATIC,
    change_card,
    clip_of,
    world_clips,
    world_root,
    world_root_with_a_quiet_case,
)
from tests.support.runs import outcomes
from tests.support.world_clip import write_clip_folder

pytestmark = pytest.mark.render

LEFT_ITEM = f"{LEFT.case}:left_then_right_3s"


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    root = tmp_path_factory.mktemp("mbench") / "a"
    return root, export_world(world_root_with_a_quiet_case(), "mbench-a", root)


@pytest.fixture(scope="module")
def dataset(exported):
    return read(exported[0])


@pytest.fixture(scope="module")
def text_dataset(tmp_path_factory):
    root = tmp_path_factory.mktemp("mbench") / "t"
    export_world(world_root_with_a_quiet_case(), "mbench-t", root)
    return read(root)


def rollout(dataset, subset="causal", case=LEFT, model="perfect", seed="0"):
    found = [
        one
        for one in dataset.rollouts
        if one.case.id.startswith(f"{subset}:{case.case}:") and (one.model, one.seed) == (model, seed)
    ]
    assert len(found) == 1
    return found[0]


def fake_clip(root, **fields):
    """A clip that nobody drew, with other values on its card."""
    folder = root / f"clips/{fields.get('case', 'case')}/{fields.get('model', 'perfect')}/0".replace("..", "up")
    write_clip_folder(folder, **fields)
    return WorldClip.open(folder)


def test_one_room_is_one_scene_whichever_way_the_camera_goes(tmp_path):
    for camera in ("yaw_left_60", "yaw_right_60"):
        write_clip_folder(
            tmp_path / f"world/clips/kitchen-3-{camera}/perfect/0",
            case=f"kitchen-3-{camera}",
            family="kitchen",
            seed=3,
            camera=camera,
            action="left_then_right" if camera == "yaw_left_60" else "right_then_left",
        )
    export_world(tmp_path / "world", "mbench-a", tmp_path / "exported")
    assert {one.case.scene for one in read(tmp_path / "exported").rollouts if one.case.subset == "environment"} == {
        "environment:kitchen-3"
    }


def test_the_reader_finds_every_clip_in_its_subsets_and_no_problem(dataset):
    assert (dataset.suite, dataset.problems) == ("mbench-a", ())
    clips = [("perfect", "0"), ("still", "0")]
    expected = {("causal", LEFT.case, *clip) for clip in [*clips, ("still", "1")]}
    expected |= {(s, QUIET.case, *clip) for s in ("environment", "object") for clip in clips}
    expected |= {("causal", RIGHT.case, *clip) for clip in clips}
    found = {(one.case.subset, one.case.id.split(":")[1], one.model, one.seed) for one in dataset.rollouts}
    assert found == expected
    assert len(dataset.rollouts) == len(expected)


@pytest.mark.parametrize("subset", ["environment", "object"])
def test_a_target_that_moves_or_changes_is_no_test_of_the_environment_nor_of_an_object(dataset, subset):
    found = {one.case.id.rpartition(":")[0] for one in dataset.rollouts if one.case.subset == subset}
    assert found == {f"{subset}:{QUIET.case}"}


def test_the_condition_has_mbench_s_name_and_the_action_its_waits(dataset):
    assert rollout(dataset).case.id == f"causal:{LEFT_ITEM}"
    phases = rollout(dataset).case.action.split("_then_")
    assert [phase for phase in phases if phase != "wait"] == ["left", "right"]
    assert {phases[0], phases[len(phases) // 2], phases[-1]} == {"wait"}


def test_the_target_and_the_prompt_are_those_of_the_card(dataset, text_dataset):
    card = clip_of(LEFT).card
    target = rollout(dataset).case.target
    assert target.box == card.target_box
    assert target.name == rollout(text_dataset).case.target.name == "striped ball"
    assert rollout(dataset).case.prompt == (card.caption,)
    assert rollout(text_dataset).case.prompt == card.caption_segments


@pytest.mark.parametrize("model", ["perfect", "still"])
def test_poses_come_back_as_the_cameras_that_were_executed(dataset, model):
    one, clip = rollout(dataset, model=model), clip_of(LEFT, model)
    convention = dataset.settings["extrinsics_convention"]
    source = PoseSource(path=one.artifacts["poses"], timeline=probe(one.video), convention=convention)
    trajectory = read_da3(source).trajectory
    assert np.abs(trajectory.camera_to_world - clip.arrays().camera_to_world).max() < 1e-6
    assert np.abs(trajectory.intrinsics - clip.arrays().intrinsics).max() < 1e-6
    assert trajectory.frame_indices.tolist() == list(range(FRAMES))
    assert trajectory.median_depth == pytest.approx(clip.trajectory().median_depth, rel=1e-3)


def test_depth_poses_and_lens_fit_together(dataset):
    # What is seen in one frame lies at the right depth in another: a wrong axis, side or unit would not survive this.
    with np.load(rollout(dataset).artifacts["poses"]) as file:
        depth, lens, extrinsics = file["depth"], file["intrinsics"][0], file["extrinsics"]
    assert depth.dtype == np.float32
    matrices = np.tile(np.eye(4), (FRAMES, 1, 1))
    matrices[:, :3] = extrinsics
    rows, columns = np.mgrid[0 : depth.shape[1] : 7, 0 : depth.shape[2] : 7]
    for start, end in ((0, 8), (8, 9), (10, 26)):
        seen = depth[start][rows, columns].ravel()
        rays = np.linalg.inv(lens) @ np.stack([columns.ravel() + 0.5, rows.ravel() + 0.5, np.ones(rows.size)])
        points = np.vstack([rays * seen, np.ones(seen.size)])
        x, y, z = lens @ (matrices[end] @ np.linalg.inv(matrices[start]) @ points)[:3]
        is_ahead = z > 0.1
        x, y, z = x[is_ahead] / z[is_ahead], y[is_ahead] / z[is_ahead], z[is_ahead]
        is_inside = (x > 0) & (y > 0) & (x < depth.shape[2]) & (y < depth.shape[1])
        assert is_inside.sum() > 300
        found = depth[end][y[is_inside].astype(int), x[is_inside].astype(int)]
        assert np.median(np.abs(found / z[is_inside] - 1)) < 0.01


def test_videos_are_the_rendered_files_themselves(dataset, exported):
    assert rollout(dataset).video.samefile(clip_of(LEFT).video)
    assert rollout(dataset, "environment", QUIET).video.samefile(rollout(dataset, "object", QUIET).video)
    sample = exported[0] / "samples/causal" / RIGHT.case
    assert (sample / "source_video.mp4").samefile(clip_of(RIGHT).video)
    assert (sample / "first_frame.png").read_bytes().startswith(b"\x89PNG")


def test_the_dataset_file_names_what_the_protocol_asks_for(exported):
    card = yaml.safe_load((exported[0] / "dataset.yaml").read_text())
    assert set(card) >= {"dataset_id", "dataset_name", "version", "path_mode", "subsets", "condition_id", "paths"}
    assert card["condition_id"]["pattern"] == "{action}_{length}"
    path = card["paths"]["artifact_da3"].format(
        model_id="still", subset="causal", sample_id=LEFT.case, condition_id="left_then_right_3s"
    )
    assert (exported[0] / path).is_file()


def test_cameras_without_a_name_are_left_out_by_name(exported):
    report = exported[1]
    assert report.written == 7
    assert len(report.left_out) == 2
    assert any(ORBIT.case in text and "orbit_left_then_right" in text for text in report.left_out)
    assert any(STATIC.case in text and "'static'" in text for text in report.left_out)


def test_the_text_setting_takes_every_camera_but_no_case_without_a_test(text_dataset):
    assert (text_dataset.suite, text_dataset.problems) == ("mbench-t", ())
    assert {one.case.id.rpartition(":")[2] for one in text_dataset.rollouts} == {"text"}
    assert {one.case.subset for one in text_dataset.rollouts if ORBIT.case in one.case.id} == {"environment"}
    assert not any(STATIC.case in one.case.id for one in text_dataset.rollouts)


def test_the_camera_that_does_what_was_asked_scores_high_and_the_still_one_low(dataset, tmp_path):
    metric = "mbencha.causal.camera_interaction"
    lookaway.evaluate(dataset, tmp_path / "run", metrics=[metric])
    values = {name: row["value"] for (name, _), row in outcomes(tmp_path / "run").items()}
    assert len(values) == 5
    for name, value in values.items():
        assert value > 0.95 if name.startswith("perfect/") else value < 0.1


def test_a_remembered_room_is_consistent_under_its_own_poses_and_not_under_others(exported, tmp_path):
    shutil.copytree(exported[0], tmp_path / "off")
    path = tmp_path / f"off/models/perfect/artifacts/environment/{QUIET.case}/left_then_right_3s/da3/results.npz"
    with np.load(path) as file:
        arrays = dict(file)
    turn = np.array([[np.cos(0.02), 0, np.sin(0.02)], [0, 1, 0], [-np.sin(0.02), 0, np.cos(0.02)]])
    arrays["extrinsics"][FRAMES // 2 :] = turn @ arrays["extrinsics"][FRAMES // 2 :]
    np.savez(path, **arrays)
    values = []
    for root in (exported[0], tmp_path / "off"):
        wanted = read(root, subsets=["environment"], models=["perfect"])
        run = tmp_path / f"run{len(values)}"
        name = "mbencha.environment.spatial_epipolar"
        lookaway.evaluate(wanted, run, metrics=[name])
        values += [row["value"] for (_, metric), row in outcomes(run).items() if metric == name]
    assert values[0] > 0.5
    assert values[1] < 0.01


@pytest.mark.parametrize("layout", EXPORTS)
def test_a_folder_that_is_not_empty_is_refused(layout, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UserError, match="not an empty folder"):
        EXPORTS[layout](world_clips(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("field", ["case", "model", "family", "camera"])
@pytest.mark.parametrize("layout", EXPORTS)
def test_a_name_that_leads_elsewhere_is_refused_before_anything_is_written(layout, field, tmp_path):
    clip = clip_of(LEFT)
    bad = WorldClip(folder=clip.folder, card=clip.card.model_copy(update={field: "../up"}))
    with pytest.raises(DatasetError, match="cannot be a file name"):
        EXPORTS[layout]([bad], tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a/b", "a\\b", "", ".", "..", ".hidden", "a b", "a\n", "ü", "a\0"])
def test_names_are_letters_digits_and_a_few_signs(name):
    with pytest.raises(DatasetError, match="cannot be a file name"):
        checked_name(name)
    assert checked_name("Aa0_-.b") == "Aa0_-.b"


@pytest.mark.parametrize("layout", EXPORTS)
def test_every_file_stays_inside_the_output_and_no_clip_is_forgotten(layout, tmp_path):
    world = sorted(path for path in world_root().rglob("*") if path.is_file())
    report = EXPORTS[layout](world_clips(), tmp_path / "out")
    assert report.written + len(report.left_out) == len(world_clips())
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert sorted(path for path in world_root().rglob("*") if path.is_file()) == world
    assert not any(path.is_symlink() for path in (tmp_path / "out").rglob("*"))


@pytest.mark.parametrize("layout", ["mind", "memobench"])
def test_a_case_without_a_truth_is_left_out_by_name(layout, tmp_path):
    clip = fake_clip(tmp_path / "world", model="lonely")
    report = EXPORTS[layout]([clip], tmp_path / "out")
    assert report.written == 0
    assert "lonely" in report.left_out[0]
    assert "'perfect'" in report.left_out[0]


def test_two_clips_of_one_take_are_refused(tmp_path):
    clip = fake_clip(tmp_path / "world")
    with pytest.raises(DatasetError, match="two such clips"):
        EXPORTS["mind"]([clip, clip], tmp_path / "out")


def test_an_unknown_layout_and_an_empty_set_are_said(tmp_path):
    with pytest.raises(UnknownName, match="Known: mbench-a, mbench-t, memobench, mind, wrbench"):
        export_world(world_root(), "xyz", tmp_path / "out")
    with pytest.raises(UserError, match="no clips"):
        export_world(tmp_path, "mind", tmp_path / "out")


def test_files_are_copied_where_the_disk_has_no_hard_links(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    root = tmp_path / "world"
    shutil.copytree(world_root() / "clips" / STATIC.case, root / "clips" / STATIC.case)
    change_card(root / "clips" / STATIC.case / "perfect/0", event="in_place")
    EXPORTS["mbench-t"](open_world(root), tmp_path / "out")
    copy = tmp_path / f"out/models/perfect/outputs/causal/{STATIC.case}/text/video.mp4"
    assert not copy.samefile(clip_of(STATIC).video)
    assert copy.read_bytes() == clip_of(STATIC).video.read_bytes()
