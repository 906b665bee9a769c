from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from lookaway.core import DatasetError, Reason
from lookaway.engine.reading import read as read_any
from lookaway.suites.mbench import MBenchA, MBenchT
from tests.support.mbench import MBenchWriter

README_CARD = """\
dataset_id: mbencha           # or mbencht
dataset_name: My MBench-A Setup
version: '1.0'
path_mode: relative_to_dataset_root

subsets:
  environment: {description: Environment / spatial memory.}
  human:       {description: Human entity identity memory.}
  object:      {description: Object entity identity memory.}
  causal:      {description: Causal / interaction memory.}

condition_id:
  pattern: "{action}_{length}"

paths:
  output_video: models/{model_id}/outputs/{subset}/{sample_id}/{condition_id}/video.mp4
  artifact_da3: models/{model_id}/artifacts/{subset}/{sample_id}/{condition_id}/da3/results.npz
"""
README_LINE = (
    '{"item_id": "human:my_sample_001:left_then_right_25s", "dataset_id": "mbencha", "subset": "human", "sample_id": '
    '"my_sample_001", "condition_id": "left_then_right_25s", "model_id": "my_model", "media": {"videos": [{"path": '
    '"outputs/human/my_sample_001/left_then_right_25s/video.mp4", "role": "generated"}]}, "artifacts": {"da3": '
    '{"path": "artifacts/human/my_sample_001/left_then_right_25s/da3/results.npz"}}}\n'
)
SEGMENTS = ["a door opens", "a hall", "a garden", "the hall", "the door"]


@pytest.fixture
def writer(tmp_path):
    return MBenchWriter(tmp_path / "data")


def read(writer: MBenchWriter, **options):
    suite = "mbench-a" if writer.dataset_id == "mbencha" else "mbench-t"
    return read_any(writer.finish(), suite=suite, **options)


def only(dataset):
    (rollout,) = dataset.rollouts
    return rollout


def messages(dataset):
    return [(problem.where, problem.message) for problem in dataset.problems]


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"video")
    return path


def test_the_example_of_the_public_readme_reads_as_written(tmp_path):
    folder = tmp_path / "models" / "my_model"
    folder.mkdir(parents=True)
    (tmp_path / "dataset.yaml").write_text(README_CARD)
    (folder / "samples.jsonl").write_text(README_LINE)
    dataset = read_any(tmp_path, suite="mbench-a")
    rollout = only(dataset)
    place = "human/my_sample_001/left_then_right_25s"
    assert dataset.problems == ()
    assert dataset.identity == {"dataset_id": "mbencha", "name": "My MBench-A Setup", "version": "1.0"}
    assert (rollout.model, rollout.seed, rollout.problem) == ("my_model", "0", None)
    assert (rollout.case.id, rollout.case.subset) == ("human:my_sample_001:left_then_right_25s", "human")
    assert (rollout.case.scene, rollout.case.action) == ("human:my_sample_001", "left_then_right")
    assert rollout.video == folder / f"outputs/{place}/video.mp4"
    assert rollout.artifacts == {"poses": folder / f"artifacts/{place}/da3/results.npz"}


def test_setting_t_has_caption_segments_and_no_action(tmp_path):
    writer = MBenchWriter(tmp_path, dataset_id="mbencht")
    writer.add(condition="text", metadata={"caption_segments": SEGMENTS, "caption": "all of it"})
    rollout = only(read(writer))
    assert (rollout.case.prompt, rollout.case.action) == (tuple(SEGMENTS), None)


def test_an_annotated_action_goes_before_the_one_in_the_condition(writer):
    writer.add(condition="left_then_right_10s", annotations={"action": "forward_then_backward"})
    assert only(read(writer)).case.action == "forward_then_backward"


@pytest.mark.parametrize(
    ("condition", "action"), [("left_360_25s", "left_360"), ("static_10s", "static"), ("own_path", "own_path")]
)
def test_the_action_is_the_condition_without_its_length(writer, condition, action):
    writer.add(condition=condition)
    assert only(read(writer)).case.action == action


# Paths


def test_a_path_may_start_from_the_root_of_the_dataset(writer):
    writer.add(video="models/truth/clips/a.mp4", poses=False)
    video = touch(writer.root / "models/truth/clips/a.mp4")
    assert only(read(writer)).video == video


def test_a_path_that_fits_both_ways_starts_from_the_models_folder(writer):
    writer.add(video="clips/a.mp4", poses=False)
    touch(writer.root / "clips/a.mp4")
    video = touch(writer.root / "models/truth/clips/a.mp4")
    assert only(read(writer)).video == video


def test_an_absolute_path_inside_the_dataset_is_read(writer):
    video = touch(writer.root / "clips/a.mp4")
    writer.add(video=str(video), poses=False)
    assert only(read(writer)).video == video


@pytest.mark.parametrize("named", ["{outside}/a.mp4", "../../../outside/a.mp4", "outputs/../../../../outside/a.mp4"])
def test_a_path_out_of_the_dataset_is_refused_unless_allowed(writer, tmp_path, named):
    video = touch(tmp_path / "outside/a.mp4")
    writer.add(video=named.format(outside=video.parent), poses=False)
    refused = only(read(writer))
    assert refused.problem.reason is Reason.UNSAFE_PATH
    assert "--allow-outside" in str(refused.problem)
    assert refused.video != video
    allowed = only(read(writer, allow_outside=True))
    assert (allowed.video, allowed.problem) == (video, None)


def test_a_link_out_of_the_dataset_is_refused_unless_allowed(writer, tmp_path):
    video = touch(tmp_path / "outside/a.mp4")
    writer.add(video="linked.mp4", poses=False)
    (writer.root / "models/truth/linked.mp4").symlink_to(video)
    assert only(read(writer)).problem.reason is Reason.UNSAFE_PATH
    assert only(read(writer, allow_outside=True)).problem is None


def test_poses_out_of_the_dataset_are_refused_like_a_video(writer):
    writer.add(poses="../../../outside/results.npz")
    assert only(read(writer)).problem.reason is Reason.UNSAFE_PATH


def test_a_way_up_that_stays_inside_the_dataset_is_no_harm(writer):
    video = touch(writer.root / "models/shared/a.mp4")
    (writer.root / "models/shared/samples.jsonl").write_text("")
    writer.add(video="../shared/a.mp4", poses=False)
    assert only(read(writer)).video == video


def test_a_missing_file_inside_the_dataset_is_missing_not_unsafe(writer):
    # From the model's folder this stays inside; from the root it would not.
    writer.add(video="../../clips/gone.mp4", poses=False)
    rollout = only(read(writer))
    assert (rollout.problem, rollout.video) == (None, writer.root / "clips/gone.mp4")


@pytest.mark.parametrize("named", ["a\0.mp4", "a" * 5000, ""])
def test_a_path_that_can_be_no_path_is_refused_and_the_rest_is_read(writer, named):
    writer.add(sample="first")
    writer.lines["truth"][0]["media"]["videos"][0]["path"] = named
    writer.add(sample="second")
    first, second = read(writer).rollouts
    assert first.problem.reason is Reason.UNSAFE_PATH
    assert second.problem is None


def test_the_generated_video_is_taken_where_a_line_names_several(writer):
    writer.add(poses=False)
    writer.lines["truth"][0]["media"]["videos"].insert(0, {"path": "source.mp4", "role": "source"})
    assert only(read(writer)).video.name == "video.mp4"


# sample.json


def test_a_line_adds_to_its_sample_and_goes_before_it(writer):
    writer.add(subset="object", sample="cup", metadata={"caption": "a red cup"})
    writer.sample(
        {
            "metadata": {"caption": "a cup", "object_anchor": [0.5, 0.4, 0.2, 0.1]},
            "annotations": {"action": "left_360"},
        },
        subset="object",
        sample="cup",
    )
    case = only(read(writer)).case
    assert (case.prompt, case.action, case.target.box) == (("a red cup",), "left_360", (0.5, 0.4, 0.2, 0.1))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "found a list"),
        ('{"metadata": 3}', "metadata: "),
        ('{"metadata": {"x": NaN}}', "NaN"),
    ],
)
def test_a_broken_sample_is_reported_once_and_its_rollouts_are_read(writer, content, message):
    writer.add(condition="left_then_right_10s")
    writer.add(condition="right_then_left_10s")
    writer.sample(content)
    dataset = read(writer)
    assert len(dataset.rollouts) == 2
    ((where, found),) = messages(dataset)
    assert where == "samples/environment/room/sample.json"
    assert message in found


@pytest.mark.parametrize("relative", [False, True])
def test_a_sample_that_is_a_link_out_of_the_dataset_is_not_read(writer, tmp_path, monkeypatch, relative):
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps({"metadata": {"caption": "a secret"}}))
    writer.add()
    path = writer.root / "samples/environment/room/sample.json"
    path.parent.mkdir(parents=True)
    path.symlink_to(secret)
    root = writer.finish()
    if relative:
        monkeypatch.chdir(root.parent)
        root = Path(root.name)
    dataset = read_any(root, suite="mbench-a")
    assert only(dataset).case.prompt == ()
    assert "leads out of the dataset" in messages(dataset)[0][1]
    assert only(read_any(root, suite="mbench-a", allow_outside=True)).case.prompt == ("a secret",)


# What a subset requires


def test_object_anchors_that_are_missing_in_all_samples_are_reported_once_with_their_count(writer):
    for number in range(3):
        writer.add(subset="object", sample=f"cup_{number}")
    writer.add(subset="environment")
    assert messages(read(writer)) == [("subset object", "metadata.object_anchor is missing in 3 of 3 records")]


def test_object_anchors_that_are_missing_in_some_samples_are_counted(writer):
    for number in range(3):
        anchor = {"object_anchor": [0.5, 0.5, 0.2, 0.2]} if number else {}
        writer.add(subset="object", sample=f"cup_{number}", metadata=anchor)
    assert messages(read(writer)) == [("subset object", "metadata.object_anchor is missing in 1 of 3 records")]


def test_a_record_that_stands_there_twice_is_counted_once(writer):
    writer.add(subset="object", sample="cup")
    writer.add(subset="object", sample="cup")
    assert messages(read(writer))[-1] == ("subset object", "metadata.object_anchor is missing in 1 of 1 records")


@pytest.mark.parametrize(
    ("dataset_id", "subset", "given", "missing"),
    [
        ("mbencht", "object", {"object_anchor": [0.5, 0.5, 0.2, 0.2]}, "metadata.object_card"),
        ("mbencht", "object", {"object_card": {"name": "cup", "core_attributes": ["red"]}}, None),
        ("mbencha", "object", {"object_card": {"name": "cup"}}, "metadata.object_anchor"),
        ("mbencht", "causal", {"caption": "ice melts"}, "metadata.caption_segments"),
        ("mbencht", "causal", {"caption_segments": SEGMENTS}, None),
        ("mbencha", "causal", {}, "annotations.action or metadata.caption"),
        ("mbencha", "causal", {"caption": "ice melts"}, None),
        ("mbencha", "environment", {}, None),
        ("mbencha", "human", {}, None),
    ],
)
def test_each_subset_of_each_setting_has_its_own_requirements(tmp_path, dataset_id, subset, given, missing):
    writer = MBenchWriter(tmp_path, dataset_id=dataset_id)
    writer.add(subset=subset, condition="text", metadata=given)
    expected = [(f"subset {subset}", f"{missing} is missing in 1 of 1 records")] if missing else []
    assert messages(read(writer)) == expected


@pytest.mark.parametrize(
    ("anchor", "box"),
    [
        ([320, 200, 64, 48], (320, 200, 64, 48)),
        ({"cx": 0.5, "cy": 0.4, "w": 0.2, "h": 0.1}, (0.5, 0.4, 0.2, 0.1)),
        ([0.5, 0.5, 0, 0.2], None),
        ([0.5, 0.5, 0.2], None),
        ({"x": 0.5, "y": 0.4, "w": 0.2, "h": 0.1}, None),
        ([0.5, 0.5, True, 0.2], None),
        (["0.5", 0.5, 0.2, 0.2], None),
        ([10**200, 0.5, 0.2, 0.2], None),
        ("middle", None),
    ],
)
def test_an_anchor_is_four_numbers_with_an_area_or_none_and_then_it_is_wrong_not_missing(writer, anchor, box):
    writer.add(subset="object", metadata={"object_anchor": anchor})
    dataset = read(writer)
    target = only(dataset).case.target
    assert (target and target.box) == box
    told = [where for where, message in messages(dataset) if "expected four numbers, or cx, cy, w and h" in message]
    assert len(dataset.problems) == len(told) == (box is None)


@pytest.mark.parametrize(("told", "scene"), [("hall", "hall"), (None, "room"), (3, "room"), ("", "room")])
def test_a_place_without_a_name_is_that_of_its_sample_alone(tmp_path, told, scene):
    writer = MBenchWriter(tmp_path)
    writer.add(subset="environment", metadata={"scene": told})
    assert only(read(writer)).case.scene == f"environment:{scene}"


def test_the_target_of_setting_t_has_a_name_and_attributes(tmp_path):
    writer = MBenchWriter(tmp_path, dataset_id="mbencht")
    writer.add(subset="object", metadata={"object_card": {"name": "cup", "core_attributes": ["red", "round"]}})
    dataset = read(writer)
    target = only(dataset).case.target
    assert (target.name, target.attributes, dataset.problems) == ("cup", ("red", "round"), ())


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (
            {"object_card": {"name": "cup", "core_attributes": "red, ceramic"}},
            "metadata.object_card.core_attributes is text, expected a list of texts",
        ),
        (
            {"object_card": {"name": "cup", "core_attributes": ["red", 3]}},
            "metadata.object_card.core_attributes is a list, expected a list of texts",
        ),
        (
            {"object_card": {"name": "cup", "attributes": {"colour": "red"}}},
            "metadata.object_card.attributes is a mapping, expected a list of texts",
        ),
        ({"object_card": "cup"}, "metadata.object_card is text, expected a mapping with a name and core_attributes"),
        ({"object_card": {"name": 3}}, "metadata.object_card is a mapping, expected a mapping with a name"),
        ({"caption_segments": "a door; a hall"}, "metadata.caption_segments is text, expected a list"),
        ({"caption_segments": ["a door", None]}, "metadata.caption_segments is a list, expected a list"),
        ({"caption": ["a door"]}, "metadata.caption is a list, expected a text"),
        ({"scene": 3}, "metadata.scene is a number, expected the name of a scene"),
        ({"scene": " "}, "metadata.scene is text, expected the name of a scene"),
    ],
)
def test_metadata_in_another_form_is_told_where_it_stands(tmp_path, metadata, message):
    whole = {"object_card": {"name": "cup"}, "caption_segments": SEGMENTS, **metadata}
    in_line = MBenchWriter(tmp_path / "line", dataset_id="mbencht")
    in_line.add(subset="object", condition="text", metadata=whole)
    ((where, found),) = messages(read(in_line))
    assert where == "models/truth/samples.jsonl:1"
    assert found.startswith(message)
    in_sample = MBenchWriter(tmp_path / "sample", dataset_id="mbencht")
    in_sample.sample({"metadata": whole}, subset="object")
    for model in ("a", "b"):  # which both answer to the one sample
        in_sample.add(subset="object", condition="text", model=model)
    assert messages(read(in_sample)) == [("samples/object/room/sample.json", found)]


def test_attributes_in_another_form_leave_the_target_its_name(tmp_path):
    writer = MBenchWriter(tmp_path, dataset_id="mbencht")
    writer.add(subset="object", metadata={"object_card": {"name": "cup", "core_attributes": "red, ceramic"}})
    target = only(read(writer)).case.target
    assert (target.name, target.attributes) == ("cup", ())


@pytest.mark.parametrize(
    ("segments", "prompt"), [("a door; a hall", ()), (["a door", 3], ()), ([], ("all",)), (None, ("all",))]
)
def test_segments_in_another_form_are_not_replaced_by_the_caption(tmp_path, segments, prompt):
    writer = MBenchWriter(tmp_path, dataset_id="mbencht")
    writer.add(subset="causal", condition="text", metadata={"caption_segments": segments, "caption": "all"})
    dataset = read(writer)
    assert only(dataset).case.prompt == prompt
    ((where, message),) = messages(dataset)
    assert ("is missing" in message, where.startswith("models/")) == (bool(prompt), not prompt)


# Lines that cannot be rollouts


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"subset": 3}, "subset: Input should be a valid string, found a number"),
        ({"sample_id": None}, "sample_id: Input should be a valid string, found null"),
        ({"sample_id": "../../etc"}, "sample_id: Value error, a name must not be empty"),
        ({"condition_id": ""}, "condition_id: Value error, a name must not be empty"),
        ({"media": {"videos": []}}, "media.videos: List should have at least 1 item"),
        ({"media": {"videos": [{"path": 7}]}}, "media.videos.0.path: Input should be a valid string"),
        ({"media": "video.mp4"}, "media: Input should be"),
        ({"artifacts": {"da3": "results.npz"}}, "artifacts.*: Input should be"),
        ({"metadata": []}, "metadata: Input should be a valid dictionary"),
        ({"item_id": "environment:other:left"}, "item_id is another text than subset, sample_id and condition_id"),
        ({"model_id": "other"}, "model_id is another text than the name of its folder, 'truth'"),
        ({"dataset_id": "mbencht"}, "dataset_id is another text than 'mbencha'"),
        ({"item_id": None, "subset": "enviroment"}, "no subset; did you mean 'environment'?"),
        ({"item_id": None, "subset": "zzz"}, "no subset; known: environment, human, object, causal"),
    ],
)
def test_a_wrong_line_is_reported_with_its_place_and_the_rest_is_read(writer, change, message):
    for sample in ("first", "second", "third"):
        writer.add(sample=sample)
    writer.lines["truth"][1] |= change
    dataset = read(writer)
    assert [rollout.case.scene for rollout in dataset.rollouts] == ["environment:first", "environment:third"]
    ((where, found),) = messages(dataset)
    assert where == "models/truth/samples.jsonl:2"
    assert message in found


@pytest.mark.parametrize("text", ["{", "[]", "3", "null", '{"subset": "\\ud800"}', '{"subset": 1e999}', "\xff\xfe"])
def test_a_line_that_is_no_record_is_reported_and_the_rest_is_read(writer, text):
    writer.add()
    path = writer.finish() / "models/truth/samples.jsonl"
    path.write_bytes(text.encode("latin-1") + b"\n\n" + path.read_bytes())
    dataset = read_any(writer.root, suite="mbench-a")
    assert len(dataset.rollouts) == 1
    assert [problem.where for problem in dataset.problems] == ["models/truth/samples.jsonl:1"]


def test_an_item_that_stands_there_twice_is_left_out_and_reported(writer):
    writer.add()
    writer.add(video="other.mp4")
    dataset = read(writer)
    assert only(dataset).video.name == "video.mp4"
    assert messages(dataset) == [
        (
            "models/truth/samples.jsonl:2",
            "environment:room:left_then_right_10s with seed 0 is listed twice; left out",
        )
    ]


def test_one_item_with_several_seeds_is_several_rollouts_of_one_case(writer):
    for seed in (1, 2, "3"):
        writer.add(metadata={"seed": seed})
    dataset = read(writer)
    assert [rollout.seed for rollout in dataset.rollouts] == ["1", "2", "3"]
    assert len({rollout.case for rollout in dataset.rollouts}) == 1
    assert dataset.problems == ()


def test_a_subset_that_the_dataset_names_itself_is_known(writer):
    writer.add(subset="weather")
    root = writer.finish()
    with (root / "dataset.yaml").open("a") as file:
        file.write("subsets: {weather: {description: Rain and snow.}}\n")
    assert only(read_any(root, suite="mbench-a")).case.subset == "weather"


def test_models_are_read_in_the_order_of_their_names(writer):
    for model in ("b", "a", "c"):
        writer.add(model=model)
    assert [rollout.model for rollout in read(writer).rollouts] == ["a", "b", "c"]


def test_a_model_without_lines_is_reported(writer):
    writer.add()
    (writer.root / "models/empty").mkdir()
    assert messages(read(writer)) == [("models/empty", "there is no samples.jsonl")]


# dataset.yaml


def test_a_suite_refuses_the_dataset_of_the_other_setting(tmp_path):
    writer = MBenchWriter(tmp_path, dataset_id="mbencht")
    writer.add(condition="text")
    root = writer.finish()
    with pytest.raises(DatasetError, match="says 'mbencht', but mbench-a reads 'mbencha'"):
        read_any(root, suite="mbench-a")
    assert (MBenchA().recognises(root), MBenchT().recognises(root)) == (False, True)


@pytest.mark.parametrize(
    ("card", "message"),
    [
        ("dataset_id: mbench\n", "dataset_id: Input should be 'mbencha' or 'mbencht', found text"),
        ("dataset_name: mine\n", "dataset_id: Field required"),
        ("- a\n- b\n", "expected keys such as dataset_id, found a list"),
        ("dataset_id: [\n", "not readable as YAML"),
        ("dataset_id: mbencha\nextrinsics_convention: sideways\n", "extrinsics_convention: Input should be"),
        ("dataset_id: !!python/object/apply:os.getcwd []\n", "not readable as YAML"),
    ],
)
def test_a_wrong_card_is_refused_with_its_place(tmp_path, card, message):
    (tmp_path / "models").mkdir()
    (tmp_path / "dataset.yaml").write_text(card)
    with pytest.raises(DatasetError) as caught:
        read_any(tmp_path, suite="mbench-a")
    assert str(tmp_path / "dataset.yaml") in str(caught.value)
    assert message in str(caught.value)
    assert not MBenchA().recognises(tmp_path)


def test_a_folder_without_a_card_is_not_recognised(tmp_path):
    assert not MBenchA().recognises(tmp_path)
    with pytest.raises(DatasetError, match=r"there is no dataset\.yaml"):
        read_any(tmp_path, suite="mbench-a")


def test_a_dataset_without_models_is_refused(tmp_path):
    (tmp_path / "dataset.yaml").write_text("dataset_id: mbencha\n")
    with pytest.raises(DatasetError, match="expected folders like models/<model>"):
        read_any(tmp_path, suite="mbench-a")


def write_many(root, count):
    """A dataset of two models with so many rollouts each, whose videos are empty files."""
    for model in ("one", "two"):
        folder = root / "models" / model
        (folder / "outputs").mkdir(parents=True)
        lines = []
        for number in range(count):
            line = json.loads(README_LINE)
            line |= {"item_id": f"human:{number}:left_10s", "sample_id": str(number), "condition_id": "left_10s"}
            line |= {"model_id": model, "media": {"videos": [{"path": f"outputs/{number}.mp4", "role": "generated"}]}}
            line["artifacts"]["da3"]["path"] = f"outputs/{number}.npz"
            lines.append(json.dumps(line))
            for suffix in ("mp4", "npz"):
                os.close(os.open(folder / f"outputs/{number}.{suffix}", os.O_CREAT))
        (folder / "samples.jsonl").write_text("\n".join(lines))
    (root / "dataset.yaml").write_text("dataset_id: mbencha\n")


def test_ten_times_as_many_rollouts_take_about_ten_times_as_long_to_read(tmp_path):
    took = {}
    for count in (250, 2500):
        write_many(tmp_path / str(count), count)
        started = time.process_time()
        dataset = read_any(tmp_path / str(count), suite="mbench-a")
        took[count] = time.process_time() - started
        assert (len(dataset.rollouts), dataset.problems) == (2 * count, ())
    # Anything quadratic would take a hundred times as long.
    assert took[2500] < 30 * took[250]


def test_the_convention_of_poses_is_a_setting_and_an_option_goes_before_the_card(writer):
    writer.extrinsics_convention = None
    writer.add()
    root = writer.finish()
    assert read_any(root, suite="mbench-a").settings == {}
    with (root / "dataset.yaml").open("a") as file:
        file.write("extrinsics_convention: camera_to_world\n")
    assert read_any(root, suite="mbench-a").settings == {"extrinsics_convention": "camera_to_world"}
    chosen = read_any(root, suite="mbench-a", extrinsics_convention="world_to_camera")
    assert chosen.settings == {"extrinsics_convention": "world_to_camera"}
