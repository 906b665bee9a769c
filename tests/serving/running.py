"""Servers on loopback in threads of a test, and backends whose answers are known."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import cv2
import numpy as np

from lookaway.core import Score
from lookaway.engine.scorer import CasePaths, VideoScores
from lookaway.serving.admission import Admission
from lookaway.serving.client import encode_clip
from lookaway.serving.schema import SCORE_PATH, ScoreOptions, as_response
from lookaway.serving.server import ServerSettings, address_of, listening, make_server

LENS = np.array([[50, 0, 32], [0, 50, 18], [0, 0, 1.0]])
WALL = np.array([[300, 0, 900], [0, 300, 300], [0, 0, 1.0]])
CLIP = np.random.default_rng(0).integers(0, 255, (4, 3, 16, 24)).astype(np.uint8)
TOKEN = "a token of many letters"


def turned(number: int, frames: int = 8) -> tuple[np.ndarray, CasePaths]:
    """A camera that turns away from a wall and comes back to it in slightly different light, and its poses."""
    rng = np.random.default_rng(number)
    wall = np.full((600, 1800, 3), 128.0)
    for cells, contrast in ((12, 50), (60, 40), (180, 30)):
        spots = rng.uniform(-contrast, contrast, (cells // 3, cells, 3))
        wall += cv2.resize(spots, (1800, 600), interpolation=cv2.INTER_NEAREST)
    angles = np.radians(25 - 25 * np.cos(np.arange(frames) / (frames - 1) * 2 * np.pi))
    turns = [cv2.Rodrigues(np.array([0, angle, 0]))[0] for angle in angles]
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    seen = [
        cv2.warpPerspective(wall.clip(0, 255), WALL @ turn @ np.linalg.inv(LENS), (64, 36), flags=flags)
        for turn in turns
    ]
    light = np.where(np.arange(frames) < frames // 2, 1.0, 0.8 + 0.001 * number)
    poses = np.stack([np.eye(4)] * frames)
    poses[:, :3, :3] = turns
    clip = (np.stack(seen) * light[:, None, None, None]).astype(np.uint8).transpose(0, 3, 1, 2)
    return np.ascontiguousarray(clip), CasePaths(poses=poses, intrinsics=LENS)


class Counting:
    """Says how many frames a clip has; waits while it is held, and remembers what it measured."""

    metrics, has_reward, replicas, concurrency, deaths = ("light", "look"), False, 0, 1, 0

    def __init__(self) -> None:
        self.may_go = threading.Event()
        self.may_go.set()
        self.batches: list[list[str]] = []

    @property
    def measured(self) -> list[str]:
        return [request for batch in self.batches for request in batch]

    async def measure(self, clips):
        self.batches.append([request for request, _ in clips])
        await asyncio.to_thread(self.may_go.wait)
        return [self._answer(request, clip) for request, clip in clips]

    def _answer(self, request, clip):
        outcomes = {name: Score(float(len(clip.frames))) for name in self.metrics}
        scores = VideoScores(outcomes=outcomes, is_tested=True, untested=frozenset(), seconds=0.0)
        return as_response(request, scores)

    def close(self) -> None:
        """Nothing is open."""


class Running:
    """A server, and its address."""

    def __init__(self, url: str, admission: Admission) -> None:
        self.url, self.admission = url, admission

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=60)

    def get(self, path: str, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
        return self.ask("GET", path, b"", headers)[:2]

    def ask(self, method: str, path: str, body: bytes, headers: dict[str, str] | None = None):
        """Status, body and headers of an answer."""
        connection = self.connection()
        try:
            connection.request(method, path, body or None, headers or {})
            response = connection.getresponse()
            return response.status, response.read(), dict(response.getheaders())
        finally:
            connection.close()

    def score(self, *, video=CLIP, headers: dict[str, str] | None = None, paths=None, **options):
        """Status and content of the answer to a valid request, and its headers."""
        boundary, body = encode_clip(video, ScoreOptions(**options), paths)
        kind = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        status, answer, found = self.ask("POST", SCORE_PATH, body, {**kind, **(headers or {})})
        return status, json.loads(answer), found

    def wait_for(self, taken: int) -> None:
        """Until so many requests are taken."""
        while self.admission.taken < taken:
            threading.Event().wait(0.005)


@contextmanager
def running(backend, **settings) -> Iterator[Running]:
    """A server on a free port, until the context ends."""
    chosen = ServerSettings(port=0, **settings)
    with listening(chosen) as listener:
        server, admission = make_server(backend, chosen)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield Running(address_of(listener), admission)
        finally:
            server.should_exit = True
            thread.join()
            backend.close()
