"""A run as the result files of SANA-WM-Bench, with its keys and its rounding, one folder for each model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final, TypeAlias

from lookaway.core import Json, Reason, Score, Unit, UserError
from lookaway.engine.run import Run
from lookaway.io.files import write_json
from lookaway.metrics.vbench_overall import quality_score, scaled_dimensions
from lookaway.reports.as_published import require_published
from lookaway.reports.export.mbench import folder_name
from lookaway.store.run_folder import RunFolder
from lookaway.suites.revisit.published import pooled_mean
from lookaway.suites.two_protocols import CORRECTED

PREFIX: Final = "sana."
REVISIT: Final = {"psnr": 2, "ssim": 4, "lpips": 4}
"""Scores of pairs, and the decimals that they are written with."""
CAMERA: Final = {"RotErr": "rot_err", "TransErr_rel": "trans_err", "CamMC_rel": "cam_mc"}
SEMANTIC: Final = ("overall_consistency", "temporal_style")
"""Dimensions of VBench about the prompt among those that SANA-WM-Bench runs."""
QUALITY_WEIGHT: Final = 4
DECIMALS: Final = 4
MEASURE: Final = "lookaway eval DATASET -o RUN --suite revisit --scores sana --protocol published"
Row: TypeAlias = Mapping[str, Any]
Scores: TypeAlias = Mapping[str, Mapping[str, Score]]
"""By the last part of the metric's name, then by scene."""


def export_sana_results(run: Run, output: Path) -> list[Path]:
    """Write `<model>/eval/<split>/*.json` and `<model>/<split>/eval_poses.json`; returns the paths.

    Only published metrics are written; a run that has none, or one that is not as published, is refused. What was not
    measured is left out. Overall scores are over all rollouts, whether they tested memory or not; `summary.json` says
    how many did not.
    """
    results = _read(run)
    written: list[Path] = []
    for result in results:
        base = output / folder_name(result.model)
        files = {base / "eval" / result.split / name: content for name, content in result.files().items()}
        if camera := result.camera():
            files[base / result.split / "eval_poses.json"] = camera
        try:
            for path, content in files.items():
                write_json(path, content)
                written.append(path)
        except OSError as error:
            raise UserError(f"{output}: cannot be written: {error}.") from error
    return written


def _read(run: Run) -> list[_Result]:
    scores = _scores(run)
    gates = {metric.name for metric in run.metrics if metric.is_gate}
    rows = list(run.items())
    absent = {row["rollout"] for row in rows if row["reason"] == Reason.MISSING_VIDEO.value}
    untested = {row["rollout"] for row in rows if row["metric"] in gates and row["value"] != 1}
    entries = run.lock.entries.get("dataset", {})
    found = []
    for (model, split), scenes in _scenes(run).items():
        by_metric: dict[str, dict[str, Score]] = {}
        for scene, rollout in scenes.items():
            for name, score in scores.get(rollout, {}).items():
                by_metric.setdefault(name, {})[scene] = score
        own = {*scenes.values()}
        found.append(
            _Result(
                model=model,
                split=folder_name(split),
                scores=by_metric,
                videos=len(own - absent),
                untested=len(own & untested),
                settings=entries.get("settings", {}),
                method=entries.get("identity", {}).get(f"method {model}", {}),
                lock=run.about["lock_sha256"],
            )
        )
    return found


def _scores(run: Run) -> dict[str, dict[str, Score]]:
    """By rollout, then by the last part of the metric's name."""
    own = [metric.name for metric in run.metrics if metric.name.startswith(PREFIX) and not metric.is_gate]
    names = [name for name in own if not name.startswith(f"{PREFIX}{CORRECTED}.")]
    if not names:
        found = "corrected metrics alone" if own else "no metric"
        raise UserError(
            f"{run.path} has {found} of SANA-WM-Bench, whose files hold published values. Measure them with: {MEASURE}"
        )
    require_published(run, names, MEASURE)
    units: dict[tuple[str, str], list[Unit]] = {}
    for name in names:
        for row in run.units(name):
            if row["status"] == "score":
                units.setdefault((row["rollout"], name), []).append(Unit(row["unit"], Score(row["value"])))
    scores: dict[str, dict[str, Score]] = {}
    for row in run.items():
        rollout, name = row["rollout"], row["metric"]
        if name in names and row["status"] == "score":
            scores.setdefault(rollout, {})[name.removeprefix(PREFIX)] = Score(
                row["value"], units=tuple(units.get((rollout, name), ())), detail=json.loads(row["detail"] or "{}")
            )
    return scores


def _scenes(run: Run) -> dict[tuple[str, str], dict[str, str]]:
    """The rollout of each scene, by model and split."""
    groups: dict[tuple[str, str], dict[str, str]] = {}
    for rollout in RunFolder(run.path).rollouts().to_pylist():
        scenes = groups.setdefault((rollout["model"], rollout["subset"]), {})
        if rollout["scene"] in scenes:
            raise UserError(
                f"{run.path} has several videos of {rollout['scene']} by {rollout['model']}; SANA-WM-Bench has one of "
                "each scene. Measure one of them with --case."
            )
        scenes[rollout["scene"]] = rollout["rollout"]
    return groups


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    """What was measured of one model and split."""

    model: str
    split: str
    scores: Scores
    videos: int
    untested: int
    settings: Mapping[str, Any]
    method: Json
    lock: str

    def files(self) -> dict[str, Json]:
        """By name."""
        revisit, temporal, vbench, camera = self.revisit(), self.temporal(), self.vbench(), self.camera()
        parts: dict[str, Json] = {
            "revisit_consistency.json": revisit,
            "camera_accuracy.json": camera,
            "temporal_degradation.json": temporal,
            "vbench_scores.json": vbench,
        }
        summary: dict[str, Json] = {
            "method": self.model,
            "method_info": self.method,
            "split": self.split,
            "n_videos": self.videos,
            "skip_first_frame": bool(self.settings.get("skip_first_frame")),
            **({"revisit": revisit["summary"]} if revisit else {}),
            **({"camera": self.mean_camera()} if camera else {}),
            **({"temporal_degradation": temporal["trend"]} if temporal else {}),
            **({"vbench": _summary_of_vbench(vbench)} if vbench else {}),
            "lookaway": {"untested": self.untested, "lock_sha256": self.lock},
        }
        return {**{name: content for name, content in parts.items() if content}, "summary.json": summary}

    def revisit(self) -> dict[str, Any]:
        """Pairs, scenes, categories, and all; empty where no pair was measured."""
        kinds = {kind: self.scores.get(f"revisit_{kind}", {}) for kind in REVISIT}
        scenes = {scene: _scene(scene, kinds) for scene in kinds["psnr"] if scene in kinds["ssim"]}
        if not scenes:
            return {}
        measured = {kind: [found[scene] for scene in scenes if scene in found] for kind, found in kinds.items()}
        overall = {kind: pooled_mean(found) for kind, found in measured.items()}
        summary: dict[str, Any] = {
            **{
                f"overall_mean_{kind}": round(value, REVISIT[kind])
                for kind, value in overall.items()
                if value is not None
            },
            "n_scenes_evaluated": len(scenes),
            "n_total_pairs": sum(scene["n_pairs"] for scene in scenes.values()),
            "per_category": _categories(scenes),
        }
        if measured["lpips"]:
            summary["n_lpips_pairs"] = sum(len(score.units) for score in measured["lpips"])
        return {"summary": summary, "per_scene": scenes}

    def camera(self) -> dict[str, Any]:
        """The errors of each scene."""
        errors = {key: self.scores.get(name, {}) for key, name in CAMERA.items()}
        return {
            scene: {
                **{key: found[scene].value for key, found in errors.items() if scene in found},
                "RotErr_unit": "deg",
                "scene_type": _category(scene),
                "n_frames": rotation.detail["frames"],
                "skip_first_frame": bool(self.settings.get("skip_first_frame")),
            }
            for scene, rotation in errors["RotErr"].items()
        }

    def mean_camera(self) -> Json:
        """Means over scenes."""
        rotations, translations = (self.scores.get(CAMERA[key], {}).values() for key in ("RotErr", "TransErr_rel"))
        return {
            "mean_rot_err_deg": round(fmean(score.value for score in rotations), 3),
            **({"mean_trans_err_rel": round(fmean(score.value for score in translations), 3)} if translations else {}),
            "n_scenes": len(rotations),
        }

    def temporal(self) -> dict[str, Any]:
        """Image quality of each window, over the videos that have it, in the order of names as text."""
        windows: dict[str, list[float]] = {}
        for score in self.scores.get("delta_iq", {}).values():
            for name, value in _unit_values(score).items():
                windows.setdefault(name, []).append(value)
        means = {name: fmean(windows[name]) for name in sorted(windows)}
        if len(means) < 2:
            return {}
        values = [*means.values()]
        trend = {
            "first_window": round(values[0], DECIMALS),
            "last_window": round(values[-1], DECIMALS),
            "degradation": round(values[0] - values[-1], DECIMALS),
            "per_window": [round(value, DECIMALS) for value in values],
        }
        return {
            "windows": {name: {"imaging_quality": value} for name, value in means.items()},
            "trend": {"imaging_quality": trend},
        }

    def vbench(self) -> dict[str, Any]:
        """The dimensions that VBench wrote, as means over videos, and their totals."""
        dimensions: dict[str, list[float]] = {}
        for score in self.scores.get("vbench_overall", {}).values():
            for name, value in score.detail.get("dimensions", {}).items():
                dimensions.setdefault(name, []).append(value)
        return vbench_totals({name: fmean(values) for name, values in dimensions.items()})


def vbench_totals(values: Mapping[str, float]) -> dict[str, Any]:
    """The content of `vbench_scores.json` for the values of some dimensions; empty for none."""
    if not values:
        return {}
    about_prompt = {name: min(1.0, max(0.0, values[name])) for name in SEMANTIC if name in values}
    scaled = {**scaled_dimensions(values), **about_prompt}
    quality = quality_score(values) or 0.0
    semantic = fmean(about_prompt.values()) if about_prompt else 0.0
    total = (QUALITY_WEIGHT * quality + semantic) / (QUALITY_WEIGHT + 1)
    return {
        "raw_scores": {name: round(value, DECIMALS) for name, value in values.items()},
        "quality_score": round(quality, DECIMALS),
        "semantic_score": round(semantic, DECIMALS),
        "total_score": round(total, DECIMALS),
        "normalized_per_dim": {name: round(scaled.get(name, value), DECIMALS) for name, value in values.items()},
    }


def _summary_of_vbench(vbench: Mapping[str, Any]) -> Json:
    kept = {name: vbench[name] for name in ("quality_score", "semantic_score", "total_score")}
    return {**kept, "n_dimensions": len(vbench["raw_scores"])}


def _scene(scene: str, kinds: Scores) -> dict[str, Any]:
    """Means over the pairs of a scene, and each pair. How far its views are apart is not part of a run."""
    found = {kind: scores[scene] for kind, scores in kinds.items() if scene in scores}
    values = {kind: _unit_values(score) for kind, score in found.items()}
    pairs = [
        {
            **dict(zip(("frame_a", "frame_b"), (int(part[1:]) for part in name.split("_")), strict=True)),
            **{kind: round(own[name], REVISIT[kind]) for kind, own in values.items()},
            "distance_m": None,
            "angle_diff_deg": None,
        }
        for name in values["psnr"]
    ]
    return {
        **{f"mean_{kind}": round(score.value, REVISIT[kind]) for kind, score in found.items()},
        "n_pairs": len(pairs),
        "pairs": pairs,
    }


def _categories(scenes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Means of the rounded means of scenes, as SANA-WM-Bench has them."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for scene, record in scenes.items():
        groups.setdefault(_category(scene), []).append(record)
    return {category: {**_means(groups[category]), "n_scenes": len(groups[category])} for category in sorted(groups)}


def _means(records: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    keys = {f"mean_{kind}": decimals for kind, decimals in REVISIT.items()}
    found = {key: [record[key] for record in records if key in record] for key in keys}
    return {key: round(fmean(values), keys[key]) for key, values in found.items() if values}


def _unit_values(score: Score) -> dict[str, float]:
    return {unit.name: unit.outcome.value for unit in score.units if isinstance(unit.outcome, Score)}


def _category(scene: str) -> str:
    return scene.rpartition("_")[0] or scene
