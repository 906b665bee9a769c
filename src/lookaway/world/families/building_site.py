"""A building site: a sack of sand falls off a stack of boards, or empties."""

from __future__ import annotations

import numpy as np

from lookaway.world.families.furniture import barrel, block, cone, crate, drum, tree
from lookaway.world.nouns import Change, Motion, Process, Scene, Thing
from lookaway.world.stage import WOOD, GroundPlan, Stage, box, cylinder, ellipsoid, sun_light


def building_site(rng: np.random.Generator) -> Scene:
    """Bricks, boards and a mixer behind a fence."""
    stage = Stage(rng)
    size = stage.between(0.62, 0.72)
    distance = 4.7 * size
    travel = 1.35 * size
    plan = GroundPlan.around(distance, width=15, back=6, behind=5, height=5.0)
    walls = stage.walls(
        ("bricks", (stage.pick((0.68, 0.42, 0.32), (0.6, 0.5, 0.44)), (0.52, 0.34, 0.28), (0.74, 0.72, 0.68))),
        ("boards", ((0.66, 0.55, 0.38), (0.5, 0.4, 0.27))),
        ("boards", (stage.pick((0.35, 0.5, 0.62), (0.45, 0.55, 0.4)), (0.5, 0.52, 0.5))),
        ("facade", ((0.7, 0.62, 0.5), (0.62, 0.54, 0.44), (0.76, 0.74, 0.7))),
    )
    ground = stage.surface("asphalt", (0.56, 0.46, 0.36), (0.66, 0.58, 0.46))
    stage.enclose(plan, ground, walls, heights={"front": 2.4, "left": 2.2, "right": 6.5})
    low = size * 0.22
    _boards(stage, travel, size * 1.7, low)
    sack = _sack(stage, size, low)
    _mixer(stage)
    for number, (name, x, y) in enumerate(
        (("stack of bricks", -1.9, 2.4), ("pile of bricks", 0.9, 3.8), ("far bricks", -5.0, -4.0))
    ):
        bricks = stage.surface("bricks", (0.72, 0.36, 0.26), (0.58, 0.28, 0.2), (0.3, 0.2, 0.16))
        tall = stage.between(0.45, 0.7) + 0.1 * number
        block(stage, name, (x + stage.between(-0.2, 0.2), y, 0), (0.9, 0.6, tall), bricks)
    cone(stage, "road cone", (stage.between(-0.7, -0.4), 2.3, 0), 0.6)
    cone(stage, "orange cone", (stage.between(4.6, 5.4), stage.between(-5, -3), 0), 0.7)
    barrel(stage, "water butt", (stage.between(-0.2, 0.2), 4.8, 0), 1.0)
    drum(stage, "tar drum", (stage.between(1.6, 1.9), 2.4, 0), 0.8, (0.25, 0.26, 0.3))
    crate(stage, "tool crate", (stage.between(-2, 2), plan.front + 1.2, 0), 0.8)
    tree(stage, "young tree", (stage.between(3.6, 4.4), 4.6, 0), 3.4)
    tree(stage, "birch", (stage.between(-6, -5), stage.between(1, 3), 0), 3.8)
    stage.hang("warning sign", plan, {"back": 2, "left": 1, "front": 1, "right": 1}, (1.1, 0.8, 1.6))
    body = sack.parts[0]
    left = 0.5
    down = Change(grow=(1.04, 1.04, left), move=(0, 0, -(1 - left) * body.size[2] / 2))
    return Scene(
        family="building_site",
        place="a building site behind a fence",
        things=stage.finished(sack),
        light=sun_light((-0.5, 0.7, -1.5)),
        motion=Motion(kind="fall", verb="slips off the stack of boards", travel=travel),
        process=Process(
            name="empties",
            before="full",
            after="half empty beside a heap of sand",
            changes={
                "body": down,
                "band": down,
                "seam": Change(move=(0, 0, -(1 - left) * body.size[2])),
                "sand": Change(grow=(9, 8, 6), move=(0.1 * size, -0.45 * size, -0.01)),
            },
        ),
        distance=distance,
        eye_height=low + 1.5 * size,
        extent=plan.extent,
    )


def _sack(stage: Stage, width: float, floor: float) -> Thing:
    depth, height = width * 0.62, width * 0.5
    paper = stage.pick(((0.88, 0.84, 0.74), (0.75, 0.7, 0.6)), ((0.55, 0.68, 0.8), (0.42, 0.55, 0.68)))
    print_ = stage.surface("blotches", (0.8, 0.2, 0.15), (0.95, 0.9, 0.85), (0.75, 0.25, 0.2))
    seam = stage.surface("cloth", *paper)
    sand = stage.surface("plaster", (0.86, 0.7, 0.42), (0.7, 0.52, 0.3))
    parts = [
        box("body", (width, depth, height), stage.surface("cardboard", *paper), (0, 0, height / 2)),
        box("band", (width * 0.46, depth * 1.02, height * 1.02), print_, (0, 0, height * 0.51)),
        box("seam", (width * 0.96, depth * 0.12, height * 0.12), seam, (0, 0, height * 1.04)),
        ellipsoid("sand", (0.07, 0.05, 0.03), sand, (0, 0, 0.02)),
    ]
    return stage.put("sack of sand", "target", parts, (0, 0, floor))


def _boards(stage: Stage, width: float, depth: float, height: float) -> None:
    parts = []
    for row in range(3):
        wood = stage.surface("planks", *WOOD)
        size = (width, depth * (1 - 0.06 * (row % 2)), height / 3)
        parts.append(box(f"board {row}", size, wood, (0, 0, height * (row + 0.5) / 3)))
    stage.put("stack of boards", "prop", parts, (0, 0, 0))


def _mixer(stage: Stage) -> None:
    paint = stage.surface("rust", stage.pick((0.85, 0.55, 0.15), (0.25, 0.45, 0.65)), (0.5, 0.42, 0.36))
    steel = stage.surface("metal", (0.45, 0.45, 0.46), (0.32, 0.3, 0.3))
    parts = [
        box("stand", (0.7, 0.5, 0.4), steel, (0, 0, 0.2)),
        ellipsoid("drum", (0.95, 0.85, 0.95), paint, (0, 0, 0.8)),
        cylinder(
            "mouth",
            (0.5, 0.5, 0.3),
            stage.surface("metal", (0.35, 0.35, 0.36), (0.5, 0.45, 0.4)),
            (-0.3, -0.12, 1.15),
            (15, -40, 0),
        ),
    ]
    stage.prop("cement mixer", parts, (stage.between(2.5, 2.8), 1.5, 0), stage.between(-20, 20), role="interactor")
