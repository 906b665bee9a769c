"""What became of a merge, on the terminal."""

from __future__ import annotations

from lookaway.engine.merging import missing_shards
from lookaway.engine.run import Run
from lookaway.reports.numbers import amount, print_json, print_lines


def print_merged(run: Run, *, as_json: bool) -> None:
    """How much came together, what is missing, and what was left where it is."""
    about = run.about
    missing = missing_shards(about)
    if as_json:
        print_json({"run": str(run.path), "rollouts": about["rollouts"], **about["merged"], "missing": missing})
        return
    print_lines(
        [
            f"{run.path}: {amount(about['rollouts'], 'rollout')} of {amount(len(about['merged']['runs']), 'run')}",
            *(f"warning: {said}" for said in missing),
            "Features and replies stay with the runs: they only save work. Runs share them with --features, --replies.",
        ]
    )
