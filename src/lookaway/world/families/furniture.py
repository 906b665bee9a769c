"""Furniture and clutter that several families share. What has a front looks towards -y when its heading is 0."""

from __future__ import annotations

import numpy as np

from lookaway.world.nouns import Colour, Part, Role, Surface, Thing, Vector
from lookaway.world.stage import DARK_WOOD, WOOD, Stage, box, cylinder, ellipsoid, panel

CORNERS = ((-1, -1), (1, -1), (-1, 1), (1, 1))
STEEL: tuple[Colour, ...] = ((0.62, 0.64, 0.66), (0.45, 0.46, 0.5))
RUBBER: tuple[Colour, ...] = ((0.14, 0.14, 0.15), (0.24, 0.24, 0.25))
LYING: Vector = (90.0, 0.0, 0.0)
"""Lays a cylinder along y."""


def crate(stage: Stage, name: str, place: Vector, side: float, *, role: Role = "prop") -> Thing:
    """A wooden box with battens."""
    parts = [box("body", (side, side, side), stage.surface("planks", *WOOD), (0, 0, side / 2))]
    for level in (0.08, 0.92):
        batten = stage.surface("planks", *DARK_WOOD)
        parts.append(box(f"batten {level}", (side * 1.04, side * 1.04, side * 0.14), batten, (0, 0, side * level)))
    return stage.prop(name, parts, place, stage.between(-40, 40), role=role)


def carton(stage: Stage, name: str, place: Vector, size: Vector, *, role: Role = "prop") -> Thing:
    """A cardboard box with a strip of tape and a label."""
    return stage.prop(name, carton_parts(stage, size), place, stage.between(-35, 35), role=role)


def carton_parts(stage: Stage, size: Vector) -> list[Part]:
    """Parts of a cardboard box."""
    width, depth, height = size
    label = stage.surface("blotches", (0.9, 0.9, 0.86), *stage.bright_colours(4))
    return [
        box("body", size, stage.surface("cardboard", (0.72, 0.53, 0.33), (0.55, 0.38, 0.22)), (0, 0, height / 2)),
        box(
            "tape",
            (width * 0.16, depth * 1.01, height * 1.01),
            stage.surface("plain", (0.82, 0.72, 0.5), (0.6, 0.5, 0.35)),
            (width * 0.02, 0, height * 0.505),
        ),
        panel(
            "label", (width * 0.3, height * 0.34, 0.006), label, (width * 0.28, -depth / 2 - 0.003, height * 0.6), LYING
        ),
    ]


def block(stage: Stage, name: str, place: Vector, size: Vector, surface: Surface) -> Thing:
    """One box that stands about."""
    return stage.prop(name, box("body", size, surface, (0, 0, size[2] / 2)), place, stage.between(0, 90))


def table(stage: Stage, name: str, place: Vector, size: Vector, top: Surface) -> Thing:
    """A top on four legs; size is width, depth, height."""
    width, depth, height = size
    parts = [box("top", (width, depth, 0.06), top, (0, 0, height - 0.03))]
    for x, y in CORNERS:
        leg = stage.surface("planks", *DARK_WOOD)
        place_of_leg = (x * (width / 2 - 0.08), y * (depth / 2 - 0.08), (height - 0.06) / 2)
        parts.append(box(f"leg {x} {y}", (0.09, 0.09, height - 0.06), leg, place_of_leg))
    return stage.put(name, "structure", parts, place)


def counter(stage: Stage, name: str, place: Vector, size: Vector, surfaces: tuple[Surface, Surface]) -> Thing:
    """A solid base under a slab; the surfaces are of the slab and of the base."""
    width, depth, height = size
    parts = [
        box("slab", (width, depth, 0.06), surfaces[0], (0, 0, height - 0.03)),
        box("base", (width - 0.1, depth - 0.12, height - 0.06), surfaces[1], (0, 0, (height - 0.06) / 2)),
    ]
    return stage.put(name, "structure", parts, place)


def chair(stage: Stage, name: str, place: Vector, heading: float, colour: Colour) -> Thing:
    """With a back at its far side."""
    cloth = (colour, (colour[0] * 0.6, colour[1] * 0.6, colour[2] * 0.6))
    parts = [
        box("seat", (0.46, 0.46, 0.06), stage.surface("cloth", *cloth), (0, 0, 0.45)),
        box("back", (0.46, 0.05, 0.42), stage.surface("cloth", *cloth), (0, 0.21, 0.73)),
    ]
    for x, y in CORNERS:
        leg = stage.surface("planks", *WOOD)
        parts.append(box(f"leg {x} {y}", (0.05, 0.05, 0.42), leg, (x * 0.19, y * 0.19, 0.21)))
    return stage.prop(name, parts, place, heading)


def stool(stage: Stage, name: str, place: Vector, colour: Colour) -> Thing:
    """A round seat on one leg."""
    seat = stage.surface("cloth", colour, (0.2, 0.2, 0.22))
    parts = [
        cylinder("seat", (0.4, 0.4, 0.09), seat, (0, 0, 0.6)),
        cylinder("leg", (0.07, 0.07, 0.53), stage.surface("metal", *STEEL), (0, 0, 0.29)),
        cylinder("foot", (0.36, 0.36, 0.03), stage.surface("metal", *STEEL), (0, 0, 0.015)),
    ]
    return stage.prop(name, parts, place)


def cupboard(stage: Stage, name: str, place: Vector, heading: float, size: Vector) -> Thing:
    """With two doors."""
    width, depth, height = size
    paint = stage.pick(
        ((0.45, 0.3, 0.18), (0.3, 0.18, 0.1)),
        ((0.6, 0.66, 0.62), (0.45, 0.5, 0.48)),
        ((0.7, 0.62, 0.45), (0.5, 0.42, 0.3)),
    )
    parts = [box("body", size, stage.surface("planks", *paint), (0, 0, height / 2))]
    for side in (-1, 1):
        door = stage.surface("planks", *paint)
        at = (side * width * 0.24, -depth / 2 - 0.01, height * 0.52)
        parts.append(panel(f"door {side}", (width * 0.44, height * 0.86, 0.03), door, at, LYING))
        knob = stage.surface("metal", (0.8, 0.65, 0.3), (0.5, 0.4, 0.2))
        parts.append(
            ellipsoid(f"knob {side}", (0.05, 0.05, 0.05), knob, (side * width * 0.07, -depth / 2 - 0.04, height * 0.52))
        )
    return stage.put(name, "anchor", parts, place, heading)


def shelf(stage: Stage, name: str, place: Vector, heading: float) -> Thing:
    """Three rows of books."""
    colours = stage.bright_colours(7)
    parts = []
    for row in range(4):
        board = stage.surface("planks", *DARK_WOOD)
        parts.append(box(f"board {row}", (1.4, 0.3, 0.04), board, (0, 0, 0.05 + 0.42 * row)))
    for row in range(3):
        books = stage.surface("books", *colours)
        parts.append(panel(f"books {row}", (1.3, 0.32, 0.2), books, (0, 0, 0.23 + 0.42 * row), LYING))
    for side in (-1, 1):
        board = stage.surface("planks", *DARK_WOOD)
        parts.append(box(f"side {side}", (0.04, 0.3, 1.38), board, (side * 0.7, 0, 0.69)))
    return stage.put(name, "anchor", parts, place, heading)


def plant(stage: Stage, name: str, place: Vector, height: float, *, role: Role = "prop") -> Thing:
    """A bush in a pot."""
    clay = stage.surface("plaster", (0.7, 0.38, 0.22), (0.5, 0.25, 0.15))
    parts = [cylinder("pot", (height * 0.36, height * 0.36, height * 0.4), clay, (0, 0, height * 0.2))]
    for number in range(4):
        leaves = stage.surface("leaves", (0.15, 0.42, 0.12), (0.45, 0.62, 0.18))
        span = height * stage.between(0.36, 0.5)
        angle = np.pi / 2 * number + stage.between(0, 1)
        at = (
            height * 0.15 * float(np.cos(angle)),
            height * 0.15 * float(np.sin(angle)),
            height * stage.between(0.58, 0.8),
        )
        parts.append(ellipsoid(f"crown {number}", (span, span, span * 0.9), leaves, at))
    return stage.prop(name, parts, place, role=role)


def tree(stage: Stage, name: str, place: Vector, height: float) -> Thing:
    """A trunk under a crown of several parts."""
    bark = stage.surface("planks", (0.4, 0.3, 0.2), (0.28, 0.2, 0.14))
    parts = [cylinder("trunk", (height * 0.08, height * 0.08, height * 0.5), bark, (0, 0, height * 0.25))]
    green = stage.pick(((0.18, 0.4, 0.14), (0.42, 0.56, 0.2)), ((0.3, 0.42, 0.12), (0.62, 0.6, 0.2)))
    for number in range(4):
        span = height * stage.between(0.38, 0.5)
        angle = np.pi / 2 * number + stage.between(0, 1)
        reach = height * 0.14
        at = (reach * float(np.cos(angle)), reach * float(np.sin(angle)), height * stage.between(0.58, 0.8))
        parts.append(ellipsoid(f"crown {number}", (span, span, span * 0.85), stage.surface("leaves", *green), at))
    return stage.put(name, "anchor", parts, place)


def barrel(stage: Stage, name: str, place: Vector, height: float, *, role: Role = "prop") -> Thing:
    """Staves and two hoops."""
    width = height * 0.7
    parts = [cylinder("body", (width, width, height), stage.surface("boards", *WOOD), (0, 0, height / 2))]
    for level in (0.2, 0.8):
        hoop = stage.surface("metal", (0.35, 0.33, 0.32), (0.5, 0.35, 0.25))
        parts.append(
            cylinder(f"hoop {level}", (width * 1.04, width * 1.04, height * 0.08), hoop, (0, 0, height * level))
        )
    return stage.prop(name, parts, place, role=role)


def drum(stage: Stage, name: str, place: Vector, height: float, colour: Colour) -> Thing:
    """A steel drum or a dustbin."""
    width = height * 0.66
    paint = stage.surface("rust", colour, (0.45, 0.28, 0.16))
    lid = stage.surface("metal", *STEEL)
    parts = [
        cylinder("body", (width, width, height), paint, (0, 0, height / 2)),
        cylinder("lid", (width * 1.06, width * 1.06, height * 0.06), lid, (0, 0, height * 1.03)),
    ]
    return stage.prop(name, parts, place)


def bench(stage: Stage, name: str, place: Vector, heading: float, width: float = 1.5) -> Thing:
    """A seat with a back, on two feet."""
    parts = [
        box("seat", (width, 0.42, 0.07), stage.surface("planks", *WOOD), (0, 0, 0.45)),
        box("back", (width, 0.06, 0.4), stage.surface("planks", *WOOD), (0, 0.2, 0.75)),
    ]
    for side in (-1, 1):
        foot = stage.surface("metal", *STEEL)
        parts.append(box(f"foot {side}", (0.08, 0.4, 0.415), foot, (side * (width / 2 - 0.15), 0, 0.2075)))
    return stage.prop(name, parts, place, heading)


def lamp_post(stage: Stage, name: str, place: Vector, height: float) -> Thing:
    """A pole with a lantern."""
    iron = ((0.2, 0.24, 0.22), (0.3, 0.33, 0.3))
    parts = [
        cylinder(
            "foot", (height * 0.09, height * 0.09, height * 0.1), stage.surface("metal", *iron), (0, 0, height * 0.05)
        ),
        cylinder(
            "pole", (height * 0.035, height * 0.035, height * 0.8), stage.surface("metal", *iron), (0, 0, height * 0.5)
        ),
        ellipsoid(
            "lantern",
            (height * 0.11, height * 0.11, height * 0.13),
            stage.surface("plain", (0.95, 0.9, 0.7), (0.85, 0.75, 0.5), emission=0.4),
            (0, 0, height * 0.95),
        ),
    ]
    return stage.put(name, "anchor", parts, place)


def floor_lamp(stage: Stage, name: str, place: Vector) -> Thing:
    """A pole with a shade that shines a little."""
    shade = stage.surface("cloth", (0.95, 0.85, 0.6), (0.85, 0.65, 0.4), emission=0.35)
    parts = [
        cylinder("foot", (0.32, 0.32, 0.04), stage.surface("metal", *STEEL), (0, 0, 0.02)),
        cylinder("pole", (0.04, 0.04, 1.3), stage.surface("metal", *STEEL), (0, 0, 0.69)),
        cylinder("shade", (0.42, 0.42, 0.36), shade, (0, 0, 1.5)),
    ]
    return stage.prop(name, parts, place, role="anchor")


def cone(stage: Stage, name: str, place: Vector, height: float) -> Thing:
    """A traffic cone in steps."""
    foot = stage.surface("plain", (0.15, 0.15, 0.16), (0.25, 0.25, 0.25))
    parts = [box("foot", (height * 0.6, height * 0.6, height * 0.07), foot, (0, 0, height * 0.035))]
    for number, width in enumerate((0.42, 0.34, 0.26, 0.18)):
        colour = ((0.92, 0.38, 0.1), (0.92, 0.9, 0.86))[number % 2]
        ring = stage.surface("plaster", colour, (0.5, 0.4, 0.35))
        size = (height * width, height * width, height * 0.23)
        parts.append(cylinder(f"ring {number}", size, ring, (0, 0, height * (0.185 + 0.23 * number))))
    return stage.prop(name, parts, place, stage.between(0, 90))


def sack(stage: Stage, name: str, place: Vector, width: float) -> Thing:
    """A full sack that lies on its side."""
    cloth = stage.surface("cloth", (0.72, 0.62, 0.45), (0.5, 0.42, 0.3))
    parts = [
        ellipsoid("body", (width, width * 0.6, width * 0.42), cloth, (0, 0, width * 0.2)),
        ellipsoid("neck", (width * 0.26, width * 0.3, width * 0.22), cloth, (width * 0.5, 0, width * 0.22)),
    ]
    return stage.prop(name, parts, place, stage.between(-60, 60))


def bale(stage: Stage, name: str, place: Vector, width: float) -> Thing:
    """A round bale of straw that lies on its side."""
    straw = stage.surface("straw", (0.85, 0.7, 0.32), (0.6, 0.45, 0.18))
    part = cylinder("body", (width, width, width * 0.9), straw, (0, 0, width / 2), LYING)
    return stage.prop(name, part, place, stage.between(-50, 50))


def wheels(stage: Stage, across: float, along: float, width: float) -> list[Part]:
    """Four of them, whose middles are so far apart."""
    return [
        cylinder(
            f"wheel {x} {y}",
            (width, width, width * 0.35),
            stage.surface("plain", *RUBBER),
            (x * across / 2, y * along / 2, width / 2),
            LYING,
        )
        for x, y in CORNERS
    ]


def trolley(stage: Stage, name: str, size: Vector, colour: Colour) -> Thing:
    """A platform on wheels under the target; size is width, depth and the height of the top."""
    width, depth, height = size
    wheel = height * 0.6
    deck = stage.surface("metal", colour, (0.3, 0.3, 0.32))
    parts = [box("deck", (width, depth, height - wheel), deck, (0, 0, (height + wheel) / 2))]
    return stage.put(name, "prop", parts + wheels(stage, width * 0.72, depth * 0.86, wheel), (0, 0, 0.0))


def car_parts(stage: Stage, colours: tuple[Colour, Colour], length: float) -> list[Part]:
    """A small car that looks towards +x, with lids over its engine and its boot."""
    unit = length / 2.3
    paint = [stage.surface("paint", *colours) for _ in range(4)]
    glass = [stage.surface("glass", (0.16, 0.24, 0.32), (0.5, 0.6, 0.7)) for _ in range(3)]
    lamp = stage.surface("plain", (0.98, 0.95, 0.8), (0.9, 0.85, 0.6), emission=0.3)
    dark = stage.surface("rust", (0.2, 0.2, 0.22), (0.4, 0.36, 0.3))

    def scaled(x: float, y: float, z: float) -> Vector:
        return x * unit, y * unit, z * unit

    parts = [
        box("body", scaled(2.3, 1.2, 0.5), paint[0], scaled(0, 0, 0.53)),
        box("cabin", scaled(1.16, 1.1, 0.62), paint[1], scaled(-0.05, 0, 1.09)),
        box("side window", scaled(0.98, 1.12, 0.4), glass[0], scaled(-0.05, 0, 1.14)),
        box("front window", scaled(0.06, 0.96, 0.42), glass[1], scaled(0.52, 0, 1.14)),
        box("rear window", scaled(0.06, 0.96, 0.42), glass[2], scaled(-0.62, 0, 1.14)),
        box("engine", scaled(0.42, 0.9, 0.05), dark, scaled(0.82, 0, 0.8)),
        box("bonnet", scaled(0.58, 1.16, 0.06), paint[2], scaled(0.84, 0, 0.835)),
        box("boot", scaled(0.46, 1.16, 0.06), paint[3], scaled(-0.9, 0, 0.835)),
    ]
    for side in (-1, 1):
        parts.append(ellipsoid(f"headlight {side}", scaled(0.1, 0.22, 0.22), lamp, scaled(1.13, 0.4 * side, 0.6)))
    for wheel in wheels(stage, 1.4, 1.14, 0.54):
        size, place = scaled(*wheel.size), scaled(*wheel.position)
        parts.append(cylinder(wheel.name, size, wheel.surface, place, LYING))
        hub = stage.surface("metal", *STEEL)
        out = 0.03 * unit * (1 if place[1] > 0 else -1)
        at = (place[0], place[1] + out, place[2])
        parts.append(cylinder(f"hub of {wheel.name}", scaled(0.28, 0.28, 0.16), hub, at, LYING))
    return parts
