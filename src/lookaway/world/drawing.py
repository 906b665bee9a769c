"""Renders one row of a state table: picture, depth and instances. Only this module calls the renderer."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Floats, Pixels
from lookaway.world.cameras import VERTICAL_FIELD_DEGREES
from lookaway.world.graphics import geom_type, half_sizes, load_mujoco, restyled
from lookaway.world.nouns import Scene
from lookaway.world.states import StateTable
from lookaway.world.textures import paint_part, paint_sky
from lookaway.world.turns import rotation

NEAR_METRES, FAR_METRES = 0.05, 80.0
LAMP_CUTOFF_DEGREES = 80.0
UNPAINTED: Pixels = np.full((6, 1, 3), 128, np.uint8)
"""Six faces of one grey texel."""
SHOWN, HIDDEN = 0, 5
"""Groups of geoms; only the first is drawn."""
SEED_TINT = 0.999
"""MuJoCo reads one exact grey as `no colour given`; tints avoid it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Rendering quality."""

    samples: int = 4
    shadow_texels: int = 1024
    is_painted: bool = True
    """Without patterns a scene loads faster; depth and instances are the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnFrame:
    """A rendered frame."""

    picture: Pixels
    """[height, width, 3]"""
    depth: NDArray[np.float32]
    """[height, width] metres along the optical axis; 0 is sky."""
    instances: NDArray[np.uint8]
    """[height, width] index of the thing in the scene, counted from 1; 0 is sky."""


class Drawer:
    """A scene loaded for rendering at one size. Use as a context manager, in one thread."""

    def __init__(self, scene: Scene, width: int, height: int, quality: Quality | None = None) -> None:
        self._mujoco: Any = load_mujoco()
        self._scene = scene
        self._size = (width, height)
        self._parts = scene.parts
        self._owners = np.array(scene.owners)
        self._model = _compile(self._mujoco, scene, width, height, quality or Quality())
        self._data = self._mujoco.MjData(self._model)
        self._mujoco.mj_forward(self._model, self._data)
        self._light = self._model.light_diffuse.copy()
        self._ambient = np.array(scene.light.ambient)
        self._repainted: Floats = np.zeros(len(self._parts))
        self._gl = self._mujoco.GLContext(width, height)
        self._gl.make_current()
        self._context: Any = self._mujoco.MjrContext(self._model, self._mujoco.mjtFontScale.mjFONTSCALE_100)
        self._mujoco.mjr_setBuffer(self._mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        self._context.readDepthMap = self._mujoco.mjtDepthMap.mjDEPTH_ZEROFAR
        self._drawn = self._mujoco.MjvScene(self._model, maxgeom=len(self._parts) + 10)
        self._rectangle = self._mujoco.MjrRect(0, 0, width, height)
        self._camera = self._mujoco.MjvCamera()
        self._camera.type, self._camera.fixedcamid = self._mujoco.mjtCamera.mjCAMERA_FIXED, 0
        self._options = self._mujoco.MjvOption()
        self._options.geomgroup[:] = [group == SHOWN for group in range(6)]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free graphics resources."""
        self._gl.make_current()
        self._context.free()
        self._gl.free()

    def draw(self, row: StateTable) -> DrawnFrame:
        """Picture, depth and instances of a table of one row.

        A thing of opacity w is blended into the picture with weight w; depth and instances show it from opacity 0.5.
        """
        self._place(row)
        opacity = row.opacity[0]
        levels = np.unique(np.concatenate([[0.0], opacity[opacity < 1]]))
        weights = np.diff(np.append(levels, 1.0))
        mixed = np.zeros((self._size[1], self._size[0], 3))
        for level, weight in zip(levels, weights, strict=True):
            self._show(opacity > level)
            mixed += weight * self._picture()
        picture = np.rint(mixed).astype(np.uint8)
        depth, instances = self._truth(opacity >= 0.5)
        return DrawnFrame(picture=restyled(picture, float(row.style[0])), depth=depth, instances=instances)

    def instances(self, row: StateTable) -> NDArray[np.uint8]:
        """Only the instances, at a third of the cost."""
        self._place(row)
        return self._truth(row.opacity[0] >= 0.5)[1]

    def _place(self, row: StateTable) -> None:
        model, data = self._model, self._data
        things = rotation(row.quaternion[0])[self._owners]
        data.geom_xpos[:] = row.position[0, self._owners] + things.apply(row.part_position[0])
        data.geom_xmat[:] = (things * rotation(row.part_quaternion[0])).as_matrix().reshape(-1, 9)
        for index, part in enumerate(self._parts):
            model.geom_size[index] = half_sizes(part.shape, row.part_size[0, index])
        model.geom_rgba[:, :3] = row.part_tint[0] * SEED_TINT
        model.light_diffuse[:] = self._light * row.light[0]
        model.vis.headlight.ambient[:] = self._ambient * row.light[0]
        data.cam_xpos[0] = row.camera[0, :3, 3]
        data.cam_xmat[0] = (row.camera[0, :3, :3] @ np.diag([1.0, -1.0, -1.0])).ravel()
        self._repaint(row.part_repaint[0])

    def _repaint(self, weights: Floats) -> None:
        """Textures belong to the model; upload only those whose weight has changed."""
        for index in np.flatnonzero(weights != self._repainted):
            part, weight = self._parts[index], float(weights[index])
            own = paint_part(part).astype(np.float64)
            other = paint_part(part, is_repainted=True)
            mixed = np.rint(own * (1 - weight) + other * weight).astype(np.uint8)
            texture = int(
                self._model.mat_texid[self._model.geom_matid[index], self._mujoco.mjtTextureRole.mjTEXROLE_RGB]
            )
            start = int(self._model.tex_adr[texture])
            self._model.tex_data[start : start + mixed.size] = mixed.ravel()
            self._gl.make_current()
            self._mujoco.mjr_uploadTexture(self._model, self._context, texture)
        self._repainted = weights.copy()

    def _show(self, is_shown: NDArray[np.bool_]) -> None:
        self._model.geom_group[:] = np.where(is_shown[self._owners], SHOWN, HIDDEN)
        everything = self._mujoco.mjtCatBit.mjCAT_ALL.value
        self._mujoco.mjv_updateScene(
            self._model, self._data, self._options, None, self._camera, everything, self._drawn
        )

    def _flags(self, *, is_truth: bool) -> None:
        flags = self._mujoco.mjtRndFlag
        self._drawn.flags[flags.mjRND_SEGMENT] = is_truth
        self._drawn.flags[flags.mjRND_IDCOLOR] = is_truth
        self._drawn.flags[flags.mjRND_SHADOW] = not is_truth
        self._drawn.flags[flags.mjRND_SKYBOX] = not is_truth
        self._gl.make_current()
        self._mujoco.mjr_render(self._rectangle, self._drawn, self._context)

    def _picture(self) -> Pixels:
        self._flags(is_truth=False)
        pixels = np.empty((self._size[1], self._size[0], 3), np.uint8)
        self._mujoco.mjr_readPixels(pixels, None, self._rectangle, self._context)
        return pixels[::-1]

    def _truth(self, is_there: NDArray[np.bool_]) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
        """Depth and instances from one rendering pass."""
        self._show(is_there)
        self._flags(is_truth=True)
        codes = np.empty((self._size[1], self._size[0], 3), np.uint8)
        raw = np.empty((self._size[1], self._size[0]), np.float32)
        self._mujoco.mjr_readPixels(codes, raw, self._rectangle, self._context)
        drawn = [self._drawn.geoms[index] for index in range(self._drawn.ngeom)]
        thing_of_code = np.zeros(len(drawn) + 1, np.uint8)
        for geom in drawn:
            if geom.segid >= 0:
                thing_of_code[geom.segid + 1] = self._owners[geom.objid] + 1
        code = codes[..., 0].astype(np.int64) + codes[..., 1].astype(np.int64) * 256
        instances = thing_of_code[code]
        near, far = NEAR_METRES, FAR_METRES
        # Reversed z: 1 at the near plane, 0 at infinity's stand-in.
        depth = near * far / (near + raw.astype(np.float64) * (far - near))
        depth[instances == 0] = 0.0
        return depth[::-1].astype(np.float32), instances[::-1].copy()


def intrinsics(width: int, height: int) -> Floats:
    """[3, 3] intrinsics of every frame; pixel coordinates start at the corner of the image."""
    focal = height / 2 / np.tan(np.radians(VERTICAL_FIELD_DEGREES) / 2)
    return np.array([[focal, 0, width / 2], [0, focal, height / 2], [0, 0, 1]])


def _add_texture(spec: Any, name: str, kind: Any, pixels: Pixels) -> None:
    texture = spec.add_texture(name=name, type=kind, width=pixels.shape[1], height=pixels.shape[0], nchannel=3)
    texture.data = pixels.tobytes()


def _compile(mujoco: Any, scene: Scene, width: int, height: int, quality: Quality) -> Any:
    spec = mujoco.MjSpec()
    spec.visual.global_.offwidth, spec.visual.global_.offheight = width, height
    spec.visual.quality.offsamples, spec.visual.quality.shadowsize = quality.samples, quality.shadow_texels
    spec.stat.extent, spec.stat.center = 1.0, [0.0, 0.0, 0.0]
    spec.visual.map.znear, spec.visual.map.zfar = NEAR_METRES, FAR_METRES
    spec.visual.map.shadowclip = scene.extent
    spec.visual.headlight.diffuse, spec.visual.headlight.specular = [0.0] * 3, [0.0] * 3
    spec.visual.headlight.ambient = list(scene.light.ambient)
    kinds = mujoco.mjtTexture
    if scene.light.sky and quality.is_painted:
        _add_texture(spec, "sky", kinds.mjTEXTURE_SKYBOX, paint_sky(scene.light))
    for index, part in enumerate(scene.parts):
        kind = kinds.mjTEXTURE_2D if part.shape == "panel" else kinds.mjTEXTURE_CUBE
        _add_texture(spec, f"texture{index}", kind, paint_part(part) if quality.is_painted else UNPAINTED)
        material = spec.add_material(name=f"material{index}", specular=0.0, emission=part.surface.emission)
        material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = f"texture{index}"
        spec.worldbody.add_geom(
            type=geom_type(mujoco, part.shape),
            size=half_sizes(part.shape, part.size),
            material=f"material{index}",
            contype=0,
            conaffinity=0,
        )
    lamp = scene.light.lamp
    spec.worldbody.add_light(
        pos=lamp or [-axis * scene.extent for axis in scene.light.direction],
        dir=list(scene.light.direction),
        type=mujoco.mjtLightType.mjLIGHT_SPOT if lamp else mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        cutoff=LAMP_CUTOFF_DEGREES,
        exponent=0.0,
        diffuse=list(scene.light.colour),
        specular=[0.0] * 3,
        ambient=[0.0] * 3,
        castshadow=True,
    )
    spec.worldbody.add_camera(name="camera", fovy=VERTICAL_FIELD_DEGREES)
    return spec.compile()
