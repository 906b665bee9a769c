"""A matrix of metrics and faults: what each metric finds, at one look."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from lookaway.calibration.card import MIN_FOUND_AUC, MIN_SURE_AUC, DosePoint, MetricCard
from lookaway.reports.charts.svg import element
from lookaway.reports.numbers import fixed

if TYPE_CHECKING:
    from markupsafe import Markup

CELL, ROW, LEFT, TOP, GAP = 46, 22, 320, 118, 10
"""Width and height of a cell, margins, and the distance between a row and its mark."""
LEGEND = 84
STRIP = 9
"""Width of the part of a cell that is about true features."""
HIGHEST: Final = 1.0
"""The severity that is shown."""
MAX_PREFERRED: Final = 0.2
"""Up to this AUC the metric prefers clips with the fault."""
FOUND, PARTLY, MISSED, PREFERRED, UNKNOWN = "#1a7f4e", "#8fd1ac", "#f1f1ee", "#e8894a", "#ffffff"
DIFFERS = "#a9b4c0"
"""Where any change counts."""
INK, PALE, OUTLINE = "#1c1c1c", "#6b6b6b", "#1c1c1c"


def card_matrix(cards: Sequence[MetricCard], title: str, truth: Sequence[MetricCard] = ()) -> Markup:
    """Metrics down, faults across; a cell is the AUC at the highest severity, outlined where it must be found.

    Where `truth` has the metric with features from the ground truth, the right end of the cell has that colour.
    """
    true_cards = {card.metric: card for card in truth}
    faults = list(dict.fromkeys(response.fault for card in cards for response in card.responses))
    width, height = LEFT + CELL * len(faults) + 110, TOP + ROW * len(cards) + LEGEND
    parts = [element("rect", width=width, height=height, fill="#ffffff")]
    for column, fault in enumerate(faults):
        x = LEFT + CELL * (column + 0.5)
        turn = f"rotate(-40 {x:.0f} {TOP - 10})"
        parts.append(_text(fault.replace("_", " "), x, TOP - 10, transform=turn))
    for row, card in enumerate(cards):
        parts += _row(card, faults, TOP + ROW * row, true_cards.get(card.metric))
    parts += _legend(TOP + ROW * len(cards) + 20, has_truth=bool(truth))
    summary = f"{len(cards)} metrics and {len(faults)} faults; green cells are found, pale ones missed."
    return element(
        "svg", element("title", title), element("desc", summary), *parts, xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}", role="img", font_family="system-ui, sans-serif", font_size=12, fill=INK,
    )  # fmt: skip


def _row(card: MetricCard, faults: Sequence[str], y: float, truth: MetricCard | None) -> list[Markup]:
    found = {response.fault: response for response in card.responses}
    true_responses = {response.fault: response for response in truth.responses} if truth else {}
    parts = [_text(card.metric, LEFT - GAP, y + 15, text_anchor="end")]
    for column, fault in enumerate(faults):
        response = found.get(fault)
        point = response.at(HIGHEST) if response else None
        x = LEFT + CELL * column
        colour, label, ink = _look(point)
        if card.compares_with_reference and colour in (FOUND, PARTLY):
            colour, ink = DIFFERS, INK
        parts.append(
            element("rect", x=x + 1, y=y + 1, width=CELL - 2, height=ROW - 2, fill=colour, stroke="#dddddd", rx=2)
        )
        if fault in true_responses:
            strip = _look(true_responses[fault].at(HIGHEST))[0]
            parts.append(element("rect", x=x + CELL - STRIP - 2, y=y + 2, width=STRIP, height=ROW - 4, fill=strip))
        if response is not None and response.role == "must_find":
            parts.append(
                element(
                    "rect", x=x + 2, y=y + 2, width=CELL - 4, height=ROW - 4, fill="none", stroke=OUTLINE,
                    stroke_width=2, rx=2,
                )
            )  # fmt: skip
        middle = x + (CELL - STRIP * (fault in true_responses)) / 2
        parts.append(_text(label, middle, y + 15, fill=ink, text_anchor="middle"))
    if card.is_won_by_frozen:
        parts.append(_text("frozen wins", LEFT + CELL * len(faults) + GAP, y + 15, fill="#b3261e"))
    return parts


def _look(point: DosePoint | None) -> tuple[str, str, str]:
    """Colour, label and colour of the label of a cell."""
    if point is None:
        return UNKNOWN, "", PALE
    if point.auc is None:
        return UNKNOWN, fixed(None), PALE
    auc = point.auc.mean
    label = f"{auc:.2f}"
    if auc >= MIN_SURE_AUC:
        return FOUND, label, "#ffffff"
    if auc >= MIN_FOUND_AUC:
        return PARTLY, label, INK
    return (PREFERRED, label, INK) if auc <= MAX_PREFERRED else (MISSED, label, PALE)


def _legend(y: float, *, has_truth: bool) -> list[Markup]:
    entries = (
        (FOUND, f"found: AUC {MIN_SURE_AUC} or more"),
        (PARTLY, f"{MIN_FOUND_AUC} or more"),
        (MISSED, "missed"),
        (PREFERRED, f"{MAX_PREFERRED} or less: prefers the fault"),
        (UNKNOWN, f"{fixed(None)} declines"),
    )
    parts, x = [], 20.0
    for colour, words in entries:
        parts.append(element("rect", x=x, y=y - 11, width=14, height=14, fill=colour, stroke="#dddddd", rx=2))
        parts.append(_text(words, x + 20, y))
        x += 44 + 6.4 * len(words)
    outline = element("rect", x=20, y=y + 11, width=14, height=14, fill="none", stroke=OUTLINE, stroke_width=2, rx=2)
    differs = element("rect", x=240, y=y + 11, width=14, height=14, fill=DIFFERS, rx=2)
    words = "found, but so is any change: compares with the reference video, pixel by pixel"
    parts += [outline, _text("the metric is there to find it", 40, y + 22), differs, _text(words, 260, y + 22)]
    if has_truth:
        note = "wide part of a cell: from pixels, as shipped; narrow part: with features from the ground truth"
        parts.append(_text(note, 20, y + 44))
    return parts


def _text(words: str, x: float, y: float, **attributes: str | float) -> Markup:
    return element("text", words, x=x, y=y, **attributes)
