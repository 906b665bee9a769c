"""Seconds of the processor that this process and all that it started take, and the memory it holds."""

from __future__ import annotations

import threading
from pathlib import Path

import psutil  # type: ignore[import-untyped]

SAMPLE_SECONDS = 0.5


class ProcessorClock:
    """Runs while it is entered; looks often, since what a killed process took is forgotten with it."""

    def __init__(self) -> None:
        self._seconds: dict[psutil.Process, float] = {}
        self._before = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look_often, daemon=True)

    @property
    def seconds(self) -> float:
        """Taken until the last look."""
        return sum(self._seconds.values()) - self._before

    def __enter__(self) -> ProcessorClock:
        self._look()
        self._before = sum(self._seconds.values())
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()
        self._look()

    def _look_often(self) -> None:
        while not self._ended.wait(SAMPLE_SECONDS):
            self._look()

    def _look(self) -> None:
        own = psutil.Process()
        for process in (own, *own.children(recursive=True)):
            try:
                times = process.cpu_times()
            except psutil.NoSuchProcess:
                continue
            self._seconds[process] = times.user + times.system


def memory_bytes(name: str) -> int:
    """`VmRSS`, what this process holds now, or `VmHWM`, the most that it ever held."""
    words = Path("/proc/self/status").read_text().split()
    return int(words[words.index(f"{name}:") + 1]) * 1024
