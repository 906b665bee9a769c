"""A progress bar with the time that is left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from lookaway.engine.evaluate import Progress


@contextmanager
def progress_bar(*, enabled: bool) -> Iterator[Callable[[Progress], None]]:
    """A function to call with every step; on standard error, so that tables can be piped, and only for people."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=console, disable=not (enabled and console.is_terminal), transient=True) as bar:
        task = bar.add_task("measuring", total=None)

        def show(progress: Progress) -> None:
            description = f"measuring ({progress.failures} failed)" if progress.failures else "measuring"
            bar.update(task, completed=progress.done, total=progress.total, description=description)

        yield show
