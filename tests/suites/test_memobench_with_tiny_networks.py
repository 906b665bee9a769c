"""Metrics of networks end to end: real loading code, tiny random networks in the files of the published ones."""

from __future__ import annotations

import csv
import json

import pytest

from lookaway.engine.evaluate import evaluate
from lookaway.engine.reading import read
from lookaway.engine.run import Run
from lookaway.perception.quality import image_reward
from lookaway.reports.export.memobench import export_memobench_table
from tests.perception.test_image_reward import TEXT, VISION, shapes
from tests.support.hub import empty_hub, publish, put_into_hub
from tests.support.mask_networks import save_tokenizer, tiny_sam3
from tests.support.memobench import MemoBenchWriter, write_pictures
from tests.support.picture_networks import noise, random_tensors, save_tensors, tiny_clip

pytestmark = pytest.mark.merge

SIDE, PATCH = 224, 56
FRAMES, REFERENCE_FRAMES, LEFT, BACK = 9, 12, 4, 8
METRICS = ("ors", "gt_revisit_similarity", "image_reward")
PREFIXES = {"corrected": "memobench.corrected.", "published": "memobench."}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """One clip and one whose case has no prompt, with both protocols."""
    root = tmp_path_factory.mktemp("memobench")
    writer = MemoBenchWriter(root / "data set")
    for number, prompt in ((3, "A person sees a fox(subject) running. It comes back."), (4, "")):
        writer.synthetic(number=number, keys=(LEFT, BACK), pictures=noise(REFERENCE_FRAMES, 48, 80), prompt=prompt)
        folder = writer.root / f"output/alpha/Synthetic/Nordic_{number:03d}/frames"
        write_pictures(folder, noise(FRAMES, 60, 100, seed=number))
    with pytest.MonkeyPatch.context() as patch:
        empty_hub(root / "home", patch)
        patch.setattr(image_reward, "VISION", {**VISION, "image_size": SIDE, "patch_size": PATCH})
        patch.setattr(image_reward, "TEXT", TEXT)
        for weights in (
            tiny_sam3(),
            tiny_clip("clip-vit-b-32"),
            save_tensors("image-reward", random_tensors(shapes(SIDE, PATCH))),
            put_into_hub("bert-base-uncased", save_tokenizer),
        ):
            publish(weights, patch)
        for protocol, prefix in PREFIXES.items():
            names = [prefix + name for name in METRICS]
            evaluate(read(writer.root, suite="memobench"), root / protocol, metrics=names)
        # Exports compare with what is published, which these networks are for as long as the patch lasts.
        yield {protocol: Run(root / protocol) for protocol in PREFIXES}


@pytest.mark.parametrize("protocol", PREFIXES)
def test_every_network_gives_a_score_from_0_to_1(runs, protocol):
    prefix = PREFIXES[protocol]
    found = {name: [row for row in runs[protocol].items() if row["metric"] == prefix + name] for name in METRICS}
    for metric in METRICS[:2]:
        assert [row["status"] for row in found[metric]] == ["score", "score"]
    assert sorted(row["status"] for row in found["image_reward"]) == ["abstention", "score"]
    values = [row["value"] for own in found.values() for row in own if row["status"] == "score"]
    assert all(0 <= value <= 1 for value in values)


def test_a_case_without_a_prompt_has_no_reward_and_is_asked_for_its_subject(runs):
    run = runs["published"]
    reasons = {row["reason"] for row in run.items() if row["metric"] == "memobench.image_reward"}
    assert reasons == {None, "missing_input"}
    words = {json.loads(row["detail"])["words"] for row in run.items() if row["metric"] == "memobench.ors"}
    assert words == {"a fox(subject) running", "fox"}


def test_frames_and_pairs_are_those_of_the_phase_in_which_the_target_is_back(runs):
    for protocol, run in runs.items():
        prefix = PREFIXES[protocol]
        details = [json.loads(row["detail"]) for row in run.items() if row["metric"] == f"{prefix}ors"]
        assert {(each["first_frame"], each["frames"], each["video_frames"]) for each in details} == {(6, 3, FRAMES)}
        units = {unit["unit"] for unit in run.units(f"{prefix}gt_revisit_similarity")}
        assert units == {"f6", "f7", "f8"}


def test_reappearance_and_the_two_columns_are_exported(runs, tmp_path):
    table, reappearance = export_memobench_table(runs["published"], tmp_path)
    with table.open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert all(line["GTRevisitSim"] for line in lines)
    assert sorted(bool(line["ImageRewardScore"]) for line in lines) == [False, True]
    with reappearance.open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [(line["n_gen"], line["r_start"], line["n_r_frames"]) for line in lines] == [("9", "6", "3")] * 2
    assert all(0 <= int(line["n_detected"]) <= 3 for line in lines)
