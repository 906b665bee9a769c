"""Cases and their titles, the rollouts that models generated for them, and datasets of both."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from lookaway.core.errors import Unmeasurable
from lookaway.core.lock import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The object whose memory is tested."""

    name: str | None = None
    attributes: tuple[str, ...] = ()
    box: tuple[float, float, float, float] | None = None
    """Centre x, centre y, width, height in the first frame, as fractions of its size where all are at most 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The reference video, for suites that compare with one."""

    video: Path
    start: int = 0
    """The frame that corresponds to the first frame of a generated video."""
    end: int | None = None
    """Number of frames according to the dataset; the file may have more or fewer."""
    artifacts: Mapping[str, Path] = field(default_factory=dict)
    """Files beside it, by kind: `poses`."""
    phase_starts: Mapping[str, int] = field(default_factory=dict)
    """First frame of each named phase, in order; a phase ends where the next begins, the last one with the video."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenPair:
    """Two frames that should show one view, according to the dataset."""

    first: int
    second: int
    cost: float | None = None
    """How far the two views are from each other, in a unit of the dataset; `None` is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A test case: prompt segments, camera action, target, and the reference video if there is one."""

    id: str
    subset: str
    scene: str
    """Cases of one scene are not independent; intervals resample scenes."""
    prompt: tuple[str, ...] = ()
    action: str | None = None
    turn_degrees: float | None = None
    """How far the camera is asked to turn at most; `None` is unknown."""
    target: Target | None = None
    first_frame: Path | None = None
    controls: tuple[str, ...] | None = None
    """Controls from each generated frame to the next, such as `forward+look_left`; `None` is unknown."""
    reference: Reference | None = None
    pairs: tuple[GivenPair, ...] | None = None
    """Frames that should show one view, counted at the frame rate of the dataset; `None` is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """The video that one model generated for one case with one seed."""

    case: Case
    model: str
    video: Path
    seed: str = "0"
    artifacts: Mapping[str, Path] = field(default_factory=dict)
    """Files of other tools beside the video, by kind: `poses`, `depth`, `masks`."""
    phases: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """First frame and one past the last frame of each named phase, if known."""
    problem: Unmeasurable | None = None
    """Set by the suite's reader when the record itself rules out any measurement."""

    @property
    def id(self) -> str:
        """A unique id in the run: model, case and seed.

        A slash in the name of a model or in a seed is escaped, since cases may have slashes too.

        >>> case = Case(id="b/c", subset="all", scene="c")
        >>> Rollout(case=case, model="org/a", video=Path("a.mp4")).id
        'org%2Fa/b/c/0'
        """
        return f"{_escaped(self.model)}/{self.case.id}/{_escaped(self.seed)}"


def _escaped(name: str) -> str:
    return name.replace("%", "%25").replace("/", "%2F") if "/" in name or "%" in name else name


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A record of the dataset that could not become a rollout."""

    where: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A dataset as read by its suite."""

    suite: str
    root: Path
    rollouts: tuple[Rollout, ...]
    identity: Mapping[str, Json] = field(default_factory=dict)
    """Id and version of the dataset."""
    settings: Mapping[str, Json] = field(default_factory=dict)
    """Settings of the dataset that change numbers, such as the convention of its poses."""
    problems: tuple[Problem, ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of `read` other than the folder, without defaults."""

    def select(self, keep: Callable[[Rollout], bool], limit: int | None = None) -> Dataset:
        """The same dataset with fewer rollouts; `limit` keeps the first cases of each model and subset."""
        kept = [rollout for rollout in self.rollouts if keep(rollout)]
        if limit is not None:
            kept = _first_of_each_group(kept, limit)
        return replace(self, rollouts=tuple(kept))


def _first_of_each_group(rollouts: list[Rollout], limit: int) -> list[Rollout]:
    seen: dict[tuple[str, str], set[str]] = {}
    kept = []
    for rollout in rollouts:
        cases = seen.setdefault((rollout.model, rollout.case.subset), set())
        if rollout.case.id in cases or len(cases) < limit:
            cases.add(rollout.case.id)
            kept.append(rollout)
    return kept


OPPOSITES: Final = {("left", "right"), ("right", "left"), ("up", "down"), ("down", "up")}
WAIT: Final = "wait"
CAMERA_WORDS: Final = frozenset({"yaw", "pan", "tilt", "left", "right", "lr", "rl", "none", "in", "place"})


def case_title(name: str, case: Case | None = None) -> str:
    """A case in words: its scene, and what the camera does; its id where the words would say nothing else.

    >>> case_title("x", Case(id="x", subset="yaw", scene="kitchen_000", action="left_then_right", turn_degrees=60))
    'Kitchen, turn left 60 degrees and back'
    >>> case_title("x", Case(id="x", subset="yaw", scene="kitchen", action="left_then_left_then_right_then_right"))
    'Kitchen, camera left and back'
    >>> case_title("kitchen-yaw_left_60-000"), case_title("kitchen")
    ('Kitchen', 'kitchen')
    """
    words = _case_words(case) if case else id_words(name)
    return name if words.casefold() == name.casefold() else words


def _case_words(case: Case) -> str:
    place = id_words(case.scene) or id_words(case.id)
    named = (step for step in (case.action or "").split("_then_") if step and step != WAIT)
    steps = [step for step, _ in groupby(named)]
    if not steps:
        return place
    turned = f" {case.turn_degrees:g} degrees" if case.turn_degrees else ""
    verb = "turn" if case.turn_degrees else "camera"
    if len(steps) == 2 and tuple(steps) in OPPOSITES:
        return f"{place}, {verb} {steps[0]}{turned} and back"
    return f"{place}, {', then '.join(step.replace('_', ' ') for step in steps)}"


def id_words(name: str) -> str:
    """An id as words, without numbers and camera words at its end.

    >>> id_words("aquarium-in_place-yaw_left_60-000"), id_words("007")
    ('Aquarium', '007')
    """
    words = [word for word in re.split(r"[\s_:/-]+", name) if word]
    while len(words) > 1 and (words[-1].isdigit() or words[-1].lower() in CAMERA_WORDS):
        words.pop()
    text = " ".join(words) or name
    return text[:1].upper() + text[1:]
