"""A laboratory: a block of ice slides over the bench, or melts."""

from __future__ import annotations

import numpy as np

from lookaway.world.families.furniture import counter, cupboard, drum, shelf, stool
from lookaway.world.nouns import Change, Motion, Process, Scene, Thing
from lookaway.world.stage import GroundPlan, Stage, box, cylinder, ellipsoid, lamp_light

TOP = 0.9


def lab(rng: np.random.Generator) -> Scene:
    """A bench with flasks and an ice block."""
    stage = Stage(rng)
    size = stage.between(0.42, 0.5)
    distance = 5.5 * size
    plan = GroundPlan.around(distance, width=8, back=2.7, behind=2.3, height=2.9)
    tone = stage.pick((0.62, 0.74, 0.72), (0.72, 0.74, 0.8), (0.8, 0.76, 0.66))
    walls = stage.walls(
        ("plaster", (tone,)),
        ("tiles", ((0.8, 0.84, 0.84), (0.7, 0.76, 0.78), (0.86, 0.86, 0.82))),
        ("plaster", ((0.8, 0.8, 0.76),)),
        ("plaster", ((0.58, 0.66, 0.76),)),
    )
    floor = stage.surface("marble", (0.5, 0.54, 0.54), (0.66, 0.68, 0.66))
    stage.enclose(plan, floor, walls, ceiling=stage.surface("plaster", (0.86, 0.87, 0.88)))
    slab = stage.surface("blotches", (0.24, 0.25, 0.28), (0.3, 0.3, 0.33), (0.18, 0.2, 0.24), (0.36, 0.34, 0.32))
    base = stage.surface("rust", (0.55, 0.6, 0.6), (0.42, 0.46, 0.48))
    counter(stage, "bench", (0, 0.1, 0), (4.4, 1.4, TOP), (slab, base))
    ice = _ice(stage, size)
    _flasks(stage)
    shelf(stage, "shelf of records", (stage.between(-0.9, -0.5), 2.45, 0), 0)
    cupboard(stage, "chemicals cupboard", (stage.between(1.1, 1.7), 2.4, 0), 0, (1.1, 0.45, 1.9))
    cupboard(stage, "coat locker", (stage.between(-1.5, 1.5), plan.front + 0.3, 0), 180, (1.0, 0.45, 1.9))
    drum(stage, "nitrogen tank", (stage.between(-2.2, -1.9), 1.8, 0), 1.2, (0.3, 0.5, 0.6))
    stool(stage, "green stool", (-2.7, stage.between(-2.6, -1.8), 0), (0.3, 0.55, 0.35))
    stool(stage, "black stool", (2.8, stage.between(-2.6, -1.8), 0), (0.2, 0.2, 0.22))
    stage.hang("chart", plan, {"back": 3, "left": 1, "right": 1, "front": 1}, (0.8, 0.8, 1.95))
    body = ice.parts[0]
    left = 0.45
    return Scene(
        family="lab",
        place="a laboratory with a dark bench",
        things=stage.finished(ice),
        light=lamp_light((0.5, -0.7, 2.8), warmth=-0.6),
        motion=Motion(kind="slide", verb="slides over the bench", travel=1.5 * size),
        process=Process(
            name="melts",
            before="whole",
            after="half melted in a puddle",
            changes={
                "ice": Change(grow=(0.7, 0.7, left), move=(0, 0, -(1 - left) * body.size[2] / 2)),
                "puddle": Change(grow=(2.3, 2.0, 1)),
            },
        ),
        distance=distance,
        eye_height=TOP + 1.8 * size,
        extent=plan.extent,
    )


def _ice(stage: Stage, width: float) -> Thing:
    depth, height = width * stage.between(0.8, 0.95), width * stage.between(0.75, 0.9)
    water = stage.surface("ice", (0.5, 0.7, 0.82), (0.66, 0.82, 0.9))
    parts = [
        box(
            "ice",
            (width, depth, height),
            stage.surface("ice", (0.72, 0.88, 0.95), (0.86, 0.94, 0.98)),
            (0, 0, height / 2),
        ),
        cylinder("puddle", (depth * 0.9, depth * 0.9, 0.008), water, (0, 0, 0.004)),
    ]
    return stage.put("ice block", "target", parts, (0, 0, TOP), stage.between(-20, 20))


def _flasks(stage: Stage) -> None:
    burner = stage.surface("metal", (0.5, 0.52, 0.55), (0.35, 0.36, 0.4))
    glow = stage.surface("plain", (0.95, 0.45, 0.2), (0.9, 0.25, 0.1), emission=0.5)
    hotplate = [
        box("case", (0.42, 0.36, 0.14), burner, (0, 0, 0.07)),
        cylinder("plate", (0.3, 0.3, 0.02), glow, (0, 0, 0.15)),
    ]
    stage.put("hot plate", "interactor", hotplate, (stage.between(1.4, 1.6), stage.between(0.48, 0.54), TOP))
    inks = [("red flask", (0.8, 0.2, 0.2)), ("green flask", (0.2, 0.65, 0.35)), ("amber flask", (0.9, 0.62, 0.15))]
    for number, (name, (red, green, blue)) in enumerate(inks):
        wide = stage.between(0.18, 0.26)
        liquid = stage.surface("ice", (red, green, blue), (red * 0.7, green * 0.7, blue * 0.7))
        glass = stage.surface("ice", (0.8, 0.86, 0.88), (0.7, 0.78, 0.8))
        parts = [
            ellipsoid("bulb", (wide, wide, wide), liquid, (0, 0, wide * 0.48)),
            cylinder("neck", (wide * 0.32, wide * 0.32, wide * 0.7), glass, (0, 0, wide * 1.2)),
        ]
        x = (-1.2, -0.5, 0.45)[number] + stage.between(-0.12, 0.12)
        stage.put(name, "prop", parts, (x, stage.between(0.56, 0.64), TOP))
