"""Networks that several workers share: the worker decodes and sends the frames, another process looks at them."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, ClassVar

from lookaway.core import (
    Extraction,
    Extractor,
    Feature,
    Features,
    Frame,
    FrameRequest,
    LoadedExtractor,
    Rollout,
    ServiceClient,
    Timeline,
    Unmeasurable,
    describe,
    digest,
)

KEY_CHARACTERS = 12


def service_name(recipe: Extractor) -> str:
    """Recipes of one extractor share a service, unless their networks need environments of their own."""
    if recipe.environment is None:
        return recipe.name
    return f"{recipe.name} in {digest(describe(recipe.environment))[:KEY_CHARACTERS]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameQuery:
    """What a network is told of a rollout before it sees a frame."""

    is_quick: ClassVar[bool] = True
    """Which frames are wanted is known at once, also while the network looks at those of another rollout."""

    recipe: Extractor
    rollout: Rollout
    timeline: Timeline
    features: Features


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameBatch:
    """A scene with the frames that the network asked for, scaled as it asked for them."""

    scene: FrameQuery
    frames: Sequence[Frame]


@dataclass(frozen=True, slots=True)
class FrameReply:
    """The frames that a network wants to see of a scene."""

    request: FrameRequest | None
    loading_seconds: float
    """Spent on loading the network; zero where it was loaded before."""


@dataclass(frozen=True, slots=True)
class FeatureReply:
    """What a network made of a showing."""

    feature: Feature
    seconds: float
    loading_seconds: float


@dataclass(slots=True)
class NetworkService:
    """Loads the networks of recipes, each once, and answers scenes with requests for frames, showings with features."""

    _loaded: dict[Extractor, LoadedExtractor | Unmeasurable] = field(default_factory=dict)
    _turn: threading.Lock = field(default_factory=threading.Lock)
    """Scenes and showings come in threads of their own."""

    def __call__(self, request: FrameQuery | FrameBatch) -> FrameReply | FeatureReply:
        """Which frames are wanted; or what was seen in them."""
        if isinstance(request, FrameQuery):
            loaded, loading = self._load(request.recipe)
            return FrameReply(_start(loaded, request).request, loading)
        loaded, loading = self._load(request.scene.recipe)
        started = time.perf_counter()
        extraction = _start(loaded, request.scene)
        for frame in request.frames:
            extraction.add_frame(frame)
        feature: Any = extraction.finish()
        return FeatureReply(feature, time.perf_counter() - started, loading)

    def _load(self, recipe: Extractor) -> tuple[LoadedExtractor, float]:
        """With the seconds that it took just now; what kept it from loading is found out once, too."""
        started = time.perf_counter()
        with self._turn:
            is_new = recipe not in self._loaded
            if is_new:
                try:
                    self._loaded[recipe] = recipe.load()
                except Unmeasurable as error:
                    self._loaded[recipe] = error
            found = self._loaded[recipe]
        if isinstance(found, Unmeasurable):
            raise found
        return found, time.perf_counter() - started if is_new else 0.0


def _start(loaded: LoadedExtractor, scene: FrameQuery) -> Extraction:
    return loaded.start(scene.rollout, scene.timeline, scene.features)


@dataclass(frozen=True, slots=True)
class RemoteExtractor:
    """An extractor whose network is elsewhere."""

    client: ServiceClient
    recipe: Extractor

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> RemoteExtraction:
        """Ask the network which frames it wants to see."""
        scene = FrameQuery(recipe=self.recipe, rollout=rollout, timeline=timeline, features=features)
        wanted: FrameReply = self.client(scene).result()
        return RemoteExtraction(self.client, scene, wanted.request, wanted.loading_seconds)


@dataclass(slots=True)
class RemoteExtraction:
    """Gathers the frames that a network elsewhere asked for."""

    client: ServiceClient
    scene: FrameQuery
    request: FrameRequest | None
    loading_seconds: float
    _frames: list[Frame] = field(default_factory=list)

    def add_frame(self, frame: Frame) -> None:
        """Keep it until all are there."""
        self._frames.append(frame)

    def finish(self) -> RemoteFeature:
        """Send them."""
        frames, self._frames = tuple(self._frames), []
        return RemoteFeature(self.client(FrameBatch(scene=self.scene, frames=frames)), self.loading_seconds)


@dataclass(slots=True)
class RemoteFeature:
    """A feature that a network elsewhere is working on."""

    answer: Future[FeatureReply]
    loading_seconds: float = 0.0
    """Spent there on loading the network for it."""
    seconds: float = 0.0
    """What it took there, once it is known."""

    def result(self) -> Feature:
        """Wait for it."""
        seen = self.answer.result()
        self.seconds = seen.seconds
        self.loading_seconds += seen.loading_seconds
        return seen.feature
