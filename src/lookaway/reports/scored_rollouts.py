"""The scores of a run, one record for each rollout."""

from __future__ import annotations

from dataclasses import dataclass, field

from lookaway.core import UserError
from lookaway.engine.run import Run
from lookaway.store.run_folder import RunFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRollout:
    """One rollout and all its scores."""

    id: str
    model: str
    case: str
    subset: str
    scene: str
    values: dict[str, float] = field(default_factory=dict)
    """By metric; those without a score are not there."""

    def passes(self, gate: str | None) -> bool:
        """Whether a gate is known to keep it; every rollout passes no gate."""
        return gate is None or self.values.get(gate) == 1.0


def require_suite(run: Run, suite: str) -> None:
    """Refuse runs of other suites."""
    if (found := run.about["suite"]) != suite:
        raise UserError(f"{run.path} is a run of {found!r}; this is for runs of {suite!r}.")


def scored_rollouts(run: Run) -> list[ScoredRollout]:
    """Every rollout of the run, in the order of models and cases, also those that have no score."""
    found = {
        row["rollout"]: ScoredRollout(
            id=row["rollout"], model=row["model"], case=row["case"], subset=row["subset"], scene=row["scene"]
        )
        for row in RunFolder(run.path).rollouts().to_pylist()
    }
    for row in run.items():
        if row["status"] == "score":
            found[row["rollout"]].values[row["metric"]] = row["value"]
    return sorted(found.values(), key=lambda rollout: (rollout.model, rollout.subset, rollout.case, rollout.id))
