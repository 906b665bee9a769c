"""What the world looks like in this version. `python -m tests.world.looks` writes it down anew."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from lookaway.world.cameras import CAMERAS, Viewpoint
from lookaway.world.clip import build_scene
from lookaway.world.families import FAMILIES
from lookaway.world.nouns import Scene, Surface
from lookaway.world.patterns import PATTERNS
from lookaway.world.recipe import WORLD_VERSION
from lookaway.world.textures import paint_picture

KEPT = Path(__file__).with_name("looks.json")


def looks() -> dict[str, Any]:
    """Hashes of what is exact, and means of what a processor may round otherwise."""
    view = Viewpoint(distance=2.0, eye_height=1.0, target_height=0.3, aspect=1.75)
    times = np.arange(24) / 8
    scenes = {family: _hash(_described(build_scene(family, 0))) for family in sorted(FAMILIES)}
    cameras = {
        name: [round(float(v), 6) for v in path.cameras(view, times, 3.0, 1.0)[8, :3].ravel()]
        for name, path in sorted(CAMERAS.items())
    }
    colours = ((0.8, 0.3, 0.2), (0.2, 0.5, 0.7), (0.9, 0.9, 0.6))
    pictures = {
        name: [round(float(v), 3) for v in _quarters(paint_picture(_surface(name, colours), 2.0, 2.0))]
        for name in sorted(PATTERNS)
    }
    return {"version": WORLD_VERSION, "scenes": scenes, "cameras": cameras, "pictures": pictures}


def _described(scene: Scene) -> str:
    innocent = (scene.idle, scene.flicker_stops, scene.flicker_phase, scene.identity)
    return repr(scene) + (repr(innocent) if any(innocent) else "")


def _surface(pattern: str, colours: tuple[tuple[float, float, float], ...]) -> Surface:
    return Surface(pattern=pattern, colours=colours, seed=1)


def _quarters(picture: Any) -> Any:
    rows, columns = picture.shape[0] // 2, picture.shape[1] // 2
    parts = (picture[:rows, :columns], picture[:rows, columns:], picture[rows:, :columns], picture[rows:, columns:])
    return np.array([part.mean() for part in parts])


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


if __name__ == "__main__":
    KEPT.write_text(json.dumps(looks(), indent=1) + "\n")
