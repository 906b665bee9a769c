"""`lookaway drift`."""

from __future__ import annotations

import math
from pathlib import Path

import click

from lookaway.cli.options import PLACE, json_option


def split_levels(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> dict[str, float]:
    """Metrics and the values that an equals sign joins to them."""
    levels = {}
    for text in value:
        name, _, number = (part.strip() for part in text.partition("="))
        try:
            level = float(number)
        except ValueError:
            level = math.nan
        if not name or not math.isfinite(level):
            raise click.BadParameter(f"{text!r} is not METRIC=VALUE, such as ssim=0.2.")
        levels[name] = level
    return levels


@click.command("drift")
@click.argument("run", type=PLACE)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Only this metric, by its whole name or the last part; can be repeated.",
)
@click.option(
    "--bin", "bin_width", type=click.IntRange(min=1), metavar="FRAMES", help="Width of a bin; by default about 20 bins."
)
@click.option(
    "--towards",
    multiple=True,
    callback=split_levels,
    metavar="METRIC=VALUE",
    help="Value at which nothing is left, such as that of unrelated videos; by default the metric's worst, or 0 on the "
    "way there. Can be repeated.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File to write as well: .csv, .parquet or .md.")
@json_option
def drift_command(
    run: Path,
    metrics: tuple[str, ...],
    bin_width: int | None,
    towards: dict[str, float],
    output: Path | None,
    as_json: bool,
) -> None:
    """Print how the metrics of RUN change with the frames since the mark, and after how many half is lost.

    For metrics that give every frame a value. Each bin has its mean, its 95 % interval, and how many rollouts reach
    it; `change` holds them against their own first bin, so that clips that end earlier cannot move it.

    The half-life is the first frame at which the mean is half-way from the first bin to the value at which nothing is
    left.
    """
    from lookaway.engine.run import Run
    from lookaway.reports.drift import drifts, print_drifts, write_drifts
    from lookaway.reports.numbers import print_lines

    shown = Run(run)
    found = drifts(shown, metrics, bin_width=bin_width, towards=towards)
    if output is not None:
        write_drifts(shown, found, output)
    print_drifts(shown, found, as_json=as_json)
    if output is not None and not as_json:
        print_lines([f"Wrote {output}"])
