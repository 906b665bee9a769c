"""What a server counts about itself, as Prometheus reads it. No label comes from a request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from lookaway.core import MissingExtra
from lookaway.serving.schema import ScoreResponse

SECONDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
"""Upper ends of the histogram."""
OK: Final = "ok"


class RequestCounters:
    """Counters of one server; several servers in a process do not share them."""

    def __init__(self, waiting: Callable[[], int], deaths: Callable[[], int]) -> None:
        try:
            from prometheus_client import (
                CONTENT_TYPE_LATEST,
                CollectorRegistry,
                Counter,
                Gauge,
                Histogram,
                generate_latest,
            )
        except ImportError as error:
            raise MissingExtra("The server", "serve") from error
        self.media_type = CONTENT_TYPE_LATEST
        self._registry = CollectorRegistry()
        self._text = generate_latest
        self._requests = Counter(
            "lookaway_requests_total", "Requests to score, by how they ended.", ["result"], registry=self._registry
        )
        self._outcomes = Counter(
            "lookaway_outcomes_total", "Outcomes that were sent, by status.", ["status"], registry=self._registry
        )
        self._seconds = Histogram(
            "lookaway_request_seconds",
            "Time from the first byte of a request to its answer.",
            buckets=SECONDS,
            registry=self._registry,
        )
        self._frames = Counter("lookaway_frames_total", "Frames of answered requests.", registry=self._registry)
        for name, text, count in (
            ("lookaway_waiting", "Requests that are taken and not yet answered.", waiting),
            ("lookaway_replica_deaths", "Batches that went to another replica because theirs died.", deaths),
        ):
            Gauge(name, text, registry=self._registry).set_function(count)

    def answered(self, response: ScoreResponse, frames: int) -> None:
        """Count an answer with a measurement."""
        self._requests.labels(OK).inc()
        self._frames.inc(frames)
        for outcome in response.outcomes.values():
            self._outcomes.labels(outcome.status).inc()

    def refused(self, code: str) -> None:
        """Count an answer with an error, by its code."""
        self._requests.labels(code).inc()

    def took(self, seconds: float) -> None:
        """Count the time of a request."""
        self._seconds.observe(seconds)

    def text(self) -> bytes:
        """All counters."""
        return self._text(self._registry)
