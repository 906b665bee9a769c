"""Camera paths from a file: keyframes relative to the first camera."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.interpolate import PchipInterpolator

from lookaway.core import Json, UserError, digest
from lookaway.io.files import read_json
from lookaway.world.cameras import CameraPath, Place, Viewpoint, from_first_to_last

MAX_KEYFRAMES = 1000
FARTHEST_METRES, MAX_DEGREES = 1000.0, 3600.0
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyframe:
    """Camera pose at one time, relative to the first pose."""

    time: float
    """0 is the first frame, 1 the last."""
    position: tuple[float, float, float]
    """Metres to the right, forward along the ground, and up."""
    yaw: float
    """Degrees to the left."""
    pitch: float
    """Degrees upwards."""

    @property
    def place(self) -> Place:
        """As the tuple that a camera path uses."""
        return (*self.position, self.yaw, self.pitch)


@dataclass(frozen=True, slots=True, kw_only=True)
class FreePath:
    """A smooth camera path through keyframes, without overshoot."""

    name: str
    """Lower-case letters, digits and underscores."""
    action: str
    """In the protocols' notation: `left_then_right`."""
    words: str
    """As in a caption: `the camera looks behind the screen`."""
    looks_away: bool
    """Whether the target must go out of sight."""
    keyframes: tuple[Keyframe, ...]

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise UserError(
                f"the path is named {self.name!r}, expected at most 40 lower-case letters, digits and underscores, "
                "a letter first."
            )
        if not self.action or not self.words:
            raise UserError(f"the path {self.name} has an empty `action` or `words`, expected some text.")
        if not 2 <= len(self.keyframes) <= MAX_KEYFRAMES:
            raise UserError(f"the path {self.name} has {len(self.keyframes)} keyframes, expected 2 to {MAX_KEYFRAMES}.")
        self._check_keyframes()

    def _check_keyframes(self) -> None:
        times = [keyframe.time for keyframe in self.keyframes]
        if times[0] != 0 or times[-1] != 1 or any(b <= a for a, b in pairwise(times)):
            raise UserError(f"the keyframes of {self.name} are at times {times}, expected a rise from 0 to 1.")
        if any(self.keyframes[0].place):
            raise UserError(
                f"the path {self.name} starts at {self.keyframes[0].place}, expected zeros: it is relative to the "
                "first camera."
            )
        for keyframe in self.keyframes:
            is_near = all(abs(metres) <= FARTHEST_METRES for metres in keyframe.position)
            if not is_near or not max(abs(keyframe.yaw), abs(keyframe.pitch)) <= MAX_DEGREES:
                raise UserError(
                    f"the path {self.name} goes to {keyframe.place}, expected at most {FARTHEST_METRES:g} metres and "
                    f"{MAX_DEGREES:g} degrees."
                )

    @property
    def id(self) -> str:
        """Its name and a hash of its content, to distinguish paths of one name."""
        return f"{self.name}-{digest(asdict(self))[:8]}"

    @property
    def camera_path(self) -> CameraPath:
        """As a `CameraPath`; the target is in the middle of the first view."""
        curve = PchipInterpolator(
            [keyframe.time for keyframe in self.keyframes], [keyframe.place for keyframe in self.keyframes]
        )

        def reach(view: Viewpoint, part: float) -> Place:
            x, y, z, yaw, pitch = np.asarray(curve(part)).tolist()
            return x, y, z, yaw, pitch

        return CameraPath(
            name=self.id,
            action=self.action,
            words=self.words,
            side=0.0,
            looks_away=self.looks_away,
            reach=reach,
            clock=from_first_to_last,
        )


def read_free_path(path: Path) -> FreePath:
    """From JSON: `name`, `action`, `words`, `looks_away`, and `keyframes` of `time`, `position`, `yaw` and `pitch`."""
    where = str(path)
    entries = _entries(read_json(path), [field.name for field in fields(FreePath)], where)
    for key in ("name", "action", "words"):
        if not isinstance(entries[key], str):
            raise UserError(f"{where}: {key} is {entries[key]!r}, expected text.")
    if not isinstance(entries["looks_away"], bool):
        raise UserError(f"{where}: looks_away is {entries['looks_away']!r}, expected true or false.")
    if not isinstance(entries["keyframes"], list):
        raise UserError(f"{where}: keyframes is {entries['keyframes']!r}, expected a list.")
    frames = tuple(_keyframe(entry, f"{where}: keyframe {n}") for n, entry in enumerate(entries["keyframes"]))
    try:
        return FreePath(**{**entries, "keyframes": frames})
    except UserError as error:
        raise UserError(f"{where}: {error}") from error


def _keyframe(value: Json, where: str) -> Keyframe:
    entries = _entries(value, [field.name for field in fields(Keyframe)], where)
    position = entries["position"]
    if not isinstance(position, list) or len(position) != 3:
        raise UserError(f"{where}: position is {position!r}, expected a list of three numbers.")
    x, y, z = (_number(axis, f"{where}: position") for axis in position)
    time, yaw, pitch = (_number(entries[key], f"{where}: {key}") for key in ("time", "yaw", "pitch"))
    return Keyframe(time=time, position=(x, y, z), yaw=yaw, pitch=pitch)


def _entries(value: Json, expected: list[str], where: str) -> Mapping[str, Json]:
    if not isinstance(value, dict) or set(value) != set(expected):
        found = sorted(value) if isinstance(value, dict) else type(value).__name__
        raise UserError(f"{where}: found {found}, expected exactly the keys {sorted(expected)}.")
    return value


def _number(value: Json, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError(f"{where} is {value!r}, expected a number.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise UserError(f"{where} is too large.")
    return number + 0.0
