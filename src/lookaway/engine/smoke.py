"""The smoke test: tries every metric on one rollout first, so that errors show at once."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from lookaway.core import BoundMetric, Rollout, UserError
from lookaway.core.outcomes import OF_THE_MACHINE
from lookaway.engine.plan import Plan
from lookaway.engine.worker import Work, video_problem, why_not_applicable
from lookaway.store.outcome_reader import OutcomeReader
from lookaway.store.run_folder import RunFolder, rollout_rows

LOG = logging.getLogger(__name__)
MAX_CHARACTERS = 500
"""Maximum length of a message shown to the user; the row has all of it."""


@dataclass(slots=True)
class Smoke:
    """The rollouts of the smoke test, and the problems found in them."""

    plan: Plan
    folder: RunFolder
    work: tuple[Work, ...]
    """The smallest set of rollouts that tries every metric."""
    untried: tuple[str, ...]
    """Metrics that cannot run on any rollout."""
    problems: list[str] = field(default_factory=list)

    def is_passed(self) -> bool:
        """Whether no metric failed or lacked something on this machine; reads the stored outcomes."""
        tried = {(work.rollout.id, metric) for work in self.work for metric in work.metrics}
        rollouts = rollout_rows([(work.rollout, work.content) for work in self.work])
        machine = {reason.value for reason in OF_THE_MACHINE}
        self.problems = [
            f"{row['metric']} on {row['rollout']}: {row['reason']}: {row['message']:.{MAX_CHARACTERS}}"
            for row in OutcomeReader(self.folder, self.plan.asked, rollouts).items()
            if (row["rollout"], row["metric"]) in tried and (row["status"] == "failure" or row["reason"] in machine)
        ]
        return not self.problems

    def require_passed(self) -> None:
        """Raise `UserError` if there are problems."""
        if self.problems:
            raise UserError(
                f"The smoke test failed, so the rest was not run. {'; '.join(self.problems)}. "
                "Fix this and run the same command again, leave these metrics out with --metrics, or continue anyway "
                "without --smoke. Finished measurements are kept; events.jsonl in the run folder has the tracebacks."
            )


def choose_smoke(plan: Plan, work: Sequence[Work], folder: RunFolder) -> Smoke:
    """Choose the rollouts, without opening a video."""
    bounds = {bound.name: bound for bound in plan.metrics}
    first_with = _first_with(work, bounds)
    chosen = _fewest(list(first_with))
    wanted = {name for entry in work for name in entry.metrics}
    untried = tuple(name for name in bounds if name in wanted and not any(name in tried for tried in first_with))
    if untried:
        LOG.warning("These metrics cannot run on any rollout of the dataset: %s.", ", ".join(untried))
    return Smoke(plan, folder, tuple(first_with[tried] for tried in chosen), untried)


def _first_with(work: Sequence[Work], bounds: dict[str, BoundMetric]) -> dict[frozenset[str], Work]:
    """For every set of metrics that any rollout can be tried with, the first such rollout."""
    first: dict[frozenset[str], Work] = {}
    for entry in work:
        wanted = frozenset(entry.metrics)
        # If a rollout can be tried with all of its metrics, no other with the same metrics can add any.
        if wanted not in first and video_problem(entry.rollout) is None:
            first.setdefault(frozenset(name for name in wanted if _is_tried(bounds[name], entry.rollout)), entry)
    first.pop(frozenset(), None)
    return first


def _is_tried(bound: BoundMetric, rollout: Rollout) -> bool:
    """Whether a metric would run on a rollout if nothing were missing on this machine."""
    try:
        declined = why_not_applicable(bound, rollout)
    except Exception:  # noqa: BLE001 - a bug, which the smoke test is there to find
        return True
    return declined is None or declined.reason in OF_THE_MACHINE


def _fewest(sets: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    """A greedy cover of all names: always the set that adds most, the earlier of two."""
    lacking = frozenset[str]().union(*sets)
    chosen = []
    while lacking:
        best = max(sets, key=lambda names: len(names & lacking))
        chosen.append(best)
        lacking -= best
    return chosen
