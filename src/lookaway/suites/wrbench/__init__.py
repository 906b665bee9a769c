"""WRBench: events that go on while the camera looks away, on Natural-25 or one's own families."""

from lookaway.suites.wrbench.suite import WrBench

__all__ = ["WrBench"]
