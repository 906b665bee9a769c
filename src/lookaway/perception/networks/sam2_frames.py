"""How SAM 2 sees a frame, and where its masks lie in it."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

from lookaway.core import Compute, Floats, Mask, Pixels, Timeline
from lookaway.perception.networks.fits import Colours, Squeezed, to_input
from lookaway.perception.networks.pretrained import load_pretrained
from lookaway.perception.networks.torch_setup import load_torch
from lookaway.perception.weights import Weights


@dataclass(frozen=True, slots=True)
class Sam2Frames:
    """A loaded network of SAM 2: it sees frames squeezed into a square, and draws masks of a fourth of its side."""

    torch: ModuleType
    model: Any
    compute: Compute

    @classmethod
    def load(cls, kind: str, weights: Weights, compute: Compute) -> Sam2Frames:
        """The network as one of its classes in transformers: for pictures, or for videos."""
        return cls(load_torch(compute), load_pretrained(kind, weights, compute), compute)

    @property
    def side(self) -> int:
        """Side of the square."""
        return int(self.model.config.prompt_encoder_config.image_size)

    def to_input(self, pixels: Pixels) -> Any:
        """A frame as a tensor [1, 3, side, side]."""
        height, width = pixels.shape[:2]
        fitted = Squeezed(self.side, self.side, "bilinear").fitted(width, height, 1)
        return to_input(self.torch, [pixels], fitted, Colours(), self.compute)

    def to_prompt(self, coordinates: Floats) -> Any:
        """Fractions of a frame's width and height as coordinates in the square, [1, prompts, ...]."""
        # Not in the network's own type: half precision would move corners by whole pixels.
        return self.torch.from_numpy(coordinates).float().to(self.compute.device)[None] * self.side

    def to_mask(self, logits: Any, size: tuple[int, int]) -> Mask:
        """A mask [height, width] from what the network drew; `size` is width and height."""
        drawn = logits.float().reshape(1, 1, *logits.shape[-2:])
        scaled = self.torch.nn.functional.interpolate(drawn, size=size[::-1], mode="bilinear", align_corners=False)
        mask: Mask = (scaled[0, 0] > 0).cpu().numpy()
        return mask


def size_at(height: int, timeline: Timeline) -> tuple[int, int]:
    """Width and height of masks that are so tall and have the frame's aspect ratio."""
    return max(1, round(timeline.width * height / timeline.height)), height
