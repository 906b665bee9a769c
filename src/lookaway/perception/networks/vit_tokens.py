"""Tokens of a vision transformer: one for the whole picture, one for each patch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from lookaway.core import Compute, Features, Floats, Frame, FrameRequest, Pixels, Rollout, Timeline
from lookaway.io.sampling import Sampler
from lookaway.perception.networks.batching import BatchedWatch, batch_size
from lookaway.perception.networks.fits import Colours, Fit, Fitted, Squeezed, to_input

TOKEN_ARRAYS = {
    "cls": "float32 [frames, channels]: the token of the whole picture",
    "patches": "float16 [frames, patches, channels]: tokens of the patches that show only picture, row by row",
    "grid": "int64 [frames, 2]: columns and rows of those patches",
    "frame_indices": "int64 [frames]: the frame of each row",
}
"""What the features of vision transformers hold."""
COPIES = 24
"""Of its tokens that a transformer holds at once, roughly, in single precision."""


class TokenRecipe(Protocol):
    """What the tokens of frames depend on, beside the network."""

    @property
    def frames(self) -> Sampler:
        """Which frames are looked at."""
        ...

    @property
    def fit(self) -> Fit:
        """How a frame is brought to the input."""
        ...

    @property
    def patches(self) -> bool:
        """Whether the tokens of patches are kept."""
        ...


@dataclass(frozen=True, slots=True)
class VitTokens:
    """A loaded vision transformer."""

    torch: ModuleType
    model: Any
    compute: Compute
    patch: int
    skipped: int
    """Tokens before those of the patches."""
    channels: int

    def __call__(self, pictures: Sequence[Pixels], fitted: Fitted) -> tuple[Floats, Floats]:
        """Tokens [pictures, channels] of pictures of one size, and [pictures, patches, channels] of their patches."""
        with self.torch.inference_mode():
            batch = to_input(self.torch, pictures, fitted, Colours(), self.compute)
            tokens = self.model(pixel_values=batch).last_hidden_state
            grid = tokens[:, self.skipped :].unflatten(1, (fitted.window[1] // self.patch, -1))
            columns, rows = fitted.whole_patches(self.patch)
            kept = grid[:, :rows, :columns].flatten(1, 2)
            return tokens[:, 0].float().cpu().numpy(), kept.to(self.torch.float16).cpu().numpy()

    def frames_at_once(self, fitted: Fitted) -> int:
        """How many pictures go through at once."""
        tokens = fitted.window[0] * fitted.window[1] / self.patch**2 + self.skipped
        return batch_size(tokens * self.channels * 4 * COPIES, self.compute)


@dataclass(frozen=True, slots=True)
class TokenPerceiver:
    """Tokens of the sampled frames of a rollout."""

    recipe: TokenRecipe
    network: VitTokens

    def begin(self, rollout: Rollout, timeline: Timeline, features: Features) -> BatchedWatch:
        """Start on one rollout."""
        fitted = self.recipe.fit.fitted(timeline.width, timeline.height, self.network.patch)
        request = FrameRequest(frozenset(self.recipe.frames.indices(timeline, rollout)))
        grid = np.array(fitted.whole_patches(self.network.patch))

        def look(frames: Sequence[Frame]) -> dict[str, Floats]:
            cls, patches = self.network([frame.pixels for frame in frames], fitted)
            if not self.recipe.patches:
                return {"cls": cls}
            return {"cls": cls, "patches": patches, "grid": np.tile(grid, (len(frames), 1))}

        return BatchedWatch(request, self.network.frames_at_once(fitted), look)


@dataclass(frozen=True, slots=True)
class TokenEmbedder:
    """One vector a picture: the token of the whole, of pictures squeezed into a square."""

    network: VitTokens
    side: int

    def __call__(self, pictures: Sequence[Pixels]) -> Floats:
        """[pictures, channels], whatever sizes the pictures have."""
        fitted = Squeezed(self.side, self.side, "bicubic").fitted(self.side, self.side, self.network.patch)
        at_once = self.network.frames_at_once(fitted)
        parts = [self.network(group, fitted)[0] for group in _of_one_size(pictures, at_once)]
        return np.concatenate(parts) if parts else np.zeros((0, self.network.channels), np.float32)


def _of_one_size(pictures: Sequence[Pixels], most: int) -> list[list[Pixels]]:
    """Runs of consecutive pictures of one size, none longer than `most`."""
    groups: list[list[Pixels]] = []
    for picture in pictures:
        if groups and groups[-1][0].shape == picture.shape and len(groups[-1]) < most:
            groups[-1].append(picture)
        else:
            groups.append([picture])
    return groups
