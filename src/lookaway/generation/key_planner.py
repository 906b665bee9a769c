"""Chooses how often each key is pressed, so that a path returns, reaches its peak, and is short: in this order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final, TypeAlias

from lookaway.generation.camera_motion import Axis, Leg

Press: TypeAlias = Mapping[Axis, int]
"""One step: the direction, 1 or -1, along each axis whose key is held; none is standing still."""
MAX_COMBINATIONS: Final = 20_000
PADDING: Final = 5
"""How far a count may be from its share, where a model takes only some lengths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRules:
    """What the keys of a model do."""

    quantum: Mapping[Axis, float]
    """What one step does along each axis that has keys."""
    can_hold: bool
    """Whether a step can stand still."""
    can_combine: bool
    """Whether one step can have several keys."""
    is_length: Callable[[int], bool]
    """Whether the model takes so many steps."""
    steps_per_second: float
    """For how long a request stands still."""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """Equal steps after each other, and the part of the request that they stand for."""

    press: Press
    count: int
    start: float
    stop: float
    """Frames of the request."""


@dataclass(frozen=True, slots=True)
class _Slot:
    """One axis of one leg: how many steps it should take."""

    leg: int
    axis: Axis
    wanted: float
    """Signed steps, a fraction."""


def plan_keys(legs: Sequence[Leg], rules: KeyRules, fps: float) -> list[PlannedRun] | None:
    """The best runs of steps; axes without keys are left out. `None` if no number of steps is one the model takes."""
    slots = [
        _Slot(number, axis, amount / rules.quantum[axis])
        for number, leg in enumerate(legs)
        for axis, amount in leg.amounts.items()
        if axis in rules.quantum
    ]
    holds = {number: _held(leg, rules, fps) for number, leg in enumerate(legs) if leg.is_hold and rules.can_hold}
    best: tuple[tuple[float, ...], tuple[int, ...]] | None = None
    for counts in _candidates(slots):
        steps = _total(slots, counts, rules) + sum(holds.values())
        if not rules.can_hold and not rules.is_length(steps):
            continue
        rank = (*_errors(slots, counts), float(steps))
        if best is None or rank < best[0]:
            best = rank, counts
    if best is None:
        return None
    runs = list(_runs(legs, slots, best[1], holds, rules))
    if not rules.can_hold:
        return runs
    total = sum(run.count for run in runs)
    padding = next((extra for extra in range(1000) if rules.is_length(total + extra)), None)
    if padding is None:
        return None
    end = float(legs[-1].stop) if legs else 0.0
    return [*runs, PlannedRun({}, padding, end, end)] if padding else runs


def _held(leg: Leg, rules: KeyRules, fps: float) -> int:
    return round((leg.stop - leg.start) / fps * rules.steps_per_second)


def _candidates(slots: Sequence[_Slot]) -> Iterator[tuple[int, ...]]:
    """Signed counts near those that are wanted; only the last ones vary where there are many legs."""
    nearest = [round(slot.wanted) for slot in slots]
    reach = next((reach for reach in (PADDING, 2) if (2 * reach + 1) ** len(slots) <= MAX_COMBINATIONS), 1)
    free = min(len(slots), int(math.log(MAX_COMBINATIONS, 2 * reach + 1)))
    ranges = [[count] for count in nearest[: len(slots) - free]]
    for count in nearest[len(slots) - free :]:
        ranges.append(list(range(count - reach, count + reach + 1)))
    if ranges:
        ranges[-1] = list(range(nearest[-1] - PADDING, nearest[-1] + PADDING + 1))
    for counts in product(*ranges):
        # A step in the other direction is never part of a leg.
        if all(count * slot.wanted >= 0 for count, slot in zip(counts, slots, strict=True)):
            yield counts


def _total(slots: Sequence[_Slot], counts: Sequence[int], rules: KeyRules) -> int:
    by_leg: dict[int, list[int]] = {}
    for slot, count in zip(slots, counts, strict=True):
        by_leg.setdefault(slot.leg, []).append(abs(count))
    return sum(max(found) if rules.can_combine else sum(found) for found in by_leg.values())


def _errors(slots: Sequence[_Slot], counts: Sequence[int]) -> tuple[float, float, float]:
    """Errors at the end, at the worst leg and at all legs together, in steps."""
    ahead: dict[Axis, float] = {}
    found = [0.0]
    for slot, count in zip(slots, counts, strict=True):
        ahead[slot.axis] = ahead.get(slot.axis, 0.0) + count - slot.wanted
        found.append(sum(map(abs, ahead.values())))
    # Where the end is the worst of all, only the sum tells a right peak from a wrong one.
    return round(found[-1], 6), round(max(found), 6), round(sum(found), 6)


def _runs(
    legs: Sequence[Leg],
    slots: Sequence[_Slot],
    counts: Sequence[int],
    holds: Mapping[int, int],
    rules: KeyRules,
) -> Iterator[PlannedRun]:
    for number, leg in enumerate(legs):
        if number in holds:
            if holds[number]:
                yield PlannedRun({}, holds[number], leg.start, leg.stop)
            continue
        pressed = {slot.axis: count for slot, count in zip(slots, counts, strict=True) if slot.leg == number and count}
        sequence = _together(pressed) if rules.can_combine else _in_turn(pressed)
        total = sum(count for _, count in sequence)
        done, length = 0, leg.stop - leg.start
        for press, count in sequence:
            start, done = leg.start + length * done / total, done + count
            yield PlannedRun(press, count, start, leg.start + length * done / total)


def _together(pressed: Mapping[Axis, int]) -> list[tuple[Press, int]]:
    """All keys at once, as long as each has steps left."""
    left = dict(pressed)
    found: list[tuple[Press, int]] = []
    while left:
        count = min(map(abs, left.values()))
        found.append(({axis: _sign(steps) for axis, steps in left.items()}, count))
        left = {axis: steps - _sign(steps) * count for axis, steps in left.items() if abs(steps) > count}
    return found


def _in_turn(pressed: Mapping[Axis, int]) -> list[tuple[Press, int]]:
    """One key after the other, spread evenly: an arc becomes many small steps."""
    order = sorted(
        ((position + 0.5) / abs(steps), axis, _sign(steps))
        for axis, steps in pressed.items()
        for position in range(abs(steps))
    )
    found: list[tuple[Press, int]] = []
    for _, axis, sign in order:
        if found and found[-1][0] == {axis: sign}:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append(({axis: sign}, 1))
    return found


def _sign(number: int) -> int:
    return 1 if number > 0 else -1
