"""A reward for memory: metrics with weights, limits from their cards, and a rule for what could not be measured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from lookaway.calibration.card import CLEAN_LOOK, MetricCard, bound_chain, bound_protocol
from lookaway.calibration.run_cards import shipped_cards
from lookaway.core import BoundMetric, Compute, Lock, UserError
from lookaway.engine.locking import metric_entries
from lookaway.engine.scorer import CasePaths, Scorer, VideoScores
from lookaway.io.dataset_files import checked, decoded, read_limited
from lookaway.io.limits import MAX_YAML_BYTES
from lookaway.io.safe_yaml import parse_yaml

HIGHEST: Final = 1.0
"""The severity at which a fault earns nothing."""
Number = Annotated[float, Field(allow_inf_nan=False)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class RewardTerm(_Record):
    """What one metric earns: 1 at its ceiling and beyond, 0 at its floor, evenly in between."""

    weight: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    floor: Number | None = None
    """Score that earns nothing; by default what its card has for a whole fault that it is there to find."""
    ceiling: Number | None = None
    """Score that earns everything; by default what its card has for the worst of 95 % of clean clips."""
    required: bool = True
    """Whether the reward is unmeasured where this metric is; a term that is not required is left out instead."""


class RewardRecipe(_Record):
    """`reward.yaml`: everything that a reward depends on apart from the metrics themselves."""

    format: Literal[1] = 1
    suite: str = "revisit"
    combine: Literal["product", "mean"] = "product"
    """A weighted geometric mean, in which nothing makes up for a term that earns nothing, or a plain weighted mean."""
    unmeasured: Literal["mask"] | Number = "mask"
    """What a video earns that could not be measured, or on which memory was not tested: nothing, or a constant."""
    gated: bool = True
    """Whether an untested video is unmeasured, however consistent it is."""
    terms: Annotated[dict[str, RewardTerm], Field(min_length=1, max_length=64)]


MEMORY: Final = RewardRecipe(
    terms={
        "changed_area": RewardTerm(weight=2.0),
        "light": RewardTerm(),
        "look": RewardTerm(),
        "aligned_ssim": RewardTerm(floor=0.7, ceiling=0.96),
        "carried": RewardTerm(required=False),
        "cut": RewardTerm(required=False),
        "reach_missing": RewardTerm(required=False, floor=25.0, ceiling=5.0),
        "undone": RewardTerm(required=False, floor=1.0, ceiling=0.5),
    }
)
"""The reward of this package: what changed, in which light and look, how sharp, and whether the camera really went."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardValue:
    """What one video earns."""

    value: float | None
    """From 0 to 1, or the constant of the recipe; `None` where the video is masked."""
    is_measured: bool
    why_not: str = ""
    """Why it is not measured."""
    parts: Mapping[str, float]
    """What each term earns, from 0 to 1, before weights; terms that are left out are not among them."""
    scores: VideoScores


class Reward:
    """Scores videos and turns the scores into one number; safe to call from several threads."""

    def __init__(self, recipe: RewardRecipe = MEMORY, *, compute: Compute | None = None) -> None:
        self.recipe = recipe
        self.scorer = Scorer(list(recipe.terms), suite=recipe.suite, compute=compute)
        bounds = {bound.name: bound for bound in self.scorer.bounds if not bound.is_gate}
        for bound in bounds.values():
            _refuse_frozen(bound)
        self.limits = {name: _limits(term, bounds[name]) for name, term in recipe.terms.items()}
        """Floor and ceiling of each term."""

    @property
    def stated(self) -> RewardRecipe:
        """The recipe with every limit written out: it pays the same when cards change."""
        terms = {
            name: term.model_copy(update=dict(zip(("floor", "ceiling"), self.limits[name], strict=True)))
            for name, term in self.recipe.terms.items()
        }
        return self.recipe.model_copy(update={"terms": terms})

    @property
    def lock(self) -> Lock:
        """Everything that can move what it pays: the recipe with its limits, and the locks of its metrics and gates."""
        metrics = {bound.name: metric_entries(bound) for bound in self.scorer.bounds}
        return Lock({"reward": self.stated.model_dump(mode="json"), "metrics": metrics})

    @classmethod
    def read(cls, path: Path, *, compute: Compute | None = None) -> Reward:
        """The reward that a YAML file describes; a `DatasetError` says what is wrong with it."""
        where = str(path)
        content = parse_yaml(decoded(read_limited(path, MAX_YAML_BYTES), where), where)
        return cls(checked(RewardRecipe, content, where), compute=compute)

    def __call__(
        self, video: Any, *, fps: float = 16.0, paths: CasePaths | None = None, prompt: tuple[str, ...] = ()
    ) -> RewardValue:
        """What a video earns; arguments are those of `Scorer`."""
        return self.of(self.scorer(video, fps=fps, paths=paths, prompt=prompt))

    def of(self, scores: VideoScores) -> RewardValue:
        """What a video with these scores earns."""
        recipe, parts = self.recipe, {}
        why_not = "" if scores.is_tested or not recipe.gated else "memory was not tested"
        for name, term in recipe.terms.items():
            outcome = scores[name]
            value = getattr(outcome, "value", None)
            if value is not None:
                parts[name] = _earned(value, *self.limits[name])
            elif term.required and not why_not:
                why_not = f"{name}: {getattr(outcome, 'reason', 'no score')}"
        if why_not:
            constant = None if recipe.unmeasured == "mask" else float(recipe.unmeasured)
            return RewardValue(value=constant, is_measured=False, why_not=why_not, parts=parts, scores=scores)
        value = combined(parts, {name: recipe.terms[name].weight for name in parts}, recipe.combine)
        return RewardValue(value=value, is_measured=True, parts=parts, scores=scores)


def combined(parts: Mapping[str, float], weights: Mapping[str, float], combine: str) -> float:
    """One number from 0 to 1.

    >>> combined({"a": 1.0, "b": 0.0}, {"a": 1.0, "b": 1.0}, "mean")
    0.5
    >>> combined({"a": 1.0, "b": 0.0}, {"a": 1.0, "b": 1.0}, "product")
    0.0
    """
    total = sum(weights.values())
    if combine == "mean":
        return sum(weights[name] * part for name, part in parts.items()) / total
    if min(parts.values()) <= 0:
        return 0.0
    return math.exp(sum(weights[name] * math.log(part) for name, part in parts.items()) / total)


def _earned(value: float, floor: float, ceiling: float) -> float:
    return min(1.0, max(0.0, (value - floor) / (ceiling - floor)))


def _refuse_frozen(bound: BoundMetric) -> None:
    """A published number that a still video wins, or that was not tried on one, would teach a model to stand still."""
    if bound.protocol not in ("published", "both"):
        return
    won = shipped_cards().is_won_by_frozen(bound_chain(bound)[1], bound_protocol(bound))
    if won or (won is None and bound.is_consistency):
        why = "a still video scores as well as a perfect memory" if won else "no card says what a still video scores"
        raise UserError(
            f"{bound.name}: {why}, so it cannot be a reward. Leave it out, or take a corrected metric: "
            "`lookaway metrics` lists them as PREFIX.corrected.NAME."
        )


def _limits(term: RewardTerm, bound: BoundMetric) -> tuple[float, float]:
    """Floor and ceiling of a term, from its card where the recipe leaves them open."""
    floor, ceiling = term.floor, term.ceiling
    if floor is None or ceiling is None:
        card = _card(bound)
        found = None if card is None else card_limits(card)
        if found is None:
            raise UserError(
                f"{bound.name}: no card says what a clean video and a whole fault get. Expected `floor` and `ceiling` "
                "in the reward; give both, or calibrate the metric with `lookaway calibrate`."
            )
        floor = found[0] if floor is None else floor
        ceiling = found[1] if ceiling is None else ceiling
    is_upward = ceiling > floor
    if floor == ceiling or is_upward != bound.metric.higher_is_better:
        way = "above" if bound.metric.higher_is_better else "below"
        raise UserError(f"{bound.name}: the ceiling is {ceiling:g}. Expected it {way} the floor, which is {floor:g}.")
    return floor, ceiling


def _card(bound: BoundMetric) -> MetricCard | None:
    """The card of the metric from most clips; sizes differ little, and a trainer has one of its own."""
    chain = bound_chain(bound)[1]
    known = [c for c in shipped_cards().cards if c.chain_sha256 == chain and c.look == CLEAN_LOOK]
    return max(known, key=lambda card: card.clips, default=None)


def card_limits(card: MetricCard) -> tuple[float, float] | None:
    """Floor and ceiling by a card: the mildest mean of whole faults that it must find, and the worst of clean clips."""
    points = (response.at(HIGHEST) for response in card.responses if response.role == "must_find" and response.is_found)
    worst = [point.score.mean for point in points if point is not None and point.score is not None]
    if card.floor is None or not worst:
        return None
    return (max(worst), card.floor.p5) if card.higher_is_better else (min(worst), card.floor.p95)
