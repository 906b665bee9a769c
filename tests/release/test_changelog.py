from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from release import changelog

TEXT = """# Changelog

Words before.

## Unreleased

### Added

- A metric.

## 0.2.0 - 2030-05-01

### Numbers

- A number moves.

## 0.1.0 - 2030-01-01

- The first.
"""


def test_a_section_ends_where_the_next_version_begins():
    assert changelog.section(TEXT, "0.2.0") == "### Numbers\n\n- A number moves.\n"


def test_the_last_section_ends_with_the_file():
    assert changelog.section(TEXT, "0.1.0") == "- The first.\n"


def test_a_version_is_not_found_by_its_beginning():
    with pytest.raises(ValueError, match=r"no section '## 0\.2', only: Unreleased, 0\.2\.0, 0\.1\.0"):
        changelog.section(TEXT, "0.2")


def test_cutting_moves_what_is_unreleased_under_the_version_and_keeps_the_rest():
    cut = changelog.cut(TEXT, "0.3.0", datetime.date(2030, 9, 1))
    assert changelog.versions(cut) == ["0.3.0", "0.2.0", "0.1.0"]
    assert "## 0.3.0 - 2030-09-01\n" in cut
    assert changelog.section(cut, "0.3.0") == changelog.section(TEXT, "Unreleased")
    assert changelog.section(cut, "Unreleased").strip() == ""
    assert changelog.section(cut, "0.2.0") == changelog.section(TEXT, "0.2.0")


@pytest.mark.parametrize(
    ("text", "version", "message"),
    [
        (TEXT, "0.2.0", "has a section of 0.2.0 already"),
        (TEXT.replace("### Added\n\n- A metric.\n", ""), "0.3.0", "Nothing is listed under"),
        (TEXT.replace("## Unreleased\n", ""), "0.3.0", "no section '## Unreleased'"),
    ],
)
def test_what_cannot_be_cut_is_refused(text, version, message):
    with pytest.raises(ValueError, match=message):
        changelog.cut(text, version, datetime.date(2030, 9, 1))


def test_the_command_cuts_the_file_and_shows_the_section(tmp_path, capsys):
    path = tmp_path / "CHANGELOG.md"
    path.write_text(TEXT)
    changelog.main(["cut", "0.3.0", "--changelog", str(path)])
    changelog.main(["show", "0.3.0", "--changelog", str(path)])
    assert capsys.readouterr().out == "### Added\n\n- A metric.\n"


def test_the_command_ends_with_what_to_do_about_a_missing_version(tmp_path):
    path = tmp_path / "CHANGELOG.md"
    path.write_text(TEXT)
    with pytest.raises(SystemExit, match=r"Run: python -m release\.changelog cut 0\.9\.0"):
        changelog.main(["show", "0.9.0", "--changelog", str(path)])


def test_the_changelog_of_the_project_can_be_cut():
    text = Path(changelog.CHANGELOG).read_text(encoding="utf-8")
    assert "Unreleased" in [match["name"] for match in changelog.HEADING.finditer(text)]
    assert len(changelog.HEADING.findall(text)) == sum(line.startswith("## ") for line in text.splitlines())
