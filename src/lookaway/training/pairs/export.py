"""From runs to a folder of preference pairs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lookaway.core import Indices, UnknownName, UserError, digest
from lookaway.engine.run import Run
from lookaway.io.checksums import byte_hash, with_hash
from lookaway.io.files import PARTIAL, write_json, write_text
from lookaway.io.object_storage import as_path
from lookaway.training.pairs.axes import ACCESS, PreferenceAxis, access_locks, choose_axes
from lookaway.training.pairs.described import Described, describe_videos
from lookaway.training.pairs.formats import FORMATS, winners_first
from lookaway.training.pairs.judging import JudgedAxis, RunScores, combine, judge_access, judge_axis
from lookaway.training.pairs.mining import MiningRules, PairColumns, mine, stable_order, within_share
from lookaway.training.pairs.preferences import PREFERENCES, SCHEMA, Naming, Preferences, arrange, batches
from lookaway.training.pairs.run_columns import Flags, RunColumns, read_rollouts, read_scores
from lookaway.training.pairs.scenes import SPLITS, SceneRules, read_held_out, shared_between_scenes, split_scenes
from lookaway.training.pairs.set_card import CARD, README, check_output, licences_by_model, readme, set_card


@dataclass(frozen=True, slots=True, kw_only=True)
class PairOptions:
    """What to export, and how."""

    metrics: tuple[str, ...] | None = None
    """Axes; by default the metrics that their cards recommend."""
    smallest_differences: Mapping[str, float] = field(default_factory=dict)
    """By metric, in place of what its card says."""
    combined: bool = False
    """One axis in place of one for each metric."""
    access: bool = False
    """Also the axis of gates."""
    models: tuple[str, ...] = ()
    """Only these; by default all."""
    rules: MiningRules = field(default_factory=MiningRules)
    splits: Mapping[str, float] = field(default_factory=lambda: dict(SPLITS))
    held_out: tuple[str, ...] = ()
    """Scenes, or files that list them."""
    formats: tuple[str, ...] = tuple(FORMATS)
    licences: tuple[str, ...] = ()
    reads_dataset: bool = True
    relative_to: Path | None = None


def export_pairs(paths: Sequence[Path | str], output: Path | str, options: PairOptions) -> dict[str, Any]:
    """Write the pairs of some runs to a new folder, whole or not at all, and return the card of the set."""
    output = Path(output)
    check_output(output)
    for name in options.formats:
        if name not in FORMATS:
            raise UnknownName("format", name, FORMATS)
    runs = [Run(as_path(path)) for path in paths]
    columns = read_rollouts(runs)
    licences = licences_by_model(options.licences, columns.model_names)
    axes = choose_axes(runs, options.metrics, options.smallest_differences)
    _check_confidence(axes, options.rules)
    judged = _judge(columns, axes, options)
    scene_rules = SceneRules(splits=options.splits, held_out=read_held_out(options.held_out, columns.scene_names))
    splits, order = split_scenes(columns.scene_names, scene_rules), stable_order(columns)
    is_usable = _usable(columns, splits, options)
    found = [mine(columns, axis, is_usable, order, options.rules) for axis in judged]
    described = _described(columns, found) if options.reads_dataset else Described()
    found = [_checked(columns, pairs, described, splits, options.rules) for pairs in found]
    preferences = arrange(columns, judged, found, splits, order)
    if not len(preferences):
        raise UserError(_why_none(judged, found, described))
    card = set_card(columns, preferences, axes, found, described, scene_rules.names)
    card["licences"] = {model: licences[model] for model in card["models"]}
    card["left_out"] = _left_out(columns, splits)
    card["options"] = _plain(options)
    naming = Naming(
        ids=pa.array([f"{number:016x}" for number in order.tolist()]),
        splits=scene_rules.names,
        root=options.relative_to,
    )
    _write(output, columns, preferences, described, naming, options.formats, card)
    return card


def _check_confidence(axes: Sequence[PreferenceAxis], rules: MiningRules) -> None:
    if rules.min_confidence > 0 and (unknown := [axis.name for axis in axes if axis.spread is None]):
        raise UserError(
            f"--min-confidence: the confidence of a pair of {unknown[0]} is not known, since no card says how much "
            "clean clips differ. Leave it out, and choose a larger --margin."
        )


def _judge(columns: RunColumns, axes: Sequence[PreferenceAxis], options: PairOptions) -> list[JudgedAxis]:
    gates = access_locks(columns.runs) if options.access else {}
    locks = {**gates, **{name: lock for axis in axes for name, lock in axis.locks.items()}}
    scores: RunScores = [
        read_scores(run, {metric.name: metric.lock for metric in run.metrics if metric.name in locks})
        for run in columns.runs
    ]
    judged = [judge_axis(columns, scores, axis) for axis in axes]
    if options.combined:
        judged = [combine(judged, digest([axis.protocol_sha256 for axis in axes]))]
    return [*judged, judge_access(columns, scores, digest([ACCESS, gates]))] if options.access else judged


def _usable(columns: RunColumns, splits: Indices, options: PairOptions) -> Flags:
    """Rollouts that may be in a pair: not held out, of a model that was asked for, and in one split only."""
    is_usable = (splits[columns.scenes] >= 0) & ~shared_between_scenes(columns)
    if options.models:
        for name in options.models:
            if name not in columns.model_names:
                raise UnknownName("model", name, columns.model_names)
        wanted = [number for number, name in enumerate(columns.model_names) if name in options.models]
        is_usable &= np.isin(columns.models, wanted)
    return is_usable


def _described(columns: RunColumns, found: Sequence[PairColumns]) -> Described:
    sides = [side for pairs in found for side in (pairs.winners, pairs.losers)]
    return describe_videos(columns, np.unique(np.concatenate(sides)))


def _checked(
    columns: RunColumns, pairs: PairColumns, described: Described, splits: Indices, rules: MiningRules
) -> PairColumns:
    """Without pairs whose files are not as they were measured, are equal, or are another pair's; with even wins."""
    is_dropped = described.is_dropped(len(columns))
    pairs = pairs.dropping(is_dropped[pairs.winners] | is_dropped[pairs.losers], "a video is left out")
    if described.is_read:
        files = described.video_numbers(len(columns))
        won, lost = files[pairs.winners], files[pairs.losers]
        pairs = pairs.dropping(won == lost, "equal files")
        won, lost = files[pairs.winners], files[pairs.losers]
        keys = np.minimum(won, lost) * (int(files.max(initial=0)) + 1) + np.maximum(won, lost)
        is_repeated = np.ones(len(pairs), np.bool_)
        is_repeated[np.unique(keys, return_index=True)[1]] = False
        pairs = pairs.dropping(is_repeated, "repeated")
    if rules.max_wins < 1:
        pairs = pairs.dropping(_beyond_share(columns, pairs, splits, rules.max_wins), "beyond its model's share")
    return pairs


def _beyond_share(columns: RunColumns, pairs: PairColumns, splits: Indices, share: float) -> Flags:
    beyond = np.zeros(len(pairs), np.bool_)
    split = splits[columns.scenes[pairs.winners]]
    for number in np.unique(split):
        here = np.flatnonzero((split == number) & ~pairs.is_same)
        models = columns.models[pairs.winners[here]], columns.models[pairs.losers[here]]
        beyond[here[~within_share(*models, share)]] = True
    return beyond


def _left_out(columns: RunColumns, splits: Indices) -> dict[str, int]:
    return {
        "rollouts of held-out scenes": int(np.count_nonzero(splits[columns.scenes] < 0)),
        "rollouts whose video is that of another scene": int(np.count_nonzero(shared_between_scenes(columns))),
    }


def _why_none(judged: Sequence[JudgedAxis], found: Sequence[PairColumns], described: Described) -> str:
    parts = []
    for axis, pairs in zip(judged, found, strict=True):
        counts = {**axis.counts, **pairs.counts}
        parts.append(f"{axis.name}: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    reasons = sorted(set(described.dropped.values()))
    files = f" Videos were left out: {'; '.join(reasons)}." if reasons else ""
    return (
        f"No pair is left. {'; '.join(parts)}.{files} A pair needs two judgeable rollouts of one case: several models "
        "or seeds, both of which looked away and came back."
    )


def _plain(options: PairOptions) -> dict[str, Any]:
    """Options as JSON, without names of held-out scenes and without where somebody's files lie."""
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(options).items()}
    plain["relative_to"] = None if options.relative_to is None else options.relative_to.name
    plain["held_out"] = len(options.held_out)
    return plain


def _write(  # noqa: PLR0913 - all that is written
    output: Path,
    columns: RunColumns,
    preferences: Preferences,
    described: Described,
    naming: Naming,
    formats: Sequence[str],
    card: dict[str, Any],
) -> None:
    partial = output.parent / f".{uuid4().hex}{PARTIAL}"
    partial.mkdir(parents=True)
    try:
        names = [axis.name for axis in preferences.axes]
        with ExitStack() as files:
            writers = [FORMATS[name](partial / name, names, files) for name in formats]
            table = files.enter_context(pq.ParquetWriter(partial / PREFERENCES, SCHEMA, compression="zstd"))
            for batch in batches(columns, preferences, described, naming):
                table.write_table(batch)
                pairs = winners_first(batch) if writers else {}
                for writer in writers:
                    writer.add(batch, pairs)
        card["preferences_blake2b"] = byte_hash((partial / PREFERENCES).read_bytes())
        write_json(partial / CARD, with_hash(card))
        write_text(partial / README, readme(card))
        if output.exists():
            output.rmdir()  # it is empty
        os.replace(partial, output)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
