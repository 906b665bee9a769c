"""A playroom: a ball rolls, or changes its colour."""

from __future__ import annotations

import numpy as np

from lookaway.world.families.furniture import block, crate, plant, shelf
from lookaway.world.nouns import Change, Colour, Motion, Process, Scene
from lookaway.world.stage import GroundPlan, Stage, ellipsoid, lamp_light


def playroom(rng: np.random.Generator) -> Scene:
    """Toys on a rug before a brick wall."""
    stage = Stage(rng)
    size = stage.between(0.36, 0.46)
    distance = 5.2 * size
    plan = GroundPlan.around(distance, width=8, back=3.2, behind=2.6, height=2.9)
    walls = stage.walls(
        ("bricks", ((0.66, 0.36, 0.28), (0.5, 0.26, 0.2), (0.76, 0.73, 0.68))),
        ("plaster", (stage.pick((0.7, 0.76, 0.66), (0.78, 0.7, 0.72)),)),
        ("plaster", (stage.pick((0.83, 0.74, 0.55), (0.72, 0.78, 0.6)),)),
        ("plaster", (stage.pick((0.55, 0.68, 0.8), (0.8, 0.66, 0.6)),)),
    )
    ceiling = stage.surface("plaster", (0.85, 0.84, 0.8))
    stage.enclose(plan, stage.surface("planks", (0.66, 0.48, 0.3), (0.48, 0.32, 0.18)), walls, ceiling=ceiling)
    tiles = stage.surface("tiles", (0.75, 0.4, 0.38), (0.35, 0.55, 0.7), (0.88, 0.78, 0.45), (0.4, 0.62, 0.42))
    top = stage.mat("rug", (3.6, 2.2), tiles, (0, 0.1))
    skin = stage.surface("stripes", (0.9, 0.2, 0.15), (0.95, 0.92, 0.85), (0.95, 0.6, 0.15))
    ball = stage.put(
        "striped ball",
        "target",
        ellipsoid("body", (size, size, size), skin),
        (0, 0, top + size / 2),
        stage.between(0, 360),
    )
    stage.hang("poster", plan, {"back": 3, "left": 1, "right": 1, "front": 2}, (1.0, 0.8, 1.6))
    shelf(stage, "bookshelf", (stage.between(0.6, 1.6), 2.95, 0), 0)
    shelf(stage, "toy shelf", (stage.between(-2, 2), plan.front + 0.25, 0), 180)
    plant(stage, "potted plant", (stage.between(-2.6, -2.1), 2.2, 0), stage.between(0.9, 1.2), role="anchor")
    _toys(stage)
    crate(stage, "toy chest", (stage.between(1.9, 2.2), 0.9, 0), 0.55, role="interactor")
    crate(stage, "wooden crate", (-3.2, stage.between(-2.6, -1.6), 0), 0.6)
    plant(stage, "fern", (3.2, stage.between(-3.4, -2.4), 0), 1.1)
    return Scene(
        family="playroom",
        place="a playroom with a brick wall and a coloured rug",
        things=stage.finished(ball),
        light=lamp_light((0.4, -0.6, 2.8), warmth=0.6),
        motion=Motion(kind="roll", verb="rolls across the rug", travel=1.7 * size),
        process=Process(
            name="turns dark blue",
            before="red and white",
            after="dark blue",
            changes={"body": Change(tint=(0.15, 0.3, 0.85))},
        ),
        distance=distance,
        eye_height=2.0 * size,
        extent=plan.extent,
    )


def _toys(stage: Stage) -> None:
    paints: list[tuple[str, Colour]] = [
        ("red block", (0.8, 0.2, 0.15)),
        ("green block", (0.25, 0.6, 0.28)),
        ("yellow block", (0.9, 0.75, 0.2)),
    ]
    places = ((-0.95, 1.25), (0.75, 1.45), (-0.2, 1.9))
    order = stage.rng.permutation(3)
    for number, (name, colour) in enumerate(paints):
        side = stage.between(0.24, 0.34)
        x, y = places[order[number]]
        surface = stage.surface("blotches", colour, (0.95, 0.95, 0.9), (0.15, 0.15, 0.2))
        block(stage, name, (x + stage.between(-0.1, 0.1), y, 0), (side, side, side), surface)
