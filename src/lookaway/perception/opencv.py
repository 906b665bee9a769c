"""OpenCV, set up as a worker needs it."""

from __future__ import annotations

from types import ModuleType


def load_opencv() -> ModuleType:
    """Import OpenCV with one thread: workers are parallel over rollouts, and threads would only fight each other."""
    import cv2

    cv2.setNumThreads(1)
    return cv2
