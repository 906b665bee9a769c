"""Gates: whether a rollout triggered the memory test at all."""

from __future__ import annotations

from dataclasses import dataclass

from lookaway.core import Abstention, Features, MetricBase, Outcome, Reason, Rollout, Score
from lookaway.core.visits import judgeable_seconds, why_gate_closed


@dataclass(frozen=True, slots=True)
class Triggered(MetricBase):
    """1 where the judge says in most repeats that the video triggers the memory test, else 0.

    The mean over rollouts is the share of videos that trigger the test; it is low for a model that never looks away.
    The raw value is the mean confidence of the judge; `detail` holds its reply, and how many repeats agree.

    Abstains: `no_judge` where none is named; `judge_failed` where it could not be reached or parsed, or where repeats
    are split evenly; `judge_refused` where it declined to answer; `missing_input` without captions.
    """

    name = "triggered"
    unit = "share"
    raw_unit = "confidence"
    needs = ("trigger_verdict",)

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        verdict = features["trigger_verdict"]
        yes, repeats = int(verdict["triggered"].sum()), len(verdict["triggered"])
        if 2 * yes == repeats:
            return Abstention(Reason.JUDGE_FAILED, f"{yes} of {repeats} repeats say yes; put the question once more.")
        detail = {"yes": yes, "repeats": repeats, **verdict.detail}
        return Score(float(2 * yes > repeats), raw=float(verdict["confidence"].mean()), detail=detail)


@dataclass(frozen=True, slots=True)
class Reobserved(MetricBase):
    """1 where the main subject can be judged in one second, cannot in a later one, and can again after that.

    Otherwise 0, and `detail.reason` says why: `no_oov` where it is never out of view, `no_initial_judgeable` where it
    is not seen before it is out of view, `no_return` where it does not return. A second is judgeable where more than
    half of the repeats say so. One hidden second is enough, and several losses count as one.

    Abstains: `no_judge` where none is named; `judge_failed` where it could not be reached or parsed; `judge_refused`
    where it declined to answer; `missing_input` where the judge should be told the subject's name, and there is none.
    """

    name = "reobserved"
    unit = "share"
    needs = ("reobservation",)

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        feature = features["reobservation"]
        reason, judgeable = why_gate_closed(feature), judgeable_seconds(feature)
        hidden = [int(second) for second, seen in zip(feature["seconds"], judgeable, strict=True) if not seen]
        return Score(float(reason is None), detail={"reason": reason, "hidden_seconds": hidden})
