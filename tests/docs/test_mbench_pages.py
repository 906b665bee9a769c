"""What the pages about MBench must name, so that nobody has to read the code for it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lookaway.cli.mbench import mbench_command
from lookaway.suites import mbench
from tests.docs.pages import DOCS

LAYOUT_PAGE = DOCS / "how-to/mbench-dataset.md"
SWITCHING_PAGE = DOCS / "how-to/coming-from-mbench.md"
SOURCES = [path.read_text(encoding="utf-8") for path in sorted(Path(mbench.__file__).parent.glob("*.py"))]
TAKEN = {
    name for source in SOURCES for name in re.findall(r"(?:metadata|card|annotations)\.get\([\"'](\w+)[\"']", source)
}
FLAGS = [name for command in mbench_command.commands.values() for option in command.params for name in option.opts]


def test_the_fields_are_found_in_the_reader() -> None:
    assert {"object_anchor", "object_card", "core_attributes", "caption_segments", "action", "scene", "seed"} <= TAKEN


@pytest.mark.parametrize("field", sorted(TAKEN))
def test_every_field_that_the_reader_takes_stands_on_the_page_about_the_layout(field: str) -> None:
    assert re.search(rf"\b{field}\b", LAYOUT_PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted(mbench_command.commands))
def test_every_command_of_the_original_stands_beside_ours(name: str) -> None:
    assert f"| `mbench {name}" in SWITCHING_PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("flag", sorted({name for name in FLAGS if name.startswith("--")} - {"--help"}))
def test_every_flag_of_the_original_stands_on_the_page_for_those_who_come_from_it(flag: str) -> None:
    assert re.search(rf"`{flag}\b", SWITCHING_PAGE.read_text(encoding="utf-8"))
