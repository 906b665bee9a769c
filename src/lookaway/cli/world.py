"""`lookaway world`."""

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
    size_option,
    split_names,
)

if TYPE_CHECKING:
    from lookaway.core import Executor

EXIT_REFUSED = 2


@click.group("world")
def world_command() -> None:
    """Render clips of a simulated world with known ground truth and memory faults of known severity."""


@world_command.command("render")
@click.option("-o", "--output", type=PATH, required=True, help="Folder to write or resume.")
@click.option("--families", callback=split_names, metavar="A,B", help="Families of scenes; by default all.")
@click.option(
    "--events", callback=split_names, default="none", show_default=True, metavar="A,B", help="Events, or all."
)
@click.option(
    "--cameras",
    callback=split_names,
    default="yaw_right_60",
    show_default=True,
    metavar="A,B",
    help="Camera paths, or all.",
)
@click.option("--camera-file", type=PATH, help="File with a camera path of your own, instead of --cameras.")
@click.option("--faults", callback=split_names, default="", metavar="A,B", help="Faults to inject, or all.")
@click.option(
    "--severities", callback=parse_numbers, default="", metavar="S,T", help="Severities of each fault, from 0 to 1."
)
@click.option("--actors", callback=split_names, default="", metavar="A,B", help="Simulated models to render, or all.")
@click.option("--takes", type=COUNT, default=1, show_default=True, help="Clips of each actor per case.")
@click.option(
    "--seeds", callback=parse_seeds, default="0", show_default=True, metavar="0,3,10-19", help="Seeds of the scenes."
)
@size_option
@fps_option
@click.option("--seconds", type=float, default=3.0, show_default=True, help="Length of a clip.")
@click.option("--wait", type=float, default=1.0, show_default=True, help="Seconds during which the camera looks away.")
@click.option("--workers", type=COUNT, default=1, show_default=True, help="Number of workers; more than one needs Ray.")
@click.option("--quiet", is_flag=True, help="Print only errors.")
@json_option
def render_command(output: Path, workers: int, quiet: bool, as_json: bool, **options: Any) -> int:
    """Render every combination of families, events, cameras and seeds: without faults, with faults, and by actors.

    The same command resumes an interrupted set. Exits with 2 if some clips could not be rendered.
    """
    from lookaway.reports.progress import rendering_bar
    from lookaway.reports.world import print_reports
    from lookaway.world.rendering import render_set

    recipes = _recipes(options)
    with rendering_bar(len(recipes), enabled=not (quiet or as_json)) as on_case:
        reports = render_set(recipes, output, executor_of(workers), on_case)
    if not quiet:
        print_reports(output, reports, as_json=as_json)
    return EXIT_REFUSED if any(report.refused for report in reports) else 0


@world_command.command("perform")
@click.argument("control", type=PATH)
@click.option("-o", "--output", type=PATH, required=True, help="Folder of the clip.")
@click.option("--actor", default="perfect", show_default=True, help="Simulated model.")
@click.option("--take", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the simulated model.")
def perform_command(control: Path, output: Path, actor: str, take: int) -> None:
    """Generate the clip of CONTROL, a control.json that `lookaway cases export --for world` wrote."""
    from lookaway.world.performing import perform

    perform(control, output, actor, take)
    click.echo(f"Wrote {output / 'video.mp4'}")


@world_command.command("show")
@click.argument("clip", type=PATH)
@click.option("-o", "--output", type=PATH, help="PNG to write; by default sheet.png in CLIP.")
def show_command(clip: Path, output: Path | None) -> None:
    """Write a contact sheet of CLIP, a folder with a clip.json: frames, instances, depth, and the fault-free clip."""
    from lookaway.core import UserError
    from lookaway.io.world_clips import CARD, WorldClip
    from lookaway.reports.contact_sheet import write_contact_sheet
    from lookaway.world.recipe import PERFECT

    if not (clip / CARD).is_file():
        raise UserError(
            f"{clip}: there is no {CARD}; expected a clip that `lookaway world render` wrote, such as "
            "WORLD/clips/CASE/perfect/0."
        )
    shown = WorldClip.open(clip)
    remembered = clip.absolute().parents[1] / PERFECT / "0"
    clean = WorldClip.open(remembered) if shown.card.injections and remembered.is_dir() else None
    path = output or clip / "sheet.png"
    write_contact_sheet(shown, path, clean)
    click.echo(f"Wrote {path}")


@world_command.command("export")
@click.argument("world", type=PATH)
@click.option("--layout", required=True, help="Layout: mbench-a, mbench-t, mind, memobench or wrbench.")
@click.option("-o", "--output", type=PATH, required=True, help="Folder to write.")
def export_command(world: Path, layout: str, output: Path) -> None:
    """Write WORLD, a rendered set, in the layout of a benchmark, including poses."""
    from lookaway.reports.numbers import amount, print_lines
    from lookaway.world.exports import export_world

    report = export_world(world, layout, output)
    left_out = [f"left out: {reason}" for reason in report.left_out]
    print_lines([*left_out, f"Wrote {amount(report.written, 'clip')} to {output}"])


@world_command.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List families, events, cameras, faults and actors."""
    from lookaway.reports.numbers import print_rows
    from lookaway.reports.world import catalogue

    print_rows(catalogue(), as_json=as_json)


def executor_of(workers: int) -> Executor:
    """The inline executor for one worker, Ray for more."""
    from lookaway.core import Resources, plugins

    name = "ray" if workers > 1 else "inline"
    executor: Executor = plugins.load("executors", name)(Resources(workers=workers))
    return executor


def _recipes(options: dict[str, Any]) -> list[Any]:
    from lookaway.world.actors import ACTORS
    from lookaway.world.cameras import CAMERAS
    from lookaway.world.events import EVENTS
    from lookaway.world.families import FAMILIES
    from lookaway.world.faults import FAULTS
    from lookaway.world.free_paths import read_free_path
    from lookaway.world.grid import Grid
    from lookaway.world.recipe import ClipRecipe

    def chosen(name: str, known: Any) -> tuple[str, ...]:
        names: tuple[str, ...] = options.pop(name) or ()
        return tuple(known) if "all" in names else names

    height, width = options.pop("size")
    camera_file = options.pop("camera_file")
    free_path = read_free_path(camera_file) if camera_file else None
    form = ClipRecipe(
        family="",
        event="none",
        camera=free_path.id if free_path else "",
        free_path=free_path,
        seed=0,
        width=width,
        height=height,
        **{name: options.pop(name) for name in ("fps", "seconds", "wait")},
    )
    grid = Grid(
        families=chosen("families", FAMILIES) or tuple(FAMILIES),
        events=chosen("events", EVENTS),  # type: ignore[arg-type]
        cameras=(free_path.id,) if free_path else chosen("cameras", CAMERAS),
        faults=chosen("faults", FAULTS),
        actors=chosen("actors", ACTORS),
        seeds=options.pop("seeds"),
        severities=options.pop("severities"),
        takes=options.pop("takes"),
    )
    return list(grid.recipes(form))
