"""Tokens of a vision transformer: one for the whole picture, one for each patch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Annotated, Any, ClassVar

import numpy as np

from lookaway.core import Abstention, Compute, Floats, Frame, Pixels, Rollout, Sampler, Timeline
from lookaway.io.sampling import UniformFrames
from lookaway.perception.networks.batching import BatchExtractor, BatchPlan, Embedder, batch_size
from lookaway.perception.networks.fits import Colours, Fit, Fitted, SeenColours, Squeezed, WholeFrame, to_input
from lookaway.perception.weights import Weights

TOKEN_ARRAYS = {
    "cls": "float32 [frames, channels]: the token of the whole picture",
    "patches": "float16 [frames, patches, channels]: tokens of the patches that show only picture, row by row",
    "grid": "int64 [frames, 2]: columns and rows of those patches",
    "frame_indices": "int64 [frames]: the frame of each row",
}
"""What the features of vision transformers hold."""
COPIES = 24
"""How many copies of its tokens a transformer holds at once, roughly, in single precision."""


@dataclass(frozen=True, slots=True)
class VitTokens:
    """A loaded vision transformer."""

    torch: ModuleType
    model: Any
    colours: Colours
    compute: Compute
    patch: int
    skipped: int
    """Tokens before those of the patches."""
    channels: int

    def __call__(self, pictures: Sequence[Pixels], fitted: Fitted) -> tuple[Floats, Floats]:
        """Tokens [pictures, channels] of pictures of one size, and [pictures, patches, channels] of their patches."""
        with self.torch.inference_mode():
            tokens = self._tokens(to_input(self.torch, pictures, fitted, self.colours, self.compute))
            grid = tokens[:, self.skipped :].unflatten(1, (fitted.window[1] // self.patch, -1))
            columns, rows = fitted.kept_patches(self.patch)
            kept = grid[:, :rows, :columns].flatten(1, 2)
            return tokens[:, 0].float().cpu().numpy(), kept.to(self.torch.float16).cpu().numpy()

    def of_wholes(self, pictures: Sequence[Pixels], fitted: Fitted) -> Floats:
        """Tokens [pictures, channels] of pictures that become one size only when they are fitted."""
        with self.torch.inference_mode():
            inputs = [to_input(self.torch, [picture], fitted, self.colours, self.compute) for picture in pictures]
            whole: Floats = self._tokens(self.torch.cat(inputs))[:, 0].float().cpu().numpy()
            return whole

    def _tokens(self, batch: Any) -> Any:
        return self.model(pixel_values=batch).last_hidden_state

    def frames_at_once(self, fitted: Fitted) -> int:
        """How many pictures go through at once."""
        tokens = fitted.window[0] * fitted.window[1] / self.patch**2 + self.skipped
        return batch_size(tokens * self.channels * 4 * COPIES, self.compute)


@dataclass(frozen=True, slots=True)
class TokenRecipe(BatchExtractor[VitTokens]):
    """A recipe for tokens of frames, whose network can also be used on pictures of any size."""

    of_video: ClassVar[bool] = True
    software: ClassVar[tuple[str, ...]] = ("torch", "transformers")
    arrays: ClassVar[Mapping[str, str]] = TOKEN_ARRAYS

    weights: Annotated[Weights, "the network"]
    frames: Annotated[Sampler, "which frames are sampled"] = UniformFrames(24)
    fit: Annotated[Fit, "how a frame is brought to the network's input"] = WholeFrame()
    patches: Annotated[bool, "whether the tokens of patches are kept"] = True
    side: Annotated[int, "side of the square that a region is squeezed into, where regions are embedded"] = 224
    colours: SeenColours = Colours()
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()

    def lacks(self) -> Abstention | None:
        """Why the network cannot be loaded."""
        return self.weights.declines()

    def batches(self, network: VitTokens, rollout: Rollout, timeline: Timeline) -> BatchPlan:
        """How the frames of a rollout go through the network."""
        fitted = self.fit.fitted(timeline.width, timeline.height, network.patch)
        grid = np.array(fitted.kept_patches(network.patch))

        def extract(frames: Sequence[Frame]) -> dict[str, Floats]:
            cls, patches = network([frame.pixels for frame in frames], fitted)
            if not self.patches:
                return {"cls": cls}
            return {"cls": cls, "patches": patches, "grid": np.tile(grid, (len(frames), 1))}

        return BatchPlan(network.frames_at_once(fitted), extract)

    def embedder(self) -> Embedder:
        """The loaded network, for pictures of any size."""
        return TokenEmbedder(self.network(), self.side)


@dataclass(frozen=True, slots=True)
class TokenEmbedder:
    """One vector a picture: the token of the whole, of pictures squeezed into a square."""

    network: VitTokens
    side: int

    def __call__(self, pictures: Sequence[Pixels]) -> Floats:
        """[pictures, channels], whatever sizes the pictures have."""
        fitted = Squeezed(self.side, self.side, "bicubic").fitted(self.side, self.side, self.network.patch)
        at_once = self.network.frames_at_once(fitted)
        groups = (pictures[start : start + at_once] for start in range(0, len(pictures), at_once))
        parts = [self.network.of_wholes(group, fitted) for group in groups]
        return np.concatenate(parts) if parts else np.zeros((0, self.network.channels), np.float32)
