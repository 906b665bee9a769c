"""A bedroom: a suitcase is pushed over the floor, or opens."""

from __future__ import annotations

import numpy as np

from lookaway.world.families.furniture import chair, cupboard, floor_lamp, plant, shelf
from lookaway.world.nouns import Change, Motion, Process, Scene, Thing
from lookaway.world.stage import GroundPlan, Stage, box, ellipsoid, lamp_light, panel


def bedroom(rng: np.random.Generator) -> Scene:
    """A bed, a wardrobe and a suitcase."""
    stage = Stage(rng)
    size = stage.between(0.56, 0.66)
    distance = 5.4 * size
    plan = GroundPlan.around(distance, width=8, back=3.2, behind=2.2, height=2.8)
    tone = stage.pick((0.66, 0.7, 0.82), (0.8, 0.7, 0.66), (0.7, 0.78, 0.68))
    walls = stage.walls(
        ("cloth", (tone, (0.88, 0.86, 0.8))),
        ("plaster", (tone,)),
        ("plaster", ((0.82, 0.78, 0.7),)),
        ("boards", ((0.78, 0.76, 0.7), (0.66, 0.66, 0.64))),
    )
    floor = stage.surface("planks", (0.72, 0.58, 0.42), (0.58, 0.44, 0.3))
    stage.enclose(plan, floor, walls, ceiling=stage.surface("plaster", (0.88, 0.87, 0.84)))
    carpet = stage.surface("cloth", (0.42, 0.46, 0.52), (0.62, 0.6, 0.56))
    top = stage.mat("carpet", (4.6, 2.4), carpet, (0, 0.1))
    suitcase = _suitcase(stage, size, top)
    _bed(stage)
    cupboard(stage, "wardrobe", (stage.between(-1.7, -1.2), 2.85, 0), 0, (1.3, 0.55, 2.0))
    shelf(stage, "bookcase", (stage.between(-1.5, 1.5), plan.front + 0.25, 0), 180)
    floor_lamp(stage, "reading lamp", (stage.between(-0.3, 0.2), 2.7, 0))
    plant(stage, "fig tree", (3.4, stage.between(-1.4, -0.8), 0), 1.4)
    chair(stage, "blue chair", (stage.between(-0.9, -0.6), 1.7, 0), stage.between(-30, 30), (0.3, 0.4, 0.62))
    chair(stage, "yellow chair", (-3.0, stage.between(-2.4, -1.6), 0), stage.between(70, 110), (0.8, 0.68, 0.3))
    stage.hang("picture", plan, {"back": 3, "left": 1, "right": 2, "front": 1}, (0.8, 0.6, 1.6))
    height = suitcase.parts[0].size[2]
    lift = Change(turn=(-100, 0, 0), pivot=(0, size * 0.36, height))
    return Scene(
        family="bedroom",
        place="a bedroom with a carpet",
        things=stage.finished(suitcase),
        light=lamp_light((0.5, -0.8, 2.7), warmth=0.5),
        motion=Motion(kind="slide", verb="is pushed over the carpet", travel=1.4 * size),
        process=Process(
            name="opens",
            before="closed",
            after="open",
            changes={name: lift for name in ("lid", "lining", "strap", "second strap")},
        ),
        distance=distance,
        eye_height=2.05 * size,
        extent=plan.extent,
    )


def _suitcase(stage: Stage, width: float, floor: float) -> Thing:
    depth, height, thick = width * 0.72, width * 0.34, width * 0.09
    leather = stage.pick(((0.66, 0.26, 0.16), (0.5, 0.18, 0.12)), ((0.2, 0.42, 0.4), (0.14, 0.3, 0.32)))
    straps = [stage.surface("plain", (0.85, 0.72, 0.45), (0.7, 0.55, 0.3)) for _ in range(2)]
    clothes = stage.surface("blotches", (0.9, 0.88, 0.82), *stage.bright_colours(5))
    lid = (0, 0, height + 0.012 + thick / 2)
    parts = [
        box("body", (width, depth, height), stage.surface("rust", *leather), (0, 0, height / 2)),
        panel("clothes", (width * 0.92, depth * 0.9, 0.01), clothes, (0, 0, height + 0.004)),
        box("lid", (width, depth, thick), stage.surface("rust", *leather), lid),
        panel(
            "lining",
            (width * 0.9, depth * 0.88, 0.004),
            stage.surface("cloth", (0.85, 0.8, 0.65), (0.7, 0.62, 0.5)),
            (0, 0, height + 0.011),
        ),
        box("strap", (width * 0.07, depth * 1.01, thick * 1.1), straps[0], (-width * 0.28, 0, lid[2])),
        box("second strap", (width * 0.07, depth * 1.01, thick * 1.1), straps[1], (width * 0.28, 0, lid[2])),
        box("handle", (width * 0.24, 0.03, 0.03), straps[0], (0, -depth / 2 - 0.015, height * 0.6)),
    ]
    return stage.put("leather suitcase", "target", parts, (0, 0, floor), stage.between(-8, 8))


def _bed(stage: Stage) -> None:
    quilt = stage.surface(
        "cloth", *stage.pick(((0.65, 0.25, 0.3), (0.9, 0.8, 0.6)), ((0.25, 0.4, 0.6), (0.85, 0.85, 0.8)))
    )
    wood = stage.surface("planks", (0.5, 0.34, 0.2), (0.38, 0.25, 0.14))
    parts = [
        box("frame", (1.3, 1.9, 0.28), wood, (0, 0, 0.14)),
        box("quilt", (1.26, 1.86, 0.22), quilt, (0, 0, 0.39)),
        box(
            "headboard",
            (1.34, 0.08, 0.95),
            stage.surface("planks", (0.5, 0.34, 0.2), (0.38, 0.25, 0.14)),
            (0, 0.93, 0.475),
        ),
        ellipsoid(
            "pillow", (0.8, 0.4, 0.2), stage.surface("stripes", (0.92, 0.9, 0.86), (0.7, 0.75, 0.82)), (0, 0.62, 0.56)
        ),
    ]
    stage.put("bed", "interactor", parts, (stage.between(2.1, 2.5), 1.95, 0), stage.between(-6, 6))
