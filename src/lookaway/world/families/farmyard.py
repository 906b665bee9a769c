"""A farmyard: a bucket is dragged along, or tips over."""

from __future__ import annotations

import numpy as np

from lookaway.world.families.furniture import bale, barrel, bench, crate, sack, tree
from lookaway.world.nouns import Change, Motion, Process, Scene, Thing
from lookaway.world.stage import WOOD, GroundPlan, Stage, box, cylinder, sun_light


def farmyard(rng: np.random.Generator) -> Scene:
    """Bales and barrels before a barn."""
    stage = Stage(rng)
    size = stage.between(0.42, 0.5)
    distance = 5.2 * size
    plan = GroundPlan.around(distance, width=14, back=5.5, behind=5, height=5.5)
    walls = stage.walls(
        ("boards", (stage.pick((0.58, 0.26, 0.2), (0.42, 0.44, 0.36)), (0.46, 0.24, 0.18))),
        ("bricks", ((0.66, 0.6, 0.5), (0.54, 0.5, 0.42), (0.42, 0.4, 0.36))),
        ("leaves", ((0.2, 0.38, 0.14), (0.44, 0.55, 0.22))),
        ("boards", ((0.6, 0.52, 0.4), (0.46, 0.39, 0.3))),
    )
    ground = stage.surface("asphalt", (0.58, 0.47, 0.34), (0.7, 0.6, 0.42))
    stage.enclose(plan, ground, walls, heights={"front": 2.8, "left": 2.2, "right": 1.8})
    bucket = _bucket(stage, size)
    _trough(stage)
    bale(stage, "straw bale", (stage.between(-1.4, -1.0), 2.4, 0), 1.0)
    bale(stage, "round bale", (stage.between(3.4, 4.0), 3.8, 0), 1.3)
    bale(stage, "old bale", (-5.0, stage.between(-4.5, -2.5), 0), 1.3)
    barrel(stage, "rain barrel", (stage.between(0.9, 1.3), 3.2, 0), 0.95, role="anchor")
    barrel(stage, "cider barrel", (5.0, stage.between(-5.0, -3.0), 0), 1.0)
    sack(stage, "sack of oats", (stage.between(0.1, 0.5), 2.0, 0), 0.6)
    crate(stage, "apple crate", (stage.between(-0.4, -0.1), 3.6, 0), 0.5)
    crate(stage, "egg crate", (stage.between(-2.6, -2.2), 1.4, 0), 0.4)
    bench(stage, "bench", (stage.between(-2, 2), plan.front + 0.8, 0), 180, 1.8)
    tree(stage, "apple tree", (stage.between(-4.8, -4.2), 3.6, 0), 3.4)
    tree(stage, "pear tree", (stage.between(3.5, 5.5), plan.front + 1.8, 0), 4.0)
    stage.hang("old sign", plan, {"back": 2, "front": 1, "right": 1}, (1.0, 0.7, 1.1))
    radius = bucket.parts[0].size[0] / 2
    tip = Change(turn=(0, 90, 0), pivot=(radius, 0, 0))
    return Scene(
        family="farmyard",
        place="a farmyard in front of a barn",
        things=stage.finished(bucket),
        light=sun_light((0.6, 0.6, -1.4), horizon=(0.9, 0.88, 0.8), zenith=(0.4, 0.58, 0.82)),
        motion=Motion(kind="slide", verb="is dragged across the yard", travel=1.5 * size),
        process=Process(
            name="tips over into a growing puddle",
            before="upright",
            after="lying in a puddle",
            changes={part.name: tip for part in bucket.parts if part.name != "puddle"}
            | {"puddle": Change(move=(radius + size * 0.8, 0, 0), grow=(13, 10, 1))},
        ),
        distance=distance,
        eye_height=1.95 * size,
        extent=plan.extent,
    )


def _bucket(stage: Stage, height: float) -> Thing:
    width = height * stage.between(0.72, 0.8)
    enamel = stage.pick(
        ((0.2, 0.42, 0.72), (0.85, 0.88, 0.9)),
        ((0.8, 0.85, 0.86), (0.25, 0.4, 0.6)),
        ((0.85, 0.3, 0.18), (0.92, 0.85, 0.7)),
    )
    water = stage.surface("ice", (0.3, 0.46, 0.55), (0.5, 0.66, 0.72))
    wet = stage.surface("ice", (0.36, 0.5, 0.58), (0.55, 0.68, 0.74))
    rim = stage.surface("metal", (0.8, 0.8, 0.8), (0.6, 0.6, 0.62))
    parts = [
        cylinder("body", (width, width, height), stage.surface("rust", *enamel), (0, 0, height / 2)),
        cylinder("puddle", (0.05, 0.05, 0.006), wet, (0, 0, 0.003)),
        cylinder("lower hoop", (width * 1.04, width * 1.04, height * 0.06), rim, (0, 0, height * 0.16)),
        cylinder("rim", (width * 1.06, width * 1.06, height * 0.07), rim, (0, 0, height * 0.95)),
        cylinder("water", (width * 0.9, width * 0.9, 0.012), water, (0, 0, height)),
        box("handle", (width * 0.06, width * 1.0, height * 0.05), stage.surface("planks", *WOOD), (0, 0, height * 1.2)),
        box("left wire", (0.012, 0.012, height * 0.26), rim, (0, -width * 0.48, height * 1.1)),
        box("right wire", (0.012, 0.012, height * 0.26), rim, (0, width * 0.48, height * 1.1)),
    ]
    return stage.put("enamel bucket", "target", parts, (0, 0, 0))


def _trough(stage: Stage) -> None:
    stone = [stage.surface("plaster", (0.6, 0.6, 0.56), (0.45, 0.45, 0.4)) for _ in range(3)]
    water = stage.surface("ice", (0.25, 0.4, 0.46), (0.45, 0.6, 0.66))
    parts = [
        box("block", (1.5, 0.6, 0.4), stone[0], (0, 0, 0.26)),
        box("water", (1.34, 0.44, 0.02), water, (0, 0, 0.46)),
        box("left foot", (0.25, 0.5, 0.06), stone[1], (-0.5, 0, 0.03)),
        box("right foot", (0.25, 0.5, 0.06), stone[2], (0.5, 0, 0.03)),
    ]
    stage.prop("stone trough", parts, (stage.between(2.3, 2.6), 1.5, 0), stage.between(-20, 15), role="interactor")
