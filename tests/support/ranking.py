"""What no suite may let a still video be."""

from __future__ import annotations

from lookaway.engine.run import Run
from lookaway.reports.leaderboards import Leaderboard, headline, leaderboards
from lookaway.reports.runs import load_runs


def require_leads_nothing(run: Run, model: str) -> None:
    """That a model is first in no column of memory that ranks models, and in no headline, though some have its mean."""
    memory = [board for board in leaderboards(load_runs([run.path])) if board.metric.is_consistency]
    answering = headline(memory)
    assert answering is not None
    assert not [board.title for board in (*memory, answering) if board.metric.is_ranked and _first(board) == model]
    assert [row for board in memory for row in board.rows if row.cell.estimate and row.model != model]


def _first(board: Leaderboard) -> str | None:
    """The model of the best mean, of those that tested memory, whatever the number of values."""
    fit = {row.model: row.cell.estimate.mean for row in board.rows if row.cell.estimate and not row.cell.is_untested}
    best = max if board.metric.higher_is_better else min
    return best(fit, key=fit.__getitem__, default=None)
