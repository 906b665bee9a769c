"""A camera path step by step: as held keys, and as words of an action prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from lookaway.core import Floats

STILL_METRES, STILL_DEGREES = 1e-4, 1e-3
"""Smaller steps count as standing still."""
MAIN_SHARE = 0.5
"""A move has a direction if at least this fraction of it points there."""
MIN_PURE, MIN_COVERED = 0.9, 0.6
WAIT = "wait"


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Camera motion from each frame to the next for a camera that stays upright; [N-1] each."""

    forward: Floats
    right: Floats
    """Metres."""
    left_turn: Floats
    up_turn: Floats
    """Degrees."""

    def held_keys(self) -> list[dict[str, int]]:
        """Keys held in each step; 0 is none.

        Movement: `ws` 1 forward, 2 backward; `ad` 1 left, 2 right. Rotation: `ud` 1 up, 2 down; `lr` 1 left, 2 right.
        """
        length = np.hypot(self.forward, self.right)
        least = np.maximum(STILL_METRES, MAIN_SHARE * length)
        columns = {
            "ws": _key(self.forward, least),
            "ad": _key(-self.right, least),
            "ud": _key(self.up_turn, STILL_DEGREES),
            "lr": _key(self.left_turn, STILL_DEGREES),
        }
        return [{name: int(column[step]) for name, column in columns.items()} for step in range(len(length))]

    def words(self) -> list[str]:
        """One word for each step: a turn or a walk, else `wait`."""
        names = {"lr": ("left", "right"), "ws": ("forward", "backward")}
        words = []
        for held in self.held_keys():
            found = [pair[held[key] - 1] for key, pair in names.items() if held[key]]
            words.append(found[0] if found else WAIT)
        return words


def camera_steps(camera_to_world: Floats) -> Steps:
    """Steps of a path of [N, 4, 4]."""
    ahead = camera_to_world[:, :3, 2]
    heading = np.arctan2(-ahead[:, 0], ahead[:, 1])
    pitch = np.arctan2(ahead[:, 2], np.hypot(ahead[:, 0], ahead[:, 1]))
    moves = np.diff(camera_to_world[:, :3, 3], axis=0)
    sine, cosine = np.sin(heading[:-1]), np.cos(heading[:-1])
    return Steps(
        forward=-moves[:, 0] * sine + moves[:, 1] * cosine,
        right=moves[:, 0] * cosine + moves[:, 1] * sine,
        left_turn=np.degrees(np.angle(np.exp(1j * np.diff(heading)))),
        up_turn=np.degrees(np.diff(pitch)),
    )


def timed_action(words: Sequence[str]) -> str:
    """An action whose phases divide the clip equally, as MBench reads it, including waits.

    Uses the smallest number of phases that separates the motions.

    >>> timed_action(["wait"] * 4 + ["left"] * 4 + ["wait"] * 4 + ["right"] * 4)
    'wait_then_left_then_wait_then_right'
    """
    counts = {word: words.count(word) for word in set(words) - {WAIT}}
    for parts in range(1, len(words) + 1):
        named = _parts(words, parts)
        covered = {word: 0 for word in counts}
        for word, steps in named:
            if word in covered:
                covered[word] += steps.count(word)
        if all(covered[word] >= MIN_COVERED * count for word, count in counts.items()):
            return "_then_".join(word for word, _ in named)
    raise AssertionError("one part for every step covers all of them")


def _parts(words: Sequence[str], parts: int) -> list[tuple[str, list[str]]]:
    """Each part with its steps and the word that nearly all of them share, else `wait`."""
    held: list[list[str]] = [[] for _ in range(parts)]
    for step, word in enumerate(words):
        held[min(int((step + 0.5) / len(words) * parts), parts - 1)].append(word)
    named = []
    for steps in held:
        main = max(sorted(set(steps)), key=steps.count, default=WAIT)
        named.append((main if steps.count(main) >= MIN_PURE * len(steps) else WAIT, steps))
    return named


def runs(words: Sequence[str]) -> list[tuple[str, int, int]]:
    """Runs of one word: the word, the first step, and one past the last.

    >>> runs(["wait", "left", "left"])
    [('wait', 0, 1), ('left', 1, 3)]
    """
    found, start = [], 0
    for word, group in groupby(words):
        end = start + len(list(group))
        found.append((word, start, end))
        start = end
    return found


def _key(values: Floats, least: Floats | float) -> Floats:
    return np.where(values > least, 1, np.where(values < -np.asarray(least), 2, 0))
