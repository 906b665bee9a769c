"""What the demo shows at its end."""

from __future__ import annotations

from pathlib import Path

from lookaway.engine.run import Run
from lookaway.reports.numbers import fixed
from lookaway.reports.standings import standings
from lookaway.reports.table import table_json
from lookaway.reports.text import print_json, print_lines, print_rows
from lookaway.world.actors import ACTORS


def print_demo(run: Run, output: Path, *, quiet: bool, as_json: bool) -> None:
    """The order of the actors, and where to look next."""
    table = run.table()
    order = standings(table)
    if as_json:
        ranked = [{"model": s.model, "rank": s.rank, "consistency": s.consistency, "camera": s.camera} for s in order]
        print_json({"standings": ranked, "table": table_json(run, table)})
        return
    rows = [
        {
            "rank": "not tested" if s.rank is None else s.rank,
            "actor": s.model,
            "consistency": fixed(s.consistency),
            "camera": fixed(s.camera),
            "what it does": ACTORS[s.model].summary,
        }
        for s in order
    ]
    print_rows(rows, as_json=False, right=("rank", "consistency", "camera"))
    if not quiet:
        example = min(output.glob("world/clips/*/amnesiac/0"))
        print_lines(
            [
                "",
                "A camera that does not do as it is told puts nothing to the test, however consistent the picture is.",
                f"See a clip:        lookaway world show {example}",
                f"See every number:  lookaway show {output / 'run'}",
            ]
        )
