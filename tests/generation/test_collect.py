"""Outputs are found, checked and counted: whatever is wrong has a name, and nothing else is accused."""

from __future__ import annotations

import json

import numpy as np
import pytest

import lookaway
from lookaway.core import Reason, UserError, plugins
from lookaway.engine.binding import bind_metrics
from lookaway.generation.collect import collect_outputs, without_provenance
from lookaway.generation.export import export_cases
from lookaway.generation.work_plan import PLAN, item_folder, read_plan
from tests.generation.golden import request, there_and_back
from tests.generation.outputs import KINDS, damaged_outputs, made_output, made_plan
from tests.support.command import lookaway as command


def collected(tmp_path, count, each):
    items = made_plan(tmp_path / "work", count)
    damages = damaged_outputs(tmp_path / "outputs", items, each)
    report = collect_outputs(tmp_path / "work", tmp_path / "outputs", tmp_path / "dataset")
    return items, damages, report


def assert_named_rightly(items, damages, report):
    kinds = {}
    for where, finding in report.findings():
        kinds.setdefault(where, []).append(finding.kind.value)
    for item in items:
        damage = damages.get(item.folder)
        found = kinds.get(item.folder, [])
        if damage in (None, "extra"):
            assert found == []
        elif damage == "frozen":  # keys cannot be told from a picture that stands still
            assert found == ["frozen", "overlay_unknown"]
        else:
            assert KINDS[damage] in found, (damage, found)
            assert len(found) == 1, (damage, found)
    assert len(report.extra) == list(damages.values()).count("extra")


@pytest.mark.merge
def test_every_damage_is_named_and_no_good_output_is_accused(tmp_path):
    items, damages, report = collected(tmp_path, 36, 2)
    assert_named_rightly(items, damages, report)


@pytest.mark.nightly
def test_sixty_five_damages_of_two_hundred_outputs_are_named(tmp_path):
    items, damages, report = collected(tmp_path, 200, 5)
    assert len(damages) == 65
    assert_named_rightly(items, damages, report)


def test_what_is_missing_is_counted_in_the_dataset(tmp_path):
    items = made_plan(tmp_path / "work", 3)
    made_output(tmp_path / "outputs", items[0], 1)
    made_output(tmp_path / "outputs", items[1], 2, "truncated")
    report = collect_outputs(tmp_path / "work", tmp_path / "outputs", tmp_path / "dataset", model="mine")
    assert report.usable == 1
    dataset = lookaway.read(tmp_path / "dataset")
    reasons = [rollout.problem and rollout.problem.reason for rollout in dataset.rollouts]
    assert reasons == [None, Reason.TRUNCATED, Reason.MISSING_VIDEO]
    assert {rollout.model for rollout in dataset.rollouts} == {"mine"}
    first = dataset.rollouts[0]
    assert first.video.is_file()
    assert set(first.artifacts) == {"commanded_poses", "delivered_poses"}
    assert first.case.prompt == ("a quiet room",)


def test_provenance_says_how_an_output_came_to_be(tmp_path):
    items = made_plan(tmp_path / "work", 1)
    made_output(tmp_path / "outputs", items[0], 1)
    collect_outputs(tmp_path / "work", tmp_path / "outputs", tmp_path / "dataset")
    (line,) = (tmp_path / "dataset" / "provenance.jsonl").read_text().splitlines()
    record = json.loads(line)
    assert record["commit"] == plugins.load("adapters", "sana-wm").card.commit
    assert record["wall_seconds"] == 8
    assert record["measured"] == {"frames": 8, "fps": 16, "width": 160, "height": 88}
    assert record["loss"]["return_error_deg"] < 1e-3
    assert set(record["inputs_sha256"]) >= {"control.npy", "intrinsics.npy", "delivered.npz", "prompt.txt"}
    assert record["output_sha256"]


def test_collecting_again_gives_the_same_dataset(tmp_path):
    items = made_plan(tmp_path / "work", 1)
    made_output(tmp_path / "outputs", items[0], 1)
    for _ in range(2):
        collect_outputs(tmp_path / "work", tmp_path / "outputs", tmp_path / "dataset")
        found = {path.name: path.read_bytes() for path in (tmp_path / "dataset").rglob("*") if path.is_file()}
    assert len(found) == 5 - 1  # the video, its two paths under one name, the manifest and the provenance


def test_an_output_that_leads_out_of_its_folder_is_not_taken(tmp_path):
    items = made_plan(tmp_path / "work", 1)
    made_output(tmp_path / "elsewhere", items[0], 1)
    folder = tmp_path / "outputs" / items[0].folder
    folder.mkdir(parents=True)
    (folder / items[0].output).symlink_to(tmp_path / "elsewhere" / items[0].folder / items[0].output)
    report = collect_outputs(tmp_path / "work", tmp_path / "outputs", tmp_path / "dataset")
    assert report.usable == 0
    assert "leads out" in report.items[0].findings[0].message


def test_a_hundred_prompts_with_one_beginning_have_a_hundred_folders(tmp_path):
    prompt = "A quiet room with a window and a table on which a bowl of fruit stands, in the evening light, " * 2
    names = [f"{prompt}{number}" for number in range(100)]
    assert len({name[:100] for name in names}) == 1
    folders = {item_folder(name, 0) for name in names}
    assert len(folders) == 100
    assert max(map(len, folders)) < 90


def test_exporting_again_keeps_the_time_of_what_has_not_changed(tmp_path):
    adapter = plugins.load("adapters", "lingbot-world")()
    cases = [request(there_and_back())]
    first = export_cases(cases, adapter, (0, 1), tmp_path).items
    again = export_cases(cases, adapter, (0, 1), tmp_path).items
    assert first == again
    assert [item.seed for item in again] == [0, 1]
    with pytest.raises(UserError, match="another model"):
        export_cases(cases, plugins.load("adapters", "sana-wm")(), (0,), tmp_path)


def test_an_export_writes_everything_that_the_plan_has_hashes_of(tmp_path):
    (item,) = export_cases(
        [request(there_and_back())], plugins.load("adapters", "hy-worldplay")(), (3,), tmp_path
    ).items
    folder = tmp_path / "cases" / item.folder
    assert {path.name for path in folder.iterdir()} == {*item.files, "run.sh"}
    script = (folder / "run.sh").read_text()
    assert "--seed 3" in script
    assert item.sha256 in script
    with np.load(folder / "delivered.npz") as delivered:
        assert len(delivered["c2w"]) == len(delivered["frame"]) == len(delivered["frame_of_request"]) == 32


def test_a_refused_case_is_in_the_plan_and_in_the_dataset(tmp_path):
    adapter = plugins.load("adapters", "matrix-game-3-blocks")()
    report = export_cases([request(there_and_back())], adapter, (0,), tmp_path / "work")
    assert report.refused[0].refusal["nearest"]["native"] == "j,q / l,q"
    (tmp_path / "outputs").mkdir()
    collect_outputs(tmp_path / "work", tmp_path / "outputs", tmp_path / "dataset")
    (rollout,) = lookaway.read(tmp_path / "dataset").rollouts
    assert rollout.problem.reason == Reason.NOT_APPLICABLE
    nearest = export_cases([request(there_and_back())], adapter, (0,), tmp_path / "near", take_nearest=True)
    assert nearest.items[0].native == "j,q / l,q"


def test_a_damaged_plan_is_one_message(tmp_path):
    made_plan(tmp_path, 1)
    (tmp_path / PLAN).write_text('{"format": 1}\n')
    with pytest.raises(UserError, match="Export the cases again"):
        read_plan(tmp_path)


def test_a_collected_dataset_is_measured_against_request_and_delivery_and_says_how_it_was_made(tmp_path):
    for number, item in enumerate(made_plan(tmp_path / "work", 2)):
        made_output(tmp_path / "outputs", item, number)
    collect_outputs(tmp_path / "work", tmp_path / "outputs", tmp_path / "dataset")
    dataset = lookaway.read(tmp_path / "dataset")
    names = {bound.name for bound in bind_metrics(dataset)}
    assert {"return_error", "delivered.return_error", "delivered.reach_missing", "delivered.lost"} <= names
    assert without_provenance(dataset) == ""
    provenance = tmp_path / "dataset" / "provenance.jsonl"
    provenance.write_text(provenance.read_text().splitlines(keepends=True)[0])
    assert "does not say how 1 of 2 rollouts were made" in without_provenance(dataset)
    provenance.write_text("")
    assert without_provenance(dataset).startswith("nothing records how these videos were made.")
    provenance.unlink()
    told = command("validate", tmp_path / "dataset", "--metrics", "delivered.lost")
    assert "lookaway collect" in told.err
    assert told.code == 0
