from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from lookaway.core import Compute, JudgeUnusable, MissingDevice, MissingExtra
from lookaway.judges.local.judge import answer
from lookaway.judges.local.network import Network, load_network, model_id, picture_settings
from tests.judges.local.questions import question

Change = Callable[[Path], Any]


def rewrite(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def change_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], Any]) -> None:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def test_a_model_is_named_by_folder_and_content_and_by_no_path(published: Path, network: Network) -> None:
    name, _, content = network.id.partition("@sha256:")
    assert name == "tiny"
    assert len(content) == 16
    assert set(content) <= set("0123456789abcdef")
    assert network.id == model_id(published)


def test_the_name_is_the_hash_of_sorted_names_and_contents(tmp_path: Path) -> None:
    contents = {"b.safetensors": b"weights", "a.json": b"{}", "c.md": b"About it."}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    lines = [f"{name}\0{sha256(contents[name]).hexdigest()}\0" for name in ("a.json", "b.safetensors")]
    assert model_id(tmp_path) == f"{tmp_path.name}@sha256:{sha256(''.join(lines).encode()).hexdigest()[:16]}"


def test_the_same_files_elsewhere_are_the_same_model(
    published: Path, another: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (another / "README.md").write_text("About it.")
    assert model_id(another) == model_id(published)
    monkeypatch.chdir(another)
    assert model_id(Path()) == model_id(published)


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: change_weights(folder, lambda tensors: tensors["lm_head.weight"][3, 3].add_(1e-3)),
        lambda folder: rewrite(folder / "config.json", more=1),
        lambda folder: rewrite(folder / "preprocessor_config.json", min_pixels=3136),
        lambda folder: rewrite(folder / "tokenizer_config.json", more=1),
        lambda folder: (folder / "chat_template.jinja").write_text("{{ messages }}"),
        lambda folder: (folder / "merges.txt").write_text("a b"),
        lambda folder: (folder / "generation_config.json").unlink(),
        lambda folder: (folder / "generation_config.json").rename(folder / "generation.json"),
    ],
)
def test_whatever_can_move_an_answer_moves_the_name(published: Path, another: Path, change: Change) -> None:
    change(another)
    assert model_id(another) != model_id(published)


def without_weights(folder: Path) -> None:
    torch.save({}, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def cut_weights(folder: Path) -> None:
    content = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(content[: len(content) // 2])


def code_of_others(folder: Path) -> None:
    theirs = {"AutoConfig": "theirs.Config", "AutoModelForImageTextToText": "theirs.Model"}
    rewrite(folder / "config.json", model_type="theirs", auto_map=theirs)
    (folder / "theirs.py").write_text("raise SystemExit('code was run')\n")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (shutil.rmtree, "does not exist"),
        (without_weights, r"pytorch_model\.bin.*expected.*safetensors"),
        (lambda folder: (folder / "config.json").unlink(), r"a config\.json and weights"),
        (lambda folder: [path.unlink() for path in folder.iterdir()], "contains nothing"),
        (cut_weights, "does not load"),
        (lambda folder: (folder / "config.json").write_text("{"), "does not load"),
        (lambda folder: rewrite(folder / "config.json", model_type="bert"), "does not load"),
        (code_of_others, "does not load"),
        (
            lambda folder: change_weights(folder, lambda tensors: tensors.pop("lm_head.weight")),
            "lacks weights.*lm_head",
        ),
        (
            lambda folder: change_weights(
                folder, lambda tensors: tensors.update({"lm_head.weight": torch.zeros(9, 9)})
            ),
            "lacks weights.*lm_head",
        ),
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), "does not load"),
        (lambda folder: (folder / "chat_template.jinja").unlink(), "cannot answer about pictures"),
        (lambda folder: (folder / "preprocessor_config.json").unlink(), "no image processor settings"),
        (lambda folder: (folder / "preprocessor_config.json").write_text("{"), "is not valid JSON"),
    ],
)
def test_a_folder_that_is_not_whole_is_refused(another: Path, change: Change, complaint: str) -> None:
    change(another)
    with pytest.raises(JudgeUnusable, match=f"(?s){complaint}"):
        load_network(another, Compute())


def test_newer_folders_say_in_one_file_how_pictures_are_prepared(another: Path) -> None:
    newer = {"image_processor_type": "Qwen2VLImageProcessor", "patch_size": 16}
    (another / "processor_config.json").write_text(json.dumps({"image_processor": newer}))
    assert picture_settings(another) == newer


def test_a_network_computes_in_the_precision_that_was_asked_for(published: Path) -> None:
    network = load_network(published, Compute(precision="bfloat16"))
    assert network.model.dtype == torch.bfloat16
    assert not network.model.training
    assert answer(network, question())["usage"]["completion_tokens"] == 4


def test_a_network_computes_in_one_thread_however_many_cores_there_are(published: Path) -> None:
    torch.set_num_threads(2)
    load_network(published, Compute())
    assert torch.get_num_threads() == 1


def test_a_device_that_is_not_there_is_said_so(published: Path) -> None:
    with pytest.raises(MissingDevice, match="cuda:99"):
        load_network(published, Compute(device="cuda:99"))


@pytest.mark.parametrize("name", ["torch", "transformers"])
def test_what_is_not_installed_is_said_so(published: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=r"lookaway\[torch\]"):
        load_network(published, Compute())
