"""Networks that several workers share: a worker decodes and sends frames, another process runs the network."""

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
    """Recipes of one extractor share a service, unless their networks need different environments."""
    if recipe.environment is None:
        return recipe.name
    return f"{recipe.name} in {digest(describe(recipe.environment))[:KEY_CHARACTERS]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameQuery:
    """Asks a network which frames of a rollout it needs."""

    is_quick: ClassVar[bool] = True
    """Answered at once, even while the network runs on another rollout."""

    recipe: Extractor
    rollout: Rollout
    timeline: Timeline
    features: Features


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameBatch:
    """A query with the frames that the network requested, scaled as requested."""

    query: FrameQuery
    frames: Sequence[Frame]


@dataclass(frozen=True, slots=True)
class FrameReply:
    """The frames that a network requests."""

    request: FrameRequest | None
    loading_seconds: float
    """Time to load the network; zero if it was loaded before."""


@dataclass(frozen=True, slots=True)
class FeatureReply:
    """The feature of a batch of frames."""

    feature: Feature
    seconds: float
    loading_seconds: float


@dataclass(slots=True)
class NetworkService:
    """Loads the network of each recipe once; answers queries with frame requests, and batches with features."""

    _networks: dict[Extractor, LoadedExtractor | Unmeasurable] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    """Queries and batches come in different threads."""

    def __call__(self, request: FrameQuery | FrameBatch) -> FrameReply | FeatureReply:
        """The requested frames of a query, or the feature of a batch."""
        if isinstance(request, FrameQuery):
            network, loading = self._load(request.recipe)
            return FrameReply(_start(network, request).request, loading)
        network, loading = self._load(request.query.recipe)
        started = time.perf_counter()
        extraction = _start(network, request.query)
        for frame in request.frames:
            extraction.add_frame(frame)
        feature: Any = extraction.finish()
        return FeatureReply(feature, time.perf_counter() - started, loading)

    def _load(self, recipe: Extractor) -> tuple[LoadedExtractor, float]:
        """The network, and the seconds to load it; a failure to load is remembered too."""
        started = time.perf_counter()
        with self._lock:
            is_new = recipe not in self._networks
            if is_new:
                try:
                    self._networks[recipe] = recipe.load()
                except Unmeasurable as error:
                    self._networks[recipe] = error
            found = self._networks[recipe]
        if isinstance(found, Unmeasurable):
            raise found
        return found, time.perf_counter() - started if is_new else 0.0


def _start(network: LoadedExtractor, query: FrameQuery) -> Extraction:
    return network.start(query.rollout, query.timeline, query.features)


@dataclass(frozen=True, slots=True)
class RemoteExtractor:
    """An extractor whose network runs in another process."""

    client: ServiceClient
    recipe: Extractor

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> RemoteExtraction:
        """Ask the network which frames it needs."""
        query = FrameQuery(recipe=self.recipe, rollout=rollout, timeline=timeline, features=features)
        reply: FrameReply = self.client(query).result()
        return RemoteExtraction(self.client, query, reply.request, reply.loading_seconds)


@dataclass(slots=True)
class RemoteExtraction:
    """Collects the frames that a remote network requested."""

    client: ServiceClient
    query: FrameQuery
    request: FrameRequest | None
    loading_seconds: float
    _frames: list[Frame] = field(default_factory=list)

    def add_frame(self, frame: Frame) -> None:
        """Collect a frame."""
        self._frames.append(frame)

    def finish(self) -> RemoteFeature:
        """Send all frames."""
        frames, self._frames = tuple(self._frames), []
        return RemoteFeature(self.client(FrameBatch(query=self.query, frames=frames)), self.loading_seconds)


@dataclass(slots=True)
class RemoteFeature:
    """A feature that a remote network is computing."""

    answer: Future[FeatureReply]
    loading_seconds: float = 0.0
    """Time to load the network for it."""
    seconds: float = 0.0
    """Time of the network, once it is known."""

    def result(self) -> Feature:
        """Wait for the feature."""
        reply = self.answer.result()
        self.seconds = reply.seconds
        self.loading_seconds += reply.loading_seconds
        return reply.feature
