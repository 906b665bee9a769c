"""What a simulated scene is made of. Metres, Z up; sizes are full extents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Vector = tuple[float, float, float]
Colour = tuple[float, float, float]
"""Red, green, blue, each from 0 to 1."""

Shape = Literal["box", "cylinder", "ellipsoid", "capsule", "panel"]
"""A panel is a thin box whose picture lies on its two z faces; the others are textured all over."""
Role = Literal["target", "interactor", "anchor", "prop", "structure", "copy"]
ORIGIN: Vector = (0.0, 0.0, 0.0)
WHITE: Colour = (1.0, 1.0, 1.0)
SAME: Vector = (1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """The look of a part: a painted pattern that is unique to its seed."""

    pattern: str
    """A name of `patterns.PATTERNS`."""
    colours: tuple[Colour, ...]
    seed: int
    emission: float = 0.0
    """Light of its own, as a flame or a screen has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One solid of a thing, placed in the frame of the thing."""

    name: str
    shape: Shape
    size: Vector
    surface: Surface
    position: Vector = ORIGIN
    turn: Vector = ORIGIN
    """Degrees about x, then y, then z."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """Something with a name that moves as a whole; its origin is where it stands, or the middle of what rolls."""

    name: str
    """As in a caption: `red ball`."""
    role: Role
    parts: tuple[Part, ...]
    position: Vector = ORIGIN
    heading: float = 0.0
    """Degrees about z."""
    is_movable: bool = False
    """Whether it could as well stand elsewhere: furniture and clutter, but not a wall."""

    @property
    def diameter(self) -> float:
        """Longest side of the box around its parts."""
        low, high = self.box
        return max(b - a for a, b in zip(low, high, strict=True))

    @property
    def box(self) -> tuple[Vector, Vector]:
        """Lowest and highest corner, in its own frame, of the parts as if none were turned."""
        lows = [[p - s / 2 for p, s in zip(part.position, part.size, strict=True)] for part in self.parts]
        highs = [[p + s / 2 for p, s in zip(part.position, part.size, strict=True)] for part in self.parts]
        low, high = ([f(axis) for axis in zip(*rows, strict=True)] for f, rows in ((min, lows), (max, highs)))
        return (low[0], low[1], low[2]), (high[0], high[1], high[2])


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a process does to one part from its beginning to its end; in between, in proportion."""

    move: Vector = ORIGIN
    grow: Vector = SAME
    """Factors of the size at the end."""
    turn: Vector = ORIGIN
    """Degrees about x, then y, then z, around the pivot."""
    pivot: Vector = ORIGIN
    """In the frame of the thing."""
    tint: Colour = WHITE
    """Factors of the colour at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A change of state in place, in closed form: its progress is an exact number from 0 to 1."""

    name: str
    """`melts`, `burns down`, `opens`."""
    before: str
    """State at progress 0, as in `the candle is whole`."""
    after: str
    changes: Mapping[str, Change]
    """By the name of the target's part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Motion:
    """How the target goes from its place to another one."""

    kind: Literal["roll", "slide", "fall", "carried"]
    """All but the last are left to physics."""
    verb: str
    """`rolls across the rug`."""
    travel: float
    """Metres to go across the view, towards its middle and beyond."""
    carrier: str | None = None
    """A thing that goes along: the trolley, the tray, the belt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Light:
    """One light that casts shadows, and the light from everywhere."""

    direction: Vector
    """From a sun, or straight down from a lamp."""
    lamp: Vector | None = None
    """Where the lamp hangs; None for a sun."""
    colour: Colour
    ambient: Colour
    sky: tuple[Colour, Colour] | None = None
    """Horizon and zenith; None under a ceiling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A place with its things. The target stands at x = y = 0 and the camera looks from about (0, -distance)."""

    family: str
    place: str
    """As in a caption: `a playroom with a brick wall`."""
    things: tuple[Thing, ...]
    """The first one is the target."""
    light: Light
    motion: Motion
    process: Process
    distance: float
    """Metres from the camera to the target."""
    eye_height: float
    """Metres from the ground to the camera."""
    extent: float
    """Metres from the middle to the farthest thing."""
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        names = tuple(thing.name for thing in self.things)
        if len(set(names)) < len(names) or self.things[0].role != "target":
            raise ValueError(f"{self.family}: names repeat, or the first thing is not the target: {names}")
        object.__setattr__(self, "names", names)

    @property
    def target(self) -> Thing:
        """The thing whose memory is tested."""
        return self.things[0]

    @property
    def parts(self) -> tuple[Part, ...]:
        """Of all things, in their order."""
        return tuple(part for thing in self.things for part in thing.parts)

    @property
    def owners(self) -> tuple[int, ...]:
        """For each part the position of its thing."""
        return tuple(index for index, thing in enumerate(self.things) for _ in thing.parts)
