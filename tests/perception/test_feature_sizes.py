from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Case, Extractor, Rollout, Timeline, plugins
from lookaway.io.sampling import UniformFrames
from lookaway.perception.motion.dis_flow import DisFlow
from lookaway.perception.similarity.dinov2_embeddings import Dinov2Embeddings
from lookaway.perception.similarity.dinov3_embeddings import Dinov3Embeddings
from tests.support.networks import tiny_dinov2
from tests.support.picture_networks import tiny_dinov3
from tests.support.watching import perceive_frames

FRAMES, FPS, WIDTH, HEIGHT = 400, 16, 832, 480
MAX_BYTES = 30e6
TIMELINE = Timeline(np.arange(FRAMES) / FPS, WIDTH, HEIGHT)
ROLLOUT = Rollout(
    case=Case(id="room", subset="all", scene="room", prompt=("a room",) * 5),
    model="model",
    video=Path("clip.mp4"),
    phases={"visible": (0, 150), "disappeared": (150, 250), "reappeared": (250, FRAMES)},
)


def defaults() -> list[Extractor]:
    """Every extractor that can be used by its name alone."""
    kinds = (plugins.load("extractors", name) for name in plugins.names("extractors"))
    needed = dataclasses.MISSING
    return [
        kind()
        for kind in kinds
        if all(field.default is not needed or field.default_factory is not needed for field in dataclasses.fields(kind))
    ]


def planned_bytes(recipe: Extractor) -> float:
    sampler = getattr(recipe, "frames", None)
    frames = FRAMES if sampler is None else len(sampler.indices(TIMELINE, ROLLOUT))
    return frames * recipe.bytes_per_frame


def test_all_features_of_a_rollout_of_400_frames_fit_into_30_megabytes():
    recipes = defaults()
    assert len(recipes) > 25
    assert sum(planned_bytes(recipe) for recipe in recipes) < MAX_BYTES


def pictures(count: int) -> list[np.ndarray]:
    noise = np.random.default_rng(0).integers(0, 256, (HEIGHT // 8, WIDTH // 8, 3), np.uint8)
    return [np.roll(noise.repeat(8, 0).repeat(8, 1), 3 * step, axis=1) for step in range(count)]


@pytest.mark.parametrize("kind", [Dinov2Embeddings, Dinov3Embeddings])
def test_tokens_at_their_published_width_take_what_plans_count_with(hub, kind):
    tiny = tiny_dinov2 if kind is Dinov2Embeddings else tiny_dinov3
    weights = tiny(hidden_size=768, num_hidden_layers=1, num_attention_heads=12)
    recipe = kind(weights=weights, frames=UniformFrames(2))
    feature = perceive_frames(recipe, pictures(2))
    assert feature.nbytes / 2 == pytest.approx(recipe.bytes_per_frame, rel=0.1)


def test_flow_takes_what_plans_count_with():
    recipe = DisFlow(height=240)
    frames = [np.ascontiguousarray(picture[::2, ::2]) for picture in pictures(3)]
    assert perceive_frames(recipe, frames).nbytes / 3 == pytest.approx(recipe.bytes_per_frame, rel=0.4)
