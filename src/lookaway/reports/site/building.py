"""Builds a site: gathers runs, computes boards once, writes every page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from lookaway.core import UserError
from lookaway.reports.case_page.page import write_item_page
from lookaway.reports.case_page.videos import case_takes
from lookaway.reports.leaderboards import leaderboards
from lookaway.reports.numbers import amount
from lookaway.reports.runs import SiteRun
from lookaway.reports.site.data_files import write_data
from lookaway.reports.site.index import Site, write_index
from lookaway.reports.site.media import Media
from lookaway.reports.site.pairwise import matrix
from lookaway.reports.site.rendering import environment


def write_items(runs: Sequence[SiteRun], output: Path) -> Mapping[str, str]:
    """Write `items/*.html` and their media; returns the place of every case's page from the root of the site."""
    media = Media(output)
    return {case.id: write_item_page(case, output) for case in case_takes(runs, media)}


def build_site(runs: Sequence[SiteRun], output: Path, *, title: str | None = None) -> Path:
    """Write the site and return its index; a site that is there already is written over."""
    site = site_of(runs, title)
    try:
        data = write_data(output, runs, site.leaderboards, site.matrices)
        return write_index(replace(site, data=data, items=write_items(runs, output)), output)
    except OSError as error:
        raise UserError(f"{output}: the site cannot be written here: {error}.") from error


def site_of(runs: Sequence[SiteRun], title: str | None) -> Site:
    """What runs say together, before anything of it lies anywhere."""
    environment()  # refuses before anything is computed
    found = leaderboards(runs)
    matrices = [made for leaderboard in found if (made := matrix(leaderboard)) is not None]
    return Site(title=title or _title(runs), runs=runs, leaderboards=found, matrices=matrices)


def _title(runs: Sequence[SiteRun]) -> str:
    models = sorted({model for run in runs for model in run.models})
    return models[0] if len(models) == 1 else f"{amount(len(models), 'model')} on {', '.join(_suites(runs))}"


def _suites(runs: Sequence[SiteRun]) -> list[str]:
    return list(dict.fromkeys(run.suite for run in runs))
