"""Measures the values that `lookaway doctor` compares an installation with, and writes them into the package.

    python -m benchmarks.reference_values

Run it where the numbers of the documentation are made, whenever a constant of one of its metrics changes.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from lookaway.calibration.doctor import REFERENCE, make_reference, render_clips
from lookaway.io.files import write_json
from lookaway.reports.lock_explanations import TOLERANCES


def main() -> None:
    """Render, measure, write."""
    tolerances = {name: tolerance.value for name, tolerance in TOLERANCES.items()}
    with tempfile.TemporaryDirectory() as folder:
        world = render_clips(Path(folder) / "world")
        found = make_reference(world, Path(folder) / "run", tolerances)
    write_json(REFERENCE, found.model_dump(mode="json"))
    print(f"{REFERENCE}: {len(found.metrics)} metrics on {len(found.frames)} clips")


if __name__ == "__main__":
    main()
