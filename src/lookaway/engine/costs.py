"""How long a run will take and how much disk it needs, from a look at a few of its rollouts and what others took."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lookaway.core import AskingExtractor, BoundMetric, Extractor, FrameRequest, Timeline, Unmeasurable
from lookaway.engine.effort import DECODING, METRICS, READING, WRITING, Stage, is_on_gpu, stage_of
from lookaway.engine.machine_costs import MachineCosts
from lookaway.engine.perceiving import Extractors, Perceiving
from lookaway.engine.worker import Work, why_declined
from lookaway.judges.settings import JudgeSettings
from lookaway.store.feature_store import FeatureStore

DECODED_PIXELS_PER_SECOND = 200 * 832 * 480
"""On one core, with conversion to RGB."""
ROW_BYTES = 60
"""One compressed row."""
ROWS_PER_METRIC = 21
"""An item and the pairs of a fold."""
TOKENS_PER_QUESTION, TOKENS_PER_PICTURE = 900, 500
"""Question and answer in words, and a frame of 480p as a vision-language model cuts it up: the order of magnitude."""
LOOKED_AT = 16


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
        """From the start to the end, without loading: the slowest of cores, GPUs and judge, which work side by side.

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
    """Open a few rollouts, ask the extractors which frames they would want, and scale up; nothing is written.

    `features` is the folder of features that need not be perceived again. Stages that were `measured` take what they
    took; the others what their recipes declare.
    """
    # A store that keeps nothing: what is perceived for an estimate must leave no trace.
    extractors = Extractors(FeatureStore(features, most_bytes=-1) if features else None)
    bounds = {bound.name: bound for bound in metrics}
    measured = measured or MachineCosts()
    distinct = list({(entry.content, entry.metrics): entry for entry in work}.values())
    looked_at = _evenly_spread(distinct)
    look = _Look()
    for entry in looked_at:
        look.add(entry, [bounds[name] for name in entry.metrics], extractors)
    scale = len(distinct) / len(looked_at) if looked_at else 0.0
    stages = tuple(_stage_cost(name, asked, scale, measured.of_stage(name)) for name, asked in look.stages.items())
    measurements = sum(len(entry.metrics) for entry in work)
    calls = round(scale * look.questions)
    tokens = scale * (look.questions * TOKENS_PER_QUESTION + look.pictures * TOKENS_PER_PICTURE)
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
        looked_at=len(looked_at),
    )


@dataclass(slots=True, kw_only=True)
class _Asked:
    """What is asked of one stage, and what its recipes declare that it takes."""

    rollouts: int = 0
    frames: int = 0
    pixels: int = 0
    seconds: float = 0.0
    disk_bytes: float = 0.0


@dataclass(slots=True)
class _Look:
    """What the rollouts that were looked at take; nothing where they cannot be opened."""

    stages: dict[str, _Asked] = field(default_factory=dict)
    questions: int = 0
    pictures: int = 0

    def add(self, work: Work, bounds: Sequence[BoundMetric], extractors: Extractors) -> None:
        """Rehearse one more."""
        able = [bound for bound in bounds if why_declined(bound, work.rollout) is None]
        recipes = [recipe for bound in able for recipe in bound.recipes.values()]
        perceiving = Perceiving(extractors, work.rollout, work.content, recipes)
        try:
            requests = perceiving.rehearse()
        except Unmeasurable:
            return
        for name in (METRICS, READING, WRITING):
            self._of(name).rollouts += 1
        for recipe, request in requests.items():
            self._add_recipe(recipe, request)
            if isinstance(recipe, AskingExtractor) and request is not None:
                questions = recipe.questions_per_rollout(work.rollout)
                self.questions += questions
                self.pictures += questions * len(request.indices)
        if perceiving.timeline is not None:
            self._add_decoding(perceiving.timeline, [request for request in requests.values() if request])

    def _add_recipe(self, recipe: Extractor, request: FrameRequest | None) -> None:
        asked, frames = self._of(stage_of(recipe)), len(request.indices) if request else 0
        asked.rollouts += 1
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
        frames = max((max(request.indices, default=-1) for request in requests), default=-1) + 1
        frames += sum(last + 1 for _, last in partners)
        decoding = self._of(DECODING)
        decoding.rollouts += 1
        decoding.frames += frames
        decoding.pixels += frames * timeline.width * timeline.height
        decoding.seconds = decoding.pixels / DECODED_PIXELS_PER_SECOND

    def _of(self, name: str) -> _Asked:
        return self.stages.setdefault(name, _Asked())


def _evenly_spread(work: Sequence[Work]) -> list[Work]:
    count = min(LOOKED_AT, len(work))
    return [work[position * len(work) // count] for position in range(count)]


def _stage_cost(name: str, asked: _Asked, scale: float, known: Stage | None) -> StageCost:
    seconds, disk_bytes = asked.seconds, asked.disk_bytes
    if known is not None:
        share = _share(asked, known)
        seconds = share * (known.seconds if is_on_gpu(name) else known.cpu_seconds)
        disk_bytes = share * known.stored_bytes
    return StageCost(
        stage=name,
        rollouts=scale * asked.rollouts,
        frames=scale * asked.frames,
        seconds=scale * seconds,
        disk_bytes=scale * disk_bytes,
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
    """At the rate that was asked for; else at the one that was reached before."""
    if not calls:
        return 0.0
    if judge is not None and judge.manners.per_second is not None:
        return calls / judge.manners.per_second
    known = measured.judges.get(judge.model.model) if judge else None
    return calls * known.seconds / known.calls if known else None
