"""The map for language models has the form of llms.txt and leads to pages that exist."""

from __future__ import annotations

import re
from pathlib import Path

from docs.llms_txt import for_the_site

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "llms.txt").read_text(encoding="utf-8")
LINKS = re.findall(r"^- \[[^\]]+\]\(([^)]+)\): \S", TEXT, re.MULTILINE)


def test_it_begins_with_a_title_and_a_summary():
    title, _, summary = TEXT.splitlines()[:3]
    assert title == "# lookaway"
    assert summary.startswith("> ")


def test_every_entry_of_a_list_is_a_link_with_a_note():
    assert len(LINKS) == sum(line.startswith("- ") for line in TEXT.splitlines())


def test_every_link_leads_to_a_file():
    assert not [link for link in LINKS if not (ROOT / link).is_file()]


def test_in_the_site_every_link_leads_to_a_page():
    shown = re.findall(r"\]\(([^)]+)\)", for_the_site(TEXT))
    assert len(shown) == len(LINKS)
    assert all(re.fullmatch(r"[a-z/-]+\.html", link) for link in shown)
    assert "docs/" not in "".join(shown)
