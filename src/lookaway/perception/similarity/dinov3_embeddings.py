"""What DINOv3 sees in each frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Abstention, Compute, Extractor, Features, Frame, Rollout, Timeline
from lookaway.io.sampling import Sampler, UniformFrames
from lookaway.perception.networks.batching import BatchedExtraction
from lookaway.perception.networks.fits import IMAGENET_MEAN, IMAGENET_STD, Fit, Squeezed
from lookaway.perception.networks.pretrained import dtype_of, load_pretrained, load_torch
from lookaway.perception.networks.vit_tokens import TOKEN_ARRAYS, TokenRecipe, VitTokens
from lookaway.perception.similarity.compared_frames import (
    Canvas,
    ComparedFrames,
    ReferenceFrames,
    both_pictures,
    pairs_at_once,
    partner_of,
    request_pairs,
)
from lookaway.perception.weights import Weights, published


@dataclass(frozen=True, slots=True)
class Dinov3Embeddings(TokenRecipe):
    """Tokens of DINOv3: one for each frame, and one for each patch of it.

    By default the whole frame is squeezed into a square, as the weights were published.
    """

    name: ClassVar[str] = "dinov3_embeddings"
    version: ClassVar[int] = 1
    software: ClassVar[tuple[str, ...]] = ("torch", "transformers")
    seconds_per_frame: ClassVar[float] = 0.25
    bytes_per_frame: ClassVar[float] = 310_000.0
    arrays: ClassVar[Mapping[str, str]] = TOKEN_ARRAYS
    needs: ClassVar[Mapping[str, Extractor]] = {}

    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "dinov3-vitb16"))
    frames: Annotated[Sampler, "which frames are looked at"] = UniformFrames(24)
    fit: Annotated[Fit, "how a frame is brought to the network's input"] = Squeezed(224, 224, "bilinear")
    patches: Annotated[bool, "whether the tokens of patches are kept"] = True
    side: Annotated[int, "side of the square that a region is squeezed into, where regions are embedded"] = 224
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()

    def network(self) -> VitTokens:
        """The loaded network."""
        model = load_pretrained("DINOv3ViTModel", self.weights, self.compute)
        return VitTokens(
            torch=load_torch(self.compute),
            model=model,
            compute=self.compute,
            patch=model.config.patch_size,
            skipped=1 + model.config.num_register_tokens,
            channels=model.config.hidden_size,
        )


SIDE = 224
WHITE = 255


@dataclass(frozen=True, slots=True)
class Dinov3Error:
    """Mean squared difference of the patch tokens of every compared frame and its partner.

    Each frame is squeezed into a square of 224 pixels with a filter against aliasing and without rounding. Tokens of
    patches are brought to unit length and compared place by place; the mean is over patches and channels, so that it
    is (2 - 2 cos) / channels, averaged over patches.
    """

    name: ClassVar[str] = "dinov3_error"
    version: ClassVar[int] = 1
    software: ClassVar[tuple[str, ...]] = ("torch", "transformers", "opencv-python-headless")
    seconds_per_frame: ClassVar[float] = 0.5
    bytes_per_frame: ClassVar[float] = 20.0
    arrays: ClassVar[Mapping[str, str]] = {
        "errors": "float32 [pairs]: mean squared difference of patch tokens of unit length",
        "frame_indices": "int64 [pairs]: the frame of the answer",
        "partner_indices": "int64 [pairs]: the frame that it is compared with",
    }
    needs: ClassVar[Mapping[str, Extractor]] = {}

    compared: Annotated[ComparedFrames, "which frames are compared"] = ReferenceFrames()
    canvas: Annotated[
        Canvas | None, "size that they have before; `None` keeps that of the videos, which must agree"
    ] = None
    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "dinov3-vitb16"))
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()
    rescales_twice: Annotated[
        bool, "divides colours by 255 once more, as MIND's own code does, so that every frame is all but black"
    ] = False

    def declines(self, rollout: Rollout) -> Abstention | None:
        """There must be something to compare with, and the weights."""
        return self.compared.declines(rollout) or self.weights.declines()

    def load(self) -> _LoadedError:
        """Load the network."""
        return _LoadedError(self, Dinov3Embeddings(weights=self.weights, compute=self.compute).network())


@dataclass(frozen=True, slots=True)
class _LoadedError:
    recipe: Dinov3Error
    network: VitTokens

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> BatchedExtraction:
        fitted = Squeezed(SIDE, SIDE).fitted(timeline.width, timeline.height, self.network.patch)
        at_once = min(max(1, self.network.frames_at_once(fitted) // 2), pairs_at_once(timeline))
        request = request_pairs(self.recipe.compared, timeline, rollout)
        return BatchedExtraction(request, at_once, self._look, {"video_frames": timeline.frame_count})

    def _look(self, frames: Sequence[Frame]) -> dict[str, NDArray[Any]]:
        torch = self.network.torch
        with torch.inference_mode():
            tokens = self._tokens(torch.cat([self._squeezed(frame) for frame in frames]))
            errors = (tokens[0::2] - tokens[1::2]).square_().mean((1, 2))
        partners = [partner_of(frame).index for frame in frames]
        return {"errors": errors.cpu().numpy(), "partner_indices": np.array(partners, np.int64)}

    def _squeezed(self, frame: Frame) -> Any:
        """[2, 3, side, side] of a frame and its partner, from 0 to 1."""
        torch, compute = self.network.torch, self.recipe.compute
        both = torch.from_numpy(np.stack(both_pictures(frame, self.recipe.canvas))).to(compute.device)
        scale = WHITE**2 if self.recipe.rescales_twice else WHITE
        batch = both.permute(0, 3, 1, 2).float() / scale
        return torch.nn.functional.interpolate(
            batch, size=(SIDE, SIDE), mode="bilinear", antialias=True, align_corners=False
        )

    def _tokens(self, batch: Any) -> Any:
        """[pictures, patches, channels] of unit length."""
        torch, compute = self.network.torch, self.recipe.compute
        mean, std = (batch.new_tensor(values).view(1, 3, 1, 1) for values in (IMAGENET_MEAN, IMAGENET_STD))
        shown = ((batch - mean) / std).to(dtype_of(torch, compute))
        patches = self.network.model(pixel_values=shown).last_hidden_state[:, self.network.skipped :]
        return torch.nn.functional.normalize(patches.float(), dim=2)
