"""Options that several suites share."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from lookaway.core import Option

ALLOW_OUTSIDE: Final = Option(name="allow_outside", type=bool, help="Allow files outside the dataset's folder.")
EXTRINSICS_CONVENTION: Final = Option(
    name="extrinsics_convention",
    choices=("world_to_camera", "camera_to_world"),
    moves_numbers=True,
    help="Convention of supplied pose matrices; by default that of the dataset, else determined by a test.",
)
GROUND_TRUTH: Final = Option(
    name="ground_truth",
    type=Path,
    metavar="FOLDER",
    help="Folder of reference videos, if separate from the generated ones.",
)
PATTERN: Final = Option(name="pattern", help="Pattern of paths, such as '{model}/{case}/{seed}.mp4'.")
