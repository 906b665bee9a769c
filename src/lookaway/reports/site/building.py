"""Builds a site: computes leaderboards once and writes every page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from lookaway.core import UserError
from lookaway.reports.case_page.change_pictures import write_picture
from lookaway.reports.case_page.page import write_item_page
from lookaway.reports.case_page.videos import case_videos
from lookaway.reports.leaderboards import leaderboards, matrix
from lookaway.reports.numbers import amount
from lookaway.reports.runs import LoadedRun
from lookaway.reports.site.case_grid import CasePage, WorstFailure, case_page, worst_failures
from lookaway.reports.site.data_files import write_data
from lookaway.reports.site.index import Site, write_index
from lookaway.reports.site.media import SiteMedia
from lookaway.reports.site.rendering import environment


def write_items(runs: Sequence[LoadedRun], output: Path) -> Mapping[str, CasePage]:
    """Write `items/*.html` and their media; returns each page by case."""
    media = SiteMedia(output)
    return {case.id: case_page(case, write_item_page(case, output)) for case in case_videos(runs, media)}


def build_site(runs: Sequence[LoadedRun], output: Path, *, title: str | None = None, reload_seconds: int = 0) -> Path:
    """Write the site and return its index; an existing site is overwritten."""
    site = replace(site_of(runs, title), reload_seconds=reload_seconds)
    try:
        data = write_data(output, runs, site.leaderboards, site.matrices)
        site = replace(site, data=data, pages=write_items(runs, output))
        return write_index(with_failures(site, lambda jpeg: write_picture(jpeg, output)), output)
    except OSError as error:
        raise UserError(f"{output}: the site cannot be written: {error}.") from error


def site_of(runs: Sequence[LoadedRun], title: str | None) -> Site:
    """The content of a site for some runs; nothing is written yet."""
    environment()  # refuses before anything is computed
    found = leaderboards(runs)
    matrices = [made for leaderboard in found if (made := matrix(leaderboard)) is not None]
    return Site(title=title or _title(runs), runs=runs, leaderboards=found, matrices=matrices)


def with_failures(site: Site, keep: Callable[[bytes], str]) -> Site:
    """The site with the worst failure of each model; `keep` stores a picture and returns its address."""
    found: dict[str, Sequence[WorstFailure]] = {}
    for suite in _suites(site.runs):
        runs = [run for run in site.runs if run.suite == suite]
        own = [leaderboard for leaderboard in site.leaderboards if leaderboard.suite == suite]
        found[suite] = worst_failures(runs, own, site.pages, keep)
    return replace(site, failures=found)


def _title(runs: Sequence[LoadedRun]) -> str:
    models = sorted({model for run in runs for model in run.models})
    return models[0] if len(models) == 1 else f"{amount(len(models), 'model')} on {', '.join(_suites(runs))}"


def _suites(runs: Sequence[LoadedRun]) -> list[str]:
    return list(dict.fromkeys(run.suite for run in runs))
