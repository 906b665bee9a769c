"""Tiny networks of the real classes with random weights, saved as published ones are."""

from __future__ import annotations

from typing import Any

import torch
import transformers

from lookaway.perception.weights import Weights
from tests.support.hub import put_into_hub


def seeded(make: Any) -> Any:
    """A network whose random weights are the same in every run; the random state of others is left alone."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return make().eval()


def tiny_dinov2(**changes: Any) -> Weights:
    """DINOv2 with two layers."""
    config = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "image_size": 70, "patch_size": 14}
    model = seeded(lambda: transformers.Dinov2Model(transformers.Dinov2Config(**{**config, **changes})))
    return put_into_hub("dinov2-base", model.save_pretrained)
