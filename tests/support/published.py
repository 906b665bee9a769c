"""Metrics as suites bind them, for tests that compare a public name with its paper or its authors' code."""

from __future__ import annotations

from functools import cache

from lookaway.calibration.evidence import EVERYTHING
from lookaway.core import BoundMetric, plugins
from lookaway.engine.reading import load_suite


@cache
def _bound() -> dict[str, BoundMetric]:
    suites = [(name, EVERYTHING.get(name, {})) for name in plugins.names("suites")]
    return {bound.name: bound for suite, settings in suites for bound in load_suite(suite).metrics(settings)}


def published(name: str) -> BoundMetric:
    """What is measured under a public name, with every constant of the suite that has it."""
    return _bound()[name]
