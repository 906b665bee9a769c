"""A plaza: a person in a coloured top and trousers walks, or raises an arm. Even at rest a person moves a little."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from lookaway.world.families.furniture import bench, carton, drum, lamp_post, plant, tree
from lookaway.world.nouns import Change, Colour, IdleMotion, Motion, Process, Scene, Surface, Thing, Vector
from lookaway.world.stage import GroundPlan, Look, Stage, box, capsule, cylinder, ellipsoid, panel, sun_light

STRIDES = 3
"""On the whole way."""
SIDES = (("left", 1), ("right", -1))
SKINS: tuple[tuple[Colour, Colour], ...] = (
    ((0.88, 0.7, 0.56), (0.78, 0.58, 0.46)),
    ((0.66, 0.46, 0.32), (0.56, 0.38, 0.26)),
    ((0.42, 0.28, 0.2), (0.34, 0.22, 0.16)),
)
TOPS: tuple[Look, ...] = (
    ("stripes", ((0.82, 0.2, 0.18), (0.94, 0.9, 0.84))),
    ("cloth", ((0.16, 0.4, 0.72), (0.8, 0.84, 0.9))),
    ("blotches", ((0.92, 0.7, 0.16), (0.8, 0.4, 0.14), (0.96, 0.9, 0.7))),
    ("stripes", ((0.2, 0.5, 0.32), (0.86, 0.86, 0.6))),
)
TROUSERS: tuple[Look, ...] = (
    ("cloth", ((0.16, 0.2, 0.36), (0.3, 0.36, 0.54))),
    ("cloth", ((0.5, 0.42, 0.3), (0.66, 0.58, 0.44))),
    ("cloth", ((0.2, 0.2, 0.2), (0.4, 0.38, 0.36))),
)


def plaza(rng: np.random.Generator) -> Scene:
    """A paved square before old houses, with a person in two-part clothing who breathes and looks about."""
    stage = Stage(rng)
    height = stage.between(1.62, 1.8)
    distance = 3.4 * height
    plan = GroundPlan.around(distance, width=20, back=6.5, behind=5, height=6)
    tone = stage.pick((0.72, 0.56, 0.44), (0.66, 0.64, 0.58), (0.76, 0.7, 0.54))
    walls = stage.walls(
        ("facade", (tone, (0.56, 0.48, 0.42), (0.8, 0.77, 0.72))),
        ("facade", ((0.7, 0.62, 0.56), (0.58, 0.5, 0.46), (0.8, 0.78, 0.74))),
        ("bricks", ((0.66, 0.44, 0.36), (0.52, 0.36, 0.3), (0.76, 0.72, 0.66))),
        ("facade", ((0.74, 0.7, 0.6), (0.6, 0.56, 0.48), (0.82, 0.8, 0.74))),
    )
    paving = stage.surface("tiles", (0.62, 0.6, 0.56), (0.52, 0.5, 0.48), (0.7, 0.66, 0.58))
    stage.enclose(plan, paving, walls)
    person = _person(stage, height)
    _kiosk(stage)
    bench(stage, "stone bench", (stage.between(-2.4, -1.8), 3.6, 0), stage.between(-10, 10), 1.8)
    bench(stage, "far bench", (stage.between(-3, 3), plan.front + 1.2, 0), 180, 2.0)
    lamp_post(stage, "street lamp", (stage.between(1.4, 1.9), 4.6, 0), 3.8)
    tree(stage, "plane tree", (stage.between(-5.6, -4.8), 4.6, 0), 4.8)
    tree(stage, "linden", (stage.between(5.6, 6.6), 5.2, 0), 4.8)
    tree(stage, "chestnut", (stage.between(-8.4, -7.2), stage.between(-6, -4), 0), 4.8)
    plant(stage, "flower tub", (stage.between(0.4, 0.8), 3.9, 0), 1.1)
    plant(stage, "laurel tub", (stage.between(-0.9, -0.4), 4.4, 0), 1.3)
    plant(stage, "olive tub", (7.6, stage.between(-6, -4), 0), 1.6)
    drum(stage, "litter bin", (stage.between(-3.4, -3.0), 2.6, 0), 0.9, (0.3, 0.36, 0.4))
    carton(stage, "parcel", (stage.between(1.7, 2.2), 2.6, 0), (0.6, 0.5, 0.45))
    stage.hang("poster", plan, {"back": 3, "left": 2, "right": 1, "front": 1}, (1.4, 1.0, 1.6))
    return Scene(
        family="plaza",
        place="a paved square in an old town",
        things=stage.finished(person),
        light=sun_light((-0.5, 0.7, -1.6)),
        motion=Motion(kind="walk", verb="walks across the square", travel=1.2 * height),
        process=Process(
            name="raises an arm",
            before="standing with both arms down",
            after="standing with one arm raised",
            changes={
                name: Change(turn=(0, 150, 0), pivot=_shoulder("right", height))
                for name in ("right upper arm", "right forearm", "right hand")
            },
        ),
        distance=distance,
        eye_height=1.0 * height,
        extent=plan.extent,
        idle=(*_at_rest(stage, height), *_gait(height)),
        identity=tuple(part.name for part in person.parts if part.surface.pattern in ("stripes", "cloth", "blotches")),
    )


def _shoulder(side: str, height: float) -> Vector:
    return dict(SIDES)[side] * 0.12 * height, 0.0, 0.81 * height


def _hip(side: str, height: float) -> Vector:
    return dict(SIDES)[side] * 0.055 * height, 0.0, 0.52 * height


def _knee(side: str, height: float) -> Vector:
    return dict(SIDES)[side] * 0.055 * height, 0.0, 0.285 * height


SHOULDER: Final = 0.116
HIP: Final = 0.055
LIMBS: Final = (
    (capsule, "upper arm", (0.07, 0.07, 0.2), "shirt", (SHOULDER, 0.012), (0, 0.735)),
    (capsule, "forearm", (0.056, 0.056, 0.19), "skin", (SHOULDER, 0.02), (-0.006, 0.57)),
    (ellipsoid, "hand", (0.045, 0.06, 0.085), "skin", (SHOULDER, 0.022), (-0.01, 0.46)),
    (capsule, "thigh", (0.105, 0.105, 0.3), "cloth", (HIP, 0.0), (0, 0.4)),
    (capsule, "shin", (0.085, 0.085, 0.28), "cloth", (HIP, 0.0), (0, 0.17)),
    (box, "shoe", (0.075, 0.15, 0.045), "leather", (HIP, 0.0), (-0.03, 0.0225)),
)
"""Shape, name, size, surface, distance of the joint from the middle and of the limb from it, and place, in heights."""


def _person(stage: Stage, height: float) -> Thing:
    skin, top, trousers = stage.pick(*SKINS), stage.pick(*TOPS), stage.pick(*TROUSERS)
    hair = stage.pick(((0.16, 0.1, 0.06), (0.28, 0.18, 0.1)), ((0.62, 0.46, 0.22), (0.48, 0.32, 0.14)))

    def scaled(x: float, y: float, z: float) -> Vector:
        return x * height, y * height, z * height

    shirt, cloth = stage.surface(top[0], *top[1]), stage.surface(trousers[0], *trousers[1])
    bare, leather = stage.surface("plain", *skin), stage.surface("plain", (0.14, 0.1, 0.08), (0.24, 0.18, 0.14))

    def again(surface: Surface) -> Surface:
        """The same colours in other places: no two parts look alike."""
        return replace(surface, seed=int(stage.rng.integers(0, 2**31)))

    parts = [
        ellipsoid("chest", scaled(0.255, 0.16, 0.26), again(shirt), scaled(0, 0, 0.735)),
        ellipsoid("waist", scaled(0.21, 0.15, 0.26), again(shirt), scaled(0, 0, 0.625)),
        ellipsoid("hips", scaled(0.215, 0.155, 0.15), again(cloth), scaled(0, 0, 0.52)),
        cylinder("neck", scaled(0.06, 0.06, 0.08), again(bare), scaled(0, 0, 0.855)),
        ellipsoid("head", scaled(0.105, 0.12, 0.145), again(bare), scaled(0, -0.005, 0.925)),
        ellipsoid("hair", scaled(0.118, 0.125, 0.11), stage.surface("straw", *hair), scaled(0, 0.014, 0.955)),
    ]
    worn = {"shirt": shirt, "skin": bare, "cloth": cloth, "leather": leather}
    for side, sign in SIDES:
        for shape, name, size, surface, (joint, out), (y, z) in LIMBS:
            place = scaled(sign * joint + sign * out, y, z)
            parts.append(shape(f"{side} {name}", scaled(*size), again(worn[surface]), place))
    return stage.put("person", "target", parts, (0, 0, 0))


def _at_rest(stage: Stage, height: float) -> list[IdleMotion]:
    """Breath, a look to the side, arms that are never quite still."""

    def idle(part: str, **how: object) -> IdleMotion:
        return IdleMotion(thing="person", part=part, **how)  # type: ignore[arg-type]

    breath, glance = stage.between(3.0, 3.8), stage.between(4.5, 6.0)
    start = stage.between(0, 1)
    found = [idle("chest", period=breath, wave="pulse", grow=(1.02, 1.05, 1.01))]
    for part in ("head", "hair"):
        found.append(idle(part, period=glance, phase=start, turn=(0, 0, 14), pivot=(0, 0, 0.9 * height)))
    for side, sign in SIDES:
        period = stage.between(2.6, 3.4)
        shoulder = _shoulder(side, height)
        for part in ("upper arm", "forearm", "hand"):
            found.append(idle(f"{side} {part}", period=period, wave="pulse", turn=(-4, -2.5 * sign, 0), pivot=shoulder))
    return found


def _gait(height: float) -> list[IdleMotion]:
    """Legs and arms that swing against each other."""

    def step(part: str, **how: object) -> IdleMotion:
        return IdleMotion(thing="person", part=part, period=1 / STRIDES, is_gait=True, **how)  # type: ignore[arg-type]

    found = []
    for side, sign in SIDES:
        hip, knee, shoulder = _hip(side, height), _knee(side, height), _shoulder(side, height)
        for part in ("shin", "shoe"):
            found.append(step(f"{side} {part}", wave="pulse", turn=(22, 0, 0), pivot=knee))
        for part in ("thigh", "shin", "shoe"):
            found.append(step(f"{side} {part}", turn=(24 * sign, 0, 0), pivot=hip))
        for part in ("upper arm", "forearm", "hand"):
            found.append(step(f"{side} {part}", turn=(-22 * sign, 0, 0), pivot=shoulder))
    return found


def _kiosk(stage: Stage) -> None:
    paint = stage.pick(((0.24, 0.42, 0.36), (0.16, 0.3, 0.26)), ((0.6, 0.24, 0.2), (0.44, 0.18, 0.16)))
    papers = stage.surface("books", *stage.bright_colours(7))
    parts = [
        box("stand", (1.5, 0.9, 1.1), stage.surface("boards", *paint), (0, 0, 0.55)),
        panel("papers", (1.3, 0.6, 0.04), papers, (0, -0.47, 0.7), (90, 0, 0)),
        box("back", (1.5, 0.1, 1.0), stage.surface("boards", *paint), (0, 0.4, 1.6)),
        box("roof", (1.9, 1.3, 0.12), stage.surface("stripes", (0.85, 0.3, 0.24), (0.92, 0.88, 0.8)), (0, 0, 2.2)),
    ]
    for side in (-1, 1):
        parts.append(
            cylinder(f"post {side}", (0.07, 0.07, 1.1), stage.surface("metal", *paint), (side * 0.68, -0.4, 1.65))
        )
    stage.prop("newspaper kiosk", parts, (stage.between(3.4, 3.8), 2.4, 0), stage.between(-15, 15), role="interactor")
