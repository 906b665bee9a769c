"""A kitchen: a jug slides along the worktop, or tips over."""

from __future__ import annotations

import numpy as np

from lookaway.world.families.furniture import counter, cupboard, plant, stool
from lookaway.world.nouns import Change, Motion, Process, Scene, Thing
from lookaway.world.stage import GroundPlan, Stage, box, cylinder, ellipsoid, lamp_light

TOP = 0.85


def kitchen(rng: np.random.Generator) -> Scene:
    """A worktop in the middle, cupboards around it."""
    stage = Stage(rng)
    size = stage.between(0.4, 0.46)
    distance = 5.3 * size
    plan = GroundPlan.around(distance, width=7.6, back=2.6, behind=2.2, height=2.8)
    tone = stage.pick((0.72, 0.8, 0.76), (0.85, 0.8, 0.66), (0.7, 0.76, 0.84))
    walls = stage.walls(
        ("tiles", (tone, (0.88, 0.88, 0.84), (0.62, 0.7, 0.72))),
        ("plaster", ((0.85, 0.8, 0.7),)),
        ("plaster", (tone,)),
        ("bricks", ((0.7, 0.52, 0.42), (0.6, 0.42, 0.34), (0.8, 0.77, 0.72))),
    )
    floor = stage.surface("tiles", (0.45, 0.42, 0.4), (0.62, 0.58, 0.54), (0.7, 0.68, 0.62))
    stage.enclose(plan, floor, walls, ceiling=stage.surface("plaster", (0.88, 0.87, 0.84)))
    slab = stage.surface("marble", (0.36, 0.36, 0.38), (0.52, 0.5, 0.5))
    base = stage.surface(
        "boards", *stage.pick(((0.3, 0.4, 0.45), (0.22, 0.3, 0.35)), ((0.5, 0.36, 0.24), (0.36, 0.25, 0.16)))
    )
    counter(stage, "worktop", (0, 0.1, 0), (4.4, 1.4, TOP), (slab, base))
    jug = _jug(stage, size)
    _worktop_things(stage)
    cupboard(stage, "kitchen cupboard", (stage.between(0.9, 1.6), 2.35, 0), 0, (1.1, 0.45, 1.9))
    cupboard(stage, "pantry", (stage.between(-1.5, 0.5), plan.front + 0.3, 0), 180, (1.3, 0.5, 1.9))
    plant(stage, "bay tree", (stage.between(-1.6, -1.2), 1.7, 0), stage.between(1.4, 1.7))
    stage.hang("framed print", plan, {"back": 3, "left": 1, "right": 2, "front": 1}, (0.7, 0.6, 1.75))
    stool(stage, "red stool", (-2.6, stage.between(-2.4, -1.8), 0), (0.75, 0.25, 0.2))
    stool(stage, "blue stool", (2.6, stage.between(-2.6, -1.9), 0), (0.25, 0.35, 0.65))
    radius = jug.parts[0].size[0] / 2
    tip = Change(turn=(0, 90, 0), pivot=(radius, 0, 0))
    spill = Change(move=(radius + size * 0.85, 0, 0), grow=(10, 8, 1))
    return Scene(
        family="kitchen",
        place="a kitchen with a stone worktop",
        things=stage.finished(jug),
        light=lamp_light((-0.5, -0.8, 2.7), warmth=0.3),
        motion=Motion(kind="slide", verb="slides along the worktop", travel=1.5 * size),
        process=Process(
            name="tips over and spills its milk",
            before="upright",
            after="lying on its side in a puddle of milk",
            changes={part.name: tip for part in jug.parts if part.name != "milk"} | {"milk": spill},
        ),
        distance=distance,
        eye_height=TOP + 1.9 * size,
        extent=plan.extent,
    )


def _jug(stage: Stage, height: float) -> Thing:
    width = height * stage.between(0.66, 0.74)
    glaze = stage.pick(((0.15, 0.28, 0.65), (0.95, 0.9, 0.8)), ((0.85, 0.25, 0.15), (0.95, 0.8, 0.5)))
    parts = [
        cylinder("body", (width, width, height), stage.surface("stripes", *glaze), (0, 0, height / 2)),
        cylinder(
            "milk", (0.05, 0.05, 0.008), stage.surface("ice", (0.95, 0.94, 0.9), (0.85, 0.85, 0.82)), (0, 0, 0.004)
        ),
        box(
            "spout",
            (width * 0.2, width * 0.2, height * 0.12),
            stage.surface("plain", *glaze),
            (width * 0.52, 0, height * 0.92),
        ),
        box(
            "handle",
            (width * 0.12, width * 0.12, height * 0.5),
            stage.surface("plain", *glaze),
            (-width * 0.68, 0, height * 0.58),
        ),
        box(
            "grip",
            (width * 0.28, width * 0.12, height * 0.09),
            stage.surface("plain", *glaze),
            (-width * 0.55, 0, height * 0.78),
        ),
        box(
            "lower grip",
            (width * 0.28, width * 0.12, height * 0.09),
            stage.surface("plain", *glaze),
            (-width * 0.55, 0, height * 0.38),
        ),
    ]
    return stage.put("milk jug", "target", parts, (0, 0, TOP))


def _worktop_things(stage: Stage) -> None:
    steel = stage.surface("metal", (0.6, 0.3, 0.2), (0.75, 0.5, 0.35))
    pan = [
        cylinder("pan", (0.42, 0.42, 0.2), steel, (0, 0, 0.1)),
        cylinder("lid", (0.44, 0.44, 0.03), stage.surface("metal", (0.6, 0.62, 0.64), (0.4, 0.4, 0.42)), (0, 0, 0.215)),
        ellipsoid("knob", (0.07, 0.07, 0.06), stage.surface("plain", (0.1, 0.1, 0.1), (0.2, 0.2, 0.2)), (0, 0, 0.26)),
    ]
    stage.put("copper pan", "interactor", pan, (stage.between(1.35, 1.6), stage.between(0.5, 0.56), TOP))
    bread = stage.surface("straw", (0.75, 0.5, 0.25), (0.5, 0.3, 0.12))
    stage.put(
        "loaf of bread",
        "prop",
        [
            box(
                "board",
                (0.55, 0.26, 0.03),
                stage.surface("planks", (0.75, 0.58, 0.38), (0.55, 0.4, 0.25)),
                (0, 0, 0.015),
            ),
            ellipsoid("loaf", (0.42, 0.2, 0.18), bread, (0, 0, 0.11)),
        ],
        (stage.between(-1.1, -0.8), stage.between(0.56, 0.62), TOP),
        stage.between(-12, 12),
    )
    for number, name in enumerate(("tea tin", "sugar tin")):
        height = stage.between(0.2, 0.3)
        tin = stage.surface("blotches", *stage.bright_colours(4))
        place = (0.35 + 0.32 * number, stage.between(0.58, 0.66), TOP)
        stage.put(name, "prop", cylinder("body", (0.17, 0.17, height), tin, (0, 0, height / 2)), place)
