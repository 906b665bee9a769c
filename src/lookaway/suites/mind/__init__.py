"""MIND: memory and action control of world models that go on with a video."""

from lookaway.suites.mind.suite import Mind

__all__ = ["Mind"]
