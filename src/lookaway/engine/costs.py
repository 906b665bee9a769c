"""How long a run will take and how much disk it needs, from a look at a few of its rollouts and what others took."""

from __future__ import annotations

import fcntl
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from lookaway.core import (
    BoundMetric,
    DatasetError,
    Extractor,
    FrameRequest,
    Json,
    JudgeExtractor,
    Rollout,
    RunError,
    Timeline,
    Unmeasurable,
)
from lookaway.engine.feature_job import Extractors, FeatureJob, with_needs
from lookaway.engine.judging import asks_judge
from lookaway.engine.timings import (
    DECODING,
    IDLE,
    METRICS,
    READING,
    WRITING,
    Stage,
    StageTimings,
    amount_of,
    is_on_gpu,
    kind_of_machine,
    stage_of,
)
from lookaway.engine.worker import Work, why_not_applicable_safely
from lookaway.io.files import read_json, write_json
from lookaway.judges.settings import JudgeSettings
from lookaway.judges.spending import Spent
from lookaway.perception.isolation.environment import lookaway_home
from lookaway.store.feature_store import FeatureStore

LOG = logging.getLogger(__name__)
COSTS = "costs.json"
MAX_FRAMES, MAX_ROLLOUTS, MAX_CALLS = 1_000_000, 50_000, 100_000
"""Above these all totals are halved, so that the table follows a machine that changes."""


@dataclass(slots=True, kw_only=True)
class JudgeCosts:
    """What one judge took to answer, over many runs."""

    calls: int = 0
    tokens: int = 0
    paced_calls: int = 0
    """Of sessions whose workers mostly waited for answers: others say nothing of the judge's pace."""
    seconds: float = 0.0
    """Of these sessions."""


@dataclass(slots=True)
class MachineCosts:
    """All that is known, of machines by their kind and of judges by the names of their models."""

    machines: dict[str, StageTimings] = field(default_factory=dict)
    judges: dict[str, JudgeCosts] = field(default_factory=dict)

    def of_stage(self, name: str) -> Stage | None:
        """A stage on this kind of machine; `None` where it was never measured."""
        stage = self.machines.get(kind_of_machine(), StageTimings()).stages.get(name)
        return stage if stage is not None and stage.rollouts else None

    def add(self, efforts: Mapping[str, StageTimings], judge: tuple[str, Spent, float | None] | None = None) -> None:
        """Take in what a session took: by kind of machine, and its judge.

        With the seconds of the session where they were the judge's, and `None` where others took them.
        """
        for kind, timings in efforts.items():
            known = self.machines.setdefault(kind, StageTimings())
            known.add(StageTimings({name: stage for name, stage in timings.stages.items() if name not in IDLE}))
            for stage in known.stages.values():
                while stage.frames > MAX_FRAMES or stage.rollouts > MAX_ROLLOUTS:
                    _halve(stage)
        if judge is not None and judge[1].calls:
            name, spent, seconds = judge
            costs = self.judges.setdefault(name, JudgeCosts())
            costs.calls += spent.calls
            costs.tokens += spent.prompt_tokens + spent.answer_tokens
            if seconds is not None:
                costs.paced_calls += spent.calls
                costs.seconds += seconds
            while costs.calls > MAX_CALLS:
                _halve(costs)

    def to_json(self) -> Json:
        """As it is kept."""
        return {
            "machines": {kind: timings.to_json() for kind, timings in self.machines.items()},
            "judges": {name: asdict(costs) for name, costs in self.judges.items()},
        }

    @classmethod
    def from_json(cls, value: Json) -> MachineCosts:
        """As it was kept; a `RunError` where it is something else."""
        match value:
            case {"machines": dict(machines), "judges": dict(judges), **rest} if not rest:
                return cls(
                    {kind: StageTimings.from_json(stages) for kind, stages in machines.items()},
                    {name: _judge(name, costs) for name, costs in judges.items()},
                )
        raise RunError(f"expected machines and judges, found {value!r:.80}")


def read_machine_costs() -> MachineCosts:
    """What was measured until now; nothing where there is no table, or none that can be read, of which is told."""
    path = lookaway_home() / COSTS
    try:
        return MachineCosts.from_json(read_json(path)) if path.exists() else MachineCosts()
    except (DatasetError, RunError) as error:
        LOG.warning("%s: the table of measured costs cannot be read (%s), and is made anew.", path, error)
        return MachineCosts()


def add_to_machine_costs(
    efforts: Mapping[str, StageTimings], judge: tuple[str, Spent, float | None] | None = None
) -> None:
    """Add what a session took to the table. A home that cannot be written is told of, and ends no run."""
    home = lookaway_home()
    try:
        home.mkdir(parents=True, exist_ok=True)
        with _alone(home):
            costs = read_machine_costs()
            costs.add(efforts, judge)
            write_json(home / COSTS, costs.to_json())
    except OSError as error:
        LOG.warning("What this run took was not added to the table of measured costs: %s.", error)


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """No other run changes the table meanwhile."""
    with (home / f".{COSTS}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _halve(totals: Stage | JudgeCosts) -> None:
    for entry in fields(totals):
        total = getattr(totals, entry.name)
        setattr(totals, entry.name, total // 2 if isinstance(total, int) else total / 2)


def _judge(name: str, value: Json) -> JudgeCosts:
    names = {entry.name for entry in fields(JudgeCosts)}
    if not isinstance(value, dict) or not value.keys() <= names:
        raise RunError(f"judge {name!r:.80}: expected {', '.join(sorted(names))}, found {value!r:.80}")
    return JudgeCosts(**{entry: amount_of(number, f"judge {name!r:.80}: {entry}") for entry, number in value.items()})  # type: ignore[arg-type]


DECODED_PIXELS_PER_SECOND = 200 * 832 * 480
"""On one core, with conversion to RGB."""
ROW_BYTES = 60
"""One compressed row."""
ROWS_PER_METRIC = 21
"""An item and the pairs of a fold."""
TOKENS_PER_QUESTION, TOKENS_PER_PICTURE = 900, 500
"""Question and answer in words, and a frame of 480p as a vision-language model cuts it up: the order of magnitude."""
LOOKED_AT, LOOKED_AT_OF_EACH = 16, 4
"""Rollouts of a plan, shared out among those of a kind by their number; and the least of each kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageCost:
    """What one stage of a run will take."""

    stage: str
    rollouts: float
    frames: float
    seconds: float
    """Of one core; of one GPU where it is on a GPU."""
    disk_bytes: float
    measured_rollouts: int
    """How many rollouts of earlier runs on this kind of machine it rests on; zero is as its recipe declares."""

    @property
    def is_on_gpu(self) -> bool:
        """Whether its seconds are those of a GPU."""
        return is_on_gpu(self.stage)

    @property
    def seconds_per_frame(self) -> float | None:
        """`None` where no frame is looked at."""
        return self.seconds / self.frames if self.frames else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """An estimate; `looked_at` says how many rollouts of the plan were opened for it."""

    rollouts: int
    measurements: int
    stages: tuple[StageCost, ...]
    disk_bytes: float
    judge_calls: int
    """Questions that a judge is asked; tries that fail come on top."""
    judge_tokens: int
    judge_measured_calls: int
    """How many calls of earlier runs the tokens rest on; zero is an order of magnitude."""
    judge_seconds: float | None
    """Until all questions are answered; `None` where nothing is known of the judge's pace."""
    looked_at: int

    @property
    def cpu_seconds(self) -> float:
        """Of one core."""
        return sum(stage.seconds for stage in self.stages if not stage.is_on_gpu)

    @property
    def gpu_seconds(self) -> float:
        """Of one GPU."""
        return sum(stage.seconds for stage in self.stages if stage.is_on_gpu)

    def wall_seconds(self, workers: int | None = None, gpus: int = 1) -> float:
        """From the first rollout to the last: the slowest of cores, GPUs and judge, which work side by side.

        Reading, hashing and planning come before, and so does starting Ray and loading networks.

        One worker alone, which is none that was asked for, does not decode while its network looks.
        """
        judge = self.judge_seconds or 0.0
        if workers is None:
            return max(self.cpu_seconds + self.gpu_seconds, judge)
        return max(self.cpu_seconds / workers, self.gpu_seconds / gpus, judge)


def estimate_cost(
    work: Sequence[Work],
    metrics: Iterable[BoundMetric],
    features: Path | None = None,
    *,
    measured: MachineCosts | None = None,
    judge: JudgeSettings | None = None,
) -> Cost:
    """Open a few rollouts of each kind, ask the extractors which frames they would want, and scale up.

    Nothing is written. Rollouts are of a kind if they are of one subset, lack the same metrics and have a judge asked
    as many questions, which is counted for all of them.

    `features` is the folder of features that need not be perceived again. Stages that were `measured` take what they
    took; the others what their recipes declare.
    """
    # A store that keeps nothing: what is perceived for an estimate must leave no trace.
    extractors = Extractors(FeatureStore(features, max_bytes=-1) if features else None)
    bounds = {bound.name: bound for bound in metrics}
    measured = measured or MachineCosts()
    distinct = list({(entry.content, entry.metrics): entry for entry in work}.values())
    look, looked_at = _Look(), 0
    for alike in _by_kind(distinct, bounds):
        some = _evenly_spread(alike, max(LOOKED_AT_OF_EACH, round(LOOKED_AT * len(alike) / len(distinct))))
        look.weight = len(alike) / len(some)
        looked_at += len(some)
        for entry in some:
            look.add(entry, [bounds[name] for name in entry.metrics], extractors)
    stages = tuple(_stage_cost(name, asked, measured.of_stage(name)) for name, asked in look.stages.items())
    measurements = sum(len(entry.metrics) for entry in work)
    calls = round(look.questions)
    tokens = look.questions * TOKENS_PER_QUESTION + look.pictures * TOKENS_PER_PICTURE
    known = measured.judges.get(judge.model.model) if judge else None
    return Cost(
        rollouts=len(work),
        measurements=measurements,
        stages=tuple(sorted((stage for stage in stages if stage.seconds), key=lambda stage: -stage.seconds)),
        disk_bytes=sum(stage.disk_bytes for stage in stages) + measurements * ROWS_PER_METRIC * ROW_BYTES,
        judge_calls=calls,
        judge_tokens=round(calls * known.tokens / known.calls if known else tokens),
        judge_measured_calls=known.calls if known else 0,
        judge_seconds=_judge_seconds(calls, judge, measured),
        looked_at=looked_at,
    )


def _by_kind(work: Sequence[Work], bounds: Mapping[str, BoundMetric]) -> list[list[Work]]:
    """Rollouts apart that may take different work, each kind in their order."""
    asking = {name for name, bound in bounds.items() if asks_judge([bound])}
    kinds: dict[tuple[object, ...], list[Work]] = {}
    for entry in work:
        questions = _questions(entry.rollout, [bounds[name] for name in entry.metrics if name in asking])
        kinds.setdefault((entry.rollout.case.subset, entry.metrics, questions), []).append(entry)
    return list(kinds.values())


def _questions(rollout: Rollout, bounds: Sequence[BoundMetric]) -> int:
    """That a judge is asked about a rollout if no answer is kept; no video is opened for it."""
    recipes = with_needs(recipe for bound in _able(bounds, rollout) for recipe in bound.recipes.values())
    return sum(
        recipe.questions_per_rollout(rollout)
        for recipe in recipes
        if isinstance(recipe, JudgeExtractor) and recipe.declines(rollout) is None
    )


def _able(bounds: Iterable[BoundMetric], rollout: Rollout) -> list[BoundMetric]:
    return [bound for bound in bounds if why_not_applicable_safely(bound, rollout) is None]


def _evenly_spread(work: Sequence[Work], most: int) -> list[Work]:
    count = min(most, len(work))
    return [work[position * len(work) // count] for position in range(count)]


@dataclass(slots=True, kw_only=True)
class _Asked:
    """What is asked of one stage, and what its recipes declare that it takes."""

    rollouts: float = 0.0
    frames: float = 0.0
    pixels: float = 0.0
    seconds: float = 0.0
    disk_bytes: float = 0.0


@dataclass(slots=True)
class _Look:
    """What all rollouts take, as far as some tell; nothing where these cannot be opened."""

    stages: dict[str, _Asked] = field(default_factory=dict)
    questions: float = 0.0
    pictures: float = 0.0
    weight: float = 1.0
    """How many rollouts the next one stands for."""

    def add(self, work: Work, bounds: Sequence[BoundMetric], extractors: Extractors) -> None:
        """Rehearse one more."""
        recipes = [recipe for bound in _able(bounds, work.rollout) for recipe in bound.recipes.values()]
        perceiving = FeatureJob(extractors, work.rollout, work.content, recipes)
        try:
            requests = perceiving.dry_run()
        except Unmeasurable:
            return
        for name in (METRICS, READING, WRITING):
            self._of(name).rollouts += self.weight
        for recipe, request in requests.items():
            self._add_recipe(recipe, request)
            if isinstance(recipe, JudgeExtractor) and request is not None:
                questions = self.weight * recipe.questions_per_rollout(work.rollout)
                self.questions += questions
                self.pictures += questions * len(request.indices)
        if perceiving.timeline is not None:
            self._add_decoding(perceiving.timeline, [request for request in requests.values() if request])

    def _add_recipe(self, recipe: Extractor, request: FrameRequest | None) -> None:
        asked, frames = self._of(stage_of(recipe)), self.weight * len(request.indices) if request else 0.0
        asked.rollouts += self.weight
        asked.frames += frames
        asked.seconds += recipe.seconds_per_frame * frames
        asked.disk_bytes += recipe.bytes_per_frame * frames

    def _add_decoding(self, timeline: Timeline, requests: Sequence[FrameRequest]) -> None:
        """All frames up to the last one that is wanted, and those of videos to compare with."""
        partners = {
            (request.partners.video, max(request.partners.indices.values(), default=-1)): None
            for request in requests
            if request.partners is not None
        }
        own = max((max(request.indices, default=-1) for request in requests), default=-1) + 1
        frames = self.weight * (own + sum(last + 1 for _, last in partners))
        decoding = self._of(DECODING)
        decoding.rollouts += self.weight
        decoding.frames += frames
        decoding.pixels += frames * timeline.width * timeline.height
        decoding.seconds = decoding.pixels / DECODED_PIXELS_PER_SECOND

    def _of(self, name: str) -> _Asked:
        return self.stages.setdefault(name, _Asked())


def _stage_cost(name: str, asked: _Asked, known: Stage | None) -> StageCost:
    seconds, disk_bytes = asked.seconds, asked.disk_bytes
    if known is not None:
        share = _share(asked, known)
        seconds = share * (known.seconds if is_on_gpu(name) else known.cpu_seconds)
        disk_bytes = share * known.stored_bytes
    return StageCost(
        stage=name,
        rollouts=asked.rollouts,
        frames=asked.frames,
        seconds=seconds,
        disk_bytes=disk_bytes,
        measured_rollouts=known.rollouts if known else 0,
    )


def _share(asked: _Asked, known: Stage) -> float:
    """What is asked as a part of what was measured: by pixels where both have them, or by frames, or by rollouts."""
    if asked.pixels and known.pixels:
        return asked.pixels / known.pixels
    if asked.frames and known.frames:
        return asked.frames / known.frames
    return asked.rollouts / known.rollouts


def _judge_seconds(calls: int, judge: JudgeSettings | None, measured: MachineCosts) -> float | None:
    """At the rate that was asked for; else at the one that was reached where workers mostly waited for answers."""
    if not calls:
        return 0.0
    if judge is not None and judge.policy.per_second is not None:
        return calls / judge.policy.per_second
    known = measured.judges.get(judge.model.model) if judge else None
    return calls * known.seconds / known.paced_calls if known and known.paced_calls else None
