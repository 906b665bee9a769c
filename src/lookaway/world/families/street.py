"""A street: a small car drives, or opens its bonnet and its boot."""

from __future__ import annotations

import numpy as np

from lookaway.world.families.furniture import bench, car_parts, drum, lamp_post, tree
from lookaway.world.nouns import Change, Motion, Process, Scene
from lookaway.world.stage import GroundPlan, Stage, box, panel, sun_light


def street(rng: np.random.Generator) -> Scene:
    """Houses on both sides of a road."""
    stage = Stage(rng)
    size = stage.between(2.1, 2.4)
    distance = 4.3 * size
    plan = GroundPlan.around(distance, width=30, back=8.5, behind=5, height=11)
    walls = stage.walls(
        ("facade", (stage.pick((0.72, 0.58, 0.44), (0.66, 0.48, 0.42)), (0.6, 0.46, 0.38), (0.78, 0.75, 0.7))),
        ("facade", ((0.6, 0.6, 0.56), (0.5, 0.52, 0.5), (0.72, 0.72, 0.7))),
        ("facade", ((0.76, 0.68, 0.52), (0.66, 0.58, 0.46), (0.8, 0.78, 0.74))),
        ("facade", ((0.64, 0.44, 0.38), (0.54, 0.38, 0.34), (0.74, 0.72, 0.68))),
    )
    pavement = stage.surface("tiles", (0.62, 0.6, 0.56), (0.54, 0.53, 0.5), (0.68, 0.66, 0.62))
    stage.enclose(plan, pavement, walls, heights={"left": 7.0, "right": 8.0, "front": 7.0})
    road = stage.surface("asphalt", (0.4, 0.41, 0.43), (0.55, 0.55, 0.54))
    top = stage.mat("road", (30, 6.4), road, (0, -0.4))
    paint = stage.pick(
        ((0.85, 0.2, 0.15), (0.95, 0.9, 0.85)),
        ((0.95, 0.75, 0.15), (0.2, 0.2, 0.22)),
        ((0.2, 0.5, 0.8), (0.92, 0.92, 0.9)),
    )
    car = stage.put("small car", "target", car_parts(stage, paint, size), (0, 0, top))
    parked = car_parts(stage, ((0.35, 0.5, 0.4), (0.8, 0.8, 0.74)), 2.3)
    stage.prop("parked car", parked, (stage.between(5.2, 6.2), 4.4, 0), stage.between(176, 184), role="interactor")
    _kiosk(stage)
    lamp_post(stage, "street lamp", (stage.between(1.6, 2.4), 4.0, 0), 4.6)
    tree(stage, "lime tree", (stage.between(-4.2, -3.4), 5.6, 0), 5.5)
    tree(stage, "plane tree", (stage.between(-13, -12), stage.between(-9, -6), 0), 6)
    tree(stage, "maple", (stage.between(12, 13), stage.between(-8, -5), 0), 6)
    bench(stage, "park bench", (stage.between(-1.5, 0.2), 4.8, 0), stage.between(-8, 8), 2.0)
    bench(stage, "stone bench", (stage.between(-3, 3), plan.front + 1.2, 0), 180, 2.2)
    for name, x, y in (("litter bin", 3.6, 5.2), ("blue bin", -6.2, 4.4), ("grey bin", 11, -5.0)):
        drum(stage, name, (x + stage.between(-0.5, 0.5), y, 0), 1.0, stage.pick((0.25, 0.4, 0.6), (0.3, 0.45, 0.32)))
    stage.hang("shop sign", plan, {"back": 3, "left": 1, "right": 1, "front": 2}, (3.0, 1.0, 3.0))
    unit = size / 2.3
    return Scene(
        family="street",
        place="a street between two rows of houses",
        things=stage.finished(car),
        light=sun_light((0.6, 0.8, -2.0)),
        motion=Motion(kind="carried", verb="drives along the street", travel=1.3 * size),
        process=Process(
            name="opens its bonnet and its boot",
            before="closed",
            after="standing with its bonnet and its boot open",
            changes={
                "bonnet": Change(turn=(0, -62, 0), pivot=(0.55 * unit, 0, 0.82 * unit)),
                "boot": Change(turn=(0, 70, 0), pivot=(-0.67 * unit, 0, 0.82 * unit)),
            },
        ),
        distance=distance,
        eye_height=1.3 * size,
        extent=plan.extent,
    )


def _kiosk(stage: Stage) -> None:
    shade = stage.surface("stripes", (0.8, 0.25, 0.2), (0.92, 0.9, 0.84))
    papers = stage.surface("books", *stage.bright_colours(7))
    parts = [
        box("hut", (2.2, 1.4, 2.3), stage.surface("boards", (0.3, 0.48, 0.45), (0.24, 0.38, 0.36)), (0, 0, 1.15)),
        panel("papers", (1.8, 1.0, 0.06), papers, (0, -0.72, 1.4), (90, 0, 0)),
        box("shade", (2.5, 0.8, 0.08), shade, (0, -1.0, 2.1), (14, 0, 0)),
        box("roof", (2.5, 1.7, 0.14), stage.surface("metal", (0.4, 0.42, 0.42), (0.3, 0.3, 0.32)), (0, 0, 2.37)),
    ]
    stage.put("newspaper kiosk", "anchor", parts, (stage.between(-9, -7.5), 6.4, 0))
