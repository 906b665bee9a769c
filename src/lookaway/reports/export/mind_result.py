"""A run as the `Result.json` of MIND, one for each model, in strict JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from lookaway.core import Floats, Json, Reason, RunError, UserError
from lookaway.engine.run import Run
from lookaway.io.files import write_text
from lookaway.reports.as_published import is_corrected, require_published
from lookaway.reports.export.mbench import folder_name
from lookaway.store.run_folder import RunFolder

SUITE: Final = "mind"
FILE_NAME: Final = "Result.json"
SCHEMA_NAME: Final = "Result.schema.json"
MIRROR_TEST: Final = "mirror_test"
SIMILARITY: Final = ("mse", "lpips", "ssim", "psnr")
FAMILIES: Final = {
    "visual_quality": ("visual", ("imaging", "aesthetic")),
    "dino": ("dino", ("dino_mse",)),
}
"""Keys of the file, and our metrics of each."""
GROUPS: Final = ("__overall__", "translation", "rotation", "other")
"""Groups of steps in the order of the dataset card; single actions follow by name."""
ACTION: Final = {
    "rpe_trans": ("rpe_trans_mean", "rpe_trans_median"),
    "rpe_rot": ("rpe_rot_mean_deg", "rpe_rot_median_deg"),
}
PER_FRAME: Final = frozenset(
    f"mind.{family}.{name}"
    for family, names in (*FAMILIES.values(), ("lcm", SIMILARITY), ("gsc", SIMILARITY))
    for name in names
)
Row: TypeAlias = Mapping[str, Any]


def export_mind_result(run: Run, output: Path) -> list[Path]:
    """Write `<model>/Result.json` for each model, and the schema that they follow.

    Only published values are written; a run that has none is refused, and one whose published names were measured in
    another way. Where nothing was measured the key is left out, and `error` says why. Frames of the videos were counted
    when these were measured; the videos are not opened.
    """
    suite = run.about["suite"]
    if suite != SUITE:
        raise UserError(f"{run.path} is a run of {suite!r}; {FILE_NAME} is for runs of {SUITE!r}.")
    names = [metric.name for metric in run.metrics if _is_official(metric.name) and not metric.is_gate]
    require_published(run, names)
    found = _Found.of(run)
    written = []
    try:
        for model in dict.fromkeys(rollout["model"] for rollout in found.rollouts):
            path = output / folder_name(model) / FILE_NAME
            own = [rollout for rollout in found.rollouts if rollout["model"] == model]
            result = {"video_max_time": found.video_max_time, "data": list(_data(found, own))}
            write_text(path, json.dumps(result, ensure_ascii=False, allow_nan=False) + "\n")
            written.append(path)
        write_text(output / SCHEMA_NAME, schema_text())
    except OSError as error:
        raise UserError(f"{output}: cannot be written: {error}.") from error
    return written


def _is_official(name: str) -> bool:
    return name.startswith(f"{SUITE}.") and not is_corrected(name)


def schema_text() -> str:
    """The JSON schema of the file, written from MIND's dataset card."""
    return (resources.files("lookaway.reports") / "schemas" / "mind_result.json").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class _Found:
    """The rollouts, rows and frames of a run."""

    rollouts: Sequence[Row]
    rows: Mapping[str, Mapping[str, Row]]
    """By rollout, then by metric."""
    frames: Mapping[tuple[str, str], Floats]
    """By rollout and metric, in the order of frames."""
    subsets: Mapping[str, tuple[str, ...] | None]
    """Those that each metric of MIND covers; other metrics are not part of the file."""
    times: Mapping[str, Mapping[str, int]]
    video_max_time: int | None

    @classmethod
    def of(cls, run: Run) -> _Found:
        rows: dict[str, dict[str, Row]] = {}
        scored: dict[str, list[str]] = {}
        for row in run.items():
            rows.setdefault(row["rollout"], {})[row["metric"]] = row
            if row["status"] == "score":
                scored.setdefault(row["metric"], []).append(row["rollout"])
        frames: dict[tuple[str, str], Floats] = {}
        for metric, units in run.frames(metric for metric in scored if metric in PER_FRAME):
            rollouts = scored[metric]
            if len(rollouts) != len(units.models):
                raise RunError(f"{run.path}: the run is still being written. Export it when it is finished.")
            order = np.lexsort((units.frames, units.rollouts))
            ends = np.cumsum(np.bincount(units.rollouts, minlength=len(rollouts)))
            parts = np.split(units.values[order], ends[:-1])
            frames |= {(rollout, metric): part for rollout, part in zip(rollouts, parts, strict=True)}
        dataset = run.lock.entries.get("dataset", {})
        return cls(
            rollouts=RunFolder(run.path).rollouts().to_pylist(),
            rows=rows,
            frames=frames,
            subsets={
                metric.name: metric.subsets
                for metric in run.metrics
                if _is_official(metric.name) and not metric.is_gate
            },
            times=dataset.get("identity", {}).get("times", {}),
            video_max_time=dataset.get("settings", {}).get("video_max_time"),
        )

    def error(self, rollout: Row) -> str | None:
        """Why something is missing: metric, typed reason and message."""
        subset, rows = rollout["subset"], self.rows.get(rollout["rollout"], {})
        requested = [metric for metric, subsets in self.subsets.items() if subsets is None or subset in subsets]
        if not requested:
            return f"no metric of {SUITE} was requested for {subset}."
        lacking: dict[str, list[str]] = {}
        for metric in requested:
            row = rows.get(metric)
            if row is None:
                lacking.setdefault(Reason.NOT_YET_MEASURED.value, []).append(metric)
            elif row["status"] != "score":
                lacking.setdefault(f"{row['reason']}: {row['message']}", []).append(metric)
        if any(self._score(rollout, metric) for metric in requested) and not self.sample_frames(rollout):
            lacking["no score of this run gives the number of frames of the video."] = ["sample_frames"]
        return "; ".join(f"{', '.join(metrics)}: {reason}" for reason, metrics in lacking.items()) or None

    def sample_frames(self, rollout: Row) -> dict[str, Json]:
        """Frames of the video that was measured, as one of its scores says; empty where none does."""
        for row in self.rows.get(rollout["rollout"], {}).values():
            detail = json.loads(row["detail"]) if row["status"] == "score" and row["detail"] else {}
            if "video_frames" in detail:
                return {"sample_frames": detail["video_frames"]}
        return {}

    def series(self, rollout: Row, family: str, names: Iterable[str]) -> dict[str, Json]:
        """Per-frame values of some metrics, and their means."""
        record: dict[str, Json] = {}
        for name in names:
            row = self._score(rollout, f"mind.{family}.{name}")
            if row is not None:
                record[name] = [float(value) for value in self.frames[rollout["rollout"], row["metric"]]]
                record[f"avg_{name}"] = row["value"]
        return record

    def similarity(self, rollout: Row, family: str) -> dict[str, Json]:
        """The same with the number of frames that were compared."""
        record = self.series(rollout, family, SIMILARITY)
        return {"length": len(next(iter(record.values()))), **record} if record else {}

    def action(self, rollout: Row) -> dict[str, Json]:
        """Summaries of groups of steps, in the order of the dataset card."""
        groups: dict[str, dict[str, Json]] = {}
        for name, (mean, median) in ACTION.items():
            row = self._score(rollout, f"mind.action.{name}")
            for group, summary in json.loads(row["detail"])["groups"].items() if row else ():
                record = groups.setdefault(group, {"count": summary["count"]})
                record |= {mean: summary["mean"], median: summary["median"]}
        order = {group: number for number, group in enumerate(GROUPS)}
        return {group: groups[group] for group in sorted(groups, key=lambda name: (order.get(name, len(order)), name))}

    def _score(self, rollout: Row, metric: str) -> Row | None:
        row = self.rows.get(rollout["rollout"], {}).get(metric)
        return row if row is not None and row["status"] == "score" else None


def _data(found: _Found, rollouts: Iterable[Row]) -> Iterator[Json]:
    mirrored: dict[tuple[str, str], list[Row]] = {}
    for rollout in rollouts:
        if rollout["subset"].endswith(f"/{MIRROR_TEST}"):
            mirrored.setdefault((rollout["subset"], rollout["scene"]), []).append(rollout)
        else:
            yield _compared(found, rollout)
    for (subset, name), videos in mirrored.items():
        yield _mirrored(found, subset, name, videos)


def _compared(found: _Found, rollout: Row) -> Json:
    families = {
        "lcm": found.similarity(rollout, "lcm"),
        **{key: found.series(rollout, *family) for key, family in FAMILIES.items()},
        "action": found.action(rollout),
    }
    return {
        **_place(rollout["subset"], rollout["scene"]),
        "error": found.error(rollout),
        **found.times.get(rollout["case"], {}),
        **found.sample_frames(rollout),
        **{key: record for key, record in families.items() if record},
    }


def _mirrored(found: _Found, subset: str, name: str, rollouts: Sequence[Row]) -> Json:
    results = [_mirrored_video(found, rollout) for rollout in rollouts]
    errors = [f"{result['video_name']}: {result['error']}" for result in results if result["error"]]
    return {
        **_place(subset, name),
        "error": "; ".join(errors) or None,
        "video_results": results,
        "videos": [result["video_name"] for result in results],
    }


def _mirrored_video(found: _Found, rollout: Row) -> dict[str, Json]:
    gsc = found.similarity(rollout, "gsc")
    return {
        "video_name": f"{rollout['case'].rpartition('/')[2]}.mp4",
        "error": found.error(rollout),
        **({"mark_time": gsc["length"]} if gsc else {}),
        **found.sample_frames(rollout),
        **({"gsc": gsc} if gsc else {}),
    }


def _place(subset: str, name: str) -> dict[str, Json]:
    perspective, test = subset.split("/")
    return {"path": name, "perspective": perspective, "test_type": test}
