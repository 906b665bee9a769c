"""The card of a set of pairs: what it was made from, what was left out and why, and under which licences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np

from lookaway.core import Json, UnknownName, UserError
from lookaway.training.pairs.axes import PreferenceAxis
from lookaway.training.pairs.described import Described
from lookaway.training.pairs.mining import PairColumns
from lookaway.training.pairs.preferences import SAME, A, B, Preferences
from lookaway.training.pairs.run_columns import RunColumns

CARD, README = "card.json", "README.md"
NOT_STATED: Final = "not stated"
UNEVEN: Final = 0.75
"""A model that wins more of the pairs between models is noted: its look may be learned in place of memory."""


def licences_by_model(given: Sequence[str], models: Sequence[str]) -> dict[str, str]:
    """The licence of the videos of each model: `MODEL=LICENCE` for one, or a licence for all others.

    >>> licences_by_model(["a=CC-BY-4.0", "MIT"], ["a", "b"])
    {'a': 'CC-BY-4.0', 'b': 'MIT'}
    """
    own: dict[str, str] = {}
    others: list[str] = []
    for text in given:
        model, sign, licence = (part.strip() for part in text.partition("="))
        if not sign:
            others.append(model)
        elif model in models:
            own[model] = licence
        else:
            raise UnknownName("model for --licence", model, models)
    if len(others) > 1:
        raise UserError(
            f"--licence: {others[0]!r} and {others[1]!r} are both for all models. Give one, or name models: "
            "MODEL=LICENCE."
        )
    return {model: own.get(model, others[0] if others else NOT_STATED) for model in models}


def set_card(
    columns: RunColumns,
    preferences: Preferences,
    axes: Sequence[PreferenceAxis],
    found: Sequence[PairColumns],
    described: Described,
    splits: Sequence[str],
) -> dict[str, Any]:
    """Counts, sources and locks; what only the command knows is added there."""
    used = np.unique(np.concatenate([preferences.side_a, preferences.side_b]))
    return {
        "lookaway": version("lookaway"),
        "pairs": len(np.unique(preferences.pair)),
        "rows": len(preferences),
        "runs": [_run_entry(run) for run in columns.runs],
        "models": [columns.model_names[number] for number in np.unique(columns.models[used]).tolist()],
        "axes": {axis.name: axis.to_json() for axis in axes},
        "counts": {
            axis.name: {"rollouts": dict(axis.counts), "pairs": {**pairs.counts, "exported": len(pairs)}}
            for axis, pairs in zip(preferences.axes, found, strict=True)
        },
        "labels": _labels(preferences, splits),
        "scenes": _scenes(columns, preferences, splits),
        "wins": _wins(columns, preferences),
        "copies_left_out": columns.copies,
        "videos_left_out": dict(Counter(described.dropped.values())),
    }


def _run_entry(run: Any) -> dict[str, Json]:
    about = run.about
    return {
        "name": run.path.name,
        "suite": about["suite"],
        "lock_sha256": run.lock.sha256,
        "dataset": run.lock.entries.get("dataset", {}).get("identity", {}),
        "lookaway": about.get("lookaway"),
    }


def _labels(preferences: Preferences, splits: Sequence[str]) -> dict[str, dict[str, dict[str, int]]]:
    found: dict[str, dict[str, dict[str, int]]] = {}
    for number, axis in enumerate(preferences.axes):
        for split, name in enumerate(splits):
            here = (preferences.axis == number) & (preferences.split == split)
            same, wins = preferences.is_same[here], preferences.wins_a[here]
            found.setdefault(axis.name, {})[name] = {
                A: int(np.count_nonzero(wins)),
                B: int(np.count_nonzero(~wins & ~same)),
                SAME: int(np.count_nonzero(same)),
            }
    return found


def _scenes(columns: RunColumns, preferences: Preferences, splits: Sequence[str]) -> dict[str, int]:
    scenes = columns.scenes[preferences.side_a]
    return {name: len(np.unique(scenes[preferences.split == split])) for split, name in enumerate(splits)}


def _wins(columns: RunColumns, preferences: Preferences) -> dict[str, dict[str, int]]:
    """By axis, how many pairs against other models each model wins."""
    winners, a, b = (columns.models[side] for side in (preferences.winners, preferences.side_a, preferences.side_b))
    found = {}
    for number, axis in enumerate(preferences.axes):
        here = (preferences.axis == number) & ~preferences.is_same & (a != b)
        counts = np.bincount(winners[here], minlength=len(columns.model_names))
        found[axis.name] = {columns.model_names[model]: int(counts[model]) for model in np.flatnonzero(counts)}
    return found


def uneven_wins(card: Mapping[str, Any]) -> list[str]:
    """Notes about models that win most pairs of an axis against others."""
    notes = []
    for axis, wins in card["wins"].items():
        total = sum(wins.values())
        for model, count in wins.items():
            if count > UNEVEN * total:
                notes.append(
                    f"{axis}: {model} wins {count} of {total} pairs between models, so its look may be learned "
                    "instead of memory. --max-wins 0.5 or --same-model-only prevents that."
                )
    return notes


def readme(card: Mapping[str, Any]) -> str:
    """The card for people, with text of datasets as code."""
    lines = [
        "# Preference pairs",
        "",
        f"{card['pairs']} pairs of videos with {card['rows']} preferences, made by lookaway {card['lookaway']} from "
        f"outcomes of metrics. `preferences.parquet` has every pair and axis; `{CARD}` has counts, locks and options.",
        "",
        "Both videos of a pair answer one case and were judgeable: scored, and known to have tested memory where the "
        "axis asks for it. Splits share no scene.",
        "",
        *_table(["axis", "split", A, B, SAME], _label_rows(card)),
        *_table(["model", "licence"], [[_code(model), _code(text)] for model, text in card["licences"].items()]),
        *_table(
            ["run", "suite", "lock"],
            [[_code(run["name"]), _code(run["suite"]), _code(run["lock_sha256"][:16])] for run in card["runs"]],
        ),
    ]
    return "\n".join(lines)


def _label_rows(card: Mapping[str, Any]) -> list[list[str]]:
    return [
        [_code(axis), split, *(str(counts[label]) for label in (A, B, SAME))]
        for axis, by_split in card["labels"].items()
        for split, counts in by_split.items()
    ]


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return [*(f"| {' | '.join(line)} |" for line in lines), ""]


def _code(text: object) -> str:
    """Text as inline code in a table: what could end either is left out."""
    plain = "".join(c for c in str(text) if c.isprintable() and c not in "`|<>")
    return f"`{plain or '-'}`"


def check_output(output: Path) -> None:
    """Refuse a folder that holds something."""
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise UserError(f"{output}: not an empty folder. Name another one with --output, or remove it.")
