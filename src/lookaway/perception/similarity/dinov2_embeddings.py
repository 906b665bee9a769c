"""What DINOv2 sees in each frame."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, ClassVar

from lookaway.perception.networks.pretrained import load_pretrained, load_torch
from lookaway.perception.networks.vit_tokens import TokenRecipe, VitTokens
from lookaway.perception.weights import Weights, published


@dataclass(frozen=True, slots=True)
class Dinov2Embeddings(TokenRecipe):
    """Tokens of DINOv2: one for each frame, and one for each patch of it.

    By default the network sees the whole frame. `CentreCrop()` is how the weights were published: of a frame of
    16:9 it sees half.
    """

    name: ClassVar[str] = "dinov2_embeddings"
    seconds_per_frame: ClassVar[float] = 0.35
    bytes_per_frame: ClassVar[float] = 500_000.0

    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "dinov2-base"))

    def network(self) -> VitTokens:
        """The loaded network."""
        model = load_pretrained("Dinov2Model", self.weights, self.compute)
        return VitTokens(
            torch=load_torch(self.compute),
            model=model,
            compute=self.compute,
            patch=model.config.patch_size,
            skipped=1,
            channels=model.config.hidden_size,
        )
