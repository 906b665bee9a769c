from __future__ import annotations

import os
import subprocess
import sys

import pytest

PACKAGES = ("libegl1", "libgl1-mesa-dri", "libopengl0")
LOAD = """
import sys
from OpenGL.platform import ctypesloader
load = ctypesloader.loadLibrary
def without(loader, name, *args, **options):
    return None if name in sys.argv[1:] else load(loader, name, *args, **options)
ctypesloader.loadLibrary = without
from lookaway.core import UserError
from lookaway.world.graphics import load_mujoco
try:
    load_mujoco()
except UserError as error:
    print(error)
"""


@pytest.mark.parametrize("missing", [("OpenGL", "GL"), ("EGL",)], ids="+".join)
def test_a_missing_graphics_library_is_an_error_that_names_every_package_to_install(missing):
    """In a process of its own, since modules that were imported once stay."""
    # A test that drew in this process has chosen the platform, which would be loaded before the loader is replaced.
    chosen = {"MUJOCO_GL", "PYOPENGL_PLATFORM"}
    variables = {name: value for name, value in os.environ.items() if name not in chosen}
    command = [sys.executable, "-c", LOAD, *missing]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=variables)
    assert all(package in done.stdout for package in PACKAGES), done.stdout
