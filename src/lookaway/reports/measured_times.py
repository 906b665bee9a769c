"""When the rollouts of a run were measured."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from lookaway.engine.run import Run
from lookaway.io.journal import Journal
from lookaway.store.run_folder import EVENTS


def measured_times(run: Run) -> dict[str, str]:
    """By rollout, the second in UTC in which it was last measured; without those of which no event tells."""
    times: dict[str, str] = {}
    for line in Journal(run.path / EVENTS).lines():
        try:
            event = json.loads(line)
            if event["event"] == "measured":
                time = datetime.fromtimestamp(event["time"], UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
                times[event["rollout"]] = max(time, times.get(event["rollout"], ""))  # merged runs are not in order
        except (ValueError, KeyError, TypeError, OverflowError, OSError):  # a line that a crash cut off
            continue
    return times
