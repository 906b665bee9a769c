"""The videos of one case with all that was measured on them, from one run or several."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from lookaway.core import Case, Json, Reason, Rollout, Unmeasurable, UserError
from lookaway.core.cases import case_title
from lookaway.engine.about import options_of
from lookaway.engine.locking import content_key
from lookaway.engine.reading import load_suite, read
from lookaway.io.world_clips import WorldClip
from lookaway.perception.truth import TRUTH
from lookaway.reports.runs import LoadedMetric, LoadedRollout, LoadedRun, counted_rollouts, row_detail
from lookaway.reports.site.media import PlayableClip
from lookaway.reports.site.stills import Placeholder, ShownVideo, Stills


@dataclass(frozen=True, slots=True)
class ReloadedDataset:
    """The rollouts of a run, read again from its dataset."""

    rollouts: Mapping[str, Rollout] = field(default_factory=dict)
    """By id; only those that are unchanged since they were measured."""
    changed: frozenset[str] = frozenset()
    """Ids of rollouts whose files or records have changed since."""
    problem: str = ""
    """Why nothing could be read."""


def reload_dataset(run: LoadedRun) -> ReloadedDataset:
    """Read the dataset of a run again, and keep the rollouts whose content is unchanged."""
    root = run.about.get("dataset")
    if not isinstance(root, str):
        return ReloadedDataset(problem="the run does not record where its dataset is.")
    try:
        options = options_of(load_suite(run.suite), run.about, run.lock)
        dataset = read(Path(root), suite=run.suite, **options)
    except (UserError, OSError) as error:
        return ReloadedDataset(problem=str(error))
    found = {rollout.id: rollout for rollout in dataset.rollouts if rollout.id in run.rollouts}
    same = {name for name, rollout in found.items() if content_key(rollout) == run.rollouts[name].content}
    return ReloadedDataset({name: found[name] for name in found if name in same}, frozenset(found) - same)


FRAME = re.compile(r"f([0-9]{1,9})")


class UnitRow(NamedTuple):
    """One unit of a measurement, with the fields that a page shows; there may be millions."""

    name: str
    status: str
    reason: str | None
    value: float | None
    message: str | None
    detail: str | None

    @property
    def frame(self) -> int | None:
        """Its frame, where the unit is a single frame."""
        match = FRAME.fullmatch(self.name)
        return int(match[1]) if match else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of one metric of one run for a video."""

    run: LoadedRun
    metric: LoadedMetric
    status: str
    reason: str | None
    value: float | None
    raw: float | None
    message: str | None
    detail: Mapping[str, Json]
    units: Sequence[UnitRow]
    is_counted: bool = True
    """Whether it counts in tables: not where it is consistency and the rollout did not pass the gate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseVideo:
    """One video of a case."""

    key: str
    """Its id in the page."""
    rollout: LoadedRollout
    described: Rollout | None
    """As its dataset describes it; `None` where that could not be read, or has changed since."""
    is_changed: bool
    shown: ShownVideo | None
    """`None` where no media are shown."""
    outcomes: tuple[Outcome, ...]
    colour: int
    """Index of its model among all models of the site."""
    order: int
    """Index among the videos of its model."""

    @property
    def sign(self) -> str:
        """The id of its mark in the page: filled for the first video of a model, hollow for the others."""
        return f"sign{self.colour}{'' if self.order == 0 else 'h'}"

    @property
    def clip(self) -> PlayableClip | None:
        """The video, where it can be played."""
        return self.shown if isinstance(self.shown, PlayableClip) else None

    def seconds(self, frame: int) -> float | None:
        """When a frame begins; `None` where the video has no such frame."""
        return self.clip.times[frame] if self.clip and 0 <= frame < self.clip.frame_count else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseVideos:
    """One case, and every video generated for it."""

    id: str
    subset: str
    scene: str
    case: Case | None
    """As the dataset describes it, where that could be read."""
    videos: tuple[CaseVideo, ...]
    reference: ShownVideo | None
    notes: tuple[str, ...]
    """Shown above everything else."""

    @property
    def title(self) -> str:
        """The case in words; its id where there are none."""
        return case_title(self.id, self.case)

    def outcomes(self) -> Iterator[tuple[CaseVideo, Outcome]]:
        """Every outcome of every video."""
        return ((video, outcome) for video in self.videos for outcome in video.outcomes)


@dataclass(frozen=True, slots=True)
class _Measured:
    """One run with its rows by rollout."""

    run: LoadedRun
    again: ReloadedDataset
    outcomes: Mapping[str, Sequence[Outcome]]


def case_videos(runs: Sequence[LoadedRun], media: Stills | None) -> Iterator[CaseVideos]:
    """Every case of the runs, in order of ids; without media no video is opened."""
    measured = [_Measured(run, reload_dataset(run), _outcomes(run)) for run in runs]
    cases: dict[str, list[tuple[_Measured, LoadedRollout]]] = defaultdict(list)
    for entry in measured:
        for rollout in entry.run.rollouts.values():
            cases[rollout.case].append((entry, rollout))
    if media:
        media.prepare(_video_paths(measured))
    models = sorted({model for run in runs for model in run.models})
    for case in sorted(cases):
        yield _case(case, cases[case], media, models)


def _video_paths(measured: Sequence[_Measured]) -> Iterator[Path]:
    for entry in measured:
        yield from (rollout.video for rollout in entry.again.rollouts.values())
        yield from (r.case.reference.video for r in entry.again.rollouts.values() if r.case.reference)


def _case(
    name: str, found: Sequence[tuple[_Measured, LoadedRollout]], media: Stills | None, models: Sequence[str]
) -> CaseVideos:
    # Two runs that measured one video with different metrics show it once.
    same: dict[tuple[str, str, str], list[tuple[_Measured, LoadedRollout]]] = defaultdict(list)
    for entry, rollout in found:
        same[rollout.model, rollout.seed, rollout.content].append((entry, rollout))
    counts = dict.fromkeys(models, 0)
    videos = []
    for number, key in enumerate(sorted(same)):
        videos.append(_video(f"v{number}", same[key], media, models.index(key[0]), counts[key[0]]))
        counts[key[0]] += 1
    described = next((video.described.case for video in videos if video.described), None)
    reference = described.reference if described else None
    return CaseVideos(
        id=name,
        subset=found[0][1].subset,
        scene=found[0][1].scene,
        case=described,
        videos=tuple(videos),
        reference=media.show(reference.video) if media and reference else None,
        notes=tuple(_notes(found, videos)),
    )


def _video(
    key: str, found: Sequence[tuple[_Measured, LoadedRollout]], media: Stills | None, colour: int, order: int
) -> CaseVideo:
    rollout = found[0][1]
    described = next((e.again.rollouts[r.id] for e, r in found if r.id in e.again.rollouts), None)
    return CaseVideo(
        key=key,
        rollout=rollout,
        described=described,
        is_changed=described is None and any(r.id in e.again.changed for e, r in found),
        shown=_shown(rollout, described, media) if media else None,
        outcomes=tuple(outcome for e, r in found for outcome in e.outcomes.get(r.id, ())),
        colour=colour,
        order=order,
    )


def _shown(rollout: LoadedRollout, described: Rollout | None, media: Stills) -> ShownVideo:
    """A video whose content is what the run measured: a run of somebody else may name any file of this machine."""
    if described is not None:
        return media.show(described.video)
    name = Path(rollout.video).name
    if not Path(rollout.video).is_file():
        return Placeholder(Reason.MISSING_VIDEO, f"{name}: there is no such file.")
    return Placeholder(
        Reason.UNSAFE_PATH,
        f"{name}: not published, since the dataset of the run does not name it, or it has changed. "
        "Run the same `lookaway eval` again.",
    )


def _notes(found: Sequence[tuple[_Measured, LoadedRollout]], videos: Iterable[CaseVideo]) -> Iterator[str]:
    for problem in dict.fromkeys(entry.again.problem for entry, _ in found if entry.again.problem):
        yield f"Captions, phases and reference videos are not shown, since the dataset cannot be read again: {problem}"
    changed = [video.rollout.id for video in videos if video.is_changed]
    if changed:
        yield f"Files have changed since they were measured: {', '.join(changed)}."


def _outcomes(run: LoadedRun) -> dict[str, list[Outcome]]:
    """Outcomes by rollout, with their units."""
    metrics = {metric.name: metric for metric in run.metrics}
    rows = list(run.items())
    units = {name: _units(run.units(name)) for name in {row["metric"] for row in rows}}
    counted = counted_rollouts(run)
    found: dict[str, list[Outcome]] = defaultdict(list)
    for row in rows:
        found[row["rollout"]].append(
            Outcome(
                run=run,
                metric=metrics[row["metric"]],
                status=row["status"],
                reason=row["reason"],
                value=row["value"],
                raw=row["raw"],
                message=row["message"],
                detail=row_detail(row),
                units=units[row["metric"]].get(row["rollout"], ()),
                is_counted=metrics[row["metric"]].is_gate or (row["metric"], row["rollout"]) in counted,
            )
        )
    return found


def _units(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[UnitRow]]:
    found: dict[str, list[UnitRow]] = defaultdict(list)
    for row in rows:
        unit = UnitRow(row["unit"], row["status"], row["reason"], row["value"], row["message"], row["detail"])
        found[row["rollout"]].append(unit if unit.frame is None else unit._replace(detail=None))
    return found


def known_truth(video: CaseVideo) -> WorldClip | None:
    """The clip whose card the dataset names for a video; `None` without one, or where it describes another video."""
    card = video.described.artifacts.get(TRUTH) if video.described else None
    if card is None or not card.is_file() or video.clip is None:
        return None
    try:
        clip = WorldClip.open(card.parent)
    except (Unmeasurable, UserError):
        return None  # metrics that read it abstain with the reason, which the page shows
    return clip if clip.card.frames == video.clip.frame_count else None
