"""The card of a metric: what it sees and what it misses, at one size and frame rate, with one chain of extractors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from lookaway.core import BoundMetric, DamagedFile, Estimate, Json, describe, digest
from lookaway.io.dataset_files import checked, read_dataset_json
from lookaway.io.files import write_json, write_whole
from lookaway.statistics.paired_difference import exceeds_floor

CARDS: Final = "cards.json"
NO_CARD: Final = "no card"
NO_FORM: Final = "no card for this size and rate"
FIGURES: Final = "cards.parquet"
"""Every number of every card as one row, for tables and plots; `cards.json` is what is read back."""
MIN_FOUND_AUC: Final = 0.8
"""From this on, a fault counts as found."""
MIN_SURE_AUC: Final = 0.95
FROZEN: Final = "frozen"
REFERENCE: Final = "reference"
"""The clean clips themselves, beside the controls."""
CLEAN_LOOK: Final = "clean"
"""Look of clips as they are rendered."""
HASH_CHARACTERS: Final = 32
GIVEN: Final = ("reference_poses", "requested_poses", "commanded_poses")
"""Features that a benchmark delivers with its cases: known to it, in the world as elsewhere."""
TRUE_EXTRACTORS: Final[Mapping[str, str]] = {
    "depth": "true_depth",
    "detections": "true_detections",
    "inverse_depth": "true_inverse_depth",
    "masks": "true_masks",
    "matches": "true_matches",
    "poses": "true_poses",
    "reference_poses": "true_reference_poses",
    "requested_poses": "true_requested_poses",
}
"""Extractors that read the ground truth, by feature."""
JUDGE: Final = "judge"
PAIRS: Final = "pairs"
"""Parts of recipes: who answers, and which frames are compared."""
OF_WEIGHTS: Final = frozenset({"source", "revision", "files"})
"""By these parts the weights of a network are known in a recipe."""
MACHINE: Final = frozenset({"compute", "device"})
"""Parts of recipes that say where a network runs."""

Number = Annotated[float, Field(allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]
Course = Literal["level", "worsens", "improves", "mixed"]
"""What the score does as a fault grows: stays, gets worse at every step, gets better at every step, or both."""

_Figure = tuple[str, str, str, dict[str, Any]]
"""Section, what it is about, name of the figure, and its columns."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class MeanRecord(_Record):
    """A mean with its 95 % interval over scenes."""

    mean: Number
    low: Number | None
    """`None` where there are too few scenes, or all are equal."""
    high: Number | None
    scored: Count
    scenes: Count

    @classmethod
    def of(cls, estimate: Estimate) -> Self:
        """The record of an estimate."""
        return cls(**{name: getattr(estimate, name) for name in cls.model_fields})


class Floor(_Record):
    """Scores of clips without any fault: what a perfect memory gets."""

    score: MeanRecord
    p5: Number
    """5 % of the scenes have a mean below this."""
    p95: Number
    spread: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    """Standard deviation of the scenes' means."""
    declined: dict[str, Count]
    """Clips without a score, by reason."""


class DosePoint(_Record):
    """What a metric makes of one fault at one severity."""

    severity: Share
    dose: Number | None
    """Mean realised dose of the clips with a score, in the unit of the fault."""
    score: MeanRecord | None
    """`None` where every clip is declined."""
    change: MeanRecord | None
    """Score minus that of the same case without the fault."""
    auc: MeanRecord | None
    """Chance that a clip with the fault scores worse than one without; its interval is over scenes."""
    declined: dict[str, Count]

    @property
    def is_found(self) -> bool:
        """Whether faulty clips score worse than clean ones, more often than chance would have it."""
        return self.auc is not None and self.auc.mean >= MIN_FOUND_AUC and (self.auc.low is None or self.auc.low > 0.5)


class FaultResponse(_Record):
    """How a metric responds to one fault as its dose grows."""

    fault: str
    dose_unit: str
    role: Literal["must_find", "must_spare", "free"]
    """Whether the fault is one that the metric is there to find, one that it should not react to, or neither."""
    points: tuple[DosePoint, ...]
    """In the order of severities."""
    smallest_dose: Number | None
    """Dose of the smallest severity from which on the fault is found at every severity; `None` if at none."""
    course: Course
    correlation: Number | None
    """Mean over scenes of Spearman's correlation of dose and badness, from the scenes with three doses or more."""

    @property
    def is_monotone(self) -> bool:
        """Whether more of the fault never means a better score, and the worst is worse than none."""
        return self.course == "worsens"

    @property
    def is_found(self) -> bool:
        """Whether the fault is found at its highest severity."""
        return self.smallest_dose is not None

    def at(self, severity: float) -> DosePoint | None:
        """The point of a severity; `None` if it was not measured."""
        return next((point for point in self.points if abs(point.severity - severity) < 1e-9), None)


class Control(_Record):
    """A video that shows nothing about memory, or a perfect one, scored like any other."""

    name: str
    score: MeanRecord | None
    """`None` where every clip is declined."""
    gain: MeanRecord | None
    """How much better than the clean clip of the same case; negative is worse, whichever way the metric goes."""
    verdict: Literal["wins", "loses", "declined", "not measured"]
    """`wins` unless it is worse than the clean clips by more than its interval, or most of its clips are declined."""
    declined: dict[str, Count]


class Nuisance(_Record):
    """A change that is no fault: the same clip at another rate, size or quality."""

    name: str
    largest: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None
    """Largest absolute change of any clip; `None` where no clip has both scores."""
    change: MeanRecord | None
    declined: dict[str, Count]


class MetricCard(_Record):
    """Everything that is known about one metric, with one chain of extractors, at one size and frame rate."""

    format: Literal[1] = 1
    metric: str
    """Public name of the suite."""
    chain: str
    """Extractors by feature, such as `poses=tracked_poses`."""
    chain_sha256: str
    """Hash of the metric's constants and of all its recipes; the key of the card with size and rate."""
    protocol_sha256: str
    """Hash of the metric and of the frames that it compares, the same for true and for shipped features."""
    features: Literal["truth", "shipped", "random"]
    """Whether features were read from the ground truth, where that has them, or networks had random weights: nothing
    then holds but that a frozen video wins, as it does with all weights."""
    height: Count
    width: Count
    fps: Count
    look: str
    """`clean`, or how frames were degraded before anything was measured."""
    higher_is_better: bool
    unit: str
    range: tuple[Number | None, Number | None]
    world_version: int
    families: tuple[str, ...]
    scenes: Count
    clips: Count
    floor: Floor | None
    """`None` where no clean clip has a score: nothing else is known then."""
    truth_floor: Floor | None
    """Floor of the same metric with features from the truth; the difference is the extractors' share."""
    responses: tuple[FaultResponse, ...]
    specificity: Share | None
    """Share of the faults that it need not find, and does not; `None` where there are none."""
    controls: tuple[Control, ...]
    smallest_difference: Number | None
    """Two models whose means differ by less, over as many scenes as the card has, are equal; see `differences`."""
    nuisances: tuple[Nuisance, ...]
    saturated: Share | None
    """Share of all scores within 1 % of an end of the range; `None` where the range has no ends."""
    branches: dict[str, Count]
    """Scores by how they were measured, where a metric has more than one way."""

    @property
    def sha256(self) -> str:
        """Hash of the content."""
        return digest(self.model_dump(mode="json"))

    @property
    def found(self) -> tuple[FaultResponse, ...]:
        """Responses to the faults that it finds."""
        return tuple(response for response in self.responses if response.is_found)

    @property
    def is_won_by_frozen(self) -> bool | None:
        """Whether a frozen video scores as well as the clean clips; `None` where that was not measured."""
        verdicts = {control.name: control.verdict for control in self.controls}
        verdict = verdicts.get(FROZEN, "not measured")
        return None if verdict == "not measured" else verdict == "wins"

    @property
    def compares_with_reference(self) -> bool:
        """Whether frames are compared with those of the reference video, which a clean clip equals exactly.

        Frames that are compared with others of the same video, as on the way back, never are quite equal.
        """
        is_compared = any(part.partition("=")[0] == "fidelity" for part in self.chain.split(", "))
        return is_compared and (self.floor is None or self.floor.spread == 0)

    def tells_apart(self, difference: float, scenes: int) -> bool:
        """Whether two models whose means over some scenes differ by this much differ at all, by the floor's spread.

        A metric without a floor says nothing about that, and tells all apart.
        """
        if self.floor is None or self.floor.score.scenes < 2:
            return True
        return exceeds_floor(difference, self.floor.spread, scenes, measured_scenes=self.floor.score.scenes)

    @property
    def extractors_share(self) -> float | None:
        """What the extractors cost a perfect memory: floor with features from the truth minus floor as shipped."""
        if self.floor is None or self.truth_floor is None:
            return None
        lost = self.truth_floor.score.mean - self.floor.score.mean
        return lost if self.higher_is_better else -lost


def chain_of(entries: Mapping[str, Any]) -> tuple[str, str]:
    """Chain and its hash of one metric, from its entries in a lock.

    Versions of software are no part of the hash, and neither is how a benchmark delivers what it knows.
    """
    features: Mapping[str, Any] = entries.get("features", {})
    text = ", ".join(f"{feature}={recipe['kind']}" for feature, recipe in sorted(features.items()))
    fixed: dict[str, Json] = {name: entries[name] for name in ("metric", "source") if name in entries}
    fixed["features"] = {name: recipe for name, recipe in features.items() if name not in GIVEN}
    return text, digest(fixed)[:HASH_CHARACTERS]


def protocol_of(entries: Mapping[str, Any]) -> str:
    """Hash of a metric and of the frames that it compares, whatever estimates, or knows, what it measures there."""
    fixed: dict[str, Json] = {name: entries[name] for name in ("metric", "source") if name in entries}
    extracted = {name: recipe for name, recipe in entries.get("features", {}).items() if name not in GIVEN}
    fixed["features"] = _without_estimates(extracted)
    return digest(fixed)[:HASH_CHARACTERS]


def _without_estimates(value: Any) -> Any:
    """Recipes; of those that the truth can replace only which frames they pair, of networks no weights and no place."""
    if isinstance(value, list):
        return [_without_estimates(entry) for entry in value]
    if not isinstance(value, Mapping):
        return value
    if value.keys() >= OF_WEIGHTS:
        return {"name": value["name"]}
    return {name: _of_recipe(name, entry) for name, entry in value.items() if name not in MACHINE}


def _of_recipe(name: str, entry: Any) -> Any:
    if isinstance(entry, Mapping) and name in {*TRUE_EXTRACTORS, JUDGE}:
        return {PAIRS: entry[PAIRS]} if PAIRS in entry else {}
    return _without_estimates(entry)


def bound_chain(bound: BoundMetric) -> tuple[str, str]:
    """Chain and its hash of an installed metric, as a run with it would have them."""
    return chain_of(_entries(bound))


def bound_protocol(bound: BoundMetric) -> str:
    """The protocol of an installed metric."""
    return protocol_of(_entries(bound))


def _entries(bound: BoundMetric) -> dict[str, Any]:
    features = {feature: describe(recipe) for feature, recipe in bound.recipes.items()}
    return {"metric": describe(bound.metric), "features": features}


class _Entry(_Record):
    sha256: str
    card: MetricCard


class _CardFile(_Record):
    format: Literal[1] = 1
    cards: tuple[_Entry, ...]


@dataclass(frozen=True, slots=True)
class CardSet:
    """Cards by metric, chain, size and frame rate."""

    cards: tuple[MetricCard, ...]

    def find(self, metric: str, chain_sha256: str, size: tuple[int, int], fps: int) -> MetricCard | str:
        """The card, or why there is none; `size` is height and width.

        Suites have their own names for the same metric with the same constants, so the chain decides, not the name.
        """
        fitting = (card for card in self._of_form(size, fps) if card.chain_sha256 == chain_sha256)
        return next(fitting, self.why_none(metric, chain_sha256))

    def find_similar(self, protocol_sha256: str, size: tuple[int, int], fps: int) -> MetricCard | None:
        """A card of the same metric on the same frames with other extractors; as shipped rather than with the truth."""
        known = (card for card in self._of_form(size, fps) if card.features != "random")
        fitting = (card for card in known if card.protocol_sha256 == protocol_sha256)
        return min(fitting, key=lambda card: (card.features == "truth", card.chain), default=None)

    def _of_form(self, size: tuple[int, int], fps: int) -> Iterator[MetricCard]:
        form = (*size, fps, CLEAN_LOOK)
        return (card for card in self.cards if (card.height, card.width, card.fps, card.look) == form)

    def is_won_by_frozen(self, chain_sha256: str, protocol_sha256: str) -> bool | None:
        """Whether a frozen video wins this metric at any size and rate; `None` where no card says so.

        One that wins the same metric on the same frames with other extractors wins it here, too; that it loses there
        says nothing.
        """
        known = [card for card in self.cards if card.is_won_by_frozen is not None]
        own = {card.is_won_by_frozen for card in known if card.chain_sha256 == chain_sha256}
        if own:
            return True in own
        return any(card.protocol_sha256 == protocol_sha256 and card.is_won_by_frozen for card in known) or None

    def why_none(self, metric: str, chain_sha256: str) -> str:
        """Why a metric has no card at some size and rate."""
        if any(card.chain_sha256 == chain_sha256 for card in self.cards):
            return NO_FORM
        is_named = any(card.metric == metric for card in self.cards)
        return "no card for these extractors" if is_named else NO_CARD


def write_cards(folder: Path, cards: Iterable[MetricCard]) -> None:
    """Write `cards.json` and `cards.parquet`; equal cards give equal bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    ordered = sorted(cards, key=lambda card: (card.metric, card.height, card.width, card.fps, card.features, card.look))
    file = _CardFile(cards=tuple(_Entry(sha256=card.sha256, card=card) for card in ordered))
    table = pa.Table.from_pylist(
        [row for card in ordered for row in figures(card)], pa.schema([(name, kind) for name, kind in _columns(pa)])
    )
    content = BytesIO()
    pq.write_table(table, content, compression="zstd")
    write_whole(folder / FIGURES, lambda target: target.write(content.getvalue()))
    write_json(folder / CARDS, file.model_dump(mode="json"))


def read_cards(folder: Path) -> CardSet:
    """The cards of a folder; a `DamagedFile` if one is not as it was written, a `DatasetError` if it is not valid."""
    path = folder / CARDS
    return parse_cards(read_dataset_json(path), str(path), "Run the same `lookaway calibrate` again.")


def parse_cards(content: Json, where: str, advice: str) -> CardSet:
    """The cards of a parsed file; where one was changed, the `DamagedFile` says what to do by `advice`."""
    for entry in (file := checked(_CardFile, content, where)).cards:
        if entry.card.sha256 != entry.sha256:
            raise DamagedFile(
                f"{where}: the card of {entry.card.metric} has the hash {entry.card.sha256[:12]}, expected "
                f"{entry.sha256[:12]}: it was changed after it was written. {advice}"
            )
    return CardSet(tuple(entry.card for entry in file.cards))


def _columns(pa: Any) -> Iterator[tuple[str, Any]]:
    kinds = (
        ("card metric chain features look", pa.string()),
        ("height width fps", pa.int32()),
        ("section name figure", pa.string()),
        ("severity dose value low high", pa.float64()),
        ("scored scenes declined", pa.int32()),
    )
    for names, kind in kinds:
        yield from ((name, kind) for name in names.split())


def figures(card: MetricCard) -> Iterator[dict[str, Any]]:
    """Every number of a card as a row: the section, what it is about, and the figure with its interval."""
    key = {
        "card": card.sha256, "metric": card.metric, "chain": card.chain, "features": card.features, "look": card.look,
        "height": card.height, "width": card.width, "fps": card.fps,
    }  # fmt: skip
    for section, name, figure, facts in _figures(card):
        yield {**key, "section": section, "name": name, "figure": figure, **facts}


def _figures(card: MetricCard) -> Iterator[_Figure]:
    for name, floor in (("own", card.floor), ("truth", card.truth_floor)):
        if floor is not None:
            yield "floor", name, "score", {**_mean(floor.score), "declined": sum(floor.declined.values())}
            yield from (
                ("floor", name, figure, {"value": getattr(floor, figure)}) for figure in ("p5", "p95", "spread")
            )
    for response in card.responses:
        yield from _response_figures(response)
    for control in card.controls:
        declined = sum(control.declined.values())
        for figure in ("score", "gain"):
            yield "control", control.name, figure, {**_mean(getattr(control, figure)), "declined": declined}
    for nuisance in card.nuisances:
        declined = sum(nuisance.declined.values())
        yield "nuisance", nuisance.name, "largest", {"value": nuisance.largest, "declined": declined}
        yield "nuisance", nuisance.name, "change", {**_mean(nuisance.change), "declined": declined}
    for figure in ("specificity", "smallest_difference", "saturated"):
        yield "card", "", figure, {"value": getattr(card, figure)}


def _response_figures(response: FaultResponse) -> Iterator[_Figure]:
    for point in response.points:
        at = {"severity": point.severity, "dose": point.dose, "declined": sum(point.declined.values())}
        for figure in ("score", "change", "auc"):
            yield "response", response.fault, figure, {**at, **_mean(getattr(point, figure))}
    yield "response", response.fault, "smallest_dose", {"value": response.smallest_dose}
    yield "response", response.fault, "correlation", {"value": response.correlation}


def _mean(record: MeanRecord | None) -> dict[str, Any]:
    if record is None:
        return {}
    return {"value": record.mean, **record.model_dump(exclude={"mean"})}
