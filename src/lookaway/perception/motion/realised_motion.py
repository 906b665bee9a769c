"""How much the camera and the scene really move, for gates: a video in which nothing moves tests no memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from lookaway.core import Extractor, Feature, Features, Floats, FramelessExtractor, Mask, Rollout, Timeline
from lookaway.perception.motion.dis_flow import DisFlow


@dataclass(frozen=True, slots=True)
class RealisedMotion(FramelessExtractor):
    """Optical flow, split into the motion of the picture as a whole and what moves against it.

    The motion of the whole is the eight-parameter field of a plane or of a turning camera, fitted to all trusted
    cells so that moving things count little. A camera that travels past things at several depths leaves parallax,
    which counts as motion of the scene here.
    """

    name: ClassVar[str] = "realised_motion"
    constants: ClassVar[tuple[str, ...]] = (f"{__name__}:PARAMETERS",)
    version: ClassVar[int] = 2
    of_video: ClassVar[bool] = True
    software: ClassVar[tuple[str, ...]] = ("numpy",)
    seconds_per_frame: ClassVar[float] = 0.002
    bytes_per_frame: ClassVar[float] = 36.0
    arrays: ClassVar[Mapping[str, str]] = {
        "camera": "float32 [steps]: speed of the picture as a whole, in frame heights a second",
        "scene": "float32 [steps]: mean speed against it, in frame heights a second",
        "moving": "float32 [steps]: part of the trusted picture that moves against it",
        "trusted": "float32 [steps]: part of the picture whose flow is trusted; where it is 0, so is all else",
        "shift": "float32 [steps, 2]: mean shift of the picture as a whole to the right and down, in frame heights",
        "zoom": "float32 [steps]: growth of the picture as a whole, as a share of its size",
        "roll": "float32 [steps]: turn of the picture as a whole, clockwise, in radians",
        "seconds": "float64 [steps]: from the earlier to the later frame",
        "frame_indices": "int64 [frames]: the frames, one more than steps",
        "size": "int64 [2]: width and height of the frames in which motion was measured",
    }

    flow: Annotated[Extractor, "how the picture moves"] = DisFlow()
    still_pixels: Annotated[float, "motion against the whole, in pixels of a step, that is taken for noise"] = 0.5
    rounds: Annotated[int, "rounds of reweighting; the fit hardly changes after five"] = 10

    @property
    def needs(self) -> Mapping[str, Extractor]:
        """Optical flow."""
        return {"flow": self.flow}

    def read(self, rollout: Rollout, timeline: Timeline, features: Features) -> Feature:
        """Split the flow of each step."""
        flow = features["flow"]
        height = float(flow["size"][1])
        steps = [
            self._split_step(cells.astype(np.float64), trusted, height)
            for cells, trusted in zip(flow["flow"], flow["is_trusted"], strict=True)
        ]
        speed = 1 / (height * flow["seconds"])
        columns = {name: np.array([getattr(step, name) for step in steps], np.float32) for name in _Step._fields}
        return Feature(
            {
                **columns,
                "camera": (columns["camera"] * speed).astype(np.float32),
                "scene": (columns["scene"] * speed).astype(np.float32),
                "seconds": flow["seconds"],
                "frame_indices": flow["frame_indices"],
                "size": flow["size"],
            }
        )

    def _split_step(self, flow: Floats, trusted: Mask, height: float) -> _Step:
        if trusted.sum() < 2 * PARAMETERS:
            return _Step(0.0, 0.0, 0.0, 0.0, (0.0, 0.0), 0.0, 0.0)
        whole = fit_whole(flow, trusted, self.rounds)
        against = np.linalg.norm(flow - whole, axis=-1)[trusted]
        moving = against > self.still_pixels
        right, down = whole.mean(axis=(0, 1)) / height
        zoom, roll = _zoom_and_roll(whole, height)
        return _Step(
            camera=float(np.linalg.norm(whole, axis=-1).mean()),
            scene=float(np.where(moving, against, 0).mean()),
            moving=float(moving.mean()),
            trusted=float(trusted.mean()),
            shift=(float(right), float(down)),
            zoom=zoom,
            roll=roll,
        )


class _Step(NamedTuple):
    """One step; `camera` and `scene` in pixels."""

    camera: float
    scene: float
    moving: float
    trusted: float
    shift: tuple[float, float]
    zoom: float
    roll: float


PARAMETERS = 8


def fit_whole(flow: Floats, trusted: Mask, rounds: int) -> Floats:
    """The motion [rows, columns, 2] of the picture as a whole, by iteratively reweighted least squares."""
    rows, columns = trusted.shape
    y, x = _from_middle(rows, columns) / (max(rows, columns) / 2)
    one, zero = np.ones_like(x), np.zeros_like(x)
    right = np.stack([one, x, y, zero, zero, zero, x * x, x * y], axis=-1)
    down = np.stack([zero, zero, zero, one, x, y, x * y, y * y], axis=-1)
    design = np.stack([right, down], axis=2)
    seen, moved = design[trusted].reshape(-1, PARAMETERS), flow[trusted].reshape(-1)
    weights = np.ones(len(moved) // 2)
    for _ in range(rounds):
        root = np.sqrt(np.repeat(weights, 2))
        found = np.linalg.lstsq(seen * root[:, None], moved * root, rcond=None)[0]
        errors = np.linalg.norm((moved - seen @ found).reshape(-1, 2), axis=1)
        spread = max(1.5 * float(np.median(errors)), 0.1)
        weights = 1 / (1 + (errors / spread) ** 2) ** 2
    return np.asarray(design @ found)


def _zoom_and_roll(whole: Floats, height: float) -> tuple[float, float]:
    """How much the picture grows, as a share of its size, and turns, in radians; both small.

    A picture that is sheared or stretched along one axis, as ground that slides by, does neither.
    """
    rows, columns = whole.shape[:2]
    y, x = _from_middle(rows, columns) * (height / rows)
    right, down = whole[..., 0], whole[..., 1]
    by_x, by_y = float((x**2).sum()), float((y**2).sum())
    zoom = _common((right * x).sum() / by_x, (down * y).sum() / by_y)
    return zoom, _common((down * x).sum() / by_x, -(right * y).sum() / by_y)


def _common(one: float, other: float) -> float:
    """What two numbers have in common: the smaller, or 0 where their signs differ."""
    return float(np.sign(one) * min(abs(one), abs(other))) if one * other > 0 else 0.0


def _from_middle(rows: int, columns: int) -> Floats:
    """[2, rows, columns] places of cells down and to the right of the middle, in cells."""
    return np.asarray(np.indices((rows, columns)) - np.array([rows - 1, columns - 1]).reshape(2, 1, 1) / 2)
