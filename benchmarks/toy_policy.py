"""A toy policy trained on rewards for memory: with every gate it learns to remember, without one it learns a cheat.

    python -m benchmarks.toy_policy --folder FOLDER [--picture docs/images/reward/toy-policy.svg]

The policy chooses what the next video does: look away and come back, which fails one time in five, as looking away is
hard; or a cheat that never fails. Each choice is a clip of the simulated world, scored from its pixels with tracked
cameras. REINFORCE with a baseline trains it, on the whole reward and on rewards with one gate switched off. Prints
Markdown and draws the curves. A second call uses the clips and scores that are there.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from lookaway.calibration.clip_changes import read_frames
from lookaway.core import Rollout
from lookaway.engine.inline import Inline
from lookaway.engine.reading import read
from lookaway.engine.scorer import CasePaths, Scorer, VideoScores
from lookaway.io.files import write_text
from lookaway.io.world_clips import WorldClip
from lookaway.perception.truth import TRUTH
from lookaway.reports.charts.svg import element
from lookaway.training.attackers import FAMILIES, FORM
from lookaway.training.reward import MEMORY, Reward, RewardRecipe
from lookaway.world.grid import Grid
from lookaway.world.recipe import PERFECT
from lookaway.world.rendering import render_set

CHOICES: Final = {
    "look away and remember": PERFECT,
    "forget the target": "vanish-1.00",
    "stay": "camera_never_moves-1.00",
    "go half way": "camera_never_moves-0.50",
    "drag the target along": "dragged_along-1.00",
    "cut back": "temporal_cut-1.00",
}
"""What the policy can do, and the model of the world that does it."""
FORGETS: Final = "vanish-1.00"
FAILS: Final = 0.2
"""How often looking away goes wrong."""
STEPS, BATCH, RATE, POLICIES = 300, 16, 0.4, 8
COLOURS: Final = ("#1a7f4e", "#8a8a8a", "#b3261e", "#d9822b", "#5b5bd6", "#0b7285")
WIDTH, HEIGHT, PANEL, LEFT, TOP, GAP = 1000, 520, (290, 150), 50, 60, 60


def without(*names: str, **changes: object) -> RewardRecipe:
    """The reward without some terms."""
    terms = {name: term for name, term in MEMORY.terms.items() if name not in names}
    return MEMORY.model_copy(update={"terms": terms, **changes})


REWARDS: Final = {
    "the whole reward": MEMORY,
    "unmeasured counts as unchanged": without("reach_missing", gated=False, unmeasured=1.0),
    "without reach_missing": without("reach_missing"),
    "without carried": without("carried"),
    "without cut": without("cut"),
    "without changed_area": without("changed_area", "aligned_ssim"),
}


def measure(folder: Path) -> dict[str, list[VideoScores]]:
    """Scores of the clips of each choice, scene by scene."""
    grid = Grid(
        families=FAMILIES, events=("none",), cameras=(FORM.camera,), seeds=(FORM.seed,),
        faults=("vanish", "camera_never_moves", "dragged_along", "temporal_cut"), severities=(0.5, 1.0),
    )  # fmt: skip
    render_set(grid.recipes(FORM), folder, Inline())
    scorer = Reward().scorer
    found: dict[str, list[VideoScores]] = {model: [] for model in CHOICES.values()}
    for rollout in read(folder).rollouts:
        if rollout.model in found:
            found[rollout.model].append(_scored(rollout, scorer))
    return found


def _scored(rollout: Rollout, scorer: Scorer) -> VideoScores:
    arrays = WorldClip.open(rollout.artifacts[TRUTH].parent).arrays()
    paths = CasePaths(requested=arrays.requested_camera_to_world, intrinsics=arrays.intrinsics)
    frames = read_frames(rollout.video).transpose(0, 3, 1, 2)
    return scorer(frames, fps=FORM.fps, paths=paths)


def train(pay: Mapping[str, Sequence[float | None]], seed: int) -> NDArray[np.float64]:
    """Probability of each choice at each step; a masked video teaches nothing."""
    rng, names = np.random.default_rng(seed), list(CHOICES.values())
    logits, curve = np.zeros(len(names)), []
    for _ in range(STEPS):
        chances = np.exp(logits - logits.max())
        chances /= chances.sum()
        curve.append(chances)
        taken = rng.choice(len(names), BATCH, p=chances)
        paid = [_drawn(names[choice], pay, rng) for choice in taken]
        known = [(choice, value) for choice, value in zip(taken, paid, strict=True) if value is not None]
        if not known:
            continue
        baseline = float(np.mean([value for _, value in known]))
        gradient = np.zeros(len(names))
        for choice, value in known:
            gradient += (value - baseline) * (np.eye(len(names))[choice] - chances)
        logits += RATE * gradient / len(known)
    return np.stack(curve)


def _drawn(model: str, pay: Mapping[str, Sequence[float | None]], rng: np.random.Generator) -> float | None:
    is_failed = model == PERFECT and rng.random() < FAILS
    values = pay[FORGETS if is_failed else model]
    return values[int(rng.integers(len(values)))]


def draw(curves: Mapping[str, NDArray[np.float64]]) -> Markup:
    """One panel for each reward, one line for each choice."""
    parts = [element("rect", width=WIDTH, height=HEIGHT, fill="#ffffff")]
    wide, high = PANEL
    for number, (name, curve) in enumerate(curves.items()):
        left, top = LEFT + (number % 3) * (wide + 30), TOP + (number // 3) * (high + GAP)
        parts.append(element("text", name, x=left, y=top - 12, font_weight="bold"))
        parts.append(element("rect", x=left, y=top, width=wide, height=high, fill="none", stroke="#cccccc"))
        for share in (0, 0.5, 1):
            y = top + high * (1 - share)
            parts.append(element("line", x1=left, x2=left + wide, y1=y, y2=y, stroke="#eeeeee"))
            if number % 3 == 0:
                parts.append(element("text", f"{share:g}", x=left - 8, y=y + 4, text_anchor="end", fill="#6b6b6b"))
        for choice, colour in enumerate(COLOURS):
            points = " ".join(
                f"{left + wide * step / (STEPS - 1):.1f},{top + high * (1 - chance):.1f}"
                for step, chance in enumerate(curve[:, choice])
            )
            parts.append(element("polyline", points=points, fill="none", stroke=colour, stroke_width=2.5))
    x = float(LEFT)
    for name, colour in zip(CHOICES, COLOURS, strict=True):
        parts.append(element("rect", x=x, y=HEIGHT - 46, width=14, height=4, fill=colour))
        parts.append(element("text", name, x=x + 20, y=HEIGHT - 40))
        x += 44 + 7 * len(name)
    note = f"Chance of each choice over {STEPS} steps of training, mean of {POLICIES} policies"
    parts.append(element("text", note, x=LEFT, y=HEIGHT - 14, fill="#6b6b6b"))
    return element(
        "svg", element("title", "What a policy learns from each reward"), *parts, xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", font_family="system-ui, sans-serif", font_size=12, fill="#1c1c1c",
    )  # fmt: skip


def main() -> None:
    """Render, score, train, draw, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where clips are kept")
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    scores = measure(options.folder)
    curves = {}
    print("| Reward | " + " | ".join(CHOICES) + " |\n" + "| --- |" * (len(CHOICES) + 1))
    for name, recipe in REWARDS.items():
        reward = Reward(recipe)
        pay = {model: [reward.of(own).value for own in scores[model]] for model in CHOICES.values()}
        curves[name] = np.mean([train(pay, seed) for seed in range(POLICIES)], axis=0)
        print(f"| {name} | " + " | ".join(f"{chance:.2f}" for chance in curves[name][-1]) + " |")
    if options.picture:
        write_text(options.picture, f"{draw(curves)}\n")


if __name__ == "__main__":
    main()
