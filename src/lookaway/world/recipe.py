"""The recipe of a clip: everything that determines its frames and its ground truth."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lookaway.core import UnknownName, UserError
from lookaway.world.events import EVENTS, Event
from lookaway.world.free_paths import FreePath

WORLD_VERSION = 2
"""Raised whenever a recipe gives different frames or a different ground truth."""
PERFECT = "perfect"
"""The model that remembers everything."""
DEFAULT_WAIT = 1.0
LONGEST_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    """A fault and its severity, from 0 (absent) to 1."""

    fault: str
    severity: float

    def __post_init__(self) -> None:
        if not 0 <= self.severity <= 1:
            raise UserError(f"the severity of {self.fault} is {self.severity}, expected a number from 0 to 1.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipRecipe:
    """One case, and the faults of one model in it."""

    family: str
    event: Event
    camera: str
    """Name of a camera path, or the id of `free_path`."""
    seed: int
    """Seed of the scene."""
    model: str = PERFECT
    take: int = 0
    """Seed of the model."""
    injections: tuple[Injection, ...] = ()
    width: int = 448
    height: int = 256
    fps: int = 12
    seconds: float = 3.0
    wait: float = DEFAULT_WAIT
    """Seconds during which the camera looks away."""
    free_path: FreePath | None = None
    """A camera path from a file; it has its own timing."""

    def __post_init__(self) -> None:
        self._check_names()
        self._check_form()

    def _check_names(self) -> None:
        if self.event not in EVENTS:
            raise UnknownName("event", self.event, EVENTS)
        if self.seed < 0 or self.take < 0:
            raise UserError(f"the seed is {self.seed} and the take is {self.take}, expected numbers of 0 or more.")
        faults = [injection.fault for injection in self.injections]
        if len(set(faults)) < len(faults):
            raise UserError(f"the faults are {', '.join(faults)}, expected each at most once.")
        if self.free_path and self.camera != self.free_path.id:
            raise UserError(f"the camera is {self.camera!r}, expected the id of its path: {self.free_path.id!r}.")
        if self.free_path and self.wait != DEFAULT_WAIT:
            raise UserError(f"the wait is {self.wait} s, but the path {self.camera} has its own timing; leave it out.")

    def _check_form(self) -> None:
        if self.width < 64 or self.height < 64 or self.width % 2 or self.height % 2:
            raise UserError(f"the size is {self.height}x{self.width}, expected even numbers of at least 64.")
        if not 1 <= self.fps <= 120:
            raise UserError(f"{self.fps} frames per second, expected 1 to 120.")
        if not self.seconds <= LONGEST_SECONDS:
            raise UserError(f"a clip of {self.seconds} s, expected at most {LONGEST_SECONDS:g} s.")
        wait = 0.0 if self.free_path else self.wait
        if not 0 <= wait <= self.seconds - 8 / self.fps:
            raise UserError(
                f"a wait of {wait} s does not fit into {self.seconds} s; leave at least {8 / self.fps:.2f} s "
                "for the way out and back."
            )

    @property
    def case(self) -> str:
        """Id of the case, the same for all models."""
        wait = "" if self.wait == DEFAULT_WAIT else f"-wait{self.wait:g}"
        return f"{self.family}-{self.event}-{self.camera}{wait}-{self.seed:03d}"

    @property
    def frames(self) -> int:
        """Number of frames."""
        return round(self.seconds * self.fps)

    @property
    def clean(self) -> ClipRecipe:
        """The same case without faults."""
        return replace(self, model=PERFECT, take=0, injections=())
