"""Evaluations on Ray as processes of their own, which tests watch and kill."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]
SECONDS_TO_GO = 20
WORKER, AGENTS = "ray::_Worker", ("ray::DashboardAgent", "ray::RuntimeEnvAgent")
"""Ray's own agents notice after a minute that the rest is gone, and go as well."""


@contextmanager
def ray_folder() -> Iterator[dict[str, str]]:
    """Environment variables under which Ray keeps its files in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:  # short, for its sockets
        yield {"RAY_TMPDIR": folder}


def start(*arguments: object, env: Mapping[str, str], cwd: Path = ROOT) -> subprocess.Popen[str]:
    """`lookaway ARGUMENTS` with the suite that takes its time; it is not waited for."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.lightness_suite", *map(str, arguments)],
        env=environment(env),
        cwd=cwd,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def environment(more: Mapping[str, str]) -> dict[str, str]:
    """Environment variables of a process that finds the tests' own modules, and joins no cluster unless told to."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "RAY_ADDRESS": "", **more}


def ended(process: subprocess.Popen[str], seconds: float = 180) -> tuple[int, str]:
    """Exit code of a command, and what it said of errors."""
    errors = process.communicate(timeout=seconds)[1]
    return process.returncode, errors


def descendants(process: int) -> list[psutil.Process]:
    """All that a process has started, directly or not."""
    try:
        return psutil.Process(process).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def workers(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that measure rollouts."""
    return [process for process in processes if _title(process).startswith(WORKER)]


def kill_with_ray(driver: subprocess.Popen[str]) -> list[str]:
    """Kill a driver at once; returns what it had started and is still there some seconds later, but for the agents."""
    started = {process: _title(process) for process in descendants(driver.pid)}
    driver.kill()
    driver.communicate()
    agents = [process for process, title in started.items() if title in AGENTS]
    _, left = psutil.wait_procs(started.keys() - set(agents), timeout=SECONDS_TO_GO)
    for process in (*left, *agents):
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs([*left, *agents], timeout=SECONDS_TO_GO)
    return [started[process] for process in left]


def _title(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline()[:1]).strip()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return ""
