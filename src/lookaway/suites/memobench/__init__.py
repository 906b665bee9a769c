"""MemoBench: whether what left the view comes back as it was, phase by phase."""

from lookaway.suites.memobench.suite import MemoBench

__all__ = ["MemoBench"]
