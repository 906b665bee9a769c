"""Revisit: does a place look the same when the camera comes back to it?"""

from lookaway.suites.revisit.suite import Revisit

__all__ = ["Revisit"]
