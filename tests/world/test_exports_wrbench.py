from __future__ import annotations

import json

import cv2
import numpy as np
import pytest

from lookaway.world.exports import EXPORTS, export_world
from lookaway.world.exports.conventions import yaw_degrees
from lookaway.world.exports.sidecars import camera_script
from tests.support.exported import FRAMES, LEFT, ORBIT, RIGHT, STATIC, clip_of, world_root
from tests.support.pose_conventions import from_first_camera
from tests.world.test_conventions import path as camera_path

pytestmark = pytest.mark.render

SIDECARS = ("target_c2w.npy", "camera_trajectory.json", "camera.json", "model_control_samples.json", "payload.json")


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    root = tmp_path_factory.mktemp("wrbench") / "out"
    return root, export_world(world_root(), "wrbench", root)


@pytest.fixture(scope="module")
def manifest(exported):
    return json.loads((exported[0] / "manifest.json").read_text())


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def row_of(manifest, model="perfect", camera="yaw60_LR"):
    found = [row for row in manifest if (row["model"], row["camera"]) == (model, camera)]
    assert len(found) == 1
    return found[0]


def sidecar(exported, row, name):
    return json.loads((exported[0] / f"{row['path']}.{name}.json").read_text())


def test_every_video_of_the_manifest_has_its_sidecars_and_an_id_of_its_own(exported, manifest):
    assert len({row["video_id"] for row in manifest}) == len(manifest) == exported[1].written == 6
    for row in manifest:
        assert (exported[0] / row["path"]).is_file()
        for name in SIDECARS:
            assert (exported[0] / f"{row['path']}.{name}").is_file()
        assert row["model"] in row["video_id"]


def test_a_row_has_what_the_stages_of_the_evaluation_ask_for(exported, manifest):
    row = row_of(manifest)
    card = clip_of(LEFT).card
    assert row["camera_type"] == row["preset"] == row["oov_gap"] == "yaw_LR"
    assert (row["stress_axis"], row["stress_yaw_deg"]) == ("yaw", 60)
    assert (row["reasoning_tier"], row["divergence_id"], row["event_delta"]) == ("T2", "div_a", "state_only")
    assert row["world_state_prompt"] == "The striped ball turns dark blue."
    assert row["expected_state"] == card.caption_segments[4]
    assert row["prompt"] == row["ti2v_prompt"] == card.caption
    assert row["output_id"] == f"{row['variant_id']}__yaw60_LR"
    assert row["visibility"]["disappeared"] == list(card.phases.disappeared)
    assert row["question"]["answer"] == card.question.answer
    assert (exported[0] / row["path"]).samefile(clip_of(LEFT).video)
    for name in ("first_frame_path", "target_pose_path", "pose_path"):
        assert (exported[0] / row[name]).is_file()


@pytest.mark.parametrize(("case", "camera", "sign"), [(LEFT, "yaw60_LR", -1), (RIGHT, "yaw60_RL", 1)])
def test_left_first_is_lr_and_negative(exported, manifest, case, camera, sign):
    target = np.load(exported[0] / row_of(manifest, camera=camera)["target_pose_path"])
    yaw = yaw_degrees(target)
    assert sign * yaw[np.abs(yaw).argmax()] == pytest.approx(60, abs=2)  # measured about an axis that leans a little
    assert (sign * yaw > -1e-3).all()


@pytest.mark.parametrize("model", ["perfect", "still"])
def test_targets_are_the_requested_and_poses_the_executed_cameras(exported, manifest, model):
    row, arrays = row_of(manifest, model), clip_of(LEFT, model).arrays()
    first = np.array(row["first_camera_to_world"])
    target, executed = (np.load(exported[0] / row[name]) for name in ("target_pose_path", "pose_path"))
    assert target.dtype == executed.dtype == np.float32
    assert target.shape == (FRAMES, 4, 4)
    assert np.abs(target[0] - np.eye(4)).max() < 1e-6
    assert np.abs(from_first_camera(target, first) - arrays.requested_camera_to_world).max() < 1e-6
    assert np.abs(from_first_camera(executed, first) - arrays.camera_to_world).max() < 1e-6
    assert sidecar(exported, row, "camera")["target_c2w_is_model_effective"] is (model == "perfect")


def test_the_poses_lie_in_the_cache_under_the_id_of_the_video(manifest):
    for row in manifest:
        assert row["pose_path"] == f"pose_cache/pose/{row['video_id']}/poses.npy"


def test_the_camera_sidecar_passes_the_rules_of_the_main_score(exported, manifest):
    row = row_of(manifest)
    content = sidecar(exported, row, "camera")
    assert content["target_coordinate_convention"] == "opencv_c2w"
    assert content["target_role"] == "benchmark_intended_control"
    assert (content["control_family"], content["control_direction"]) == ("rotation", "yaw_LR")
    assert (content["control_profile"], content["yaw_peak_deg"]) == ("canonical_60deg", 60.0)
    assert content["evidence_level"] == "benchmark_intent"
    assert (content["num_frames"], content["fps"], content["image_size"]) == (FRAMES, 12.0, [448, 256])
    assert content["fov"] == pytest.approx(2 * np.degrees(np.arctan(448 / 256 * np.tan(np.radians(21)))))
    assert (content["rotation_gain"], content["translation_gain"]) == (1.0, 1.0)
    assert content["frame_mapping"]["target_frame_indices"] == list(range(FRAMES))
    for name in ("target_pose_path", "camera_trajectory_path", "model_control_samples_path"):
        assert (exported[0] / content[name]).is_file()


def test_the_trajectory_holds_target_and_lens_of_every_frame(exported, manifest):
    row = row_of(manifest)
    content = sidecar(exported, row, "camera_trajectory")
    assert np.array_equal(np.array(content["c2w"], np.float32), np.load(exported[0] / row["target_pose_path"]))
    assert np.array(content["intrinsics"]) == pytest.approx(np.tile(clip_of(LEFT).arrays().intrinsics, (FRAMES, 1, 1)))
    assert (content["frame_count"], content["fps"], content["camera_type"]) == (FRAMES, 12, "yaw_LR")


@pytest.mark.parametrize(
    ("camera", "script"),
    [
        ("static", "static@36"),
        ("yaw_left_60", "static@7,yaw:left:60@6,static@12,yaw:right:60@6,static@5"),
        ("yaw_right_30", "static@7,yaw:right:30@6,static@12,yaw:left:30@6,static@5"),
    ],
)
def test_the_script_says_what_the_camera_does(camera, script):
    assert camera_script(camera_path(camera)) == script


def test_families_and_variants_hold_the_fields_of_natural25(exported, manifest):
    suite = exported[0] / "natural25"
    families, variants = lines(suite / "families.jsonl"), lines(suite / "variants.jsonl")
    keys = {"family_id", "scene", "t2i_scene", "first_frame_guidance", "primary_object", "supporting_objects"}
    assert all(set(row) == keys for row in families)
    assert len({row["family_id"] for row in families}) == len(families) == 3
    assert {row["primary_object"]["id"] for row in families} == {"striped_ball"}
    assert "interactor" in {thing["role"] for thing in families[0]["supporting_objects"]}
    fields = {"variant_id", "family_id", "reasoning_tier", "oov_gap", "event_delta", "divergence_id"}
    fields |= {"world_state_prompt", "expected_state", "ti2v_prompt"}
    assert all(set(row) == fields for row in variants)
    assert {row["variant_id"] for row in manifest} <= {row["variant_id"] for row in variants}
    assert {row["family_id"] for row in variants} == {row["family_id"] for row in families}


def test_a_variant_without_a_gap_does_not_speak_of_the_camera(exported):
    variants = lines(exported[0] / "natural25/variants.jsonl")
    for row in variants:
        assert ("camera" in row["ti2v_prompt"]) == (row["oov_gap"] != "none")
        assert row["variant_id"].endswith(f"__{row['oov_gap']}")


def test_first_frames_are_pictures_of_the_size_that_their_list_says(exported):
    suite = exported[0] / "natural25"
    listed = json.loads((suite / "first_frames_manifest.json").read_text())
    assert len(listed) == 3
    for row in listed:
        height, width, _ = cv2.imread(str(suite / row["image_path"])).shape
        assert (row["width"], row["height"], row["format"]) == (width, height, "png")


def test_the_scope_lists_the_cameras_that_are_used(exported):
    scope = json.loads((exported[0] / "natural25/camera_scopes/lookaway_world.json").read_text())
    assert scope["expected_task_count"] == 3
    assert [row["label"] for row in scope["cameras"]] == ["static", "yaw60_LR", "yaw60_RL"]
    assert [row["stress_yaw_deg"] for row in scope["cameras"]] == [None, 60, 60]


def test_events_of_one_scene_share_a_family_and_other_draws_do_not(tmp_path):
    clip = clip_of(LEFT)

    def other(**fields):
        card = clip.card.model_copy(update=fields)
        return type(clip)(folder=clip.folder, card=card)

    box = (0.1, 0.1, 0.1, 0.1)
    clips = [clip, other(case="b", event="none"), other(case="c", event="both", target_box=box)]
    EXPORTS["wrbench"](clips, tmp_path / "out")
    variants = json.loads((tmp_path / "out/lookaway_export.json").read_text())["cases"]
    assert variants[LEFT.case] == "playroom_yaw_left_60_001__T2_div_a__yaw_LR"
    assert variants["b"] == "playroom_yaw_left_60_001__T0__yaw_LR"
    assert variants["c"] == "playroom_yaw_left_60_001_draw2__T2_div_b__yaw_LR"


def test_a_camera_that_nobody_scores_is_left_out_by_name(exported):
    assert len(exported[1].left_out) == 1
    assert ORBIT.case in exported[1].left_out[0]
    assert "orbit_left" in exported[1].left_out[0]
    assert STATIC.case not in exported[1].left_out[0]
