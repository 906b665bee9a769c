"""What draws and simulates here."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import version

from lookaway.world.graphics import load_mujoco


def software() -> dict[str, str]:
    """Versions of all that pixels depend on."""
    versions = {name: version(name) for name in ("lookaway", "mujoco", "numpy", "scipy")}
    return {**versions, "renderer": _renderer()}


@cache
def _renderer() -> str:
    """The graphics driver, which only tells its name while something can be drawn."""
    context = load_mujoco().GLContext(16, 16)
    context.make_current()
    opengl = import_module("OpenGL.GL")
    names = [opengl.glGetString(key).decode() for key in (opengl.GL_RENDERER, opengl.GL_VERSION)]
    context.free()
    return ", ".join(names)
