"""Pairs of frames at equal distance from a reversal, measured along the motion that the picture really shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

import numpy as np

from lookaway.core import (
    Abstention,
    Feature,
    Features,
    Floats,
    Pairs,
    Reason,
    Rollout,
    Timeline,
    Unmeasurable,
)
from lookaway.metrics.known_returns import OPPOSITES_BOTH_WAYS, keys_of

SIGNALS: Final = {"W": ("radial", 1), "S": ("radial", -1), "A": ("across", 1), "D": ("across", -1)} | {
    "left": ("across", 1),
    "right": ("across", -1),
}
"""Which mean of the flow a key moves, and which way."""
LOWER_ENDS: Final = 200
"""Depths that are tried for the pair nearest to the reversal."""
NOTHING: Final = 1e-6
"""Pixels; a sum of flow below it has no direction."""


@dataclass(frozen=True, slots=True)
class FlowSignals:
    """Means of the optical flow over the picture, one for each step, in pixels of a picture of one width."""

    across: Floats
    """To the right."""
    radial: Floats
    """Away from the middle."""

    @classmethod
    def from_feature(cls, feature: Feature, width: float, *, trusted_only: bool) -> FlowSignals:
        """From flow in cells [steps, rows, columns, 2], scaled to a picture of this width."""
        flow = np.asarray(feature["flow"], np.float64)
        rows, columns = flow.shape[1:3]
        y, x = np.indices((rows, columns)) - np.array([rows - 1, columns - 1]).reshape(2, 1, 1) / 2
        length = np.maximum(np.hypot(x, y), NOTHING)
        outwards = (flow[..., 0] * x + flow[..., 1] * y) / length
        weights = feature["is_trusted"].astype(np.float64) if trusted_only else np.ones(flow.shape[:3])
        total = np.maximum(weights.sum(axis=(1, 2)), 1.0)
        scale = width / float(feature["size"][0])
        across, radial = ((part * weights).sum(axis=(1, 2)) / total * scale for part in (flow[..., 0], outwards))
        return cls(across, radial)

    def signed(self, key: str) -> Floats:
        """Motion in the direction of a key."""
        name, sign = SIGNALS[key]
        return np.asarray(sign * (self.across if name == "across" else self.radial))

    def scaled(self, factor: float) -> FlowSignals:
        """All motion times a factor."""
        return FlowSignals(self.across * factor, self.radial * factor)


@dataclass(frozen=True, slots=True)
class Reversal:
    """A change to the opposite key: the gate that it does not pass, if any, and its pairs."""

    step: int
    direction: tuple[float, float]
    response: int | None
    gain: float
    outward_arc: float
    closed_by: str | None
    pairs: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class ArcPairs:
    """Frames at equal distance along the way out and the way back of each reversal, for reversals that pass four gates.

    Direction: the motion of both segments goes the way of their keys. Response: it turns back at some frame after the
    key does. Gain: neither segment moves less than `min_gain` of the other. Magnitude: a turn is wide enough. Keys
    have equal shares of the clip.
    """

    version: ClassVar[int] = 1

    most: Annotated[int, "pairs of a reversal"] = 10
    min_direction: Annotated[float, "net motion along the key over all motion, of either segment"] = 0.3
    min_response: Annotated[float, "part of the mean motion back that counts as a response"] = 0.2
    response_steps: Annotated[int, "steps over which a response is averaged"] = 3
    min_gain: Annotated[float, "mean motion of the slower segment over that of the faster one"] = 0.5
    min_turn_degrees: Annotated[float, "turn of the way out"] = 15.0
    nearest_degrees: Annotated[float, "turn at which the pair nearest to the reversal may lie"] = 5.0
    max_residual_degrees: Annotated[float, "by which either frame may miss its place along a turn"] = 3.0
    max_residual_pixels: Annotated[float, "by which either frame may miss its place along a move"] = 30.0
    min_span_seconds: Annotated[float, "between the frames of a pair"] = 2.0
    field_of_view: Annotated[float, "degrees across the picture"] = 70.0
    flow_width: Annotated[int, "width in pixels of the picture in which motion is counted"] = 640
    published_units: Annotated[
        bool, "counts all motion twice and turns by the width of the file, as WorldMark's own code does"
    ] = False

    def declines(self, rollout: Rollout) -> Abstention | None:
        """The action must be known, and hold a reversal."""
        keys = keys_of(rollout.case.action)
        if keys is None:
            message = f"the case names no action of known keys, found {rollout.case.action!r}."
            return Abstention(Reason.MISSING_INPUT, message)
        if any(key not in SIGNALS for key in keys) or not any(_reversals(keys)):
            return Abstention(Reason.NOT_APPLICABLE, f"the action {rollout.case.action!r} holds no plain reversal.")
        return None

    def choose(self, rollout: Rollout, timeline: Timeline, features: Features) -> Pairs:
        """Pairs of frames, or an `Unmeasurable` where there are none."""
        flow, keys = features["flow"], keys_of(rollout.case.action) or ()
        signals = FlowSignals.from_feature(flow, self.flow_width, trusted_only=not self.published_units)
        frames, width = flow["frame_indices"], float(self.flow_width)
        if len(signals.across) < 2 * len(keys):
            message = f"{len(signals.across)} steps of flow for {len(keys)} keys, at least two of each are needed."
            raise Unmeasurable(Reason.TOO_SHORT, message)
        if self.published_units:  # flow from each frame to the second next, summed over every frame
            signals, width = signals.scaled(2.0), float(timeline.width)
        found = self.reversals(signals, keys, timeline.times_seconds[frames], width)
        pairs = [pair for reversal in found if reversal.closed_by is None for pair in reversal.pairs]
        if not pairs:
            gates = ", ".join(dict.fromkeys(reversal.closed_by or "no pair far enough apart" for reversal in found))
            raise Unmeasurable(Reason.GATE_CLOSED, f"no reversal of {rollout.case.action!r} passes: {gates}.")
        passed = sum(reversal.closed_by is None for reversal in found)
        return Pairs(frames[np.array(pairs)], f"equal arcs of {passed} of {len(found)} reversals")

    def reversals(self, signals: FlowSignals, keys: Sequence[str], times: Floats, width: float) -> list[Reversal]:
        """All reversals of a clip; `times` are those of the frames at which steps begin."""
        return [self._reversal(signals, keys, key, times, width) for key in _reversals(keys)]

    def _reversal(self, signals: FlowSignals, keys: Sequence[str], key: int, times: Floats, width: float) -> Reversal:
        steps, is_turn = len(signals.across), keys[key] in ("left", "right")
        start, middle, end = (round(edge / len(keys) * steps) for edge in (key - 1, key, key + 1))
        out, back = signals.signed(keys[key - 1])[start:middle], signals.signed(keys[key])[middle:end]
        speeds = [float(np.abs(segment).mean()) for segment in (out, back)]
        gain = min(speeds) / max(speeds) if max(speeds) > 0 else 0.0
        direction = (_direction(out), _direction(back))
        response = self._response(back, speeds[1])
        arcs = np.abs(signals.across) if is_turn else np.hypot(signals.across, signals.radial)
        outward = np.cumsum(arcs[start:middle][::-1])[::-1]
        pixels_per_degree = width / self.field_of_view
        closed_by = None
        if min(direction) < self.min_direction:
            closed_by = "direction"
        elif response is None:
            closed_by = "response"
        elif gain < self.min_gain:
            closed_by = "gain"
        elif is_turn and outward[0] < self.min_turn_degrees * pixels_per_degree:
            closed_by = "magnitude"
        pairs: list[tuple[int, int]] = []
        if response is not None:
            homeward = np.cumsum(arcs[middle:end])
            nearest = max(self.nearest_degrees * pixels_per_degree if is_turn else 0.0, float(homeward[response]))
            limit = self.max_residual_degrees * pixels_per_degree if is_turn else self.max_residual_pixels
            pairs = self._pairs(_Arcs(outward, homeward, start, middle), nearest, limit, times)
        return Reversal(
            step=middle,
            direction=direction,
            response=None if response is None else middle + response,
            gain=gain,
            outward_arc=float(outward[0]),
            closed_by=closed_by,
            pairs=tuple(pairs),
        )

    def _response(self, back: Floats, speed: float) -> int | None:
        """The first step of the way back at which the picture moves back."""
        if speed * len(back) < NOTHING:
            return None
        for step in range(len(back)):
            if float(back[step : step + self.response_steps].mean()) >= self.min_response * speed:
                return step
        return None

    def _pairs(self, arcs: _Arcs, nearest: float, limit: float, times: Floats) -> list[tuple[int, int]]:
        farthest = min(float(arcs.outward[0]), float(arcs.homeward[-1]))
        for depth in np.linspace(nearest, farthest, LOWER_ENDS):
            first, second, _ = arcs.at(depth)
            if times[second] - times[first] >= self.min_span_seconds - 1e-9:
                break
        else:
            return []
        pairs: list[tuple[int, int]] = []
        for deeper in np.linspace(depth, farthest, self.most):
            first, second, residual = arcs.at(deeper)
            if residual <= limit and (first, second) not in pairs:
                pairs.append((first, second))
        return pairs


@dataclass(frozen=True, slots=True)
class _Arcs:
    """Distance from a reversal, at each step before and after it."""

    outward: Floats
    homeward: Floats
    start: int
    middle: int

    def at(self, depth: float) -> tuple[int, int, float]:
        """The steps nearest to a distance, and by how much the worse one misses it."""
        missed: list[Floats] = [np.abs(arc - depth) for arc in (self.outward, self.homeward)]
        first, second = (int(np.argmin(part)) for part in missed)
        residual = max(float(missed[0][first]), float(missed[1][second]))
        return self.start + first, self.middle + second, residual


def _reversals(keys: Sequence[str]) -> Iterator[int]:
    """Positions of keys that undo the one before."""
    return (at for at in range(1, len(keys)) if OPPOSITES_BOTH_WAYS.get(keys[at - 1]) == keys[at])


def _direction(signed: Floats) -> float:
    """Net motion over all motion, from -1 to 1."""
    total = float(np.abs(signed).sum())
    return float(signed.sum()) / total if total >= NOTHING else 0.0
