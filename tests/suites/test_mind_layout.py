from __future__ import annotations

import json
import os
import shutil

import pytest

from lookaway.core import DatasetError, Reason, UserError
from lookaway.engine.coverage import coverage
from lookaway.engine.evaluate import evaluate
from lookaway.engine.reading import read as read_any
from lookaway.suites.mind import Mind
from tests.support.clips import numbered_frames, write_clip
from tests.support.command import lookaway
from tests.support.mbench import MBenchWriter
from tests.support.mind import MindWriter, actions

MEMORY, SPACE, MIRROR = "1st_data/mem_test", "3rd_data/action_space_test", "3rd_data/mirror_test"
POSES = "1 1 0 0 0 0 0 0 1 images/frame_000000.jpg\n\n"


@pytest.fixture
def writer(tmp_path):
    return MindWriter(tmp_path / "data")


def read(writer, **options):
    return read_any(writer.root, suite="mind", **options)


def only(dataset):
    (rollout,) = dataset.rollouts
    return rollout


def messages(dataset):
    return [(problem.where, problem.message) for problem in dataset.problems]


def by_id(dataset):
    return {rollout.id: rollout for rollout in dataset.rollouts}


# What is read


def test_an_answer_stands_beside_the_true_video_from_the_mark_on(writer):
    true = writer.case(poses=POSES)
    made = writer.answer(poses=POSES)
    dataset = read(writer)
    rollout = only(dataset)
    assert dataset.problems == ()
    assert (rollout.model, rollout.seed, rollout.problem) == ("alpha", "0", None)
    assert (rollout.case.id, rollout.case.subset, rollout.case.scene) == (f"{MEMORY}/street", MEMORY, "street")
    assert (rollout.video, dict(rollout.artifacts)) == (made / "video.mp4", {"poses": made / "images.txt"})
    reference = rollout.case.reference
    assert (reference.video, reference.start, reference.end) == (true / "video.mp4", 2, 6)
    assert dict(reference.artifacts) == {"poses": true / "images.txt"}
    assert rollout.case.prompt == ("a street",)
    assert rollout.case.controls == ("forward+look_left",) * 4


def test_poses_that_nobody_supplied_are_not_named(writer):
    writer.case()
    writer.answer()
    rollout = only(read(writer))
    assert (dict(rollout.artifacts), dict(rollout.case.reference.artifacts)) == ({}, {})


@pytest.mark.parametrize(
    ("keys", "control"),
    [
        ((0, 0, 0, 0), "no_op"),
        ((1, 0, 0, 0), "forward"),
        ((2, 0, 0, 0), "backward"),
        ((0, 1, 0, 0), "left"),
        ((0, 2, 0, 0), "right"),
        ((0, 0, 1, 0), "look_up"),
        ((0, 0, 2, 0), "look_down"),
        ((0, 0, 0, 1), "look_left"),
        ((0, 0, 0, 2), "look_right"),
        ((2, 1, 2, 1), "backward+left+look_down+look_left"),
    ],
)
def test_keys_are_named_as_the_official_code_has_them(writer, keys, control):
    frame = dict(zip(("ws", "ad", "ud", "lr"), keys, strict=True))
    writer.case(record=actions(data=[frame] * 6))
    writer.answer()
    assert only(read(writer)).case.controls == (control,) * 4


def test_every_perspective_and_test_is_a_subset_of_its_own(writer):
    for subset in (MEMORY, SPACE, "1st_data/action_space_test", "3rd_data/mem_test"):
        writer.case(subset=subset)
        writer.answer(subset=subset)
    rollouts = read(writer).rollouts
    assert [rollout.case.id for rollout in rollouts] == [
        "1st_data/mem_test/street",
        "1st_data/action_space_test/street",
        "3rd_data/mem_test/street",
        "3rd_data/action_space_test/street",
    ]
    assert {rollout.case.scene for rollout in rollouts} == {"street"}


def test_every_video_of_a_mirrored_path_is_a_case_and_its_folder_is_the_scene(writer):
    folder = writer.mirror(files=("path-1.mp4", "path-10.mp4", "notes.txt"), perspective="3rd_data")
    dataset = read(writer)
    assert [rollout.case.id for rollout in dataset.rollouts] == [f"{MIRROR}/walk/path-1", f"{MIRROR}/walk/path-10"]
    assert {(rollout.case.subset, rollout.case.scene) for rollout in dataset.rollouts} == {(MIRROR, "walk")}
    assert {rollout.case.reference for rollout in dataset.rollouts} == {None}
    assert dataset.rollouts[0].video == folder / "path-1.mp4"
    assert dataset.problems == ()


def test_training_videos_are_no_cases(writer):
    writer.case()
    writer.answer()
    shutil.copytree(writer.truth / "1st_data/test/mem_test/street", writer.truth / "1st_data/train/street")
    assert only(read(writer)).case.id == f"{MEMORY}/street"


# What is missing


def test_a_case_without_an_answer_is_a_rollout_without_a_video(writer):
    for name in ("street", "yard"):
        writer.case(name)
    writer.case("roof", subset=SPACE)
    writer.answer("street")
    rollouts = by_id(read(writer))
    assert rollouts.keys() == {
        f"alpha/{MEMORY}/street/0", f"alpha/{MEMORY}/yard/0", f"alpha/{SPACE}/roof/0",
    }  # fmt: skip
    missing = rollouts[f"alpha/{MEMORY}/yard/0"]
    assert missing.problem is None
    assert missing.video == writer.root / "models/alpha" / MEMORY / "yard/video.mp4"
    assert not missing.video.exists()


def test_the_coverage_counts_missing_answers_as_missing_videos(writer):
    for name in ("street", "yard"):
        writer.case(name)
    writer.answer("street")
    dataset = read(writer)
    (cell,) = coverage(dataset, [bound for bound in Mind().metrics({}) if bound.name == "mind.lcm.mse"])
    assert (cell.subset, cell.asked, cell.runnable, dict(cell.reasons)) == (MEMORY, 2, 1, {"missing_video": 1})


def test_a_model_whose_folder_of_a_test_is_empty_is_asked_of_that_test_alone(writer):
    writer.case()
    writer.case(subset=SPACE)
    writer.answer(model="beta")
    (writer.root / "models/alpha" / MEMORY).mkdir(parents=True)
    asked = [rollout.id for rollout in read(writer, models=()).rollouts if rollout.model == "alpha"]
    assert asked == [f"alpha/{MEMORY}/street/0"]


def test_an_answer_to_nothing_is_listed_and_left_out(writer):
    writer.case()
    writer.answer()
    writer.answer("stret")
    dataset = read(writer)
    assert only(dataset).case.scene == "street"
    assert messages(dataset) == [(f"models/alpha/{MEMORY}/stret", "no reference video has this name; left out")]


def test_folders_without_anything_of_a_model_are_listed(writer):
    writer.case()
    writer.answer()
    (writer.root / "models/notes").mkdir()
    (writer.root / "models/started/1st_data").mkdir(parents=True)
    writer.mirror("nothing", files=())
    assert dict(messages(read(writer))) == {
        "models/notes": "it contains neither 1st_data nor 3rd_data; left out",
        "models/started": "it contains no generated videos",
        "models/alpha/1st_data/mirror_test/nothing": "there is no video like path-1.mp4",
    }


def test_files_that_systems_hide_are_no_answers(writer):
    writer.case()
    writer.answer()
    (writer.root / "models/.cache/1st_data").mkdir(parents=True)
    (writer.root / "models/alpha" / MEMORY / ".ipynb_checkpoints").mkdir()
    assert (len(read(writer).rollouts), messages(read(writer))) == (1, [])


def test_a_name_that_is_no_text_is_listed_and_the_rest_is_read(writer):
    writer.case()
    writer.answer()
    os.mkdir(os.fsencode(writer.root / "models/alpha" / MEMORY) + b"/\xff")
    dataset = read(writer)
    assert only(dataset).case.scene == "street"
    assert messages(dataset) == [(f"models/alpha/{MEMORY}/\\xff", "the name is not UTF-8; left out")]


def test_a_file_where_a_folder_should_be_is_listed(writer):
    writer.case()
    writer.answer()
    (writer.root / "models/alpha/3rd_data").mkdir()
    (writer.root / "models/alpha/3rd_data/mirror_test").write_text("")
    dataset = read(writer)
    assert len(dataset.rollouts) == 1
    assert messages(dataset) == [("models/alpha/3rd_data/mirror_test", "cannot be listed: Not a directory")]


# action.json


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "found a list"),
        ('{"mark_time": NaN}', "NaN is not a JSON number"),
        (actions(mark_time="2"), "mark_time: Input should be a valid integer, found text"),
        (actions(mark_time=True), "mark_time: Input should be a valid integer, found a boolean"),
        (actions(mark_time=2.5), "mark_time: Input should be a valid integer"),
        (actions(mark_time=-1), "mark_time: Input should be greater than or equal to 0, found a number"),
        (actions(total_time=10**30), "total_time: Input should be less than or equal to 10000000"),
        (actions(mark_time=6), "mark_time is 6, expected a frame before total_time, which is 6"),
        (actions(data={}), "data: Input should be a valid list, found a mapping"),
        (actions(data=[{"ws": 3, "ad": 0, "ud": 0, "lr": 0}]), "data.0.ws: Input should be less than or equal to 2"),
        (actions(data=[{"ws": 1, "ad": 0, "ud": 0}]), "data.0.lr: Field required"),
        (actions(data=[{"ws": "1", "ad": 0, "ud": 0, "lr": 0}]), "data.0.ws: Input should be a valid integer"),
        (actions(caption=["a", "street"]), "caption: Input should be a valid string"),
    ],
)
def test_a_wrong_action_record_rules_out_its_rollouts_and_says_why(writer, record, message):
    writer.case(record=record)
    writer.case("yard")
    for name in ("street", "yard"):
        writer.answer(name)
    street, yard = read(writer).rollouts
    assert street.problem.reason is Reason.INVALID_RECORD
    assert message in str(street.problem)
    assert str(street.problem).startswith("MIND-Data/1st_data/test/mem_test/street/action.json: ")
    assert str(writer.root) not in str(street.problem)
    assert yard.problem is None


def test_a_case_without_an_action_record_lacks_an_input(writer):
    (writer.case() / "action.json").unlink()
    writer.answer()
    problem = only(read(writer)).problem
    assert problem.reason is Reason.MISSING_INPUT
    assert "there is no such file" in str(problem)


def test_actions_of_another_number_of_frames_than_announced_are_listed_and_read(writer):
    writer.case(record=actions(total_time=9))
    writer.answer()
    dataset = read(writer)
    assert only(dataset).problem is None
    where = "1st_data/test/mem_test/street/action.json"
    assert messages(dataset) == [(where, "data has 6 frames, total_time says 9")]


def test_actions_that_end_before_the_mark_leave_nothing_steered_and_not_something_unknown(writer):
    writer.case(record=actions(data=actions()["data"][:2]))
    writer.answer()
    writer.mirror()
    steered, mirrored = (rollout.case.controls for rollout in read(writer).rollouts)
    assert (steered, mirrored) == ((), None)


def test_a_third_person_record_says_where_its_camera_is_and_what_is_steered_all_the_same(writer):
    record = actions()
    for frame in record["data"]:
        frame |= {"camera_pos": {"x": 1.0, "y": -2.5, "z": 90}, "camera_rpy": {"x": 0.0, "y": -12.0, "z": 181.5}}
    writer.case(subset=SPACE, record=record)
    writer.answer(subset=SPACE)
    dataset = read(writer)
    case = only(dataset).case
    assert (case.subset, case.controls, case.reference.start) == (SPACE, ("forward+look_left",) * 4, 2)
    assert dataset.problems == ()


def coded(*values: int) -> dict[str, object]:
    return actions(data=[{"ws": value, "ad": 0, "ud": 0, "lr": 0} for value in values])


def test_actions_that_may_be_counted_from_0_as_the_card_does_are_listed_once_and_read(writer):
    for name in ("street", "yard"):
        writer.case(name, record=coded(0, 1, 0, 1, 1, 0))
    writer.answer()
    dataset = read(writer)
    ((where, message),) = messages(dataset)
    assert where == "*/test/*/*/action.json"
    assert message.startswith("no key is ever 2. Keys are read as in MIND's files")
    assert dataset.rollouts[0].case.controls == ("no_op", "forward", "forward", "no_op")


@pytest.mark.parametrize("other", [(0, 1, 2, 1, 1, 0), (2, 2, 2, 2, 2, 2)])
def test_a_single_2_tells_that_actions_are_counted_from_1(writer, other):
    writer.case(record=coded(0, 1, 0, 1, 1, 0))
    writer.case("yard", record=coded(*other))
    writer.answer()
    assert read(writer).problems == ()


def test_a_dataset_in_which_nothing_is_steered_may_be_counted_either_way(writer):
    writer.case(record=coded(*[0] * 6))
    writer.answer()
    assert read(writer).problems == ()


def test_what_the_dataset_says_of_its_times_is_part_of_its_identity(writer):
    writer.case()
    writer.case("broken", record="{")
    writer.answer()
    assert read(writer).identity == {"times": {f"{MEMORY}/street": {"mark_time": 2, "total_time": 6}}}


@pytest.mark.parametrize(
    ("mark", "total", "outcome"),
    [(2, 100, ("score", None)), (2, 4, ("score", None)), (20, 40, ("abstention", "too_short"))],
)
def test_frames_are_counted_in_the_videos_whatever_the_record_says(writer, tmp_path, mark, total, outcome):
    frames = numbered_frames(8, width=64, height=36)
    whole, tail = (write_clip(tmp_path / f"{len(part)}.mp4", part).read_bytes() for part in (frames, frames[2:]))
    writer.case(record=actions(mark, total), video=whole)
    writer.answer(video=tail)
    run = evaluate(writer.root, tmp_path / "run", metrics=["mind.corrected.lcm.mse"])
    (row,) = run.items()
    assert (row["status"], row["reason"]) == outcome
    assert len(list(run.units("mind.corrected.lcm.mse"))) == (6 if outcome[0] == "score" else 0)


# Links


def touch(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"secret")
    return path


@pytest.mark.parametrize("linked", ["video.mp4", "images.txt"])
@pytest.mark.parametrize("side", ["answer", "case"])
def test_a_link_out_of_the_dataset_is_refused_unless_allowed(writer, tmp_path, linked, side):
    folders = {"case": writer.case(poses=POSES), "answer": writer.answer(poses=POSES)}
    (folders[side] / linked).unlink()
    (folders[side] / linked).symlink_to(touch(tmp_path / "outside/file"))
    refused = only(read(writer))
    assert refused.problem.reason is Reason.UNSAFE_PATH
    assert "--allow-outside" in str(refused.problem)
    assert only(read(writer, allow_outside=True)).problem is None


def test_an_action_record_outside_of_the_dataset_is_not_read(writer, tmp_path):
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps(actions(caption="a secret")))
    folder = writer.case()
    (folder / "action.json").unlink()
    (folder / "action.json").symlink_to(secret)
    writer.answer()
    rollout = only(read(writer))
    assert (rollout.problem.reason, rollout.case.prompt) == (Reason.UNSAFE_PATH, ())
    assert only(read(writer, allow_outside=True)).case.prompt == ("a secret",)


@pytest.mark.parametrize("place", ["models/evil", "models/alpha/3rd_data", "models/alpha/3rd_data/mirror_test"])
def test_a_folder_that_leads_out_of_the_dataset_is_not_looked_into(writer, tmp_path, place):
    writer.case()
    writer.answer()
    touch(tmp_path / "outside/1st_data/mirror_test/private/path-1.mp4")
    touch(tmp_path / "outside/mirror_test/private/path-1.mp4")
    touch(tmp_path / "outside/private/path-1.mp4")
    (writer.root / place).parent.mkdir(parents=True, exist_ok=True)
    (writer.root / place).symlink_to(tmp_path / "outside")
    dataset = read(writer)
    assert [rollout.case.scene for rollout in dataset.rollouts] == ["street"]
    assert "private" not in str(dataset.problems)
    assert dataset.problems
    assert "private" in [rollout.case.scene for rollout in read(writer, allow_outside=True).rollouts]


def test_an_answer_that_lies_in_a_folder_out_of_the_dataset_is_refused(writer, tmp_path):
    writer.case()
    touch(tmp_path / "outside/video.mp4")
    (writer.root / "models/alpha" / MEMORY).mkdir(parents=True)
    (writer.root / "models/alpha" / MEMORY / "street").symlink_to(tmp_path / "outside")
    assert only(read(writer)).problem.reason is Reason.UNSAFE_PATH


def test_reference_videos_that_lie_elsewhere_are_named_not_linked(writer, tmp_path):
    writer.case()
    writer.answer()
    writer.truth.rename(tmp_path / "elsewhere")
    writer.truth.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DatasetError, match=r"leads out of the dataset.*set it with --ground-truth"):
        read(writer)
    assert only(read(writer, ground_truth=tmp_path / "elsewhere")).problem is None
    assert only(read(writer, allow_outside=True)).problem is None


# Where the generated videos lie


def test_answers_of_one_model_are_read_beside_a_truth_that_is_named(writer, tmp_path):
    writer.case()
    writer.answer(model="alpha")
    dataset = read_any(writer.root / "models/alpha", ground_truth=str(writer.truth))
    assert [rollout.id for rollout in dataset.rollouts] == [f"alpha/{MEMORY}/street/0"]
    assert only(dataset).case.reference.video == writer.truth / "1st_data/test/mem_test/street/video.mp4"


def test_answers_of_several_models_are_read_beside_a_truth_that_is_named(writer):
    writer.case()
    for model in ("beta", "alpha"):
        writer.answer(model=model)
    dataset = read_any(writer.root / "models", ground_truth=writer.truth)
    assert [rollout.model for rollout in dataset.rollouts] == ["alpha", "beta"]


def test_models_may_lie_beside_the_truth_itself(writer):
    writer.case()
    writer.answer()
    (writer.root / "models/alpha").rename(writer.root / "alpha")
    (writer.root / "models").rmdir()
    dataset = read(writer)
    assert (only(dataset).model, dataset.problems) == ("alpha", ())


def test_a_model_is_called_as_its_folder_however_that_is_named(writer, monkeypatch):
    writer.mirror(model="alpha")
    monkeypatch.chdir(writer.root / "models/alpha")
    assert only(read_any(".", suite="mind")).model == "alpha"


def test_answers_without_their_truth_are_refused_and_mirrored_paths_are_not(writer):
    writer.mirror()
    assert len(read(writer).rollouts) == 1
    writer.answer()
    with pytest.raises(DatasetError, match=r"there is no MIND-Data folder\. Set its path with --ground-truth"):
        read(writer)


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("nowhere", "nowhere: there is no such folder. Set the folder of reference videos with --ground-truth"),
        ("models", "no reference videos found; expected folders like 1st_data/test/mem_test"),
    ],
)
def test_a_ground_truth_without_reference_videos_is_refused(writer, named, message):
    writer.case()
    writer.answer()
    with pytest.raises(DatasetError, match=message):
        read(writer, ground_truth=writer.root / named)


def test_a_folder_without_any_answer_is_refused(writer):
    writer.case()
    (writer.root / "models").mkdir()
    with pytest.raises(DatasetError, match="no generated videos found; expected folders like <model>"):
        read(writer)


def test_folders_are_recognised_by_their_names(writer, tmp_path):
    assert not Mind().recognises(tmp_path / "nowhere")
    writer.case()
    assert not Mind().recognises(writer.root)
    assert not Mind().recognises(writer.truth)
    writer.mirror()
    for root in (writer.root, writer.root / "models", writer.root / "models/alpha"):
        assert Mind().recognises(root)
        assert read_any(root).suite == "mind"


def test_a_dataset_of_another_suite_is_not_recognised(tmp_path):
    writer = MBenchWriter(tmp_path)
    writer.add()
    assert not Mind().recognises(writer.finish())


# Options


def test_options_become_settings_of_the_lock(writer):
    writer.case()
    writer.answer()
    assert read(writer).settings == {"video_max_time": None, "alignment": "sim3"}
    asked = read_any(writer.root, max_frames=50)
    assert asked.settings == {"video_max_time": 50, "alignment": "sim3"}
    assert read_any(writer.root, alignment="se3").settings["alignment"] == "se3"


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"pattern": "{model}"}, "'mind' has no option 'pattern'. --pattern is for folder, revisit: leave it out"),
        ({"extrinsics_convention": "camera_to_world"}, "--extrinsics-convention is for folder, mbench-a, mbench-t"),
        ({"max_frames": 0}, "--max-frames is 0, expected a whole number, 1 or more"),
        ({"alignment": "sim2"}, "--alignment is 'sim2', expected one of sim3, se3, none"),
    ],
)
def test_options_without_a_meaning_here_are_refused(writer, option, message):
    writer.case()
    writer.answer()
    with pytest.raises(UserError, match=message):
        read(writer, **option)


@pytest.mark.parametrize("option", [{"ground_truth": "MIND-Data"}, {"max_frames": 50}, {"alignment": "sim3"}])
def test_other_suites_refuse_what_only_a_comparison_with_references_can_have(tmp_path, option):
    (name,) = option
    writer = MBenchWriter(tmp_path / "mbench")
    writer.add()
    for suite, root in (("mbench-a", writer.finish()), ("folder", tmp_path)):
        refusal = rf"'{suite}' has no option '{name}'\. --.* is for (memobench, )?mind: leave it out"
        with pytest.raises(UserError, match=refusal):
            read_any(root, suite=suite, **option)


def test_the_command_line_reads_generated_videos_beside_their_references(writer):
    writer.case()
    writer.answer()
    where = (writer.root / "models", "--ground-truth", writer.truth)
    (cell,) = lookaway("validate", *where, "--metrics", "mind.lcm.mse", "--json").json["coverage"]
    assert (cell["metric"], cell["runnable"], cell["asked"]) == ("mind.lcm.mse", 1, 1)
