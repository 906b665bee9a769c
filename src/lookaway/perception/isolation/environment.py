"""Virtual environments, each made once and then shared by all runs on a machine."""

from __future__ import annotations

import fcntl
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated
from uuid import uuid4

from lookaway.core import Json, MissingExtra, NoEnvironment, UserError, canonical_json, describe, digest
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


def lookaway_home() -> Path:
    """`$LOOKAWAY_HOME`, or `lookaway` in the user's cache."""
    if os.environ.get("LOOKAWAY_HOME"):
        return Path(os.environ["LOOKAWAY_HOME"]).expanduser().absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser().absolute() / "lookaway"


PIN = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9,._-]+\])?(==[A-Za-z0-9.!+_-]+| @ git\+https://\S+@[0-9a-f]{40})"
)
"""A version, or a commit; anything else could be another thing tomorrow."""
KEY_CHARACTERS = 24
HERE = "LOOKAWAY_ENVIRONMENT"
"""Variable that names the environment which a process is in."""


@dataclass(frozen=True, slots=True)
class Environment:
    """The packages that a network runs with. NumPy has to be among them, or be brought by them."""

    requirements: Annotated[tuple[str, ...], "packages, each pinned to a version or a commit"]
    bare: Annotated[tuple[str, ...], "packages that are installed without what they say they need"] = ()
    python: Annotated[str, "version of Python"] = "3.11"

    def __post_init__(self) -> None:
        for requirement in (*self.requirements, *self.bare):
            if not PIN.fullmatch(requirement):
                raise UserError(
                    f"{requirement!r} is not an exact pin. Write `name==version` or `name @ git+https://...@<commit>`."
                )
        if not re.fullmatch(r"3\.[0-9]+(\.[0-9]+)?", self.python):
            raise UserError(f"{self.python!r} is not a version of Python. Write one such as `3.11`.")

    @property
    def folder(self) -> Path:
        """Where it is, or will be."""
        key = digest({"environment": describe(self), "machine": platform.machine()})[:KEY_CHARACTERS]
        return lookaway_home() / "environments" / key

    @property
    def is_made(self) -> bool:
        """Whether it is there."""
        return (self.folder / "bin" / "python").exists()

    @classmethod
    def from_json(cls, value: Json) -> Environment:
        """As `describe` tells it."""
        return cls(tuple(value["requirements"]), tuple(value["bare"]), value["python"])

    def entry_command(self) -> str:
        """Command that makes the environment where it is not there yet, and goes on as Python in it."""
        described = shlex.quote(canonical_json(describe(self)))
        return f"{shlex.quote(sys.executable)} -P -m lookaway.perception.isolation.entry {described}"

    def ensure(self) -> Path:
        """Its Python; the environment is made where it is not there yet. One process makes it, others wait."""
        if not self.is_made:
            with _only_one(self.folder):
                if not self.is_made:
                    self._make()
        return self.folder / "bin" / "python"

    def _make(self) -> None:
        """Under another name first, so that an environment is complete or absent."""
        for left_over in (self.folder, *self.folder.parent.glob(f"{self.folder.name}.*.partial")):
            shutil.rmtree(left_over, ignore_errors=True)
        growing = self.folder.with_name(f"{self.folder.name}.{uuid4().hex}.partial")
        try:
            uv = partial(run_uv, folder=self.folder.parent)
            uv("venv", "--quiet", "--relocatable", "--python", self.python, str(growing))
            install = ("pip", "install", "--quiet", "--python", str(growing / "bin" / "python"))
            if self.requirements:
                uv(*install, *self.requirements)
            if self.bare:
                uv(*install, "--no-deps", *self.bare)
            growing.rename(self.folder)
        finally:
            shutil.rmtree(growing, ignore_errors=True)


def is_this_process_in(environment: Environment) -> bool:
    """Whether this very process has its packages."""
    here = os.environ.get(HERE)
    return here is not None and here == environment.folder.name


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """Wait until no other process is making this folder; the lock goes with the process that holds it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
