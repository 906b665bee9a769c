"""The state table: one row holds all that one frame depends on. Physics fills it once; a fault is an edit of it."""

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
    """[N, P, 3] in the frame of the thing."""
    part_quaternion: Floats
    """[N, P, 4]"""
    part_size: Floats
    """[N, P, 3] full extents."""
    part_tint: Floats
    """[N, P, 3] factors of the colour."""
    part_repaint: Floats
    """[N, P] weight of another picture on the same part."""
    light: Floats
    """[N, 3] factors of the light's colour."""
    style: Floats
    """[N] weight of another way of drawing: contrast and contours."""
    camera: Floats
    """[N, 4, 4] camera to world, OpenCV axes."""
    progress: Floats
    """[N, 2] of the motion and of the process, each from 0 to 1. Known, not drawn."""
    time: Floats
    """[N] seconds since the clip began, as the scene counts them. Known, not drawn."""

    def __len__(self) -> int:
        return len(self.camera)

    def rows(self) -> Iterator[StateTable]:
        """Every row, as a table of one."""
        return (self.take(np.array([index])) for index in range(len(self)))

    def take(self, indices: Indices) -> StateTable:
        """The rows of these frames."""
        return StateTable(**{f.name: getattr(self, f.name)[indices] for f in fields(self)})

    def drawn_key(self) -> str:
        """A hash of everything that is drawn: rows with the same key give the same picture."""
        digest = hashlib.sha256()
        for field in fields(self):
            if field.name not in NOT_DRAWN:
                digest.update(np.ascontiguousarray(getattr(self, field.name) + 0.0).tobytes())
        return digest.hexdigest()

    def edited(self, **columns: Floats) -> StateTable:
        """The same table with other columns."""
        return replace(self, **columns)


def still_table(scene: Scene, camera: Floats, times: Floats) -> StateTable:
    """The scene as it is built, seen along a camera path [N, 4, 4] at these times [N]."""
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
