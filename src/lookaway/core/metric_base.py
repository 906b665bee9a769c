"""`MetricBase`: a base for metrics, with the defaults that most of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from lookaway.core.cases import Rollout
from lookaway.core.features import Features
from lookaway.core.outcomes import Abstention, Outcome


@dataclass(frozen=True, slots=True)
class MetricBase(ABC):
    """A base for frozen dataclasses that are a `Metric`: give a `name`, `needs`, `measure`, and what differs.

    Fields of the dataclass are the metric's constants, and go into the lock. What is declared here describes the metric
    and does not.

    >>> from lookaway.core import Score
    >>> @dataclass(frozen=True, slots=True)
    ... class Length(MetricBase):
    ...     name = "length"
    ...     unit = "frames"
    ...     range = (1.0, None)
    ...     needs = ("lab_means",)
    ...
    ...     def measure(self, rollout, features):
    ...         return Score(float(len(features["lab_means"]["lab"])))
    >>> Length().version, Length().higher_is_better
    (1, True)
    """

    name: ClassVar[str]
    """The name it is registered under, or goes by in a table."""
    version: ClassVar[int] = 1
    """Raised whenever the same fields would give other numbers."""
    constants: ClassVar[tuple[str, ...]] = ()
    """Numbers of a formula that it shares with others, as `module:NAME`: the lock holds them beside its fields."""
    unit: ClassVar[str] = "score"
    """Unit of the value."""
    raw_unit: ClassVar[str | None] = None
    """Unit of the raw value, if there is one."""
    range: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)
    """Least and greatest possible value; `None` where there is no limit."""
    higher_is_better: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ()
    """Features without which it abstains."""
    uses: ClassVar[tuple[str, ...]] = ()
    """Features that it takes into account where they are available; `measure` abstains with the reason of one that is
    not, where it asks for it all the same."""

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Why this rollout cannot be measured, as far as its case tells; by default there is no reason."""
        return None

    @abstractmethod
    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
