"""What can be said of the images without building them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "containers").glob("*.Dockerfile"))
SECRET = re.compile(r"^(?:ARG|ENV)\b.*(?:TOKEN|SECRET|PASSWORD|KEY)", re.IGNORECASE | re.MULTILINE)
PACKAGE = re.compile(r"^([\w.-]+==[^\s;\\]+)", re.MULTILINE)


def pinned(lock: str) -> set[str]:
    return set(PACKAGE.findall((ROOT / "locks" / lock).read_text(encoding="utf-8")))


def instructions(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_there_is_an_image_for_processors_and_one_for_gpus():
    assert [path.name for path in FILES] == ["cpu.Dockerfile", "cuda.Dockerfile"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_image_does_not_run_as_root(path):
    users = [line.split()[1] for line in instructions(path) if line.startswith("USER ")]
    assert users == ["1000"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_image_takes_no_secret(path):
    assert not SECRET.search(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_image_installs_the_torch_of_the_makefile_and_the_rest_by_hash(path):
    torch = re.search(r"^TORCH = (\S+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    installs = [line for line in instructions(path) if "pip install" in line]
    assert torch
    assert f"pip install {torch[1]} " in installs[0]
    assert "--require-hashes --requirement runtime.lock" in installs[1]
    assert "--no-deps --no-index ./lookaway-*.whl" in installs[2]
    assert len(installs) == 3


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_what_the_image_copies_is_let_into_its_build(path):
    allowed = set(re.findall(r"^!(.*)$", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE))
    copied = {line.split()[1] for line in instructions(path) if line.startswith("COPY ") and "--from" not in line}
    assert copied == allowed


def test_images_install_the_versions_that_the_tests_run_with():
    assert pinned("runtime.lock") < pinned("dev.lock")
