"""Scores that a calibration measured, clip by clip: cards are made from them, long after the clips are gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from lookaway.calibration.measured_card import (
    CalibratedMetric,
    CalibrationSetting,
    ClipLabel,
    LabelledScore,
)
from lookaway.core import DamagedFile
from lookaway.io.files import write_whole
from lookaway.io.parquet import read_parquet

SCORES: Final = "scores.parquet"
KEYS: Final = ("metric", "chain_sha256", "look", "world_version")
"""Scores of other extractors, of another look or of another world are kept, and never mixed."""

Row = dict[str, Any]
MetricKey = tuple[Any, ...]


def metric_key(metric: CalibratedMetric, setting: CalibrationSetting) -> MetricKey:
    """What the scores of one card have in common, apart from size and frame rate."""
    return metric.name, metric.chain_sha256, setting.look, setting.world_version


def add_scores(
    folder: Path, measured: Mapping[MetricKey, Sequence[LabelledScore]]
) -> dict[MetricKey, list[LabelledScore]]:
    """Write new scores to those of earlier calibrations, in place of older ones of the same clip; all are returned."""
    path = folder / SCORES
    rows = {clip_of(row): row for row in (read_rows(path) if path.is_file() else [])}
    rows |= {clip_of(row): row for row in _rows(measured)}
    ordered = [rows[clip] for clip in sorted(rows)]
    write_rows(path, ordered)
    return scores_by_metric(ordered)


def scores_by_metric(rows: Iterable[Row]) -> dict[MetricKey, list[LabelledScore]]:
    """The scores of rows by what those of one card have in common."""
    found: dict[MetricKey, list[LabelledScore]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in KEYS), []).append(_score(row))
    return found


def read_rows(path: Path) -> list[Row]:
    """The scores of a file, one row each."""
    import pyarrow as pa

    try:
        table = read_parquet(path.read_bytes(), [name for name, _ in _columns(pa)])
    except pa.ArrowException as error:
        raise DamagedFile(
            f"{path}: it cannot be read as scores of a calibration: {error}. Delete it; the same `lookaway calibrate` "
            "writes it again from its clips."
        ) from error
    rows: list[Row] = table.to_pylist()
    return rows


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write scores, one row each; equal rows give equal bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows), pa.schema(list(_columns(pa)))), content, compression="zstd")
    write_whole(path, lambda target: target.write(content.getvalue()))


def _columns(pa: Any) -> Iterator[tuple[str, Any]]:
    for name in ("metric", "chain_sha256", "look"):
        yield name, pa.string()
    for name in ("world_version", "height", "width", "fps"):
        yield name, pa.int32()
    for name in ("case", "scene", "family", "kind", "name", "dose_unit"):
        yield name, pa.string()
    for name in ("severity", "dose", "value"):
        yield name, pa.float64()
    for name in ("reason", "branch"):
        yield name, pa.string()


def _rows(measured: Mapping[MetricKey, Iterable[LabelledScore]]) -> Iterator[Row]:
    for key, scores in measured.items():
        for score in scores:
            label = score.label
            yield {
                **dict(zip(KEYS, key, strict=True)),
                **{field.name: getattr(label, field.name) for field in fields(label) if field.name != "size"},
                "height": label.size[0], "width": label.size[1],
                "case": score.case, "scene": score.scene, "value": score.value, "reason": score.reason,
                "branch": score.branch,
            }  # fmt: skip


def _score(row: Row) -> LabelledScore:
    known = {field.name: row[field.name] for field in fields(ClipLabel) if field.name != "size"}
    return LabelledScore(
        label=ClipLabel(size=(row["height"], row["width"]), **known),
        case=row["case"],
        scene=row["scene"],
        value=row["value"],
        reason=row["reason"],
        branch=row["branch"],
    )


def clip_of(row: Row) -> tuple[Any, ...]:
    """Which number of which clip a row holds."""
    names = (*KEYS, "height", "width", "fps", "kind", "name", "severity", "case")
    return tuple(row[name] for name in names)
