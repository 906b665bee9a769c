"""An aquarium shop: a glass tank is wheeled along, or fills with water."""

from __future__ import annotations

import numpy as np

from lookaway.world.families.furniture import CORNERS, LYING, RUBBER, barrel, carton, cupboard, plant, shelf, trolley
from lookaway.world.nouns import Change, Motion, Process, Scene, Thing
from lookaway.world.stage import GroundPlan, Stage, box, cylinder, lamp_light, panel

DECK = 0.16


def aquarium(rng: np.random.Generator) -> Scene:
    """A shop full of tanks."""
    stage = Stage(rng)
    size = stage.between(0.64, 0.76)
    distance = 4.8 * size
    plan = GroundPlan.around(distance, width=9.5, back=3.6, behind=2.6, height=3.0)
    tone = stage.pick((0.28, 0.44, 0.54), (0.3, 0.5, 0.46), (0.36, 0.38, 0.56))
    walls = stage.walls(
        ("plaster", (tone,)),
        ("tiles", (tone, (0.5, 0.66, 0.7), (0.7, 0.76, 0.74))),
        ("plaster", ((0.7, 0.72, 0.68),)),
        ("boards", ((0.56, 0.44, 0.32), (0.44, 0.34, 0.24))),
    )
    floor = stage.surface("tiles", (0.6, 0.6, 0.56), (0.5, 0.52, 0.52), (0.7, 0.68, 0.62))
    stage.enclose(plan, floor, walls, ceiling=stage.surface("plaster", (0.8, 0.82, 0.84)))
    trolley(stage, "trolley", (size * 1.15, size * 0.75, DECK), (0.7, 0.25, 0.2))
    tank = _tank(stage, size)
    _pump(stage)
    shelf(stage, "shelf of fish food", (stage.between(-1.0, -0.5), 3.35, 0), 0)
    cupboard(stage, "store cupboard", (stage.between(-2, 2), plan.front + 0.3, 0), 180, (1.5, 0.5, 1.9))
    barrel(stage, "water barrel", (stage.between(0.6, 1.0), 2.6, 0), stage.between(0.8, 1.0), role="anchor")
    plant(stage, "papyrus", (stage.between(-1.7, -1.4), 2.3, 0), stage.between(0.9, 1.2))
    plant(stage, "reed", (-4.0, stage.between(-3.0, -2.0), 0), 1.4)
    carton(stage, "carton of gravel", (stage.between(-0.5, 0.1), 2.0, 0), (0.46, 0.4, 0.3))
    carton(stage, "carton of nets", (4.0, stage.between(-3.6, -2.6), 0), (0.7, 0.5, 0.5))
    stage.hang("fish picture", plan, {"back": 3, "left": 1, "right": 2, "front": 2}, (1.1, 0.8, 1.9))
    height = tank.box[1][2]
    fill = 7.0
    start = height * 0.11
    return Scene(
        family="aquarium",
        place="an aquarium shop with a tiled floor",
        things=stage.finished(tank),
        light=lamp_light((-0.5, -0.9, 2.9), warmth=-0.4),
        motion=Motion(kind="carried", verb="is wheeled along on a trolley", travel=1.35 * size, carrier="trolley"),
        process=Process(
            name="fills with water",
            before="almost empty",
            after="full of water",
            changes={
                "water": Change(grow=(1, 1, fill), move=(0, 0, start * (fill - 1) / 2)),
                "surface": Change(move=(0, 0, start * (fill - 1))),
            },
        ),
        distance=distance,
        eye_height=DECK + 1.55 * size,
        extent=plan.extent,
    )


def _tank(stage: Stage, width: float) -> Thing:
    depth, height, bar = width * 0.55, width * 0.7, width * 0.045
    frame = ((0.9, 0.85, 0.6), (0.75, 0.65, 0.4))
    bottom = height * 0.1
    sea = stage.surface("blotches", (0.85, 0.8, 0.62), (0.9, 0.6, 0.45), (0.8, 0.72, 0.5), (0.7, 0.5, 0.5))
    inside = (width - 2.2 * bar, depth - 2.2 * bar)
    start = height * 0.11
    parts = [
        box("base", (width, depth, bottom), stage.surface("plaster", (0.86, 0.78, 0.55)), (0, 0, bottom / 2)),
        panel("backdrop", (inside[0], height - bottom, 0.01), sea, (0, depth / 2 - bar, (height + bottom) / 2), LYING),
        box(
            "water",
            (*inside, start),
            stage.surface("ice", (0.12, 0.42, 0.62), (0.22, 0.6, 0.75)),
            (0, 0, bottom + start / 2),
        ),
        panel(
            "surface",
            (*inside, 0.006),
            stage.surface("ice", (0.5, 0.75, 0.82), (0.7, 0.88, 0.9)),
            (0, 0, bottom + start),
        ),
    ]
    for x, y in CORNERS:
        post = stage.surface("metal", *frame)
        at = (x * (width - bar) / 2, y * (depth - bar) / 2, (height + bottom) / 2)
        parts.append(box(f"post {x} {y}", (bar, bar, height - bottom), post, at))
    for side in (-1, 1):
        rim = stage.surface("metal", *frame)
        parts.append(box(f"long rim {side}", (width, bar, bar), rim, (0, side * (depth - bar) / 2, height - bar / 2)))
        parts.append(box(f"short rim {side}", (bar, depth, bar), rim, (side * (width - bar) / 2, 0, height - bar / 2)))
    return stage.put("glass tank", "target", parts, (0, 0, DECK))


def _pump(stage: Stage) -> None:
    paint = stage.surface("rust", (0.8, 0.6, 0.2), (0.4, 0.3, 0.2))
    parts = [
        box("case", (0.7, 0.5, 0.6), paint, (0, 0, 0.3)),
        cylinder(
            "motor", (0.36, 0.36, 0.3), stage.surface("metal", (0.5, 0.52, 0.55), (0.35, 0.36, 0.38)), (0.1, 0, 0.75)
        ),
        cylinder("hose", (0.1, 0.1, 0.5), stage.surface("plain", *RUBBER), (-0.22, 0, 0.85)),
    ]
    stage.prop("water pump", parts, (stage.between(2.3, 2.6), 1.5, 0), stage.between(-25, 25), role="interactor")
