"""WRBench's records: what they hold, what they refuse, and grids of them."""

from __future__ import annotations

import csv
import json
from collections import Counter

import pytest
from pydantic import ValidationError

from lookaway.core import DatasetError, UnknownName, UserError
from lookaway.suites.wrbench.grid import TRACKS, FamilyPlan, make_records, write_prompts, write_tasks
from lookaway.suites.wrbench.layout import Natural25, WrBenchReader
from lookaway.suites.wrbench.records import (
    ACTIONS,
    CaseKey,
    DeliveredCondition,
    RequestedView,
    VariantRow,
    VideoProvenance,
)
from lookaway.suites.wrbench.result_sets import (
    IDENTITY_COLUMNS,
    SCORE_COLUMNS,
    find_result_set,
    read_videos_master,
)
from tests.support.beside import DATA, needs_natural25
from tests.support.wrbench import FAMILY, plan

PUBLISHED = DATA / "wrbench" / "natural25"


@pytest.fixture
def suite(tmp_path):
    write_prompts([plan(), plan("cellar_dog_ball_roll")], tmp_path / "natural25")
    picture = tmp_path / f"natural25/first_frames/{FAMILY}.png"
    picture.parent.mkdir()
    picture.write_bytes(b"picture")
    return Natural25.read(tmp_path / "natural25")


# Cameras


@pytest.mark.parametrize(
    ("label", "axis", "degrees", "visibility"),
    [
        ("static", "static", None, "stays_in_view"),
        ("yaw_LR", "yaw", None, "leaves_and_returns"),
        ("yaw30_RL", "yaw", 30.0, "leaves_and_returns"),
        ("pan_RL", "pan", None, "leaves_and_returns"),
    ],
)
def test_the_label_of_a_camera_says_what_it_does(label, axis, degrees, visibility):
    view = RequestedView.parse(label)
    assert (view.axis, view.degrees, view.visibility, view.label) == (axis, degrees, visibility, label)
    assert view.camera_type in ACTIONS


@pytest.mark.parametrize(
    "label", ["", "yaw", "yaw60", "static_LR", "static30", "pan30_LR", "yaw60_UD", "yaw0_LR", "zoom"]
)
def test_what_is_no_camera_is_refused(label):
    with pytest.raises(ValueError, match=r"not known|does not turn|greater than 0"):
        RequestedView.parse(label)


# Natural-25


@needs_natural25
def test_natural25_is_read_as_it_is():
    published = Natural25.read(PUBLISHED)
    assert (len(published.families), len(published.variants), len(published.first_frames)) == (25, 400, 25)
    assert Counter(row.event_delta for row in published.variants.values()) == dict.fromkeys(
        ("none", "spatial", "state_only", "full"), 100
    )


@needs_natural25
@pytest.mark.parametrize("track", TRACKS.values(), ids=list(TRACKS))
def test_every_track_has_the_number_of_tasks_that_was_published(track):
    records = make_records(Natural25.read(PUBLISHED), track)
    assert len({record.id for record in records}) == len(records) == track.natural25_tasks
    assert Counter(record.event for record in records) == dict.fromkeys(
        [(False, False), (True, False), (False, True), (True, True)], track.natural25_tasks // 4
    )


@needs_natural25
def test_the_cameras_of_a_trajectory_track_are_those_of_the_published_scope():
    scope = json.loads((PUBLISHED / "camera_scopes/t2v_rotation_stress_30_60.json").read_text())
    assert [row["label"] for row in scope["cameras"]] == list(TRACKS["text_to_video"].cameras)
    for row in scope["cameras"]:
        view = RequestedView.parse(row["label"])
        assert (view.camera_type, view.axis, view.degrees) == (
            row["camera_type"],
            row["stress_axis"],
            row["stress_yaw_deg"],
        )


@needs_natural25
def test_prompts_for_text_to_video_name_the_subject_and_no_first_frame():
    records = make_records(Natural25.read(PUBLISHED), TRACKS["text_to_video"])
    record = next(record for record in records if record.id == "bedroom_cat_bed_jump__T2_div_b__none__yaw60_LR")
    assert record.first_frame is None
    assert record.prompt.startswith("In a bedroom, a house cat starts on the left third of the frame")
    assert "The layout includes a wide open wooden floor between the cat and the bed." in record.prompt
    assert ".." not in record.prompt


@needs_natural25
def test_models_that_are_only_prompted_read_of_the_camera():
    records = make_records(Natural25.read(PUBLISHED), TRACKS["prompt_only"])
    assert all("camera" in record.prompt and record.prompt_variant == record.view.camera_type for record in records)


def row_of(**fields):
    row = {
        "variant_id": f"{FAMILY}__T1__none",
        "family_id": FAMILY,
        "reasoning_tier": "T1",
        "event_delta": "spatial",
        "oov_gap": "none",
        "world_state_prompt": "It goes.",
        "expected_state": "It is there.",
        "ti2v_prompt": "It goes.",
    }
    return {**row, **fields}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"event_delta": "full"}, "the level T1 is not the event 'full'"),
        ({"variant_id": "other__T1__none"}, "expected 'attic_cat_box_jump__T1__none'"),
        ({"oov_gap": "zoom"}, "oov_gap"),
        ({"reasoning_tier": 1}, "reasoning_tier"),
        ({"family_id": "a/b"}, "family_id"),
    ],
)
def test_a_variant_that_contradicts_itself_is_refused(fields, message):
    assert VariantRow.model_validate(row_of()).divergence_id is None
    with pytest.raises(ValidationError, match=message):
        VariantRow.model_validate(row_of(**fields))


def test_a_variant_of_an_unknown_family_is_refused(suite):
    path = suite.folder / "families.jsonl"
    path.write_text(path.read_text().splitlines()[0] + "\n")
    with pytest.raises(DatasetError, match=r"cellar_dog_ball_roll.*does not list"):
        Natural25.read(suite.folder)


def test_a_wrong_line_is_named(suite):
    with (suite.folder / "variants.jsonl").open("a") as file:
        file.write('{"variant_id": 3}\n')
    with pytest.raises(DatasetError, match=r"variants.jsonl:33: variant_id"):
        Natural25.read(suite.folder)


def test_the_hash_of_a_prompt_suite_depends_on_every_word_and_not_on_the_order(suite):
    path = suite.folder / "variants.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(reversed(lines)))
    assert Natural25.read(suite.folder).sha256 == suite.sha256
    path.write_text("\n".join(lines).replace("curls up", "curls in"))
    assert Natural25.read(suite.folder).sha256 != suite.sha256


# Grids of one's own


def test_own_families_make_a_grid_of_events_and_cameras(suite):
    records = make_records(suite, TRACKS["trajectory"])
    assert len({record.id for record in records}) == len(records) == 2 * 4 * 5
    assert {record.event for record in records} == {(False, False), (True, False), (False, True), (True, True)}
    first = next(record for record in records if record.id == f"{FAMILY}__T2_div_a__none__yaw30_LR")
    assert (first.event_text, first.subject, first.view.degrees) == ("The cat curls up.", "a cat", 30.0)
    assert first.first_frame == f"first_frames/{FAMILY}.png"
    assert "camera" not in first.prompt
    (spoken,) = {
        record.prompt
        for record in make_records(suite, TRACKS["prompt_only"])
        if record.id.endswith("T2_div_a__yaw_RL__yaw_RL")
    }
    assert spoken.endswith(
        "The camera turns right until a cat is out of view, then turns left, back to the first view."
    )


def test_every_record_has_a_hash_of_its_own(suite):
    records = make_records(suite, TRACKS["trajectory"])
    assert len({record.sha256 for record in records}) == len(records)
    assert records[0].sha256 != records[0].model_copy(update={"expected_state": "otherwise"}).sha256


def test_a_family_needs_all_four_events(tmp_path):
    lacking = plan().model_dump()
    del lacking["events"]["full"]
    with pytest.raises(UserError, match="no event full"):
        write_prompts([FamilyPlan.model_validate(lacking)], tmp_path)
    with pytest.raises(UserError, match="given twice"):
        write_prompts([plan(), plan()], tmp_path)


def test_a_missing_wording_is_named(suite):
    path = suite.folder / "variants.jsonl"
    path.write_text("\n".join(line for line in path.read_text().splitlines() if "T1__yaw_LR" not in line))
    with pytest.raises(DatasetError, match=f"no variant {FAMILY}__T1__yaw_LR"):
        make_records(Natural25.read(suite.folder), TRACKS["prompt_only"])


@pytest.mark.parametrize("track", ["trajectory", "prompt_only"])
def test_tasks_are_a_list_of_videos_once_the_videos_are_there(suite, track):
    root = suite.folder.parent
    records = make_records(suite, TRACKS[track])
    for model in ("alpha", "beta"):
        write_tasks(records, model, root / f"{model}.jsonl")
    lines = [(root / f"{model}.jsonl").read_text() for model in ("alpha", "beta")]
    (root / "videos.jsonl").write_text("".join(lines))
    reader = WrBenchReader(root)
    rollouts = reader.rollouts()
    assert reader.problems == []
    assert len({rollout.id for rollout in rollouts}) == len(rollouts) == 2 * len(records)
    assert {record.id: record.sha256 for record in records} == {
        name: record.sha256 for name, record in reader.records.items()
    }


def test_a_record_that_changed_since_its_task_was_written_is_a_problem(suite):
    root = suite.folder.parent
    write_tasks(make_records(suite, TRACKS["trajectory"])[:1], "alpha", root / "videos.jsonl")
    row = json.loads((root / "videos.jsonl").read_text())
    (root / "videos.json").write_text(json.dumps([{**row, "prompt": "Something else."}]))
    reader = WrBenchReader(root)
    reader.rollouts()
    assert ["changed since the task" in problem.message for problem in reader.problems] == [True]


# Ids


@pytest.mark.parametrize("label", ["static", "yaw60_LR"])
def test_the_id_of_a_case_says_what_was_asked(suite, label):
    record = next(record for record in make_records(suite, TRACKS["trajectory"]) if record.view.label == label)
    key = CaseKey.parse(record.id)
    assert key == (record.family_id, record.change, record.prompt_variant, label)
    assert CaseKey.parse("some/other-case") is None


def test_the_ids_of_videos_contain_the_model():
    fields = {
        "seed": "0",
        "record_id": "a__T0__none__static",
        "record_sha256": "0" * 64,
        "prompt": "",
        "first_frame_sha256": None,
        "delivered": DeliveredCondition(),
        "video": "a.mp4",
        "video_sha256": None,
    }
    alpha, beta = (VideoProvenance(model=model, **fields) for model in ("alpha", "beta"))
    assert (alpha.id, beta.id) == ("alpha__a__T0__none__static__0", "beta__a__T0__none__static__0")
    assert alpha.sha256 != beta.sha256


# Published scores of videos


def write_master(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def master_row(**fields):
    row = {column: "0.5" for column in SCORE_COLUMNS.values()}
    return {**{name: "x" for name in IDENTITY_COLUMNS.values()}, **row, **fields}


def test_published_scores_are_read_by_file_name_and_declared_column(tmp_path):
    rows = [
        master_row(vlm_spatial_reasoning="NA", runtime_v2_evidence_shared_oov_applicable="False"),
        master_row(model="y", runtime_v2_evidence_shared_oov_applicable="True"),
    ]
    write_master(tmp_path / "videos_master.csv", rows)
    first, second = read_videos_master(find_result_set(tmp_path))
    assert (first.id, second.id) == ("x__x", "y__x")
    assert (first.scores["returned_spatial"], first.scores["reobserved"], second.scores["reobserved"]) == (None, 0, 1)
    assert first.scores["visual_integrity"] == 0.5


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_published_scores_may_be_json(tmp_path, suffix):
    rows = [master_row(d1_camera_accuracy=0.25, vlm_state_reasoning=None)]
    text = json.dumps(rows) if suffix == ".json" else "\n".join(map(json.dumps, rows))
    (tmp_path / f"videos_master{suffix}").write_text(text)
    (found,) = read_videos_master(find_result_set(tmp_path))
    assert (found.scores["camera_precision"], found.scores["returned_state"]) == (0.25, None)


def test_a_column_of_another_name_is_declared_and_a_missing_one_refused(tmp_path):
    row = master_row()
    row["D2"] = row.pop("d2_selected_visual_integrity_score")
    write_master(tmp_path / "videos_master.csv", [row])
    path = find_result_set(tmp_path)
    with pytest.raises(DatasetError, match=r"no column for visual_integrity \(d2_selected_visual_integrity_score\)"):
        read_videos_master(path)
    assert read_videos_master(path, {"visual_integrity": "D2"})[0].scores["visual_integrity"] == 0.5
    with pytest.raises(UnknownName, match="visual_integrety"):
        read_videos_master(path, {"visual_integrety": "D2"})


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([master_row(), master_row()], "is there twice"),
        ([master_row(d1_camera_accuracy="much")], "expected a finite number"),
        ([master_row(d1_camera_accuracy="inf")], "expected a finite number"),
        ([master_row(model="")], "expected the name"),
    ],
)
def test_what_cannot_be_a_published_score_is_refused(tmp_path, rows, message):
    write_master(tmp_path / "videos_master.csv", rows)
    with pytest.raises(DatasetError, match=message):
        read_videos_master(tmp_path / "videos_master.csv")


def test_a_result_set_must_be_there_once(tmp_path):
    with pytest.raises(DatasetError, match="found none"):
        find_result_set(tmp_path)
    for suffix in (".csv", ".json"):
        (tmp_path / f"videos_master{suffix}").write_text("[]")
    with pytest.raises(DatasetError, match=r"videos_master\.csv, videos_master\.json"):
        find_result_set(tmp_path)
