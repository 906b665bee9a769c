"""The box that a track begins with."""

from __future__ import annotations

import math

import numpy as np

from lookaway.core import Feature, Floats, Reason, Rollout, Timeline, Unmeasurable


def box_of_case(rollout: Rollout, timeline: Timeline) -> Floats:
    """Left, top, right and bottom of the case's target in the first frame, as fractions of it."""
    target = rollout.case.target
    if target is None or target.box is None:
        raise Unmeasurable(Reason.NO_TARGET, "the case has no box of a target, and tracking begins with one.")
    x, y, width, height = target.box
    if max(target.box) > 1:
        x, width, y, height = x / timeline.width, width / timeline.width, y / timeline.height, height / timeline.height
    is_in_frame = 0 <= x <= 1 and 0 <= y <= 1
    if not is_in_frame or not (0 < width < math.inf and 0 < height < math.inf):
        raise Unmeasurable(
            Reason.INVALID_INPUT,
            f"the target's box is {target.box} in frames of {timeline.width} x {timeline.height}; its middle must lie "
            "in the frame, and its width and height be positive. Give centre x, centre y, width, height.",
        )
    corners = np.array([x - width / 2, y - height / 2, x + width / 2, y + height / 2], np.float32)
    return corners.clip(0, 1)


def best_box(boxes: Feature, frame: int, source: str) -> Floats:
    """The box of the highest score in a frame, as fractions of it."""
    positions = np.flatnonzero(boxes["frame_indices"] == frame)
    if not len(positions):
        raise Unmeasurable(
            Reason.NO_TARGET, f"{source} found no box in frame {frame}, the first that is looked at: nothing to track."
        )
    best: Floats = boxes["boxes"][positions[boxes["scores"][positions].argmax()]]
    return best
