"""The first page of a site: the answer, then leaderboards and cases, then what they are based on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookaway.reports.charts.svg import number_text
from lookaway.reports.leaderboards import Leaderboard, Matrix
from lookaway.reports.missing_values import MissingValues, missing_values
from lookaway.reports.runs import LoadedRun
from lookaway.reports.site.answer import answers
from lookaway.reports.site.case_grid import CaseGrid, CasePage, WorstFailure, case_grid
from lookaway.reports.site.data_files import DataFile
from lookaway.reports.site.facts import SESSION_HEADS, STAGE_HEADS, appendix, cost_summaries, counts, facts
from lookaway.reports.site.profile import attribution_funnels, coverage_charts, drift_charts, memory_funnels, profiles
from lookaway.reports.site.rendering import Sources, environment, rendered_page, slug, write_page
from lookaway.reports.site.slices import phase_tables, seed_rows, subset_tables
from lookaway.reports.site.tables import (
    leaderboard_digits,
    leaderboard_ends,
    leaderboard_lines,
    matrix_cells,
    overview,
    seed_table,
)
from lookaway.reports.site.two_models import two_models
from lookaway.reports.site.warnings import warnings
from lookaway.reports.wrbench.dimensions import SUITE as WRBENCH

if TYPE_CHECKING:
    from markupsafe import Markup


ROOM = 2_400_000
"""Bytes that all sections of the index may have together; with the rest of the page it stays below 3 MB."""
KINDS = {
    "failures": ("Worst failures", "index/failures.html.j2"),
    "leaderboard": ("Leaderboard", "index/overview.html.j2"),
    "two": ("Two models", "index/two_models.html.j2"),
    "funnel": ("Funnel", "index/funnel.html.j2"),
    "metrics": ("Metric by metric", "index/leaderboards.html.j2"),
    "pairs": ("Pairs", "index/pairwise.html.j2"),
    "profile": ("Profiles", "index/profile.html.j2"),
    "drift": ("Drift", "index/drift.html.j2"),
    "attribution": ("Attribution", "index/attribution.html.j2"),
    "breakdown": ("Breakdown", "index/breakdown.html.j2"),
}
"""Sections of a suite, in the order of reading: title in the navigation, and template."""
SITE_KINDS = {
    "cases": ("Cases", "index/cases.html.j2"),
    "runs": ("Runs", "index/runs.html.j2"),
    "costs": ("Costs", "index/costs.html.j2"),
    "reproduce": ("Reproduce", "index/appendix.html.j2"),
}
"""Sections of the whole site, after all suites."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section of one suite, or of the whole site."""

    suite: str | None
    title: str
    anchor: str
    html: Markup
    page: str | None = None
    """Its own page; `None` where it is part of the index."""

    @property
    def href(self) -> str:
        """Its address relative to the index."""
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
    """The same sections; those that do not fit get a page of their own."""
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


MAX_OPEN = 12
"""With more leaderboards than this, the rest start closed."""
NAME, TEMPLATE = "index.html", "index.html.j2"
SOURCES = Sources(styles=("site.css",), scripts=("index.js",), is_inlined=True, has_pictures=True)
MAX_COLUMNS = 7
"""Columns of a leaderboard that a page of 1440 pixels shows without scrolling; more make another table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Everything that the index is made from."""

    title: str
    runs: Sequence[LoadedRun]
    leaderboards: Sequence[Leaderboard]
    matrices: Sequence[Matrix]
    data: Sequence[DataFile] = ()
    pages: Mapping[str, CasePage] = field(default_factory=dict)
    """The page of each case; empty where cases have no pages."""
    failures: Mapping[str, Sequence[WorstFailure]] = field(default_factory=dict)
    """The worst failure of each model, by suite."""
    folded: Markup | None = None
    """The cases themselves, where they have no pages."""
    reload_seconds: int = 0
    """How often an open page loads itself again, while a run goes on; 0 is never."""


def write_index(site: Site, output: Path) -> Path:
    """Write `index.html`, with styles and scripts inlined, and the pages of sections that do not fit."""
    found = placed(_sections(site), ROOM)
    write_section_pages(output, found, site.title, SOURCES)
    return write_page(output, NAME, TEMPLATE, sources=SOURCES, **_context(site, found))


def index_alone(site: Site, sources: Sources) -> str:
    """The index with all its sections, however large."""
    return rendered_page(NAME, TEMPLATE, sources, **_context(site, _sections(site)))


def _context(site: Site, found: Sequence[Section]) -> dict[str, Any]:
    styles = model_styles(site.leaderboards)
    return {
        "title": site.title,
        "reload_seconds": site.reload_seconds,
        "answers": answers(site.leaderboards, site.matrices, styles, _missing(site)),
        "styles": styles,
        "warnings": warnings(site.runs, site.leaderboards),
        "suites": [{"name": suite, "title": runs[0].suite_title} for suite, runs in _suites(site).items()],
        "placed": found,
    }


def _sections(site: Site) -> list[Section]:
    styles = model_styles(site.leaderboards)
    suites = [_suite(site, suite, styles) for suite in _suites(site)]
    grids = _grids(site)
    listed = {row.page.id for _, grid in grids for row in grid.rows}
    of_site = site_sections(
        grids=grids,
        cases=sorted((page for page in site.pages.values() if page.id not in listed), key=lambda page: page.id),
        folded=site.folded,
        runs=[{"run": run, "facts": facts(run), "counts": counts(run)} for run in site.runs],
        costs=cost_summaries(site.runs),
        stage_heads=STAGE_HEADS,
        session_heads=SESSION_HEADS,
        appendices=[appendix(run) for run in site.runs],
        data=site.data,
    )
    return [*(section for suite in suites for section in suite_sections(suite, styles)), *of_site]


def _suites(site: Site) -> dict[str, list[LoadedRun]]:
    found: dict[str, list[LoadedRun]] = {}
    for run in site.runs:
        found.setdefault(run.suite, []).append(run)
    return found


def model_styles(leaderboards: Sequence[Leaderboard]) -> dict[str, int]:
    """A number for every model of the site, which selects its colour and shape in all charts."""
    return {model: number for number, model in enumerate(sorted({row.model for b in leaderboards for row in b.rows}))}


def _suite(site: Site, suite: str, styles: Mapping[str, int]) -> dict[str, Any]:
    leaderboards = [leaderboard for leaderboard in site.leaderboards if leaderboard.suite == suite]
    seeds = seed_rows(leaderboards)
    own_runs = _suites(site)[suite]
    return {
        "name": suite,
        "failures": site.failures.get(suite, ()),
        "tables": _tables(leaderboards),
        "missing": _missing(site)[suite],
        "gates": {leaderboard.gate_label for leaderboard in leaderboards},
        "has_controls": any(row.control for leaderboard in leaderboards for row in leaderboard.rows),
        "leaderboards": [
            _leaderboard(leaderboard, styles, is_open=number < MAX_OPEN)
            for number, leaderboard in enumerate(leaderboards)
        ],
        "matrices": [
            {"matrix": matrix, "cells": matrix_cells(matrix)}
            for matrix in site.matrices
            if matrix.leaderboard.suite == suite
        ],
        "two": two_models(own_runs, leaderboards, site.pages, styles),
        "funnels": memory_funnels(leaderboards),
        "profiles": profiles(leaderboards, styles),
        "coverage": coverage_charts(leaderboards, styles),
        "drift": drift_charts(own_runs, leaderboards, styles),
        "attribution": attribution_funnels(own_runs) if suite == WRBENCH else [],
        "subsets": subset_tables(leaderboards),
        "phases": phase_tables(own_runs, leaderboards),
        "seeds": seed_table(leaderboards, seeds) if seeds else None,
    }


def _missing(site: Site) -> dict[str, list[MissingValues]]:
    """What is missing and what to do about it, by suite."""
    return {
        suite: [one for run in runs for one in missing_values(run.run, run.table.cells)]
        for suite, runs in _suites(site).items()
    }


def _tables(leaderboards: Sequence[Leaderboard]) -> list[dict[str, Any]]:
    """The overview as tables that fit a page: metrics that need memory first, those without any finding left out."""
    shown = [board for board in leaderboards if board.has_findings]
    memory = [board for board in shown if board.metric.is_consistency]
    others = [board for board in shown if not board.metric.is_consistency]
    titled = [("Metrics that need memory", memory), ("Other metrics" if memory else "All metrics", others)]
    return [
        {"title": title, "heads": _heads(part), "lines": overview(part)}
        for title, boards in titled
        for start in range(0, len(boards), MAX_COLUMNS)
        if (part := boards[start : start + MAX_COLUMNS])
    ]


def _heads(leaderboards: Sequence[Leaderboard]) -> dict[str, Any]:
    """Column heads of the overview: subsets above metrics; a subset spans the columns that follow each other."""
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


def _leaderboard(leaderboard: Leaderboard, styles: Mapping[str, int], *, is_open: bool) -> dict[str, Any]:
    ends = leaderboard_ends(leaderboard)
    leaders = [row.model for row in leaderboard.rows if row.tie == 0]
    return {
        "leaderboard": leaderboard,
        "is_open": is_open,
        "lines": leaderboard_lines(leaderboard, styles),
        "digits": leaderboard_digits(leaderboard),
        "ends": [number_text(end) for end in ends],
        "better": _better(leaderboard),
        "leaders": leaders,
    }


def _better(leaderboard: Leaderboard) -> str:
    return {True: "high", False: "low", None: ""}[leaderboard.metric.higher_is_better]


def _grids(site: Site) -> list[tuple[str, CaseGrid]]:
    """A grid of cases for each suite that has pages of cases with videos."""
    found = []
    for suite, runs in _suites(site).items():
        names = sorted({rollout.case for run in runs for rollout in run.rollouts.values()})
        pages = [site.pages[name] for name in names if name in site.pages]
        own = [leaderboard for leaderboard in site.leaderboards if leaderboard.suite == suite]
        if grid := case_grid(pages, own):
            found.append((suite, grid))
    return found
