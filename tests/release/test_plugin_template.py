"""The template of a plugin is a package that installs, passes its own tests, and is evaluated."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.tiny import write_folder

TEMPLATE = Path(__file__).parents[2] / "templates" / "plugin"


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy, as somebody makes it who starts a package."""
    return shutil.copytree(TEMPLATE, tmp_path_factory.mktemp("plugin") / "copy")


@pytest.fixture(scope="module")
def installed(copied: Path) -> Path:
    """The folder that the copy is installed into, beside the packages that are there."""
    target = copied.with_name("installed")
    options = ["--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", "--no-build-isolation"]
    run("-m", "pip", "install", *options, "--target", target, copied)
    return target


def run(*arguments: object, packages: Path | None = None, folder: Path | None = None) -> str:
    """What Python prints with one more folder of packages."""
    environment = {**os.environ, "PYTHONPATH": str(packages)} if packages else None
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, env=environment, cwd=folder, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def lookaway(*arguments: object, packages: Path) -> str:
    return run("-c", "from lookaway.cli import main; main()", *arguments, packages=packages)


def test_the_tests_of_the_template_pass(copied: Path, installed: Path) -> None:
    assert "4 passed" in run("-m", "pytest", "-p", "no:cacheprovider", packages=installed, folder=copied)


def test_the_metric_of_the_template_is_listed(installed: Path) -> None:
    assert "lightness_drift" in lookaway("metrics", packages=installed)


def test_the_metric_of_the_template_is_evaluated_and_locked(installed: Path, tmp_path: Path) -> None:
    root = write_folder(tmp_path / "videos")
    printed = lookaway(
        "eval", root, "--metrics", "lightness_drift", "-o", tmp_path / "run", "--json", packages=installed
    )
    cells = json.loads(printed)["cells"]
    assert [(cell["metric"], cell["estimate"]["scored"]) for cell in cells] == [("lightness_drift", 2)]
    lock = json.loads((tmp_path / "run" / "lock.json").read_text())
    assert lock["metrics"]["lightness_drift"]["metric"] == {
        "kind": "lightness_drift",
        "version": 1,
        "scale": 10.0,
        "frames": 4,
    }


def test_the_template_accepts_this_version_of_the_package(installed: Path) -> None:
    script = (
        "import importlib.metadata as metadata\n"
        "from packaging.requirements import Requirement\n"
        "asked = [Requirement(line) for line in metadata.requires('lookaway-example')]\n"
        "assert next(r for r in asked if r.name == 'lookaway').specifier.contains(metadata.version('lookaway'))\n"
    )
    run("-c", script, packages=installed)
