"""A progress bar with the time that is left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from lookaway.engine.session import Progress
from lookaway.world.rendering import CaseReport

Advance = Callable[[int, int, str], None]
"""To be called with what is done, with all there is to do, and with what is being done."""


@contextmanager
def _counting_bar(*, enabled: bool) -> Iterator[Advance]:
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
        task = bar.add_task("", total=None)

        def advance(done: int, total: int, doing: str) -> None:
            bar.update(task, completed=done, total=total, description=doing)

        yield advance


@contextmanager
def progress_bar(*, enabled: bool) -> Iterator[Callable[[Progress], None]]:
    """The bar of an evaluation."""
    with _counting_bar(enabled=enabled) as advance:

        def show(progress: Progress) -> None:
            doing = f"measuring ({progress.failures} failed)" if progress.failures else "measuring"
            advance(progress.done, progress.total, doing)

        yield show


@contextmanager
def rendering_bar(total: int, *, enabled: bool) -> Iterator[Callable[[CaseReport], None]]:
    """The bar of a set of so many clips."""
    done = 0
    with _counting_bar(enabled=enabled) as advance:
        advance(done, total, "rendering")

        def show(report: CaseReport) -> None:
            nonlocal done
            done += report.clips
            advance(done, total, "rendering")

        yield show
