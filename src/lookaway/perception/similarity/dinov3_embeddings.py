"""What DINOv3 sees in each frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lookaway.core import ComparedFrames, Compute, Frame, Rollout, Timeline
from lookaway.perception.networks.batching import BatchPlan
from lookaway.perception.networks.fits import Colours, Fit, SeenColours, Squeezed
from lookaway.perception.networks.pretrained import dtype_of, load_pretrained, load_torch
from lookaway.perception.networks.vit_tokens import TokenRecipe, VitTokens
from lookaway.perception.similarity.compared_frames import (
    Canvas,
    PairExtractor,
    ReferenceFrames,
    both_pictures,
    pairs_at_once,
    partner_indices,
)
from lookaway.perception.weights import Weights, published


@dataclass(frozen=True, slots=True)
class Dinov3Embeddings(TokenRecipe):
    """Tokens of DINOv3: one for each frame, and one for each patch of it.

    By default the whole frame is squeezed into a square, as the weights were published.
    """

    name: ClassVar[str] = "dinov3_embeddings"
    seconds_per_frame: ClassVar[float] = 0.25
    bytes_per_frame: ClassVar[float] = 310_000.0

    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "dinov3-vitb16"))
    fit: Annotated[Fit, "how a frame is brought to the network's input"] = Squeezed(224, 224, "bilinear")

    def network(self) -> VitTokens:
        """The loaded network."""
        model = load_pretrained("DINOv3ViTModel", self.weights, self.compute)
        return VitTokens(
            torch=load_torch(self.compute),
            model=model,
            colours=self.colours,
            compute=self.compute,
            patch=model.config.patch_size,
            skipped=1 + model.config.num_register_tokens,
            channels=model.config.hidden_size,
        )


SIDE = 224
WHITE = 255


@dataclass(frozen=True, slots=True)
class Dinov3Error(PairExtractor[VitTokens]):
    """Mean squared difference of the patch tokens of every compared frame and its partner.

    Each frame is squeezed into a square of 224 pixels with a filter against aliasing and without rounding. Tokens of
    patches are brought to unit length and compared place by place; the mean is over patches and channels, so that it
    is (2 - 2 cos) / channels, averaged over patches.
    """

    name: ClassVar[str] = "dinov3_error"
    constants: ClassVar[tuple[str, ...]] = (f"{__name__}:SIDE", f"{__name__}:WHITE")
    software: ClassVar[tuple[str, ...]] = ("torch", "transformers", "opencv-python-headless")
    seconds_per_frame: ClassVar[float] = 0.5
    bytes_per_frame: ClassVar[float] = 20.0
    arrays: ClassVar[Mapping[str, str]] = {
        "errors": "float32 [pairs]: mean squared difference of patch tokens of unit length",
        "frame_indices": "int64 [pairs]: the frame of the generated video",
        "partner_indices": "int64 [pairs]: the frame that it is compared with",
    }

    compared: Annotated[ComparedFrames, "which frames are compared"] = ReferenceFrames()
    canvas: Annotated[
        Canvas | None, "size that they have before; `None` keeps that of the videos, which must agree"
    ] = None
    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "dinov3-vitb16"))
    colours: SeenColours = Colours()
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()
    rescales_twice: Annotated[
        bool, "divides colours by 255 once more, as MIND's own code does, so that every frame is all but black"
    ] = False

    def network(self) -> VitTokens:
        """The loaded network."""
        return Dinov3Embeddings(weights=self.weights, colours=self.colours, compute=self.compute).network()

    def batches(self, network: VitTokens, rollout: Rollout, timeline: Timeline) -> BatchPlan:
        """How the pairs of a rollout go through the network."""
        fitted = Squeezed(SIDE, SIDE).fitted(timeline.width, timeline.height, network.patch)
        at_once = min(max(1, network.frames_at_once(fitted) // 2), pairs_at_once(timeline))

        def extract(frames: Sequence[Frame]) -> dict[str, NDArray[Any]]:
            with network.torch.inference_mode():
                tokens = self._tokens(
                    network, network.torch.cat([self._squeezed(network.torch, each) for each in frames])
                )
                errors = (tokens[0::2] - tokens[1::2]).square_().mean((1, 2))
            return {"errors": errors.cpu().numpy(), "partner_indices": partner_indices(frames)}

        return BatchPlan(at_once, extract, {"video_frames": timeline.frame_count})

    def _squeezed(self, torch: ModuleType, frame: Frame) -> Any:
        """[2, 3, side, side] of a frame and its partner, from 0 to 1."""
        both = torch.from_numpy(np.stack(both_pictures(frame, self.canvas))).to(self.compute.device)
        scale = WHITE**2 if self.rescales_twice else WHITE
        batch = both.permute(0, 3, 1, 2).float() / scale
        return torch.nn.functional.interpolate(
            batch, size=(SIDE, SIDE), mode="bilinear", antialias=True, align_corners=False
        )

    def _tokens(self, network: VitTokens, batch: Any) -> Any:
        """[pictures, patches, channels] of unit length."""
        mean, std = (batch.new_tensor(values).view(1, 3, 1, 1) for values in (self.colours.mean, self.colours.std))
        shown = ((batch - mean) / std).to(dtype_of(network.torch, self.compute))
        patches = network.model(pixel_values=shown).last_hidden_state[:, network.skipped :]
        return network.torch.nn.functional.normalize(patches.float(), dim=2)
