"""The command line with one more suite, whose only metric is cheap, or takes as long as a test wants to disturb it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

from lookaway.core import BoundMetric, Dataset, Features, MetricBase, Outcome, Rollout, Score, Unit, plugins
from lookaway.perception.isolation.environment import lookaway_home
from lookaway.perception.quality.lab_means import LabMeans
from lookaway.suites.folder import Folder

NAME = "lightness"
SECONDS = "LOOKAWAY_TEST_SECONDS"
"""Environment variable: what every rollout takes longer."""


@dataclass(frozen=True, slots=True)
class MeanLightness(MetricBase):
    """Mean lightness, with a unit for each half of the clip; says where the worker believes its caches to be."""

    name = NAME
    needs = ("lab_means",)

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        if seconds := os.environ.get(SECONDS):
            time.sleep(float(seconds))
        lightness = features["lab_means"]["lab"][:, 0] / 100
        halves = {"first": lightness[: len(lightness) // 2], "second": lightness[len(lightness) // 2 :]}
        units = tuple(Unit(name, Score(float(half.mean()))) for name, half in halves.items())
        return Score(float(lightness.mean()), units=units, detail={"home": str(lookaway_home())})


class Lightness(Folder):
    """A folder of videos."""

    name: ClassVar[str] = NAME

    def read(self, root: Path, options: Mapping[str, Any]) -> Dataset:
        """As any folder of videos."""
        return replace(super().read(root, options), suite=self.name)

    def metrics(self, settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
        """The one metric."""
        return (BoundMetric(name=NAME, metric=MeanLightness(), recipes={"lab_means": LabMeans(height=16)}),)


@contextmanager
def offered() -> Iterator[None]:
    """The suite can be found by its name, in this process, for as long as this lasts."""
    offers = plugins._offers("suites")
    offers[NAME] = [EntryPoint(NAME, "tests.support.lightness_suite:Lightness", "lookaway.suites")]
    try:
        yield
    finally:
        del offers[NAME]


if __name__ == "__main__":
    from lookaway.cli import main

    with offered():
        main()
