"""A run as the CSV of MemoBench's evaluator, one for each model, with its columns, scales and rounding."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from lookaway.core import Reason, UserError
from lookaway.engine.run import Run
from lookaway.reports.as_published import require_published
from lookaway.reports.export.mbench import folder_name
from lookaway.reports.export.rows import plain_text, write_csv_file, write_file
from lookaway.reports.memobench.scores import SUITE
from lookaway.reports.scored_rollouts import require_suite
from lookaway.store.run_folder import RunFolder

FILE_NAME: Final = "eval_both.csv"
"""MemoBench's leaderboard takes one file of each model, the newest: both parts are in it."""
CLIP: Final = ("id", "scene", "data_type", "num_frames", "h_start", "r_start", "gt_frames")
SCORES: Final = (
    "TemporalScore",
    "AestheticScore",
    "ImageQuality",
    "ObjIdentityMean",
    "ObjIdentityMin",
    "GeoConsistencyMean",
    "GeoConsistencyMin",
    "ImageRewardScore",
    "GTRevisitSim",
)
PHASES: Final = {"O": "visible", "H": "disappeared", "R": "reappeared", "ALL": "all"}
FIDELITY: Final = {
    f"GT_{letter}_{name.upper()}": f"{SUITE}.{phase}.{name}"
    for letter, phase in PHASES.items()
    for name in ("psnr", "ssim", "lpips")
}
CAMERA: Final = {
    "ATE_RotDeg": "ate_rot_deg",
    "TotalGT_RotDeg": "total_gt_rot_deg",
    "MeanRotErrorDeg": "mean_rot_error_deg",
}
LENS: Final = ("fx", "fy")
SCALED: Final = {**dict.fromkeys((*SCORES, "CameraControllability"), (0.0, 1.0)), "AestheticScore": (0.0, 10.0)}
"""Least and greatest value of what becomes a percentage."""
OVERWRITTEN: Final = ("ImageRewardScore", "GTRevisitSim", "CameraControllability")
"""Columns that the published code overwrites by their percentage."""
COMPOSITES: Final = ("MotionSmoothness", "VisualQuality", "Geo3DConsistency", "ObjIdentityConsistency")
COLUMNS: Final = (
    *CLIP,
    *SCORES,
    *FIDELITY,
    "CameraControllability",
    *CAMERA,
    *LENS,
    *(f"{name}_pct" for name in SCALED),
    *COMPOSITES,
)
MEAN_WEIGHT: Final = 0.7
ORS: Final = f"{SUITE}.ors"
"""It has a table of its own."""
PUBLISHED: Final = (
    *FIDELITY.values(),
    *(
        f"{SUITE}.{name}"
        for name in (
            "motion_smoothness",
            "aesthetic",
            "image_quality",
            "object_identity",
            "geo3d",
            "image_reward",
            "gt_revisit_similarity",
            "camera_controllability",
        )
    ),
    ORS,
)
"""Metrics that columns are made of."""
ORS_FILE: Final = "ors_scores.csv"
ORS_COLUMNS: Final = (
    "clip_id",
    "data_type",
    "scene",
    "n_gen",
    "r_start",
    "ors",
    "detection_rate",
    "mean_confidence",
    "n_r_frames",
    "n_detected",
)

Row: TypeAlias = Mapping[str, Any]
Values: TypeAlias = dict[str, float | int | str | None]


def export_memobench_table(run: Run, output: Path) -> list[Path]:
    """Write published values: `outputs/<model>/eval_both.csv` for each model, and `ors_results/<model>/ors_scores.csv`.

    The second has the clips whose reappearance was scored, and is not written where there are none. In the first, what
    was not measured is empty; where something that was requested has no score, a column `error` says why, as
    the published code adds one. Percentages are made from rounded values, and composites from rounded percentages, as
    there.
    """
    require_suite(run, SUITE)
    require_published(run, OFFICIAL)
    rows: dict[str, dict[str, Row]] = {}
    for row in run.items():
        if row["metric"] in PUBLISHED:
            rows.setdefault(row["rollout"], {})[row["metric"]] = row
    requested = [metric.name for metric in run.metrics if metric.name in PUBLISHED and metric.name != ORS]
    rollouts = RunFolder(run.path).rollouts().to_pylist()
    written = []
    for model in dict.fromkeys(rollout["model"] for rollout in rollouts):
        own = [rollout for rollout in rollouts if rollout["model"] == model]
        lines = [_line(rollout, rows.get(rollout["rollout"], {}), requested) for rollout in own]
        path = output / "outputs" / folder_name(model) / FILE_NAME
        write_csv_file(path, [*COLUMNS, *(["error"] if any(line.get("error") for line in lines) else [])], lines)
        written.append(path)
        scored = [(rollout, rows.get(rollout["rollout"], {}).get(ORS)) for rollout in own]
        if found := [_ors_line(rollout, row) for rollout, row in scored if row and row["status"] == "score"]:
            path = output / "ors_results" / folder_name(model) / ORS_FILE
            write_csv_file(path, ORS_COLUMNS, found)
            written.append(path)
    return written


def _line(rollout: Row, rows: Mapping[str, Row], requested: Sequence[str]) -> Values:
    scores = {metric: row for metric, row in rows.items() if row["status"] == "score"}
    details = {metric: json.loads(row["detail"] or "{}") for metric, row in scores.items()}

    def value(metric: str) -> float | None:
        return scores[metric]["value"] if metric in scores else None

    def detail(metric: str, name: str) -> Any:
        return details.get(f"{SUITE}.{metric}", {}).get(name)

    aesthetic = scores.get(f"{SUITE}.aesthetic")
    line: Values = {
        "id": rollout["case"].partition("/")[2],
        "scene": rollout["scene"],
        "data_type": rollout["subset"],
        **_phases(details),
        "TemporalScore": _rounded(value(f"{SUITE}.motion_smoothness"), 4),
        "AestheticScore": _rounded(aesthetic["raw"] if aesthetic else None, 4),
        "ImageQuality": _rounded(value(f"{SUITE}.image_quality"), 4),
        "ObjIdentityMean": _rounded(detail("object_identity", "mean"), 4),
        "ObjIdentityMin": _rounded(detail("object_identity", "min"), 4),
        "GeoConsistencyMean": _rounded(detail("geo3d", "mean"), 4),
        "GeoConsistencyMin": _rounded(detail("geo3d", "min"), 4),
        "ImageRewardScore": _rounded(value(f"{SUITE}.image_reward"), 4),
        "GTRevisitSim": _rounded(value(f"{SUITE}.gt_revisit_similarity"), 4),
        **{column: _rounded(value(metric), 4) for column, metric in FIDELITY.items()},
        "CameraControllability": _rounded(value(f"{SUITE}.camera_controllability"), 4),
        **{column: _rounded(detail("camera_controllability", name), 3) for column, name in CAMERA.items()},
        "error": _error(rows, requested),
    }
    return line | _scaled(line)


def _ors_line(rollout: Row, row: Row) -> Values:
    """The reappearance score of a clip; a rate without detections has a confidence of 0, as in the published code."""
    detail = json.loads(row["detail"])
    return {
        "clip_id": rollout["case"].partition("/")[2],
        "data_type": rollout["subset"],
        "scene": rollout["scene"],
        "n_gen": detail["video_frames"],
        "r_start": detail["first_frame"],
        "ors": _rounded(row["value"], 4),
        "detection_rate": _rounded(detail["detection_rate"], 4),
        "mean_confidence": _rounded(detail["mean_confidence"] or 0.0, 4),
        "n_r_frames": detail["frames"],
        "n_detected": detail["frames_detected"],
    }


def _phases(details: Mapping[str, Mapping[str, Any]]) -> Values:
    """Lengths and keyframes, as the scores of phases say."""
    found: Values = {}
    for known in details.values():
        if known.get("phase") == PHASES["H"]:
            found["h_start"] = known["first_frame"]
        if known.get("phase") == PHASES["R"]:
            found |= {"r_start": known["first_frame"], "num_frames": known["past_last_frame"]}
        if known.get("reference_frames") is not None:
            found["gt_frames"] = known["reference_frames"]
    return found


def _scaled(line: Values) -> Values:
    percent: dict[str, float | None] = {}
    for name, (low, high) in SCALED.items():
        value = line.get(name)
        share = None if value is None else min(1.0, max(0.0, (float(value) - low) / (high - low)))
        percent[name] = _rounded(None if share is None else 100 * share, 1)
    quality = [found for name in ("AestheticScore", "ImageQuality") if (found := percent[name]) is not None]
    return {
        **{f"{name}_pct": value for name, value in percent.items()},
        **{name: percent[name] for name in OVERWRITTEN},
        "MotionSmoothness": percent["TemporalScore"],
        "VisualQuality": _rounded(sum(quality) / len(quality) if quality else None, 2),
        "Geo3DConsistency": _combined(percent["GeoConsistencyMean"], percent["GeoConsistencyMin"]),
        "ObjIdentityConsistency": _combined(percent["ObjIdentityMean"], percent["ObjIdentityMin"]),
    }


def _combined(mean: float | None, least: float | None) -> float | None:
    return None if mean is None or least is None else round(MEAN_WEIGHT * mean + (1 - MEAN_WEIGHT) * least, 2)


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(float(value), digits)


def _error(rows: Mapping[str, Row], requested: Sequence[str]) -> str | None:
    """Why something is missing: metric, typed reason and message."""
    lacking: dict[str, list[str]] = {}
    for metric in requested:
        row = rows.get(metric)
        if row is None:
            lacking.setdefault(Reason.NOT_YET_MEASURED.value, []).append(metric)
        elif row["status"] != "score":
            lacking.setdefault(f"{row['reason']}: {row['message']}", []).append(metric)
    return "; ".join(f"{', '.join(metrics)}: {reason}" for reason, metrics in lacking.items()) or None


LEADERBOARD: Final = (
    "VisualQuality",
    "MotionSmoothness",
    "ObjIdentityConsistency",
    "Geo3DConsistency",
    "CameraControllability",
    "ImageRewardScore",
    "ORS",
    "GT_ALL_PSNR",
    "GT_ALL_SSIM",
    "GT_ALL_LPIPS",
    "InstructionFollowing",
    "ObjectBackground",
    "ContinuityOfMemory",
    "PhysicsAdherence",
)
"""Columns of the leaderboard after the model."""
IN_PER_CENT: Final = {
    "ORS": f"{SUITE}.ors",
    "InstructionFollowing": f"{SUITE}.vqa.instruction_following",
    "ObjectBackground": f"{SUITE}.vqa.object_and_background",
    "ContinuityOfMemory": f"{SUITE}.vqa.continuity_of_memory",
    "PhysicsAdherence": f"{SUITE}.vqa.physics_adherence",
}
"""Columns that other tables of the published code have, as shares; here they are percentages."""
OFFICIAL: Final = frozenset((*PUBLISHED, *IN_PER_CENT.values()))
"""Published metrics of any column."""


def export_memobench_leaderboard(runs: Sequence[Run], path: Path) -> None:
    """Write one line for each model: plain means over the clips that have a value, of both parts together.

    No gate decides, as in the published table. What no clip has is empty. Decibels, distances and percentages stay in
    columns of their own, and nothing is averaged over columns. A model may be spread over runs.
    """
    clips: dict[str, tuple[Row, dict[str, Row]]] = {}
    for run in runs:
        require_suite(run, SUITE)
        require_published(run, OFFICIAL)
        for rollout in RunFolder(run.path).rollouts().to_pylist():
            clips.setdefault(rollout["rollout"], (rollout, {}))
        for row in run.items():
            if row["status"] != "score" or row["metric"] not in OFFICIAL:
                continue
            known = clips[row["rollout"]][1].setdefault(row["metric"], row)
            if known["value"] != row["value"]:
                raise UserError(
                    f"{run.path}: {row['metric']} of {row['rollout']} is {row['value']}, and {known['value']} in a run "
                    "named before it. Name one of the two runs."
                )
    models: dict[str, list[Values]] = {}
    for rollout, rows in clips.values():
        models.setdefault(rollout["model"], []).append(_leaderboard_line(rollout, rows))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["Model", *LEADERBOARD])
    for model, lines in models.items():
        writer.writerow([plain_text(model), *(_mean_text(lines, name) for name in LEADERBOARD)])
    write_file(path, lambda file: file.write(text.getvalue().encode()))


def _leaderboard_line(rollout: Row, rows: Mapping[str, Row]) -> Values:
    shares = {column: rows[metric]["value"] for column, metric in IN_PER_CENT.items() if metric in rows}
    return {**_line(rollout, rows, ()), **{column: 100 * share for column, share in shares.items()}}


def _mean_text(lines: Sequence[Values], column: str) -> str:
    values = [float(value) for line in lines if (value := line.get(column)) is not None]
    return f"{math.fsum(values) / len(values):.4f}" if values else ""
