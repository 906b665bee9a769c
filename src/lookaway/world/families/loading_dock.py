"""A loading dock: a cardboard box falls off a pallet, or is squashed."""

from __future__ import annotations

import numpy as np

from lookaway.world.families.furniture import carton, carton_parts, cone, crate, drum, lamp_post
from lookaway.world.nouns import Change, Motion, Process, Scene
from lookaway.world.stage import WOOD, GroundPlan, Stage, box, cylinder, panel, sun_light


def loading_dock(rng: np.random.Generator) -> Scene:
    """Crates in a yard before a warehouse."""
    stage = Stage(rng)
    size = stage.between(0.54, 0.62)
    distance = 5.5 * size
    travel = 1.5 * size
    plan = GroundPlan.around(distance, width=15, back=5.5, behind=5, height=6.5)
    walls = stage.walls(
        ("rust", (stage.pick((0.5, 0.58, 0.62), (0.58, 0.62, 0.5)), (0.55, 0.36, 0.24))),
        ("facade", ((0.62, 0.5, 0.42), (0.54, 0.42, 0.36), (0.7, 0.68, 0.64))),
        ("bricks", ((0.62, 0.4, 0.32), (0.5, 0.32, 0.26), (0.7, 0.68, 0.64))),
        ("boards", ((0.55, 0.5, 0.44), (0.42, 0.38, 0.34))),
    )
    ground = stage.surface("asphalt", (0.5, 0.5, 0.5), (0.62, 0.62, 0.6))
    stage.enclose(plan, ground, walls, heights={"front": 4.4, "left": 4.0, "right": 2.6})
    pallet_height = size * 0.26
    _pallet(stage, travel, size * 1.3, pallet_height)
    heavy = stage.put(
        "cardboard box", "target", carton_parts(stage, (size * 0.92, size * 0.86, size * 0.86)), (0, 0, pallet_height)
    )
    _gate(stage, plan)
    crate(stage, "large crate", (stage.between(2.5, 2.8), 1.5, 0), 0.8, role="interactor")
    crate(stage, "old crate", (stage.between(-1.7, -1.3), 2.4, 0), 0.65)
    crate(stage, "far crate", (-5.2, stage.between(-4.5, -2.5), 0), 0.9)
    carton(stage, "flat carton", (stage.between(-0.6, -0.2), 2.9, 0), (0.6, 0.5, 0.36))
    carton(stage, "tall carton", (stage.between(1.1, 1.5), 3.2, 0), (0.5, 0.5, 0.8))
    drum(stage, "oil drum", (stage.between(0.5, 0.8), 4.2, 0), 0.95, stage.pick((0.2, 0.4, 0.6), (0.7, 0.3, 0.2)))
    drum(stage, "green drum", (5.4, stage.between(-5, -3), 0), 1.0, (0.3, 0.5, 0.3))
    cone(stage, "traffic cone", (stage.between(-2.6, -2.2), 1.6, 0), 0.6)
    cone(stage, "second cone", (stage.between(-2, 2), plan.front + 1.2, 0), 0.7)
    lamp_post(stage, "yard lamp", (stage.between(3.8, 4.4), 3.6, 0), 3.6)
    stage.hang("notice", plan, {"back": 2, "left": 1, "right": 1, "front": 1}, (1.3, 0.9, 1.6))
    body, _, label = heavy.parts
    left = 0.6
    down = Change(grow=(1.06, 1.06, left), move=(0, 0, -(1 - left) * body.size[2] / 2))
    return Scene(
        family="loading_dock",
        place="a loading dock in front of a warehouse",
        things=stage.finished(heavy),
        light=sun_light((0.5, 0.6, -1.5)),
        motion=Motion(kind="fall", verb="slides off the pallet and falls to the ground", travel=travel),
        process=Process(
            name="is squashed",
            before="undamaged",
            after="squashed",
            changes={
                "body": down,
                "tape": down,
                "label": Change(grow=(1, left, 1), move=(0, -0.03 * body.size[1], -(1 - left) * label.position[2])),
            },
        ),
        distance=distance,
        eye_height=pallet_height + 1.75 * size,
        extent=plan.extent,
    )


def _pallet(stage: Stage, width: float, depth: float, height: float) -> None:
    planks = stage.surface("planks", *WOOD)
    parts = [box("deck", (width, depth, height * 0.4), planks, (0, 0, height * 0.8))]
    for number, y in enumerate((-0.42, 0.0, 0.42)):
        beam = stage.surface("planks", *WOOD)
        parts.append(
            box(f"beam {number}", (width * 0.98, depth * 0.14, height * 0.6), beam, (0, depth * y, height * 0.3))
        )
    stage.put("pallet", "prop", parts, (0, 0, 0))


def _gate(stage: Stage, plan: GroundPlan) -> None:
    slats = stage.surface("planks", (0.7, 0.68, 0.62), (0.58, 0.56, 0.52))
    stripes = stage.surface("stripes", (0.9, 0.75, 0.15), (0.15, 0.15, 0.15))
    parts = [
        panel("slats", (3.0, 2.8, 0.06), slats, (0, 0, 1.4), (90, 0, 0)),
        cylinder(
            "roller",
            (0.3, 0.3, 3.2),
            stage.surface("metal", (0.5, 0.5, 0.5), (0.35, 0.35, 0.36)),
            (0, -0.1, 2.9),
            (0, 90, 0),
        ),
        box("left post", (0.2, 0.2, 2.8), stripes, (-1.6, -0.05, 1.4)),
        box("right post", (0.2, 0.2, 2.8), stripes, (1.6, -0.05, 1.4)),
    ]
    stage.put("roller gate", "anchor", parts, (stage.between(-0.8, 0.6), plan.back - 0.12, 0))
