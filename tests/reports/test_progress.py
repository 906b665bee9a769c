"""One view of all workers: live for people, a line now and then for logs, nothing where nothing is wanted."""

from __future__ import annotations

import io
import threading
import time
from typing import Any

import pytest
from rich.console import Console

from lookaway.engine.session import Progress
from lookaway.engine.timings import Activity, StageTiming, StageTimings
from lookaway.reports import progress as module
from lookaway.reports.progress import Pace, counting_bar, pace_parts, progress_bar, stage_parts

EFFORT = StageTimings(
    {
        "sift": StageTiming(seconds=60.0, frames=600, kept=4),
        "decoding": StageTiming(seconds=30.0, frames=6000),
        "metrics": StageTiming(seconds=9.0, rollouts=3),
        "lab": StageTiming(seconds=1.0, frames=3),
        "waiting": StageTiming(seconds=1000.0),
    }
)


def told(done: int, **facts: Any) -> Progress:
    return Progress(**({"done": done, "total": 50, "failures": 0, "last": None, "seconds": float(done)} | facts))


class Written:
    """What is written to standard error, which is no terminal."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys, self._text = capsys, ""

    def getvalue(self) -> str:
        self._text += self._capsys.readouterr().err
        return self._text


@pytest.fixture
def written(capsys, monkeypatch) -> Written:
    monkeypatch.delenv("LOOKAWAY_NO_PROGRESS")
    monkeypatch.setattr(module, "LINE_SECONDS", 0.02)
    return Written(capsys)


def wait_for(stream: Written | io.StringIO, text: str) -> str:
    until = time.monotonic() + 10
    while text not in stream.getvalue() and time.monotonic() < until:
        time.sleep(0.005)
    return stream.getvalue()


def test_the_slowest_stages_are_named_with_their_part_and_their_speed():
    assert stage_parts(told(3, timings=EFFORT)) == [
        "sift 60% at 10 frames/s",
        "decoding 30% at 200 frames/s",
        "metrics 9%",
        "4 features from the cache",
    ]


def test_retries_and_the_dashboard_are_named_where_there_are_any():
    assert stage_parts(told(3, retries=2, dashboard="http://127.0.0.1:8265")) == [
        "2 batches retried",
        "Ray dashboard http://127.0.0.1:8265",
    ]
    assert stage_parts(told(3)) == []


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (0.5, ["2 rollouts/s", "about 24 s left"]),
        (100.0, ["1.7 min per rollout", "about 80.0 min left"]),
    ],
)
def test_pace_is_told_in_the_unit_that_fits_it(step, said):
    pace = Pace()
    for done in (1, 2):
        pace.note(step * done, done)
    assert pace_parts(told(2), pace, 2 * step) == said
    assert pace_parts(told(2), Pace(), 2 * step) == []


def test_a_log_has_a_line_now_and_then(written):
    with progress_bar(enabled=True) as show:
        show(told(10, failures=1, timings=EFFORT))
        first = wait_for(written, "10 of 50")
        show(told(20, timings=EFFORT))
        wait_for(written, "20 of 50")
    assert first.startswith("measuring: 10 of 50 rollouts, 10 s, 1 failed; sift 60% at 10 frames/s, decoding 30%")
    assert all(line.startswith("measuring: ") for line in written.getvalue().splitlines())
    assert "\x1b" not in written.getvalue()


def test_a_log_shows_life_while_one_rollout_takes_long(written):
    with progress_bar(enabled=True) as show:
        show(told(0))
        wait_for(written, "measuring: 0 of 50 rollouts, 0 s\nmeasuring: ")
    assert written.getvalue().count("0 of 50") > 1


def test_a_short_run_writes_nothing_to_a_log(written, monkeypatch):
    monkeypatch.setattr(module, "LINE_SECONDS", 30.0)
    with progress_bar(enabled=True) as show:
        show(told(50))
    assert written.getvalue() == ""


def test_nothing_is_written_where_no_progress_is_wanted(written):
    with progress_bar(enabled=False) as show:
        show(told(10))
        time.sleep(0.1)
    assert written.getvalue() == ""


def test_a_variable_silences_every_command(written, monkeypatch):
    monkeypatch.setenv("LOOKAWAY_NO_PROGRESS", "1")
    with progress_bar(enabled=True) as show, counting_bar("rendering", 12, enabled=True) as add:
        show(told(10))
        add(3)
        time.sleep(0.1)
    assert written.getvalue() == ""


def test_a_log_says_how_many_clips_are_rendered(written):
    with counting_bar("rendering", 12, enabled=True) as add:
        add(3)
        assert "rendering: 3 of 12 clips" in wait_for(written, "3 of 12")


def test_a_line_moves_inside_a_long_clip(written, monkeypatch):
    monkeypatch.setattr(module, "ACTIVITY", Activity())
    with progress_bar(enabled=True) as show:
        show(told(0))
        module.ACTIVITY.begin("m/kitchen/0", 300)
        module.ACTIVITY.frames += 120
        wait_for(written, "now m/kitchen/0 frame 120 of 300")
        module.ACTIVITY.stage = "sift_matches"
        assert "now m/kitchen/0 sift_matches" in wait_for(written, "now m/kitchen/0 sift")


def test_no_thread_is_left_when_a_run_ends_with_an_error(written):
    before = set(threading.enumerate())

    def interrupted() -> None:
        with progress_bar(enabled=True) as show:
            show(told(1))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert set(threading.enumerate()) == before


def test_words_of_others_are_no_commands_to_the_terminal(written):
    timings = StageTimings({"evil\x1b[31m[bold]": StageTiming(seconds=1.0)})
    with progress_bar(enabled=True) as show:
        show(told(1, timings=timings))
        text = wait_for(written, "evil")
    assert "evil\\x1b[31m[bold] 100%" in text


def test_people_see_a_bar_and_below_it_what_takes_the_time(monkeypatch):
    view = module._View()
    view.note(told(10, failures=2, timings=EFFORT, dashboard="http://127.0.0.1:8265"))
    view.note(told(20, failures=2, timings=EFFORT, dashboard="http://127.0.0.1:8265"))
    screen = io.StringIO()
    Console(file=screen, width=120, force_terminal=True, color_system=None).print(module._Screen(view))
    bar, below, *rest = screen.getvalue().splitlines()
    assert bar.startswith("measuring ━")
    assert "20/50 20 s, 1 rollouts/s, about 30 s left, 2 failed" in bar
    assert below.startswith("sift 60% at 10 frames/s, decoding 30% at 200 frames/s")
    assert "http://127.0.0.1:8265" in "".join((below, *rest))


def test_the_bar_is_live_on_a_terminal_and_gone_afterwards(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("LOOKAWAY_NO_PROGRESS")
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with progress_bar(enabled=True) as show:
        show(told(10, timings=EFFORT))
        assert "10/50" in wait_for(stream, "10/50")
    assert stream.getvalue().rstrip().endswith("\x1b[2K")  # the last thing done is to clear the line
