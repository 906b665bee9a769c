"""An office: a chest of drawers is wheeled along, or its drawers open."""

from __future__ import annotations

import numpy as np

from lookaway.world.families.furniture import carton, chair, plant, shelf, table, trolley
from lookaway.world.nouns import Change, Motion, Process, Scene, Thing
from lookaway.world.stage import DARK_WOOD, GroundPlan, Stage, box, lamp_light

DECK = 0.16


def office(rng: np.random.Generator) -> Scene:
    """Desks, files and a trolley."""
    stage = Stage(rng)
    size = stage.between(0.52, 0.6)
    distance = 5.5 * size
    plan = GroundPlan.around(distance, width=8.4, back=3.2, behind=2.4, height=2.8)
    tone = stage.pick((0.74, 0.78, 0.74), (0.8, 0.76, 0.68), (0.66, 0.72, 0.78))
    walls = stage.walls(
        ("plaster", (tone,)),
        ("glass", ((0.4, 0.5, 0.58), (0.75, 0.8, 0.84))),
        ("plaster", ((0.84, 0.8, 0.72),)),
        ("bricks", ((0.62, 0.58, 0.54), (0.52, 0.48, 0.45), (0.72, 0.7, 0.68))),
    )
    floor = stage.surface("cloth", (0.36, 0.4, 0.46), (0.5, 0.52, 0.54))
    stage.enclose(plan, floor, walls, ceiling=stage.surface("plaster", (0.88, 0.88, 0.86)))
    trolley(stage, "trolley", (size * 1.3, size * 1.05, DECK), (0.75, 0.55, 0.2))
    drawers = _drawers(stage, size)
    _desk(stage)
    shelf(stage, "shelf of files", (stage.between(-1.0, -0.4), 2.95, 0), 0)
    shelf(stage, "archive shelf", (stage.between(-1.6, 1.6), plan.front + 0.25, 0), 180)
    plant(stage, "office plant", (stage.between(0.5, 0.9), 2.5, 0), stage.between(1.1, 1.4), role="anchor")
    chair(stage, "desk chair", (stage.between(1.5, 1.8), 1.1, 0), stage.between(150, 210), (0.25, 0.3, 0.36))
    chair(stage, "visitor chair", (-3.2, stage.between(-2.6, -1.6), 0), 90, (0.6, 0.3, 0.25))
    carton(stage, "carton of paper", (stage.between(-1.1, -0.8), 1.35, 0), (0.42, 0.36, 0.3))
    carton(stage, "spare carton", (3.2, stage.between(-3.2, -2.2), 0), (0.5, 0.4, 0.4))
    stage.hang("wall chart", plan, {"back": 3, "left": 1, "right": 2, "front": 1}, (0.9, 0.7, 1.95))
    out = size * 0.55
    return Scene(
        family="office",
        place="an office with a desk and a shelf of files",
        things=stage.finished(drawers),
        light=lamp_light((-0.4, -0.9, 2.7)),
        motion=Motion(kind="carried", verb="is wheeled along on a trolley", travel=1.5 * size, carrier="trolley"),
        process=Process(
            name="opens its drawers",
            before="closed",
            after="open",
            changes={
                f"{kind} {row}": Change(move=(0, -out * share, 0))
                for row, share in enumerate((1.0, 0.62, 0.3))
                for kind in ("drawer", "front", "handle", "papers")
            },
        ),
        distance=distance,
        eye_height=DECK + 1.95 * size,
        extent=plan.extent,
    )


def _drawers(stage: Stage, height: float) -> Thing:
    width, depth, row_height = height * 0.9, height * 0.8, height / 3
    paint = stage.pick(
        ((0.72, 0.26, 0.2), (0.6, 0.2, 0.16)),
        ((0.2, 0.45, 0.55), (0.16, 0.36, 0.46)),
        ((0.85, 0.62, 0.2), (0.72, 0.5, 0.15)),
    )
    parts = [box("case", (width, depth, height), stage.surface("rust", *paint), (0, 0, height / 2))]
    for row in range(3):
        middle = row_height * (row + 0.5)
        front = stage.surface("plaster", (0.92, 0.86, 0.72), (0.8, 0.7, 0.55))
        papers = stage.surface("books", (0.92, 0.9, 0.84), (0.8, 0.7, 0.45), (0.6, 0.7, 0.8))
        inside = stage.surface("planks", *DARK_WOOD)
        steel = stage.surface("metal", (0.3, 0.3, 0.32), (0.5, 0.5, 0.5))
        parts += [
            box(f"drawer {row}", (width * 0.86, depth * 0.9, row_height * 0.7), inside, (0, -depth * 0.045, middle)),
            box(
                f"papers {row}",
                (width * 0.74, depth * 0.78, row_height * 0.1),
                papers,
                (0, -depth * 0.04, middle + row_height * 0.38),
            ),
            box(f"front {row}", (width * 0.92, 0.03, row_height * 0.86), front, (0, -depth / 2 - 0.014, middle)),
            box(f"handle {row}", (width * 0.3, 0.03, row_height * 0.14), steel, (0, -depth / 2 - 0.04, middle)),
        ]
    return stage.put("chest of drawers", "target", parts, (0, 0, DECK))


def _desk(stage: Stage) -> None:
    desk = (stage.between(2.3, 2.5), 1.7, 0.0)
    table(stage, "desk", desk, (1.6, 0.8, 0.74), stage.surface("planks", (0.7, 0.56, 0.4), (0.55, 0.42, 0.28)))
    screen = stage.surface("blotches", (0.15, 0.3, 0.5), *stage.bright_colours(4), emission=0.35)
    dark = stage.surface("plain", (0.12, 0.12, 0.13), (0.2, 0.2, 0.2))
    parts = [
        box("foot", (0.26, 0.2, 0.02), dark, (0, 0, 0.01)),
        box("neck", (0.05, 0.05, 0.2), dark, (0, 0.03, 0.11)),
        box("frame", (0.66, 0.04, 0.42), dark, (0, 0, 0.4)),
        box("picture", (0.6, 0.01, 0.36), screen, (0, -0.025, 0.4)),
    ]
    stage.put("computer screen", "interactor", parts, (desk[0] - 0.1, desk[1] + 0.1, 0.74), stage.between(-20, 10))
