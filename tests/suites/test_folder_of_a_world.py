from __future__ import annotations

import shutil

import pytest

from lookaway.core.cases import case_title
from lookaway.engine.evaluate import evaluate
from lookaway.engine.reading import read
from lookaway.io.phases import phases_of
from lookaway.io.world_clips import CARD
from tests.support.rendered import copy_small
from tests.support.runs import statuses
from tests.support.world_clip import FOLDER, FRAMES, write_clip_folder


@pytest.fixture
def world(tmp_path):
    write_clip_folder(tmp_path / FOLDER)
    return tmp_path


def test_a_world_is_read_without_being_told_what_its_folders_mean(world):
    dataset = read(world)
    (rollout,) = dataset.rollouts
    assert (dataset.suite, dataset.problems) == ("revisit", ())
    assert rollout.id == "perfect/room-none-static-000/0"
    assert rollout.artifacts == {"truth": world / FOLDER / CARD}


def test_what_a_card_knows_becomes_part_of_the_case(world):
    (rollout,) = read(world).rollouts
    assert rollout.case.target.name == "thing 1"
    assert rollout.case.target.box == (0.2, 0.5, 0.1, 0.2)
    assert rollout.case.prompt == ("1", "2", "3", "4", "5")
    assert (rollout.case.subset, rollout.case.scene, rollout.case.action) == ("none", "room-0", "wait")


def test_a_target_that_is_unseen_in_the_first_frame_has_no_box(world):
    write_clip_folder(world / FOLDER, target_box=[0, 0, 0, 0])
    (rollout,) = read(world).rollouts
    assert rollout.case.target.box is None


def test_takes_are_seeds(world):
    write_clip_folder(world / FOLDER.replace("/0", "/1"), take=1)
    assert [rollout.seed for rollout in read(world).rollouts] == ["0", "1"]


FAULT = {"fault": "vanish", "severity": 1.0, "dose": 1.0, "dose_unit": "target"}


def test_the_clip_without_a_fault_is_the_reference_of_its_case(world):
    other = FOLDER.replace("perfect", "vanish-1")
    write_clip_folder(world / other, model="vanish-1", injections=[FAULT])
    for rollout in read(world).rollouts:
        reference = rollout.case.reference
        assert (reference.video, reference.end) == (world / FOLDER / "video.mp4", FRAMES)
        assert dict(reference.phase_starts) == {"visible": 0, "disappeared": 2, "reappeared": 4}


def phases(card):
    visible, disappeared, reappeared = card
    return {"visible": visible, "disappeared": disappeared, "reappeared": reappeared, "causes": []}


def test_a_target_that_never_comes_back_is_looked_for_where_the_reference_shows_it_again(world):
    write_clip_folder(
        world / FOLDER.replace("perfect", "vanish-1"),
        model="vanish-1",
        injections=[FAULT],
        phases=phases([(0, 2), (2, FRAMES), (FRAMES, FRAMES)]),
    )
    for rollout in read(world).rollouts:
        assert [(phase.start, phase.stop) for phase in phases_of(rollout, FRAMES)] == [(0, 2), (2, 4), (4, FRAMES)]


def test_where_no_clip_shows_the_target_again_each_has_its_own_phases(world):
    write_clip_folder(world / FOLDER, phases=phases([(0, 3), (3, FRAMES), (FRAMES, FRAMES)]))
    (rollout,) = read(world).rollouts
    assert dict(rollout.case.reference.phase_starts) == {}
    assert rollout.phases == {"visible": (0, 3), "disappeared": (3, FRAMES), "reappeared": (FRAMES, FRAMES)}


def test_a_case_whose_clips_all_have_faults_has_no_reference(world):
    write_clip_folder(world / FOLDER, model="vanish-1", injections=[FAULT])
    (rollout,) = read(world).rollouts
    assert rollout.case.reference is None
    assert rollout.phases == {"visible": (0, 2), "disappeared": (2, 4), "reappeared": (4, FRAMES)}


def test_a_card_that_is_not_valid_is_listed_and_the_others_are_read(world):
    broken = world / FOLDER.replace("/0", "/1")
    write_clip_folder(broken, take=1)
    (broken / CARD).write_text("{}")
    dataset = read(world)
    assert len(dataset.rollouts) == 1
    assert [problem.where for problem in dataset.problems] == [broken.relative_to(world).as_posix()]


def test_arrays_that_cannot_be_read_are_listed(world):
    (world / FOLDER / "truth.npz").write_bytes(b"nothing")
    dataset = read(world)
    assert (len(dataset.rollouts), len(dataset.problems)) == (0, 1)


def test_one_take_in_two_folders_is_read_once(world):
    shutil.copytree(world / FOLDER, world / FOLDER.replace("/0", "/7"))
    dataset = read(world)
    assert len(dataset.rollouts) == len(dataset.problems) == 1
    assert "listed twice" in dataset.problems[0].message


def test_a_pattern_still_has_the_last_word(world):
    dataset = read(world, suite="folder", pattern="clips/{case}/{model}/{seed}/video.mp4")
    assert [rollout.id for rollout in dataset.rollouts] == ["perfect/room-none-static-000/0"]
    assert {problem.message for problem in dataset.problems} == {"does not match the pattern; left out"}


def test_a_link_that_leads_out_of_the_world_is_refused(world, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "video.mp4"
    video = world / FOLDER / "video.mp4"
    video.rename(outside)
    video.symlink_to(outside)
    dataset = read(world)
    assert dataset.rollouts == ()
    assert "leads out of the dataset" in dataset.problems[0].message


def test_metrics_can_be_fed_with_the_truth(world):
    metrics = ["camera_interaction", "rendering_lighting"]
    evaluate(world, world / "run", suite="folder", using={"poses": "true_poses"}, metrics=metrics)
    assert statuses(world / "run")["rendering_lighting"] != "missing_input"


@pytest.mark.merge  # binds and imports what all suites need
def test_one_run_measures_all_suites_on_a_world(world):
    other = FOLDER.replace("perfect", "vanish-1")
    write_clip_folder(world / other, model="vanish-1", injections=[FAULT])
    poses = {
        "poses": "true_poses",
        "reference_poses": "true_reference_poses",
        "requested_poses": "true_requested_poses",
    }
    suites = ["mbench-a", "mind", "memobench", "wrbench", "revisit"]
    evaluate(world, world / "run", metrics=suites, protocol="both", using=poses)
    scored = {name for name, status in statuses(world / "run").items() if status == "score"}
    assert {"mbencha.environment.spatial_epipolar", "mind.corrected.lcm.psnr", "memobench.all.psnr"} <= scored
    assert {"wrbench.static_hold", "revisited"} <= scored


@pytest.mark.render
def test_a_case_says_how_far_its_camera_is_asked_to_turn_and_a_still_one_says_nothing(world, tmp_path_factory):
    root = copy_small(tmp_path_factory.mktemp("turned"), families=("kitchen",), events=("none",), faults=())
    (turned,) = {(r.case.turn_degrees, case_title(r.case.id, r.case)) for r in read(root).rollouts}
    assert turned == (60.0, "Kitchen, turn right 60 degrees and back")
    (still,) = read(world).rollouts
    assert still.case.turn_degrees is None
