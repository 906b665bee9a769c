"""What a simulated scene is made of. Metres, Z up; sizes are full extents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Vector = tuple[float, float, float]
Colour = tuple[float, float, float]
"""Red, green, blue, each from 0 to 1."""

Shape = Literal["box", "cylinder", "ellipsoid", "capsule", "panel"]
"""A panel is a thin box with an image on its two z faces; other shapes are textured all over."""
Role = Literal["target", "interactor", "anchor", "prop", "structure", "copy"]
ORIGIN: Vector = (0.0, 0.0, 0.0)
WHITE: Colour = (1.0, 1.0, 1.0)
SAME: Vector = (1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """Surface of a part: a pattern that is unique to its seed."""

    pattern: str
    """A name of `patterns.PATTERNS`."""
    colours: tuple[Colour, ...]
    seed: int
    emission: float = 0.0
    """Emitted light, as of a flame or a screen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One solid of a thing, in the coordinates of the thing."""

    name: str
    shape: Shape
    size: Vector
    surface: Surface
    position: Vector = ORIGIN
    turn: Vector = ORIGIN
    """Degrees about x, then y, then z."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """A named rigid object; its origin is its base, or its centre if it rolls."""

    name: str
    """As in a caption: `red ball`."""
    role: Role
    parts: tuple[Part, ...]
    position: Vector = ORIGIN
    heading: float = 0.0
    """Degrees about z."""
    is_movable: bool = False
    """Whether it could be moved: furniture and clutter, but not walls."""

    @property
    def diameter(self) -> float:
        """Longest side of its bounding box."""
        low, high = self.box
        return max(b - a for a, b in zip(low, high, strict=True))

    @property
    def box(self) -> tuple[Vector, Vector]:
        """Lowest and highest corner of its parts in its own coordinates, ignoring their rotation."""
        lows = [[p - s / 2 for p, s in zip(part.position, part.size, strict=True)] for part in self.parts]
        highs = [[p + s / 2 for p, s in zip(part.position, part.size, strict=True)] for part in self.parts]
        low, high = ([f(axis) for axis in zip(*rows, strict=True)] for f, rows in ((min, lows), (max, highs)))
        return (low[0], low[1], low[2]), (high[0], high[1], high[2])


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """How a process changes one part from start to end, linearly in its progress."""

    move: Vector = ORIGIN
    grow: Vector = SAME
    """Size factors at the end."""
    turn: Vector = ORIGIN
    """Degrees about x, then y, then z, around the pivot."""
    pivot: Vector = ORIGIN
    """In the coordinates of the thing."""
    tint: Colour = WHITE
    """Colour factors at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A change of state in place; its progress is an exact number from 0 to 1."""

    name: str
    """`melts`, `burns down`, `opens`."""
    before: str
    """State at progress 0, as in `the candle is whole`."""
    after: str
    changes: Mapping[str, Change]
    """Changes by part name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleMotion:
    """What a part does by itself, over and over, whatever is remembered: water, leaves, a flame, breath, a gait.

    It is innocent: the clean clip has it too, and no fault stops it. Several of one part are applied in their order.
    """

    thing: str
    part: str
    period: float
    """Seconds; with `is_gait`, a fraction of the target's way."""
    phase: float = 0.0
    """Fraction of a period by which it is ahead."""
    wave: Literal["swing", "pulse"] = "swing"
    """To both sides of rest and back, or from rest to one side and back."""
    is_gait: bool = False
    """Whether it goes with the way of the target instead of with time."""
    move: Vector = ORIGIN
    """Metres from rest, at most."""
    turn: Vector = ORIGIN
    """Degrees about x, then y, then z, around the pivot, at most."""
    pivot: Vector = ORIGIN
    """In the coordinates of the thing."""
    grow: Vector = SAME
    """Size factors at most."""
    tint: Colour = WHITE
    """Colour factors at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Motion:
    """How the target moves."""

    kind: Literal["roll", "slide", "fall", "carried", "walk"]
    """All but `carried` and `walk` are simulated physically; what walks faces its way."""
    verb: str
    """`rolls across the rug`."""
    travel: float
    """Metres of travel across the view, towards its middle."""
    carrier: str | None = None
    """A thing that moves with it: a trolley, a tray, a belt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Light:
    """One light that casts shadows, and ambient light."""

    direction: Vector
    """Direction of the sun, or straight down from a lamp."""
    lamp: Vector | None = None
    """Position of the lamp; None for a sun."""
    colour: Colour
    ambient: Colour
    sky: tuple[Colour, Colour] | None = None
    """Horizon and zenith; None under a ceiling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A scene and its things. The target is at x = y = 0 and the camera at about (0, -distance)."""

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
    """Metres from the centre to the farthest thing."""
    idle: tuple[IdleMotion, ...] = field(default=(), repr=False)
    """Innocent motion of the target and of other things."""
    flicker_stops: float = field(default=0.0, repr=False)
    """By how much the light flickers around its mean, as of a fire."""
    flicker_phase: float = field(default=0.0, repr=False)
    """Where in its flicker the light is at the first frame, from 0 to 1."""
    identity: tuple[str, ...] = field(default=(), repr=False)
    """Parts of the target that may change their pattern and colour without it being another kind of thing, such as
    clothes; all of them if none is named."""
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
    def identity_parts(self) -> tuple[int, ...]:
        """Indices of the target's parts that carry its identity."""
        parts = self.target.parts
        return tuple(index for index, part in enumerate(parts) if not self.identity or part.name in self.identity)

    @property
    def parts(self) -> tuple[Part, ...]:
        """Parts of all things, in order."""
        return tuple(part for thing in self.things for part in thing.parts)

    @property
    def owners(self) -> tuple[int, ...]:
        """Index of the thing of each part."""
        return tuple(index for index, thing in enumerate(self.things) for _ in thing.parts)
