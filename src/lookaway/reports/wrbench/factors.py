"""The table of a run of WRBench, cut by event, camera or interface, and contrasts of the 2 x 2 of events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final, TypeAlias

import numpy as np

from lookaway.core import Estimate, UserError
from lookaway.engine.run import Run
from lookaway.reports.numbers import estimate_interval, print_json, print_rows, probability, signed
from lookaway.reports.scored_rollouts import ScoredRollout, require_suite, scored_rollouts
from lookaway.reports.wrbench.dimensions import (
    DIMENSIONS,
    RETURNED_SPACE,
    SUITE,
    SUPPORT,
    DimensionRow,
    Protocol,
    PublishedNumbers,
    dimension_cell,
    is_low_n,
    published_average,
    require_protocol,
)
from lookaway.statistics.intervals import clustered_share, effective_size, mean_estimates
from lookaway.statistics.paired_difference import CaseValues, false_discovery, paired_difference, signed_ranks
from lookaway.statistics.scene_bootstrap import named_scene_sums
from lookaway.suites.wrbench.records import EVENTS, CaseKey, Change

GATE: Final = f"{SUITE}.reobserved"
ALL_MODELS: Final = "all models"
NOT_STATED: Final = "not stated"
INTERFACES: Final[Mapping[str, Sequence[str]]] = {
    "source-video": ("recammaster", "hydra", "inspatio-world", "inspatio_world_14b"),
    "geometry-cache": ("gen3c", "spatia", "versecrafter"),
    "prompt-only": (
        *("hailuo_2_3", "happyhorse_1_0_i2v", "kling_v2_6", "wan2_2_i2v_plus", "wan2_6_i2v", "wan2_7_i2v"),
        "wanx2_1_i2v_turbo",
    ),
    "model-inferred": (
        *("easyanimate-v51-camera", "hunyuan-game-craft", "hunyuan-worldplay", "hunyuanworld-voyager"),
        *("hyworld-worldgen", "lingbot-world", "lingbot-world-act", "liveworld", "magicworld", "matrix-game-2"),
        *("matrix-game-3", "minwm-hy-action2v", "minwm-wan-action2v", "sana-wm", "wan21-fun-14b-cam"),
        *("wan21-fun-1p3b-cam", "wan22-fun-5b-cam", "wan22-fun-a14b-cam"),
    ),
}
"""The viewpoint condition of WRBench's models; their names have hyphens in its registry, underscores in its results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactoredRollout:
    """A rollout with its scores, and what its case says about event and camera."""

    scored: ScoredRollout
    key: CaseKey
    interface: str
    protocol: Protocol
    """Whose values it has."""

    @property
    def passes(self) -> bool:
        """Whether the target is known to have left the view and to have been seen again."""
        return self.scored.passes(GATE)

    def value(self, name: str) -> float | None:
        """The score of a dimension, or 1 or 0 for support; `None` where it has none or does not count."""
        if name == SUPPORT:
            return self.scored.values.get(GATE)
        dimension = DIMENSIONS[name]
        return (
            self.scored.values.get(dimension.metric_of(self.protocol))
            if self.passes or not dimension.is_conditional
            else None
        )


FACTORS: Final[Mapping[str, Callable[[FactoredRollout], str]]] = {
    "event": lambda rollout: rollout.key.change,
    "moves": lambda rollout: "moves" if EVENTS[rollout.key.change].moves else "stays",
    "changes": lambda rollout: "changes" if EVENTS[rollout.key.change].changes else "keeps its state",
    "camera": lambda rollout: rollout.key.camera,
    "interface": lambda rollout: rollout.interface,
    "family": lambda rollout: rollout.key.family_id,
    "action": lambda rollout: rollout.key.family_id.rpartition("_")[2],
}
"""What tables can be cut by; an action is the last word of a family's name, as in `bedroom_cat_bed_jump`."""


def interface_of(model: str, given: Mapping[str, str]) -> str:
    """The viewpoint condition of a model: as given, or that of a model of WRBench.

    >>> interface_of("wan22_fun_5b_cam", {}), interface_of("mine", {"mine": "prompt-only"}), interface_of("mine", {})
    ('model-inferred', 'prompt-only', 'not stated')
    """
    if model in given:
        return given[model]
    names = {model, model.replace("_", "-")}
    return next((found for found, known in INTERFACES.items() if names.intersection(known)), NOT_STATED)


def factored_rollouts(
    run: Run, interfaces: Mapping[str, str] | None = None, protocol: Protocol = "published"
) -> list[FactoredRollout]:
    """All rollouts of a run of WRBench, with the values of a protocol.

    Refuses runs of other suites, those that hold nothing of the protocol, and ids that do not name event and camera.
    """
    require_suite(run, SUITE)
    require_protocol(run, protocol)
    found = []
    for rollout in scored_rollouts(run):
        key = CaseKey.parse(rollout.case)
        if key is None:
            raise UserError(
                f"{run.path}: the case {rollout.case!r} does not name its event and camera; expected an id such as "
                "bedroom_cat_bed_jump__T2_div_b__none__yaw60_RL."
            )
        interface = interface_of(rollout.model, interfaces or {})
        found.append(FactoredRollout(scored=rollout, key=key, interface=interface, protocol=protocol))
    if unknown := sorted(set(interfaces or {}) - {rollout.scored.model for rollout in found}):
        raise UserError(f"{run.path}: there is no model {unknown[0]!r}, for which an interface is given.")
    return found


def run_scores(rollouts: Sequence[FactoredRollout]) -> Callable[[str, str], float | None]:
    """The score of a dimension for a rollout, by their names; refuses a dimension that the table does not have."""
    by_id = {rollout.scored.id: rollout for rollout in rollouts}

    def score(dimension: str, video: str) -> float | None:
        if dimension not in DIMENSIONS:
            raise UserError(f"There is no dimension {dimension!r}; expected one of {', '.join(DIMENSIONS)}.")
        if video not in by_id:
            raise UserError(f"The run has no rollout {video!r}; expected ids such as {next(iter(by_id), '')!r}.")
        return by_id[video].value(dimension)

    return score


def dimension_rows(rollouts: Sequence[FactoredRollout]) -> list[DimensionRow]:
    """One row for each model: the table of the run."""
    models = _parts(rollouts, lambda rollout: rollout.scored.model)
    return _rows([(model, own) for model, own in models.items()])


def sliced_rows(rollouts: Sequence[FactoredRollout], factor: str) -> list[tuple[str, DimensionRow]]:
    """One row for each slice and model, and where it has several one over all, in which every rollout counts once."""
    samples = []
    for part, own in sorted(_parts(rollouts, FACTORS[factor]).items()):
        models = sorted(_parts(own, lambda rollout: rollout.scored.model).items())
        samples += [(part, ALL_MODELS, own)] if len(models) > 1 else []
        samples += [(part, model, some) for model, some in models]
    rows = _rows([(model, own) for _, model, own in samples])
    return [(part, row) for (part, _, _), row in zip(samples, rows, strict=True)]


def _parts(
    rollouts: Sequence[FactoredRollout], by: Callable[[FactoredRollout], str]
) -> dict[str, list[FactoredRollout]]:
    parts: dict[str, list[FactoredRollout]] = {}
    for rollout in rollouts:
        parts.setdefault(by(rollout), []).append(rollout)
    return parts


def _rows(samples: Sequence[tuple[str, Sequence[FactoredRollout]]]) -> list[DimensionRow]:
    """All means together, since they share their bootstrap draws."""
    measured = {name for _, own in samples for rollout in own for name in DIMENSIONS if rollout.value(name) is not None}
    shown = [name for name in DIMENSIONS if name in measured]
    series = [
        [(value, rollout.scored.scene) for rollout in own if (value := rollout.value(name)) is not None]
        for _, own in samples
        for name in shown
    ]
    sums = [named_scene_sums(np.array([value for value, _ in one]), [scene for _, scene in one]) for one in series]
    estimates = mean_estimates(sums, [(0.0, 1.0)] * len(sums))
    cells = iter(
        [
            dimension_cell(estimate, float(effective_size(own).size))
            for estimate, own in zip(estimates, sums, strict=True)
        ]
    )
    rows = []
    for model, own in samples:
        interfaces = {rollout.interface for rollout in own}
        rows.append(
            DimensionRow(
                model=model,
                condition=interfaces.pop() if len(interfaces) == 1 else "several",
                outputs=len(own),
                support=_support(own),
                cells={name: next(cells) for name in shown},
                published=published_numbers(own),
            )
        )
    return rows


def _support(rollouts: Sequence[FactoredRollout]) -> Estimate | None:
    judged = [rollout for rollout in rollouts if GATE in rollout.scored.values]
    passed = np.array([rollout.passes for rollout in judged], np.bool_)
    return clustered_share(passed, [rollout.scored.scene for rollout in judged])


def published_numbers(rollouts: Sequence[FactoredRollout]) -> PublishedNumbers:
    """The numbers that the rules of the published table make of these rollouts.

    Camera alignment is the mean over all rollouts whose camera should turn: the released table builder leaves zeros out
    and adds cameras that held still, but the published counts are those of all.
    """
    values = {}
    for name in DIMENSIONS:
        found = [value for rollout in rollouts if (value := rollout.value(name)) is not None]
        if found:
            values[name] = sum(found) / len(found)
    passed = sum(rollout.value(RETURNED_SPACE) is not None for rollout in rollouts)
    return PublishedNumbers(
        values=values,
        support=sum(rollout.passes for rollout in rollouts) / len(rollouts),
        average=published_average(values),
        is_low_n=is_low_n(passed, len(rollouts)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """What one factor of the event does to one dimension."""

    dimension: str
    factor: str
    """`moves`, `changes`, or `interaction`: what moving adds where the state changes, less what it adds elsewhere."""
    difference: Estimate
    """Mean over pairs of rollouts that differ in nothing else, with its interval over scenes."""
    p: float
    """The probability of a sign-flip test over scenes."""
    q: float
    """p after Benjamini and Hochberg's correction for all contrasts of the table."""
    by_model: Mapping[str, float]
    """As in the paper: difference of the means of all rollouts with and without the factor, model by model."""
    published_mean: float | None
    """Mean of these over models; `None` where no model has all cells."""
    published_p: float | None
    """The probability of Wilcoxon's signed-rank test over models."""


def contrasts(rollouts: Sequence[FactoredRollout]) -> list[Contrast]:
    """Every factor and the interaction, for support and every dimension that has pairs of rollouts."""
    found = []
    for name in (SUPPORT, *DIMENSIONS):
        known = [(rollout, value) for rollout in rollouts if (value := rollout.value(name)) is not None]
        models = _by_event(known)
        for factor in ("moves", "changes"):
            sides = [_side(known, factor, is_on=is_on) for is_on in (True, False)]
            found.append((name, factor, paired_difference(*sides, span=1.0), _differences(models, factor)))
        effects = [_moving_effect(known, changes=changes) for changes in (True, False)]
        found.append((name, "interaction", paired_difference(*effects, span=2.0), _interactions(models)))
    tested = [(name, factor, pair, by_model) for name, factor, pair, by_model in found if pair is not None]
    q_values = false_discovery([pair.sign_flip.p for _, _, pair, _ in tested]).q
    return [
        Contrast(
            dimension=name,
            factor=factor,
            difference=pair.difference,
            p=pair.sign_flip.p,
            q=q,
            by_model=by_model,
            published_mean=float(np.mean(list(by_model.values()))) if by_model else None,
            published_p=signed_ranks(np.array(list(by_model.values()))).p if by_model else None,
        )
        for (name, factor, pair, by_model), q in zip(tested, q_values, strict=True)
        if q is not None
    ]


Known: TypeAlias = Sequence[tuple[FactoredRollout, float]]
EventValues: TypeAlias = Mapping[str, Mapping[Change, Sequence[float]]]
"""Values by model and event."""


def _has(change: Change, factor: str) -> bool:
    return EVENTS[change].moves if factor == "moves" else EVENTS[change].changes


def _side(known: Known, factor: str, *, is_on: bool) -> CaseValues:
    """Rollouts with or without a factor; those that differ in nothing else have one name."""
    own = [(rollout, value) for rollout, value in known if _has(rollout.key.change, factor) == is_on]
    other = "changes" if factor == "moves" else "moves"
    return CaseValues(
        values=np.array([value for _, value in own]),
        cases=[f"{_twin(rollout)}/{_has(rollout.key.change, other)}" for rollout, _ in own],
        scenes=[rollout.scored.scene for rollout, _ in own],
    )


def _twin(rollout: FactoredRollout) -> str:
    """What rollouts of one model share that differ in their event alone."""
    key, seed = rollout.key, rollout.scored.id.rpartition("/")[2]
    return "/".join((rollout.scored.model, key.family_id, key.prompt_variant, key.camera, seed))


def _moving_effect(known: Known, *, changes: bool) -> CaseValues:
    """What moving adds to each rollout that keeps or changes its state."""
    own = [(rollout, value) for rollout, value in known if EVENTS[rollout.key.change].changes == changes]
    without = {_twin(rollout): value for rollout, value in own if not EVENTS[rollout.key.change].moves}
    pairs = [
        (rollout, value - without[_twin(rollout)])
        for rollout, value in own
        if EVENTS[rollout.key.change].moves and _twin(rollout) in without
    ]
    return CaseValues(
        values=np.array([difference for _, difference in pairs]),
        cases=[_twin(rollout) for rollout, _ in pairs],
        scenes=[rollout.scored.scene for rollout, _ in pairs],
    )


def _by_event(known: Known) -> EventValues:
    found: dict[str, dict[Change, list[float]]] = {}
    for rollout, value in known:
        found.setdefault(rollout.scored.model, {}).setdefault(rollout.key.change, []).append(value)
    return dict(sorted(found.items()))


def _differences(models: EventValues, factor: str) -> dict[str, float]:
    """Mean of all rollouts with a factor less that of those without it, for every model that has both."""
    found = {}
    for model, events in models.items():
        on, off = (
            [value for change, values in events.items() if _has(change, factor) == is_on for value in values]
            for is_on in (True, False)
        )
        if on and off:
            found[model] = float(np.mean(on) - np.mean(off))
    return found


def _interactions(models: EventValues) -> dict[str, float]:
    found = {}
    for model, events in models.items():
        means = {change: float(np.mean(values)) for change, values in events.items()}
        if len(means) == len(EVENTS):
            found[model] = (means["full"] - means["state_only"]) - (means["spatial"] - means["none"])
    return found


def print_contrasts(found: Sequence[Contrast], *, as_json: bool) -> None:
    """One line for each dimension and factor."""
    if as_json:
        print_json([asdict(contrast) for contrast in found])
        return
    rows = [
        {
            "dimension": contrast.dimension,
            "factor": contrast.factor,
            "difference": signed(contrast.difference.mean),
            "95 %": estimate_interval(contrast.difference),
            "p": probability(contrast.p),
            "q": probability(contrast.q),
            "pairs": f"{contrast.difference.scored}",
            "over models": signed(contrast.published_mean),
            "p over models": probability(contrast.published_p),
            "models": f"{len(contrast.by_model)}",
        }
        for contrast in found
    ]
    right = ("difference", "p", "q", "pairs", "over models", "p over models", "models")
    print_rows(rows, as_json=False, right=right)
