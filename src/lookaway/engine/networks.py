"""Networks that several workers share: the worker decodes and sends the frames, another process looks at them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lookaway.core import Desk, Extractor, Feature, Features, Frame, FrameRequest, Perceiver, Pixels, Rollout, Timeline
from lookaway.engine.locking import recipe_key


def service_name(recipe: Extractor) -> str:
    """Recipes of one extractor share a service, unless their networks need environments of their own."""
    environment = getattr(recipe, "environment", None)
    return recipe.name if environment is None else f"{recipe.name} in {environment.folder.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What a network is told of a rollout before it sees a frame."""

    recipe: Extractor
    rollout: Rollout
    timeline: Timeline
    features: Features


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """A scene with the frames that the network asked for, scaled as it asked for them."""

    scene: Scene
    frames: Sequence[Frame]


@dataclass(slots=True)
class NetworkService:
    """Loads the networks of recipes, each once, and answers scenes with requests for frames, showings with features."""

    _perceivers: dict[str, Perceiver] = field(default_factory=dict)

    def __call__(self, request: Scene | Showing) -> Any:
        """Frames that are wanted; or the feature, and the seconds that it took."""
        if isinstance(request, Scene):
            return self._begin(request).request
        started = time.perf_counter()
        watch = self._begin(request.scene)
        for frame in request.frames:
            watch.see(frame)
        return watch.perceive(), time.perf_counter() - started

    def _begin(self, scene: Scene) -> Any:
        key = recipe_key(scene.recipe)
        if key not in self._perceivers:
            self._perceivers[key] = scene.recipe.load()
        return self._perceivers[key].begin(scene.rollout, scene.timeline, scene.features)


@dataclass(frozen=True, slots=True)
class RemotePerceiver:
    """An extractor whose network is elsewhere."""

    desk: Desk
    recipe: Extractor

    def begin(self, rollout: Rollout, timeline: Timeline, features: Features) -> RemoteWatch:
        """Ask the network which frames it wants to see."""
        scene = Scene(recipe=self.recipe, rollout=rollout, timeline=timeline, features=features)
        return RemoteWatch(self.desk, scene, self.desk(scene).result())


@dataclass(slots=True)
class RemoteWatch:
    """Gathers the frames that a network elsewhere asked for."""

    desk: Desk
    scene: Scene
    request: FrameRequest | None
    _frames: list[Frame] = field(default_factory=list)

    def see(self, frame: Frame) -> None:
        """Keep it until all are there: the decoder may use its memory for the next one."""
        partner = frame.partner and replace(frame.partner, pixels=_copied(frame.partner.pixels))
        self._frames.append(replace(frame, pixels=_copied(frame.pixels), partner=partner))

    def perceive(self) -> RemoteFeature:
        """Send them."""
        frames, self._frames = tuple(self._frames), []
        return RemoteFeature(self.desk(Showing(scene=self.scene, frames=frames)))


@dataclass(slots=True)
class RemoteFeature:
    """A feature that a network elsewhere is working on."""

    answer: Future[tuple[Feature, float]]
    seconds: float = 0.0
    """What it took there, once it is known."""

    def result(self) -> Feature:
        """Wait for it."""
        feature, self.seconds = self.answer.result()
        return feature


def _copied(pixels: Pixels) -> Pixels:
    return np.array(pixels)
