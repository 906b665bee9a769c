"""A garden: a potted plant is wheeled along, or grows."""

from __future__ import annotations

import numpy as np

from lookaway.world.families.furniture import barrel, bench, plant, table, tree, trolley
from lookaway.world.nouns import Change, Motion, Process, Scene, Thing
from lookaway.world.stage import GroundPlan, Stage, box, cylinder, ellipsoid, sun_light

DECK = 0.18


def garden(rng: np.random.Generator) -> Scene:
    """A lawn between hedges."""
    stage = Stage(rng)
    size = stage.between(0.54, 0.62)
    distance = 4.4 * size
    plan = GroundPlan.around(distance, width=14, back=5.5, behind=5, height=2.6)
    hedge = ((0.16, 0.34, 0.12), (0.4, 0.52, 0.2))
    walls = stage.walls(
        ("bricks", (stage.pick((0.7, 0.5, 0.4), (0.66, 0.62, 0.54)), (0.56, 0.4, 0.33), (0.76, 0.73, 0.67))),
        ("facade", ((0.78, 0.7, 0.56), (0.7, 0.62, 0.5), (0.82, 0.8, 0.76))),
        ("leaves", hedge),
        ("leaves", hedge),
    )
    lawn = stage.surface("grass", (0.28, 0.46, 0.16), (0.5, 0.58, 0.24))
    stage.enclose(plan, lawn, walls, heights={"front": 4.2})
    stage.mat("path", (14, 1.6), stage.surface("bricks", (0.66, 0.6, 0.52), (0.54, 0.5, 0.44), (0.4, 0.38, 0.3)))
    trolley(stage, "garden cart", (size * 0.95, size * 0.85, DECK), (0.25, 0.4, 0.6))
    sapling = _sapling(stage, size)
    _fountain(stage)
    for name, x, y in (
        ("rose bush", -1.5, 2.2),
        ("lavender", 0.3, 2.7),
        ("box tree", -0.6, 3.8),
        ("laurel", -5.2, -3.4),
        ("yew", 5.2, -4.2),
    ):
        plant(stage, name, (x + stage.between(-0.3, 0.3), y + stage.between(-0.2, 0.2), 0), stage.between(0.8, 1.3))
    bench(stage, "garden bench", (stage.between(1.2, 1.6), 4.4, 0), stage.between(-12, 12))
    bench(stage, "old bench", (stage.between(-2.4, -0.8), plan.front + 0.9, 0), 180, 1.8)
    barrel(stage, "rain barrel", (stage.between(-2.8, -2.4), 4.2, 0), 1.0)
    tree(stage, "cherry tree", (stage.between(3.8, 4.6), 4.4, 0), 3.6)
    tree(stage, "walnut tree", (stage.between(-5.4, -4.6), 3.2, 0), 3.8)
    tree(stage, "plum tree", (stage.between(2.5, 4.5), plan.front + 2.0, 0), 3.8)
    wood = stage.surface("planks", (0.74, 0.68, 0.56), (0.6, 0.54, 0.44))
    table(stage, "garden table", (stage.between(4.6, 5.4), -0.4, 0), (0.9, 1.4, 0.72), wood)
    stage.hang("plaque", plan, {"back": 2, "front": 1}, (0.8, 0.6, 1.3))
    pot = sapling.parts[0].size[2]
    changes = {"stem": Change(grow=(1.4, 1.4, 2.6), move=(0, 0, sapling.parts[2].size[2] * 0.8))}
    for part in sapling.parts[3:]:
        x, y, z = part.position
        changes[part.name] = Change(grow=(1.5, 1.5, 1.5), move=(x * 0.7, y * 0.7, (z - pot) * 0.75 + 0.03))
    return Scene(
        family="garden",
        place="a garden with a lawn and hedges",
        things=stage.finished(sapling),
        light=sun_light((-0.6, 0.6, -1.5)),
        motion=Motion(kind="carried", verb="is wheeled along the path", travel=1.5 * size, carrier="garden cart"),
        process=Process(name="grows", before="a seedling", after="grown to a bush", changes=changes),
        distance=distance,
        eye_height=DECK + 2.3 * size,
        extent=plan.extent,
    )


def _sapling(stage: Stage, height: float) -> Thing:
    pot, wide = height * 0.42, height * 0.5
    glaze = stage.pick(
        ((0.75, 0.36, 0.2), (0.9, 0.7, 0.5)),
        ((0.2, 0.4, 0.65), (0.85, 0.85, 0.8)),
        ((0.85, 0.75, 0.4), (0.6, 0.3, 0.2)),
    )
    earth = stage.surface("asphalt", (0.3, 0.2, 0.13), (0.4, 0.3, 0.2))
    stem = stage.surface("plain", (0.4, 0.5, 0.2), (0.3, 0.36, 0.14))
    parts = [
        cylinder("pot", (wide, wide, pot), stage.surface("stripes", *glaze), (0, 0, pot / 2)),
        cylinder("earth", (wide * 0.9, wide * 0.9, 0.01), earth, (0, 0, pot + 0.005)),
        cylinder("stem", (height * 0.07, height * 0.07, height * 0.22), stem, (0, 0, pot + height * 0.11)),
    ]
    for number in range(4):
        angle = np.pi / 2 * number + stage.between(0.2, 1.2)
        reach = height * 0.12
        leaf = stage.surface("leaves", (0.35, 0.62, 0.16), (0.7, 0.82, 0.3))
        at = (reach * float(np.cos(angle)), reach * float(np.sin(angle)), pot + height * stage.between(0.28, 0.42))
        parts.append(ellipsoid(f"leaf {number}", (height * 0.3, height * 0.3, height * 0.24), leaf, at))
    flower = stage.surface("plaster", stage.pick((0.95, 0.8, 0.2), (0.9, 0.35, 0.5)), (0.8, 0.5, 0.2))
    parts.append(
        ellipsoid(
            "flower", (height * 0.16, height * 0.16, height * 0.16), flower, (0, -height * 0.06, pot + height * 0.5)
        )
    )
    return stage.put("potted seedling", "target", parts, (0, 0, DECK))


def _fountain(stage: Stage) -> None:
    stone = [stage.surface("marble", (0.74, 0.72, 0.66), (0.6, 0.58, 0.54)) for _ in range(3)]
    water = stage.surface("ice", (0.35, 0.55, 0.65), (0.6, 0.76, 0.82))
    parts = [
        cylinder("basin", (1.3, 1.3, 0.3), stone[0], (0, 0, 0.15)),
        cylinder("water", (1.14, 1.14, 0.02), water, (0, 0, 0.31)),
        cylinder("column", (0.22, 0.22, 0.6), stone[1], (0, 0, 0.6)),
        cylinder("bowl", (0.6, 0.6, 0.1), stone[2], (0, 0, 0.92)),
        box("spout", (0.1, 0.1, 0.2), stone[1], (0, 0, 1.06)),
    ]
    stage.prop("fountain", parts, (stage.between(2.4, 2.8), 1.9, 0), role="interactor")
