"""A progress bar with the time that is left; in logs, a line every few seconds."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from lookaway.engine.session import Progress
from lookaway.engine.timings import ACTIVITY, IDLE
from lookaway.reports.numbers import duration, visible
from lookaway.world.rendering import CaseReport

WINDOW_SECONDS = 180.0
"""Older speeds say little about the rest of the run."""
APART_SECONDS = 0.5
"""Between two moments that are remembered."""


@dataclass(slots=True)
class Pace:
    """Rollouts a second over the last minutes, from the first that was finished: before it, networks were loaded."""

    _moments: deque[tuple[float, int]] = field(default_factory=deque)
    """Seconds since the start, and rollouts finished by then."""
    _last: tuple[float, int] | None = None

    def note(self, seconds: float, done: int) -> None:
        """So many are finished after so many seconds."""
        if not done:
            return
        self._last = (seconds, done)
        if not self._moments or seconds - self._moments[-1][0] >= APART_SECONDS:
            self._moments.append(self._last)
        while len(self._moments) > 1 and self._moments[1][0] <= seconds - WINDOW_SECONDS:
            self._moments.popleft()

    def per_second(self, now: float | None = None) -> float | None:
        """`None` as long as too little is known; `now` counts the time since something was last finished."""
        if self._last is None:
            return None
        seconds, done = self._last[0] - self._moments[0][0], self._last[1] - self._moments[0][1]
        if not done or seconds <= 0:
            return None
        between = seconds / done
        overdue = max(0.0, (now or 0.0) - self._last[0] - between)
        return done / (seconds + overdue)

    def seconds_left(self, total: int, now: float | None = None) -> float | None:
        """Until all are finished, at this pace."""
        rate = self.per_second(now)
        if rate is None or self._last is None:
            return None
        since = max(0.0, (now or 0.0) - self._last[0])
        return max(0.0, (total - self._last[1]) / rate - min(since, 1 / rate))


SHOWN_STAGES = 3
"""How many of the slowest stages are shown."""


def pace_parts(progress: Progress, pace: Pace, seconds: float) -> list[str]:
    """Rollouts a second and the time that is left, as far as they are known."""
    rate, left = pace.per_second(seconds), pace.seconds_left(progress.total, seconds)
    if rate is None or left is None:
        return []
    speed = f"{rate:.3g} rollouts/s" if rate >= 1 else f"{duration(1 / rate)} per rollout"
    return [speed, f"about {duration(left)} left"]


def stage_parts(progress: Progress) -> list[str]:
    """The slowest stages, each with its share of the time and its speed; cached features and retried batches."""
    stages = [
        (name, stage) for name, stage in progress.timings.stages.items() if name not in IDLE and stage.seconds > 0
    ]
    whole = sum(stage.seconds for _, stage in stages)
    slowest = sorted(stages, key=lambda entry: -entry[1].seconds)[:SHOWN_STAGES]
    parts = []
    for name, stage in slowest:
        speed = f" at {stage.frames / stage.seconds:.3g} frames/s" if stage.frames else ""
        parts.append(f"{name} {stage.seconds / whole:.0%}{speed}")
    kept = progress.timings.kept
    parts += [f"{kept} features from the cache"] if kept else []
    parts += [f"{progress.retries} batches retried"] if progress.retries else []
    return [*parts, *([f"Ray dashboard {progress.dashboard}"] if progress.dashboard else [])]


BAR_WIDTH = 24
LINE_SECONDS, MAX_LINE_SECONDS = 5.0, 60.0
"""Between two lines in a log: at first, and after hours."""
LINES_APART = 0.05
"""Between two lines, as a part of the time so far."""
SILENT = "LOOKAWAY_NO_PROGRESS"
"""The variable that keeps all commands from showing their progress, also those without an option for it."""


def is_shown(*, enabled: bool) -> bool:
    """Whether progress is shown: where it is wanted, and no variable forbids it."""
    return enabled and not os.environ.get(SILENT)


@contextmanager
def progress_bar(*, enabled: bool) -> Iterator[Callable[[Progress], None]]:
    """The progress of an evaluation, on standard error, so that tables can be piped.

    On a terminal it is a live bar; elsewhere, as in a log, a line every few seconds, and fewer as a run takes longer.
    """
    console = Console(stderr=True)
    view = _View()
    if not is_shown(enabled=enabled):
        yield lambda progress: None
    elif console.is_terminal:
        with Live(_Screen(view), console=console, transient=True, refresh_per_second=4):
            yield view.note
    else:
        with _lines(view.line):
            yield view.note


@dataclass(slots=True)
class _View:
    """The last reported progress of a run."""

    progress: Progress | None = None
    pace: Pace = field(default_factory=Pace)
    stages: str = ""
    """Formatted when progress is reported, because the timings keep changing."""
    _reported: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    """Progress is reported in one thread and shown in another."""

    def note(self, progress: Progress) -> None:
        with self._lock:
            self.progress, self._reported = progress, time.perf_counter()
            self.pace.note(progress.seconds, progress.done)
            self.stages = ", ".join(stage_parts(progress))

    def beside(self) -> str:
        """Time, pace, time that is left, and failures, at this moment."""
        with self._lock:
            if self.progress is None:
                return ""
            seconds = self.progress.seconds + time.perf_counter() - self._reported
            failed = [f"{self.progress.failures} failed"] if self.progress.failures else []
            return ", ".join([duration(seconds), *pace_parts(self.progress, self.pace, seconds), *failed])

    def line(self) -> str:
        """Everything in one line, for logs; empty before the first report."""
        progress, beside = self.progress, self.beside()
        if progress is None:
            return ""
        counted = f"measuring: {progress.done} of {progress.total} rollouts, {beside}"
        return "; ".join(part for part in (counted, self.stages, self.now()) if part)

    def now(self) -> str:
        """The rollout that this process measures, and how far it is; empty where others measure."""
        is_over = self.progress is None or self.progress.done == self.progress.total
        return "" if is_over or not ACTIVITY.text else f"now {ACTIVITY.text}"


@dataclass(frozen=True, slots=True)
class _Screen:
    """A bar, how fast it goes, and below it what the workers spend their time on."""

    view: _View

    def __rich__(self) -> RenderableType:
        progress = self.view.progress
        if progress is None:
            return Text("reading the dataset")
        line = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=progress.total, completed=progress.done, width=BAR_WIDTH)
        line.add_row("measuring", bar, f"{progress.done}/{progress.total}", self.view.beside())
        below = [
            Text(visible(text), style="dim", overflow="fold") for text in (self.view.stages, self.view.now()) if text
        ]
        return Group(line, *below)


@contextmanager
def _lines(line_of: Callable[[], str]) -> Iterator[None]:
    """A thread that writes a line every few seconds, also while one clip takes long."""
    is_over, started = threading.Event(), time.perf_counter()

    def pause() -> float:
        return min(max(LINE_SECONDS, LINES_APART * (time.perf_counter() - started)), MAX_LINE_SECONDS)

    def write() -> None:
        console = Console(stderr=True, soft_wrap=True)
        while not is_over.wait(pause()):
            if line := line_of():
                console.print(Text(visible(line)))

    thread = threading.Thread(target=write, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@contextmanager
def rendering_bar(total: int, *, enabled: bool) -> Iterator[Callable[[CaseReport], None]]:
    """The progress bar of rendering so many clips."""
    with counting_bar("rendering", total, enabled=enabled) as advance:
        yield lambda report: advance(report.clips)


@contextmanager
def counting_bar(what: str, total: int | None, *, enabled: bool) -> Iterator[Callable[[int], None]]:
    """A progress bar that is told how many more clips are done; `None` where the total is not known.

    Where standard error is no terminal, a line every few seconds.
    """
    console = Console(stderr=True)
    if not is_shown(enabled=enabled):
        yield lambda count: None
        return
    if not console.is_terminal:
        counted = _Count(what, total)
        with _lines(counted.line):
            yield counted.add
        return
    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda count: bar.advance(task, count)


@dataclass(slots=True)
class _Count:
    """How many clips are done, in words; nothing once all are, since something else goes on then."""

    what: str
    total: int | None
    done: int = 0
    _started: float = field(default_factory=time.perf_counter)

    def add(self, count: int) -> None:
        self.done += count

    def line(self) -> str:
        if self.done == self.total:
            return ""
        of = "" if self.total is None else f" of {self.total}"
        return f"{self.what}: {self.done}{of} clips, {duration(time.perf_counter() - self._started)}"
