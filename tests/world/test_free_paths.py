from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lookaway.core import UserError
from lookaway.world.clip import build_clip
from lookaway.world.free_paths import FreePath, Keyframe, read_free_path
from lookaway.world.turns import look
from tests.support.scenes import small_recipe

AWAY_AND_BACK: dict[str, Any] = {
    "name": "peek",
    "action": "look_right_then_back",
    "words": "the camera steps aside, looks right and comes back",
    "looks_away": True,
    "keyframes": [
        {"time": 0, "position": [0, 0, 0], "yaw": 0, "pitch": 0},
        {"time": 0.4, "position": [0.5, 0.25, 0.1], "yaw": -80, "pitch": 10},
        {"time": 0.6, "position": [0.5, 0.25, 0.1], "yaw": -80, "pitch": 10},
        {"time": 1, "position": [0, 0, 0], "yaw": 0, "pitch": 0},
    ],
}


def written(folder: Path, content: object) -> Path:
    path = folder / "path.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def read(folder: Path, **changes: object) -> FreePath:
    return read_free_path(written(folder, {**AWAY_AND_BACK, **changes}))


def with_keyframe(number: int, **changes: object) -> list[dict[str, object]]:
    frames = [dict(frame) for frame in AWAY_AND_BACK["keyframes"]]
    frames[number].update(changes)
    return frames


def cameras(path: FreePath) -> np.ndarray:
    recipe = small_recipe(camera=path.id, free_path=path, event="none")
    return build_clip(recipe).table.camera[: recipe.frames]


def test_the_camera_passes_through_the_keyframes_relative_to_its_first_place(tmp_path):
    path = read(tmp_path, keyframes=with_keyframe(1, time=8 / 23))
    taken = cameras(path)
    scene = build_clip(small_recipe(camera=path.id, free_path=path)).scene
    pitch = np.degrees(np.arcsin(taken[0, 2, 2]))
    np.testing.assert_allclose(taken[0], look((0, -scene.distance, scene.eye_height), 0, pitch), atol=1e-12)
    there = look((0.5, 0.25 - scene.distance, 0.1 + scene.eye_height), -80, pitch + 10)
    np.testing.assert_allclose(taken[8], there, atol=1e-12)
    np.testing.assert_allclose(taken[-1], taken[0], atol=1e-12)


def test_the_camera_rests_between_two_equal_keyframes_and_never_overshoots(tmp_path):
    taken = cameras(read(tmp_path))
    rest = taken[[n for n in range(24) if 0.4 <= n / 23 <= 0.6]]
    assert len(rest) >= 4
    np.testing.assert_allclose(rest, np.broadcast_to(rest[0], rest.shape), atol=1e-12)
    x = taken[:, 0, 3]
    assert x.min() >= -1e-12
    assert x.max() <= 0.5 + 1e-12


def test_a_free_path_makes_a_clip_that_is_a_memory_test(tmp_path, studio):
    path = read(tmp_path)
    shot = studio.shoot(small_recipe(camera=path.id, free_path=path, event="none"))
    assert shot.phases.is_lost
    assert shot.phases.returns
    assert shot.clip.path.words == AWAY_AND_BACK["words"]


def test_the_case_is_named_after_the_path_and_its_content(tmp_path):
    path = read(tmp_path)
    other = read(tmp_path, keyframes=with_keyframe(1, yaw=-81))
    assert path == read(tmp_path)
    assert hash(path) == hash(read(tmp_path))
    assert path.id != other.id
    assert path.id[:-8] == other.id[:-8] == "peek-"
    assert int(path.id[-8:], 16) >= 0
    assert path.id in small_recipe(camera=path.id, free_path=path).case


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": "Peek/.."}, "named 'Peek/..', expected"),
        ({"name": 3}, "name is 3, expected text"),
        ({"action": ""}, "empty `action` or `words`"),
        ({"looks_away": "yes"}, "looks_away is 'yes', expected true or false"),
        ({"keyframes": {}}, "keyframes is {}, expected a list"),
        ({"keyframes": []}, "has 0 keyframes, expected 2"),
        ({"speed": 1}, "'speed'.*expected exactly the keys"),
        ({"keyframes": with_keyframe(1, time=0.7)}, "expected a rise from 0 to 1"),
        ({"keyframes": with_keyframe(3, time=2)}, "expected a rise from 0 to 1"),
        ({"keyframes": with_keyframe(0, yaw=5)}, r"starts at \(0.0, 0.0, 0.0, 5.0, 0.0\), expected zeros"),
        ({"keyframes": with_keyframe(1, yaw="left")}, "keyframe 1: yaw is 'left', expected a number"),
        ({"keyframes": with_keyframe(1, yaw=True)}, "keyframe 1: yaw is True, expected a number"),
        ({"keyframes": with_keyframe(1, yaw=10**400)}, "an integer has more than 300 digits"),
        ({"keyframes": with_keyframe(1, position=[1, 2])}, r"position is \[1, 2\], expected a list of three numbers"),
        ({"keyframes": with_keyframe(1, position=[0, 1e9, 0])}, "expected at most 1000 metres"),
        ({"keyframes": with_keyframe(1, roll=1)}, "keyframe 1: found.*'roll'"),
        ({"keyframes": [1, 2]}, "keyframe 0: found int, expected exactly the keys"),
    ],
)
def test_a_file_with_a_mistake_is_refused_with_what_was_found_and_expected(tmp_path, changes, said):
    with pytest.raises(UserError, match=said) as caught:
        read(tmp_path, **changes)
    assert "path.json" in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"name": NaN}', "null"])
def test_a_file_that_is_no_path_at_all_is_refused(tmp_path, text):
    with pytest.raises(UserError):
        read_free_path(written(tmp_path, text))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"nowhere\.json"):
        read_free_path(tmp_path / "nowhere.json")


def test_a_recipe_holds_a_path_only_under_its_id_and_without_a_wait(tmp_path):
    path = read(tmp_path)
    with pytest.raises(UserError, match=f"expected the id of its path: '{path.id}'"):
        small_recipe(camera="peek", free_path=path)
    with pytest.raises(UserError, match="its own timing"):
        small_recipe(camera=path.id, free_path=path, wait=2.0)


def test_numbers_that_are_no_numbers_are_refused_in_code_too():
    start = Keyframe(time=0.0, position=(0.0, 0.0, 0.0), yaw=0.0, pitch=0.0)
    end = replace(start, time=1.0, yaw=float("nan"))
    with pytest.raises(UserError, match="expected at most"):
        FreePath(name="peek", action="look", words="the camera looks", looks_away=False, keyframes=(start, end))
