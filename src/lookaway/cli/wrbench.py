"""`lookaway wrbench`: tables, contrasts and failures of runs of WRBench, and people's verdicts on pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lookaway.cli.options import FOLDER_OR_URL, PATH, json_option, pairs_like

if TYPE_CHECKING:
    from lookaway.reports.wrbench.dimensions import DimensionRow
    from lookaway.reports.wrbench.factors import FactoredRollout
    from lookaway.reports.wrbench.pairs import Scores

Command = TypeVar("Command", bound=Callable[..., Any])
SIDES = {"left": 1, "tie": 0, "right": -1}


def interface_option(command: Command) -> Command:
    """Add --interface."""
    return click.option(
        "--interface",
        "interfaces",
        multiple=True,
        callback=pairs_like("mine=prompt-only"),
        metavar="MODEL=INTERFACE",
        help="Interface of a model: what tells it where to look, such as mine=prompt-only; can be repeated. Those "
        "of WRBench's own models are known.",
    )(command)


@click.group("wrbench")
def wrbench_command() -> None:
    """Analyse runs of WRBench, its published results, and human verdicts.

    Numbers of a run are computed from the rows that it stores; nothing is measured again.
    """


@wrbench_command.command("table")
@click.argument("source", type=FOLDER_OR_URL)
@click.option("--as-published", is_flag=True, help="Print the means of the published table, with its daggers.")
@interface_option
@json_option
def table_command(source: Path, as_published: bool, interfaces: dict[str, str], as_json: bool) -> None:
    """Print support and all dimensions of every model of SOURCE: a run, or published results (.csv, .json).

    Support has Wilson's interval. A mean with † is imprecise; one of fewer than 10 values is not estimable, and its
    model then has no average. The best model of each viewpoint condition is marked. The last column has the average as
    published, with its dagger.
    """
    from lookaway.reports.wrbench.dimensions import print_dimension_rows, print_published_rows

    show = print_published_rows if as_published else print_dimension_rows
    show(_model_rows(source, interfaces), as_json=as_json)


@wrbench_command.command("slices")
@click.argument("run", type=FOLDER_OR_URL)
@click.option(
    "--by",
    "factor",
    type=click.Choice(["event", "moves", "changes", "camera", "interface", "family", "action"]),
    default="event",
    show_default=True,
    help="Factor to slice the table by.",
)
@interface_option
@json_option
def slices_command(run: Path, factor: str, interfaces: dict[str, str], as_json: bool) -> None:
    """Print the table of RUN for each value of a factor, such as each event: over all models, and for each model."""
    from lookaway.reports.wrbench.dimensions import print_dimension_rows
    from lookaway.reports.wrbench.factors import sliced_rows

    found = sliced_rows(_rollouts(run, interfaces), factor)
    print_dimension_rows([row for _, row in found], as_json=as_json, parts=[part for part, _ in found])


@wrbench_command.command("contrasts")
@click.argument("run", type=FOLDER_OR_URL)
@json_option
def contrasts_command(run: Path, as_json: bool) -> None:
    """Print how moving and changing the subject affects each dimension of RUN.

    Differences are over pairs of rollouts that differ in nothing else, with intervals and tests over scenes. The
    published analysis is shown with them: differences of means, with Wilcoxon's test over models.
    """
    from lookaway.reports.wrbench.factors import contrasts, print_contrasts

    print_contrasts(contrasts(_rollouts(run, {})), as_json=as_json)


@wrbench_command.command("correlations")
@click.argument("source", type=FOLDER_OR_URL)
@click.option("--as-published", is_flag=True, help="Use published numbers, including those that are not estimable.")
@json_option
def correlations_command(source: Path, as_published: bool, as_json: bool) -> None:
    """Print correlations of support and all dimensions over the models of SOURCE: a run, or published results."""
    from lookaway.reports.wrbench.dimensions import dimension_correlations, print_correlations

    print_correlations(dimension_correlations(_model_rows(source, {}), as_published=as_published), as_json=as_json)


@wrbench_command.command("attribution")
@click.argument("run", type=FOLDER_OR_URL, required=False)
@click.option("--rules", is_flag=True, help="Print the rules instead; needs no run.")
@click.option("-o", "--output", type=PATH, help="Also write one row per rollout: .csv or .parquet.")
@json_option
def attribution_command(run: Path | None, rules: bool, output: Path | None, as_json: bool) -> None:
    """Print where the rollouts of RUN fail first, from the camera to the state after the return.

    Each rollout has one outcome: the camera did not move, the video is unreadable, the event is wrong while visible,
    the subject is never re-observed, it returned in the wrong place or in the wrong state, or all is correct. Shares
    have 95 % intervals (Wilson); `left` is the share that did not fail earlier. The report of RUN shows them as a
    funnel.
    """
    from lookaway.engine.run import Run
    from lookaway.reports.numbers import print_lines, print_rows
    from lookaway.reports.wrbench.attribution import (
        attribution_rule_rows,
        attributions,
        print_attributions,
        write_attributions,
    )

    if rules:
        print_rows(attribution_rule_rows(), as_json=as_json)
        return
    if run is None:
        raise click.UsageError("Name a run, or print the rules with --rules.")
    rows = attributions(Run(run))
    if output is not None:
        write_attributions(rows, output)
    print_attributions(rows, as_json=as_json)
    if output is not None and not as_json:
        print_lines([f"Wrote {output}"])


@wrbench_command.command("pairs")
@click.argument("pairs", type=PATH)
@click.option("--run", type=FOLDER_OR_URL, help="Run whose scores are compared; videos are named by its rollout ids.")
@click.option(
    "--column",
    "columns",
    multiple=True,
    callback=pairs_like("pair=pair_id"),
    metavar="FIELD=COLUMN",
    help="Name of a column, such as pair=pair_id; can be repeated. Fields are pair, dimension, rater, verdict, left, "
    "right and scene; judgeable, left_score and right_score are optional.",
)
@click.option(
    "--verdict",
    "verdicts",
    multiple=True,
    callback=pairs_like("A=left"),
    metavar="WORD=SIDE",
    help="What a word in the table means: left, right or tie, such as A=left; can be repeated.",
)
@click.option(
    "--tie-threshold",
    type=click.FloatRange(min=0),
    help="Scores that differ by no more are a tie; by default chosen on half of the scenes, which are then left out.",
)
@json_option
def pairs_command(
    pairs: Path,
    run: Path | None,
    columns: dict[str, str],
    verdicts: dict[str, str],
    tie_threshold: float | None,
    as_json: bool,
) -> None:
    """Print how well raters agree in the table PAIRS, and how well scores predict their verdicts.

    PAIRS has one verdict per row (.csv, .json, .parquet). Missing and unknown values are errors.
    """
    from lookaway.reports.wrbench.pairs import pair_report, print_pair_reports, read_pairs

    for word, side in verdicts.items():
        if side not in SIDES:
            raise click.BadParameter(f"{word}={side}: a verdict is one of {', '.join(SIDES)}.")
    words = {word: SIDES[side] for word, side in verdicts.items()} or None
    scores = None if run is None else _run_scores(run)
    found = read_pairs(pairs, columns, words)
    reports = [pair_report(name, own, scores, tie_threshold=tie_threshold) for name, own in found.items()]
    print_pair_reports(reports, as_json=as_json)


def _rollouts(run: Path, interfaces: dict[str, str]) -> list[FactoredRollout]:
    from lookaway.engine.run import Run
    from lookaway.reports.wrbench.factors import factored_rollouts

    return factored_rollouts(Run(run), interfaces)


def _model_rows(source: Path, interfaces: dict[str, str]) -> Sequence[DimensionRow]:
    from lookaway.io.object_storage import is_remote

    if not is_remote(source) and source.is_file():
        from lookaway.reports.wrbench.published import read_published_models

        if interfaces:
            raise click.UsageError("Published results name the interface of every model; --interface is for runs.")
        return read_published_models(source)
    from lookaway.reports.wrbench.factors import dimension_rows

    return dimension_rows(_rollouts(source, interfaces))


def _run_scores(run: Path) -> Scores:
    from lookaway.reports.wrbench.factors import run_scores

    return run_scores(_rollouts(run, {}))
