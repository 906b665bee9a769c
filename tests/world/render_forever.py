"""Renders clips until it is killed: `python -m tests.world.render_forever FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.world import render_small

if __name__ == "__main__":
    for seed in range(1000):
        render_small(Path(sys.argv[1]), seeds=(seed,), faults=("vanish", "layout_change"), severities=(1.0,))
