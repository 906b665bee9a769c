"""A crossing: a traffic light on wheels is towed along, or changes from green to red."""

from __future__ import annotations

import numpy as np

from lookaway.world.families.furniture import LYING, RUBBER, bench, car_parts, cone, drum, lamp_post, tree, wheels
from lookaway.world.nouns import Change, Colour, Motion, Process, Scene, Thing
from lookaway.world.stage import GroundPlan, Stage, box, cylinder, sun_light

LIT = 4.5
"""How many times brighter a lamp is when it is on."""
LAMPS: dict[str, Colour] = {
    "red lamp": (0.95, 0.12, 0.1),
    "amber lamp": (0.95, 0.6, 0.1),
    "green lamp": (0.15, 0.9, 0.3),
}


def crossing(rng: np.random.Generator) -> Scene:
    """A zebra crossing between houses, with works going on."""
    stage = Stage(rng)
    size = stage.between(1.7, 1.9)
    distance = 4.2 * size
    plan = GroundPlan.around(distance, width=26, back=8, behind=5.5, height=10)
    walls = stage.walls(
        ("facade", (stage.pick((0.6, 0.62, 0.6), (0.72, 0.66, 0.54)), (0.52, 0.52, 0.5), (0.74, 0.73, 0.7))),
        ("facade", ((0.7, 0.52, 0.44), (0.6, 0.44, 0.38), (0.76, 0.74, 0.7))),
        ("bricks", ((0.62, 0.42, 0.34), (0.52, 0.34, 0.28), (0.72, 0.7, 0.66))),
        ("facade", ((0.66, 0.64, 0.54), (0.56, 0.54, 0.48), (0.78, 0.76, 0.72))),
    )
    pavement = stage.surface("asphalt", (0.6, 0.58, 0.55), (0.7, 0.68, 0.64))
    stage.enclose(plan, pavement, walls, heights={"left": 5.0, "right": 6.5, "front": 6.5})
    road = stage.surface("asphalt", (0.36, 0.37, 0.4), (0.5, 0.5, 0.5))
    stage.put("road", "structure", box("road", (26, 5.4, 0.01), road, (0, 0, 0.005)), (0, -0.3, 0))
    signal = _signal(stage, size)
    _zebra(stage)
    parked = car_parts(
        stage, stage.pick(((0.8, 0.78, 0.7), (0.3, 0.4, 0.6)), ((0.6, 0.25, 0.2), (0.85, 0.8, 0.75))), 2.3
    )
    stage.prop("waiting car", parked, (stage.between(4.6, 5.4), 1.5, 0.01), stage.between(177, 183), role="interactor")
    lamp_post(stage, "street lamp", (stage.between(1.4, 2.2), 4.4, 0), 4.4)
    tree(stage, "chestnut tree", (stage.between(-4.0, -3.2), 5.2, 0), 5)
    tree(stage, "ash tree", (stage.between(-11.2, -10.2), stage.between(-8, -5), 0), 5.5)
    tree(stage, "rowan", (stage.between(10.2, 11.2), stage.between(-8, -5), 0), 5)
    spots = (("first cone", -2.4, 2.9), ("second cone", -0.4, 3.3), ("third cone", 2.0, 3.0), ("far cone", -8.0, -4.0))
    for name, x, y in spots:
        cone(stage, name, (x + stage.between(-0.4, 0.4), y + stage.between(-0.2, 0.2), 0), stage.between(0.75, 0.95))
    drum(stage, "litter bin", (stage.between(3.2, 3.8), 4.6, 0), 1.0, (0.3, 0.42, 0.36))
    drum(stage, "salt bin", (stage.between(8, 9.5), -5.0, 0), 1.1, (0.8, 0.66, 0.2))
    bench(stage, "bench", (stage.between(-1.0, 0.4), 6.0, 0), stage.between(-8, 8), 1.9)
    stage.hang("billboard", plan, {"back": 3, "left": 1, "right": 1, "front": 2}, (2.6, 1.4, 2.9))
    return Scene(
        family="crossing",
        place="a road crossing in a town",
        things=stage.finished(signal),
        light=sun_light((-0.5, 0.8, -2.0)),
        motion=Motion(kind="carried", verb="is towed along the road", travel=1.25 * size),
        process=Process(
            name="changes from green to red",
            before="green",
            after="red",
            changes={
                "red lamp": Change(tint=(LIT, LIT, LIT)),
                "green lamp": Change(tint=(1 / LIT, 1 / LIT, 1 / LIT)),
                "left band": Change(tint=(1.0, 0.12, 0.12)),
                "right band": Change(tint=(1.0, 0.12, 0.12)),
            },
        ),
        distance=distance,
        eye_height=1.5 * size,
        extent=plan.extent,
    )


def _signal(stage: Stage, height: float) -> Thing:
    """Three large lamps on a board, bands of light at its sides, and a trailer under it."""
    unit = height / 1.8
    board = stage.surface("rust", (0.16, 0.17, 0.18), (0.28, 0.28, 0.28))
    deck = stage.surface("rust", (0.9, 0.65, 0.15), (0.6, 0.4, 0.15))
    steel = stage.surface("plain", *RUBBER)
    parts = [
        box("board", (0.72 * unit, 0.26 * unit, 1.34 * unit), board, (0, 0, 1.13 * unit)),
        box("trailer", (1.15 * unit, 0.8 * unit, 0.22 * unit), deck, (0, 0, 0.35 * unit)),
    ]
    for name, side in (("left band", -1), ("right band", 1)):
        glow = stage.surface("plain", (0.85, 0.95, 0.85), (0.75, 0.9, 0.7), emission=0.3)
        parts.append(box(name, (0.12 * unit, 0.28 * unit, 1.3 * unit), glow, (side * 0.42 * unit, 0, 1.13 * unit)))
    for row, (name, (red, green, blue)) in enumerate(LAMPS.items()):
        dim = 1.0 if name == "green lamp" else 1 / LIT
        glow = stage.surface("plain", (red, green, blue), (red * 0.8, green * 0.8, blue * 0.8), emission=0.4)
        dimmed = tuple((r * dim, g * dim, b * dim) for r, g, b in glow.colours)
        glow = type(glow)(pattern=glow.pattern, colours=dimmed, seed=glow.seed, emission=glow.emission)
        at = (0, -0.15 * unit, (1.56 - 0.43 * row) * unit)
        parts.append(cylinder(name, (0.38 * unit, 0.38 * unit, 0.1 * unit), glow, at, LYING))
    parts.append(box("hitch", (0.5 * unit, 0.08 * unit, 0.08 * unit), steel, (0.72 * unit, 0, 0.3 * unit)))
    parts += wheels(stage, 0.7 * unit, 0.86 * unit, 0.42 * unit)
    return stage.put("traffic light", "target", parts, (0, 0, 0.01))


def _zebra(stage: Stage) -> None:
    x = stage.between(-4.6, -4.2)
    for number in range(6):
        width = stage.between(0.4, 0.62)
        paint = stage.surface("asphalt", (0.88, 0.88, 0.85), (0.7, 0.7, 0.68))
        stage.put(f"zebra stripe {number}", "structure", box("stripe", (width, 4.6, 0.004), paint), (x, -0.3, 0.012))
        x += width + stage.between(0.35, 0.6)
