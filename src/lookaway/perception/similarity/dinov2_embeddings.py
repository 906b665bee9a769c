"""What DINOv2 sees in each frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, ClassVar

from lookaway.core import Compute, Extractor
from lookaway.io.sampling import Sampler, UniformFrames
from lookaway.perception.networks.fits import Fit, WholeFrame
from lookaway.perception.networks.pretrained import load_pretrained, load_torch
from lookaway.perception.networks.vit_tokens import TOKEN_ARRAYS, TokenRecipe, VitTokens
from lookaway.perception.weights import Weights, published


@dataclass(frozen=True, slots=True)
class Dinov2Embeddings(TokenRecipe):
    """Tokens of DINOv2: one for each frame, and one for each patch of it.

    By default the network sees the whole frame. `CentreCrop()` is how the weights were published: of a frame of
    16:9 it sees half.
    """

    name: ClassVar[str] = "dinov2_embeddings"
    version: ClassVar[int] = 1
    software: ClassVar[tuple[str, ...]] = ("torch", "transformers")
    seconds_per_frame: ClassVar[float] = 0.35
    bytes_per_frame: ClassVar[float] = 500_000.0
    arrays: ClassVar[Mapping[str, str]] = TOKEN_ARRAYS
    needs: ClassVar[Mapping[str, Extractor]] = {}

    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "dinov2-base"))
    frames: Annotated[Sampler, "which frames are looked at"] = UniformFrames(24)
    fit: Annotated[Fit, "how a frame is brought to the network's input"] = WholeFrame()
    patches: Annotated[bool, "whether the tokens of patches are kept"] = True
    side: Annotated[int, "side of the square that a region is squeezed into, where regions are embedded"] = 224
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()

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
