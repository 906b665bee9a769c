"""Camera paths: visible, exit, wait, re-enter, visible again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lookaway.core import Floats, UnknownName
from lookaway.world.turns import look

VERTICAL_FIELD_DEGREES = 42.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewpoint:
    """Where a camera starts, and the target that it must lose sight of."""

    distance: float
    eye_height: float
    target_height: float
    """Height of the target's centre above the ground."""
    aspect: float
    """Width of the image divided by its height."""

    @property
    def half_width_degrees(self) -> float:
        """Half of the horizontal field of view."""
        return float(np.degrees(np.arctan(self.aspect * np.tan(np.radians(VERTICAL_FIELD_DEGREES / 2)))))


Place = tuple[float, float, float, float, float]
"""Position x, y, z, then yaw and pitch in degrees, relative to the first pose."""
Clock = Callable[[Floats, float, float], Floats]
"""Fraction of the path covered at each time, given the clip length and the wait, all in seconds."""


def out_and_back(times: Floats, seconds: float, wait: float) -> Floats:
    """From 0 to 1 and back to 0. Before, out, back and after take equal parts of what the wait leaves of the clip."""
    out, back = _halves(times, seconds, wait)
    return out - back


def once_around(times: Floats, seconds: float, wait: float) -> Floats:
    """From 0 to 1 and, after the wait, on to 2, for a path that closes a loop."""
    out, back = _halves(times, seconds, wait)
    return out + back


def from_first_to_last(times: Floats, seconds: float, wait: float) -> Floats:
    """From 0 at the first frame to 1 at the last one, without a wait."""
    return np.asarray(np.clip(times / (seconds - (times[1] - times[0])), 0, 1))


def _halves(times: Floats, seconds: float, wait: float) -> tuple[Floats, Floats]:
    quarter = (seconds - wait) / 4
    return _eased((times - quarter) / quarter), _eased((times - 2 * quarter - wait) / quarter)


def _eased(progress: Floats) -> Floats:
    x = np.clip(progress, 0, 1)
    return np.asarray(x * x * x * (x * (6 * x - 15) + 10))


@dataclass(frozen=True, slots=True, kw_only=True)
class CameraPath:
    """A named path that looks away and returns."""

    name: str
    action: str
    """In the protocols' notation: `left_then_right`."""
    words: str
    """As in a caption: `the camera turns right by 60 degrees and comes back`."""
    side: float
    """Initial position of the target in the frame: -1 left third, 0 centre, 1 right third."""
    looks_away: bool
    reach: Callable[[Viewpoint, float], Place]
    """Pose relative to the first one at a fraction (0 to 1) of the way out."""
    clock: Clock = out_and_back
    travel: float = 1.0
    """Factor of a moving target's travel, towards the middle of the view; negative is away from it."""

    @property
    def inwards(self) -> float:
        """Direction along x from the target towards the middle of the first view."""
        return -1.0 if self.side > 0 else 1.0

    def cameras(self, view: Viewpoint, times: Floats, seconds: float, wait: float) -> Floats:
        """[N, 4, 4] camera to world at these times of a clip."""
        gone = self.clock(times, seconds, wait)
        third = self.side * view.half_width_degrees * 0.36
        pitch = float(np.degrees(np.arctan2(view.target_height - view.eye_height, view.distance))) * 0.75
        poses = []
        for part in gone:
            x, y, z, yaw, tilt = self.reach(view, float(part))
            poses.append(look((x, y - view.distance, z + view.eye_height), yaw + third, pitch + tilt))
        return np.stack(poses)


def _yaw(degrees: float) -> Callable[[Viewpoint, float], Place]:
    return lambda view, part: (0, 0, 0, degrees * part, 0)


def _pan(direction: float) -> Callable[[Viewpoint, float], Place]:
    def reach(view: Viewpoint, part: float) -> Place:
        # From a third to beyond the side of the picture, even for a target that has moved to the middle meanwhile.
        return direction * part * 1.5 * view.distance * np.tan(np.radians(view.half_width_degrees)), 0, 0, 0, 0

    return reach


def _tilt(degrees: float) -> Callable[[Viewpoint, float], Place]:
    return lambda view, part: (0, 0, 0, 0, degrees * part)


def _forward(view: Viewpoint, part: float) -> Place:
    return 0, part * view.distance * 0.94, 0, 0, 0


def _orbit(degrees: float) -> Callable[[Viewpoint, float], Place]:
    def reach(view: Viewpoint, part: float) -> Place:
        angle = np.radians(degrees * part)
        # Around the target, at (0, distance) from the first place, always turned towards it.
        return view.distance * np.sin(angle), view.distance * (1 - np.cos(angle)), 0, degrees * part, 0

    return reach


def _sideways(way: str, other: str, sign: int) -> list[CameraPath]:
    turns = [
        CameraPath(
            name=f"yaw_{way}_{degrees}",
            action=f"{way}_then_{other}",
            words=f"the camera turns {way} by {degrees} degrees and comes back",
            side=sign,
            looks_away=True,
            reach=_yaw(sign * degrees),
            # So small a turn loses only a target that does not follow it.
            travel=-0.6 if degrees == 30 else 1.0,
        )
        for degrees in (30, 60, 120)
    ]
    pan = CameraPath(
        name=f"pan_{way}",
        action=f"pan_{way}_then_{other}",
        words=f"the camera moves sideways to the {way} and comes back",
        side=sign,
        looks_away=True,
        reach=_pan(-sign),
    )
    orbit = CameraPath(
        name=f"orbit_{way}",
        action=f"orbit_{way}_then_{other}",
        words=f"the camera goes round to the {way} and comes back",
        side=0,
        looks_away=False,
        reach=_orbit(-sign * 40),
    )
    return [*turns, pan, orbit]


def _upwards(way: str, other: str, sign: int) -> CameraPath:
    return CameraPath(
        name=f"tilt_{way}",
        action=f"tilt_{way}_then_{other}",
        words=f"the camera tilts {way} and comes back",
        side=0,
        looks_away=True,
        reach=_tilt(sign * 48),
    )


_STATIC = CameraPath(
    name="static", action="static", words="the camera stands still", side=0, looks_away=False, reach=_yaw(0)
)
_FAR = (
    CameraPath(
        name="forward_backward",
        action="forward_then_backward",
        words="the camera moves forward and back",
        side=-1,
        looks_away=True,
        reach=_forward,
    ),
    CameraPath(
        name="u_turn",
        action="turn_around_then_back",
        words="the camera turns around and comes back",
        side=-1,
        looks_away=True,
        reach=_yaw(-180),
    ),
    CameraPath(
        name="full_turn",
        action="turn_around_once",
        words="the camera turns once all the way around",
        side=-1,
        looks_away=True,
        reach=_yaw(-180),
        clock=once_around,
    ),
)
CAMERAS = {
    path.name: path
    for path in (
        _STATIC,
        *_sideways("left", "right", 1),
        *_sideways("right", "left", -1),
        _upwards("up", "down", 1),
        _upwards("down", "up", -1),
        *_FAR,
    )
}


def camera_path(name: str) -> CameraPath:
    """The path of this name."""
    if name not in CAMERAS:
        raise UnknownName("camera path", name, CAMERAS)
    return CAMERAS[name]
