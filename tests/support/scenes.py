"""A small room of the tests' own: cheap to draw, and known to the millimetre, whatever the families become."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from lookaway.world.nouns import (
    Change,
    Colour,
    Light,
    Motion,
    Part,
    Process,
    Role,
    Scene,
    Shape,
    Surface,
    Thing,
    Vector,
)
from lookaway.world.recipe import ClipRecipe
from lookaway.world.stage import COPIES, WALLS

BACK_WALL_Y = 2.5
"""Of the face that is seen."""
PEDESTAL: tuple[Vector, Vector] = ((-1.35, 1.3, 0.0), (-0.85, 1.6, 0.7))
"""Lowest and highest corner of a box that is square to the world."""
RADIUS = 0.2


def surface(seed: int, *colours: Colour, pattern: str = "leaves") -> Surface:
    """In these colours, or in some that are neither bright nor dark."""
    mixed = np.random.default_rng(seed).uniform(0.25, 0.75, (4, 3)).tolist()
    return Surface(pattern=pattern, colours=colours or tuple((r, g, b) for r, g, b in mixed), seed=seed)


def solid(name: str, shape: Shape, size: Vector, seed: int, position: Vector = (0, 0, 0)) -> Part:
    return Part(name=name, shape=shape, size=size, surface=surface(seed), position=position)


def one(name: str, role: Role, part: Part, position: Vector, *, is_movable: bool = False) -> Thing:
    return Thing(name=name, role=role, parts=(part,), position=position, is_movable=is_movable)


def panel(
    name: str, size: tuple[float, float], place: Vector, turn: Vector, seed: int, role: Role = "structure"
) -> Thing:
    # The face that is seen lies in the plane of `place`; half of the thickness is behind it.
    part = Part(name="panel", shape="panel", size=(*size, 0.04), surface=surface(seed), turn=turn)
    return one(name, role, part, place, is_movable=role == "prop")


def ball(seed: int) -> Thing:
    stripes = surface(seed, (0.9, 0.25, 0.15), (0.95, 0.9, 0.85), pattern="stripes")
    part = Part(name="body", shape="ellipsoid", size=(2 * RADIUS,) * 3, surface=stripes)
    return Thing(name="ball", role="target", parts=(part,), position=(0, 0, RADIUS), heading=20.0)


def cart(seed: int) -> Thing:
    """Two parts, so that a process can turn one of them around the edge of the other."""
    paint = surface(seed, (0.95, 0.8, 0.1), (0.9, 0.5, 0.1))
    body = Part(name="body", shape="box", size=(0.4, 0.3, 0.24), surface=paint, position=(0, 0, 0.12))
    lid = Part(name="lid", shape="box", size=(0.4, 0.3, 0.06), surface=paint, position=(0, 0, 0.27))
    return Thing(name="cart", role="target", parts=(body, lid))


def room(rng: np.random.Generator) -> Scene:
    """A ball rolls, or turns blue and shrinks."""
    changes = {"body": Change(tint=(0.2, 0.4, 1.0), grow=(0.8, 0.8, 0.8), move=(0, 0, -0.04))}
    motion = Motion(kind="roll", verb="rolls", travel=0.8)
    return build(rng, ball(int(rng.integers(4))), motion, changes)


def sliding(rng: np.random.Generator) -> Scene:
    """A cart slides, or its lid opens."""
    changes = {"lid": Change(turn=(0, -70, 0), pivot=(-0.2, 0, 0.24)), "body": Change(tint=(0.5, 1, 0.5))}
    motion = Motion(kind="slide", verb="slides", travel=0.7)
    return build(rng, cart(int(rng.integers(4))), motion, changes)


def carried(rng: np.random.Generator) -> Scene:
    """The cart is moved, and a block behind it goes along."""
    scene = sliding(rng)
    return replace(scene, motion=Motion(kind="carried", verb="is carried", travel=0.7, carrier="block 1"))


def falling(rng: np.random.Generator) -> Scene:
    """A cart slides off a low table."""
    scene = sliding(rng)
    top = solid("top", "box", (0.9, 0.9, 0.3), 77, (0, 0, 0.15))
    table = one("table", "structure", top, (0, 0, 0))
    target = replace(scene.target, position=(0.0, 0.0, 0.3))
    motion = Motion(kind="fall", verb="falls", travel=1.2)
    return replace(scene, things=(target, table, *scene.things[1:]), motion=motion)


def painted(rng: np.random.Generator) -> Scene:
    """The room in which a seed changes nothing but the paint of the ball."""
    scene = room(np.random.default_rng(0))
    part = replace(scene.target.parts[0], surface=surface(int(rng.integers(1 << 30))))
    return replace(scene, things=(replace(scene.target, parts=(part,)), *scene.things[1:]))


SCENES: dict[str, Callable[[np.random.Generator], Scene]] = {
    "test_room": room,
    "test_sliding": sliding,
    "test_carried": carried,
    "test_falling": falling,
    "test_painted": painted,
}


def build(rng: np.random.Generator, target: Thing, motion: Motion, changes: dict[str, Change]) -> Scene:
    seed = 1000  # of all surfaces but the target's: paint is what a scene costs, and is kept
    low, high = np.array(PEDESTAL)
    size, middle = tuple((high - low).tolist()), (low + high) / 2
    pedestal = solid("body", "box", size, seed + 1, (0, 0, float(size[2]) / 2))
    half = 0.02
    things = [
        target,
        panel("floor", (7, 8), (0, -1, -half), (0, 0, 0), seed + 2),
        panel("back wall", (7, 3), (0, BACK_WALL_Y + half, 1.5), WALLS["back"], seed + 3),
        panel("front wall", (7, 3), (0, -5.0, 1.5), WALLS["front"], seed + 4),
        panel("left wall", (8, 3), (-3.5, -1, 1.5), WALLS["left"], seed + 5),
        panel("right wall", (8, 3), (3.5, -1, 1.5), WALLS["right"], seed + 6),
        one("pedestal", "anchor", pedestal, (float(middle[0]), float(middle[1]), 0)),
    ]
    for number, x in enumerate((-0.6, 0.1, 0.7, 1.3), start=1):
        side = float(rng.choice([0.2, 0.25, 0.3]))
        block = solid("body", "box", (side, side, side), seed + 10 + number, (0, 0, side / 2))
        things.append(one(f"block {number}", "prop", block, (x, 1.2 + 0.2 * number, 0), is_movable=True))
    for number, x in enumerate((-0.3, 0.9), start=1):
        place = (x, BACK_WALL_Y - 0.01, 0.9)
        things.append(panel(f"poster {number}", (0.5, 0.4), place, WALLS["back"], seed + 20 + number, "prop"))
    copies = [replace(target, name=f"copy {number}", role="copy") for number in range(COPIES)]
    light = Light(direction=(0, 0, -1), lamp=(0.3, -0.5, 2.9), colour=(0.6, 0.6, 0.55), ambient=(0.5, 0.5, 0.5))
    return Scene(
        family="test_room",
        place="a room",
        things=(*things, *copies),
        light=light,
        motion=motion,
        process=Process(name="changes", before="as it was", after="changed", changes=changes),
        distance=2.0,
        eye_height=0.8,
        extent=5.0,
    )


def small_recipe(**fields: object) -> ClipRecipe:
    """224 by 128 pixels, 24 frames, in which the ball rolls and changes while the camera looks to the right."""
    known = {"family": "test_room", "event": "both", "camera": "yaw_right_60", "seed": 0}
    form = {"width": 224, "height": 128, "fps": 8, "seconds": 3.0}
    return ClipRecipe(**{**known, **form, **fields})  # type: ignore[arg-type]
