"""Numbers of a return: how much of the view changed, in what light, and in what look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import median
from typing import Annotated, ClassVar

import numpy as np

from lookaway.core import Abstention, Feature, Features, Json, MetricBase, Outcome, Reason, Rollout, Score, Unit


@dataclass(frozen=True, slots=True)
class PairNumber(MetricBase):
    """The median over pairs of first visit and return of one number of each."""

    needs = ("changes",)
    higher_is_better = False
    range: ClassVar[tuple[float | None, float | None]] = (0.0, None)

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        changes = features[self.needs[0]]
        values = self.of_pairs(changes)
        units = tuple(Unit(name, Score(value)) for name, value in zip(pair_names(changes), values, strict=True))
        return Score(median(values), units=units, detail=pair_facts(changes))

    def of_pairs(self, changes: Feature) -> list[float]:
        """The number of each pair."""
        return [float(value) for value in changes[self.name]]


def pair_names(changes: Feature) -> list[str]:
    """A name for each pair, as that of a unit."""
    return [f"f{first}_f{second}" for first, second in changes["pairs"].tolist()]


def pair_facts(changes: Feature) -> Mapping[str, Json]:
    """How the pairs were found and aligned, and how much of them is compared."""
    return {
        "pairs": changes.detail["rule"],
        "aligned_by": changes.detail["aligned_by"],
        "compared": [round(float(share), 1) for share in changes["compared"]],
        "skipped_pairs": len(changes.detail["skipped_pairs"]),
    }


def too_much_moves(changes: Feature, most: float) -> Abstention | None:
    """Why nothing is said about changes of a view that moves by itself nearly everywhere; `None` where it does not."""
    aside = median(changes["set_aside"].tolist())
    if aside <= most:
        return None
    return Abstention(
        Reason.NOT_APPLICABLE,
        f"{aside:.0f} % of the revisited view also changes while it is in view, as water, leaves and fire do, expected "
        f"at most {most:g} %: what changed while it was out of view is not known.",
    )


@dataclass(frozen=True, slots=True)
class ChangedArea(PairNumber):
    """Per cent of the revisited view that shows something else than at the first visit.

    The first visit is laid over the return, its light is made equal, and patches are compared by colour: where they
    differ by more than 10 Delta E and no shift of 1 % of the frame's height helps, something changed. It sees things
    that vanished, appeared, moved, or have another colour, texture or shape. It cannot tell whether they should have:
    a person who walked on is a change as well. Where the camera only turns, places that change within both visits as
    well, such as water, leaves and fire, are set aside unless they differ more than twice as much between them;
    `detail.set_aside` is their part of the view, in per cent, for each pair.

    Abstains: `gate_closed` where less than 20 % of a view was seen, left and seen again, or where the camera came back
    to another place; `pose_failed` where the camera could not be tracked; `not_applicable` where more than half of the
    view is set aside.
    """

    name = "changed_area"
    version = 2
    unit = "%"
    range = (0.0, 100.0)

    max_set_aside: Annotated[float, "per cent of the revisited view that may move by itself"] = 50.0

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        changes = features["changes"]
        outcome = too_much_moves(changes, self.max_set_aside) or PairNumber.measure(self, rollout, features)
        if not isinstance(outcome, Score):
            return outcome
        shares: list[Json] = [round(float(share), 1) for share in changes["set_aside"]]
        return replace(outcome, detail={**outcome.detail, "set_aside": shares})


@dataclass(frozen=True, slots=True)
class LightChange(PairNumber):
    """Stops by which the revisited view is brighter or darker, as the mean over red, green and blue.

    For each channel, the median over the view of the logarithm of the ratio of linear light; pixels near black and
    near white are left out.

    Abstains: `gate_closed` and `pose_failed` as the changed area does.
    """

    name = "light"
    unit = "stops"

    def of_pairs(self, changes: Feature) -> list[float]:
        """The mean over channels."""
        return [float(value) for value in np.abs(changes["stops"]).mean(axis=1)]


@dataclass(frozen=True, slots=True)
class LookChange(PairNumber):
    """Delta E that is left in most of the revisited view after the light is made equal: another style or texture.

    It is the 30 % quantile over the view, so that a large thing that changed does not count as another look.

    Abstains: `gate_closed` and `pose_failed` as the changed area does.
    """

    name = "look"
    unit = "Delta E"


@dataclass(frozen=True, slots=True)
class MovedPoints(PairNumber):
    """Hint: matched points of the revisited view that went another way than the view, in groups of three or more.

    Abstains: `gate_closed` and `pose_failed` as the changed area does.
    """

    name = "moved"
    unit = "points"


@dataclass(frozen=True, slots=True)
class CopiedPoints(PairNumber):
    """Hint: points in changed places that look like a thing of the first visit which is still in its own place.

    Abstains: `gate_closed` and `pose_failed` as the changed area does.
    """

    name = "copied"
    unit = "points"


@dataclass(frozen=True, slots=True)
class CarriedArea(MetricBase):
    """Hint: per cent of the picture that left its place together with the turning camera.

    `detail.follows` is how far it went along: 1 stays in the picture. A person who walks in the direction of the turn
    looks the same, so that it is no score.

    Abstains: `gate_closed` and `pose_failed` as the changed area does; `not_applicable` where the camera moves, since
    parallax looks the same.
    """

    name = "carried"
    unit = "%"
    range = (0.0, 100.0)
    higher_is_better = False
    needs = ("changes",)

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        changes = features["changes"]
        if changes.detail["camera"] == "moves":
            return Abstention(
                Reason.NOT_APPLICABLE, "the camera moves, and parallax looks like an object carried along."
            )
        area, weight = (float(value) for value in changes["carried"])
        return Score(area, detail={"follows": weight})


@dataclass(frozen=True, slots=True)
class Undone(MetricBase):
    """Hint: part of what had changed before the camera left that is as in the first frame again at the return.

    1 - (changed from the first frame to the return) / (changed from the first frame to the last before leaving).

    Abstains: `gate_closed` and `pose_failed` as the changed area does; `not_applicable` where nothing had changed
    before the camera left, or where the first frame does not show the view.
    """

    name = "undone"
    unit = "share"
    higher_is_better = False
    needs = ("changes",)

    min_changed: Annotated[float, "per cent of the view that must have changed before the camera left"] = 1.0

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        found = features["changes"]["undone"]
        if len(found) == 0:
            return Abstention(Reason.NOT_APPLICABLE, "the first frame shows too little of the view that was revisited.")
        before, after = (float(value) for value in found)
        if before < self.min_changed:
            return Abstention(
                Reason.NOT_APPLICABLE,
                f"{before:.1f} % of the view changed before the camera left, expected {self.min_changed:g} %.",
            )
        return Score(min(1.0, max(0.0, 1 - after / before)), detail={"before": before, "after": after})


@dataclass(frozen=True, slots=True)
class Remembered(MetricBase):
    """1 where the revisited view came back unchanged: nothing below is above its limit. Otherwise 0.

    `detail.flagged` names the numbers above their limits. The mean over rollouts is the share of tested rollouts that
    remembered. Where the case asks for an event that goes on unseen, a change may be right: the case decides.

    Abstains: `gate_closed`, `pose_failed` and `not_applicable` as the changed area does.
    """

    name = "remembered"
    version = 2
    unit = "share"
    needs = ("changes",)

    max_changed_area: Annotated[float, "per cent of the revisited view"] = 0.5
    max_light: Annotated[float, "stops"] = 0.15
    max_look: Annotated[float, "Delta E"] = 5.0
    max_set_aside: Annotated[float, "per cent of the revisited view that may move by itself"] = 50.0

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        changes = features["changes"]
        if (declined := too_much_moves(changes, self.max_set_aside)) is not None:
            return declined
        limits = (
            (ChangedArea(), self.max_changed_area),
            (LightChange(), self.max_light),
            (LookChange(), self.max_look),
        )
        found = {metric.name: median(metric.of_pairs(changes)) for metric, _ in limits}
        flagged: list[Json] = [metric.name for metric, limit in limits if found[metric.name] > limit]
        return Score(float(not flagged), detail={"flagged": flagged, **found})
