"""Reads the pages of the built site as a reader sees them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path


@dataclass
class PageText(HTMLParser):
    """Text, tables, anchors and fetched addresses of one page."""

    text: str = ""
    ids: set[str] = field(default_factory=set)
    fetched: list[str] = field(default_factory=list)
    tables: list[list[list[str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._inside = False
        self._muted = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if values.get("id"):
            self.ids.add(str(values["id"]))
        if tag in ("script", "img", "iframe", "link") and (address := values.get("src") or values.get("href")):
            self.fetched.append(address)
        if tag in ("script", "style"):
            self._muted += 1
        elif tag == "table":
            self.tables.append([])
        elif tag == "tr" and self.tables:
            self.tables[-1].append([])
        elif tag in ("td", "th") and self.tables:
            self.tables[-1][-1].append("")
            self._inside = True
        elif tag == "br":
            self.handle_data("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._muted -= 1
        elif tag in ("td", "th"):
            self._inside = False

    def handle_data(self, data: str) -> None:
        if self._muted:
            return
        self.text += data
        if self._inside:
            self.tables[-1][-1][-1] += data

    def column(self, header: str) -> dict[str, str]:
        """Cells of a column by the first line of the first cell of their row, over all tables that have it."""
        return {
            row[0].partition("\n")[0]: row[table[0].index(header)]
            for table in self.tables
            if table and header in table[0]
            for row in table[1:]
        }


@dataclass(frozen=True)
class Site:
    """The built site."""

    folder: Path

    def page(self, address: str) -> PageText:
        """One page."""
        return _read(self.folder / address)

    def pages(self) -> list[Path]:
        """All pages."""
        return sorted(self.folder.rglob("*.html"))


@cache
def _read(path: Path) -> PageText:
    page = PageText()
    page.feed(path.read_text(encoding="utf-8"))
    page.close()
    return page
