"""Entries of locks and environments that could explain why two numbers of a metric differ."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lookaway.core import Json, Lock, UserError
from lookaway.io.files import read_json
from lookaway.store.run_folder import parse_lock

SHARED = ("suite", "dataset")
MAX_NAMES = 5
"""Metrics that a note lists."""


def read_lock(path: Path) -> Lock:
    """The `lock.json` of another run; its content must match its hash."""
    content = read_json(path)
    if not isinstance(content, dict) or not isinstance(content.get("metrics"), dict):
        raise UserError(f"{path}: not a lock; expected the lock.json of a run, an object with `metrics`.")
    return parse_lock(content, path)


def lock_differences(ours: Lock, theirs: Lock, metrics: Sequence[str]) -> list[tuple[str, Json, Json]]:
    """Dotted path, our value and theirs wherever the locks differ in what concerns these metrics."""
    return list(_part(ours, metrics).differences(_part(theirs, metrics)))


def locked_constants(lock: Lock, metrics: Sequence[str]) -> list[tuple[str, Json]]:
    """Dotted path and value of every constant of these metrics, their recipes and their software."""
    return list(_leaves("", _part(lock, metrics).entries["metrics"]))


def _part(lock: Lock, metrics: Sequence[str]) -> Lock:
    known = lock.entries.get("metrics", {})
    shared = {name: lock.entries[name] for name in SHARED if name in lock.entries}
    return Lock({**shared, "metrics": {name: known[name] for name in metrics if name in known}})


def _leaves(path: str, value: Json) -> Iterator[tuple[str, Json]]:
    if not isinstance(value, Mapping):
        yield path, value
        return
    for key, entry in value.items():
        yield from _leaves(f"{path}.{key}" if path else key, entry)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How far another environment may move a metric, on one clip or on the mean of several."""

    value: float
    raw: float = 0.0
    moved_by: tuple[str, ...]
    """Entries of the environment that move it."""


OPENCV = ("opencv_features",)
TOLERANCES: Mapping[str, Tolerance] = {
    "aligned_ssim": Tolerance(value=5e-6, moved_by=OPENCV),
    "cut": Tolerance(value=0.003, moved_by=OPENCV),
    "look": Tolerance(value=0.0003, moved_by=OPENCV),
    "reach_missing": Tolerance(value=0.06, moved_by=OPENCV),
    "return_error": Tolerance(value=0.0002, moved_by=OPENCV),
    "spatial_capped": Tolerance(value=0.003, raw=0.007, moved_by=OPENCV),
    "spatial_epipolar": Tolerance(value=0.007, raw=0.06, moved_by=OPENCV),
    "spatial_matched": Tolerance(value=0.003, moved_by=OPENCV),
    "spatial_reprojection": Tolerance(value=0.007, raw=0.06, moved_by=OPENCV),
    "spatial_within_2px": Tolerance(value=0.002, moved_by=OPENCV),
    "ssim_lift": Tolerance(value=0.0001, moved_by=OPENCV),
}
"""By the own name of the metric: twice the greatest difference of one clip, rounded up.

Measured by `python -m benchmarks.environments` on 22 clips of the simulated world and 3 generated videos, with OpenCV
5.0.0 on a processor with AVX-512. Without AVX2 the epipolar score of one clip moved by 0.0034. Another kernel of
OpenBLAS moved no value by more than 1e-13 and no raw value by more than 2e-12, NumPy without AVX2 none by more than
1e-13, and FFmpeg in plain C none at all; nor did any of them move a metric without networks that is not named here.
"""


def environment_tolerances(ours: Lock, theirs: Lock) -> dict[str, Tolerance]:
    """By public name, the metrics that the difference between two environments may move; none if one is unknown."""
    changed = {name for name, _, _ in environment_differences(ours, theirs)}
    found = {}
    for name, entries in ours.entries.get("metrics", {}).items():
        tolerance = TOLERANCES.get(entries.get("metric", {}).get("kind"))
        if tolerance is not None and changed.intersection(tolerance.moved_by):
            found[name] = tolerance
    return found


def environment_differences(ours: Lock, theirs: Lock) -> list[tuple[str, str, str]]:
    """Name, our values and theirs of what differs between the environments; none if one is not recorded."""
    if not ours.environments or not theirs.environments:
        return []
    names = sorted({name for lock in (ours, theirs) for entry in lock.environments for name in entry})
    pairs = [(name, _values(ours, name), _values(theirs, name)) for name in names]
    return [(name, own, other) for name, own, other in pairs if own != other]


def other_code(ours: Lock, theirs: Lock, metrics: Collection[str], names: tuple[str, str]) -> list[str]:
    """Notes on metrics that other code measured in two runs of these names; none for a run that records no code."""
    differing: dict[tuple[str, str], list[str]] = {}
    for metric in metrics:
        own, other = _code(ours, metric), _code(theirs, metric)
        if own and other and own.keys() != other.keys():
            differing.setdefault((" and ".join(own.values()), " and ".join(other.values())), []).append(metric)
    return [
        f"other code: {names[0]} was measured with lookaway {own}, whose code of {_listed(found)} differs from that of "
        f"{names[1]}, lookaway {other}; numbers are compared all the same."
        for (own, other), found in differing.items()
    ]


def mixed_code(lock: Lock, run: str) -> list[str]:
    """A note on metrics of one run that several codes measured."""
    metrics = dict.fromkeys(name for entry in lock.code for name in entry["metrics"])
    mixed = [name for name in metrics if len(_code(lock, name)) > 1]
    versions = list(dict.fromkeys(entry["version"] for entry in lock.code))
    if not mixed:
        return []
    return [
        f"other code: {run} was measured in parts, with lookaway {' and '.join(versions)}, whose code of "
        f"{_listed(mixed)} differs from part to part; all of it is counted."
    ]


def _code(lock: Lock, metric: str) -> dict[str, str]:
    """By fingerprint of the code that measured a metric, the version that had it."""
    return {entry["metrics"][metric]: entry["version"] for entry in lock.code if metric in entry["metrics"]}


def _listed(metrics: Sequence[str]) -> str:
    rest = len(metrics) - MAX_NAMES
    return ", ".join(metrics[:MAX_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def _values(lock: Lock, name: str) -> str:
    return " or ".join(sorted({str(entry.get(name, "unknown")) for entry in lock.environments}))
