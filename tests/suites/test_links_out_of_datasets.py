"""A file outside a dataset that a link inside it leads to: nothing of it appears in any output."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lookaway.engine.reading import read
from lookaway.io.world_clips import ARRAYS, CARD, DEPTH
from tests.support.command import lookaway
from tests.support.memobench import MemoBenchWriter
from tests.support.mind import MindWriter
from tests.support.spellings import spellings
from tests.support.tiny import QUICK, clip_bytes, write_folder, write_mbench
from tests.support.world_clip import FOLDER, write_clip_folder

CANARY = "AKIA8F2CCANARY"
FORMS = {
    "credentials": f"[default]\naws_access_key_id = {CANARY}\naws_secret_access_key = {CANARY}/x\n",
    "json": json.dumps({CANARY: {"password": CANARY}, "video": [CANARY], "subset": CANARY, "dataset_id": CANARY}),
    "yaml": f"dataset_id: {CANARY}\n{CANARY}: [{CANARY}\n",
    "table": f"{CANARY},b\n{CANARY},2\n",
}


def of_mbench(root: Path) -> None:
    write_mbench(root, samples=1)


def of_mind(root: Path) -> None:
    writer = MindWriter(root)
    writer.case()
    writer.answer()


def of_world(root: Path) -> None:
    write_clip_folder(root / FOLDER)


def of_folder(root: Path) -> None:
    write_folder(root)


def of_memobench(root: Path) -> None:
    writer = MemoBenchWriter(root)
    writer.synthetic()
    writer.real()
    writer.generated()
    writer.generated("Real/007.mp4")


def of_folder_with_truth(root: Path) -> None:
    (root / "alpha").mkdir(parents=True)
    write_clip_folder(root / "alpha" / "clip")
    (root / "alpha" / "clip" / "video.mp4").write_bytes(clip_bytes())


IMPLIED: dict[str, Callable[[Path], None]] = {
    "manifest.jsonl": of_folder,
    "manifest.csv": of_folder,
    "alpha/case0.poses.npz": of_folder,
    "alpha/case0.request.npz": of_folder,
    f"alpha/clip/{CARD}": of_folder_with_truth,
    f"alpha/clip/{ARRAYS}": of_folder_with_truth,
    f"{FOLDER}/{CARD}": of_world,
    f"{FOLDER}/{DEPTH}": of_world,
    "dataset.yaml": of_mbench,
    "models/alpha/samples.jsonl": of_mbench,
    "samples/environment/sample0/sample.json": of_mbench,
    "MIND-Data/1st_data/test/mem_test/street/action.json": of_mind,
    "MIND-Data/1st_data/test/mem_test/street/images.txt": of_mind,
    "data/Synthetic_processed/Synthetic_ExitReenter.csv": of_memobench,
    "data/sam3_metadata/real_metadata.csv": of_memobench,
    "data/Synthetic_processed/Nordic/Nordic_003/camera_full3.csv": of_memobench,
    "data/vqa_questions/Nordic-3-questions.csv": of_memobench,
}
"""Files that a dataset has without naming them, and a dataset that has them."""

OF_MEMOBENCH = [implied for implied, write in IMPLIED.items() if write is of_memobench]


def linked(root: Path, implied: str, form: str) -> Path:
    """A dataset in which one file is a link to a secret beside the dataset."""
    IMPLIED[implied](root)
    secret = root.parent / "secret"
    secret.write_text(FORMS[form])
    (root / implied).parent.mkdir(parents=True, exist_ok=True)
    (root / implied).unlink(missing_ok=True)
    os.symlink(secret, root / implied)
    return root


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("implied", IMPLIED)
def test_nothing_of_a_linked_secret_is_printed_by_validate(implied, form, tmp_path):
    root = linked(tmp_path / "data", implied, form)
    for options in ([], ["--json"]):
        result = lookaway("validate", root, *options)
        assert CANARY not in result.out + result.err
        assert result.code in (0, 2, 3), result.err


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "implied",
    ["manifest.jsonl", "manifest.csv", "dataset.yaml", "models/alpha/samples.jsonl", *OF_MEMOBENCH],
)
def test_even_where_it_is_allowed_a_secret_is_not_quoted(implied, form, tmp_path):
    root = linked(tmp_path / "data", implied, form)
    suite = "mbench-a" if implied.startswith(("dataset", "models")) else "folder"
    suite = "memobench" if implied in OF_MEMOBENCH else suite
    result = lookaway("validate", root, "--suite", suite, "--allow-outside")
    assert CANARY not in result.out + result.err
    assert result.code in (0, 2, 3), result.err


@pytest.mark.parametrize("implied", ["manifest.jsonl", "manifest.csv", "dataset.yaml"])
def test_a_dataset_whose_list_is_a_link_out_of_it_is_refused_with_the_remedy(implied, tmp_path):
    result = lookaway("validate", linked(tmp_path / "data", implied, "credentials"), "--suite", SUITES[implied])
    assert result.code == 2
    assert f"{implied}: the path '{implied}' leads out of the dataset" in result.err
    assert "--allow-outside" in result.err


SUITES = {"manifest.jsonl": "folder", "manifest.csv": "folder", "dataset.yaml": "mbench-a"}


def test_a_linked_list_inside_the_dataset_is_read(tmp_path):
    root = write_folder(tmp_path / "data")
    (root / "lists").mkdir()
    (root / "lists" / "all.jsonl").write_text(json.dumps({"video": "alpha/case0.mp4", "case": "linked"}) + "\n")
    (root / "manifest.jsonl").symlink_to("lists/all.jsonl")
    (rollout,) = read(root).rollouts
    assert rollout.case.id == "linked"


def test_every_spelling_of_a_secret_is_looked_for():
    shown = json.dumps({"pair": base64.b64encode(f"user:{CANARY}".encode()).decode()}).encode()
    assert [form for form in spellings(CANARY) if form in shown]


OF_RUNS = [name for name, write in IMPLIED.items() if write not in (of_mind, of_world)]


@pytest.mark.merge
@pytest.mark.parametrize("form", ["credentials", "json"])
@pytest.mark.parametrize("implied", OF_RUNS)
def test_nothing_of_a_linked_secret_is_in_a_run_or_a_page_or_a_log(implied, form, tmp_path, caplog):
    root = linked(tmp_path / "data", implied, form)
    run, site = tmp_path / "run", tmp_path / "site"
    shown = [
        lookaway("eval", root, "-o", run, "--no-progress", *METRICS.get(IMPLIED[implied], ())),
        lookaway("show", run),
        lookaway("check", run),
        lookaway("report", run, "-o", site),
    ]
    assert all(result.code in (0, 2, 3) for result in shown), shown
    texts = [caplog.text.encode(), *((result.out + result.err).encode() for result in shown)]
    texts += [path.read_bytes() for folder in (run, site) for path in folder.rglob("*") if path.is_file()]
    assert not [form for form in spellings(CANARY) for text in texts if form in text]


METRICS = {
    of_folder: ("--suite", "folder", "--metrics", "rendering_lighting"),
    of_folder_with_truth: ("--suite", "folder", "--metrics", "rendering_lighting"),
    of_mbench: ("--metrics", ",".join(QUICK)),
    of_memobench: ("--metrics", "memobench.all.psnr,memobench.camera_controllability"),
}
"""Quick metrics that read the files of each kind of dataset."""
