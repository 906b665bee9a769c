"""MuJoCo, without a display."""

from __future__ import annotations

import os
from collections.abc import Sequence
from ctypes import ArgumentError
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

from lookaway.core import Floats, MissingExtra, Pixels, UserError
from lookaway.world.nouns import Shape

THINNEST = 1e-5
"""In metres; MuJoCo rejects a size of 0."""


def load_mujoco() -> Any:
    """MuJoCo, set up for off-screen software rendering, so that pixels do not depend on a graphics card."""
    os.environ.setdefault("MUJOCO_GL", "egl")
    os.environ.setdefault("LIBGL_ALWAYS_SOFTWARE", "1")
    os.environ.setdefault("GALLIUM_DRIVER", "llvmpipe")
    try:
        import mujoco
    except ImportError as error:
        if error.name == "mujoco":
            raise MissingExtra("The simulated world", "world") from error
        raise _cannot_draw(error) from error
    except (AttributeError, ArgumentError) as error:  # what PyOpenGL raises if a library of OpenGL is missing
        raise _cannot_draw(error) from error
    return mujoco


def _cannot_draw(error: Exception) -> UserError:
    return UserError(
        f"MuJoCo cannot render here: a library of OpenGL is missing ({error}). "
        "On Debian: apt install libegl1 libgl1-mesa-dri libopengl0."
    )


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
    """MuJoCo's size of a shape with these full extents."""
    x, y, z = (max(float(side) / 2, THINNEST) for side in size)
    match shape:
        case "cylinder":
            return x, z, 0.0
        case "capsule":
            return x, max(z - x, THINNEST), 0.0
        case _:
            return x, y, z


def software() -> dict[str, str]:
    """Versions of everything that pixels depend on."""
    versions = {name: version(name) for name in ("lookaway", "mujoco", "numpy", "scipy")}
    return {**versions, "renderer": _renderer()}


@cache
def _renderer() -> str:
    """Name of the graphics driver, known only while a context is current."""
    context = load_mujoco().GLContext(16, 16)
    context.make_current()
    opengl = import_module("OpenGL.GL")
    names = [opengl.glGetString(key).decode() for key in (opengl.GL_RENDERER, opengl.GL_VERSION)]
    context.free()
    return ", ".join(names)


def restyled(picture: Pixels, weight: float) -> Pixels:
    """The picture with stronger contrast and dark contours, by a weight from 0 (as it is) to 1."""
    if weight == 0:
        return picture
    values = picture.astype(np.float64)
    grey = values.mean(axis=2)
    slope = np.zeros_like(grey)
    slope[1:-1, 1:-1] = np.abs(grey[1:-1, 2:] - grey[1:-1, :-2]) + np.abs(grey[2:, 1:-1] - grey[:-2, 1:-1])
    contour = np.clip((slope - 24) / 60, 0, 1)[..., None]
    levels = np.rint(values / 51) * 51
    drawn = (128 + (levels - 128) * 1.25) * (1 - 0.8 * contour)
    return np.asarray(np.rint(np.clip(values * (1 - weight) + drawn * weight, 0, 255)), np.uint8)
