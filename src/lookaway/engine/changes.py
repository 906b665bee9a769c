"""What a user wants other than the suite has it: extractors, devices, a judge. All of it changes the lock."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lookaway.core import BoundMetric, Compute, Extractor, JudgeModel, UnknownName, UserError


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Changes to the recipes of a protocol."""

    using: Mapping[str, Extractor] = field(default_factory=dict)
    """Recipes in place of those that the suite has for a feature, wherever the feature is used."""
    compute: Compute | None = None
    """Where all networks run, and how precisely."""
    judge: JudgeModel | None = None
    """Who answers all questions."""

    def apply(self, bounds: tuple[BoundMetric, ...]) -> tuple[BoundMetric, ...]:
        """The metrics with other recipes."""
        known = {name for bound in bounds for name in _features(bound.recipes)}
        for name in self.using:
            if name not in known:
                raise UnknownName("feature of these metrics", name, known)
        return tuple(dataclasses.replace(bound, recipes=self._recipes(bound.recipes)) for bound in bounds)

    def _recipes(self, recipes: Mapping[str, Extractor]) -> dict[str, Extractor]:
        return {name: self._value(name, recipe) for name, recipe in recipes.items()}

    def _value(self, name: str, value: Any) -> Any:
        if isinstance(value, Compute):
            return self.compute or value
        if isinstance(value, JudgeModel):
            return self.judge or value
        if name == "device" and isinstance(value, str) and self.compute is not None:
            return self.compute.device
        if not dataclasses.is_dataclass(value) or isinstance(value, type):
            return value
        value = self._recipe(name, value)
        fields = dataclasses.fields(value)
        inner = {entry.name: self._value(entry.name, getattr(value, entry.name)) for entry in fields}
        changed = {name: new for name, new in inner.items() if new is not getattr(value, name)}
        return dataclasses.replace(value, **changed) if changed else value

    def _recipe(self, feature: str, usual: Any) -> Any:
        """The recipe of a feature; one of the answer's video and one of the true video never change places."""
        chosen = self.using.get(feature, usual)
        if _is_of_reference(chosen) != _is_of_reference(usual):
            shown = {True: "the true video", False: "the answer"}
            raise UserError(
                f"The feature {feature!r} tells of {shown[_is_of_reference(usual)]}, and the extractor "
                f"{chosen.name!r} of {shown[_is_of_reference(chosen)]}, which would be compared with itself. "
                "Leave it out, or name another extractor."
            )
        return chosen


def _is_of_reference(recipe: object) -> bool:
    """Extractors that look at the true video alone declare it; all others look at the answer."""
    return bool(getattr(recipe, "of_reference", False))


def _features(recipes: Mapping[str, Extractor]) -> Iterator[str]:
    """Names of the features of recipes, and of all that they are made from."""
    for name, recipe in recipes.items():
        yield name
        yield from _features(recipe.needs)
