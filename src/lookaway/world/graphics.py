"""MuJoCo, without a display."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from lookaway.core import Floats, MissingExtra, UserError
from lookaway.world.nouns import Shape

THINNEST = 1e-5
"""Metres: MuJoCo takes no size of 0."""


def load_mujoco() -> Any:
    """The module, set up to draw in memory by Mesa's software renderer, whose pixels hang on no graphics card."""
    os.environ.setdefault("MUJOCO_GL", "egl")
    os.environ.setdefault("LIBGL_ALWAYS_SOFTWARE", "1")
    os.environ.setdefault("GALLIUM_DRIVER", "llvmpipe")
    try:
        import mujoco
    except ImportError as error:
        if error.name == "mujoco":
            raise MissingExtra("The simulated world", "world") from error
        raise UserError(f"MuJoCo cannot draw here: {error}. On Debian: apt install libegl1 libgl1-mesa-dri.") from error
    except AttributeError as error:  # what PyOpenGL raises where there is no EGL library
        raise UserError("MuJoCo finds no EGL library. On Debian: apt install libegl1 libgl1-mesa-dri.") from error
    return mujoco


def geom_type(mujoco: Any, shape: Shape) -> Any:
    """MuJoCo's word for a shape."""
    kinds = mujoco.mjtGeom
    return {
        "box": kinds.mjGEOM_BOX,
        "panel": kinds.mjGEOM_BOX,
        "cylinder": kinds.mjGEOM_CYLINDER,
        "ellipsoid": kinds.mjGEOM_ELLIPSOID,
        "capsule": kinds.mjGEOM_CAPSULE,
    }[shape]


def half_sizes(shape: Shape, size: Sequence[float] | Floats) -> tuple[float, float, float]:
    """MuJoCo's numbers for the full extents of a shape."""
    x, y, z = (max(float(side) / 2, THINNEST) for side in size)
    match shape:
        case "cylinder":
            return x, z, 0.0
        case "capsule":
            return x, max(z - x, THINNEST), 0.0
        case _:
            return x, y, z
