"""Questions about pictures of noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from lookaway.core import JudgeModel, JudgeRequest, Picture, Sampling

JUDGE = JudgeModel(backend="local", model="tiny", wording="text")


def picture(seed: int, height: int = 60, width: int = 90) -> Picture:
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3)).astype(np.uint8)
    return Picture(seed, seed / 4, pixels)


def question(pictures: int = 2, **changes: Any) -> JudgeRequest:
    """Whether something is the same, answered in a few words."""
    request = JudgeRequest(
        judge=JUDGE,
        system="You judge videos.",
        instruction="Is it the same? Answer yes or no.",
        pictures=tuple(picture(seed) for seed in range(pictures)),
        material="a cat",
        token_choices=20,
        max_tokens=4,
    )
    return replace(request, **changes)


def drawing(seed: int | None = 0, temperature: float = 1.5, **changes: Any) -> JudgeRequest:
    sampling = Sampling(temperature=temperature, seed=seed)
    return question(judge=replace(JUDGE, sampling=sampling), max_tokens=12, **changes)
