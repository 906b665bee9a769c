"""All that a run needs to know to ask a judge."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from lookaway.core import Compute, Judge, JudgeModel, plugins
from lookaway.judges.connection import Connection
from lookaway.judges.introduction import introduce
from lookaway.judges.pacing import Manners
from lookaway.judges.patient_asking import PatientAsking
from lookaway.judges.reply_store import ReplyStore
from lookaway.judges.spending import Budget, Spending


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """Who is asked, how, how fast, and for how much."""

    model: JudgeModel
    wording: Literal["auto", "schema", "text"] = "auto"
    """Whether the server holds answers to their schema; by default it is tried."""
    connection: Connection = Connection()
    folder: Path | None = None
    """Of a model that runs in this process."""
    compute: Compute = Compute()
    """Where it runs."""
    manners: Manners = Manners()
    budget: Budget = field(default_factory=Budget)
    replies: Path | None = None
    """A folder of replies to share between runs; by default they are kept with the run."""
    is_replay: bool = False

    def asking(self, run: Path, *, workers: int = 1) -> PatientAsking:
        """For one of several workers of a run."""
        return PatientAsking(
            make_judge=None if self.is_replay else self._make_judge,
            replies=ReplyStore(self.replies or run / "replies"),
            spending=Spending(run / "spending.jsonl", self.budget),
            manners=self.manners.share(workers),
        )

    def introduced(self, run: Path) -> JudgeModel:
        """The model as it names itself, after one question of no importance."""
        asking = replace(self, manners=replace(self.manners, tries=min(4, self.manners.tries))).asking(run)
        try:
            return introduce(asking, self.model, self.wording).judge
        finally:
            asking.close()

    def _make_judge(self) -> Judge:
        judge: Judge = plugins.load("judges", self.model.backend)(self)
        return judge
