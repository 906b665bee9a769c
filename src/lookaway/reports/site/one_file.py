"""A report as one file, to be mailed or attached: filmstrips and data inside, no videos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from lookaway.core import UserError
from lookaway.reports.case_page.page import measured_on
from lookaway.reports.case_page.videos import CaseVideos, case_videos
from lookaway.reports.charts.svg import mark
from lookaway.reports.export.rows import write_file
from lookaway.reports.numbers import amount, size
from lookaway.reports.runs import LoadedRun
from lookaway.reports.site.building import site_of, with_failures
from lookaway.reports.site.case_grid import case_page
from lookaway.reports.site.data_files import DataFile, write_data
from lookaway.reports.site.facts import long_text
from lookaway.reports.site.index import Site, index_alone
from lookaway.reports.site.rendering import Sources, environment, slug
from lookaway.reports.site.stills import Still, Stills, data_uri

if TYPE_CHECKING:
    from markupsafe import Markup

LEVEL: Final = 4
"""Heading level of the titles in a case: the section of all cases has the second, the case the third."""


def folded_cases(cases: Sequence[CaseVideos]) -> Markup:
    """One closed element for each case, with the address `#case-...`: filmstrips, scores, reasons and commands."""
    return _rendered(
        "folded_cases.html.j2",
        videos=[video for case in cases for video in case.videos],
        has_strips=any(_has_strips(case) for case in cases),
        folded=[_folded(case) for case in cases],
    )


def _folded(case: CaseVideos) -> Markup:
    anchor = case_anchor(case)
    return _rendered(
        "item_folded.html.j2",
        case=case,
        anchor=anchor,
        at=f"{anchor}-",
        level=LEVEL,
        is_folded=True,
        evidence={},  # pictures are files
        has_strips=_has_strips(case),
        **measured_on(case),
    )


def case_anchor(case: CaseVideos) -> str:
    """The id of a case in the page."""
    return f"case-{slug(case.id)}"


def _has_strips(case: CaseVideos) -> bool:
    return any(video.shown for video in case.videos)


def _rendered(template: str, **context: object) -> Markup:
    from markupsafe import Markup

    text = environment().get_template(template).render(root="", long=long_text, mark=mark, **context)
    return Markup(text)  # noqa: S704 - the template has escaped it


MAX_BYTES: Final = 15_000_000
"""The most that mail and pull requests accept."""
SUFFIX: Final = ".html"
SOURCES: Final = Sources(styles=("site.css", "item.css"), scripts=("index.js",), is_inlined=True)
KINDS: Final = {".csv": "text/csv", ".json": "application/json", ".parquet": "application/vnd.apache.parquet"}


def write_one_file(runs: Sequence[LoadedRun], target: Path, *, title: str | None = None, strips: bool = True) -> Path:
    """Write the whole report as one page that needs nothing beside it; above 15 MB a `UserError` says what to drop."""
    _refuse_other_places(target)
    site = site_of(runs, title)
    cases = list(case_videos(runs, Stills() if strips else None))
    pages = {case.id: replace(case_page(case, f"#{case_anchor(case)}"), videos=()) for case in cases}
    site = replace(site, data=_carried_data(site), pages=pages, folded=folded_cases(cases) if cases else None)
    if strips:
        site = with_failures(site, lambda jpeg: data_uri(jpeg, "image/jpeg"))
    page = index_alone(site, SOURCES).encode()
    if len(page) > MAX_BYTES:
        raise UserError(_too_large(target, len(page), site, cases))
    write_file(target, lambda file: file.write(page))
    return target


def _refuse_other_places(target: Path) -> None:
    if target.is_dir():
        raise UserError(f"{target}: is a folder, not a file. Name a file, such as {target / 'report.html'}.")
    if target.suffix.lower() != SUFFIX:
        raise UserError(f"{target}: the name of a single-file report ends in {SUFFIX}, such as {target.stem}{SUFFIX}.")


def _carried_data(site: Site) -> list[DataFile]:
    """The data files of a site with what they hold."""
    with TemporaryDirectory(prefix="lookaway-") as folder:
        found = write_data(Path(folder), site.runs, site.leaderboards, site.matrices)
        return [
            replace(file, content=data_uri((Path(folder) / file.name).read_bytes(), KINDS[Path(file.name).suffix]))
            for file in found
        ]


def _too_large(target: Path, total: int, site: Site, cases: Sequence[CaseVideos]) -> str:
    shown = [shown for case in cases for shown in (case.reference, *(video.shown for video in case.videos))]
    strips = [len(still.strip) for still in shown if isinstance(still, Still)]
    images = sum(strips) + sum(len(failure.picture) for found in site.failures.values() for failure in found)
    outcomes, others = (
        sum(len(file.href) for file in site.data if file.name.endswith(".parquet") is is_parquet)
        for is_parquet in (True, False)
    )
    rest = total - images - outcomes - others
    parts = [
        *([f"filmstrips of {amount(len(strips), 'video')} take {size(images)}"] if strips else []),
        f"outcomes {size(outcomes)}",
        f"tables and locks as files {size(others)}",
        f"the page itself {size(rest)}",
    ]
    ways = [
        *(["leave the filmstrips out with --without-filmstrips"] if total - images <= MAX_BYTES else []),
        *(["give fewer runs"] if len(site.runs) > 1 else []),
        "write the folder, without --single-file",
    ]
    return (
        f"{target}: would be {size(total)}, above the limit of {size(MAX_BYTES)} for one file; nothing was written. "
        f"{_sentence(', '.join(parts))} {_sentence(', or '.join(ways))}"
    )


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."
