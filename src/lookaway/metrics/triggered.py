"""Whether a video poses the memory test at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lookaway.core import Abstention, Features, Outcome, Reason, Rollout, Score


@dataclass(frozen=True, slots=True)
class Triggered:
    """1 where most repeats of the question say that the video poses the memory test, else 0.

    The mean over rollouts is the share of videos that pose the test: a model that never looks away has a low one. The
    raw value is the mean confidence of the judge; `detail` holds what it said, and how far repeats agree.

    Abstains: `no_judge` where none is named; `judge_failed` where it could not be asked or read, or where repeats are
    split evenly; `judge_refused` where it would not answer; `missing_input` without captions.
    """

    name: ClassVar[str] = "triggered"
    version: ClassVar[int] = 1
    unit: ClassVar[str] = "share"
    raw_unit: ClassVar[str | None] = "confidence"
    range: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)
    higher_is_better: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("trigger_verdict",)
    uses: ClassVar[tuple[str, ...]] = ()

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Nothing beyond its features is needed."""
        return None

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        verdict = features["trigger_verdict"]
        yes, repeats = int(verdict["triggered"].sum()), len(verdict["triggered"])
        if 2 * yes == repeats:
            return Abstention(Reason.JUDGE_FAILED, f"{yes} of {repeats} repeats say yes; put the question once more.")
        detail = {"yes": yes, "repeats": repeats, **verdict.detail}
        return Score(float(2 * yes > repeats), raw=float(verdict["confidence"].mean()), detail=detail)
