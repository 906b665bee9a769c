"""`lookaway demo`."""

from __future__ import annotations

from pathlib import Path

import click

from lookaway.cli.options import COUNT, PATH, json_option, progress_option, tell
from lookaway.cli.world import executor_of

FAMILIES = ("playroom", "kitchen")
HEIGHT, WIDTH, FPS, SECONDS = 192, 336, 8, 2.25
"""Small, so that the demo takes a minute, and with cards, so that its report knows what its metrics see."""
METRICS = ("remembered", "changed_area", "light", "look", "moved", "copied", "return_error", "reach_missing")
"""Those that need no weights."""


@click.command("demo")
@click.option(
    "-o", "--output", type=PATH, default=Path("lookaway-demo"), show_default=True,
    help="Folder to write or resume."
)  # fmt: skip
@click.option("--workers", type=COUNT, default=1, show_default=True, help="Number of workers; more than one needs Ray.")
@click.option("--quiet", is_flag=True, help="No progress bar and no hints; only the tables.")
@progress_option
@json_option
def demo_command(output: Path, workers: int, quiet: bool, no_progress: bool, as_json: bool) -> None:
    """Render a small simulated world, evaluate six simulated models on it and write a report.

    Needs no weights, no network access and no GPU.
    """
    is_shown = not (quiet or no_progress or as_json)
    tell(f"rendering a world into {output}, then measuring six models on it", enabled=is_shown)
    from lookaway.engine.evaluate import evaluate
    from lookaway.reports.progress import progress_bar, rendering_bar
    from lookaway.reports.world import print_demo
    from lookaway.world.actors import ACTORS
    from lookaway.world.grid import Grid
    from lookaway.world.recipe import ClipRecipe
    from lookaway.world.rendering import render_set

    grid = Grid(families=FAMILIES, events=("none",), cameras=("yaw_left_60",), seeds=(0,), actors=tuple(ACTORS))
    form = ClipRecipe(family="", event="none", camera="", seed=0, width=WIDTH, height=HEIGHT, fps=FPS, seconds=SECONDS)
    recipes = list(grid.recipes(form))
    with rendering_bar(len(recipes), enabled=is_shown) as on_case:
        render_set(recipes, output / "world", executor_of(workers), on_case)
    with progress_bar(enabled=is_shown) as on_progress:
        run = evaluate(output / "world", output / "run", metrics=METRICS, new=True, on_progress=on_progress)
    print_demo(run, output, quiet=quiet, as_json=as_json)
