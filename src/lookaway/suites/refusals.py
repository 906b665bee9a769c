"""Refuses options that a suite has no use for: ignored, they would promise numbers that nobody computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lookaway.core import UserError


def refuse_options(suite: str, options: Mapping[str, Any], names: tuple[str, ...]) -> None:
    """A `UserError` where one of these options was given."""
    for name in names:
        if options.get(name) not in (None, False):
            flag = f"--{name.replace('_', '-')}"
            raise UserError(f"The suite {suite!r} has no use for {flag}. Leave it out, or choose another with --suite.")
