"""Cameras of the clips that WRBench shows, as its suite scores them; they lie beside the project."""

from __future__ import annotations

import json

import pytest

from lookaway.engine.evaluate import evaluate
from lookaway.engine.reading import read
from lookaway.engine.run import Run
from lookaway.suites.wrbench.layout import Natural25
from tests.support.beside import DATA, needs_clips, needs_natural25

WRBENCH = DATA / "wrbench"
pytestmark = [
    needs_clips,
    needs_natural25,
    pytest.mark.nightly,  # ten clips are followed; `test_tracked_poses_real_clips` follows them coarsely
]
CLIPS = {
    "case_a_yaw_lr": ("kitchen_adult_counter_bowl_place", "T2_div_b", "yaw_LR"),
    "case_a_yaw_rl": ("kitchen_adult_counter_bowl_place", "T2_div_b", "yaw_RL"),
    "case_b_inspatio": ("loading_dock_worker_pallet_box_place", "T2_div_b", "yaw_RL"),
    "case_b_spatia": ("loading_dock_worker_pallet_box_place", "T2_div_b", "yaw_RL"),
    "case_c_wan27": ("apartment_lobby_adult_sofa_sit", "T2_div_a", "yaw_RL"),
    "case_c_wanfun": ("apartment_lobby_adult_sofa_sit", "T2_div_a", "yaw_RL"),
    "case_d_inspatio": ("kitchen_cat_cup_knock", "T2_div_b", "yaw_RL"),
    "cat_drag_wan22_5b_yaw_rl60": ("bedroom_cat_bed_jump", "T2_div_b", "yaw60_RL"),
    "cat_expected_inspatio_yaw_rl60": ("bedroom_cat_bed_jump", "T2_div_b", "yaw60_RL"),
    "cat_reobs_worldplay_yaw_rl60": ("bedroom_cat_bed_jump", "T2_div_b", "yaw60_RL"),
}
"""Family, level of the event, and camera, by what the website says."""

METRICS = ("wrbench.corrected.camera_alignment", "wrbench.corrected.camera_precision")


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Alignment of every clip; no path was requested that could be read, so that its label says how far to turn."""
    root = tmp_path_factory.mktemp("real")
    suite = Natural25.read(WRBENCH / "natural25")
    entries = []
    for name, (family, level, camera) in CLIPS.items():
        variant = suite.variants[f"{family}__{level}__none"]
        entries.append(
            {
                "video_id": name,
                "model": name,
                "path": str(WRBENCH / "videos" / f"{name}.mp4"),
                "variant_id": variant.variant_id,
                "camera": camera,
                "world_state_prompt": variant.world_state_prompt,
            }
        )
    (root / "videos.json").write_text(json.dumps(entries))
    dataset = read(root, suite="wrbench", natural25=WRBENCH / "natural25", allow_outside=True)
    evaluate(dataset, root / "run", metrics=METRICS)
    return {(row["metric"].rpartition(".")[2], row["model"]): row for row in Run(root / "run").items()}


def test_most_clips_turn_to_the_side_that_was_asked_for(rows):
    scored = {name: rows["camera_alignment", name]["value"] for name in CLIPS}
    right = [name for name, value in scored.items() if value is not None and value > 0]
    assert len(right) >= 8, scored


def test_a_turn_is_held_against_the_degrees_that_the_label_of_its_camera_names(rows):
    facts = {
        name: json.loads(rows["camera_alignment", name]["detail"])
        for name in CLIPS
        if rows["camera_alignment", name]["value"]
    }
    assert {abs(facts[name]["requested_degrees"]) for name in facts if "rl60" in name} == {60.0}
    assert {abs(facts[name]["requested_degrees"]) for name in facts if "rl60" not in name} == {30.0}


def test_without_a_requested_path_nothing_is_compared_with_it(rows):
    assert {rows["camera_precision", name]["reason"] for name in CLIPS} == {"missing_input"}


def test_clips_that_hardly_turn_score_less_than_one_that_turns_as_asked(rows):
    values = {name: rows["camera_alignment", name]["value"] for name in CLIPS}
    assert values["case_a_yaw_lr"] < values["cat_expected_inspatio_yaw_rl60"]
