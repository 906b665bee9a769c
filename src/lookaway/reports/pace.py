"""How fast a run goes, and how long it still takes."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

WINDOW_SECONDS = 180.0
"""What was faster or slower longer ago says little of what is to come."""
APART_SECONDS = 0.5
"""Between two moments that are remembered."""


@dataclass(slots=True)
class Pace:
    """Rollouts a second over the last minutes, from the first that was finished: before it, networks were loaded."""

    _moments: deque[tuple[float, int]] = field(default_factory=deque)
    """Seconds since the start, and rollouts finished by then."""
    _last: tuple[float, int] | None = None

    def note(self, seconds: float, done: int) -> None:
        """So many are finished after so many seconds."""
        if not done:
            return
        self._last = (seconds, done)
        if not self._moments or seconds - self._moments[-1][0] >= APART_SECONDS:
            self._moments.append(self._last)
        while len(self._moments) > 1 and self._moments[1][0] <= seconds - WINDOW_SECONDS:
            self._moments.popleft()

    def per_second(self, now: float | None = None) -> float | None:
        """`None` as long as too little is known; `now` counts the time since something was last finished."""
        if self._last is None:
            return None
        seconds, done = self._last[0] - self._moments[0][0], self._last[1] - self._moments[0][1]
        if not done or seconds <= 0:
            return None
        between = seconds / done
        overdue = max(0.0, (now or 0.0) - self._last[0] - between)
        return done / (seconds + overdue)

    def seconds_left(self, total: int, now: float | None = None) -> float | None:
        """Until all are finished, at this pace."""
        rate = self.per_second(now)
        if rate is None or self._last is None:
            return None
        since = max(0.0, (now or 0.0) - self._last[0])
        return max(0.0, (total - self._last[1]) / rate - min(since, 1 / rate))
