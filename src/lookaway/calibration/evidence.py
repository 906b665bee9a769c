"""What has been shown for a metric: by tests of its equation and against its authors' code, with weights, and by cards.

The record is made by `python -m benchmarks.evidence` from the tests themselves; a test fails where the two differ.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

from lookaway.calibration.card import OF_WEIGHTS, CardSet, bound_chain
from lookaway.core import BoundMetric, describe
from lookaway.engine.reading import load_suite
from lookaway.suites.revisit.published import VARIANTS

RECORD: Final = resources.files("lookaway.calibration") / "evidence.json"
KINDS: Final = {
    "equation": "equation tested",
    "code": "equal to the authors' code",
    "weights": "run with its published weights",
    "table": "published table reproduced",
}
"""What tests can show, by its short name, in the order of every table."""
CARD: Final = "card"
EVERYTHING: Final[Mapping[str, Mapping[str, Any]]] = {
    "memobench": {"has_question_banks": True},
    "revisit": {"scores": ",".join(VARIANTS)},
}
"""Settings with which a suite has all its metrics, where that takes any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What has been shown for one metric under its public name."""

    tests: Mapping[str, Mapping[str, str]]
    """What each kind of evidence rests on: source, such as an equation or a file of golden numbers, and the test."""
    needs_weights: bool
    has_card: bool

    @property
    def kinds(self) -> tuple[str, ...]:
        """Short names of all that has been shown."""
        return (*(kind for kind in KINDS if self.tests.get(kind)), *([CARD] if self.has_card else []))

    @property
    def line(self) -> str:
        """In a few words, for a list."""
        return ", ".join(self.kinds) or "nothing yet"


def all_metrics(suite: str) -> tuple[BoundMetric, ...]:
    """Every metric that a suite can have; gates score nothing and are left out."""
    bounds = load_suite(suite).metrics(EVERYTHING.get(suite, {}))
    return tuple({bound.name: bound for bound in bounds if not bound.is_gate}.values())


@cache
def evidence_record() -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    """Public name, kind, source, and the test that shows it."""
    recorded: dict[str, dict[str, dict[str, str]]] = json.loads(RECORD.read_text(encoding="utf-8"))
    return recorded


def shown_for(bound: BoundMetric, cards: CardSet) -> Shown:
    """What has been shown for a metric as a suite binds it; a card of faults counts at any size and rate."""
    _, sha256 = bound_chain(bound)
    return Shown(
        tests=evidence_record().get(bound.name, {}),
        needs_weights=any(_names_weights(describe(recipe)) for recipe in bound.recipes.values()),
        has_card=any(card.chain_sha256 == sha256 and card.responses for card in cards.cards),
    )


def _names_weights(described: Any) -> bool:
    """Whether a description has files of a network anywhere in it."""
    if isinstance(described, Mapping):
        return described.keys() >= OF_WEIGHTS or any(map(_names_weights, described.values()))
    return isinstance(described, list | tuple) and any(map(_names_weights, described))
