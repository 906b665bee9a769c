"""The cases of a site: a grid of cases and models, and the worst failure of each model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from lookaway.core import Reason
from lookaway.core.cases import case_title
from lookaway.reports.case_page.change_pictures import flags
from lookaway.reports.case_page.videos import CaseVideo, CaseVideos, Outcome
from lookaway.reports.leaderboards import Leaderboard, LeaderboardRow, headline
from lookaway.reports.numbers import fixed
from lookaway.reports.pair_pictures import PairPicture, pair_pictures
from lookaway.reports.runs import LoadedRun
from lookaway.reports.site.stills import Still

MAX_CHIPS: Final = 4
SHAPES: Final = (("wide", 16 / 9), ("even", 4 / 3), ("square", 1.0), ("tall", 9 / 16))
"""Shapes of stills, widest first: a still is shown in the widest that its frames fill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoSummary:
    """What the grid needs of one video."""

    model: str
    seed: str
    runs: tuple[str, ...]
    strip: str | None
    """Address of its filmstrip; `None` where the video cannot be shown."""
    shape: str
    values: Mapping[str, float]
    """By metric; only those that count."""
    reasons: Mapping[str, str]
    """By metric without a value that counts: why."""
    flagged: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CasePage:
    """The page of a case, and what the index says of it."""

    id: str
    href: str
    title: str
    subset: str
    videos: tuple[VideoSummary, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """A score in a cell of the grid."""

    metric: str
    text: str
    is_bad: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GridCell:
    """One model on one case: its worst video."""

    video: VideoSummary | None
    chips: tuple[Chip, ...] = ()
    reason: str = ""
    seeds: int = 0
    is_failure: bool = False
    is_untested: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GridRow:
    """One case with a cell for each model, and what the views sort and filter by."""

    page: CasePage
    cells: tuple[GridCell, ...]
    badness: float | None
    """How far its worst video is from the best possible value; larger is worse."""
    spread: float | None
    """How far the models are apart; `None` with fewer than two values."""

    @property
    def is_failure(self) -> bool:
        """Whether any model failed."""
        return any(cell.is_failure for cell in self.cells)

    @property
    def is_untested(self) -> bool:
        """Whether any model was not tested or has no value."""
        return any(cell.is_untested for cell in self.cells)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseGrid:
    """All cases, the worst first."""

    models: tuple[str, ...]
    metric: str
    rows: tuple[GridRow, ...] = field(default=())


def case_page(case: CaseVideos, href: str) -> CasePage:
    """What the index says of a case."""
    return CasePage(
        id=case.id,
        href=href,
        title=case.title,
        subset=case.subset,
        videos=tuple(_summary(video) for video in case.videos),
    )


def _summary(video: CaseVideo) -> VideoSummary:
    counted: list[Outcome] = []
    lacking: list[Outcome] = []
    for outcome in video.outcomes:
        (counted if outcome.status == "score" and outcome.is_counted else lacking).append(outcome)
    shown = video.shown if isinstance(video.shown, Still) else None
    return VideoSummary(
        model=video.rollout.model,
        seed=video.rollout.seed,
        runs=tuple(dict.fromkeys(outcome.run.name for outcome in video.outcomes)),
        strip=shown.strip if shown else None,
        shape=_shape(shown) if shown else "",
        values={outcome.metric.name: outcome.value for outcome in counted if outcome.value is not None},
        reasons={outcome.metric.name: outcome.reason or _why(outcome.status) for outcome in lacking},
        flagged=frozenset(metric for _, metric in flags(video)),
    )


def _why(status: str) -> str:
    """A score that does not count is one of a rollout that did not pass the gate."""
    return Reason.GATE_CLOSED.value if status == "score" else status


def _shape(still: Still) -> str:
    ratio = still.width / still.height
    return next((name for name, least in SHAPES if ratio >= least - 0.01), SHAPES[-1][0])


def case_grid(pages: Sequence[CasePage], leaderboards: Sequence[Leaderboard]) -> CaseGrid | None:
    """The grid, by the metric that answers for the suite; `None` where no case has videos or no metric answers."""
    board = headline(leaderboards)
    pages = [page for page in pages if page.videos]
    if board is None or not pages:
        return None
    order = {row.cell.model: number for number, row in enumerate(board.rows)}
    named = {video.model for page in pages for video in page.videos}
    models = sorted(named, key=lambda model: (order.get(model, len(order)), model))
    chips = _chip_metrics(board, leaderboards)
    rows = [_row(page, models, board, chips) for page in pages]
    rows.sort(key=lambda row: (row.badness is None, -(row.badness or 0.0), row.page.id))
    return CaseGrid(models=tuple(models), metric=board.words, rows=tuple(rows))


def _chip_metrics(board: Leaderboard, leaderboards: Sequence[Leaderboard]) -> dict[str, Leaderboard]:
    """The metric that answers, then others that need memory and have values, in the order of the protocol."""
    others = [
        other
        for other in leaderboards
        if other.metric.is_consistency == board.metric.is_consistency and any(row.cell.estimate for row in other.rows)
    ]
    found = {board.metric.name: board}
    for other in others:
        found.setdefault(other.metric.name, other)
    return dict(list(found.items())[:MAX_CHIPS])


def _row(page: CasePage, models: Sequence[str], board: Leaderboard, chips: Mapping[str, Leaderboard]) -> GridRow:
    cells = [_cell([video for video in page.videos if video.model == model], board, chips) for model in models]
    name = board.metric.name
    values = [_badness(board, video.values[name]) for video in page.videos if name in video.values]
    return GridRow(
        page=page,
        cells=tuple(cells),
        badness=max(values, default=None),
        spread=max(values) - min(values) if len(values) > 1 else None,
    )


def _badness(board: Leaderboard, value: float) -> float:
    return -value if board.metric.higher_is_better else value


def _cell(videos: Sequence[VideoSummary], board: Leaderboard, chips: Mapping[str, Leaderboard]) -> GridCell:
    if not videos:
        return GridCell(video=None)
    name = board.metric.name
    known = [video for video in videos if name in video.values]
    worst = max(known, key=lambda video: _badness(board, video.values[name])) if known else videos[0]
    shown = tuple(
        Chip(
            metric=other.words,
            text=fixed(worst.values[metric]),
            is_bad=metric in worst.flagged or _is_bad(other, worst.values[metric]),
        )
        for metric, other in chips.items()
        if metric in worst.values
    )
    return GridCell(
        video=worst,
        chips=shown,
        reason="" if known else worst.reasons.get(name, "not measured"),
        seeds=len(videos),
        is_failure=name in worst.flagged or (bool(known) and _is_bad(board, worst.values[name])),
        is_untested=not known,
    )


def _is_bad(board: Leaderboard, value: float) -> bool:
    """Whether a value between 0 and 1 lies in the worse half; of other scales no half is bad."""
    if board.metric.range != (0.0, 1.0) or board.metric.higher_is_better is None:
        return False
    return (value < 0.5) == board.metric.higher_is_better and value != 0.5


MAX_FAILURES: Final = 12
"""The most models whose worst failure is shown."""
MAX_TRIED: Final = 3
"""How many of the worst rollouts of a model are tried for a picture."""
CHANGED_AREA: Final = "changed_area"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstFailure:
    """The rollout on which a model does worst, as a picture: first visit, return, what changed."""

    model: str
    title: str
    href: str
    """The page of its case."""
    picture: str
    """Address of the picture, or its content as a data URI."""
    frames: tuple[int, int]
    changed_area: float
    metric: str
    value: str


def worst_failures(
    runs: Sequence[LoadedRun],
    leaderboards: Sequence[Leaderboard],
    pages: Mapping[str, CasePage],
    keep: Callable[[bytes], str],
) -> list[WorstFailure]:
    """The worst failure of each model that failed, where its run holds a picture; `keep` stores a picture."""
    board = headline(leaderboards)
    if board is None:
        return []
    known = {run.name: run for run in runs}
    areas = _changed_areas(leaderboards)
    found = []
    for row in board.rows[:MAX_FAILURES]:
        worst = None if row.control else _worst_picture(known[row.run], row, board, areas)
        if worst is None:
            continue
        rollout, value, picture = worst
        case = known[row.run].rollouts[rollout].case
        found.append(
            WorstFailure(
                model=row.model,
                title=pages[case].title if case in pages else case_title(case),
                href=pages[case].href if case in pages else "",
                picture=keep(picture.jpeg),
                frames=picture.frames,
                changed_area=picture.changed_area,
                metric=board.words,
                value=fixed(value),
            )
        )
    return found


def _changed_areas(leaderboards: Sequence[Leaderboard]) -> dict[tuple[str, str], float]:
    return {
        (row.run, rollout): float(value)
        for board in leaderboards
        if board.metric.name == CHANGED_AREA
        for row in board.rows
        for rollout, value in zip(row.values.rollouts, row.values.values, strict=True)
    }


def _worst_picture(
    run: LoadedRun, row: LeaderboardRow, board: Leaderboard, areas: Mapping[tuple[str, str], float]
) -> tuple[str, float, PairPicture] | None:
    """Rollout, value and picture of the worst rollout of a model; none where all its values are the best possible."""
    best = board.metric.range[1 if board.metric.higher_is_better else 0]
    values = [(rollout, float(value)) for rollout, value in zip(row.values.rollouts, row.values.values, strict=True)]
    failed = [(rollout, value) for rollout, value in values if value != best]
    failed.sort(key=lambda entry: (-_badness(board, entry[1]), -areas.get((row.run, entry[0]), 0.0), entry[0]))
    for rollout, value in failed[:MAX_TRIED]:
        if pictures := pair_pictures(run, run.rollouts[rollout]):
            return rollout, value, pictures[0]
    return None
