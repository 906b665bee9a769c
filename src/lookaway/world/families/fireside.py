"""A room with a fireplace: a globe is wheeled along, or turns. The fire flickers, and so does all light."""

from __future__ import annotations

import numpy as np

from lookaway.world.families.furniture import LYING, chair, cupboard, floor_lamp, plant, shelf, trolley
from lookaway.world.nouns import Change, IdleMotion, Motion, Process, Scene, Thing
from lookaway.world.stage import DARK_WOOD, GroundPlan, Stage, box, cylinder, ellipsoid, lamp_light, panel

DECK = 0.16


def fireside(rng: np.random.Generator) -> Scene:
    """A study with books and pictures in the light of a fire that flickers."""
    stage = Stage(rng)
    size = stage.between(0.66, 0.76)
    distance = 4.6 * size
    plan = GroundPlan.around(distance, width=10, back=3.6, behind=2.8, height=3.2)
    tone = stage.pick((0.5, 0.36, 0.3), (0.36, 0.44, 0.38), (0.42, 0.4, 0.5))
    walls = stage.walls(
        ("plaster", (tone,)),
        ("boards", ((0.52, 0.4, 0.28), (0.4, 0.3, 0.2))),
        ("bricks", ((0.6, 0.42, 0.34), (0.48, 0.34, 0.28), (0.7, 0.66, 0.6))),
        ("plaster", ((0.62, 0.56, 0.46),)),
    )
    floor = stage.surface("planks", (0.56, 0.4, 0.26), (0.4, 0.28, 0.18))
    stage.enclose(plan, floor, walls, ceiling=stage.surface("plaster", (0.8, 0.76, 0.7)))
    rug = stage.surface("blotches", (0.5, 0.2, 0.18), (0.66, 0.5, 0.3), (0.3, 0.26, 0.34), (0.7, 0.62, 0.5))
    stage.mat("rug", (4.0, 2.2), rug)
    trolley(stage, "tea trolley", (size * 0.95, size * 0.8, DECK), (0.5, 0.34, 0.2))
    globe = _globe(stage, size)
    idle = _fireplace(stage, (stage.between(2.2, 2.5), 3.3))
    idle += _pendulum_clock(stage, (stage.between(-0.2, 0.2), 3.3))
    chair(stage, "red chair", (stage.between(0.7, 1.0), 2.1, 0), stage.between(-30, 30), (0.62, 0.24, 0.22))
    chair(stage, "green chair", (stage.between(-4.0, -3.4), stage.between(-3.4, -2.6), 0), 130, (0.26, 0.42, 0.3))
    shelf(stage, "bookshelf", (stage.between(-1.9, -1.5), 3.35, 0), 0)
    cupboard(stage, "wine cupboard", (stage.between(-2, 2), plan.front + 0.3, 0), 180, (1.5, 0.5, 1.9))
    floor_lamp(stage, "reading lamp", (stage.between(-2.9, -2.7), 2.4, 0))
    plant(stage, "fern", (stage.between(-0.9, -0.6), 2.4, 0), stage.between(0.8, 1.0))
    plant(stage, "rubber plant", (4.2, stage.between(-3.6, -2.8), 0), 1.5)
    stage.hang("painting", plan, {"back": 3, "left": 1, "right": 2, "front": 2}, (1.0, 0.8, 2.2))
    return Scene(
        family="fireside",
        place="a study with an open fire",
        things=stage.finished(globe),
        light=lamp_light((0.6, -1.0, 3.1), warmth=0.9),
        motion=Motion(kind="carried", verb="is wheeled along on a trolley", travel=1.35 * size, carrier="tea trolley"),
        process=Process(
            name="turns",
            before="with its first side in front",
            after="turned by a third",
            changes={"ball": Change(turn=(0, 0, 120), pivot=globe.parts[0].position)},
        ),
        distance=distance,
        eye_height=DECK + 1.6 * size,
        extent=plan.extent,
        idle=tuple(idle),
        flicker_stops=0.1,
        flicker_phase=stage.between(0, 1),
    )


def _globe(stage: Stage, height: float) -> Thing:
    sea = stage.pick((0.16, 0.4, 0.62), (0.2, 0.5, 0.52), (0.76, 0.66, 0.46))
    lands = stage.surface("blotches", sea, (0.42, 0.56, 0.26), (0.72, 0.6, 0.32), (0.86, 0.82, 0.7), (0.6, 0.36, 0.24))
    brass = ((0.84, 0.68, 0.32), (0.62, 0.48, 0.2))
    ball = height * 0.68
    middle = height - ball / 2
    parts = [
        ellipsoid("ball", (ball, ball, ball), lands, (0, 0, middle)),
        cylinder(
            "foot",
            (height * 0.5, height * 0.5, height * 0.08),
            stage.surface("planks", *DARK_WOOD),
            (0, 0, height * 0.04),
        ),
        cylinder(
            "stem", (height * 0.1, height * 0.1, height * 0.28), stage.surface("metal", *brass), (0, 0, height * 0.2)
        ),
        cylinder("ring", (ball * 1.12, ball * 1.12, height * 0.035), stage.surface("metal", *brass), (0, 0, middle)),
    ]
    return stage.put("globe", "target", parts, (0, 0, DECK))


def _fireplace(stage: Stage, place: tuple[float, float]) -> list[IdleMotion]:
    stone = [stage.surface("marble", (0.66, 0.6, 0.54), (0.5, 0.46, 0.42)) for _ in range(4)]
    parts = [
        box("hearth", (1.7, 0.8, 0.08), stone[0], (0, -0.1, 0.04)),
        box("left side", (0.28, 0.5, 1.0), stone[1], (-0.66, 0, 0.58)),
        box("right side", (0.28, 0.5, 1.0), stone[2], (0.66, 0, 0.58)),
        box("mantel", (1.8, 0.6, 0.16), stone[3], (0, -0.04, 1.14)),
        panel(
            "soot",
            (1.04, 1.0, 0.02),
            stage.surface("asphalt", (0.1, 0.09, 0.08), (0.2, 0.17, 0.15)),
            (0, 0.2, 0.58),
            LYING,
        ),
    ]
    for number, x in enumerate((-0.22, 0.05, 0.26)):
        bark = stage.surface("planks", (0.3, 0.2, 0.14), (0.18, 0.12, 0.1))
        parts.append(cylinder(f"log {number}", (0.13, 0.13, 0.5), bark, (x, -0.02, 0.15), (90, 0, 25 * (number - 1))))
    found = []
    for number in range(7):
        height, wide = stage.between(0.3, 0.5), stage.between(0.14, 0.2)
        glow = stage.surface("plain", (1.0, 0.72, 0.2), (0.96, 0.4, 0.08), emission=0.8)
        at = (-0.33 + 0.11 * number, stage.between(-0.12, 0.1), 0.18 + height / 2)
        name = f"flame {number}"
        parts.append(ellipsoid(name, (wide, wide * 0.8, height), glow, at))
        for period in (stage.between(0.35, 0.55), stage.between(0.8, 1.2)):
            found.append(
                IdleMotion(
                    thing="fireplace",
                    part=name,
                    period=period,
                    phase=stage.between(0, 1),
                    move=(stage.between(-0.02, 0.02), 0, height * 0.1),
                    grow=(0.9, 0.9, 1.2),
                    tint=(0.95, 0.8, 0.8),
                )
            )
    stage.put("fireplace", "interactor", parts, (*place, 0))
    return found


def _pendulum_clock(stage: Stage, place: tuple[float, float]) -> list[IdleMotion]:
    brass = stage.surface("metal", (0.88, 0.72, 0.34), (0.66, 0.5, 0.2))
    dial = stage.surface("tiles", (0.9, 0.88, 0.8), (0.8, 0.74, 0.6), (0.3, 0.26, 0.22))
    parts = [
        box("case", (0.5, 0.3, 1.9), stage.surface("planks", *DARK_WOOD), (0, 0, 0.95)),
        cylinder("dial", (0.38, 0.38, 0.02), dial, (0, -0.16, 1.62), LYING),
        panel(
            "glass",
            (0.36, 0.9, 0.02),
            stage.surface("glass", (0.2, 0.2, 0.22), (0.4, 0.4, 0.4)),
            (0, -0.15, 0.85),
            LYING,
        ),
        box("rod", (0.02, 0.01, 0.62), brass, (0, -0.17, 0.95)),
        cylinder("bob", (0.17, 0.17, 0.02), brass, (0, -0.18, 0.62), LYING),
    ]
    stage.put("clock", "prop", parts, (*place, 0))
    swing = {"period": 1.6, "turn": (0.0, 12.0, 0.0), "pivot": (0.0, -0.17, 1.26)}
    return [IdleMotion(thing="clock", part=part, **swing) for part in ("rod", "bob")]  # type: ignore[arg-type]
