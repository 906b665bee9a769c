"""A page for every case of a site."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from lookaway.reports.site.gather import SiteRun
from lookaway.reports.site.item_page import write_item_page
from lookaway.reports.site.media import Media
from lookaway.reports.site.takes import case_takes


def write_items(runs: Sequence[SiteRun], output: Path) -> Mapping[str, str]:
    """Write `items/*.html` and their media; returns the place of every case's page from the root of the site."""
    media = Media(output)
    return {case.id: write_item_page(case, output) for case in case_takes(runs, media)}
