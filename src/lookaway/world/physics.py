"""Simulates a target that rolls, slides or falls in its scene."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookaway.core import Floats
from lookaway.world.graphics import geom_type, half_sizes, load_mujoco
from lookaway.world.nouns import Part, Scene
from lookaway.world.turns import quaternion_from_degrees

STEPS_PER_SECOND = 960
GRAVITY = 9.81
LOWEST_SUPPORT = 0.06
"""In metres; anything lower counts as ground."""
SMOOTH, ROUGH = 1e-3, 0.9


def simulate(scene: Scene, direction: float, frames: int, fps: float, seconds: float) -> tuple[Floats, Floats]:
    """[N, 3] positions and [N, 4] quaternions of the target, pushed along x at the first frame.

    `seconds` is the duration of the motion; it may continue afterwards.
    """
    mujoco = load_mujoco()
    motion, target = scene.motion, scene.target
    speed, friction = _push(motion.kind, motion.travel, seconds)
    model = _compile(mujoco, scene, friction)
    data = mujoco.MjData(model)
    data.qpos[:3], data.qpos[3:] = target.position, quaternion_from_degrees((0.0, 0.0, target.heading))
    data.qvel[0] = direction * speed
    if motion.kind == "roll":
        # Spin in the frame of the body, such that the lowest point rests.
        radius = target.parts[0].size[2] / 2
        turn = np.radians(target.heading)
        spin = direction * speed / radius
        data.qvel[3:] = [spin * np.sin(turn), spin * np.cos(turn), 0.0]
    positions, quaternions = np.empty((frames, 3)), np.empty((frames, 4))
    steps = max(1, round(STEPS_PER_SECOND / fps))
    model.opt.timestep = 1 / fps / steps
    for frame in range(frames):
        positions[frame], quaternions[frame] = data.qpos[:3], data.qpos[3:]
        for _ in range(steps):
            mujoco.mj_step(model, data)
    quaternions *= np.where(quaternions[:, :1] < 0, -1.0, 1.0)
    return positions, quaternions


def _push(kind: str, travel: float, seconds: float) -> tuple[float, float]:
    """Initial speed, and the friction that stops a sliding thing after its travel."""
    match kind:
        case "roll":
            return travel / seconds, ROUGH
        case "fall":
            # The edge is half-way, and reached when the camera is away.
            return travel / seconds * 1.2, SMOOTH
        case _:
            speed = 2 * travel / (0.9 * seconds)
            return speed, speed**2 / (2 * GRAVITY * travel)


def _compile(mujoco: Any, scene: Scene, friction: float) -> Any:
    spec = mujoco.MjSpec()
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.compiler.balanceinertia = True
    for thing in scene.things[1:]:
        if thing.role == "copy":
            continue
        body = spec.worldbody.add_body(pos=thing.position, quat=quaternion_from_degrees((0.0, 0.0, thing.heading)))
        for part in thing.parts:
            is_ground = thing.position[2] + _top(part) <= LOWEST_SUPPORT
            grip = max(friction, ROUGH) if is_ground and scene.motion.kind != "slide" else SMOOTH
            _add(mujoco, body, part, grip)
    body = spec.worldbody.add_body(name="target")
    body.add_freejoint()
    for part in scene.target.parts:
        _add(mujoco, body, part, friction if scene.motion.kind == "slide" else SMOOTH)
    return spec.compile()


def _top(part: Part) -> float:
    return part.position[2] + part.size[2] / 2


def _add(mujoco: Any, body: Any, part: Part, friction: float) -> None:
    is_ball = part.shape == "ellipsoid" and len(set(part.size)) == 1
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_SPHERE if is_ball else geom_type(mujoco, part.shape),
        size=half_sizes(part.shape, part.size),
        pos=part.position,
        quat=quaternion_from_degrees(part.turn),
        density=300.0,
        friction=[friction, 1e-4, 1e-5],
    )
