"""Pairs of frames of a camera that is known to come back: by its action, or at a frame that the protocol names."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

import numpy as np

from lookaway.core import (
    Abstention,
    Features,
    Floats,
    Pairs,
    Reason,
    Rollout,
    Timeline,
    Trajectory,
    Unmeasurable,
    angles_degrees,
)
from lookaway.core.frames import segment_bounds

OPPOSITES: Final = {"W": "S", "A": "D", "left": "right", "up": "down"}
OPPOSITES_BOTH_WAYS: Final = {**OPPOSITES, **{back: out for out, back in OPPOSITES.items()}}
KEYS: Final = {
    **{key.lower(): key for key in OPPOSITES_BOTH_WAYS},
    "forward": "W",
    "backward": "S",
    "l": "left",
    "r": "right",
    "u": "up",
}
WAITS: Final = frozenset({"static", "wait", "hold", "stay"})
MOVES: Final = {"W": (0, 0, 1), "S": (0, 0, -1), "A": (-1, 0, 0), "D": (1, 0, 0)}
TURNS: Final = {"left": (0, -1, 0), "right": (0, 1, 0), "up": (1, 0, 0), "down": (-1, 0, 0)}
TURN_RADIANS: Final = 0.7
"""Any angle that no few of make a whole turn: whether a path is closed must not depend on how far a key turns."""


def keys_of(action: str | None) -> tuple[str, ...] | None:
    """The keys of an action, one after the other, without waits; `None` for an action that is not known.

    >>> keys_of("left_90_then_wait_then_right_90"), keys_of("W,left,S"), keys_of("WSW")
    (('left', 'right'), ('W', 'left', 'S'), ('W', 'S', 'W'))
    >>> keys_of("W+A,S"), keys_of("moonwalk")
    (('W+A', 'S'), None)
    """
    if not action:
        return None
    is_letters = re.fullmatch(r"[WASDLRU]{2,}", action) is not None
    words = list(action) if is_letters else re.split(r"_then_|[,;\s]+", action.strip())
    names = [re.sub(r"_\d+$", "", word.lower()) for word in words]
    combinations = [[KEYS.get(part) for part in name.split("+")] for name in names if name not in WAITS]
    if not combinations or any(None in keys for keys in combinations):
        return None
    return tuple("+".join(key for key in keys if key) for keys in combinations)


def is_published_loop(keys: Sequence[str]) -> bool:
    """WBench's own rule: the first key and the last, and so on inwards, are opposites; the middle one is free.

    >>> is_published_loop(["W", "A", "S"]), is_published_loop(["W+A", "S"])
    (True, False)
    """
    half = len(keys) // 2
    pairs = zip(keys[:half], list(reversed(keys))[:half], strict=True)
    return half > 0 and all(OPPOSITES_BOTH_WAYS.get(first) == second for first, second in pairs)


def is_closed(keys: Sequence[str]) -> bool:
    """Whether keys of equal length bring the camera back to where it was, all motions composed.

    >>> is_closed(["W", "A", "S"]), is_closed(["left", "W", "S", "right"]), is_closed(["W", "left", "S", "right"])
    (False, True, False)
    """
    pose = np.eye(4)
    for combination in keys:
        for key in combination.split("+"):
            step = np.eye(4)
            step[:3, 3] = MOVES.get(key, (0, 0, 0))
            step[:3, :3] = _turn(TURNS.get(key, (0, 0, 0)))
            pose = pose @ step
    return len(keys) > 1 and bool(np.allclose(pose, np.eye(4), atol=1e-9))


def _turn(axis: Sequence[float]) -> Floats:
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(np.eye(3) + math.sin(TURN_RADIANS) * cross + (1 - math.cos(TURN_RADIANS)) * cross @ cross)


@dataclass(frozen=True, slots=True)
class AnchorPairs:
    """The first frame with the one at which the camera is back.

    With a `return_frame`, that frame of a clip of `clip_frames`; in clips of other lengths the one at the same part of
    the clip, unless `is_exact`. Without one, the last frame.
    """

    version: ClassVar[int] = 1

    return_frame: Annotated[int | None, "frame at which the camera is back; `None` is the last one"] = None
    clip_frames: Annotated[int, "frames of a clip in which that frame is counted"] = 81
    is_exact: Annotated[bool, "takes the frame of that number, however long the clip is"] = False
    needs_loop: Annotated[bool, "refuses cases whose action is known and does not lead back"] = False

    def declines(self, rollout: Rollout) -> Abstention | None:
        """The action must lead back, where it is known."""
        keys = keys_of(rollout.case.action)
        if not self.needs_loop or keys is None or is_closed(keys):
            return None
        return Abstention(Reason.NOT_APPLICABLE, f"the action {rollout.case.action!r} does not lead back to its start.")

    def choose(self, rollout: Rollout, timeline: Timeline, features: Features) -> Pairs:
        """The pair, or an `Unmeasurable` where there is none."""
        last = timeline.frame_count - 1
        second = last if self.return_frame is None else self.return_frame
        if self.return_frame is not None and not self.is_exact:
            second = round(self.return_frame / (self.clip_frames - 1) * last)
        if not 0 < second <= last:
            raise Unmeasurable(Reason.TOO_SHORT, f"the camera is back at frame {second}, the last one is {last}.")
        return Pairs(np.array([[0, second]]), "first frame and return")


@dataclass(frozen=True, slots=True)
class ReturnPairs:
    """The first frame with evenly spaced frames up to the one at which the camera is back; the last pair is the return.

    The return is the posed frame of the last key whose camera is nearest to the first: by rotation alone, as WBench
    has it, or also by distance in units of the path's extent.
    """

    version: ClassVar[int] = 1

    samples: Annotated[int, "evenly spaced frames from the first to the return, both included"] = 10
    by_rotation: Annotated[bool, "ignores where the camera is, as WBench's own code does"] = False
    published_loops: Annotated[bool, "leaves the middle key free, as WBench's own code does"] = False
    degrees_per_extent: Annotated[float, "rotation that counts as much as the path's whole extent"] = 180.0
    negligible_extent: Annotated[float, "a path shorter than this part of the median depth is jitter, not motion"] = (
        0.02
    )

    def declines(self, rollout: Rollout) -> Abstention | None:
        """The action must be known, and lead back."""
        action = rollout.case.action
        keys = keys_of(action)
        if keys is None:
            return Abstention(Reason.MISSING_INPUT, f"the case names no action of known keys, found {action!r}.")
        if not (is_published_loop if self.published_loops else is_closed)(keys):
            return Abstention(Reason.NOT_APPLICABLE, f"the action {action!r} does not lead back to its start.")
        return None

    def choose(self, rollout: Rollout, timeline: Timeline, features: Features) -> Pairs:
        """Pairs of the first frame, or an `Unmeasurable` where there are none."""
        trajectory = Trajectory.from_feature(features["poses"])
        turns = len(keys_of(rollout.case.action) or ())
        back = self.return_frame(trajectory, turns)
        samples = np.linspace(0, back, self.samples).astype(np.int64)
        later = np.unique(samples[samples > 0])
        return Pairs(np.stack([np.zeros_like(later), later], axis=1), "nearest pose in the last turn")

    def return_frame(self, trajectory: Trajectory, turns: int) -> int:
        """The frame at which the camera is back."""
        start, _ = segment_bounds(len(trajectory.frame_indices), max(turns, 1))[-1]
        apart = angles_degrees(trajectory.rotations[start:], trajectory.rotations[:1])
        if not self.by_rotation:
            centres = trajectory.relative_centres(self.negligible_extent)
            apart = apart + self.degrees_per_extent * np.linalg.norm(centres[start:], axis=1)
        if not apart.size or (back := int(trajectory.frame_indices[start + int(np.argmin(apart))])) < 1:
            raise Unmeasurable(Reason.TOO_SHORT, "the last turn holds no posed frame.")
        return back
