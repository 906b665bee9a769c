"""Makes the lock of a run and the keys of its features and rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from lookaway.core import BoundMetric, Dataset, Extractor, Json, Lock, Rollout, Unmeasurable, describe, digest
from lookaway.engine.reading import load_suite
from lookaway.io.files import content_hash
from lookaway.io.video import decoder_identity

ARITHMETIC = ("numpy", "scipy")
"""What every metric computes with."""
KEY_CHARACTERS = 32


def run_lock(dataset: Dataset, metrics: Sequence[BoundMetric]) -> Lock:
    """Everything that can move a number of this run."""
    suite = load_suite(dataset.suite)
    cases = {rollout.case.id: _describe_case(rollout) for rollout in dataset.rollouts}
    return Lock(
        {
            "suite": {"name": suite.name, "version": suite.version},
            "dataset": {
                "identity": dict(dataset.identity),
                "settings": dict(dataset.settings),
                "cases": len(cases),
                "cases_sha256": digest(cases),
            },
            "metrics": {bound.name: metric_entries(bound) for bound in metrics},
        }
    )


def metric_entries(bound: BoundMetric) -> dict[str, Json]:
    """Everything that can move a number of one metric, on given files."""
    recipes = bound.recipes.values()
    return {
        "metric": describe(bound.metric),
        "features": {feature: describe(recipe) for feature, recipe in sorted(bound.recipes.items())},
        "software": _versions({*ARITHMETIC, *(name for recipe in recipes for name in _software(recipe))}),
        "decoder": decoder_identity(),
    }


def metric_key(bound: BoundMetric) -> str:
    """The part of a row's key that says how it was measured."""
    return digest(metric_entries(bound))[:KEY_CHARACTERS]


def recipe_key(recipe: Extractor) -> str:
    """The part of a feature's key that says how it was perceived."""
    entries = {"recipe": describe(recipe), "software": _versions(_software(recipe)), "decoder": decoder_identity()}
    return digest(entries)[:KEY_CHARACTERS]


def content_key(rollout: Rollout) -> str:
    """The part of a key that says what was looked at: video, artifacts and case, but not where they lie."""
    files = {"video": rollout.video, **rollout.artifacts}
    hashes = {name: _hash(path) for name, path in files.items()}
    phases = {name: list(bounds) for name, bounds in rollout.phases.items()}
    problem = rollout.problem.reason.value if isinstance(rollout.problem, Unmeasurable) else None
    entries = {"files": hashes, "case": _describe_case(rollout), "phases": phases, "problem": problem}
    return digest(entries)[:KEY_CHARACTERS]


def _hash(path: Path) -> str | None:
    """Of a file; there is nothing to hash where it is missing or cannot be opened, which measuring will find too."""
    try:
        return content_hash(path) if path.is_file() else None
    except OSError:
        return None


def _describe_case(rollout: Rollout) -> Mapping[str, Json]:
    case = rollout.case
    target, reference = case.target, case.reference
    known: dict[str, Json] = {}  # left out where there is none, so that keys of other suites stay as they are
    if case.controls is not None:
        known["controls"] = list(case.controls)
    if reference is not None:
        files = {"video": reference.video, **reference.artifacts}
        known["reference"] = [reference.start, reference.end, {name: _hash(path) for name, path in files.items()}]
    return {
        "id": case.id,
        "subset": case.subset,
        "scene": case.scene,
        "prompt": list(case.prompt),
        "action": case.action,
        "target": None if target is None else [target.name, list(target.attributes), target.box and list(target.box)],
        **known,
    }


def _software(recipe: Extractor) -> set[str]:
    return set(recipe.software).union(*(_software(need) for need in recipe.needs.values()))


def _versions(names: Iterable[str]) -> dict[str, str]:
    return {name: _version(name) for name in sorted(names)}


@cache
def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
