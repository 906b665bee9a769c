"""What videos that remember nothing get: from the suite `revisit`, and from published revisit protocols.

    python -m benchmarks.revisit_attackers --folder FOLDER [--family kitchen] [--seed 41]

A clip of the simulated world turns away and back; a second one forgets its target. Three videos without any memory are
made from the first clip: its first frame for the whole time, a crop that pans over its first frame and back, and its
first half, then the same frames backwards. Prints Markdown; LPIPS and DINOv2 need weights and are left out.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from benchmarks.revisit_faults import measure
from lookaway.calibration.clip_changes import CONTROLS, change_rollout
from lookaway.core import Rollout
from lookaway.engine.inline import Inline
from lookaway.engine.reading import load_suite, read
from lookaway.world.grid import Grid
from lookaway.world.recipe import PERFECT, ClipRecipe
from lookaway.world.rendering import render_set

FPS, FRAMES = 16, 81
"""As Learning to Retrieve has them."""
OWN = ("revisited", "remembered", "changed_area", "light", "look", "undone")
PUBLISHED = {
    "echo_loop": ("psnr", "ssim"),
    "l2r_far": ("psnr", "ssim"),
    "iworld": ("symmetry",),
    "sana_like": ("revisit_psnr", "revisit_ssim"),
    "mind_mirror": ("mse",),
}


ATTACKERS = ("frozen", "crop", "loop")


def made_from(rollout: Rollout, folder: Path) -> Iterator[Rollout]:
    """The videos without memory, with the same case."""
    for name in ATTACKERS:
        yield replace(change_rollout(rollout, CONTROLS[name], folder), artifacts={}, model=name)


def numbers(rollout: Rollout) -> Mapping[str, float | str]:
    """Numbers of the suite's own protocol, and of each published one."""
    suite = load_suite("revisit")
    found = {name: value for name, value in measure(rollout).items() if name in OWN}
    for scores, names in PUBLISHED.items():
        bounds = [b for b in suite.metrics({"scores": scores}) if b.name.rpartition(".")[2] in names]
        found |= measure(rollout, bounds)
    return found


def main() -> None:
    """Render, attack, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where clips are kept")
    parser.add_argument("--family", default="kitchen")
    parser.add_argument("--seed", type=int, default=41)
    options = parser.parse_args()
    for event in ("none", "spatial"):
        form = ClipRecipe(
            family=options.family, event=event, camera="yaw_left_60", seed=options.seed, width=368, height=208, fps=FPS,
            seconds=FRAMES / FPS,
        )  # fmt: skip
        grid = Grid(
            families=(form.family,), events=(form.event,), cameras=(form.camera,), seeds=(form.seed,),
            faults=("vanish",), severities=(1.0,),
        )  # fmt: skip
        world = options.folder / event
        render_set(grid.recipes(form), world, Inline(), on_case=lambda report: None)
        rollouts = list(read(world, suite="revisit").rollouts)
        clean = next(rollout for rollout in rollouts if rollout.model == PERFECT)
        rows = {rollout.model: numbers(rollout) for rollout in (*rollouts, *made_from(clean, options.folder))}
        print(f"\nEvent: {event}\n\n| number | {' | '.join(rows)} |\n|" + " --- |" * (len(rows) + 1))
        for name in rows[PERFECT]:
            values = (row[name] for row in rows.values())
            print(f"| {name} | " + " | ".join(v if isinstance(v, str) else f"{v:.3g}" for v in values) + " |")


if __name__ == "__main__":
    main()
