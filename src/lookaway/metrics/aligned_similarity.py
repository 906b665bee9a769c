"""Similarity of first visit and return, laid over each other; and where it lies between the worst and the best."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Annotated, ClassVar

from lookaway.core import Abstention, Feature, Features, MetricBase, Outcome, Reason, Rollout, Score, Unit
from lookaway.metrics.revisit_numbers import PairNumber, pair_facts, pair_names


@dataclass(frozen=True, slots=True)
class AlignedSsim(PairNumber):
    """SSIM of first visit and return, laid over each other, over what was seen, left and seen again.

    Abstains: `gate_closed` and `pose_failed` as the changed area does.
    """

    name = "aligned_ssim"
    higher_is_better = True
    range = (-1.0, 1.0)

    def of_pairs(self, changes: Feature) -> list[float]:
        """The similarity of each pair."""
        return [float(value) for value in changes["ssim"]]


@dataclass(frozen=True, slots=True)
class AlignedLpips(PairNumber):
    """LPIPS of first visit and return, laid over each other, over what was seen, left and seen again.

    Abstains: `gate_closed` and `pose_failed` as the changed area does; `missing_weights` without the network.
    """

    name = "aligned_lpips"
    needs = ("revisit_lpips",)

    def of_pairs(self, changes: Feature) -> list[float]:
        """The distance of each pair."""
        return [float(value) for value in changes["distances"]]


@dataclass(frozen=True, slots=True)
class AlignedDino(PairNumber):
    """Cosine of the mean DINO patch tokens of first visit and return, over what was seen, left and seen again.

    It says what is in the view, hardly where.

    Abstains: `gate_closed` and `pose_failed` as the changed area does; `missing_weights` without the network.
    """

    name = "aligned_dino"
    needs = ("revisit_tokens",)
    higher_is_better = True
    range = (-1.0, 1.0)

    def of_pairs(self, changes: Feature) -> list[float]:
        """The similarity of each pair."""
        return [1 - float(value) for value in changes["distances"]]


@dataclass(frozen=True, slots=True)
class PairLift(MetricBase):
    """Where the similarity of a pair lies between a floor and a ceiling of the same clip; the median over pairs.

    The floor is the similarity of the first visit to a frame in which what is compared is out of view, the ceiling
    that to its neighbouring frame. So 0 is as good as nothing, 1 is as good as the next frame.
    """

    higher_is_better = True
    range: ClassVar[tuple[float | None, float | None]] = (None, None)
    arrays: ClassVar[tuple[str, str]] = ("distances", "control_distances")
    """Names of the values of pairs, and of those of their floors and ceilings."""
    is_distance: ClassVar[bool] = True

    min_gap: Annotated[float, "least difference of ceiling and floor; below it, similarity tells nothing"] = 0.05

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        found = features[self.needs[0]]
        outcomes = self.of_pairs(found)
        units = tuple(Unit(name, outcome) for name, outcome in zip(pair_names(found), outcomes, strict=True))
        lifts = [outcome.value for outcome in outcomes if isinstance(outcome, Score)]
        if not lifts:
            message = next(outcome.message for outcome in outcomes if isinstance(outcome, Abstention))
            return Abstention(Reason.NOT_APPLICABLE, message, units)
        return Score(median(lifts), units=units, detail=pair_facts(found))

    def of_pairs(self, found: Feature) -> list[Score | Abstention]:
        """The lift of each pair that has both controls, and whose controls differ."""
        pairs, controls = (found[name].tolist() for name in self.arrays)
        own = dict(zip(found["controls"][:, 0].tolist(), controls, strict=True))
        return [self._lift(value, own.get(row)) for row, value in enumerate(pairs)]

    def _lift(self, value: float, controls: list[float] | None) -> Score | Abstention:
        if controls is None:
            return Abstention(Reason.NOT_APPLICABLE, "no frame shows another view, or no neighbour the same view.")
        floor, ceiling = controls
        gap = floor - ceiling if self.is_distance else ceiling - floor
        if gap < self.min_gap:
            return Abstention(
                Reason.NOT_APPLICABLE,
                f"another view is nearly as similar as the next frame: floor {floor:.3f}, ceiling {ceiling:.3f}, "
                f"expected {self.min_gap:g} between them.",
            )
        return Score((value - floor) / (ceiling - floor), detail={"floor": floor, "ceiling": ceiling})


@dataclass(frozen=True, slots=True)
class SsimLift(PairLift):
    """Where `aligned_ssim` lies between that of unrelated views (0) and that of neighbouring frames (1) of the clip.

    Abstains: `gate_closed` and `pose_failed` as the changed area does; `not_applicable` where every frame shows what
    is compared, or where unrelated views are nearly as similar as neighbouring frames.
    """

    name = "ssim_lift"
    needs = ("changes",)
    arrays = ("ssim", "control_ssim")
    is_distance = False


@dataclass(frozen=True, slots=True)
class LpipsLift(PairLift):
    """Where `aligned_lpips` lies between that of unrelated views (0) and that of neighbouring frames (1) of the clip.

    Abstains: `gate_closed`, `pose_failed` and `not_applicable` as the lift of SSIM does; `missing_weights` without the
    network.
    """

    name = "lpips_lift"
    needs = ("revisit_lpips",)


@dataclass(frozen=True, slots=True)
class DinoLift(PairLift):
    """Where `aligned_dino` lies between that of unrelated views (0) and that of neighbouring frames (1) of the clip.

    Abstains: `gate_closed`, `pose_failed` and `not_applicable` as the lift of SSIM does; `missing_weights` without the
    network.
    """

    name = "dino_lift"
    needs = ("revisit_tokens",)
