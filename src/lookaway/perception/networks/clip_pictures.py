"""The half of CLIP that sees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from lookaway.core import Compute, Pixels
from lookaway.perception.networks.batching import batch_size
from lookaway.perception.networks.fits import Colours, Fitted, to_input
from lookaway.perception.networks.pretrained import load_pretrained, load_torch
from lookaway.perception.networks.vit_tokens import COPIES
from lookaway.perception.weights import Weights


@dataclass(frozen=True, slots=True)
class ClipPictures:
    """A loaded network that gives every picture a vector of unit length."""

    torch: ModuleType
    embed: Callable[[Any], Any]
    """From the network's input to [pictures, channels]."""
    config: Any
    """The configuration of the network in transformers."""
    colours: Colours
    compute: Compute

    @classmethod
    def load(cls, weights: Weights, colours: Colours, compute: Compute) -> ClipPictures:
        """From weights of CLIP, of which the half that reads is left aside."""
        torch, model = load_torch(compute), load_pretrained("CLIPVisionModelWithProjection", weights, compute)

        def embed(batch: Any) -> Any:
            return model(pixel_values=batch, interpolate_pos_encoding=True).image_embeds

        return cls(torch, embed, model.config, colours, compute)

    def __call__(self, pictures: Sequence[Pixels], fitted: Fitted) -> Any:
        """A tensor [pictures, channels] of pictures of one size."""
        return of_unit_length(self.embed(to_input(self.torch, pictures, fitted, self.colours, self.compute)))

    def frames_at_once(self, fitted: Fitted) -> int:
        """How many pictures go through at once."""
        tokens = fitted.window[0] * fitted.window[1] / self.config.patch_size**2 + 1
        return batch_size(tokens * self.config.hidden_size * 4 * COPIES, self.compute)


def of_unit_length(vectors: Any) -> Any:
    """Each row divided by its length, in single precision."""
    vectors = vectors.float()
    return vectors / vectors.norm(dim=1, keepdim=True)
