"""Makes the lock of a run and the keys of its features and rows."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from lookaway.core import (
    BoundMetric,
    Dataset,
    Extractor,
    Json,
    Lock,
    Rollout,
    Unmeasurable,
    UserError,
    describe,
    digest,
)
from lookaway.engine.reading import load_suite
from lookaway.io.files import content_hash, picture_names
from lookaway.io.video import decoder_identity
from lookaway.perception.opencv import opencv_version

ARITHMETIC = ("numpy", "scipy")
"""Packages that every metric computes with."""
OPENCV = "opencv-python-headless"
"""Asked for its version, since other packages install the same module."""
KEY_CHARACTERS = 32
VIDEO_CHARACTERS = 20
"""Those of a rollout's key that stand for the video alone."""
NOT_HASHED = ("abc", "builtins", "typing", "lookaway.core.metric_base")
"""Modules of base classes whose version says enough."""


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
        **_source(bound),
        "features": {feature: describe(recipe) for feature, recipe in sorted(bound.recipes.items())},
        "software": _versions({*ARITHMETIC, *(name for recipe in recipes for name in _software(recipe))}),
        "decoder": decoder_identity(),
    }


def _source(bound: BoundMetric) -> dict[str, Json]:
    if bound.source_sha256 is None:
        return {}
    return {"source": {"class": type(bound.metric).__qualname__, "sha256": bound.source_sha256}}


def source_sha256(kind: type) -> str:
    """Hash of the modules that define a class and its bases, apart from Python's own and `lookaway.core`.

    Whole modules, since a class computes with the functions beside it.
    """
    names = dict.fromkeys(base.__module__ for base in kind.__mro__ if base.__module__ not in NOT_HASHED)
    try:
        return digest([inspect.getsource(sys.modules[name]) for name in names])
    except (KeyError, OSError, TypeError) as error:
        raise UserError(
            f"{kind.__qualname__} cannot go into the lock, since the source of its module {kind.__module__!r} was not "
            f"found. Write the class into a file, such as {kind.__name__.lower()}.py, and import it from there."
        ) from error


def metric_key(bound: BoundMetric) -> str:
    """The part of a row's key that says how it was measured."""
    return digest(metric_entries(bound))[:KEY_CHARACTERS]


def recipe_key(recipe: Extractor) -> str:
    """The part of a feature's key that says how it was extracted."""
    entries = {"recipe": describe(recipe), "software": _versions(_software(recipe)), "decoder": decoder_identity()}
    return digest(entries)[:KEY_CHARACTERS]


def content_key(rollout: Rollout) -> str:
    """The part of a key that says what was measured, wherever the files lie: the video, then artifacts and case."""
    hashes = {name: _hash(path) for name, path in rollout.artifacts.items()}
    phases = {name: list(bounds) for name, bounds in rollout.phases.items()}
    problem = rollout.problem.reason.value if isinstance(rollout.problem, Unmeasurable) else None
    entries = {"files": hashes, "case": _describe_case(rollout), "phases": phases, "problem": problem}
    beside = digest(entries)[: KEY_CHARACTERS - VIDEO_CHARACTERS]
    return digest(_hash(rollout.video))[:VIDEO_CHARACTERS] + beside


def video_key(content: str) -> str:
    """The part of a rollout's key that stands for the video alone."""
    return content[:VIDEO_CHARACTERS]


def is_of_video(recipe: Extractor) -> bool:
    """Whether a feature depends on the video alone: so do the extractor, what it needs, and what chooses its frames."""
    choosing = (recipe.frames, recipe.compared, getattr(recipe, "pairs", None))
    return (
        recipe.of_video
        and all(part is None or getattr(part, "of_video", False) for part in choosing)
        and all(is_of_video(need) for need in recipe.needs.values())
    )


def _hash(path: Path) -> str | None:
    """Hash of a file or of a folder of pictures; `None` where it is missing or cannot be opened, which measuring will
    find too."""
    try:
        return content_hash(path) if path.is_file() or (path.is_dir() and picture_names(path)) else None
    except OSError:
        return None


def _describe_case(rollout: Rollout) -> Mapping[str, Json]:
    case = rollout.case
    target, reference = case.target, case.reference
    known: dict[str, Json] = {}  # left out where there is none, so that keys of other suites stay as they are
    if case.turn_degrees is not None:
        known["turn_degrees"] = case.turn_degrees
    if case.controls is not None:
        known["controls"] = list(case.controls)
    if case.pairs is not None:
        known["pairs"] = [[pair.first, pair.second, pair.cost] for pair in case.pairs]
    if reference is not None:
        files = {"video": reference.video, **reference.artifacts}
        known["reference"] = [reference.start, reference.end, {name: _hash(path) for name, path in files.items()}]
        if reference.phase_starts:
            known["phase_starts"] = dict(reference.phase_starts)
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
    if name == OPENCV:
        return opencv_version()
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
