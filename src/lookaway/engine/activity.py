"""What this process is measuring at this moment, for the view of a run that measures in one process."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Activity:
    """One rollout: which, and how far it is.

    Written without a lock while frames pass, and read only to be shown: a value that is a frame old does no harm.

    >>> activity = Activity()
    >>> activity.begin("m/kitchen/0", 300)
    >>> activity.frames += 120
    >>> activity.text
    'm/kitchen/0 frame 120 of 300'
    """

    rollout: str = ""
    stage: str = ""
    frames: int = 0
    total: int = 0

    def begin(self, rollout: str, total: int) -> None:
        """A pass over so many frames of a rollout begins."""
        self.rollout, self.stage, self.frames, self.total = rollout, "", 0, total

    @property
    def text(self) -> str:
        """The rollout and its frame, or the stage that follows the frames; empty before the first."""
        if not self.rollout:
            return ""
        return f"{self.rollout} {self.stage or f'frame {self.frames} of {self.total}'}"


ACTIVITY = Activity()
"""That of this process; workers of Ray have their own, which nobody sees."""
