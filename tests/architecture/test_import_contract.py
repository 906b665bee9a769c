from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
LAYERS = "Layers import downward only, and every package has a place"
CORE = "Core is nouns: numpy, pydantic and the standard library"
ARITHMETIC = "Metrics and statistics are arithmetic: no files, no images, no networks"
VIDEO = "Only io decodes video"
RAY = "Ray stays behind the executor"
TORCH = "Torch stays in perception and judges"
MUJOCO = "MuJoCo stays in the world"
ALL = (LAYERS, CORE, ARITHMETIC, VIDEO, RAY, TORCH, MUJOCO)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package and its contracts that a test may break."""
    shutil.copytree(REPOSITORY / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    return tmp_path


def broken_contracts(root: Path) -> set[str]:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    environment = {**os.environ, "PYTHONPATH": str(root / "src"), "COLUMNS": "300"}
    result = subprocess.run([*command, "--no-cache"], cwd=root, env=environment, capture_output=True, text=True)
    printed = " ".join(result.stdout.split())
    names = {name for name in ALL if f"{name} BROKEN" in printed}
    assert all(f"{name} KEPT" in printed or name in names for name in ALL), printed
    assert (result.returncode == 0) == (not names)
    return names


def test_the_package_as_it_is_keeps_every_contract(copy):
    assert broken_contracts(copy) == set()


@pytest.mark.parametrize(
    ("file", "line", "contracts"),
    [
        ("core/cases.py", "import lookaway.io.files", {LAYERS}),
        ("suites/mbench/suite.py", "import lookaway.engine.plan", {LAYERS}),
        ("attic/__init__.py", '"""A package without a layer."""', {LAYERS}),
        ("core/frames.py", "import scipy", {CORE}),
        ("statistics/cells.py", "import cv2", {ARITHMETIC}),
        ("engine/plan.py", "import av", {VIDEO}),
        ("world/clip.py", "import av", {VIDEO}),
        ("suites/folder/suite.py", "import ray", {RAY}),
        ("world/rendering.py", "import ray", {RAY}),
        ("engine/plan.py", "import torch", {TORCH}),
        ("reports/table.py", "import mujoco", {MUJOCO}),
    ],
)
def test_a_forbidden_import_breaks_its_contract_and_no_other(file, line, contracts, copy):
    path = copy / "src" / "lookaway" / file
    path.parent.mkdir(exist_ok=True)
    with path.open("a") as source:
        source.write(f"\n{line}\n")
    assert broken_contracts(copy) == contracts
