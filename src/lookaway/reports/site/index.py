"""The first page of a site: warnings, then leaderboards, then what they rest on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookaway.reports.charts.svg import number_text
from lookaway.reports.leaderboards import Leaderboard
from lookaway.reports.runs import SiteRun
from lookaway.reports.site.data_files import DataFile
from lookaway.reports.site.facts import appendix, counts, facts
from lookaway.reports.site.pairwise import Matrix
from lookaway.reports.site.profile import coverage_charts, drift_charts, profiles
from lookaway.reports.site.rendering import Sources, rendered_page, write_page
from lookaway.reports.site.runtime_section import SESSION_HEADS, STAGE_HEADS, took
from lookaway.reports.site.sections import ROOM, Section, placed, site_sections, suite_sections, write_section_pages
from lookaway.reports.site.slices import phase_tables, seed_rows, subset_tables
from lookaway.reports.site.tables import board_digits, board_ends, board_lines, matrix_cells, overview, seed_table
from lookaway.reports.site.warnings import warnings

if TYPE_CHECKING:
    from markupsafe import Markup

MAX_OPEN = 12
"""With more boards than these, all but the first start closed."""
NAME, TEMPLATE = "index.html", "index.html.j2"
SOURCES = Sources(styles=("site.css",), scripts=("index.js",), is_inlined=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Everything that the index is made from."""

    title: str
    runs: Sequence[SiteRun]
    leaderboards: Sequence[Leaderboard]
    matrices: Sequence[Matrix]
    data: Sequence[DataFile] = ()
    items: Mapping[str, str] = field(default_factory=dict)
    """Address of the page of each case; empty where there are none."""
    folded: Markup | None = None
    """The cases themselves, where they have no pages."""


def write_index(site: Site, output: Path) -> Path:
    """Write `index.html`, whole in itself, and the pages of sections for which it has no room."""
    found = placed(_sections(site), ROOM)
    write_section_pages(output, found, site.title, SOURCES)
    return write_page(output, NAME, TEMPLATE, sources=SOURCES, **_context(site, found))


def index_alone(site: Site, sources: Sources) -> str:
    """The index with all its sections, however large they are."""
    return rendered_page(NAME, TEMPLATE, sources, **_context(site, _sections(site)))


def _context(site: Site, found: Sequence[Section]) -> dict[str, Any]:
    return {
        "title": site.title,
        "warnings": warnings(site.runs, site.leaderboards),
        "runs": [{"run": run, "facts": facts(run), "counts": counts(run)} for run in site.runs],
        "suites": [{"name": suite, "title": runs[0].suite_title} for suite, runs in _suites(site).items()],
        "placed": found,
    }


def _sections(site: Site) -> list[Section]:
    styles = model_styles(site.leaderboards)
    suites = [_suite(site, suite, styles) for suite in _suites(site)]
    of_site = site_sections(
        cases=_cases(site),
        folded=site.folded,
        took=took(site.runs),
        stage_heads=STAGE_HEADS,
        session_heads=SESSION_HEADS,
        appendices=[appendix(run) for run in site.runs],
        data=site.data,
    )
    return [*(section for suite in suites for section in suite_sections(suite, styles)), *of_site]


def _suites(site: Site) -> dict[str, list[SiteRun]]:
    found: dict[str, list[SiteRun]] = {}
    for run in site.runs:
        found.setdefault(run.suite, []).append(run)
    return found


def model_styles(leaderboards: Sequence[Leaderboard]) -> dict[str, int]:
    """A number for every model of the site: its colour and its shape, the same in all charts."""
    return {model: number for number, model in enumerate(sorted({row.model for b in leaderboards for row in b.rows}))}


def _suite(site: Site, suite: str, styles: Mapping[str, int]) -> dict[str, Any]:
    leaderboards = [leaderboard for leaderboard in site.leaderboards if leaderboard.suite == suite]
    seeds = seed_rows(leaderboards)
    own_runs = _suites(site)[suite]
    return {
        "name": suite,
        "heads": _heads(leaderboards),
        "overview": overview(leaderboards),
        "is_gated": any(leaderboard.is_gated for leaderboard in leaderboards),
        "has_baselines": any(row.baseline for leaderboard in leaderboards for row in leaderboard.rows),
        "boards": [
            _board(leaderboard, styles, is_open=number < MAX_OPEN) for number, leaderboard in enumerate(leaderboards)
        ],
        "matrices": [_matrix(matrix) for matrix in site.matrices if matrix.leaderboard.suite == suite],
        "profiles": profiles(leaderboards, styles),
        "coverage": coverage_charts(leaderboards, styles),
        "drift": drift_charts(own_runs, leaderboards, styles),
        "subsets": subset_tables(leaderboards),
        "phases": phase_tables(own_runs, leaderboards),
        "seeds": seed_table(leaderboards, seeds) if seeds else None,
    }


def _heads(leaderboards: Sequence[Leaderboard]) -> dict[str, Any]:
    """Heads of the overview: subsets above metrics, as often as they follow each other."""
    shown = Counter((leaderboard.subset, leaderboard.short) for leaderboard in leaderboards)
    names = [
        leaderboard.short if shown[leaderboard.subset, leaderboard.short] == 1 else leaderboard.title
        for leaderboard in leaderboards
    ]
    columns = [
        {"name": name, "title": leaderboard.title, "key": leaderboard.key, "better": _better(leaderboard)}
        for leaderboard, name in zip(leaderboards, names, strict=True)
    ]
    subsets: list[tuple[str, int]] = []
    for leaderboard in leaderboards:
        if subsets and subsets[-1][0] == leaderboard.subset:
            subsets[-1] = (leaderboard.subset, subsets[-1][1] + 1)
        else:
            subsets.append((leaderboard.subset, 1))
    return {"columns": columns, "subsets": subsets}


def _board(leaderboard: Leaderboard, styles: Mapping[str, int], *, is_open: bool) -> dict[str, Any]:
    ends = board_ends(leaderboard)
    leaders = [row.model for row in leaderboard.rows if row.tie == 0]
    return {
        "board": leaderboard,
        "is_open": is_open,
        "lines": board_lines(leaderboard, styles),
        "digits": board_digits(leaderboard),
        "ends": [number_text(end) for end in ends],
        "better": _better(leaderboard),
        "leaders": leaders,
    }


def _matrix(matrix: Matrix) -> dict[str, Any]:
    return {"matrix": matrix, "cells": matrix_cells(matrix)}


def _better(leaderboard: Leaderboard) -> str:
    return {True: "high", False: "low", None: ""}[leaderboard.metric.higher_is_better]


def _cases(site: Site) -> list[dict[str, str]]:
    """Every case that has a page, once."""
    known: dict[str, dict[str, str]] = {}
    for run in site.runs:
        for rollout in run.rollouts.values():
            if rollout.case in site.items and rollout.case not in known:
                known[rollout.case] = {
                    "case": rollout.case,
                    "subset": rollout.subset,
                    "scene": rollout.scene,
                    "href": site.items[rollout.case],
                }
    return [known[case] for case in sorted(known)]
