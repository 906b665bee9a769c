"""A gym: an exercise ball rolls, or changes its colour."""

from __future__ import annotations

import numpy as np

from lookaway.world.families.furniture import LYING, STEEL, bench, block, cone, cupboard
from lookaway.world.nouns import Change, Motion, Process, Scene
from lookaway.world.stage import WOOD, GroundPlan, Stage, box, cylinder, ellipsoid, lamp_light


def gym(rng: np.random.Generator) -> Scene:
    """A hall with mats, a vaulting box and weights."""
    stage = Stage(rng)
    size = stage.between(0.55, 0.68)
    distance = 5.2 * size
    plan = GroundPlan.around(distance, width=10, back=4.0, behind=2.8, height=3.6)
    walls = stage.walls(
        ("boards", (stage.pick((0.72, 0.55, 0.36), (0.6, 0.5, 0.42)), (0.56, 0.42, 0.28))),
        ("plaster", ((0.72, 0.74, 0.7),)),
        ("bricks", ((0.74, 0.7, 0.62), (0.64, 0.6, 0.54), (0.8, 0.78, 0.74))),
        ("plaster", (stage.pick((0.5, 0.62, 0.72), (0.7, 0.56, 0.5)),)),
    )
    floor = stage.surface("planks", (0.76, 0.58, 0.36), (0.62, 0.45, 0.27))
    stage.enclose(plan, floor, walls, ceiling=stage.surface("plaster", (0.78, 0.78, 0.76)))
    mat = stage.surface("rust", stage.pick((0.22, 0.38, 0.58), (0.24, 0.46, 0.38)), (0.34, 0.5, 0.66))
    top = stage.mat("exercise mat", (4.4, 2.6), mat, (0, 0.2))
    skin = stage.surface("blotches", (0.95, 0.85, 0.35), (0.98, 0.95, 0.85), (0.95, 0.7, 0.3))
    ball = stage.put(
        "exercise ball",
        "target",
        ellipsoid("body", (size, size, size), skin),
        (0, 0, top + size / 2),
        stage.between(0, 360),
    )
    _vault(stage)
    _weights(stage)
    bench(stage, "wooden bench", (stage.between(-1.2, -0.6), 3.4, 0), 0, 1.8)
    bench(stage, "long bench", (stage.between(-1.6, 1.6), plan.front + 0.5, 0), 180, 2.2)
    cupboard(stage, "locker", (stage.between(0.6, 1.3), 3.65, 0), 0, (1.2, 0.5, 1.9))
    for number, (name, x, y) in enumerate(
        (("left cone", -1.5, 1.9), ("middle cone", 0.1, 2.3), ("far cone", -3.8, -2.4))
    ):
        cone(stage, name, (x + stage.between(-0.2, 0.2), y + stage.between(-0.2, 0.2), 0), 0.5 + 0.04 * number)
    foam = stage.surface("rust", (0.75, 0.3, 0.25), (0.6, 0.22, 0.2))
    block(stage, "foam block", (3.9, stage.between(-3.0, -2.0), 0), (0.8, 0.6, 0.6), foam)
    stage.hang("banner", plan, {"back": 3, "left": 1, "right": 1, "front": 2}, (1.2, 0.8, 2.2))
    return Scene(
        family="gym",
        place="a gym with a mat on a wooden floor",
        things=stage.finished(ball),
        light=lamp_light((0.6, -0.8, 3.5)),
        motion=Motion(kind="roll", verb="rolls over the mat", travel=1.6 * size),
        process=Process(
            name="turns red", before="yellow", after="deep red", changes={"body": Change(tint=(0.8, 0.12, 0.16))}
        ),
        distance=distance,
        eye_height=1.95 * size,
        extent=plan.extent,
    )


def _vault(stage: Stage) -> None:
    parts = []
    for row in range(3):
        size = (1.3 - 0.12 * row, 0.6 - 0.06 * row, 0.27)
        parts.append(box(f"frame {row}", size, stage.surface("planks", *WOOD), (0, 0, 0.135 + 0.28 * row)))
    pad = stage.surface("cloth", (0.7, 0.62, 0.5), (0.55, 0.46, 0.36))
    parts.append(box("pad", (1.1, 0.5, 0.12), pad, (0, 0, 0.9)))
    stage.prop("vaulting box", parts, (stage.between(2.6, 2.9), 1.7, 0), stage.between(-25, 10), role="interactor")


def _weights(stage: Stage) -> None:
    paint = stage.pick((0.65, 0.2, 0.2), (0.2, 0.3, 0.6), (0.2, 0.5, 0.3))
    bar = stage.surface("metal", *STEEL)
    parts = [cylinder("bar", (0.05, 0.05, 1.1), bar, (0, 0, 0.24), LYING)]
    for side in (-1, 1):
        for number, width in enumerate((0.48, 0.36)):
            plate = stage.surface("rust", paint, (0.3, 0.3, 0.3))
            at = (0, side * (0.38 + 0.09 * number), 0.24)
            parts.append(cylinder(f"plate {side} {number}", (width, width, 0.08), plate, at, LYING))
    stage.prop("barbell", parts, (stage.between(1.0, 1.4), 2.6, 0), stage.between(40, 110), role="anchor")
