"""Every case of a site folded into one page, for a file that has no pages beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from lookaway.reports.site.charts.svg import mark
from lookaway.reports.site.long_text import long_text
from lookaway.reports.site.measured_on import measured_on
from lookaway.reports.site.rendering import environment, slug
from lookaway.reports.site.takes import CaseTakes

if TYPE_CHECKING:
    from markupsafe import Markup

LEVEL: Final = 4
"""Of the titles in a case: the section of all cases has the second, the case the third."""


def folded_cases(cases: Sequence[CaseTakes]) -> Markup:
    """One closed element for each case, with the address `#case-...`: filmstrips, scores, reasons and commands."""
    return _rendered(
        "folded_cases.html.j2",
        takes=[take for case in cases for take in case.takes],
        has_strips=any(_has_strips(case) for case in cases),
        folded=[_folded(case) for case in cases],
    )


def _folded(case: CaseTakes) -> Markup:
    anchor = f"case-{slug(case.id)}"
    return _rendered(
        "item_folded.html.j2",
        case=case,
        anchor=anchor,
        at=f"{anchor}-",
        level=LEVEL,
        is_folded=True,
        has_strips=_has_strips(case),
        **measured_on(case),
    )


def _has_strips(case: CaseTakes) -> bool:
    return any(take.shown for take in case.takes)


def _rendered(template: str, **context: object) -> Markup:
    from markupsafe import Markup

    text = environment().get_template(template).render(root="", long=long_text, mark=mark, **context)
    return Markup(text)  # noqa: S704 - the template has escaped it
