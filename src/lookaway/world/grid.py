"""Which clips to render: every combination of cases, faults and actors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from lookaway.core import UnknownName, UserError
from lookaway.world.actors import ACTORS
from lookaway.world.cameras import CAMERAS
from lookaway.world.clip import path_of
from lookaway.world.events import EVENTS, Event
from lookaway.world.families import FAMILIES
from lookaway.world.faults import FAULTS, find_fault
from lookaway.world.recipe import PERFECT, ClipRecipe, Injection


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Cases are families x events x cameras x seeds; each is rendered clean, with faults, and by actors."""

    families: tuple[str, ...]
    events: tuple[Event, ...]
    cameras: tuple[str, ...]
    seeds: tuple[int, ...]
    faults: tuple[str, ...] = ()
    severities: tuple[float, ...] = ()
    actors: tuple[str, ...] = ()
    takes: int = 1
    """Clips of each actor per case."""

    def recipes(self, form: ClipRecipe) -> Iterator[ClipRecipe]:
        """All recipes, those of one case together; `form` gives size, length, wait, and a camera path from a file."""
        self._check(form)
        for family in self.families:
            for event in self.events:
                for camera in self.cameras:
                    for seed in self.seeds:
                        case = replace(form, family=family, event=event, camera=camera, seed=seed)
                        yield from self._of_case(case)

    def _check(self, form: ClipRecipe) -> None:
        """Fail before the first clip is rendered, not after the hundredth."""
        if self.faults and not self.severities:
            raise UserError("faults need severities; add some, such as --severities 0.2,0.6,1.")
        known = {"family": FAMILIES, "event": EVENTS, "camera path": CAMERAS, "fault": FAULTS, "actor": ACTORS}
        chosen = {
            "family": self.families,
            "event": self.events,
            "camera path": () if form.free_path else self.cameras,
            "fault": self.faults,
            "actor": self.actors,
        }
        for kind, names in chosen.items():
            for name in names:
                if name not in known[kind]:
                    raise UnknownName(kind, name, known[kind])

    def _of_case(self, case: ClipRecipe) -> Iterator[ClipRecipe]:
        yield case
        for fault in self.faults:
            for severity in self.severities:
                yield with_fault(case, fault, severity)
        for actor in self.actors:
            for take in range(self.takes):
                if actor != PERFECT:
                    yield ACTORS[actor].plays(case, path_of(case), take)


def with_fault(case: ClipRecipe, fault: str, severity: float) -> ClipRecipe:
    """A case with one fault; the model is named after the fault and its severity."""
    injection = Injection(fault=find_fault(fault).name, severity=severity)
    return replace(case, model=f"{fault}-{severity:.2f}", injections=(injection,))
