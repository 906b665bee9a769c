"""The changelog by version.

python -m release.changelog show 0.2.0     prints the section of a version, as the notes of its release
python -m release.changelog cut 0.2.0      turns what is unreleased into the section of a version, dated today
"""

from __future__ import annotations

import argparse
import datetime
import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).parents[1] / "CHANGELOG.md"
UNRELEASED = "Unreleased"
HEADING = re.compile(r"^## (?P<name>\S+)(?: - (?P<date>\d{4}-\d{2}-\d{2}))?$", re.MULTILINE)


def versions(text: str) -> list[str]:
    """The versions that have a section, newest first.

    >>> versions("# Changelog\\n\\n## Unreleased\\n\\n## 0.2.0 - 2030-01-02\\n\\n## 0.1.0 - 2029-01-02\\n")
    ['0.2.0', '0.1.0']
    """
    return [match["name"] for match in HEADING.finditer(text) if match["name"] != UNRELEASED]


def section(text: str, name: str) -> str:
    """What the changelog says about a version, without its heading."""
    headings = list(HEADING.finditer(text))
    for heading, following in zip(headings, [*headings[1:], None], strict=True):
        if heading["name"] == name:
            return text[heading.end() : following.start() if following else len(text)].strip() + "\n"
    found = ", ".join(heading["name"] for heading in headings) or "none"
    raise ValueError(
        f"The changelog has no section '## {name}', only: {found}. Run: python -m release.changelog cut {name}"
    )


def cut(text: str, version: str, date: datetime.date) -> str:
    """The changelog with all that is unreleased under the heading of a version, and nothing unreleased."""
    if version in versions(text):
        raise ValueError(f"The changelog has a section of {version} already. Choose the next version.")
    if not section(text, UNRELEASED).strip():
        raise ValueError(f"Nothing is listed under '## {UNRELEASED}'. Say there what {version} changes.")
    return text.replace(f"## {UNRELEASED}\n", f"## {UNRELEASED}\n\n## {version} - {date.isoformat()}\n", 1)


def main(arguments: list[str] | None = None) -> None:
    """Show or cut the section of a version."""
    parser = argparse.ArgumentParser(description="The changelog by version.")
    parser.add_argument("command", choices=("show", "cut"))
    parser.add_argument("version")
    parser.add_argument("--changelog", type=Path, default=CHANGELOG)
    chosen = parser.parse_args(arguments)
    text = chosen.changelog.read_text(encoding="utf-8")
    try:
        if chosen.command == "show":
            sys.stdout.write(section(text, chosen.version))
        else:
            today = datetime.datetime.now(datetime.UTC).date()
            chosen.changelog.write_text(cut(text, chosen.version, today), encoding="utf-8")
    except ValueError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
