"""Every adapter's integrator makes the path that the model's own code made of the same controls."""

from __future__ import annotations

import ast
import re

import numpy as np
import pytest

from lookaway.core import plugins
from lookaway.generation.models import dreamx, gamecraft, gen3c, lingbot_world, matrix_game_3, minwm, sana_wm
from lookaway.generation.models.hy_worldplay import HyWorldPlayKeys
from lookaway.generation.models.wan_fun_camera import camera_text_path
from tests.generation.golden import arrays, assert_same_path, entries, request

NAMES = sorted(name for name in arrays() if name.count("__") == 1)
REQUESTS = ("yaw60_return", "yaw30", "forward_back", "strafe_back", "orbit", "yaw360")


def executed(name):
    """The path of the stored native control."""
    model, what = name.split("__")
    entry = entries()[name]
    native = entry["native"]
    if model == "hy_worldplay" and "json" not in what:
        return HyWorldPlayKeys().execute(native)
    if model in ("minwm_wan", "minwm_fork_hhhjyz", "minwm_hy15"):
        return minwm.minwm_path(native, moves_up=model != "minwm_hy15")
    if model == "sana_wm":
        return sana_wm.sana_path(native, turn_degrees=entry["args"].get("rotation_speed_deg", 0.6))
    if model == "matrix_game_3_interactive":
        return matrix_game_3.block_path(native)
    if model == "hunyuan_gamecraft":
        return gamecraft.action_path(gamecraft.parse_actions(native))
    if model == "dreamx_5b_cam":
        keys, speeds = (ast.literal_eval(found) for found in re.findall(r"=(\[.*?\])", native))
        return dreamx.speed_path(keys, speeds, 81)
    if model == "dreamx_ar":
        pairs = ast.literal_eval(re.search(r"=(\[\[.*\]\])", native)[1])
        return dreamx.share_path([keys for keys, _ in pairs], [share for _, share in pairs], entry["frames"])
    if model == "gen3c":
        found = re.match(r"--trajectory (\w+) --camera_rotation (\w+) --movement_distance ([\d.]+)", native)
        return gen3c.named_path(found[1], found[2], float(found[3]))
    return None


def patched_actions(what):
    """The per-frame actions that the stored description names."""
    steps = {
        "yaw60_return": [{"yaw": -1}] * 40 + [{"yaw": 1}] * 40,
        "yaw30": [{"yaw": -1}] * 20,
        "forward_back": [{"forward": 1}] * 48 + [{"forward": -1}] * 48,
        "deadzone": [{"yaw": -1}] * 40,
    }[what]
    keyboard, mouse = matrix_game_3.frame_actions(steps, 57 if what in ("yaw30", "deadzone") else 97)
    return keyboard, mouse * (0.15 if what == "deadzone" else 1.0)


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith(("request", "lingbot", "wan_fun"))])
def test_a_native_control_gives_the_path_of_the_model_s_own_code(name):
    if name.startswith("matrix_game_3_patched"):
        found = matrix_game_3.frame_path(*patched_actions(name.split("__")[1]))
    elif name.startswith("hy_worldplay__") and name.endswith("_json"):
        found = latents_through_json(arrays()[name])
    else:
        found = executed(name)
    assert_same_path(found, arrays()[name])


def latents_through_json(poses):
    """Poses written for HY-WorldPlay and read again, at the rate of its latents."""
    import json

    files = plugins.load("adapters", "hy-worldplay")().plan(request(poses, fps=6.0), 0).files
    stored = json.loads(files["control.json"])
    return np.array([entry["extrinsic"] for entry in stored.values()])[: len(poses)]


@pytest.mark.parametrize("what", REQUESTS)
def test_lingbot_reads_every_fourth_pose_and_divides_moves_by_the_longest(what):
    given = arrays()[f"request__{what}"]
    plan = plugins.load("adapters", "lingbot-world")().plan(request(given), 0)
    assert_same_path(plan.delivered.camera_to_world, arrays()[f"lingbot_world__{what}"])
    assert plan.delivered.frame.tolist() == arrays()[f"lingbot_world__{what}__frame"].tolist()
    latents = lingbot_world.latent_path(given)
    assert_same_path(lingbot_world.network_input(latents), arrays()[f"lingbot_world__{what}__framewise_normalised"])


@pytest.mark.parametrize("what", REQUESTS)
def test_a_camera_text_file_gives_the_path_that_was_asked_for(what):
    plan = plugins.load("adapters", "wan-fun-camera")().plan(request(arrays()[f"request__{what}"]), 0)
    text = plan.files["control.txt"].decode()
    assert_same_path(camera_text_path(text), arrays()[f"wan_fun_camera__{what}"])
    assert_same_path(plan.delivered.camera_to_world, arrays()[f"wan_fun_camera__{what}"])


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("request")])
def test_every_path_of_the_models_is_compared(name):
    assert (
        name.startswith(("lingbot", "wan_fun", "matrix_game_3_patched")) or "json" in name or executed(name) is not None
    )
