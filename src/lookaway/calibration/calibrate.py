"""Calibrates metrics: renders clips with known faults, measures them on the engine, and writes cards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from lookaway.calibration.card import CARDS, CLEAN_LOOK, TRUE_EXTRACTORS, CardSet, MetricCard, read_cards, write_cards
from lookaway.calibration.clip_changes import (
    CHANGES,
    LOOKS,
    REORDERED,
    ClipChange,
    change_rollout,
    changed_folder,
    find_change,
)
from lookaway.calibration.measured_card import (
    ORACLE,
    CalibratedMetric,
    CalibrationSetting,
    ClipLabel,
    label_of,
    label_rows,
    make_cards,
)
from lookaway.calibration.scores import add_scores, metric_key
from lookaway.core import (
    Dataset,
    Executor,
    JudgeModel,
    ProtocolName,
    Resources,
    Rollout,
    UnknownName,
    UserError,
    plugins,
)
from lookaway.engine.binding import bind_metrics, feature_names
from lookaway.engine.evaluate import evaluate
from lookaway.engine.reading import read
from lookaway.engine.run import Run
from lookaway.engine.session import Progress
from lookaway.io.world_clips import WorldClip
from lookaway.judges.oracle import OracleServer
from lookaway.judges.server import Connection
from lookaway.judges.settings import JudgeSettings
from lookaway.perception.truth import TRUTH
from lookaway.world.grid import Grid
from lookaway.world.recipe import WORLD_VERSION, ClipRecipe
from lookaway.world.rendering import CaseReport, render_set

CHANGES_VERSION: Final = 1
"""Raised whenever a control or nuisance gives other frames, so that those on disk are not taken for it."""
Features = Literal["truth", "shipped"]
_Job = tuple[Rollout, ClipChange, Rollout | None]
"""A clip, how it is changed, and a clip of another scene if there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationPlan:
    """Which clips are rendered, and which metrics measure them."""

    grid: Grid
    form: ClipRecipe
    """Size, frame rate and length of the clips."""
    metrics: tuple[str, ...] | None = None
    """Metrics or suites; by default those of the suite that reads the world."""
    protocol: ProtocolName | None = None
    """Which protocol of a suite that is named, where it has two."""
    features: tuple[Features, ...] = ("shipped",)
    """Whether features are read from the ground truth, where that has them, or extracted as shipped."""
    using: Mapping[str, str] = field(default_factory=dict)
    """Other extractors by feature, for metrics whose own recipe needs what a world does not supply."""
    changes: tuple[str, ...] = tuple(CHANGES)
    """Controls and nuisances that clean clips are measured under."""
    look: str = CLEAN_LOOK
    """Look of all clips, with and without faults."""
    judge: JudgeSettings | Literal["oracle"] | None = None
    """Answers metrics that ask a judge, from the ground truth if it is the oracle; without one they abstain."""

    def __post_init__(self) -> None:
        for name in self.changes:
            find_change(name)
        if self.judge == ORACLE and (others := [name for name in self.changes if name not in REORDERED]):
            raise UserError(
                f"The oracle knows a clip by its frames, so it cannot tell the truth about {', '.join(others)}. "
                f"Choose changes that show frames as they are: {', '.join(REORDERED)}."
            )
        if self.look not in LOOKS:
            raise UnknownName("look", self.look, LOOKS)
        if self.judge == ORACLE and self.look != CLEAN_LOOK:
            raise UserError(
                f"The oracle knows a clip by its frames, and under the look {self.look} it takes some for others. "
                f"Calibrate metrics that ask it with the look {CLEAN_LOOK}."
            )

    @property
    def name(self) -> str:
        """Name of its folders: clips of another form, or of another world, are kept apart."""
        form = self.form
        return f"{form.height}x{form.width}-{form.fps}fps-{form.seconds:g}s-world{WORLD_VERSION}"

    @property
    def clips(self) -> set[tuple[str, str]]:
        """Case and model of the clips that are rendered and measured."""
        return {(recipe.case, recipe.model) for recipe in self.grid.recipes(self.form)}


def calibrate(
    plan: CalibrationPlan,
    output: Path,
    *,
    executor: str = "inline",
    resources: Resources | None = None,
    on_case: Callable[[CaseReport], object] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> CardSet:
    """Render and measure the clips that are asked for, as far as that was not done yet, and write all cards anew.

    `output` holds clips, features, runs, scores and cards; the same call resumes, scores of earlier calls count, and
    cards of other sizes, rates and metrics stay.
    """
    world = output / "worlds" / plan.name
    chosen: Executor = plugins.load("executors", executor)(resources)
    render_set(plan.grid.recipes(plan.form), world, chosen, on_case)
    changed = output / "changed" / f"{plan.name}-{CHANGES_VERSION}"
    rendered, wanted = read(world), plan.clips
    asked = tuple(rollout for rollout in rendered.rollouts if (rollout.case.id, rollout.model) in wanted)
    dataset = with_look(replace(rendered, rollouts=asked), plan.look, changed, chosen)
    dataset, labels = with_changes(dataset, plan.changes, changed, chosen)
    cards: list[MetricCard] = []
    with _judge(plan, dataset) as judge:
        for features in plan.features:
            run = evaluate(
                dataset,
                output / "runs" / "-".join([plan.name, features, *([plan.look] if plan.look != CLEAN_LOOK else [])]),
                metrics=plan.metrics,
                protocol=plan.protocol,
                using={**plan.using, **(_truth_for(dataset, plan) if features == "truth" else {})},
                executor=executor,
                resources=resources,
                judge=judge,
                features=output / "features",
                new=True,
                on_progress=on_progress,
            )
            cards += cards_of_run(run, labels, output, plan.look)
    found = joined(read_cards(output).cards if (output / CARDS).is_file() else (), cards)
    write_cards(output, found.cards)
    return found


@contextmanager
def _judge(plan: CalibrationPlan, dataset: Dataset) -> Iterator[JudgeSettings | None]:
    """The judge of a plan; the oracle is served for as long."""
    if plan.judge != ORACLE:
        yield plan.judge
        return
    folders = dict.fromkeys(rollout.artifacts[TRUTH].parent for rollout in dataset.rollouts)
    with OracleServer([WorldClip.open(folder) for folder in folders]) as server:
        yield JudgeSettings(model=JudgeModel(model=ORACLE), connection=Connection(url=server.base_url))


def with_look(dataset: Dataset, look: str, folder: Path, executor: Executor) -> Dataset:
    """A world whose clips all have another look; references of cases keep their own."""
    change = LOOKS[look]
    if change is None:
        return dataset
    jobs = [(rollout, change, None) for rollout in dataset.rollouts]
    return replace(dataset, rollouts=tuple(_changed(jobs, folder, executor)))


def with_changes(
    dataset: Dataset, changes: Sequence[str], folder: Path, executor: Executor
) -> tuple[Dataset, dict[str, ClipLabel]]:
    """A world with its clean clips under controls and nuisances, and the label of every rollout by its id.

    A clip with several faults has no label. A single scene has no clip of another one, so that change is left out.
    """
    labels: dict[str, ClipLabel] = {}
    clean: list[Rollout] = []
    for rollout in dataset.rollouts:
        label = label_of(WorldClip.open(rollout.artifacts[TRUTH].parent).card)
        if label is not None:
            labels[rollout.id] = label
            clean += [rollout] if label.kind == "clean" else []
    if not clean:
        raise UserError(f"{dataset.root}: there is no clip without a fault to compare with. Render some.")
    jobs: list[_Job] = []
    for rollout in clean:
        donor = _donor(rollout, clean)
        chosen = (find_change(name) for name in changes)
        jobs += [(rollout, change, donor) for change in chosen if donor or not change.is_of_another_scene]
    changed = _changed(jobs, folder, executor)
    for (rollout, change, _), made in zip(jobs, changed, strict=True):
        kind: Literal["control", "nuisance"] = "control" if change.kind == "control" else "nuisance"
        labels[made.id] = replace(labels[rollout.id], kind=kind, name=change.name)
    return replace(dataset, rollouts=(*dataset.rollouts, *changed)), labels


def _changed(jobs: Sequence[_Job], folder: Path, executor: Executor) -> list[Rollout]:
    """Changed rollouts, in the order of their jobs; their videos are written by the workers."""
    new = [job for job in jobs if not changed_folder(job[0], job[1], folder).exists()]
    if new:  # an executor without work may start a cluster all the same
        for _ in executor.map(lambda clients: partial(_change, folder=folder), new):
            pass
    # What is written is kept; what a worker gave up on is tried again here, where its error is raised.
    return [_change(job, folder) for job in jobs]


def _change(job: _Job, folder: Path) -> Rollout:
    rollout, change, donor = job
    return change_rollout(rollout, change, folder, donor)


def cards_of_run(run: Run, labels: Mapping[str, ClipLabel], folder: Path, look: str = CLEAN_LOOK) -> list[MetricCard]:
    """The cards of all metrics of a run on the simulated world, apart from gates.

    Scores of the same metrics that `folder` holds from earlier calibrations count too.
    """
    scores = label_rows(run.items(), labels)
    locks: Mapping[str, Any] = run.lock.entries["metrics"]
    setting = CalibrationSetting(world_version=WORLD_VERSION, look=look)
    metrics = [
        CalibratedMetric.of_run(entry, locks[entry["name"]])
        for entry in run.about["metrics"]
        if entry["name"] in scores and not entry["is_gate"]
    ]
    known = add_scores(folder, {metric_key(metric, setting): scores[metric.name] for metric in metrics})
    return [card for metric in metrics for card in make_cards(metric, known[metric_key(metric, setting)], setting)]


def _donor(rollout: Rollout, clean: Sequence[Rollout]) -> Rollout | None:
    """The next clean clip of another scene."""
    start = clean.index(rollout)
    others = (*clean[start + 1 :], *clean[:start])
    return next((other for other in others if other.case.scene != rollout.case.scene), None)


def _truth_for(dataset: Dataset, plan: CalibrationPlan) -> dict[str, str]:
    bounds = bind_metrics(dataset, plan.metrics, protocol=plan.protocol)
    known = {name for bound in bounds for name in feature_names(bound.recipes)}
    return {feature: extractor for feature, extractor in TRUE_EXTRACTORS.items() if feature in known}


def joined(before: Iterable[MetricCard], made: Sequence[MetricCard]) -> CardSet:
    """All cards, newer ones in place of older ones, and each with the floor that the truth gives its metric.

    Suites may look at other frames for a metric of one name, so that the protocol has to be the same too.
    """
    cards = {_key(card): card for card in (*before, *made)}
    truth = {_protocol(card): card.floor for card in cards.values() if card.features == "truth"}
    return CardSet(tuple(_with_truth(cards.values(), truth)))


def _with_truth(cards: Iterable[MetricCard], truth: Mapping[Any, Any]) -> Iterator[MetricCard]:
    for card in cards:
        yield card.model_copy(update={"truth_floor": truth.get(_protocol(card))})


def _form(card: MetricCard) -> tuple[Any, ...]:
    return card.metric, card.height, card.width, card.fps, card.look


def _key(card: MetricCard) -> tuple[Any, ...]:
    return (*_form(card), card.chain_sha256)


def _protocol(card: MetricCard) -> tuple[Any, ...]:
    return (*_form(card), card.protocol_sha256)
