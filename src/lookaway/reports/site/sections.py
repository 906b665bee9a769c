"""Parts of the index: in the page itself as long as there is room, else on pages of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookaway.reports.site.rendering import Sources, environment, slug, write_page

if TYPE_CHECKING:
    from markupsafe import Markup

ROOM = 2_400_000
"""Bytes of the index that sections may take, all together; with the rest of it they stay below 3 MB."""
KINDS = {
    "board": ("Leaderboard", "index/leaderboard.html.j2"),
    "metrics": ("Metric by metric", "index/boards.html.j2"),
    "pairs": ("Pairs", "index/pairwise.html.j2"),
    "profile": ("Profiles", "index/profile.html.j2"),
    "drift": ("Drift", "index/drift.html.j2"),
    "parts": ("Parts", "index/slices.html.j2"),
}
"""Of a suite, in the order of reading: title in the navigation, and template."""
SITE_KINDS = {
    "cases": ("Cases", "index/cases.html.j2"),
    "took": ("What it took", "index/took.html.j2"),
    "again": ("Reproduce", "index/appendix.html.j2"),
}
"""Of the whole site, after all suites."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section of one suite, or of the whole site."""

    suite: str | None
    title: str
    anchor: str
    html: Markup
    page: str | None = None
    """The page it has for its own; `None` where it stands in the index."""

    @property
    def href(self) -> str:
        """Where it is, from the index."""
        return self.page or f"#{self.anchor}"


def suite_sections(suite: Mapping[str, Any], styles: Mapping[str, int]) -> list[Section]:
    """Every section of a suite that has something to show."""
    name = suite["name"]
    found = [
        _section(name, f"{slug(name)}-{kind}", title, template, suite=suite, styles=styles)
        for kind, (title, template) in KINDS.items()
    ]
    return [section for section in found if section.html.strip()]


def site_sections(**context: Any) -> list[Section]:
    """Every section of the whole site that has something to show."""
    found = [_section(None, kind, title, template, **context) for kind, (title, template) in SITE_KINDS.items()]
    return [section for section in found if section.html.strip()]


def _section(track: str | None, anchor: str, title: str, template: str, /, **context: Any) -> Section:
    from markupsafe import Markup

    text = environment().get_template(template).render(anchor=anchor, **context)
    return Section(suite=track, title=title, anchor=anchor, html=Markup(text))  # noqa: S704 - the template has escaped it


def placed(found: Sequence[Section], room: int) -> list[Section]:
    """The same sections; those for which there is no room get a page."""
    result = []
    for section in found:
        size = len(section.html.encode())
        if size <= room:
            room -= size
            result.append(section)
        else:
            result.append(replace(section, page=f"{section.anchor}.html"))
    return result


def write_section_pages(output: Path, found: Sequence[Section], title: str, sources: Sources) -> None:
    """Write the pages of those sections that have one."""
    for section in found:
        if section.page:
            write_page(output, section.page, "section.html.j2", sources=sources, title=title, section=section)
