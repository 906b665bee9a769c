"""A dining room: a candle is carried along on a tray, or burns down."""

from __future__ import annotations

import numpy as np

from lookaway.world.families.furniture import chair, cupboard, floor_lamp, plant, table
from lookaway.world.nouns import Change, Motion, Process, Scene, Thing
from lookaway.world.stage import DARK_WOOD, GroundPlan, Stage, box, cylinder, ellipsoid, lamp_light

TOP = 0.76
TRAY = 0.03


def dining_room(rng: np.random.Generator) -> Scene:
    """A long table with a candle."""
    stage = Stage(rng)
    size = stage.between(0.4, 0.46)
    distance = 5.0 * size
    plan = GroundPlan.around(distance, width=7.6, back=2.7, behind=2.4, height=2.8)
    tone = stage.pick((0.4, 0.5, 0.45), (0.48, 0.36, 0.36), (0.36, 0.44, 0.58))
    walls = stage.walls(
        ("plaster", (tone,)),
        ("cloth", (tone, (0.75, 0.68, 0.5))),
        ("boards", ((0.55, 0.4, 0.26), (0.42, 0.3, 0.2))),
        ("plaster", ((0.7, 0.62, 0.5),)),
    )
    floor = stage.surface("planks", (0.55, 0.4, 0.28), (0.4, 0.27, 0.17))
    stage.enclose(plan, floor, walls, ceiling=stage.surface("plaster", (0.82, 0.8, 0.76)))
    table(stage, "dining table", (0, 0.1, 0), (4.0, 1.3, TOP), stage.surface("planks", *DARK_WOOD))
    candle = _candle(stage, size)
    rim = stage.surface("metal", (0.8, 0.68, 0.4), (0.6, 0.48, 0.25))
    tray = [
        box("plate", (size * 1.5, size * 1.2, TRAY), rim, (0, 0, TRAY / 2)),
        box("left rim", (0.02, size * 1.2, 0.05), rim, (-size * 0.75, 0, 0.025)),
        box("right rim", (0.02, size * 1.2, 0.05), rim, (size * 0.75, 0, 0.025)),
    ]
    stage.put("brass tray", "prop", tray, (0, 0, TOP))
    _table_things(stage)
    cupboard(stage, "sideboard", (stage.between(0.6, 1.3), 2.4, 0), 0, (1.6, 0.5, 1.15))
    floor_lamp(stage, "standing lamp", (stage.between(-1.5, -1.2), 1.9, 0))
    plant(stage, "palm", (-3.2, stage.between(-2.4, -1.6), 0), 1.5)
    plant(stage, "rubber plant", (stage.between(2.2, 2.8), 1.9, 0), 1.5)
    velvet = stage.pick((0.6, 0.2, 0.2), (0.25, 0.4, 0.3), (0.3, 0.3, 0.55))
    chair(stage, "left chair", (stage.between(-1.1, -0.8), 1.2, 0), stage.between(-12, 12), velvet)
    chair(stage, "right chair", (stage.between(0.5, 0.9), 1.25, 0), stage.between(-12, 12), velvet)
    chair(stage, "spare chair", (stage.between(1.0, 2.4), plan.front + 0.6, 0), stage.between(160, 200), velvet)
    stage.hang("painting", plan, {"back": 3, "left": 1, "right": 1, "front": 2}, (0.9, 0.7, 1.85))
    left = 0.42
    down = Change(move=(0, 0, -(1 - left) * size))
    return Scene(
        family="dining_room",
        place="a dining room with a long table",
        things=stage.finished(candle),
        light=lamp_light((0.4, -0.5, 2.7), warmth=0.8),
        motion=Motion(kind="carried", verb="is carried along on a tray", travel=1.65 * size, carrier="brass tray"),
        process=Process(
            name="burns down",
            before="whole",
            after="burnt down to a stump",
            changes={
                "wax": Change(grow=(1, 1, left), move=(0, 0, -(1 - left) * size / 2)),
                "wick": down,
                "flame": down,
                "melted wax": Change(grow=(1.5, 1.5, 1)),
            },
        ),
        distance=distance,
        eye_height=TOP + TRAY + 1.95 * size,
        extent=plan.extent,
    )


def _candle(stage: Stage, height: float) -> Thing:
    width = height * stage.between(0.66, 0.76)
    wax = stage.pick(((0.95, 0.9, 0.72), (0.9, 0.7, 0.5)), ((0.92, 0.45, 0.36), (0.95, 0.75, 0.6)))
    parts = [
        cylinder("wax", (width, width, height), stage.surface("plaster", *wax), (0, 0, height / 2)),
        cylinder("melted wax", (width * 1.08, width * 1.08, 0.02), stage.surface("plain", *wax), (0, 0, 0.01)),
        cylinder(
            "wick", (0.02, 0.02, 0.05), stage.surface("plain", (0.1, 0.1, 0.1), (0.2, 0.2, 0.2)), (0, 0, height + 0.025)
        ),
        ellipsoid(
            "flame",
            (0.065, 0.065, 0.12),
            stage.surface("plain", (1.0, 0.8, 0.25), (1.0, 0.55, 0.1), emission=0.8),
            (0, 0, height + 0.09),
        ),
    ]
    return stage.put("wax candle", "target", parts, (0, 0, TOP + TRAY))


def _table_things(stage: Stage) -> None:
    china = stage.surface("blotches", (0.92, 0.92, 0.9), (0.25, 0.35, 0.65), (0.85, 0.85, 0.9), (0.5, 0.6, 0.8))
    bowl = [
        cylinder("foot", (0.2, 0.2, 0.05), china, (0, 0, 0.025)),
        cylinder("bowl", (0.4, 0.4, 0.12), china, (0, 0, 0.11)),
    ]
    for number, (x, y) in enumerate(((-0.07, 0.0), (0.08, 0.04), (0.0, -0.08))):
        skin = stage.surface("plaster", stage.pick((0.8, 0.25, 0.15), (0.85, 0.7, 0.2), (0.5, 0.65, 0.2)))
        bowl.append(ellipsoid(f"fruit {number}", (0.15, 0.15, 0.15), skin, (x, y, 0.21)))
    stage.put("bowl of fruit", "interactor", bowl, (stage.between(1.25, 1.45), stage.between(0.46, 0.52), TOP))
    glass = stage.surface("stripes", (0.2, 0.45, 0.4), (0.3, 0.6, 0.5))
    vase = [
        cylinder("vase", (0.16, 0.16, 0.3), glass, (0, 0, 0.15)),
        ellipsoid(
            "flowers", (0.34, 0.34, 0.26), stage.surface("leaves", (0.8, 0.35, 0.5), (0.95, 0.8, 0.4)), (0, 0, 0.4)
        ),
    ]
    stage.put("vase of flowers", "prop", vase, (stage.between(-1.0, -0.8), stage.between(0.5, 0.56), TOP))
