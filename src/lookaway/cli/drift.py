"""`lookaway drift`."""

from __future__ import annotations

import math
from pathlib import Path

import click

from lookaway.cli.options import COUNT, FOLDER_OR_URL, PATH, json_option


def split_levels(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> dict[str, float]:
    """Parse METRIC=VALUE pairs."""
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
@click.argument("run", type=FOLDER_OR_URL)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Only this metric, by its full name or the last part of it; can be repeated.",
)
@click.option("--bin", "bin_width", type=COUNT, metavar="FRAMES", help="Width of a bin; by default about 20 bins.")
@click.option(
    "--towards",
    multiple=True,
    callback=split_levels,
    metavar="METRIC=VALUE",
    help="Value of a metric when all memory is lost, such as that of unrelated videos; can be repeated. By default its "
    "worst value, or 0 for a similarity that may be negative; a metric without either has no half-life.",
)
@click.option("-o", "--output", type=PATH, help="Also write a file: .csv, .parquet or .md.")
@json_option
def drift_command(
    run: Path,
    metrics: tuple[str, ...],
    bin_width: int | None,
    towards: dict[str, float],
    output: Path | None,
    as_json: bool,
) -> None:
    """Print how the metrics of RUN change over the frames of a rollout, and their half-life.

    For metrics with a value per frame. Each bin has its mean, its 95 % interval and the number of rollouts that reach
    it; `change` compares these rollouts with their own first bin, so shorter clips do not bias it.

    The half-life is the first frame at which the mean is half-way from the first bin to the value of lost memory.
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
