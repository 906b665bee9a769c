"""Metrics as suites bind them, for tests that compare a public name with its paper or its authors' code."""

from __future__ import annotations

from functools import cache

from lookaway.core import BoundMetric, plugins
from lookaway.engine.reading import load_suite


@cache
def _bound() -> dict[str, BoundMetric]:
    return {bound.name: bound for suite in plugins.names("suites") for bound in load_suite(suite).metrics({})}


def published(name: str) -> BoundMetric:
    """What is measured under a public name, with every constant of the suite that has it."""
    return _bound()[name]
