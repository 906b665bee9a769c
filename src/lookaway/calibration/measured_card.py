"""Makes cards from the outcomes of a run on the simulated world, whose clips say what was done to them."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Literal

import numpy as np

from lookaway.calibration.card import (
    CLEAN_LOOK,
    GIVEN,
    REFERENCE,
    Control,
    Course,
    DosePoint,
    FaultResponse,
    Floor,
    MeanRecord,
    MetricCard,
    Nuisance,
    chain_of,
    protocol_of,
)
from lookaway.core import Estimate, Floats
from lookaway.io.clip_card import ClipCard
from lookaway.statistics.detection import auc_estimate
from lookaway.statistics.intervals import Range, scene_mean
from lookaway.statistics.paired_difference import smallest_difference
from lookaway.statistics.rank_correlation import spearman
from lookaway.world.faults import FAULTS

LEVEL: Final = 1e-3
"""Smaller differences, as a part of the range, are rounding, or codecs."""
SATURATED: Final = 0.01
"""Part of the range at each end within which a score is saturated."""
MIN_DOSES: Final = 3
DIGITS: Final = 6
TRUTH_PREFIX: Final = "true_"
"""How the names of extractors begin that read the ground truth."""
ORACLE: Final = "oracle"
"""What the server of a judge that knows the ground truth reports as its model."""
MUST_FIND: Final[Mapping[str, tuple[str, ...]]] = {
    "human_identity_consistency": ("identity_texture", "identity_colour", "identity_shape"),
    "human_appearance_consistency": ("identity_texture", "identity_colour", "identity_shape"),
    "spatial_epipolar": ("layout_change", "teleport"),
    "spatial_reprojection": ("layout_change", "teleport"),
    "rendering_lighting": ("lighting_shift",),
    "rendering_style": ("style_shift",),
    "object_texture_consistency": ("identity_texture", "identity_colour"),
    "object_geometry_consistency": ("identity_shape", "teleport", "vanish"),
    "camera_interaction": ("temporal_cut", "camera_never_moves"),
    "state_progress": ("state_reset", "frozen_while_unseen"),
    "progress_correctness": ("state_reset", "frozen_while_unseen"),
    "prompt_interaction": ("vanish", "state_reset", "frozen_while_unseen"),
    "changed_area": (
        "vanish", "identity_texture", "identity_colour", "identity_shape", "teleport", "duplicate", "layout_change",
    ),
    "light": ("lighting_shift",),
    "look": ("style_shift",),
    "return_error": ("camera_drift",),
    "reach_missing": ("camera_never_moves",),
    "carried": ("dragged_along",),
    "cut": ("temporal_cut",),
}  # fmt: skip
"""The faults that a metric is there to find, by the last word of its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipLabel:
    """What is known about a clip before it is measured."""

    kind: Literal["clean", "fault", "control", "nuisance"]
    name: str = ""
    """Fault, control or nuisance."""
    severity: float = 0.0
    dose: float = 0.0
    dose_unit: str = ""
    family: str = ""
    size: tuple[int, int] = (0, 0)
    """Height and width of the clean clip."""
    fps: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledScore:
    """One outcome of one metric, with the label of its clip."""

    label: ClipLabel
    case: str
    scene: str
    value: float | None
    """`None` where there is no score."""
    reason: str = ""
    """Why there is none."""
    branch: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibratedMetric:
    """What a card says about its metric, apart from what is measured."""

    name: str
    chain: str = ""
    chain_sha256: str = ""
    protocol_sha256: str = ""
    higher_is_better: bool = True
    unit: str = "score"
    range: Range = (0.0, 1.0)
    reads_truth: bool = False
    """Whether some feature that has to be extracted elsewhere is read from the ground truth."""

    @classmethod
    def of_run(cls, entry: Mapping[str, Any], lock: Mapping[str, Any]) -> CalibratedMetric:
        """From the entry of a metric in `run.json` and its entries in the lock."""
        chain, sha256 = chain_of(lock)
        low, high = entry["range"]
        extracted = {name: recipe for name, recipe in lock["features"].items() if name not in GIVEN}
        return cls(
            name=entry["name"], chain=chain, chain_sha256=sha256, protocol_sha256=protocol_of(lock), range=(low, high),
            higher_is_better=entry["higher_is_better"], unit=entry["unit"], reads_truth=_reads_truth(extracted),
        )  # fmt: skip

    @property
    def sign(self) -> float:
        """Factor that makes more of a score better."""
        return 1.0 if self.higher_is_better else -1.0

    @property
    def span(self) -> float | None:
        """Width of the range; `None` where an end is open."""
        low, high = self.range
        return None if low is None or high is None else high - low


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationSetting:
    """What is common to all cards of one calibration."""

    world_version: int
    look: str = CLEAN_LOOK


def _reads_truth(value: Any) -> bool:
    """Whether a description of recipes has an extractor or a judge that reads the ground truth, however deep."""
    if isinstance(value, Mapping):
        is_true = str(value.get("kind", "")).startswith(TRUTH_PREFIX) or value.get("reported") == ORACLE
        return is_true or any(map(_reads_truth, value.values()))
    return isinstance(value, list) and any(map(_reads_truth, value))


def label_of(card: ClipCard) -> ClipLabel | None:
    """The label of a rendered clip; `None` for one with several faults, which no single one explains."""
    form: dict[str, Any] = {"family": card.family, "size": (card.height, card.width), "fps": card.fps}
    if not card.injections:
        return ClipLabel(kind="clean", **form)
    if len(card.injections) > 1:
        return None
    (found,) = card.injections
    return ClipLabel(
        kind="fault", name=found.fault, severity=found.severity, dose=found.dose, dose_unit=found.dose_unit, **form
    )


def label_rows(rows: Iterable[Mapping[str, Any]], labels: Mapping[str, ClipLabel]) -> dict[str, list[LabelledScore]]:
    """Outcomes of a run (`Run.items`) by metric; `labels` are by rollout, and rollouts without one are left out."""
    found: dict[str, list[LabelledScore]] = defaultdict(list)
    for row in rows:
        if (label := labels.get(row["rollout"])) is None:
            continue
        detail = json.loads(row["detail"]) if row.get("detail") else {}
        is_score = row["status"] == "score"
        found[row["metric"]].append(
            LabelledScore(
                label=label,
                case=row["case"],
                scene=row["scene"],
                value=row["value"] if is_score else None,
                reason="" if is_score else row["reason"] or row["status"],
                branch=str(detail.get("branch", "")) if is_score else "",
            )
        )
    return dict(found)


def make_cards(
    metric: CalibratedMetric, scores: Sequence[LabelledScore], setting: CalibrationSetting
) -> list[MetricCard]:
    """One card for each size and frame rate among the clips."""
    forms = sorted({(score.label.size, score.label.fps) for score in scores})
    return [
        make_card(metric, [score for score in scores if (score.label.size, score.label.fps) == form], setting)
        for form in forms
    ]


def make_card(metric: CalibratedMetric, scores: Sequence[LabelledScore], setting: CalibrationSetting) -> MetricCard:
    """The card of a metric, from all its outcomes at one size and frame rate."""
    by_name: dict[str, dict[str, list[LabelledScore]]] = defaultdict(lambda: defaultdict(list))
    for score in scores:
        by_name[score.label.kind][score.label.name].append(score)
    clean = by_name["clean"][""]
    floor = floor_of(metric, clean)
    faults = sorted(by_name["fault"], key=list(FAULTS).index)
    responses = tuple(_response(metric, fault, by_name["fault"][fault], clean) for fault in faults) if floor else ()
    first = scores[0].label
    card = MetricCard(
        metric=metric.name,
        chain=metric.chain,
        chain_sha256=metric.chain_sha256,
        protocol_sha256=metric.protocol_sha256,
        features="truth" if metric.reads_truth else "shipped",
        height=first.size[0],
        width=first.size[1],
        fps=first.fps,
        look=setting.look,
        higher_is_better=metric.higher_is_better,
        unit=metric.unit,
        range=metric.range,
        world_version=setting.world_version,
        families=tuple(sorted({score.label.family for score in scores})),
        scenes=len({score.scene for score in clean}),
        clips=len(scores),
        floor=floor,
        truth_floor=floor if metric.reads_truth else None,
        responses=responses,
        specificity=_specificity(responses),
        controls=_controls(metric, floor, by_name["control"], clean),
        smallest_difference=_smallest_difference(floor),
        nuisances=tuple(_nuisance(name, own, clean) for name, own in sorted(by_name["nuisance"].items())),
        saturated=_saturated(metric, scores),
        branches=dict(sorted(Counter(score.branch for score in scores if score.branch).items())),
    )
    return MetricCard.model_validate(_rounded(card.model_dump()))


def _rounded(value: Any) -> Any:
    """Numbers with so many digits that nothing is lost that a few scenes can tell; cards travel with the package."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {name: _rounded(entry) for name, entry in value.items()}
    return [_rounded(entry) for entry in value] if isinstance(value, list | tuple) else value


def floor_of(metric: CalibratedMetric, clean: Sequence[LabelledScore]) -> Floor | None:
    """What clips without any fault get; `None` where none has a score."""
    score = _mean_of(clean, metric.range)
    if score is None:
        return None
    by_scene = defaultdict(list)
    for own in clean:
        if own.value is not None:
            by_scene[own.scene].append(own.value)
    means = np.array([np.mean(values) for values in by_scene.values()])
    p5, p95 = np.quantile(means, [0.05, 0.95]).tolist()
    spread = float(np.std(means, ddof=1)) if len(means) > 1 else 0.0
    return Floor(score=score, p5=p5, p95=p95, spread=spread, declined=_declined(clean))


def role_of(metric: str, fault: str) -> Literal["must_find", "must_spare", "free"]:
    """Whether a metric is there to find a fault, should not react to it, or neither.

    >>> role_of("mbencha.environment.rendering_lighting", "lighting_shift"), role_of("light", "teleport")
    ('must_find', 'free')
    """
    word = metric.rpartition(".")[2]
    if fault in MUST_FIND.get(word, ()) or word in FAULTS[fault].moves:
        return "must_find"
    return "must_spare" if word in FAULTS[fault].spares else "free"


def _response(
    metric: CalibratedMetric, fault: str, scores: Sequence[LabelledScore], clean: Sequence[LabelledScore]
) -> FaultResponse:
    severities = sorted({score.label.severity for score in scores})
    points = tuple(
        _point(metric, [s for s in scores if s.label.severity == severity], clean) for severity in severities
    )
    smallest = None
    for point in reversed(points):
        if not point.is_found:
            break
        smallest = point.dose
    return FaultResponse(
        fault=fault,
        dose_unit=scores[0].label.dose_unit,
        role=role_of(metric.name, fault),
        points=points,
        smallest_dose=smallest,
        course=_course(metric, scores, clean),
        correlation=_correlation(metric, scores, clean),
    )


def _point(metric: CalibratedMetric, scores: Sequence[LabelledScore], clean: Sequence[LabelledScore]) -> DosePoint:
    doses = [score.label.dose for score in scores if score.value is not None]
    values, scenes = _columns(scores)
    clean_values, clean_scenes = _columns(clean)
    auc = auc_estimate(-metric.sign * values, scenes, -metric.sign * clean_values, clean_scenes)
    before = _by_case(clean)
    return DosePoint(
        severity=scores[0].label.severity,
        dose=float(np.mean(doses)) if doses else None,
        score=_mean_of(scores, metric.range),
        change=_paired(scores, before, 1.0),
        auc=_record(auc),
        declined=_declined(scores),
    )


def _course(metric: CalibratedMetric, scores: Sequence[LabelledScore], clean: Sequence[LabelledScore]) -> Course:
    """What the mean does from severity to severity, over the cases that have a score at all of them."""
    by_case: dict[str, dict[float, float]] = defaultdict(dict)
    for score in (*clean, *scores):
        if score.value is not None:
            by_case[score.case][score.label.severity] = metric.sign * score.value
    severities = sorted({0.0, *(score.label.severity for score in scores)})
    whole = [[own[severity] for severity in severities] for own in by_case.values() if len(own) == len(severities)]
    if not whole:
        return "level"
    means = np.mean(whole, axis=0)
    level = LEVEL * (float(np.max(np.abs(means))) if metric.span is None else metric.span)
    if bool((np.abs(means - means[0]) <= level).all()):
        return "level"
    steps = [after - before for before, after in pairwise(means.tolist())]
    if all(step <= level for step in steps):
        return "worsens"
    return "improves" if all(step >= -level for step in steps) else "mixed"


def _correlation(
    metric: CalibratedMetric, scores: Sequence[LabelledScore], clean: Sequence[LabelledScore]
) -> float | None:
    """A scene in which the score does not move has a correlation of 0."""
    by_scene: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for score in (*clean, *scores):
        if score.value is not None:
            by_scene[score.scene].append((score.label.dose, -metric.sign * score.value))
    found = []
    for own in by_scene.values():
        doses, badness = np.array(own).T
        if len(np.unique(doses)) >= MIN_DOSES:
            found.append(spearman(doses, badness) or 0.0)
    return float(np.mean(found)) if found else None


def _specificity(responses: Sequence[FaultResponse]) -> float | None:
    others = [response for response in responses if response.role != "must_find"]
    return float(np.mean([not response.is_found for response in others])) if others else None


def _controls(
    metric: CalibratedMetric,
    floor: Floor | None,
    by_name: Mapping[str, Sequence[LabelledScore]],
    clean: Sequence[LabelledScore],
) -> tuple[Control, ...]:
    """The clean clips are the reference itself; they come first."""
    if floor is None:
        return ()
    before = _by_case(clean)
    controls = [_control(metric, REFERENCE, clean, before)]
    return (*controls, *(_control(metric, name, own, before) for name, own in sorted(by_name.items())))


def _control(
    metric: CalibratedMetric, name: str, scores: Sequence[LabelledScore], before: Mapping[str, float]
) -> Control:
    gain, declined = _paired(scores, before, metric.sign), _declined(scores)
    verdict: Literal["wins", "loses", "declined", "not measured"]
    if 2 * sum(declined.values()) > len(scores):
        verdict = "declined"
    elif gain is None:
        verdict = "not measured"
    else:
        verdict = "wins" if (gain.mean if gain.high is None else gain.high) >= 0 else "loses"
    score = _mean_of(scores, metric.range)
    return Control(name=name, score=score, gain=gain, verdict=verdict, declined=declined)


def _nuisance(name: str, scores: Sequence[LabelledScore], clean: Sequence[LabelledScore]) -> Nuisance:
    before = _by_case(clean)
    changes = [abs(s.value - before[s.case]) for s in scores if s.value is not None and s.case in before]
    return Nuisance(
        name=name,
        largest=max(changes, default=None),
        change=_paired(scores, before, 1.0),
        declined=_declined(scores),
    )


def _smallest_difference(floor: Floor | None) -> float | None:
    if floor is None or floor.score.scenes < 2:
        return None
    return smallest_difference(floor.spread, floor.score.scenes, measured_scenes=floor.score.scenes)


def _saturated(metric: CalibratedMetric, scores: Sequence[LabelledScore]) -> float | None:
    low, span = metric.range[0], metric.span
    values = _columns(scores)[0]
    if low is None or not span or not len(values):
        return None
    parts = (values - low) / span
    return float(np.mean((parts < SATURATED) | (parts > 1 - SATURATED)))


def _columns(scores: Iterable[LabelledScore]) -> tuple[Floats, list[str]]:
    """Values and scenes of what has a score."""
    known = [(score.value, score.scene) for score in scores if score.value is not None]
    return np.array([value for value, _ in known], np.float64), [scene for _, scene in known]


def _by_case(scores: Iterable[LabelledScore]) -> dict[str, float]:
    return {score.case: score.value for score in scores if score.value is not None}


def _mean_of(scores: Iterable[LabelledScore], value_range: Range) -> MeanRecord | None:
    return _record(scene_mean(*_columns(scores), value_range))


def _paired(scores: Iterable[LabelledScore], before: Mapping[str, float], sign: float) -> MeanRecord | None:
    """Mean change against the clean clip of the same case."""
    known = [(s.value - before[s.case], s.scene) for s in scores if s.value is not None and s.case in before]
    changes = sign * np.array([change for change, _ in known], np.float64)
    return _record(scene_mean(changes, [scene for _, scene in known]))


def _record(estimate: Estimate | None) -> MeanRecord | None:
    return None if estimate is None else MeanRecord.of(estimate)


def _declined(scores: Iterable[LabelledScore]) -> dict[str, int]:
    return dict(sorted(Counter(score.reason for score in scores if score.value is None).items()))
