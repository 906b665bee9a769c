"""A lobby: a mannequin walks, or raises its arms."""

from __future__ import annotations

import numpy as np

from lookaway.world.families.furniture import bench, carton, counter, floor_lamp, plant
from lookaway.world.nouns import Change, Motion, Process, Scene, Thing
from lookaway.world.stage import DARK_WOOD, GroundPlan, Stage, box, capsule, ellipsoid, lamp_light


def lobby(rng: np.random.Generator) -> Scene:
    """A marble hall with a reception desk."""
    stage = Stage(rng)
    size = stage.between(1.45, 1.6)
    distance = 3.6 * size
    plan = GroundPlan.around(distance, width=13, back=4.2, behind=3.2, height=4.6)
    tone = stage.pick((0.8, 0.76, 0.66), (0.68, 0.74, 0.74), (0.78, 0.7, 0.68))
    walls = stage.walls(
        ("marble", (tone, (0.88, 0.86, 0.82))),
        ("glass", ((0.34, 0.44, 0.52), (0.75, 0.8, 0.84))),
        ("boards", ((0.5, 0.36, 0.24), (0.4, 0.28, 0.18))),
        ("plaster", (tone,)),
    )
    floor = stage.surface("marble", (0.62, 0.58, 0.52), (0.8, 0.77, 0.72))
    stage.enclose(plan, floor, walls, ceiling=stage.surface("plaster", (0.86, 0.85, 0.82)))
    carpet = stage.surface("blotches", (0.32, 0.2, 0.22), (0.45, 0.25, 0.25), (0.4, 0.32, 0.28), (0.55, 0.42, 0.3))
    top = stage.mat("long carpet", (8, 1.8), carpet)
    mannequin = _mannequin(stage, size, top)
    wood = stage.surface("planks", *DARK_WOOD)
    slab = stage.surface("marble", (0.3, 0.32, 0.32), (0.45, 0.45, 0.44))
    desk = counter(stage, "desk", (stage.between(3.0, 3.5), 2.6, 0), (2.4, 0.8, 1.05), (slab, wood))
    bell = stage.surface("metal", (0.85, 0.7, 0.3), (0.65, 0.5, 0.2))
    at = (desk.position[0] - 0.5, desk.position[1], 1.05)
    stage.put("desk bell", "interactor", ellipsoid("bell", (0.24, 0.24, 0.2), bell, (0, 0, 0.09)), at)
    bench(stage, "waiting bench", (stage.between(-1.4, -0.9), 3.5, 0), stage.between(-6, 6), 1.8)
    bench(stage, "second bench", (stage.between(-3, 3), plan.front + 0.6, 0), 180, 2.0)
    plant(stage, "palm", (stage.between(0.6, 1.2), 3.4, 0), stage.between(1.5, 1.9), role="anchor")
    plant(stage, "lemon tree", (-5.6, stage.between(-4, -2), 0), 1.8)
    plant(stage, "olive tree", (5.6, stage.between(-6, -4), 0), 1.8)
    floor_lamp(stage, "standing lamp", (stage.between(-2.4, -2.1), 2.4, 0))
    carton(stage, "parcel", (stage.between(1.4, 1.9), 2.0, 0), (0.5, 0.4, 0.4))
    carton(stage, "large parcel", (stage.between(-5.5, -5.0), stage.between(-7, -6), 0), (0.8, 0.6, 0.6))
    stage.hang("painting", plan, {"back": 3, "left": 1, "right": 2, "front": 1}, (1.5, 1.1, 2.4))
    raised = {"left arm": -78.0, "left hand": -78.0, "right arm": 78.0, "right hand": 78.0}
    shoulder = (size * 0.2, 0, size * 0.76)
    return Scene(
        family="lobby",
        place="the lobby of a hotel with a marble floor",
        things=stage.finished(mannequin),
        light=lamp_light((0.8, -2.0, 4.5), warmth=0.4),
        motion=Motion(kind="carried", verb="walks along the carpet", travel=1.2 * size),
        process=Process(
            name="raises its arms",
            before="standing with its arms down",
            after="standing with its arms stretched out",
            changes={
                name: Change(turn=(0, degrees, 0), pivot=(shoulder[0] * (1 if degrees < 0 else -1), 0, shoulder[2]))
                for name, degrees in raised.items()
            },
        ),
        distance=distance,
        eye_height=1.4 * size,
        extent=plan.extent,
    )


def _mannequin(stage: Stage, height: float, floor: float) -> Thing:
    coat = stage.pick(
        ((0.8, 0.25, 0.2), (0.6, 0.15, 0.15)),
        ((0.15, 0.35, 0.7), (0.1, 0.22, 0.5)),
        ((0.9, 0.65, 0.15), (0.7, 0.45, 0.1)),
    )
    skin = ((0.86, 0.68, 0.52), (0.74, 0.54, 0.4))
    trousers = ((0.2, 0.22, 0.28), (0.3, 0.32, 0.36))
    unit = height
    parts = [
        capsule(
            "torso",
            (0.36 * unit, 0.36 * unit, 0.52 * unit),
            stage.surface("blotches", *coat, (0.92, 0.9, 0.85)),
            (0, 0, 0.58 * unit),
        ),
        ellipsoid("head", (0.19 * unit, 0.19 * unit, 0.22 * unit), stage.surface("plain", *skin), (0, 0, 0.9 * unit)),
        ellipsoid(
            "hair",
            (0.2 * unit, 0.19 * unit, 0.14 * unit),
            stage.surface("straw", (0.3, 0.18, 0.1), (0.15, 0.1, 0.06)),
            (0, 0.015 * unit, 0.95 * unit),
        ),
    ]
    for name, side in (("left", 1), ("right", -1)):
        leg, shoe = stage.surface("cloth", *trousers), stage.surface("plain", (0.1, 0.08, 0.07), (0.2, 0.15, 0.12))
        arm, hand = stage.surface("blotches", *coat), stage.surface("plain", *skin)
        parts += [
            capsule(f"{name} leg", (0.15 * unit, 0.15 * unit, 0.44 * unit), leg, (side * 0.09 * unit, 0, 0.24 * unit)),
            box(
                f"{name} shoe",
                (0.12 * unit, 0.22 * unit, 0.05 * unit),
                shoe,
                (side * 0.09 * unit, -0.04 * unit, 0.025 * unit),
            ),
            capsule(f"{name} arm", (0.11 * unit, 0.11 * unit, 0.4 * unit), arm, (side * 0.22 * unit, 0, 0.6 * unit)),
            ellipsoid(
                f"{name} hand", (0.1 * unit, 0.08 * unit, 0.11 * unit), hand, (side * 0.22 * unit, 0, 0.39 * unit)
            ),
        ]
    return stage.put("mannequin", "target", parts, (0, 0, floor))
