"""Builds a site: computes leaderboards once and writes every page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from lookaway.core import UserError
from lookaway.reports.case_page.page import write_item_page
from lookaway.reports.case_page.videos import case_videos
from lookaway.reports.leaderboards import leaderboards, matrix
from lookaway.reports.numbers import amount
from lookaway.reports.runs import LoadedRun
from lookaway.reports.site.data_files import write_data
from lookaway.reports.site.index import Site, write_index
from lookaway.reports.site.media import SiteMedia
from lookaway.reports.site.rendering import environment


def write_items(runs: Sequence[LoadedRun], output: Path) -> Mapping[str, str]:
    """Write `items/*.html` and their media; returns the address of each page by case."""
    media = SiteMedia(output)
    return {case.id: write_item_page(case, output) for case in case_videos(runs, media)}


def build_site(runs: Sequence[LoadedRun], output: Path, *, title: str | None = None) -> Path:
    """Write the site and return its index; an existing site is overwritten."""
    site = site_of(runs, title)
    try:
        data = write_data(output, runs, site.leaderboards, site.matrices)
        return write_index(replace(site, data=data, items=write_items(runs, output)), output)
    except OSError as error:
        raise UserError(f"{output}: the site cannot be written: {error}.") from error


def site_of(runs: Sequence[LoadedRun], title: str | None) -> Site:
    """The content of a site for some runs; nothing is written yet."""
    environment()  # refuses before anything is computed
    found = leaderboards(runs)
    matrices = [made for leaderboard in found if (made := matrix(leaderboard)) is not None]
    return Site(title=title or _title(runs), runs=runs, leaderboards=found, matrices=matrices)


def _title(runs: Sequence[LoadedRun]) -> str:
    models = sorted({model for run in runs for model in run.models})
    return models[0] if len(models) == 1 else f"{amount(len(models), 'model')} on {', '.join(_suites(runs))}"


def _suites(runs: Sequence[LoadedRun]) -> list[str]:
    return list(dict.fromkeys(run.suite for run in runs))
