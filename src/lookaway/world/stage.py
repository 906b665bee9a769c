"""Builds scenes: ground plans, walls, lights, and things put into them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

import numpy as np

from lookaway.world.nouns import ORIGIN, Colour, Light, Part, Role, Surface, Thing, Vector

Side = Literal["back", "front", "left", "right"]
Choice = TypeVar("Choice")
Look = tuple[str, tuple[Colour, ...]]
"""A pattern and its colours."""
MORE_LIGHT, MORE_COLOURS = 0.08, 0.06
"""How far a colour may be from the one that a family names, in all channels together and in each."""
COPIES = 5
"""Doubles of the target that wait unseen, for the fault that shows them."""
WALLS: dict[Side, Vector] = {"back": (90, 0, 0), "front": (90, 0, 180), "left": (90, 0, 90), "right": (90, 0, -90)}
"""Rotations that put a panel upright, facing into the room."""
WOOD: tuple[Colour, ...] = ((0.62, 0.45, 0.26), (0.4, 0.27, 0.14))
DARK_WOOD: tuple[Colour, ...] = ((0.45, 0.3, 0.18), (0.3, 0.18, 0.1))


def box(name: str, size: Vector, surface: Surface, position: Vector = ORIGIN, turn: Vector = ORIGIN) -> Part:
    """A box around its position."""
    return Part(name=name, shape="box", size=size, surface=surface, position=position, turn=turn)


def cylinder(name: str, size: Vector, surface: Surface, position: Vector = ORIGIN, turn: Vector = ORIGIN) -> Part:
    """An upright cylinder around its position."""
    return Part(name=name, shape="cylinder", size=size, surface=surface, position=position, turn=turn)


def ellipsoid(name: str, size: Vector, surface: Surface, position: Vector = ORIGIN, turn: Vector = ORIGIN) -> Part:
    """An ellipsoid around its position."""
    return Part(name=name, shape="ellipsoid", size=size, surface=surface, position=position, turn=turn)


def capsule(name: str, size: Vector, surface: Surface, position: Vector = ORIGIN, turn: Vector = ORIGIN) -> Part:
    """An upright capsule around its position."""
    return Part(name=name, shape="capsule", size=size, surface=surface, position=position, turn=turn)


def panel(name: str, size: Vector, surface: Surface, position: Vector = ORIGIN, turn: Vector = ORIGIN) -> Part:
    """A thin box with a picture on its z faces."""
    return Part(name=name, shape="panel", size=size, surface=surface, position=position, turn=turn)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundPlan:
    """The ground plan of a room or a yard, seen from above with the back at the top."""

    left: float
    right: float
    back: float
    front: float
    height: float

    @classmethod
    def around(cls, distance: float, *, width: float, back: float, behind: float, height: float) -> GroundPlan:
        """A plan of this width that reaches `back` beyond the target and `behind` the camera."""
        return cls(left=-width / 2, right=width / 2, back=back, front=-distance - behind, height=height)

    @property
    def middle(self) -> Vector:
        """Centre of the ground."""
        return (self.left + self.right) / 2, (self.back + self.front) / 2, 0.0

    @property
    def extent(self) -> float:
        """From the target to the farthest corner."""
        return float(np.hypot(max(-self.left, self.right), max(self.back, -self.front)))

    def at(self, side: Side) -> float:
        """Position of a wall: its y, or its x for the side walls."""
        return {"back": self.back, "front": self.front, "left": self.left, "right": self.right}[side]

    def run(self, side: Side) -> tuple[float, float]:
        """Start and end of a wall."""
        return (self.left, self.right) if side in ("back", "front") else (self.front, self.back)


@dataclass
class Stage:
    """A scene under construction. Things are added one by one; every surface gets its own seed."""

    rng: np.random.Generator
    things: list[Thing] = field(default_factory=list)

    def surface(self, pattern: str, *colours: Colour, emission: float = 0.0) -> Surface:
        """A new surface in roughly these colours."""
        varied = []
        for colour in colours:
            shift = self.rng.uniform(-MORE_LIGHT, MORE_LIGHT) + self.rng.uniform(-MORE_COLOURS, MORE_COLOURS, 3)
            varied.append([float(c) for c in np.clip(np.array(colour) + shift, 0, 1)])
        return Surface(
            pattern=pattern,
            colours=tuple((c[0], c[1], c[2]) for c in varied),
            seed=int(self.rng.integers(0, 2**31)),
            emission=emission,
        )

    def between(self, low: float, high: float) -> float:
        """A uniform random number."""
        return float(self.rng.uniform(low, high))

    def pick(self, *choices: Choice) -> Choice:
        """A random choice."""
        return choices[int(self.rng.integers(len(choices)))]

    def bright_colours(self, count: int) -> list[Colour]:
        """Random colours, as on a poster."""
        rows = self.rng.uniform(0.1, 0.95, (count, 3))
        return [(float(red), float(green), float(blue)) for red, green, blue in rows]

    def put(
        self,
        name: str,
        role: Role,
        parts: Sequence[Part] | Part,
        position: Vector = ORIGIN,
        heading: float = 0.0,
        *,
        is_movable: bool = False,
    ) -> Thing:
        """Add a thing."""
        listed = (parts,) if isinstance(parts, Part) else tuple(parts)
        thing = Thing(name=name, role=role, parts=listed, position=position, heading=heading, is_movable=is_movable)
        self.things.append(thing)
        return thing

    def prop(
        self, name: str, parts: Sequence[Part] | Part, place: Vector, heading: float = 0.0, *, role: Role = "prop"
    ) -> Thing:
        """Add a movable thing."""
        return self.put(name, role, parts, place, heading, is_movable=True)

    def finished(self, target: Thing) -> tuple[Thing, ...]:
        """All things: the target first, its copies last."""
        others = [thing for thing in self.things if thing is not target]
        copies = [
            Thing(
                name=f"{target.name} (double {number})",
                role="copy",
                parts=target.parts,
                position=target.position,
                heading=target.heading,
            )
            for number in range(1, COPIES + 1)
        ]
        return (target, *others, *copies)

    def walls(self, back: Look, front: Look, left: Look, right: Look) -> dict[Side, Surface]:
        """Surfaces for the four sides."""
        looks: dict[Side, Look] = {"back": back, "front": front, "left": left, "right": right}
        return {side: self.surface(pattern, *colours) for side, (pattern, colours) in looks.items()}

    def enclose(
        self,
        plan: GroundPlan,
        floor: Surface,
        walls: Mapping[Side, Surface],
        *,
        ceiling: Surface | None = None,
        heights: Mapping[Side, float] | None = None,
    ) -> None:
        """Add the ground with its top at height 0, four walls, and a ceiling."""
        size = (plan.right - plan.left, plan.back - plan.front, 0.04)
        x, y, _ = plan.middle
        self.put("floor", "structure", panel("panel", size, floor), (x, y, -0.02))
        for side, surface in walls.items():
            start, end = plan.run(side)
            height = (heights or {}).get(side, plan.height)
            part = panel("panel", (end - start, height, 0.04), surface, turn=WALLS[side])
            self.put(f"{side} wall", "structure", part, _on_wall(side, plan.at(side), (start + end) / 2, height / 2))
        if ceiling:
            part = panel("panel", size, ceiling, turn=(180, 0, 0))
            self.put("ceiling", "structure", part, (x, y, plan.height + 0.02))

    def hang(
        self, name: str, plan: GroundPlan, counts: Mapping[Side, int], size: Vector, *, pattern: str = "blotches"
    ) -> None:
        """Hang pictures along the walls; size is width, height, and the height of their centre."""
        number = 0
        for side, count in counts.items():
            start, end = plan.run(side)
            for index in range(count):
                number += 1
                along = start + (end - start) * (index + self.between(0.35, 0.65)) / count
                width, height = size[0] * self.between(0.8, 1.2), size[1] * self.between(0.8, 1.2)
                part = panel(
                    "panel", (width, height, 0.03), self.surface(pattern, *self.bright_colours(6)), turn=WALLS[side]
                )
                inwards = plan.at(side) - 0.04 * float(np.sign(plan.at(side)))
                self.prop(f"{name} {number}", part, _on_wall(side, inwards, along, size[2] + self.between(-0.1, 0.1)))

    def mat(
        self, name: str, size: tuple[float, float], surface: Surface, middle: tuple[float, float] = (0, 0)
    ) -> float:
        """Add something flat on the ground, such as a rug or a road. Returns the height of its top."""
        self.put(name, "structure", panel("panel", (*size, 0.012), surface), (*middle, 0.006))
        return 0.012


def _on_wall(side: Side, at: float, along: float, height: float) -> Vector:
    return (along, at, height) if side in ("back", "front") else (at, along, height)


def lamp_light(place: Vector, warmth: float = 0.0) -> Light:
    """Light of a lamp under a ceiling; warmth from -1 (bluish) to 1 (yellowish)."""
    return Light(
        direction=(0.0, 0.0, -1.0),
        lamp=place,
        colour=(0.62 + 0.06 * warmth, 0.6, 0.56 - 0.08 * warmth),
        ambient=(0.5, 0.5, 0.5),
    )


def sun_light(direction: Vector, *, horizon: Colour = (0.82, 0.88, 0.95), zenith: Colour = (0.35, 0.55, 0.85)) -> Light:
    """Sunlight."""
    length = float(np.linalg.norm(direction))
    x, y, z = (float(axis) / length for axis in direction)
    return Light(direction=(x, y, z), colour=(0.66, 0.62, 0.54), ambient=(0.48, 0.49, 0.52), sky=(horizon, zenith))
