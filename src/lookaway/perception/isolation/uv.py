"""Calls uv."""

from __future__ import annotations

import subprocess
from pathlib import Path

from lookaway.core import MissingExtra, NoEnvironment
from lookaway.perception.isolation.variables import fit_to_show, uv_variables

LINES_SHOWN = 15


def run_uv(*arguments: str, folder: Path) -> None:
    """Run a command of uv to its end, in a folder where it finds no project whose settings it would heed."""
    try:
        from uv import find_uv_bin

        program = find_uv_bin()
    except (ImportError, FileNotFoundError) as error:
        raise MissingExtra("A network in an environment of its own", "isolated") from error
    done = subprocess.run(  # noqa: S603 - the program is uv's own, the arguments are ours
        [program, *arguments],
        cwd=folder,
        env=uv_variables(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        lines = fit_to_show(done.stdout).strip().splitlines()[-LINES_SHOWN:]
        raise NoEnvironment("\n".join([f"uv could not make an environment (exit code {done.returncode}):", *lines]))
