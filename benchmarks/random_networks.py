"""Tries metrics whose networks need downloaded weights on a frozen video, with random weights in their place.

python -m benchmarks.random_networks FOLDER

Any network gives equal pictures equal features. Where these alone give a frozen video the best score there is, it wins
with the published weights, too: only such cards are written into FOLDER, for `python -m benchmarks.ship_cards`. What
else random weights score says nothing, so metrics that compare with another video are not tried.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from lookaway.calibration.calibrate import CalibrationPlan, Features, calibrate
from lookaway.calibration.card import FROZEN, MetricCard, read_cards, write_cards
from lookaway.calibration.scores import SCORES, read_rows, write_rows
from lookaway.reports.numbers import fixed
from lookaway.world.grid import Grid
from lookaway.world.recipe import ClipRecipe
from tests.support.hub import empty_hub, publish
from tests.support.mask_networks import tiny_sam2
from tests.support.networks import tiny_dinov2
from tests.support.onnx_networks import tiny_buffalo
from tests.support.picture_networks import random_lpips, random_vgg19

FAMILIES: Final = ("kitchen", "lobby", "park", "street")
"""Four scenes: that nothing scores better than a frozen video does not depend on what it shows."""
MASKED: Final = (
    "mbencha.entity.object_texture_consistency",
    "mbencha.corrected.entity.object_texture_consistency",
    "mbencht.entity.object_texture_consistency",
    "mbencht.corrected.entity.object_texture_consistency",
    "further.object_texture",
)
"""Their masks are true ones, since a random network finds nothing that a text or a box names."""
OTHERS: Final = (
    "mbencha.entity.human_identity_consistency",
    "mbencha.entity.human_appearance_consistency",
    "mbencha.environment.rendering_style",
    "mbencha.corrected.entity.human_identity_consistency",
    "mbencha.corrected.entity.human_appearance_consistency",
    "mbencha.corrected.environment.rendering_style",
    "mbencht.entity.human_identity_consistency",
    "mbencht.entity.human_appearance_consistency",
    "mbencht.environment.rendering_style",
    "mbencht.corrected.entity.human_identity_consistency",
    "mbencht.corrected.entity.human_appearance_consistency",
    "mbencht.corrected.environment.rendering_style",
    "memobench.object_identity",
    "memobench.corrected.object_identity",
    "mind.gsc.lpips",
    "mind.corrected.gsc.lpips",
)
"""Faces come from a detector that is made to find two in any picture, since a random one finds none."""
TRIED: Final[tuple[tuple[Features, tuple[str, ...]], ...]] = (("truth", MASKED), ("shipped", OTHERS))
NEARLY: Final = 1e-3
"""As much of a score as the encoding of equal frames takes."""


@contextmanager
def random_weights(folder: Path) -> Iterator[None]:
    """Random networks in the place of the published ones."""
    with pytest.MonkeyPatch.context() as patch:
        empty_hub(folder, patch)
        for weights in (tiny_dinov2(), tiny_buffalo(), tiny_sam2(), random_vgg19(), *random_lpips("alex")):
            publish(weights, patch)
        yield


def is_won_by_any_network(card: MetricCard) -> bool:
    """Whether a frozen video has the best score there is, and clean clips, whose frames differ, have less."""
    low, high = card.range
    best = high if card.higher_is_better else low
    found = next((control for control in card.controls if control.name == FROZEN), None)
    if best is None or found is None or found.score is None or found.gain is None:
        return False
    return abs(found.score.mean - best) <= NEARLY and found.gain.mean > 0


def main() -> None:
    """Write tiny networks, measure, and keep the cards that hold for any network."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    tried = folder / "tried"
    grid = Grid(families=FAMILIES, events=("none",), cameras=("yaw_left_60",), seeds=(0,), faults=(), severities=())
    form = ClipRecipe(family="", event="none", camera="", seed=0, width=336, height=192, fps=8, seconds=3.0)
    with random_weights(tried / "weights"):
        for features, metrics in TRIED:
            plan = CalibrationPlan(
                grid=grid, form=form, metrics=metrics, protocol="both", features=(features,), changes=(FROZEN,)
            )
            calibrate(plan, tried)
    measured = read_cards(tried).cards
    kept = [card.model_copy(update={"features": "random"}) for card in measured if is_won_by_any_network(card)]
    write_cards(folder, kept)
    chains = {card.chain_sha256 for card in kept}
    write_rows(folder / SCORES, [row for row in read_rows(tried / SCORES) if row["chain_sha256"] in chains])
    for card in measured:
        scores = {control.name: fixed(control.score.mean, 4) for control in card.controls if control.score}
        print(card.metric, scores, "kept" if card.chain_sha256 in chains else "says nothing")


if __name__ == "__main__":
    main()
