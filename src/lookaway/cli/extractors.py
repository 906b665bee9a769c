"""`lookaway extractors`."""

from __future__ import annotations

import click

from lookaway.cli.options import json_option


@click.command("extractors")
@json_option
def extractors_command(as_json: bool) -> None:
    """List the installed extractors: what can be perceived in a rollout."""
    import inspect

    from lookaway.core import plugins
    from lookaway.reports.numbers import print_rows

    rows = []
    for name in plugins.names("extractors"):
        kind = plugins.load("extractors", name)
        summary = (inspect.getdoc(kind) or "").partition("\n")[0]
        rows.append({"extractor": name, "version": kind.version, "perceives": summary})
    print_rows(rows, as_json=as_json)
