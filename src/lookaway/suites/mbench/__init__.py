"""MBench: memory of long-video world models, action-conditioned (A) and text-conditioned (T)."""

from lookaway.suites.mbench.suite import MBenchA, MBenchT

__all__ = ["MBenchA", "MBenchT"]
