"""`lookaway suites`, `lookaway metrics` and `lookaway extractors`: what is installed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lookaway.cli.options import PATH, fps_option, json_option, size_option

if TYPE_CHECKING:
    from lookaway.core import BoundMetric


@click.command("suites")
@json_option
def suites_command(as_json: bool) -> None:
    """List the installed suites."""
    from lookaway.core import plugins
    from lookaway.engine.reading import load_suite
    from lookaway.reports.numbers import print_rows

    suites = [load_suite(name) for name in plugins.names("suites")]
    rows = [
        {
            "suite": suite.name,
            "version": suite.version,
            "metrics": sum(not bound.is_gate for bound in suite.metrics({})),
            "title": suite.title,
        }
        for suite in suites
    ]
    print_rows(rows, as_json=as_json)


@click.command("metrics")
@click.option("--suite", help="Only the metrics of this suite.")
@click.option("--cards", type=PATH, help="Folder of cards from lookaway calibrate, instead of the shipped ones.")
@size_option
@fps_option
@json_option
def metrics_command(suite: str | None, cards: Path | None, size: tuple[int, int], fps: int, as_json: bool) -> None:
    """List the metrics of the installed suites, and installed metrics that no suite uses.

    The column before the last says what has been shown for each: `equation` of the paper tested, equal to the authors'
    `code`, run with its published `weights`, published `table` reproduced, and `card` of what it sees. The last column
    says what it sees at the given size and frame rate, from its card.
    """
    from lookaway.calibration.evidence import shown_for
    from lookaway.calibration.run_cards import shipped_cards
    from lookaway.core import BoundMetric, plugins
    from lookaway.engine.reading import load_suite
    from lookaway.reports.numbers import print_rows

    rows: list[dict[str, Any]] = []
    line_of = _card_lines(cards, size, fps)
    known_cards = shipped_cards()

    def add(source: str, bound: BoundMetric) -> None:
        metric = bound.metric
        rows.append(
            {
                "suite": source,
                "metric": bound.name,
                "measures": metric.name,
                "version": metric.version,
                "unit": metric.unit,
                "raw unit": metric.raw_unit or "",
                "better": "higher" if metric.higher_is_better else "lower",
                "needs": ", ".join(metric.needs),
                "subsets": ", ".join(bound.subsets or ()) or "all",
                "shown": shown_for(bound, known_cards).line,
                "sees": line_of(bound),
            }
        )

    bound_names = set()
    for name in [suite] if suite else plugins.names("suites"):
        for bound in load_suite(name).metrics({}):
            bound_names.add(bound.metric.name)
            if not bound.is_gate:
                add(name, bound)
    if suite is None:
        for name in plugins.names("metrics"):
            if name not in bound_names:
                add("", BoundMetric(name=name, metric=plugins.load("metrics", name)()))
    print_rows(rows, as_json=as_json)


def _card_lines(folder: Path | None, size: tuple[int, int], fps: int) -> Callable[[BoundMetric], str]:
    """What the card of a metric, or one with other extractors, says in one line, or why there is none."""
    from lookaway.calibration.card import bound_chain, bound_protocol, read_cards
    from lookaway.calibration.run_cards import shipped_cards
    from lookaway.reports.metric_facts import WON_BY_FROZEN, card_line, card_origin

    cards = shipped_cards() if folder is None else read_cards(folder)

    def line_of(bound: BoundMetric) -> str:
        (chain, sha256), protocol = bound_chain(bound), bound_protocol(bound)
        found = cards.find(bound.name, sha256, size, fps)
        if not isinstance(found, str):
            return card_line(found)
        similar = cards.find_similar(protocol, size, fps)
        if similar is not None:
            return f"with {card_origin(similar, chain)}: {card_line(similar)}"
        return WON_BY_FROZEN if cards.is_won_by_frozen(sha256, protocol) else found

    return line_of


@click.command("extractors")
@json_option
def extractors_command(as_json: bool) -> None:
    """List the installed extractors."""
    import inspect

    from lookaway.core import plugins
    from lookaway.reports.numbers import print_rows

    rows = []
    for name in plugins.names("extractors"):
        kind = plugins.load("extractors", name)
        summary = (inspect.getdoc(kind) or "").partition("\n")[0]
        rows.append({"extractor": name, "version": kind.version, "perceives": summary})
    print_rows(rows, as_json=as_json)
