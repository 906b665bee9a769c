"""OpenCV, set up as a worker needs it."""

from __future__ import annotations

from types import ModuleType


def load_opencv() -> ModuleType:
    """Import OpenCV with one thread: workers are parallel over rollouts, and threads would only fight each other."""
    import cv2

    cv2.setNumThreads(1)
    return cv2


def opencv_version() -> str:
    """The version of the module itself.

    Several packages install it, each over the other, so that the metadata of one of them may be of what is gone.
    """
    try:
        opencv = load_opencv()
    except ImportError:
        return "not installed"
    compiled: str = opencv.__version__
    packaged = getattr(getattr(opencv, "version", None), "opencv_version", compiled)  # has the build number as well
    return packaged if packaged.split(".")[:3] == compiled.split(".")[:3] else compiled
