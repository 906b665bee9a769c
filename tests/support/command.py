"""Runs the command line in this process, as a user would type it."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from typing import Any

from lookaway.cli.main import lookaway as command
from lookaway.cli.main import main


@dataclass(frozen=True)
class Result:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, parsed."""
        return json.loads(self.out)


def lookaway(*arguments: object) -> Result:
    """`lookaway ARGUMENTS`, its exit code and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(partial(command, [str(argument) for argument in arguments]))
        except SystemExit as leaving:
            code = leaving.code
    assert isinstance(code, int)
    return Result(code, out.getvalue(), err.getvalue())
