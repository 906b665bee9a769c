"""`lookaway suites`, `lookaway metrics` and `lookaway extractors`: what is installed."""

from __future__ import annotations

from typing import Any

import click

from lookaway.cli.options import json_option


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
@json_option
def metrics_command(suite: str | None, as_json: bool) -> None:
    """List the metrics of the installed suites, and installed metrics that no suite uses."""
    from lookaway.core import BoundMetric, plugins
    from lookaway.engine.reading import load_suite
    from lookaway.reports.numbers import print_rows

    rows: list[dict[str, Any]] = []

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
