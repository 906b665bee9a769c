"""A bakery: a lump of dough travels on a conveyor, or rises."""

from __future__ import annotations

import numpy as np

from lookaway.world.families.furniture import STEEL, barrel, counter, crate, cupboard, sack
from lookaway.world.nouns import Change, Motion, Process, Scene, Thing
from lookaway.world.stage import WOOD, GroundPlan, Stage, box, cylinder, ellipsoid, lamp_light

TOP = 0.8
BOARD = 0.035


def bakery(rng: np.random.Generator) -> Scene:
    """A conveyor before an oven."""
    stage = Stage(rng)
    size = stage.between(0.46, 0.54)
    distance = 4.6 * size
    plan = GroundPlan.around(distance, width=8, back=2.9, behind=2.4, height=2.9)
    walls = stage.walls(
        ("bricks", (stage.pick((0.72, 0.55, 0.42), (0.64, 0.44, 0.36)), (0.55, 0.4, 0.32), (0.8, 0.77, 0.7))),
        ("plaster", ((0.86, 0.8, 0.66),)),
        ("tiles", ((0.84, 0.82, 0.76), (0.72, 0.74, 0.72), (0.8, 0.72, 0.6))),
        ("plaster", ((0.74, 0.66, 0.55),)),
    )
    floor = stage.surface("tiles", (0.6, 0.4, 0.32), (0.5, 0.34, 0.28), (0.66, 0.48, 0.4))
    stage.enclose(plan, floor, walls, ceiling=stage.surface("plaster", (0.86, 0.84, 0.78)))
    belt = stage.surface("asphalt", (0.24, 0.25, 0.27), (0.35, 0.36, 0.36))
    counter(stage, "conveyor", (0, 0, 0), (5.6, 0.95, TOP), (belt, stage.surface("metal", *STEEL)))
    dough = _dough(stage, size)
    wood = stage.surface("planks", (0.6, 0.42, 0.25), (0.45, 0.3, 0.17))
    stage.put("baking board", "prop", box("board", (size * 1.45, 0.62, BOARD), wood, (0, 0, BOARD / 2)), (0, 0, TOP))
    _oven(stage)
    cupboard(stage, "bread cupboard", (stage.between(-1.5, -0.9), 2.65, 0), 0, (1.2, 0.4, 1.8))
    cupboard(stage, "flour store", (stage.between(-1.0, 1.0), plan.front + 0.3, 0), 180, (1.4, 0.5, 1.7))
    barrel(stage, "flour barrel", (stage.between(0.1, 0.5), 1.9, 0), stage.between(1.0, 1.15))
    crate(stage, "bread crate", (-3.2, stage.between(-2.4, -1.6), 0), 0.6)
    sack(stage, "sack of rye", (stage.between(2.4, 2.9), stage.between(-3.2, -2.4), 0), 0.8)
    sack(stage, "sack of wheat", (stage.between(-2.4, -1.6), plan.front + 0.7, 0), 0.8)
    stage.hang("price board", plan, {"back": 3, "left": 1, "right": 1, "front": 1}, (0.8, 0.6, 1.9))
    height = dough.parts[0].size[2]
    rise = 1.75
    return Scene(
        family="bakery",
        place="a bakery with a conveyor belt",
        things=stage.finished(dough),
        light=lamp_light((-0.4, -0.7, 2.8), warmth=0.7),
        motion=Motion(kind="carried", verb="travels along on the conveyor", travel=1.45 * size, carrier="baking board"),
        process=Process(
            name="rises",
            before="flat",
            after="risen to almost twice its height",
            changes={"dough": Change(grow=(1.2, 1.2, rise), move=(0, 0, (rise - 1) * height * 0.42))},
        ),
        distance=distance,
        eye_height=TOP + 1.7 * size,
        extent=plan.extent,
    )


def _dough(stage: Stage, width: float) -> Thing:
    height = width * stage.between(0.46, 0.54)
    skin = stage.surface("plaster", (0.9, 0.8, 0.58), (0.75, 0.55, 0.35))
    flour = stage.surface("plain", (0.95, 0.93, 0.88), (0.85, 0.82, 0.75))
    parts = [
        ellipsoid("dough", (width, width * 0.85, height), skin, (0, 0, height * 0.42)),
        cylinder("flour", (width * 0.7, width * 0.7, 0.006), flour, (0, 0, 0.003)),
    ]
    return stage.put("lump of dough", "target", parts, (0, 0, TOP + BOARD))


def _oven(stage: Stage) -> None:
    steel, dark = stage.surface("metal", *STEEL), stage.surface("rust", (0.25, 0.24, 0.25), (0.4, 0.3, 0.22))
    fire = stage.surface("leaves", (0.95, 0.5, 0.15), (1.0, 0.8, 0.3), emission=0.5)
    parts = [
        box("case", (1.2, 0.8, 1.5), dark, (0, 0, 0.75)),
        box("door", (0.9, 0.04, 0.5), steel, (0, -0.42, 1.1)),
        box("window", (0.6, 0.02, 0.26), fire, (0, -0.45, 1.1)),
        cylinder("flue", (0.26, 0.26, 1.3), stage.surface("metal", *STEEL), (0.2, 0.1, 2.15)),
        box("trim", (1.24, 0.84, 0.08), stage.surface("planks", *WOOD), (0, 0, 1.5)),
    ]
    stage.put("oven", "interactor", parts, (stage.between(1.7, 2.1), 2.3, 0), stage.between(-8, 8))
