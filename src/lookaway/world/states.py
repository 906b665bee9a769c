"""The state table: each row holds everything that determines one frame. A fault is an edit of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np

from lookaway.core import Floats, Indices
from lookaway.world.nouns import Scene
from lookaway.world.turns import quaternion_from_degrees

NOT_DRAWN = ("progress", "time")


@dataclass(frozen=True, slots=True, kw_only=True)
class StateTable:
    """N frames of T things and P parts. Quaternions are w, x, y, z."""

    position: Floats
    """[N, T, 3] of the things, in the world."""
    quaternion: Floats
    """[N, T, 4]"""
    opacity: Floats
    """[N, T] from 0 (absent) to 1."""
    part_position: Floats
    """[N, P, 3] in the coordinates of the thing."""
    part_quaternion: Floats
    """[N, P, 4]"""
    part_size: Floats
    """[N, P, 3] full extents."""
    part_tint: Floats
    """[N, P, 3] colour factors."""
    part_repaint: Floats
    """[N, P] weight of an alternative texture."""
    light: Floats
    """[N, 3] light colour factors."""
    style: Floats
    """[N] weight of an alternative style: contrast and contours."""
    camera: Floats
    """[N, 4, 4] camera to world, OpenCV axes."""
    progress: Floats
    """[N, 2] progress of motion and process, each from 0 to 1. Not rendered."""
    time: Floats
    """[N] seconds since the clip began, in scene time. Not rendered."""

    def __len__(self) -> int:
        return len(self.camera)

    def rows(self) -> Iterator[StateTable]:
        """Each row, as a table of one row."""
        return (self.take(np.array([index])) for index in range(len(self)))

    def take(self, indices: Indices) -> StateTable:
        """The rows of these frames."""
        return StateTable(**{f.name: getattr(self, f.name)[indices] for f in fields(self)})

    def drawn_key(self) -> str:
        """A hash of everything that is rendered: rows with equal keys give equal pictures."""
        digest = hashlib.sha256()
        for field in fields(self):
            if field.name not in NOT_DRAWN:
                digest.update(np.ascontiguousarray(getattr(self, field.name) + 0.0).tobytes())
        return digest.hexdigest()

    def edited(self, **columns: Floats) -> StateTable:
        """A copy with these columns replaced."""
        return replace(self, **columns)


def still_table(scene: Scene, camera: Floats, times: Floats) -> StateTable:
    """The scene at rest, seen along a camera path [N, 4, 4] at these times [N]."""
    count = len(camera)
    things, parts = scene.things, scene.parts

    def always(rows: object) -> Floats:
        row = np.asarray(rows, np.float64)
        return np.repeat(row[None], count, axis=0)

    return StateTable(
        position=always([thing.position for thing in things]),
        quaternion=always([quaternion_from_degrees((0.0, 0.0, thing.heading)) for thing in things]),
        opacity=always([0.0 if thing.role == "copy" else 1.0 for thing in things]),
        part_position=always([part.position for part in parts]),
        part_quaternion=always([quaternion_from_degrees(part.turn) for part in parts]),
        part_size=always([part.size for part in parts]),
        part_tint=always(np.ones((len(parts), 3))),
        part_repaint=always(np.zeros(len(parts))),
        light=always(np.ones(3)),
        style=np.zeros(count),
        camera=np.asarray(camera, np.float64),
        progress=np.zeros((count, 2)),
        time=times,
    )
