"""What is released: an sdist that can be tested and built again, a wheel that is the package and nothing else."""

from __future__ import annotations

import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from release.check_artifacts import ROOT, Artifacts, build, sdist_problems, wheel_problems


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Artifacts:
    folder = tmp_path_factory.mktemp("release")
    return build(ROOT, folder / "dist", folder / "work")


def test_the_sdist_contains_all_that_the_repository_tracks(built):
    assert sdist_problems(ROOT, built.unpacked) == []


@pytest.mark.parametrize(
    "name",
    [
        "tests/conftest.py",
        "docs/index.md",
        "benchmarks",
        "locks/dev.lock",
        "Makefile",
        "mkdocs.yml",
        ".ci/run",
        "release",
    ],
)
def test_the_sdist_contains_what_its_checks_need(built, name):
    assert (built.unpacked / name).exists()


def test_the_sdist_contains_no_caches(built):
    with tarfile.open(built.sdist) as archive:
        names = archive.getnames()
    assert not [name for name in names if "__pycache__" in name or "_cache" in name or name.endswith(".pyc")]


def test_the_wheel_is_the_package_with_its_data_and_nothing_else(built):
    assert wheel_problems(built.wheel, built.unpacked) == []


def test_the_wheel_declares_the_command_the_plugins_and_the_licence(built):
    with zipfile.ZipFile(built.wheel) as archive:
        facts = {name.partition(".dist-info/")[2]: name for name in archive.namelist() if ".dist-info/" in name}
        declared = archive.read(facts["entry_points.txt"]).decode()
    assert "licenses/LICENSE" in facts
    assert "lookaway = lookaway.cli:main" in declared
    assert "[lookaway.metrics]" in declared


def test_what_a_wheel_lacks_and_what_it_should_not_contain_is_named(built, tmp_path):
    other = tmp_path / "other.whl"
    with zipfile.ZipFile(built.wheel) as archive, zipfile.ZipFile(other, "w") as changed:
        for name in archive.namelist():
            if not name.endswith((".css", "py.typed")):
                changed.writestr(name, archive.read(name))
        changed.writestr("tests/conftest.py", "")
    problems = wheel_problems(other, built.unpacked)
    assert "The wheel lacks lookaway/py.typed." in problems
    assert "The wheel contains no *.css file." in problems
    assert "The wheel contains tests/conftest.py, which is not part of the package." in problems


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="an sdist is not a repository")
def test_a_tracked_file_that_the_sdist_lacks_is_named(built, tmp_path):
    unpacked = Path(shutil.copytree(built.unpacked, tmp_path / "unpacked"))
    (unpacked / "locks" / "dev.lock").unlink()
    assert sdist_problems(ROOT, unpacked) == [
        "The sdist lacks locks/dev.lock. Add it to [tool.hatch.build.targets.sdist] in pyproject.toml."
    ]
