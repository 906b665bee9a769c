"""A park: a balloon drifts over the lawn, or is blown up."""

from __future__ import annotations

import numpy as np

from lookaway.world.families.furniture import bench, crate, drum, lamp_post, plant, tree
from lookaway.world.nouns import Change, Motion, Process, Scene, Thing
from lookaway.world.stage import GroundPlan, Stage, box, cylinder, ellipsoid, sun_light


def park(rng: np.random.Generator) -> Scene:
    """A picnic on a lawn before old houses."""
    stage = Stage(rng)
    size = stage.between(0.74, 0.84)
    distance = 4.1 * size
    plan = GroundPlan.around(distance, width=18, back=7, behind=6, height=6)
    walls = stage.walls(
        ("leaves", ((0.18, 0.36, 0.16), (0.42, 0.5, 0.2))),
        ("facade", ((0.72, 0.6, 0.5), (0.62, 0.5, 0.42), (0.78, 0.76, 0.72))),
        ("facade", (stage.pick((0.64, 0.66, 0.6), (0.78, 0.72, 0.56)), (0.56, 0.56, 0.52), (0.78, 0.76, 0.72))),
        ("boards", ((0.48, 0.4, 0.3), (0.36, 0.32, 0.26))),
    )
    lawn = stage.surface("grass", (0.32, 0.5, 0.18), (0.52, 0.6, 0.28))
    stage.enclose(plan, lawn, walls, heights={"back": 4.2, "front": 5.0, "right": 2.0, "left": 5.0})
    blanket = stage.surface(
        "cloth", *stage.pick(((0.78, 0.4, 0.36), (0.92, 0.88, 0.8)), ((0.36, 0.46, 0.7), (0.88, 0.86, 0.78)))
    )
    stage.mat("picnic blanket", (2.4, 1.6), blanket, (stage.between(-0.8, 0.8), 2.6))
    balloon = _balloon(stage, size)
    _basket(stage)
    bench(stage, "park bench", (stage.between(-1.6, -1.1), 4.4, 0), stage.between(-10, 10))
    bench(stage, "white bench", (stage.between(-3, 3), plan.front + 1.4, 0), 180, 2.0)
    lamp_post(stage, "park lamp", (stage.between(1.2, 1.6), 4.4, 0), 3.4)
    tree(stage, "oak", (stage.between(-4.4, -3.6), 5.0, 0), 4.6)
    tree(stage, "elm", (stage.between(4.2, 5.2), 5.4, 0), 4.4)
    tree(stage, "willow", (stage.between(-7, -5.5), stage.between(-5, -3), 0), 4.6)
    tree(stage, "poplar", (stage.between(5, 7), stage.between(-7, -5), 0), 5.0)
    plant(stage, "flower tub", (stage.between(0.2, 0.6), 3.8, 0), 0.9)
    plant(stage, "second tub", (stage.between(-2.5, 2.5), plan.front + 2.6, 0), 1.0)
    drum(stage, "litter bin", (stage.between(-2.6, -2.2), 2.8, 0), 0.8, (0.25, 0.42, 0.34))
    crate(stage, "drinks crate", (stage.between(-0.8, -0.5), 2.0, 0.012), 0.36)
    stage.hang("poster", plan, {"right": 2, "front": 2, "left": 1}, (1.2, 0.9, 1.2))
    skin = balloon.parts[0]
    swell = 1.5
    up = (swell - 1) * skin.size[2] / 2
    return Scene(
        family="park",
        place="a park with a lawn and old trees",
        things=stage.finished(balloon),
        light=sun_light((0.5, 0.6, -1.5)),
        motion=Motion(kind="carried", verb="drifts over the lawn", travel=1.3 * size),
        process=Process(
            name="is blown up",
            before="small",
            after="blown up to half again its size",
            changes={"balloon": Change(grow=(swell, swell, swell), move=(0, 0, up))},
        ),
        distance=distance,
        eye_height=2.0 * size,
        extent=plan.extent,
    )


def _balloon(stage: Stage, height: float) -> Thing:
    wide, tall = height * 0.56, height * 0.66
    colours = stage.pick(
        ((0.9, 0.2, 0.25), (0.98, 0.85, 0.4)),
        ((0.2, 0.35, 0.85), (0.95, 0.9, 0.9)),
        ((0.95, 0.5, 0.1), (0.95, 0.92, 0.6)),
    )
    weight = stage.surface("blotches", *stage.bright_colours(4))
    string = stage.surface("plain", (0.9, 0.88, 0.8), (0.8, 0.75, 0.6))
    parts = [
        ellipsoid("balloon", (wide, wide, tall), stage.surface("stripes", *colours), (0, 0, height - tall / 2)),
        box("weight", (height * 0.26, height * 0.26, height * 0.2), weight, (0, 0, height * 0.1)),
        cylinder("string", (0.02, 0.02, height * 0.2), string, (0, 0, height * 0.28)),
        ellipsoid("knot", (height * 0.07, height * 0.07, height * 0.06), string, (0, 0, height * 0.345)),
    ]
    return stage.put("balloon", "target", parts, (0, 0, 0))


def _basket(stage: Stage) -> None:
    straw = stage.surface("straw", (0.75, 0.55, 0.3), (0.5, 0.34, 0.17))
    cloth = stage.surface("cloth", (0.9, 0.88, 0.84), (0.75, 0.3, 0.3))
    parts = [
        box("basket", (0.8, 0.55, 0.4), straw, (0, 0, 0.2)),
        box("cloth", (0.7, 0.58, 0.06), cloth, (0, 0, 0.41)),
        cylinder(
            "bottle", (0.1, 0.1, 0.36), stage.surface("ice", (0.15, 0.4, 0.2), (0.3, 0.55, 0.3)), (0.22, 0.1, 0.6)
        ),
        ellipsoid(
            "melon", (0.3, 0.3, 0.26), stage.surface("stripes", (0.2, 0.45, 0.2), (0.55, 0.7, 0.35)), (-0.15, 0, 0.52)
        ),
    ]
    stage.prop("picnic basket", parts, (stage.between(2.2, 2.5), 1.4, 0), stage.between(-25, 25), role="interactor")
