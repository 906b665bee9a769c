"""Which metrics of a run are not as published, though they have a published name: official columns hold no others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from lookaway.core import BoundMetric, Json, Option, Suite, UserError, plugins
from lookaway.engine.locking import metric_entries
from lookaway.engine.reading import load_suite
from lookaway.engine.run import Run
from lookaway.suites.two_protocols import CORRECTED, FURTHER

NO_DEPARTURE: Final = frozenset({"compute", "device", "judge", "prompts", "system", "files", "revision", "sha256"})
"""What of a recipe is free: where it runs, who is asked in whose words, and the files of weights."""
OF_LAYOUT: Final = frozenset({"cached_poses", "extrinsics_convention", "scores"})
"""Settings that say how the files of a dataset are laid out, and which scores of several publications are measured."""
NOT_AS_PUBLISHED: Final = "not as published"
"""Heads a column of a published name that was measured in another way."""
MEASURE: Final = "lookaway eval DATASET -o RUN --protocol published"
"""The command that measures published values."""


def not_as_published(run: Run) -> dict[str, str]:
    """Metrics of published names that were measured in another way, each with why, such as `--use poses=tracked_poses`.

    Each is held against the published binding of its suite for a dataset with the same layout and no option set.
    Versions of software, decoder, weights, judge and its wording are no departure.
    """
    locked: Mapping[str, Any] = run.lock.entries.get("metrics", {})
    settings = run.lock.entries.get("dataset", {}).get("settings", {})
    suite, using = load_suite(run.about["suite"]), (run.about.get("requested") or {}).get("using") or {}
    changed = [option for option in suite.options if _is_changed(option, settings)]
    usual = _published(suite, _with_defaults(settings, changed))
    for other in _others(suite.name, locked.keys() - usual.keys()):
        usual |= {name: bound for name, bound in _published(other, settings).items() if name not in usual}
    found: dict[str, str] = {}
    for name, own in locked.items():
        # An entry that lacks one of them was written by a program other than this one.
        if name in usual and {"metric", "features"} <= own.keys():
            there = metric_entries(usual[name])
            if differing := [d for part in ("metric", "features") for d in _differing(part, own[part], there[part])]:
                found[name] = _why(differing, using, changed, settings)
    for option in _of_all_metrics(suite, changed, settings):
        flag = f"{option.flag} {settings[option.setting]}"
        found |= {name: f"{found[name]}, {flag}" if name in found else flag for name in usual if name in locked}
    return found


def require_published(run: Run, columns: Collection[str], measure: str = MEASURE) -> None:
    """Refuse a run without any of these published metrics, or with one that is not as published.

    `measure` is the command that measures them, where that is not the usual one.
    """
    suite, names = run.about["suite"], {metric.name for metric in run.metrics}
    if not names.intersection(columns):
        found = "corrected metrics alone" if any(is_corrected(name) for name in names) else "no published metric"
        raise UserError(
            f"{run.path}: has {found} of {suite}, and official columns hold published values. Measure them with: "
            f"{measure}"
        )
    if departures := {name: why for name, why in not_as_published(run).items() if name in columns}:
        listed = "; ".join(f"{name} ({why})" for name, why in departures.items())
        raise UserError(
            f"{run.path}: not as published, and official columns hold published values: {listed}. Measure them "
            f"without these options, in a run of its own: {measure}"
        )


def is_corrected(name: str) -> bool:
    """Whether this is the name of a repaired metric, such as `mind.corrected.lcm.psnr`."""
    return name.split(".")[1:2] == [CORRECTED]


def _published(suite: Suite, settings: Mapping[str, Any]) -> dict[str, BoundMetric]:
    bounds = (bound for bound in suite.metrics(settings) if bound.protocol in ("published", "both"))
    return {bound.name: bound for bound in bounds if not bound.name.startswith(FURTHER)}


def _with_defaults(settings: Mapping[str, Any], options: Collection[Option]) -> dict[str, Any]:
    """The settings as if these options had not been given."""
    left = {name: value for name, value in settings.items() if name not in {option.setting for option in options}}
    return {**left, **{option.setting: option.default for option in options if option.default is not None}}


def _others(own: str, unknown: Collection[str]) -> Iterator[Suite]:
    """Other suites, where the run has metrics that may be theirs."""
    if unknown:
        yield from (load_suite(name) for name in plugins.names("suites") if name != own)


def _is_changed(option: Option, settings: Mapping[str, Any]) -> bool:
    if not option.moves_numbers or option.setting in OF_LAYOUT:
        return False
    return bool(settings.get(option.setting, option.default) != option.default)


def _of_all_metrics(suite: Suite, changed: Collection[Option], settings: Mapping[str, Any]) -> Iterator[Option]:
    """Options that no metric is bound with: they change what is read, and so all metrics."""
    for option in changed:
        without = _published(suite, _with_defaults(settings, [option]))
        if _published(suite, settings) == without:
            yield option


def _why(
    differing: Collection[tuple[str, Json, Json]],
    using: Mapping[str, str],
    changed: Collection[Option],
    settings: Mapping[str, Any],
) -> str:
    """The options that explain it, or else the first place that differs."""
    features = {part for path, _, _ in differing for part in path.split(".")}
    options = [f"--use {feature}={name}" for feature, name in using.items() if feature in features]
    options += [f"{option.flag} {settings[option.setting]}" for option in changed]
    path, own, published = next(iter(differing))
    return ", ".join(options) or f"{path} is {_short(own)}, published {_short(published)}"


def _short(value: Json) -> str:
    return str(value.get("kind", "another")) if isinstance(value, Mapping) else f"{value!r:.60}"


def _differing(path: str, own: Json, there: Json) -> Iterator[tuple[str, Json, Json]]:
    if isinstance(own, Mapping) and isinstance(there, Mapping) and own.get("kind") == there.get("kind"):
        for key in sorted({*own, *there} - NO_DEPARTURE):
            yield from _differing(f"{path}.{key}", own.get(key), there.get(key))
    elif isinstance(own, list | tuple) and isinstance(there, list | tuple) and len(own) == len(there):
        for number, (one, other) in enumerate(zip(own, there, strict=True)):
            yield from _differing(f"{path}.{number}", one, other)
    elif own != there:
        yield path, own, there
