"""A run with files of every kind, and what is read from them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from lookaway.core import Feature, JudgeModel, JudgeRequest
from lookaway.engine.timings import SessionCosts, read_run_costs, save_session
from lookaway.io.journal import Journal
from lookaway.judges.budget import Budget, Spending
from lookaway.judges.reply_store import ReplyStore
from lookaway.store.feature_store import FeatureStore
from lookaway.store.outcome_reader import OutcomeReader
from lookaway.store.run_folder import RunFolder
from tests.store.rows import ASKED, measured, rollout, score, start_run

CONTENT, RECIPE = "ab" * 16, "cd" * 16
FEATURE = Feature({"x": np.arange(5), "y": np.linspace(0, 1, 7)}, {"rule": "fold"})
REQUEST = JudgeRequest(judge=JudgeModel(model="judge"), system="", instruction="Is it back?")
ENTRIES = tuple(rollout(f"case{number}") for number in range(8))
COMPACTED = 5
"""How many of the entries are in one compacted file; each of the others has a file of its own."""


def value_of(number: int) -> float:
    """The score of an entry."""
    return 0.7258 / (number + 1)


def add_entry(folder: RunFolder, number: int) -> None:
    """Measure an entry."""
    folder.add([measured(score(value_of(number), 0.1 * number, 0.2), ENTRIES[number])])


def write_every_file(path: Path) -> RunFolder:
    """A run of all entries."""
    folder = start_run(path, *ENTRIES)
    for number in range(len(ENTRIES)):
        if number == COMPACTED:
            folder.compact()
        add_entry(folder, number)
        folder.note("measured", rollout=ENTRIES[number].id)
    FeatureStore(folder.features).put(CONTENT, RECIPE, FEATURE)
    ReplyStore(path / "replies").put(REQUEST, {"choices": [{"message": {"content": "yes"}}]})
    spending = Spending(path / "spending.jsonl", Budget())
    for tokens in (100, 20):
        spending.take_call()
        spending.add_tokens(tokens, 5)
    save_session(path, SessionCosts(executor="inline", workers=1, started=1e9, seconds=12.5, rollouts=8))
    return folder


def read_rows(folder: RunFolder) -> list[str]:
    """Every row that counts, as text."""
    reader = OutcomeReader(folder, [ASKED])
    return [repr(sorted(row.items())) for row in (*reader.items(), *reader.units(ASKED.name))]


def read_feature(folder: RunFolder) -> str | None:
    """The stored feature as text."""
    found = FeatureStore(folder.features).get(CONTENT, RECIPE)
    return None if found is None else repr({name: array.tolist() for name, array in found.arrays.items()})


def read_events(folder: RunFolder) -> list[str]:
    """Every event that can be read, without what is no event."""
    events = []
    for line in Journal(folder.path / "events.jsonl").lines():
        try:
            events.append(json.dumps(json.loads(line), sort_keys=True))
        except ValueError:
            continue
    return events


def read_spending(folder: RunFolder) -> object:
    """What was spent, as a session sees it, which ends an unfinished line first."""
    Journal(folder.path / "spending.jsonl").end_line()
    return Spending(folder.path / "spending.jsonl", Budget()).spent()


READERS: dict[str, Callable[[RunFolder], object]] = {
    "outcomes/compact-*.parquet": read_rows,
    "outcomes/[!c]*.parquet": read_rows,
    "rollouts.parquet": lambda folder: folder.rollouts().to_pylist(),
    "lock.json": lambda folder: folder.lock().entries,
    "run.json": lambda folder: folder.about(),
    "costs.json": lambda folder: [session.to_json() for session in read_run_costs(folder.path).sessions],
    "features/*/*/*.npz": read_feature,
    "replies/*/*.json": lambda folder: ReplyStore(folder.path / "replies").get(REQUEST),
    "events.jsonl": read_events,
    "spending.jsonl": read_spending,
}
"""By the pattern of a file, what is read from it."""


def resume(folder: RunFolder) -> int:
    """Do what `eval` does with such a run; returns how many entries are measured again."""
    start_run(folder.path, *ENTRIES)
    folder.set_aside_damaged()
    finished = {name for name, _ in OutcomeReader(folder, [ASKED]).finished()}
    missing = [number for number, entry in enumerate(ENTRIES) if entry.id not in finished]
    for number in missing:
        add_entry(folder, number)
    folder.compact()
    return len(missing)
