"""Where WRBench's rollouts fail first in the simulated world, by an oracle that knows the truth and by one that errs.

    python -m benchmarks.wrbench_faults --folder FOLDER [--scenes 4] [--events in_place,both] [--size 128x224]
                                        [--fps 8] [--seconds 5] [--draws 5]

Each scene is rendered along `yaw_left_60` without any fault and with every fault at severity 1, and exported in the
form of WRBench. The oracle answers in this process. A second call resumes.

Prints Markdown: the share of rollouts that are attributed rightly, with true poses and with tracked ones, and every one
that is not; whether a camera that never moves gets a score behind the gate; and what an oracle with 10 % wrong answers
and a yes-bias of 0.1 does to support and to each dimension, over `--draws` oracles with errors of their own.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import shutil
import statistics
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from benchmarks.mbench_sensitivity import outcome_of
from lookaway.core import (
    Abstention,
    BoundMetric,
    Extractor,
    JudgeModel,
    JudgeRequest,
    Rollout,
    Score,
    digest,
)
from lookaway.engine.binding import Overrides
from lookaway.engine.feature_job import Extractors, FeatureJob
from lookaway.engine.inline import Inline
from lookaway.engine.locking import content_key
from lookaway.engine.reading import load_suite, read
from lookaway.engine.worker import why_not_applicable
from lookaway.judges.openai_format import EncodedPictures, completion_fields
from lookaway.judges.oracle.completion import chat_completion
from lookaway.judges.oracle.noise import Chance, Noise
from lookaway.judges.oracle.oracle import Oracle
from lookaway.judges.oracle.parsed_question import read_question
from lookaway.perception.truth import TRUTH, TruePoses
from lookaway.reports.wrbench.attribution import (
    CAMERA,
    CORRECT,
    NEVER,
    WRONG_PLACE,
    WRONG_STATE,
    WRONG_WHILE_VISIBLE,
    Attribution,
    attribute,
    rules_of,
)
from lookaway.suites.wrbench.probes import GATE, RETURNED, VISIBLE
from lookaway.world.events import Event
from lookaway.world.exports import export_world
from lookaway.world.families import FAMILIES
from lookaway.world.faults import FAULTS
from lookaway.world.grid import Grid
from lookaway.world.recipe import PERFECT, ClipRecipe
from lookaway.world.rendering import render_set

CAMERA_PATH = "yaw_left_60"
STANDS_STILL = "camera_never_moves"
ALIGNMENT = "wrbench.corrected.camera_alignment"
DIMENSIONS = (*VISIBLE, *RETURNED)
MODEL = "oracle"
NOISE = Noise(wrong_answer_rate=0.1, yes_bias=0.1)
RIGHT: Mapping[str, frozenset[str]] = {
    PERFECT: frozenset({CORRECT}),
    "camera_never_moves": frozenset({CAMERA}),
    "vanish": frozenset({NEVER}),
    "teleport": frozenset({WRONG_PLACE}),
    "state_reset": frozenset({WRONG_STATE}),
    "frozen_while_unseen": frozenset({WRONG_STATE}),
    "dragged_along": frozenset({WRONG_WHILE_VISIBLE}),
    # WRBench asks about place and state of the event alone: what follows is no failure of either.
    "identity_texture": frozenset({CORRECT}),
    "identity_colour": frozenset({CORRECT}),
    "identity_shape": frozenset({CORRECT}),
    "duplicate": frozenset({CORRECT}),
    "layout_change": frozenset({CORRECT}),
    "lighting_shift": frozenset({CORRECT}),
    "style_shift": frozenset({CORRECT}),
    "camera_drift": frozenset({CORRECT}),
    "temporal_cut": frozenset({CORRECT}),
}
"""The outcomes that are right for each fault at severity 1, where the target stays in its place."""
MOVES = frozenset({"T1", "T2_div_b"})
"""Levels of events that move the target: undone or delayed, they bring it back in a wrong place as well."""


def right_outcomes(rollout: Rollout) -> frozenset[str]:
    """The outcomes that are right for a rollout."""
    right, level = RIGHT[fault_of(rollout)], rollout.case.id.rsplit("__", 3)[1]
    return right | {WRONG_PLACE} if right == {WRONG_STATE} and level in MOVES else right


def render(family: str, root: Path, form: ClipRecipe, events: Sequence[Event]) -> None:
    """All clips of a family that are not there yet."""
    grid = Grid(
        families=(family,),
        events=tuple(events),
        cameras=(CAMERA_PATH,),
        seeds=(0,),
        faults=tuple(FAULTS),
        severities=(1.0,),
    )
    render_set(grid.recipes(form), root, Inline(), on_case=lambda report: print(report, flush=True))


def rollouts(world: Path, export: Path) -> Iterator[Rollout]:
    """The clips of a world as WRBench lays them out, each with the truth beside it."""
    shutil.rmtree(export, ignore_errors=True)
    export_world(world, "wrbench", export)
    clips = {_identity(card.parent / "video.mp4"): card for card in world.rglob("clip.json")}
    for rollout in read(export, suite="wrbench").rollouts:
        yield replace(rollout, artifacts={**rollout.artifacts, TRUTH: clips[_identity(rollout.video)]})


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


@dataclass
class OracleInProcess:
    """A client whose judge is an oracle in this process."""

    oracle: Oracle
    noise: Noise
    encoded: EncodedPictures = field(default_factory=EncodedPictures)
    calls: int = 0

    @classmethod
    def of(cls, world: Path, noise: Noise) -> OracleInProcess:
        """The oracle of a world."""
        return cls(Oracle(world, {}, noise), noise)

    def ask(self, request: JudgeRequest) -> Future[Any]:
        """The reply, at once."""
        self.calls += 1
        fields = completion_fields(request, self.encoded)
        key = digest(fields)
        question = read_question(fields, key)
        answer = self.oracle.answer(question, Chance(self.noise.seed, key), None)
        reply = chat_completion(answer.message, question, answer.pixels, key, model=MODEL, logprobs=True)
        future: Future[Any] = Future()
        future.set_result(reply)
        return future


def bound_metrics(poses: Extractor | None = None) -> tuple[BoundMetric, ...]:
    """What the rules of attribution need: the camera by these poses or by tracked ones, and the probes."""
    known = {bound.name: bound for bound in load_suite("wrbench").metrics({})}
    using = {} if poses is None else {"poses": poses}
    wanted = tuple(known[name] for name in (ALIGNMENT, *DIMENSIONS, GATE))
    return Overrides(using=using, judge=JudgeModel(model=MODEL)).apply(wanted)


@dataclass(frozen=True)
class Measured:
    """Scores of a rollout by metric, reasons why metrics have none, and what the gate says is missing."""

    scores: Mapping[str, float]
    reasons: Mapping[str, str]
    closed: str | None

    @property
    def outcome(self) -> str:
        """Where it fails first."""
        return self.attribution.outcome

    @property
    def attribution(self) -> Attribution:
        """Where it fails first, and why."""
        return attribute(self.scores, self.reasons, self.closed, rules_of("corrected"))


def measure(rollout: Rollout, bounds: Sequence[BoundMetric], judge: OracleInProcess) -> Measured:
    """Every metric of a rollout that applies to it."""
    own = [bound for bound in bounds if bound.applies_to(rollout) and why_not_applicable(bound, rollout) is None]
    recipes = [recipe for bound in own for recipe in bound.recipes.values()]
    perceived = FeatureJob(Extractors(None, judge=judge), rollout, content_key(rollout), recipes).run()
    outcomes = {bound.name: outcome_of(bound, rollout, perceived) for bound in own}
    gate = outcomes.get(GATE)
    return Measured(
        {name: outcome.value for name, outcome in outcomes.items() if isinstance(outcome, Score)},
        {name: outcome.reason.value for name, outcome in outcomes.items() if isinstance(outcome, Abstention)},
        gate.detail["reason"] if isinstance(gate, Score) else None,
    )


def fault_of(rollout: Rollout) -> str:
    """The fault of a rollout's model, or `perfect`."""
    return rollout.model.rpartition("-")[0] or PERFECT


def print_attribution(kind: str, found: Sequence[tuple[Rollout, Measured]]) -> None:
    """The share that is right, and what is not."""
    wrong = [(rollout, own) for rollout, own in found if own.outcome not in right_outcomes(rollout)]
    right = len(found) - len(wrong)
    print(f"\n## Attribution, {kind}\n\n{right} of {len(found)} rollouts ({right / len(found):.3f}) are right.\n")
    if wrong:
        print("| case | fault | right | found | why |\n| --- | --- | --- | --- | --- |")
        for rollout, own in wrong:
            expected = " or ".join(sorted(right_outcomes(rollout)))
            print(f"| {rollout.case.id} | {fault_of(rollout)} | {expected} | {own.outcome} | {own.attribution.why} |")


def print_standing_still(found: Sequence[tuple[Rollout, Measured]]) -> None:
    """Whether a camera that never moves gets a score behind the gate."""
    still = [own for rollout, own in found if fault_of(rollout) == STANDS_STILL]
    scored = sum(name in own.scores for own in still for name in RETURNED)
    print(f"\n{len(still)} rollouts of a camera that never moves have {scored} scores of D5 and D6.")


def print_noise(exact: Sequence[tuple[Rollout, Measured]], noisy: Sequence[tuple[Rollout, Measured]]) -> None:
    """Support, and the mean of each dimension without a fault and with those that it is there to find."""
    print(f"\n## {NOISE.wrong_answer_rate:.0%} wrong answers and a yes-bias of {NOISE.yes_bias:g}\n")
    print("| | exact, right | noisy, right | exact, wrong | noisy, wrong |\n| --- |" + " ---: |" * 4)
    for name in (GATE, *DIMENSIONS):
        truth = {_key(rollout): own.scores[name] >= 0.5 for rollout, own in exact if name in own.scores}
        cells = [_mean(name, found, truth, is_right) for is_right in (True, False) for found in (exact, noisy)]
        print(f"| {name} | {' | '.join(cells)} |")
    right = [own.outcome in right_outcomes(rollout) for rollout, own in noisy]
    print(
        f"\nWith the noisy oracle {sum(right)} of {len(right)} ({sum(right) / len(right):.3f}) are attributed rightly."
    )


def _mean(name: str, found: Sequence[tuple[Rollout, Measured]], truth: Mapping[Any, bool], is_right: bool) -> str:
    """The mean over rollouts whose exact score is right, or wrong, and their number."""
    values = [own.scores[name] for rollout, own in found if name in own.scores and truth.get(_key(rollout)) is is_right]
    return f"{statistics.fmean(values):.3f} ({len(values)})" if values else "-"


def _key(rollout: Rollout) -> tuple[str, str]:
    return rollout.case.id, rollout.model


def main() -> None:
    """Render, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where clips are kept")
    parser.add_argument("--scenes", type=int, default=4)
    parser.add_argument("--families", help="these instead of the first ones")
    parser.add_argument("--events", default="in_place,both")
    parser.add_argument("--size", default="128x224")
    parser.add_argument("--fps", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--draws", type=int, default=5)
    options = parser.parse_args()
    height, width = (int(side) for side in options.size.split("x"))
    families = options.families.split(",") if options.families else list(FAMILIES)[: options.scenes]
    events = [event for event in get_args(Event) if event in options.events.split(",")]
    world = options.folder / "world"
    for family in families:
        form = ClipRecipe(
            family=family, event=events[0], camera=CAMERA_PATH, seed=0,
            width=width, height=height, fps=options.fps, seconds=options.seconds,
        )  # fmt: skip
        render(family, world, form, events)
    clips = [rollout for rollout in rollouts(world, options.folder / "export") if fault_of(rollout) in RIGHT]
    with_truth, tracked = bound_metrics(TruePoses()), bound_metrics()
    judge = OracleInProcess.of(world, Noise())
    exact = [(rollout, measure(rollout, with_truth, judge)) for rollout in clips]
    print_attribution("true poses", exact)
    print_standing_still(exact)
    expected = sum(6 + 1 + 4 * int(own.scores[GATE]) for _, own in exact)
    print(f"\n{judge.calls} judge calls, {expected} by the formula.")
    print_attribution("tracked poses", [(rollout, measure(rollout, tracked, judge)) for rollout in clips])
    noisy = []
    for draw in range(options.draws):
        erring = OracleInProcess.of(world, replace(NOISE, seed=draw))
        noisy += [(rollout, measure(rollout, with_truth, erring)) for rollout in clips]
    print_noise(exact, noisy)


if __name__ == "__main__":
    main()
