"""Estimates the time and disk that a run takes, from a few of its rollouts and the measured costs of earlier runs."""

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
    StageTiming,
    StageTimings,
    amount_of,
    is_on_gpu,
    kind_of_machine,
    stage_of,
)
from lookaway.engine.worker import Work, why_not_applicable_safely
from lookaway.io.files import read_json, write_json
from lookaway.judges.budget import Spent
from lookaway.judges.settings import JudgeSettings
from lookaway.perception.isolation.environment import lookaway_home
from lookaway.store.feature_store import FeatureStore

LOG = logging.getLogger(__name__)
COSTS = "costs.json"
MAX_FRAMES, MAX_ROLLOUTS, MAX_CALLS = 1_000_000, 50_000, 100_000
"""Above these, all totals are halved, so that recent runs weigh more."""


@dataclass(slots=True, kw_only=True)
class JudgeCosts:
    """The measured costs of one judge, over many runs."""

    calls: int = 0
    tokens: int = 0
    paced_calls: int = 0
    """Calls of sessions that mostly waited for answers; others say nothing about the speed of the judge."""
    seconds: float = 0.0
    """Duration of these sessions."""


@dataclass(slots=True)
class MachineCosts:
    """All measured costs, by kind of machine and by judge model."""

    machines: dict[str, StageTimings] = field(default_factory=dict)
    judges: dict[str, JudgeCosts] = field(default_factory=dict)

    def of_stage(self, name: str) -> StageTiming | None:
        """A stage on this kind of machine; `None` if it was never measured."""
        stage = self.machines.get(kind_of_machine(), StageTimings()).stages.get(name)
        return stage if stage is not None and stage.rollouts else None

    def add(
        self, timings_by_machine: Mapping[str, StageTimings], judge: tuple[str, Spent, float | None] | None = None
    ) -> None:
        """Add the timings of a session by kind of machine, and the spending on its judge.

        The seconds of `judge` are the duration of a session that mostly waited for it, else `None`.
        """
        for kind, timings in timings_by_machine.items():
            totals = self.machines.setdefault(kind, StageTimings())
            totals.add(StageTimings({name: stage for name, stage in timings.stages.items() if name not in IDLE}))
            for stage in totals.stages.values():
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
        """The stored form."""
        return {
            "machines": {kind: timings.to_json() for kind, timings in self.machines.items()},
            "judges": {name: asdict(costs) for name, costs in self.judges.items()},
        }

    @classmethod
    def from_json(cls, value: Json) -> MachineCosts:
        """From its stored form; raises `RunError` if it is not valid."""
        match value:
            case {"machines": dict(machines), "judges": dict(judges), **rest} if not rest:
                return cls(
                    {kind: StageTimings.from_json(stages) for kind, stages in machines.items()},
                    {name: _judge(name, costs) for name, costs in judges.items()},
                )
        raise RunError(f"expected machines and judges, found {value!r:.80}")


def read_machine_costs() -> MachineCosts:
    """The measured costs so far; empty if there is no table, or, with a warning, if it cannot be read."""
    path = lookaway_home() / COSTS
    try:
        return MachineCosts.from_json(read_json(path)) if path.exists() else MachineCosts()
    except (DatasetError, RunError) as error:
        LOG.warning("%s: the table of measured costs cannot be read (%s); starting a new one.", path, error)
        return MachineCosts()


def add_to_machine_costs(
    timings_by_machine: Mapping[str, StageTimings], judge: tuple[str, Spent, float | None] | None = None
) -> None:
    """Add the costs of a session to the table; a table that cannot be written is a warning, not an error."""
    home = lookaway_home()
    try:
        home.mkdir(parents=True, exist_ok=True)
        with _locked(home):
            costs = read_machine_costs()
            costs.add(timings_by_machine, judge)
            write_json(home / COSTS, costs.to_json())
    except OSError as error:
        LOG.warning("The costs of this run were not added to the table of measured costs: %s.", error)


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    """Keep other runs from changing the table."""
    with (home / f".{COSTS}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _halve(totals: StageTiming | JudgeCosts) -> None:
    for entry in fields(totals):
        total = getattr(totals, entry.name)
        setattr(totals, entry.name, total // 2 if isinstance(total, int) else total / 2)


def _judge(name: str, value: Json) -> JudgeCosts:
    names = {entry.name for entry in fields(JudgeCosts)}
    if not isinstance(value, dict) or not value.keys() <= names:
        raise RunError(f"judge {name!r:.80}: expected {', '.join(sorted(names))}, found {value!r:.80}")
    return JudgeCosts(**{entry: amount_of(number, f"judge {name!r:.80}: {entry}") for entry, number in value.items()})  # type: ignore[arg-type]


DECODED_PIXELS_PER_SECOND = 200 * 832 * 480
"""On one core, conversion to RGB included."""
ROW_BYTES = 60
"""One compressed row."""
ROWS_PER_METRIC = 21
"""An item and the pairs of a fold."""
TOKENS_PER_QUESTION, TOKENS_PER_PICTURE = 900, 500
"""Order of magnitude: the text of a question and its answer, and a 480p frame of a vision-language model."""
SAMPLED, MIN_SAMPLED_PER_KIND = 16, 4
"""Rollouts of a plan that are opened, divided among the kinds by their size; and the minimum of each kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageCost:
    """The estimated cost of one stage of a run."""

    stage: str
    rollouts: float
    frames: float
    seconds: float
    """Seconds of one core, or of one GPU if the stage runs on a GPU."""
    disk_bytes: float
    measured_rollouts: int
    """How many rollouts of earlier runs on this kind of machine it is based on; zero for the recipe's own figures."""

    @property
    def is_on_gpu(self) -> bool:
        """Whether its seconds are GPU seconds."""
        return is_on_gpu(self.stage)

    @property
    def seconds_per_frame(self) -> float | None:
        """`None` if the stage uses no frames."""
        return self.seconds / self.frames if self.frames else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """An estimate; `looked_at` is the number of rollouts that were opened for it."""

    rollouts: int
    measurements: int
    stages: tuple[StageCost, ...]
    disk_bytes: float
    judge_calls: int
    """Questions to a judge at most, without failed attempts."""
    judge_tokens: int
    judge_measured_calls: int
    """How many calls of earlier runs the tokens are based on; zero for an order of magnitude."""
    judge_seconds: float | None
    """Until all questions are answered; `None` if the speed of the judge is unknown."""
    looked_at: int
    conditional_judge_calls: int = 0
    """How many of the questions depend on an earlier answer, such as that of a gate."""

    @property
    def cpu_seconds(self) -> float:
        """Seconds of one core."""
        return sum(stage.seconds for stage in self.stages if not stage.is_on_gpu)

    @property
    def gpu_seconds(self) -> float:
        """Seconds of one GPU."""
        return sum(stage.seconds for stage in self.stages if stage.is_on_gpu)

    def wall_seconds(self, workers: int | None = None, gpus: int = 1) -> float:
        """From the first rollout to the last: the slowest of cores, GPUs and judge, which work in parallel.

        Reading, hashing, planning, starting Ray and loading networks come before. Without `workers`, a single process
        does not decode while its network runs.
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
    """Open a few rollouts of each kind, find the frames that their extractors request, and scale up.

    Nothing is written. Rollouts are of one kind if they are of the same subset, lack the same metrics and need the same
    number of judge calls, which are counted for all of them.

    `features` is the folder of features that exist already. Stages that were `measured` cost what they did then, the
    others what their recipes declare.
    """
    # A store that keeps nothing: an estimate must leave no trace.
    extractors = Extractors(FeatureStore(features, max_bytes=-1) if features else None)
    bounds = {bound.name: bound for bound in metrics}
    measured = measured or MachineCosts()
    distinct = list({(entry.content, entry.metrics): entry for entry in work}.values())
    demand, looked_at = _Demand(), 0
    for alike in _by_kind(distinct, bounds):
        some = _evenly_spread(alike, max(MIN_SAMPLED_PER_KIND, round(SAMPLED * len(alike) / len(distinct))))
        demand.weight = len(alike) / len(some)
        looked_at += len(some)
        for entry in some:
            demand.add(entry, [bounds[name] for name in entry.metrics], extractors)
    stages = tuple(_stage_cost(name, stage, measured.of_stage(name)) for name, stage in demand.stages.items())
    measurements = sum(len(entry.metrics) for entry in work)
    calls = round(demand.questions)
    tokens = demand.questions * TOKENS_PER_QUESTION + demand.pictures * TOKENS_PER_PICTURE
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
        conditional_judge_calls=round(demand.conditional_questions),
    )


def _by_kind(work: Sequence[Work], bounds: Mapping[str, BoundMetric]) -> list[list[Work]]:
    """Rollouts grouped by the work that they may need, in order."""
    with_judge = {name for name, bound in bounds.items() if asks_judge([bound])}
    kinds: dict[tuple[object, ...], list[Work]] = {}
    for entry in work:
        questions = _questions(entry.rollout, [bounds[name] for name in entry.metrics if name in with_judge])
        kinds.setdefault((entry.rollout.case.subset, entry.metrics, questions), []).append(entry)
    return list(kinds.values())


def _questions(rollout: Rollout, bounds: Sequence[BoundMetric]) -> int:
    """The number of judge calls for a rollout without stored replies; opens no video."""
    recipes = with_needs(recipe for bound in _applicable(bounds, rollout) for recipe in bound.recipes.values())
    return sum(
        recipe.questions_per_rollout(rollout)
        for recipe in recipes
        if isinstance(recipe, JudgeExtractor) and recipe.declines(rollout) is None
    )


def _applicable(bounds: Iterable[BoundMetric], rollout: Rollout) -> list[BoundMetric]:
    return [bound for bound in bounds if why_not_applicable_safely(bound, rollout) is None]


def _evenly_spread(work: Sequence[Work], max_count: int) -> list[Work]:
    count = min(max_count, len(work))
    return [work[position * len(work) // count] for position in range(count)]


@dataclass(slots=True, kw_only=True)
class _StageDemand:
    """The work of one stage, and what its recipes declare that it costs."""

    rollouts: float = 0.0
    frames: float = 0.0
    pixels: float = 0.0
    seconds: float = 0.0
    disk_bytes: float = 0.0


@dataclass(slots=True)
class _Demand:
    """The work of all rollouts, scaled up from some; nothing from those that cannot be opened."""

    stages: dict[str, _StageDemand] = field(default_factory=dict)
    questions: float = 0.0
    conditional_questions: float = 0.0
    pictures: float = 0.0
    weight: float = 1.0
    """How many rollouts the next one represents."""

    def add(self, work: Work, bounds: Sequence[BoundMetric], extractors: Extractors) -> None:
        """Add one rollout, with a dry run."""
        recipes = [recipe for bound in _applicable(bounds, work.rollout) for recipe in bound.recipes.values()]
        job = FeatureJob(extractors, work.rollout, work.content, recipes)
        try:
            requests = job.dry_run()
        except Unmeasurable:
            return
        for name in (METRICS, READING, WRITING):
            self._of(name).rollouts += self.weight
        for recipe, request in requests.items():
            self._add_recipe(recipe, request)
            if isinstance(recipe, JudgeExtractor) and request is not None:
                questions = self.weight * recipe.questions_per_rollout(work.rollout)
                self.questions += questions
                self.conditional_questions += self.weight * recipe.conditional_questions(work.rollout)
                self.pictures += questions * len(request.indices)
        if job.timeline is not None:
            self._add_decoding(job.timeline, [request for request in requests.values() if request])

    def _add_recipe(self, recipe: Extractor, request: FrameRequest | None) -> None:
        stage, frames = self._of(stage_of(recipe)), self.weight * len(request.indices) if request else 0.0
        stage.rollouts += self.weight
        stage.frames += frames
        stage.seconds += recipe.seconds_per_frame * frames
        stage.disk_bytes += recipe.bytes_per_frame * frames

    def _add_decoding(self, timeline: Timeline, requests: Sequence[FrameRequest]) -> None:
        """All frames up to the last requested one, and those of videos to compare with."""
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

    def _of(self, name: str) -> _StageDemand:
        return self.stages.setdefault(name, _StageDemand())


def _stage_cost(name: str, demand: _StageDemand, measured: StageTiming | None) -> StageCost:
    seconds, disk_bytes = demand.seconds, demand.disk_bytes
    if measured is not None:
        share = _share(demand, measured)
        seconds = share * (measured.seconds if is_on_gpu(name) else measured.cpu_seconds)
        disk_bytes = share * measured.stored_bytes
    return StageCost(
        stage=name,
        rollouts=demand.rollouts,
        frames=demand.frames,
        seconds=seconds,
        disk_bytes=disk_bytes,
        measured_rollouts=measured.rollouts if measured else 0,
    )


def _share(demand: _StageDemand, measured: StageTiming) -> float:
    """The work as a share of what was measured: by pixels if both have them, else by frames, else by rollouts."""
    if demand.pixels and measured.pixels:
        return demand.pixels / measured.pixels
    if demand.frames and measured.frames:
        return demand.frames / measured.frames
    return demand.rollouts / measured.rollouts


def _judge_seconds(calls: int, judge: JudgeSettings | None, measured: MachineCosts) -> float | None:
    """At the requested rate; else at the rate of earlier sessions that mostly waited for answers."""
    if not calls:
        return 0.0
    if judge is not None and judge.policy.per_second is not None:
        return calls / judge.policy.per_second
    known = measured.judges.get(judge.model.model) if judge else None
    return calls * known.seconds / known.paced_calls if known and known.paced_calls else None
