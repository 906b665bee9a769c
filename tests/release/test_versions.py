"""One version everywhere: package, citation, changelog, tag."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

from release import changelog
from release.check_versions import ROOT, disagreements, package_version


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose version 0.2.0 is ready to be released."""
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "0.2.0"\n')
    (tmp_path / "CITATION.cff").write_text("version: 0.2.0\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2030-05-01\n\n- New.\n")
    return tmp_path


def test_a_project_whose_versions_agree_can_be_released(project):
    assert disagreements(project, "v0.2.0") == []


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("CITATION.cff", "0.2.0", "0.1.0", "CITATION.cff has version 0.1.0"),
        ("pyproject.toml", "0.2.0", "0.3.0", "Expected the tag v0.3.0"),
        ("CHANGELOG.md", "## 0.2.0 - 2030-05-01", "## 0.1.0 - 2030-05-01", "newest version in CHANGELOG.md is 0.1.0"),
        ("CHANGELOG.md", "## 0.2.0 - 2030-05-01\n", "", "newest version in CHANGELOG.md is None"),
        ("CHANGELOG.md", "- New.\n", "", "section of 0.2.0 in CHANGELOG.md is empty"),
    ],
)
def test_a_version_that_differs_is_named(project, file, old, new, message):
    path = project / file
    path.write_text(path.read_text().replace(old, new))
    assert any(message in problem for problem in disagreements(project, "v0.2.0"))


def test_a_tag_without_its_letter_is_refused(project):
    assert disagreements(project, "0.2.0") == [
        "The tag is 0.2.0, pyproject.toml has version 0.2.0. Expected the tag v0.2.0."
    ]


def test_package_and_citation_of_the_project_have_one_version():
    assert disagreements() == []
    assert package_version() == version("lookaway")


def test_the_changelog_of_the_project_is_not_ahead_of_its_package():
    numbers = [
        tuple(map(int, name.split(".")))
        for name in changelog.versions((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    ]
    assert numbers == sorted(numbers, reverse=True)
    assert all(number <= tuple(map(int, package_version().split("."))) for number in numbers)
