"""Outcomes of planted metrics: what a run on the simulated world would give, without any clip."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from lookaway.calibration.card import MetricCard
from lookaway.calibration.measured_card import (
    CalibratedMetric,
    CalibrationSetting,
    ClipLabel,
    label_rows,
    make_card,
)

SCENES = 20
SEVERITIES = (0.25, 0.5, 1.0)
FAULTS = {"vanish": "opacity lost", "lighting_shift": "stops", "teleport": "diameters"}
CONTROLS = ("frozen", "reversed")
NUISANCES = ("crf35",)
SETTING = CalibrationSetting(world_version=1)

Planted = Callable[[ClipLabel, np.random.Generator], float | None]
"""The score of a clip, given its label and the noise of its scene."""


def labels() -> dict[str, tuple[ClipLabel, str]]:
    """Label and scene by rollout."""
    found = {}
    for scene in range(SCENES):
        form: dict[str, Any] = {"family": "kitchen", "size": (256, 448), "fps": 12}
        own = [ClipLabel(kind="clean", **form)]
        for fault, unit in FAULTS.items():
            for severity in SEVERITIES:
                dose = severity * (1 + 0.01 * scene)
                own.append(ClipLabel(kind="fault", name=fault, severity=severity, dose=dose, dose_unit=unit, **form))
        own += [ClipLabel(kind="control", name=name, **form) for name in CONTROLS]
        own += [ClipLabel(kind="nuisance", name=name, **form) for name in NUISANCES]
        for label in own:
            found[f"{label.kind}-{label.name}-{label.severity}/scene{scene}/0"] = (label, f"scene{scene}")
    return found


def rows_of(planted: Planted, metric: str = "planted", seed: int = 0) -> list[dict[str, Any]]:
    """Rows as `Run.items` gives them."""
    rng = np.random.default_rng(seed)
    rows = []
    for rollout, (label, scene) in labels().items():
        value = planted(label, rng)
        row = {"rollout": rollout, "metric": metric, "case": scene, "scene": scene, "detail": None, "reason": None}
        if value is None:
            rows.append({**row, "status": "abstention", "reason": "gate_closed", "value": None})
        else:
            rows.append({**row, "status": "score", "value": value, "detail": json.dumps({"branch": "sift"})})
    return rows


def card_of(planted: Planted, metric: CalibratedMetric | None = None, **rows: Any) -> MetricCard:
    """The card of a planted metric."""
    metric = metric or CalibratedMetric(name="planted")
    by_rollout: Mapping[str, ClipLabel] = {rollout: label for rollout, (label, _) in labels().items()}
    return make_card(metric, label_rows(rows_of(planted, metric.name, **rows), by_rollout)[metric.name], SETTING)


def noise(rng: np.random.Generator) -> float:
    return float(rng.normal(0, 0.02))


def reacts_to_nothing(label: ClipLabel, rng: np.random.Generator) -> float:
    return 0.8 + noise(rng)


def reacts_to_everything(label: ClipLabel, rng: np.random.Generator) -> float:
    """As one that compares pixels with a reference: whatever is done to a clip costs it."""
    if label.kind == "clean":
        return 0.9 + noise(rng)
    return 0.5 - 0.3 * label.severity + noise(rng)


def prefers_frozen(label: ClipLabel, rng: np.random.Generator) -> float:
    """As a similarity of the first and the last frame that finds faults as well."""
    if label.kind == "control" and label.name == "frozen":
        return 0.98 + 0.1 * noise(rng)
    return 0.8 - 0.4 * label.severity + noise(rng)
