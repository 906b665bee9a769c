"""A pond: a model boat sails, or sets its sail. Water, reeds, leaves and a flag move by themselves."""

from __future__ import annotations

import numpy as np

from lookaway.world.families.furniture import STEEL, bench, crate, drum, plant, tree
from lookaway.world.nouns import Change, IdleMotion, Motion, Process, Scene, Thing
from lookaway.world.stage import WOOD, GroundPlan, Stage, box, capsule, cylinder, ellipsoid, panel, sun_light

WATER = 0.08
"""Height of the water above the ground, in metres."""
LENGTH, WIDTH, MIDDLE = 7.6, 3.6, 0.7
"""Size and place of the pond in metres; its middle is beyond the target."""


def pond(rng: np.random.Generator) -> Scene:
    """A pond in a park, with waves, a fountain, reeds, a flag and trees in the wind."""
    stage = Stage(rng)
    size = stage.between(0.66, 0.76)
    distance = 4.3 * size
    plan = GroundPlan.around(distance, width=17, back=6.5, behind=5.5, height=5)
    walls = stage.walls(
        ("bricks", (stage.pick((0.68, 0.5, 0.4), (0.6, 0.56, 0.5)), (0.54, 0.42, 0.34), (0.76, 0.72, 0.66))),
        ("facade", ((0.74, 0.64, 0.52), (0.62, 0.52, 0.44), (0.8, 0.78, 0.72))),
        ("boards", ((0.5, 0.4, 0.3), (0.36, 0.3, 0.24))),
        ("leaves", ((0.18, 0.36, 0.14), (0.42, 0.52, 0.2))),
    )
    lawn = stage.surface("grass", (0.3, 0.47, 0.17), (0.5, 0.58, 0.26))
    stage.enclose(plan, lawn, walls, heights={"back": 3.0, "front": 4.6, "left": 2.4, "right": 2.6})
    boat = _boat(stage, size)
    idle = _water(stage)
    idle += _fountain(stage)
    idle += _flag(stage)
    for number, x in enumerate((-2.9, -2.1, 1.5)):
        idle += _reeds(stage, f"reeds {number + 1}", x + stage.between(-0.2, 0.2), stage.between(2.2, 2.5))
    bench(stage, "pond bench", (stage.between(-1.4, -0.8), 4.0, 0), stage.between(-10, 10))
    bench(stage, "white bench", (stage.between(-3, 3), plan.front + 1.3, 0), 180, 2.0)
    drum(stage, "litter bin", (stage.between(0.3, 0.7), 3.4, 0), 0.8, (0.3, 0.4, 0.36))
    crate(stage, "boat crate", (stage.between(-0.5, -0.1), 3.2, 0), 0.5)
    for name, x, y, height in (
        ("alder", stage.between(-4.4, -3.8), 4.8, 4.2),
        ("birch", stage.between(4.0, 4.8), 5.2, 4.4),
        ("willow", stage.between(-7, -6), stage.between(-5, -3), 4.4),
        ("ash", stage.between(6, 7), stage.between(-7, -5), 4.8),
    ):
        idle += _in_the_wind(stage, tree(stage, name, (x, y, 0), height), 0.02 * height)
    for name, x, y in (("rose bush", 2.4, 3.6), ("laurel", -5.4, -2.0), ("yew", 5.4, -3.0)):
        bush = plant(stage, name, (x + stage.between(-0.3, 0.3), y, 0), stage.between(0.9, 1.2))
        idle += _in_the_wind(stage, bush, 0.03)
    stage.hang("sign", plan, {"back": 3, "front": 1, "left": 1}, (1.0, 0.7, 1.5))
    hoist = size * 0.46
    idle += [
        IdleMotion(thing="model boat", part=part.name, period=2.3, move=(0, 0, 0.012 * size), turn=(2, 1.5, 0))
        for part in boat.parts
    ]
    return Scene(
        family="pond",
        place="a pond in a park on a windy day",
        things=stage.finished(boat),
        light=sun_light((0.6, 0.6, -1.5)),
        motion=Motion(kind="carried", verb="sails across the pond", travel=1.3 * size),
        process=Process(
            name="sets its sail",
            before="with its sail down",
            after="with its sail set",
            changes={"sail": Change(grow=(1.0, 1.0, 4.6), move=(0, 0, hoist * (1 - 1 / 4.6) / 2))},
        ),
        distance=distance,
        eye_height=1.9 * size,
        extent=plan.extent,
        idle=tuple(idle),
    )


def _boat(stage: Stage, length: float) -> Thing:
    paint = stage.pick(
        ((0.82, 0.2, 0.18), (0.94, 0.88, 0.78)),
        ((0.14, 0.34, 0.66), (0.9, 0.9, 0.86)),
        ((0.94, 0.7, 0.14), (0.3, 0.3, 0.34)),
    )
    cloth = stage.surface("stripes", (0.95, 0.93, 0.86), paint[0])
    mast = length * 0.72
    hoist = length * 0.46
    parts = [
        ellipsoid("hull", (length, length * 0.36, length * 0.3), stage.surface("paint", *paint), (0, 0, length * 0.06)),
        box(
            "deck", (length * 0.62, length * 0.24, length * 0.05), stage.surface("planks", *WOOD), (0, 0, length * 0.2)
        ),
        box(
            "cabin",
            (length * 0.24, length * 0.18, length * 0.14),
            stage.surface("blotches", *stage.bright_colours(4)),
            (length * 0.17, 0, length * 0.28),
        ),
        cylinder(
            "mast",
            (length * 0.03, length * 0.03, mast),
            stage.surface("planks", *WOOD),
            (-length * 0.05, 0, length * 0.2 + mast / 2),
        ),
        box("sail", (length * 0.5, length * 0.03, hoist / 4.6), cloth, (-length * 0.05, 0, length * 0.32)),
    ]
    return stage.put("model boat", "target", parts, (0, 0, WATER))


def _water(stage: Stage) -> list[IdleMotion]:
    """A still sheet under crests that rise and sink one after the other, so that waves seem to run towards the eye."""
    stone = stage.surface("marble", (0.66, 0.63, 0.58), (0.52, 0.5, 0.46))
    sheet = stage.surface("glass", (0.16, 0.34, 0.42), (0.36, 0.56, 0.62))
    parts = [
        box("rim", (LENGTH + 0.3, WIDTH + 0.3, 0.06), stone, (0, 0, 0.03)),
        panel("sheet", (LENGTH, WIDTH, 0.012), sheet, (0, 0, WATER - 0.006)),
    ]
    stage.put("pond", "structure", parts, (0, MIDDLE, 0))
    crests, found = [], []
    for row in range(7):
        for column in range(4):
            x = -LENGTH / 2 + LENGTH * (column + 0.5 + stage.between(-0.3, 0.3)) / 4
            y = -WIDTH / 2 + 0.15 + (WIDTH - 0.3) * (row + 0.5) / 7
            x = float(np.clip(x, -LENGTH / 2 + 0.7, LENGTH / 2 - 0.7))
            crest = stage.surface("glass", (0.2, 0.42, 0.5), (0.6, 0.76, 0.8))
            name = f"crest {row} {column}"
            size = (stage.between(0.9, 1.3), stage.between(0.16, 0.24), 0.05)
            crests.append(ellipsoid(name, size, crest, (x, y, WATER - 0.02)))
            found.append(
                IdleMotion(
                    thing="water",
                    part=name,
                    period=1.7,
                    phase=row / 4 + stage.between(-0.1, 0.1),
                    move=(stage.between(-0.05, 0.05), -0.07, 0.026),
                )
            )
    stage.put("water", "structure", crests, (0, MIDDLE, 0))
    return found


def _fountain(stage: Stage) -> list[IdleMotion]:
    stone = stage.surface("marble", (0.72, 0.7, 0.64), (0.58, 0.56, 0.52))
    parts = [
        cylinder("foot", (0.5, 0.5, 0.34), stone, (0, 0, 0.17)),
        cylinder("bowl", (1.0, 1.0, 0.1), stone, (0, 0, 0.38)),
    ]
    found = []
    for number in range(6):
        angle = np.pi / 3 * number
        x, y = 0.26 * float(np.cos(angle)), 0.26 * float(np.sin(angle))
        spray = stage.surface("ice", (0.62, 0.76, 0.82), (0.9, 0.95, 0.97))
        height = stage.between(0.3, 0.42)
        parts.append(capsule(f"jet {number}", (0.09, 0.09, height), spray, (x, y, 0.43 + height / 2)))
        found.append(
            IdleMotion(
                thing="fountain",
                part=f"jet {number}",
                period=stage.between(0.7, 1.3),
                phase=stage.between(0, 1),
                move=(0, 0, height * 0.25),
                grow=(1, 1, 1.5),
            )
        )
    spray = stage.surface("ice", (0.66, 0.8, 0.86), (0.92, 0.96, 0.98))
    parts.append(capsule("middle jet", (0.14, 0.14, 0.8), spray, (0, 0, 0.83)))
    found.append(IdleMotion(thing="fountain", part="middle jet", period=1.1, move=(0, 0, 0.12), grow=(1.1, 1.1, 1.3)))
    stage.prop("fountain", parts, (stage.between(2.2, 2.5), 1.5, 0), role="interactor")
    return found


def _flag(stage: Stage) -> list[IdleMotion]:
    """A row of upright strips; each swings a little later than the one before."""
    colours = stage.bright_colours(4)
    parts = [cylinder("pole", (0.06, 0.06, 2.6), stage.surface("metal", *STEEL), (0, 0, 1.3))]
    found = []
    for number in range(6):
        name = f"strip {number}"
        strip = stage.surface("blotches", *colours)
        parts.append(box(name, (0.17, 0.015, 0.6), strip, (0.1 + 0.16 * number, 0, 2.25)))
        found.append(
            IdleMotion(
                thing="flag",
                part=name,
                period=1.4,
                phase=-number / 6,
                move=(0, 0.03 * number, 0.012 * number),
                turn=(0, 0, 14),
                pivot=(0.1 + 0.16 * number, 0, 2.25),
            )
        )
    stage.put("flag", "prop", parts, (stage.between(-3.4, -3.0), 3.4, 0))
    return found


def _reeds(stage: Stage, name: str, x: float, y: float) -> list[IdleMotion]:
    parts, found = [], []
    for number in range(7):
        height = stage.between(0.6, 1.0)
        leaf = stage.surface("leaves", (0.3, 0.46, 0.16), (0.6, 0.66, 0.28))
        at = (stage.between(-0.28, 0.28), stage.between(-0.1, 0.1))
        parts.append(capsule(f"reed {number}", (0.05, 0.05, height), leaf, (*at, height / 2)))
        found.append(
            IdleMotion(
                thing=name,
                part=f"reed {number}",
                period=stage.between(1.4, 2.0),
                phase=stage.between(0, 1),
                turn=(stage.between(-3, 3), stage.between(6, 11), 0),
                pivot=(*at, 0.0),
            )
        )
    stage.put(name, "structure", parts, (x, y, 0))
    return found


def _in_the_wind(stage: Stage, plant: Thing, reach: float) -> list[IdleMotion]:
    """Crowns that sway, each at its own pace."""
    return [
        IdleMotion(
            thing=plant.name,
            part=part.name,
            period=stage.between(1.6, 2.6),
            phase=stage.between(0, 1),
            move=(reach, reach * stage.between(-0.4, 0.4), reach * 0.3),
            turn=(0, stage.between(2, 5), 0),
            pivot=part.position,
        )
        for part in plant.parts
        if part.name.startswith("crown")
    ]
