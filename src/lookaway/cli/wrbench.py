"""`lookaway wrbench`: tables, contrasts and failures of runs of WRBench, and people's verdicts on pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lookaway.cli.options import FOLDER_OR_URL, PATH, json_option, pairs_like

if TYPE_CHECKING:
    from lookaway.reports.wrbench.dimensions import DimensionRow, Protocol
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


protocol_option = click.option(
    "--protocol",
    type=click.Choice(["published", "corrected"]),
    default="published",
    show_default=True,
    help="Values and statistics: those of the published table, or repaired ones with our own intervals and marks.",
)


@click.group("wrbench")
def wrbench_command() -> None:
    """Analyse runs of WRBench, its published results, and human verdicts.

    Numbers of a run are computed from the rows that it stores; nothing is measured again.
    """


@wrbench_command.command("table")
@click.argument("source", type=FOLDER_OR_URL)
@protocol_option
@interface_option
@json_option
def table_command(source: Path, protocol: Protocol, interfaces: dict[str, str], as_json: bool) -> None:
    """Print support and all dimensions of every model of SOURCE: a run, or published results (.csv, .json).

    Published: plain means and their average, with † where fewer than 10 or less than 10 % are re-observed. Corrected:
    support has Wilson's interval, a mean with † is imprecise, and one of fewer than 10 values is not estimable, so that
    its model has no average. The best model of each viewpoint condition is marked, published also the second.
    """
    from lookaway.reports.wrbench.dimensions import print_dimension_rows

    print_dimension_rows(_model_rows(source, interfaces, protocol), protocol, as_json=as_json)


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
@protocol_option
@interface_option
@json_option
def slices_command(run: Path, factor: str, protocol: Protocol, interfaces: dict[str, str], as_json: bool) -> None:
    """Print the table of RUN for each value of a factor, such as each event: over all models, and for each model."""
    from lookaway.reports.wrbench.dimensions import print_dimension_rows
    from lookaway.reports.wrbench.factors import sliced_rows

    found = sliced_rows(_rollouts(run, interfaces, protocol), factor)
    print_dimension_rows([row for _, row in found], protocol, as_json=as_json, parts=[part for part, _ in found])


@wrbench_command.command("contrasts")
@click.argument("run", type=FOLDER_OR_URL)
@protocol_option
@json_option
def contrasts_command(run: Path, protocol: Protocol, as_json: bool) -> None:
    """Print how moving and changing the subject affects each dimension of RUN.

    Differences are over pairs of rollouts that differ in nothing else, with intervals and tests over scenes. The
    analysis of the paper is beside them: differences of means, with Wilcoxon's test over models.
    """
    from lookaway.reports.wrbench.factors import contrasts, print_contrasts

    print_contrasts(contrasts(_rollouts(run, {}, protocol)), as_json=as_json)


@wrbench_command.command("correlations")
@click.argument("source", type=FOLDER_OR_URL)
@protocol_option
@json_option
def correlations_command(source: Path, protocol: Protocol, as_json: bool) -> None:
    """Print correlations of support and all dimensions over the models of SOURCE: a run, or published results.

    Corrected, models whose number is not estimable are left out.
    """
    from lookaway.reports.wrbench.dimensions import dimension_correlations, print_correlations

    print_correlations(dimension_correlations(_model_rows(source, {}, protocol), protocol), as_json=as_json)


@wrbench_command.command("attribution")
@click.argument("run", type=FOLDER_OR_URL, required=False)
@click.option("--rules", is_flag=True, help="Print the rules instead; needs no run.")
@click.option("-o", "--output", type=PATH, help="Also write one row per rollout: .csv or .parquet.")
@protocol_option
@json_option
def attribution_command(run: Path | None, rules: bool, output: Path | None, protocol: Protocol, as_json: bool) -> None:
    """Print where the rollouts of RUN fail first, from the camera to the state after the return.

    Each rollout has one outcome: the camera did not move, the video is unreadable, the event is wrong while visible,
    the subject is never re-observed, it returned in the wrong place or in the wrong state, or all is correct. Shares
    have 95 % intervals (Wilson); `left` is the share that did not fail earlier. The report of RUN shows them as a
    funnel.
    """
    from lookaway.engine.run import Run
    from lookaway.reports.numbers import print_lines, print_rows
    from lookaway.reports.scored_rollouts import require_suite
    from lookaway.reports.wrbench.attribution import (
        attribution_rule_rows,
        attributions,
        print_attributions,
        write_attributions,
    )
    from lookaway.reports.wrbench.dimensions import SUITE, require_protocol

    if rules:
        print_rows(attribution_rule_rows(protocol), as_json=as_json)
        return
    if run is None:
        raise click.UsageError("Name a run, or print the rules with --rules.")
    measured = Run(run)
    require_suite(measured, SUITE)
    require_protocol(measured, protocol)
    rows = attributions(measured, protocol)
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
@protocol_option
@json_option
def pairs_command(
    pairs: Path,
    run: Path | None,
    tie_threshold: float | None,
    protocol: Protocol,
    as_json: bool,
    **named: dict[str, str],
) -> None:
    """Print how well raters agree in the table PAIRS, and how well scores predict their verdicts.

    PAIRS has one verdict per row (.csv, .json, .parquet). Missing and unknown values are errors.
    """
    from lookaway.reports.wrbench.pairs import pair_report, print_pair_reports, read_pairs

    for word, side in named["verdicts"].items():
        if side not in SIDES:
            raise click.BadParameter(f"{word}={side}: a verdict is one of {', '.join(SIDES)}.")
    words = {word: SIDES[side] for word, side in named["verdicts"].items()} or None
    scores = None if run is None else _run_scores(run, protocol)
    found = read_pairs(pairs, named["columns"], words)
    reports = [pair_report(name, own, scores, tie_threshold=tie_threshold) for name, own in found.items()]
    print_pair_reports(reports, as_json=as_json)


def _rollouts(run: Path, interfaces: dict[str, str], protocol: Protocol) -> list[FactoredRollout]:
    from lookaway.engine.run import Run
    from lookaway.reports.wrbench.factors import factored_rollouts

    return factored_rollouts(Run(run), interfaces, protocol)


def _model_rows(source: Path, interfaces: dict[str, str], protocol: Protocol) -> Sequence[DimensionRow]:
    from lookaway.io.object_storage import is_remote

    if not is_remote(source) and source.is_file():
        from lookaway.reports.wrbench.published import read_published_models

        if interfaces:
            raise click.UsageError("Published results name the interface of every model; --interface is for runs.")
        return read_published_models(source)
    from lookaway.reports.wrbench.factors import dimension_rows

    return dimension_rows(_rollouts(source, interfaces, protocol))


def _run_scores(run: Path, protocol: Protocol) -> Scores:
    from lookaway.reports.wrbench.factors import run_scores

    return run_scores(_rollouts(run, {}, protocol))
