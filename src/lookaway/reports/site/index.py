"""The first page of a site: warnings, then leaderboards, then what they rest on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookaway.reports.charts.svg import number_text
from lookaway.reports.leaderboards import Board
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

MOST_OPEN = 12
"""With more boards than these, all but the first start closed."""
NAME, TEMPLATE = "index.html", "index.html.j2"
SOURCES = Sources(styles=("site.css",), scripts=("index.js",), is_inlined=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Everything that the index is made from."""

    title: str
    runs: Sequence[SiteRun]
    boards: Sequence[Board]
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
        "warnings": warnings(site.runs, site.boards),
        "runs": [{"run": run, "facts": facts(run), "counts": counts(run)} for run in site.runs],
        "suites": [{"name": suite, "title": runs[0].suite_title} for suite, runs in _suites(site).items()],
        "placed": found,
    }


def _sections(site: Site) -> list[Section]:
    styles = model_styles(site.boards)
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


def model_styles(boards: Sequence[Board]) -> dict[str, int]:
    """A number for every model of the site: its colour and its shape, the same in all charts."""
    return {model: number for number, model in enumerate(sorted({row.model for b in boards for row in b.rows}))}


def _suite(site: Site, suite: str, styles: Mapping[str, int]) -> dict[str, Any]:
    boards = [board for board in site.boards if board.suite == suite]
    seeds = seed_rows(boards)
    own_runs = _suites(site)[suite]
    return {
        "name": suite,
        "heads": _heads(boards),
        "overview": overview(boards),
        "is_gated": any(board.is_gated for board in boards),
        "has_baselines": any(row.baseline for board in boards for row in board.rows),
        "boards": [_board(board, styles, is_open=number < MOST_OPEN) for number, board in enumerate(boards)],
        "matrices": [_matrix(matrix) for matrix in site.matrices if matrix.board.suite == suite],
        "profiles": profiles(boards, styles),
        "coverage": coverage_charts(boards, styles),
        "drift": drift_charts(own_runs, boards, styles),
        "subsets": subset_tables(boards),
        "phases": phase_tables(own_runs, boards),
        "seeds": seed_table(boards, seeds) if seeds else None,
    }


def _heads(boards: Sequence[Board]) -> dict[str, Any]:
    """Heads of the overview: subsets above metrics, as often as they follow each other."""
    shown = Counter((board.subset, board.short) for board in boards)
    names = [board.short if shown[board.subset, board.short] == 1 else board.title for board in boards]
    columns = [
        {"name": name, "title": board.title, "key": board.key, "better": _better(board)}
        for board, name in zip(boards, names, strict=True)
    ]
    subsets: list[tuple[str, int]] = []
    for board in boards:
        if subsets and subsets[-1][0] == board.subset:
            subsets[-1] = (board.subset, subsets[-1][1] + 1)
        else:
            subsets.append((board.subset, 1))
    return {"columns": columns, "subsets": subsets}


def _board(board: Board, styles: Mapping[str, int], *, is_open: bool) -> dict[str, Any]:
    ends = board_ends(board)
    leaders = [row.model for row in board.rows if row.tie == 0]
    return {
        "board": board,
        "is_open": is_open,
        "lines": board_lines(board, styles),
        "digits": board_digits(board),
        "ends": [number_text(end) for end in ends],
        "better": _better(board),
        "leaders": leaders,
    }


def _matrix(matrix: Matrix) -> dict[str, Any]:
    return {"matrix": matrix, "cells": matrix_cells(matrix)}


def _better(board: Board) -> str:
    return {True: "high", False: "low", None: ""}[board.metric.higher_is_better]


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
