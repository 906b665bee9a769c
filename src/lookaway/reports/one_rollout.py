"""The numbers of one rollout of a run, which of them are flagged, and the pictures that show why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from lookaway.core import Json, UnknownName, UserError
from lookaway.io.files import write_whole
from lookaway.reports.numbers import amount, fixed, print_json, print_lines, print_rows
from lookaway.reports.pair_pictures import PairPicture, flagged_by, pair_pictures
from lookaway.reports.runs import LoadedRun, counted_rollouts, row_detail
from lookaway.reports.site.rendering import slug

NOT_TESTED = "does not count: memory not tested"


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutNumber:
    """The outcome of one metric for the rollout."""

    metric: str
    status: str
    value: float | None
    raw: float | None
    unit: str | None
    is_flagged: bool
    """Whether it is above its limit."""
    is_counted: bool
    """Whether it counts in tables: not where it is consistency and memory was not tested."""
    reason: str | None
    message: str | None


def rollout_numbers(run: LoadedRun, rollout: str) -> list[RolloutNumber]:
    """All outcomes of a rollout, in the order of the protocol."""
    if rollout not in run.rollouts:
        raise UnknownName("rollout", rollout, run.rollouts)
    rows = {row["metric"]: row for row in run.items() if row["rollout"] == rollout}
    flagged = {name for metric, row in rows.items() for name in flagged_by(metric, row_detail(row))}
    counted = counted_rollouts(run)
    return [
        RolloutNumber(
            metric=metric.name,
            status=row["status"],
            value=row["value"],
            raw=row["raw"],
            unit=metric.unit,
            is_flagged=metric.name in flagged,
            is_counted=metric.is_gate or row["status"] != "score" or (metric.name, rollout) in counted,
            reason=row["reason"],
            message=row["message"],
        )
        for metric in run.metrics
        if (row := rows.get(metric.name)) is not None
    ]


def print_rollout(run: LoadedRun, rollout: str, pictures: Path | None, *, as_json: bool) -> None:
    """Every number of a rollout, and its pictures of what changed; these are written where a folder is given."""
    numbers = rollout_numbers(run, rollout)
    known = run.rollouts[rollout]
    found = pair_pictures(run, known)
    paths = _write(found, rollout, pictures) if pictures else [None] * len(found)
    if as_json:
        shown: list[Json] = [
            {"frames": list(picture.frames), "changed_area": picture.changed_area, "path": path and str(path)}
            for picture, path in zip(found, paths, strict=True)
        ]
        print_json(
            {
                "rollout": rollout,
                "video": known.video,
                "metrics": [asdict(number) for number in numbers],
                "pictures": shown,
            }
        )
        return
    print_rows([_row(number) for number in numbers], as_json=False, right=("value", "raw"))
    print_lines(_picture_lines(found, paths))


def _row(number: RolloutNumber) -> dict[str, str]:
    why = f"{number.reason}: {number.message}" if number.reason else ""
    return {
        "metric": number.metric,
        "value": fixed(number.value),
        "raw": fixed(number.raw),
        "unit": number.unit or "",
        "flagged": "flagged" if number.is_flagged else "",
        "note": why if number.is_counted else NOT_TESTED,
    }


def _picture_lines(found: Sequence[PairPicture], paths: Sequence[Path | None]) -> list[str]:
    if not found:
        return ["no pictures of what changed are stored with this run"]
    if paths[0] is None:
        return [f"{amount(len(found), 'picture')} of what changed: write them with --pictures FOLDER"]
    return [
        f"frames {picture.frames[0]} and {picture.frames[1]}, {picture.changed_area:.1f} % changed: {path}"
        for picture, path in zip(found, paths, strict=True)
    ]


def _write(found: Sequence[PairPicture], rollout: str, folder: Path) -> list[Path | None]:
    paths: list[Path | None] = []
    for picture in found:
        path = folder / f"{slug(rollout)}-f{picture.frames[0]}_f{picture.frames[1]}.jpg"
        try:
            write_whole(path, lambda file, jpeg=picture.jpeg: file.write(jpeg))  # type: ignore[misc]
        except OSError as error:
            raise UserError(f"{path}: cannot be written: {error}.") from error
        paths.append(path)
    return paths
