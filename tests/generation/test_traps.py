"""Known ways in which a request silently becomes another one on its way into a model."""

from __future__ import annotations

import json
import shlex
from io import BytesIO

import numpy as np
import pytest

from lookaway.core import plugins
from lookaway.generation.adapter import ControlPlan, ControlRefusal, Shell, command_line
from lookaway.generation.export import export_cases
from lookaway.generation.models import dreamx, gamecraft, lingbot_world, matrix_game_3, minwm, sana_wm, text_prompt
from lookaway.generation.models.hy_worldplay import HyWorldPlayKeys
from lookaway.generation.run_scripts import DRAFT
from tests.generation.golden import request, there_and_back, turn

NAMES = [name for name in plugins.names("adapters") if name != "world"]


def plan_for(name, poses, **changes):
    return plugins.load("adapters", name)().plan(request(poses, **changes), 0)


def yaw(poses):
    return np.degrees(np.unwrap(np.arctan2(poses[:, 0, 2], poses[:, 2, 2])))


def jittered(seed=0):
    """A pure rotation whose poses were inverted twice, away from the origin."""
    random = np.random.default_rng(seed)
    start = np.eye(4)
    start[:3, :3] = np.linalg.qr(random.normal(size=(3, 3)))[0]
    start[:3, :3] *= np.sign(np.linalg.det(start[:3, :3]))
    start[:3, 3] = random.normal(size=3)
    return np.linalg.inv(np.linalg.inv(start @ there_and_back()))


def test_the_rounding_of_a_pure_rotation_does_not_become_a_random_walk():
    poses = jittered()
    raw = np.linalg.inv(poses[0]) @ poses
    assert np.abs(raw[:, :3, 3]).max() > 0
    stored = np.load(BytesIO(plan_for("lingbot-world", poses).files["control/poses.npy"]))
    given = lingbot_world.network_input(lingbot_world.latent_path(stored.astype(np.float64)))
    assert np.abs(given[:, :3, 3]).max() == 0.0


def test_lingbot_sees_the_shape_of_a_translation_and_not_its_size():
    near, far = np.tile(np.eye(4), (2, 81, 1, 1))
    near[:, 2, 3], far[:, 2, 3] = np.linspace(0, 0.1, 81), np.linspace(0, 10, 81)
    inputs = [lingbot_world.network_input(lingbot_world.latent_path(poses)) for poses in (near, far)]
    assert np.allclose(*inputs)
    assert plan_for("lingbot-world", far).loss.scale == "normalised"


@pytest.mark.parametrize(("poses", "frames"), [(80, 77), (81, 81), (82, 81), (84, 81), (85, 85), (200, 161)])
def test_lingbot_cuts_paths_that_are_longer_than_a_whole_latent(poses, frames):
    assert lingbot_world.frames_made(poses) == frames


def test_intrinsics_are_in_pixels_of_the_size_that_the_model_assumes():
    plan = plan_for("lingbot-world", there_and_back(), size=(1664, 960))
    row = np.load(BytesIO(plan.files["control/intrinsics.npy"]))[0]
    assert row.tolist() == [210, 210, 208, 120]


def test_matrix_game_3_5_is_given_84_poses_for_80_frames():
    plan = plan_for("matrix-game-3.5", there_and_back(frames=161))
    poses = np.load(BytesIO(plan.files["control.npz"]))["extrinsics_c2w"]
    assert (plan.frames, len(poses)) == (160, 1 + 2 * 84)
    # The eighty-first output frame follows the eightieth in the request, although four poses lie between them.
    steps = np.abs(np.diff(yaw(poses[plan_rows(160)])))
    assert steps.max() == pytest.approx(0.75, abs=1e-3)
    assert plan.delivered.frame_of_request[:2].tolist() == [1, 2]


def plan_rows(frames):
    at = np.arange(frames)
    return 84 * (at // 80) + 1 + at % 80


def test_frame_f_of_sana_wm_shows_pose_f_plus_1():
    plan = plan_for("sana-wm", there_and_back())
    poses = np.load(BytesIO(plan.files["control.npy"]))
    assert (plan.frames, len(poses)) == (80, 81)
    assert np.allclose(plan.delivered.camera_to_world, poses[1:], atol=1e-6)
    assert plan.delivered.frame.tolist() == list(range(80))
    assert not plan.loss.first_frame_kept


def test_the_latents_of_hy_worldplay_are_a_multiple_of_four():
    for frames in (49, 81, 97, 120):
        plan = plan_for("hy-worldplay", there_and_back(frames=frames | 1))
        assert len(json.loads(plan.files["control.json"])) % 4 == 0
        assert len(json.loads(plan.files["control.json"])) * 4 - 3 == plan.frames


def test_no_string_of_hy_worldplay_closes_a_way_there_and_back():
    for peak in (3.0, 15.0, 60.0, 90.0):
        plan = plan_for("hy-worldplay-keys", there_and_back(-peak))
        assert plan.loss.return_error_deg == pytest.approx(3.0)
    with pytest.raises(Exception, match="KEY-LATENTS"):
        HyWorldPlayKeys().execute("hold-3")


def test_poses_close_the_way_that_keys_of_the_same_model_cannot():
    assert plan_for("hy-worldplay", there_and_back()).loss.return_error_deg == pytest.approx(0.0, abs=1e-4)


def test_none_coasts_in_the_language_of_sana_wm():
    assert yaw(sana_wm.sana_path("a-100,none-20,d-100"))[-1] == pytest.approx(-6.64, abs=0.01)
    plan = plan_for("sana-wm-keys", there_and_back())
    assert "none" not in plan.native


def test_a_and_d_turn_in_sana_wm_and_move_sideways_elsewhere():
    assert plan_for("sana-wm-keys", there_and_back()).native == "a-100,d-100"
    aside = np.tile(np.eye(4), (81, 1, 1))
    aside[:, 0, 3] = np.concatenate([np.linspace(0, 1, 41), np.linspace(1, 0, 41)[1:]])
    assert plan_for("sana-wm-keys", aside).native == "l-40,j-40"
    assert plan_for("minwm-hy15", aside).native == "d*12,a*12"


def test_gamecraft_is_asked_for_33_32_of_an_amount():
    plan = plan_for("gamecraft", there_and_back())
    assert gamecraft.parse_actions(plan.native)[0][1] == pytest.approx(-61.875)
    assert yaw(plan.delivered.camera_to_world).min() == pytest.approx(-60, abs=1e-3)


def test_the_last_speed_of_dreamx_makes_up_for_the_steps_that_are_cut():
    assert dreamx.last_gain(2, 81) == pytest.approx(41 / 39)
    assert plan_for("dreamx-5b-cam", there_and_back()).loss.return_error_deg == pytest.approx(0, abs=1e-4)


def test_matrix_game_3_refuses_to_look_up():
    up = turn(np.concatenate([np.linspace(0, 30, 41), np.linspace(30, 0, 41)[1:]]), 81, axis=0)
    refused = plan_for("matrix-game-3", up)
    assert isinstance(refused, ControlRefusal)
    assert "pitch" in refused.message


def test_a_block_that_turns_too_far_is_refused_with_the_nearest():
    refused = plan_for("matrix-game-3-blocks", there_and_back())
    assert isinstance(refused, ControlRefusal)
    assert refused.nearest.native == "j,q / l,q"
    assert refused.nearest.loss.peak_angle_error_deg == pytest.approx(25.5)
    assert "85.5" in refused.message


def test_a_slow_mouse_does_not_move_matrix_game_3():
    keyboard, mouse = matrix_game_3.frame_actions([{"yaw": -1}] * 40, 57)
    assert np.allclose(matrix_game_3.frame_path(keyboard, mouse * 0.15), np.eye(4))


def test_up_does_nothing_in_minwm_hy15():
    assert np.allclose(minwm.minwm_path("u*10"), np.eye(4))
    assert minwm.minwm_path("u*10", moves_up=True)[-1, 1, 3] == pytest.approx(-0.8)


def test_the_first_line_of_yume_drives_two_segments():
    lines = text_prompt.yume_lines(["S0", "S1", "S2", "S3"])
    read = [lines[0], *lines[:-1]]
    assert lines[:-1] == ["S0", "S2", "S3"]
    assert read == ["S0", "S0", "S2", "S3"]


@pytest.mark.parametrize("name", NAMES)
def test_a_look_away_and_return_is_within_one_step_or_refused_with_the_nearest(name):
    found = plan_for(name, there_and_back())
    if isinstance(found, ControlRefusal):
        assert name in ("gen3c", "matrix-game-3-blocks")
        assert found.message
        return
    loss = found.loss
    if found.delivered is None:
        assert loss.executable in ("text", "unknown")
        assert loss.return_error_deg is None
        return
    quantum = loss.quantum.get("yaw", (1e-3, 1))[0]
    assert loss.return_error_deg <= quantum + 1e-6
    assert loss.peak_angle_error_deg <= quantum + 1e-6
    assert len(found.delivered.frame) == len(found.delivered.camera_to_world) == len(found.delivered.frame_of_request)
    assert found.delivered.frame[-1] < found.frames


@pytest.mark.parametrize("name", NAMES)
def test_frames_are_a_number_that_the_model_makes(name):
    for frames in (49, 81, 120):
        found = plan_for(name, there_and_back(frames=frames | 1), fps=12.0)
        plan = found if isinstance(found, ControlPlan) else found.nearest
        if plan is not None:
            assert plugins.load("adapters", name).card.frames.allows(plan.frames), plan.native


@pytest.mark.parametrize("name", NAMES)
def test_a_text_of_the_dataset_is_never_run_by_the_shell(name):
    found = plan_for(name, there_and_back(), prompt="${HOME} $(touch /tmp/x) `id`; \"'")
    plan = found if isinstance(found, ControlPlan) else found.nearest
    line = command_line(plan.command) if plan else ""
    words = shlex.split(line)
    assert "$(touch" not in line or any(word.endswith("${HOME} $(touch /tmp/x) `id`; \"'") for word in words)
    assert "$(touch" not in "".join(str(word) for word in (plan.command if plan else ()) if isinstance(word, Shell))


@pytest.mark.parametrize(("name", "is_draft"), [("hy-worldplay", False), ("lyra-2", True)])
def test_a_command_whose_flags_were_not_all_read_in_the_models_code_says_so(tmp_path, name, is_draft):
    export_cases([request(there_and_back())], plugins.load("adapters", name)(), (0,), tmp_path)
    (script,) = tmp_path.glob("cases/*/run.sh")
    assert (DRAFT in script.read_text()) == (DRAFT in (tmp_path / "README.md").read_text()) == is_draft
