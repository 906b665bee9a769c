"""MIND: memory and action control of world models that continue a video."""

from lookaway.suites.mind.suite import Mind

__all__ = ["Mind"]
