"""`lookaway calibrate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lookaway.cli.options import (
    COUNT,
    PATH,
    fps_option,
    json_option,
    parse_numbers,
    parse_seeds,
    print_note,
    protocol_option,
    size_option,
    split_names,
    use_option,
)
from lookaway.cli.run_options import chosen_judge, judge_options, prompts_option

if TYPE_CHECKING:
    from lookaway.world.rendering import CaseReport


@click.command("calibrate")
@click.option("-o", "--output", type=PATH, required=True, help="Folder to write or resume.")
@click.option("--suite", "suites", callback=split_names, default="", metavar="A,B", help="Suites to calibrate.")
@click.option(
    "--metrics",
    callback=split_names,
    default="",
    metavar="A,B",
    help="Metrics to calibrate; by default those of revisit.",
)
@click.option(
    "--families",
    callback=split_names,
    default="all",
    show_default=True,
    metavar="A,B",
    help="Families of scenes, or all.",
)
@click.option(
    "--events", callback=split_names, default="none", show_default=True, metavar="A,B", help="Events, or all."
)
@click.option(
    "--cameras",
    callback=split_names,
    default="yaw_left_60",
    show_default=True,
    metavar="A,B",
    help="Camera paths, or all.",
)
@click.option(
    "--faults", callback=split_names, default="all", show_default=True, metavar="A,B", help="Faults to inject, or all."
)
@click.option(
    "--severities", callback=parse_numbers, default="0.25,0.5,1", show_default=True, metavar="S,T",
    help="Severities of each fault, from 0 to 1.",
)  # fmt: skip
@click.option(
    "--changes", callback=split_names, default="all", show_default=True, metavar="A,B",
    help="Controls and nuisances that clean clips are measured under: names, or all.",
)  # fmt: skip
@click.option(
    "--look", default="clean", show_default=True, metavar="NAME",
    help="Look of all clips: clean, or generator_like, which is soft, warped and grainy.",
)  # fmt: skip
@click.option(
    "--seeds", callback=parse_seeds, default="0", show_default=True, metavar="0,3,10-19", help="Seeds of the scenes."
)
@size_option
@fps_option
@click.option("--seconds", type=float, default=3.0, show_default=True, help="Length of a clip.")
@click.option(
    "--features", type=click.Choice(["shipped", "truth", "both"]), default="shipped", show_default=True,
    help="Extract features as shipped, read them from the ground truth where it has them, or both.",
)  # fmt: skip
@protocol_option
@use_option
@click.option("--workers", type=COUNT, default=1, show_default=True, help="Number of workers; more than one needs Ray.")
@click.option("--oracle", is_flag=True, help="Answer metrics that ask a judge from the ground truth.")
@judge_options
@prompts_option
@click.option("--quiet", is_flag=True, help="Print only errors.")
@json_option
def calibrate_command(output: Path, workers: int, quiet: bool, as_json: bool, **options: Any) -> None:
    """Measure what metrics see on clips of the simulated world, and write a card for each.

    Clips are rendered with every fault at every severity; clean clips are also measured as controls, such as a frozen
    video, and under nuisances, such as another encoding. The same command resumes; cards of other sizes, frame rates
    and metrics in the folder are kept. `which-metric.md` says what finds which fault, `card-matrix.svg` shows it, and
    `lookaway metrics --cards FOLDER` lists what each metric sees. Metrics that need a judge call the one named by
    --judge-model or LOOKAWAY_JUDGE_MODEL, or with --oracle one that knows the truth, as it does of clean clips whose
    frames come in another order, such as frozen ones, but of no other changes.
    """
    from lookaway.calibration.calibrate import calibrate
    from lookaway.core import Resources
    from lookaway.reports.metric_facts import card_row
    from lookaway.reports.metric_guide import write_guide
    from lookaway.reports.numbers import amount, print_rows
    from lookaway.reports.progress import progress_bar, rendering_bar

    plan = _plan(options)
    refused: list[str] = []
    is_shown = not (quiet or as_json)
    with (
        rendering_bar(sum(1 for _ in plan.grid.recipes(plan.form)), enabled=is_shown) as on_case,
        progress_bar(enabled=is_shown) as on_progress,
    ):

        def note_case(report: CaseReport) -> None:
            on_case(report)
            refused.extend(report.refused)

        found = calibrate(
            plan,
            output,
            executor="ray" if workers > 1 else "inline",
            resources=Resources(workers=workers),
            on_case=note_case,
            on_progress=on_progress,
        )
    write_guide(output, found.cards)
    if refused and not quiet:
        print_note(f"{amount(len(refused), 'clip')} cannot be rendered, such as {refused[0]}.")
    if not quiet:
        print_rows([card_row(card) for card in found.cards], as_json=as_json, right=("clean", "smallest difference"))


def _plan(options: dict[str, Any]) -> Any:
    from lookaway.calibration.calibrate import CalibrationPlan
    from lookaway.calibration.clip_changes import CHANGES, REORDERED
    from lookaway.world.cameras import CAMERAS
    from lookaway.world.events import EVENTS
    from lookaway.world.families import FAMILIES
    from lookaway.world.faults import FAULTS
    from lookaway.world.grid import Grid
    from lookaway.world.recipe import ClipRecipe

    def chosen(name: str, known: Any) -> tuple[str, ...]:
        names: tuple[str, ...] = options[name] or ()
        return tuple(known) if "all" in names else names

    height, width = options["size"]
    form = ClipRecipe(
        family="", event="none", camera="", seed=0, width=width, height=height, fps=options["fps"],
        seconds=options["seconds"],
    )  # fmt: skip
    grid = Grid(
        families=chosen("families", FAMILIES),
        events=chosen("events", EVENTS),  # type: ignore[arg-type]
        cameras=chosen("cameras", CAMERAS),
        seeds=options["seeds"],
        faults=chosen("faults", FAULTS),
        severities=options["severities"],
    )
    return CalibrationPlan(
        grid=grid,
        form=form,
        metrics=(*options["suites"], *options["metrics"]) or None,
        protocol=options["protocol"],
        features=("truth", "shipped") if options["features"] == "both" else (options["features"],),
        using=options["using"],
        changes=chosen("changes", REORDERED if options["oracle"] else CHANGES),
        look=options["look"],
        judge=_chosen_judge(options),
    )


def _chosen_judge(options: dict[str, Any]) -> Any:
    """The oracle, or the judge that options or the environment name, but not both."""
    from lookaway.calibration.measured_card import ORACLE
    from lookaway.core import UserError

    judge = chosen_judge(options)
    if not options["oracle"]:
        return judge
    if judge is not None:
        raise UserError(
            f"--oracle is given, and the judge {judge.model.model!r} as well. Leave one out: the judge comes from "
            "--judge-model, LOOKAWAY_JUDGE_MODEL or the file of --judge-file."
        )
    return ORACLE
