"""Where this package keeps what it makes on a machine."""

from __future__ import annotations

import os
from pathlib import Path


def lookaway_home() -> Path:
    """`$LOOKAWAY_HOME`, or `lookaway` in the user's cache."""
    if os.environ.get("LOOKAWAY_HOME"):
        return Path(os.environ["LOOKAWAY_HOME"]).expanduser().absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser().absolute() / "lookaway"
