"""Installs a wheel where nothing else is installed, and runs the commands that a newcomer runs first.

    python -m release.check_install dist/*.whl

Once with pip in a new virtual environment, once with `uv tool run`, which is `uvx`. The demo runs in an empty folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

EXTRA = "world"


def run(command: list[str], folder: Path, home: Path) -> str:
    """Run a command in a folder without what this environment adds to it; returns what it prints."""
    sys.stdout.write(f"$ {' '.join(command)}\n")
    sys.stdout.flush()
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        command,
        cwd=folder,
        env={**environment, "LOOKAWAY_HOME": str(home)},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    sys.stdout.write(done.stdout)
    if done.returncode:
        sys.exit(f"It ended with exit code {done.returncode}, expected 0.")
    return done.stdout


def check_with_pip(wheel: Path, work: Path) -> None:
    """Install into a new virtual environment, then ask for the version and run the demo."""
    environment = work / "environment"
    venv.create(environment, with_pip=True)
    folder = work / "pip"
    folder.mkdir()
    pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, f"{wheel}[{EXTRA}]"], folder, work / "home")
    lookaway = str(environment / "bin" / "lookaway")
    version = wheel.name.split("-")[1]
    if version not in run([lookaway, "--version"], folder, work / "home").split():
        sys.exit(f"lookaway --version does not print {version}, the version of the wheel.")
    _demo([lookaway], folder, work / "home")


def check_with_uv(wheel: Path, work: Path) -> None:
    """Run the demo without installing anything, as `uvx` does."""
    folder = work / "uv"
    folder.mkdir()
    uvx = [sys.executable, "-m", "uv", "tool", "run", "--isolated", "--from", f"{wheel}[{EXTRA}]", "lookaway"]
    _demo(uvx, folder, work / "home")


def _demo(lookaway: list[str], folder: Path, home: Path) -> None:
    run([*lookaway, "demo"], folder, home)
    if not (folder / "lookaway-demo").is_dir():
        sys.exit("lookaway demo wrote no folder 'lookaway-demo'.")


def main(arguments: list[str]) -> None:
    """Check one wheel in both ways."""
    if len(arguments) != 1:
        sys.exit(f"Expected the path of one wheel, found {len(arguments)}. Remove old ones.")
    wheel = Path(arguments[0]).resolve()
    with tempfile.TemporaryDirectory() as work:
        check_with_pip(wheel, Path(work))
        check_with_uv(wheel, Path(work))


if __name__ == "__main__":
    main(sys.argv[1:])
