"""Examines an installation: whether its parts work, and whether it measures what the reference installation does."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict

from lookaway.calibration.doctor_checks import (
    CheckResult,
    check_decoder,
    check_device,
    check_installed_weights,
    check_opencv,
    check_poses,
    check_storage,
)
from lookaway.calibration.judge_audit import ask_about, audit_clips
from lookaway.calibration.run_cards import shipped_cards
from lookaway.core import Compute, DamagedFile, Json, JudgeUnusable, Lock, UserError, describe, digest
from lookaway.engine.binding import bind_metrics
from lookaway.engine.evaluate import evaluate
from lookaway.engine.inline import Inline
from lookaway.engine.reading import read
from lookaway.io.dataset_files import read_record
from lookaway.io.video import decoder_identity
from lookaway.io.world_clips import open_world
from lookaway.judges.judge_feature import JudgeFeature
from lookaway.judges.probe_probabilities import HIDDEN_SPACE, ProbeProbabilities
from lookaway.judges.settings import JudgeSettings, probe_capabilities
from lookaway.judges.trigger_verdict import TriggerVerdict
from lookaway.perception.opencv import opencv_version
from lookaway.world.grid import Grid
from lookaway.world.recipe import WORLD_VERSION, ClipRecipe
from lookaway.world.rendering import render_set

REFERENCE: Final = Path(str(resources.files("lookaway.calibration") / "reference_values.json"))
FORM: Final = ClipRecipe(
    family="", event="none", camera="", seed=0, width=224, height=128, fps=8, seconds=2.0, wait=0.5
)
CLIPS: Final = Grid(
    families=("playroom",),
    events=("both",),
    cameras=("yaw_right_60",),
    seeds=(0,),
    faults=("vanish", "frozen_while_unseen", "camera_never_moves"),
    severities=(1.0,),
)
"""One scene: clean, with two faults of memory, and with a camera that never moves."""
METRICS: Final = (
    "changed_area",
    "light",
    "look",
    "aligned_ssim",
    "return_error",
    "reach_missing",
    "cut",
    "moved",
    "rendering_lighting",
    "camera_interaction",
)
"""Metrics without networks that between them need decoding, colours, times, tracked and requested poses, matches."""
CALIBRATION: Final = "calibration"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class ExpectedValue(_Record):
    """What the reference installation measures on one clip."""

    value: float | None
    reason: str | None
    """Why there is no value."""
    tolerance: float
    """How far another processor may move the value."""


class ExpectedMetric(_Record):
    """A metric as the reference installation has it."""

    constants: dict[str, Any]
    """All constants of the metric and of its extractors."""
    values: dict[str, ExpectedValue]
    """By the name of the clip's model."""


class ReferenceValues(_Record):
    """`reference_values.json`."""

    format: Literal[1] = 1
    world_version: int
    opencv: str
    decoder: dict[str, Any]
    frames: dict[str, str]
    """SHA-256 of the rendered frames of each clip, before encoding."""
    metrics: dict[str, ExpectedMetric]
    sha256: str = ""
    """Hash of everything else."""

    def hashed(self) -> ReferenceValues:
        """With the hash of its content."""
        return self.model_copy(update={"sha256": digest(self.model_dump(mode="json", exclude={"sha256"}))})


def read_reference(path: Path | None = None) -> ReferenceValues:
    """The shipped values; a `UserError` if they are truncated or changed."""
    path = path or REFERENCE
    found = read_record(path, ReferenceValues)
    if found.hashed().sha256 != found.sha256:
        raise UserError(f"{path}: its content is not what its hash says.")
    return found


def examine(
    storage: Path, *, judge: JudgeSettings | None = None, compute: Compute | None = None, world: Path | None = None
) -> Iterator[CheckResult]:
    """Check every part, then measure a few clips and compare with the shipped values; `world` has them rendered."""
    findings: list[CheckResult] = []

    def note(found: CheckResult) -> CheckResult:
        findings.append(found)
        return found

    yield from map(note, check_installed_weights())
    yield note(check_device(compute or Compute()))
    yield note(check_decoder())
    yield note(check_poses())
    yield note(check_storage(storage))
    try:
        reference, cards = read_reference(), shipped_cards()
    except (UserError, DamagedFile) as error:
        reason = "a truncated or changed card: install lookaway again"
        yield CheckResult(check="cards", status="fault", found=str(error), reason=reason)
        return
    shipped = f"{len(cards.cards)} cards, and values of {len(reference.metrics)} metrics, as shipped"
    yield CheckResult(check="cards", status="ok", found=shipped)
    yield note(check_opencv(reference.opencv))
    with tempfile.TemporaryDirectory() as folder:
        try:
            clips = world or render_clips(Path(folder) / "world")
        except UserError as error:
            yield CheckResult(check=CALIBRATION, status="skipped", found=f"no clips can be rendered: {error}")
            return
        if judge is None:
            yield CheckResult(check="judge", status="skipped", found="none is named; name one with --judge-model")
        else:
            yield check_planted_pairs(judge, clips, Path(folder) / "judge")
        yield from map(note, check_constants(clips, reference))
        measured = measure(clips, Path(folder) / "run")
        yield from compare(measured, reference, findings, _frame_hashes(clips))


def render_clips(root: Path) -> Path:
    """Render the clips of the calibration."""
    render_set(CLIPS.recipes(FORM), root, Inline())
    return root


def check_planted_pairs(settings: JudgeSettings, world: Path, output: Path) -> CheckResult:
    """Ask a judge about clips that differ in the true answer: one that always says yes cannot be right."""
    client = settings.open_client(output)
    try:
        capabilities = probe_capabilities(client, settings.model, settings.wording)
        judge = replace(capabilities.judge, repeats=1)
        recipes: tuple[JudgeFeature, ...] = (TriggerVerdict.about("object"),)
        if capabilities.gives_log_probabilities:
            recipes = (*recipes, ProbeProbabilities(probes=HIDDEN_SPACE))
        clips = audit_clips(world, recipes)
        answers = [answer for clip in clips for answer in ask_about(clip, client, judge, with_shuffled=False)]
    except JudgeUnusable as error:
        return CheckResult(
            check="judge", status="fault", found=str(error), reason="its server, key or model name is wrong"
        )
    finally:
        client.close()
    given = {answer.says_yes for answer in answers} - {None} or {None}
    right = sum(answer.says_yes == answer.truth for answer in answers)
    found = f"{settings.model.model}: {right} of {len(answers)} planted answers right"
    if len(given) == 1:
        word = {True: "always says yes", False: "always says no", None: "answers nothing that can be read"}[given.pop()]
        return CheckResult(check="judge", status="fault", found=found, reason=f"the judge {word}, whatever it is shown")
    if right <= len(answers) / 2:
        reason = "it is no better than chance on these clips; run `lookaway audit-judge`"
        return CheckResult(check="judge", status="fault", found=found, reason=reason)
    return CheckResult(check="judge", status="ok", found=found)


def constants_of(world: Path) -> dict[str, dict[str, Json]]:
    """All constants of the metrics and of their extractors, as installed."""
    return {
        bound.name: {
            "metric": describe(bound.metric),
            "features": {feature: describe(recipe) for feature, recipe in sorted(bound.recipes.items())},
        }
        for bound in bind_metrics(read(world), METRICS)
        if bound.name in METRICS
    }


def check_constants(world: Path, reference: ReferenceValues) -> Iterator[CheckResult]:
    """Whether metrics have the constants with which the shipped values were measured."""
    is_same = True
    installed = constants_of(world)
    for name, expected in reference.metrics.items():
        changes = list(Lock(installed.get(name, {})).differences(Lock(expected.constants)))
        if changes:
            path, ours, theirs = changes[0]
            more = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
            reason = f"a changed constant of {name}: another version of lookaway, or an edited one"
            found = f"{name}: {path} is {ours!r:.60}, expected {theirs!r:.60}{more}"
            yield CheckResult(check="constants", status="fault", found=found, reason=reason)
            is_same = False
    if is_same:
        yield CheckResult(
            check="constants", status="ok", found=f"those of {len(reference.metrics)} metrics, as shipped"
        )


Measured = Mapping[str, Mapping[str, tuple[float | None, str | None]]]
"""Value, or the reason that there is none, by metric and by model of the clip."""


def measure(world: Path, run: Path) -> Measured:
    """Measure the clips."""
    values: dict[str, dict[str, tuple[float | None, str | None]]] = {}
    for row in evaluate(world, run, metrics=METRICS, new=True).items():
        if row["metric"] in METRICS:
            values.setdefault(row["metric"], {})[row["model"]] = row["value"], row["reason"] or row["message"]
    return values


def compare(
    measured: Measured, reference: ReferenceValues, findings: Sequence[CheckResult], frames: Mapping[str, str]
) -> Iterator[CheckResult]:
    """Which metrics deviate, by how much, and the likely reason."""
    reasons = list(_likely_reasons(reference, findings, frames))
    for name, expected in reference.metrics.items():
        worst = _worst(measured.get(name, {}), expected)
        if worst is None:
            clips = len(expected.values)
            yield CheckResult(check=CALIBRATION, status="ok", found=f"{name}: as shipped on {clips} clips")
            continue
        own = [reason for about, reason in reasons if about in ("", name)]
        yield CheckResult(
            check=CALIBRATION,
            status="fault",
            found=f"{name} deviates: {worst}",
            reason="; ".join(own) or "unknown: nothing else differs from the reference installation",
        )


def _worst(measured: Mapping[str, tuple[float | None, str | None]], expected: ExpectedMetric) -> str | None:
    """The clip with the greatest deviation, in words; `None` if all are within their tolerances."""
    found: list[tuple[float, str]] = []
    for clip, known in expected.values.items():
        value, reason = measured.get(clip, (None, "not measured"))
        if value is None or known.value is None:
            if (value is None) != (known.value is None) or reason != known.reason:
                told = f"{reason} on {clip}" if value is None else f"{value:.6g} on {clip}"
                found.append((float("inf"), f"{told}, expected {known.reason or known.value}"))
            continue
        off = abs(value - known.value)
        if off > known.tolerance:
            text = f"{value:.6g} on {clip}, expected {known.value:.6g} within {known.tolerance:.1g}: off by {off:.2g}"
            found.append((off / max(known.tolerance, 1e-12), text))
    return max(found)[1] if found else None


def _likely_reasons(
    reference: ReferenceValues, findings: Sequence[CheckResult], frames: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """What else is wrong, each with the metric that it concerns; an empty name for all."""
    for finding in findings:
        if finding.status != "fault" or finding.check in ("weights", "storage", "device"):
            continue
        about = finding.found.partition(":")[0] if finding.check == "constants" else ""
        yield about, finding.reason
    if reference.world_version != WORLD_VERSION:
        yield "", f"clips are of world version {WORLD_VERSION}, expected {reference.world_version}"
    elif frames != reference.frames:
        yield "", "clips are drawn with other pixels: another MuJoCo or Mesa"
    decoder = decoder_identity()
    changed = sorted(name for name, value in reference.decoder.items() if decoder.get(name) != value)
    if changed:
        name = changed[0]
        yield "", f"another {name}: found {decoder.get(name)}, expected {reference.decoder[name]}"


def _frame_hashes(world: Path) -> dict[str, str]:
    return {clip.card.model: clip.card.hashes.frames for clip in open_world(world)}


def make_reference(world: Path, run: Path, tolerances: Mapping[str, float]) -> ReferenceValues:
    """The values of this installation, to ship; `tolerances` by the own name of a metric, a relative 1e-4 without."""
    constants = constants_of(world)
    metrics = {}
    for name, values in measure(world, run).items():
        kind = constants[name]["metric"]["kind"]
        metrics[name] = ExpectedMetric(
            constants=constants[name],
            values={
                clip: ExpectedValue(
                    value=value, reason=reason, tolerance=tolerances.get(kind, 1e-4 * max(1.0, abs(value or 0.0)))
                )
                for clip, (value, reason) in values.items()
            },
        )
    found = ReferenceValues(
        world_version=WORLD_VERSION,
        opencv=opencv_version(),
        decoder=decoder_identity(),
        frames=_frame_hashes(world),
        metrics=metrics,
    )
    return found.hashed()
