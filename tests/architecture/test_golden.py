"""What official programs gave lies in the repository, is described there, and is all that tests without clips need."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.support.golden import GOLDEN

ROOT = Path(__file__).parents[2]
FILES = {path.name for path in GOLDEN.iterdir()} - {"README.md"}
MAX_BYTES = 2_500_000
"""Everybody who clones the repository fetches them."""


def test_every_file_is_described_and_no_other():
    described = re.findall(r"^\| `([\w.]+)` \|", (GOLDEN / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(described) == sorted(FILES)


def test_they_stay_small():
    assert sum(path.stat().st_size for path in GOLDEN.iterdir()) < MAX_BYTES


def test_no_test_looks_for_them_beside_the_project():
    written = [path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__)]
    assert [path for path in written if re.search(r"shared.{1,9}golden", path.read_text(encoding="utf-8"))] == []


def test_skipped_tests_are_counted_by_their_reason(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('number', range(3))\n"
        "@pytest.mark.skipif(True, reason='no clips')\n"
        "def test_one(number): pass\n"
        "def test_other(): pytest.skip('no prompts')\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-p", "tests.support.skipped", "--rootdir", str(tmp_path), str(tmp_path)]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert "4 skipped tests" in printed
    assert "    3  no clips\n    1  no prompts\n" in printed
