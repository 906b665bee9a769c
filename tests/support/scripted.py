"""A suite, an extractor and a metric that do what a test tells them, and count what is done to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from lookaway.core import (
    Abstention,
    BoundMetric,
    Dataset,
    Extractor,
    ExtractorBase,
    Feature,
    Features,
    Frame,
    FrameRequest,
    Group,
    Option,
    Outcome,
    Rollout,
    Score,
    Table,
    Timeline,
    Unit,
    plugins,
)
from lookaway.statistics.cells import mean_cells
from lookaway.suites.folder import Folder

CALLS: Counter[str] = Counter()
"""How often an extractor was loaded, started, given a frame, or finished, by `name.step`."""
CRASHES: dict[str, Exception] = {}
"""What an extractor raises at a step, by `name.step`."""
ANSWERS: dict[str, Callable[[Rollout], Any]] = {}
"""What a metric of a name answers instead of measuring; it may raise, or return nonsense."""


@dataclass(frozen=True)
class Brightness(ExtractorBase):
    """Mean brightness of every frame."""

    name: str = "brightness"
    seconds_per_frame: ClassVar[float] = 0.001
    bytes_per_frame: ClassVar[float] = 8.0

    weight: float = 1.0
    from_features: tuple[Extractor, ...] = ()

    @property
    def needs(self) -> Mapping[str, Extractor]:
        return {need.name: need for need in self.from_features}

    def step(self, name: str) -> None:
        CALLS[f"{self.name}.{name}"] += 1
        if (error := CRASHES.get(f"{self.name}.{name}")) is not None:
            raise error

    def load(self) -> Brightness:
        self.step("load")
        return self

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> _BrightnessExtraction:
        self.step("start")
        return _BrightnessExtraction(self, FrameRequest(frozenset(range(timeline.frame_count)), 16))


@dataclass
class _BrightnessExtraction:
    recipe: Brightness
    request: FrameRequest
    means: list[float] = field(default_factory=list)

    def add_frame(self, frame: Frame) -> None:
        self.recipe.step("add_frame")
        self.means.append(float(frame.pixels.mean()) * self.recipe.weight)

    def finish(self) -> Feature:
        self.recipe.step("finish")
        return Feature({"means": np.array(self.means)}, {"frames": len(self.means)})


@dataclass(frozen=True)
class MeanBrightness:
    """The mean over frames, one unit per half of the clip."""

    name: str = "mean_brightness"
    version: ClassVar[int] = 1
    unit: ClassVar[str] = "score"
    raw_unit: ClassVar[str | None] = "grey level"
    range: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)
    higher_is_better: ClassVar[bool] = True

    scale: float = 255.0
    needs: tuple[str, ...] = ("brightness",)
    uses: tuple[str, ...] = ()

    def declines(self, rollout: Rollout) -> Abstention | None:
        return None

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        CALLS[f"{self.name}.measure"] += 1
        if (answer := ANSWERS.get(self.name)) is not None:
            return answer(rollout)
        found = features.get("brightness")
        if found is None:
            return Score(0.0, detail={"without": "brightness"})
        means = found["means"]
        halves = {"first": means[: len(means) // 2], "second": means[len(means) // 2 :]}
        units = tuple(Unit(name, Score(float(half.mean()) / self.scale)) for name, half in halves.items())
        return Score(float(means.mean()) / self.scale, raw=float(means.mean()), units=units)


class Scripted:
    """Reads a folder of videos; its protocol is whatever the test says."""

    name: ClassVar[str] = "scripted"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "scripted by a test"
    options: ClassVar[tuple[Option, ...]] = Folder.options
    protocol: ClassVar[tuple[BoundMetric, ...]] = ()

    def recognises(self, root: Path) -> bool:
        return False

    def read(self, root: Path, options: Mapping[str, Any]) -> Dataset:
        return replace(Folder().read(root, options), suite=self.name)

    def metrics(self, settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
        return self.protocol

    def table(self, groups: Sequence[Group]) -> Table:
        return Table(suite=self.name, cells=mean_cells(groups))


def bound(name: str = "mean_brightness", recipe: Brightness | None = None, **fields: Any) -> BoundMetric:
    """A metric of the scripted protocol with its extractor."""
    metric = MeanBrightness(name=name, **fields)
    features = (*metric.needs, *metric.uses)
    return BoundMetric(name=name, metric=metric, recipes={feature: recipe or Brightness() for feature in features})


def install(monkeypatch: pytest.MonkeyPatch, kind: plugins.Kind, **targets: str) -> None:
    """Offer plugins of a kind beside those that are installed, until the test ends; targets are `module:name`."""
    for record in (CALLS, CRASHES, ANSWERS):
        record.clear()
    offers = dict(plugins._offers(kind))
    for name, target in targets.items():
        offers[name] = [EntryPoint(name, target, f"lookaway.{kind}")]
    known = plugins._offers
    monkeypatch.setattr(plugins, "_offers", lambda asked: offers if asked == kind else known(asked))


def script(monkeypatch: pytest.MonkeyPatch, *protocol: BoundMetric) -> None:
    """Install the scripted suite with a protocol; may be called again with another."""
    if "scripted" not in plugins.names("suites"):
        install(monkeypatch, "suites", scripted=f"{__name__}:Scripted")
    monkeypatch.setattr(Scripted, "protocol", protocol)
