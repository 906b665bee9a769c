from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lookaway.core import FrameRequest
from lookaway.io.video import Video
from lookaway.io.world_clips import ARRAYS, CARD, VIDEO, WorldClip
from lookaway.world import graphics as software
from lookaway.world import writing
from lookaway.world.recipe import ClipRecipe, Injection
from lookaway.world.studio import Shot
from lookaway.world.words import words_of
from lookaway.world.writing import METRES_PER_STEP, is_finished, write_shot

pytestmark = pytest.mark.render

CLEAN = ClipRecipe(
    family="playroom", event="both", camera="yaw_left_60", seed=0, width=224, height=128, fps=8, seconds=2.0, wait=0.5
)


def faulty(fault: str, severity: float = 1.0) -> ClipRecipe:
    return replace(CLEAN, model=f"{fault}-{severity}", injections=(Injection(fault=fault, severity=severity),))


RECIPES = {
    recipe.model: recipe
    for recipe in (
        CLEAN,
        faulty("teleport"),
        faulty("camera_never_moves"),
        faulty("temporal_cut"),
        faulty("vanish", 0.0),
    )
}
HASHES_OF_RECIPES = """
import json, sys
from pathlib import Path
from lookaway.world.studio import Studio
from lookaway.world.words import words_of
from lookaway.world.writing import write_shot
from tests.world.test_writing import RECIPES

studio, found = Studio(), {}
for name in sys.argv[2:]:
    shot = studio.shoot(RECIPES[name])
    found[name] = write_shot(shot, Path(sys.argv[1]) / name, words_of(shot.clip)).hashes.model_dump()
print(json.dumps(found))
"""
DIES_WHILE_IT_WRITES = """
import os, signal, sys
from pathlib import Path
from lookaway.world import writing
from lookaway.world import graphics as software
from lookaway.world.studio import Studio
from lookaway.world.words import words_of
from tests.world.test_writing import CLEAN

writing.write_clip_arrays = lambda path, arrays: os.kill(os.getpid(), signal.SIGKILL)
shot = Studio().shoot(CLEAN)
writing.write_shot(shot, Path(sys.argv[1]), words_of(shot.clip))
"""


def run(script: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script, *words]
    environment = {**os.environ, "LP_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)


@pytest.fixture(scope="module")
def shots(studio) -> dict[str, Shot]:
    return {name: studio.shoot(recipe) for name, recipe in RECIPES.items()}


@pytest.fixture(scope="module")
def clips(shots, tmp_path_factory) -> dict[str, WorldClip]:
    root = tmp_path_factory.mktemp("written")
    for name, shot in shots.items():
        write_shot(shot, root / name, words_of(shot.clip))
    return {name: WorldClip.open(root / name) for name in shots}


def decoded(path: Path) -> list[np.ndarray]:
    with Video(path) as video:
        wanted = FrameRequest(indices=frozenset(range(video.timeline.frame_count)))
        return [frame.pixels for _, frame in video.frames([wanted])]


def test_what_is_written_is_whole_and_its_hashes_are_right(clips):
    for clip in clips.values():
        assert clip.check() == []


def test_the_card_on_disk_is_the_card_that_is_handed_back(shots, tmp_path):
    shot = shots["perfect"]
    assert write_shot(shot, tmp_path, words_of(shot.clip)) == WorldClip.open(tmp_path).card


def test_depth_comes_back_within_half_a_step_and_the_sky_as_0(clips, shots):
    for clip in clips.values():
        for found, view in zip(clip.depth(), shots[clip.card.model].views, strict=True):
            np.testing.assert_allclose(found, view.depth, atol=METRES_PER_STEP * 0.501)


@pytest.mark.parametrize(
    ("metres", "steps"), [(0.0, 0), (1e-6, 1), (0.0004, 1), (0.0016, 2), (65.535, 65535), (79.9, 65535)]
)
def test_what_is_there_is_never_taken_for_sky(metres, steps):
    assert writing._steps(np.array([[metres]], np.float32)).item() == steps


def test_instances_come_back_as_drawn_and_areas_count_their_pixels(clips, shots):
    for clip in clips.values():
        areas = clip.arrays().visible_area
        for index, (found, view) in enumerate(zip(clip.instances(), shots[clip.card.model].views, strict=True)):
            np.testing.assert_array_equal(found, view.instances)
            assert [int((found == thing.id).sum()) for thing in clip.card.things] == areas[index].tolist()


def test_things_are_named_in_the_order_of_their_ids(clips, shots):
    card = clips["perfect"].card
    scene = shots["perfect"].clip.scene
    assert [thing.id for thing in card.things] == list(range(1, len(scene.things) + 1))
    assert tuple(thing.name for thing in card.things) == scene.names
    assert card.target.role == "target"


def test_luma_of_a_drawn_frame_comes_back_at_more_than_35_decibels(clips, shots):
    weights = [0.2126, 0.7152, 0.0722]
    for found, view in zip(decoded(clips["perfect"].video), shots["perfect"].views, strict=True):
        error = (found.astype(float) - view.picture) @ weights
        assert 10 * np.log10(255**2 / (error**2).mean()) > 35
        assert np.abs((found.astype(float) - view.picture).mean(axis=(0, 1))).max() < 1


def test_the_requested_camera_is_that_of_the_clean_clip_and_the_executed_one_is_what_was_drawn(clips):
    clean, still = clips["perfect"].arrays(), clips["camera_never_moves-1.0"].arrays()
    np.testing.assert_array_equal(clean.camera_to_world, clean.requested_camera_to_world)
    np.testing.assert_array_equal(still.requested_camera_to_world, clean.requested_camera_to_world)
    assert np.abs(still.camera_to_world - still.camera_to_world[0]).max() < 1e-9
    assert np.abs(clean.camera_to_world - clean.camera_to_world[0]).max() > 0.1


def test_a_cut_in_time_is_told_by_the_time_of_the_scene_and_not_by_that_of_the_video(clips):
    clean, cut = clips["perfect"].arrays(), clips["temporal_cut-1.0"].arrays()
    np.testing.assert_array_equal(clean.timestamps, np.arange(16) / 8)
    np.testing.assert_array_equal(clean.scene_time, clean.timestamps)
    np.testing.assert_array_equal(cut.timestamps, clean.timestamps)
    assert cut.scene_time[-1] > clean.scene_time[-1]


def test_the_box_of_the_target_is_just_around_its_first_mask(clips):
    card = clips["perfect"].card
    mask = next(clips["perfect"].masks(1))
    x, y, width, height = card.target_box
    left, right = (x - width / 2) * card.width, (x + width / 2) * card.width
    top, bottom = (y - height / 2) * card.height, (y + height / 2) * card.height
    left, right, top, bottom = (round(edge) for edge in (left, right, top, bottom))
    assert mask[top:bottom, left:right].sum() == mask.sum() > 0
    for edge in (mask[top, :], mask[bottom - 1, :], mask[:, left], mask[:, right - 1]):
        assert edge.any()


def test_a_target_that_is_not_in_the_first_frame_has_an_empty_box():
    assert writing._box(np.zeros((4, 6), bool)) == (0, 0, 0, 0)


def test_phases_and_causes_agree_with_the_masks(clips):
    for clip in clips.values():
        seen = [bool(mask.any()) for mask in clip.masks(1)]
        phases = clip.card.phases
        told = [cause for cause, start, end in phases.causes for _ in range(start, end)]
        assert [cause == "visible" for cause in told] == seen
        assert not any(seen[slice(*phases.disappeared)][:1])
        assert phases.reappeared[1] == clip.card.frames


def test_faults_are_told_with_severity_dose_and_unit(clips):
    assert clips["perfect"].card.injections == ()
    (teleport,) = clips["teleport-1.0"].card.injections
    assert (teleport.fault, teleport.severity) == ("teleport", 1.0)
    assert teleport.dose > 0
    assert teleport.dose_unit
    assert clips["vanish-0.0"].card.injections[0].dose == 0


def test_words_and_software_are_kept(clips, shots):
    card = clips["perfect"].card
    words = words_of(shots["perfect"].clip)
    assert (card.caption, card.caption_segments, card.action) == (words.caption, words.caption_segments, words.action)
    assert (card.question.question, card.question.answer) == (words.question, words.answer)
    assert card.software.keys() == {"lookaway", "mujoco", "numpy", "scipy", "renderer"}
    assert "llvmpipe" in card.software["renderer"]


def test_drawing_goes_on_after_a_clip_was_written(studio, shots, tmp_path):
    shot = shots["perfect"]
    software._renderer.cache_clear()
    write_shot(shot, tmp_path, words_of(shot.clip))
    again = studio.shoot(faulty("vanish", 0.5))
    np.testing.assert_array_equal(again.views[0].picture, shot.views[0].picture)


def test_a_fault_that_begins_unseen_leaves_every_byte_of_the_visible_phase_alone(clips, shots):
    end = clips["perfect"].card.phases.visible[1]
    assert end >= 3
    for clean, spoilt in zip(shots["perfect"].views[:end], shots["teleport-1.0"].views[:end], strict=True):
        assert clean.picture.tobytes() == spoilt.picture.tobytes()
    for kind in ("depth", "instances"):
        clean, spoilt = (list(getattr(clips[name], kind)()) for name in ("perfect", "teleport-1.0"))
        assert [plane.tobytes() for plane in clean[:end]] == [plane.tobytes() for plane in spoilt[:end]]
    hashes = clips["perfect"].card.hashes, clips["teleport-1.0"].card.hashes
    assert hashes[0].frames != hashes[1].frames


def test_a_fault_of_severity_0_has_the_hashes_of_the_clean_clip(clips):
    assert clips["vanish-0.0"].card.hashes == clips["perfect"].card.hashes


@pytest.mark.merge
def test_two_processes_agree_on_every_hash(clips, tmp_path):
    names = ["temporal_cut-1.0", "teleport-1.0", "perfect"]
    done = run(HASHES_OF_RECIPES, str(tmp_path), *names)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {name: clips[name].card.hashes.model_dump() for name in names}
    for mine, other in zip(decoded(clips["perfect"].video), decoded(tmp_path / "perfect" / VIDEO), strict=True):
        np.testing.assert_array_equal(mine, other)
    assert (tmp_path / "perfect" / ARRAYS).read_bytes() == (clips["perfect"].folder / ARRAYS).read_bytes()


# Cut off, and gone on.


def test_a_finished_clip_is_finished_for_its_recipe_and_no_other(clips):
    for name, recipe in RECIPES.items():
        folder = clips[name].folder
        assert is_finished(folder, recipe)
        for other in (
            replace(recipe, width=226),
            replace(recipe, height=130),
            replace(recipe, fps=9),
            replace(recipe, seconds=2.125),
            replace(recipe, wait=0.25),
            replace(recipe, seed=1),
            replace(recipe, event="none"),
            replace(recipe, camera="yaw_right_60"),
            replace(recipe, family="gym"),
            replace(recipe, model="other"),
            replace(recipe, take=1),
            replace(recipe, injections=(Injection(fault="teleport", severity=0.99),)),
        ):
            assert not is_finished(folder, other)


@pytest.mark.parametrize("name", ["video.mp4", "depth.mkv", "masks.mkv", "truth.npz", "clip.json"])
def test_a_clip_that_lacks_a_file_is_not_finished(shots, tmp_path, name):
    write_shot(shots["perfect"], tmp_path, words_of(shots["perfect"].clip))
    assert is_finished(tmp_path, CLEAN)
    (tmp_path / name).unlink()
    assert not is_finished(tmp_path, CLEAN)


def test_a_card_that_is_not_valid_is_not_finished(clips, tmp_path):
    fields = json.loads((clips["perfect"].folder / CARD).read_text())
    for changed in ({**fields, "fps": 0}, {**fields, "fps": 1000}, {**fields, "wait": 99.0}, {}):
        (tmp_path / CARD).write_text(json.dumps(changed))
        assert not is_finished(tmp_path, CLEAN)


def test_a_writer_that_fails_takes_the_old_card_with_it(shots, tmp_path, monkeypatch):
    shot = shots["perfect"]
    write_shot(shot, tmp_path, words_of(shot.clip))

    def fails(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(writing, "write_planes", fails)
    with pytest.raises(OSError, match="full"):
        write_shot(shot, tmp_path, words_of(shot.clip))
    assert not (tmp_path / CARD).exists()
    assert not is_finished(tmp_path, CLEAN)


@pytest.mark.merge
def test_a_killed_writer_leaves_no_card(clips, tmp_path):
    (tmp_path / CARD).write_bytes((clips["perfect"].folder / CARD).read_bytes())
    done = run(DIES_WHILE_IT_WRITES, str(tmp_path))
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert sorted(os.listdir(tmp_path)) == ["depth.mkv", "masks.mkv", "video.mp4"]
