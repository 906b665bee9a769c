"""How much of a GPU everybody gets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lookaway.core import RunError

SMALLEST_PART = 1e-4
"""What Ray counts GPUs in."""


def share_of_gpus(found: float, copies: int, asked: float | None) -> float:
    """The part of a GPU for each of some copies; a cluster that has too few is told so before anybody waits for it.

    Nobody is spread over parts of two GPUs.

    >>> share_of_gpus(2, 2, None), share_of_gpus(2, 3, None), share_of_gpus(1, 6, None), share_of_gpus(0, 0, None)
    (1.0, 0.5, 0.1666, 0.0)
    """
    if not copies or asked == 0:
        return 0.0
    if asked is None:
        if found < 1:
            raise _too_few(copies, "at least 1", found)
        each = math.ceil(copies / int(found))
        return math.floor(1 / each / SMALLEST_PART) * SMALLEST_PART if each > 1 else 1.0
    if asked > 1 and not asked.is_integer():
        raise RunError(f"{asked:g} GPUs for each worker; more than one can only be had whole.")
    room = found // asked if asked >= 1 else int(found) * math.floor(1 / asked + 1e-9)
    if copies > room:
        raise _too_few(copies, f"{asked:g} each", found)
    return asked


@contextmanager
def room_on_gpus(ray: Any, each: float, copies: int) -> Iterator[dict[str, Any]]:
    """Options of actors that get a part of a GPU each: there is room for all of them, or they all wait.

    Two runs that each hold some of what they need would wait for each other for ever.
    """
    if not each or not copies:
        yield {"num_gpus": 0}
        return
    group = ray.util.placement_group([{"GPU": each}] * copies)
    try:
        strategy = ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(group)
        yield {"num_gpus": each, "scheduling_strategy": strategy}
    finally:
        ray.util.remove_placement_group(group)


def _too_few(copies: int, needed: str, found: float) -> RunError:
    return RunError(
        f"{copies} networks on GPUs need {needed}, found {found:g} in the cluster. "
        "Lower --gpus-per-worker or --actors, or run on --device cpu."
    )
