"""Options that several suites share."""

from __future__ import annotations

from typing import Final

from lookaway.core import Option

ALLOW_OUTSIDE: Final = Option(
    name="allow_outside", type=bool, help="Allow files that lie outside the dataset's folder."
)
EXTRINSICS_CONVENTION: Final = Option(
    name="extrinsics_convention",
    choices=("world_to_camera", "camera_to_world"),
    moves_numbers=True,
    help="What supplied pose matrices turn into what; by default as the dataset says, else decided by a test.",
)
