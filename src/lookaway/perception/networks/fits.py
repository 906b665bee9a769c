"""How a frame is brought to the size of a network's input: what is cut off, squeezed or padded is in the recipe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Annotated, Any, Literal, Protocol, TypeAlias

import numpy as np

from lookaway.core import Compute, Pixels
from lookaway.perception.networks.pretrained import dtype_of

Interpolation: TypeAlias = Literal["bicubic", "bilinear"]
Colour: TypeAlias = tuple[float, float, float]

IMAGENET_MEAN: Colour = (0.485, 0.456, 0.406)
"""The mean colour of ImageNet."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A frame of a known size on its way to the input: scaled, then a window of it, padded where it is larger."""

    scaled: tuple[int, int]
    """Width and height."""
    corner: tuple[int, int]
    """Left and top of the window."""
    window: tuple[int, int]
    """Width and height of the input."""
    interpolation: Interpolation
    antialias: bool = True
    """Whether every pixel counts where a frame becomes smaller."""
    keeps_part_filled: bool = False
    """Whether patches count that show a part of the frame, and padding beside it."""
    pads_black: bool = False
    """Whether what is padded is black, or has the mean colour of what the network was trained on."""

    def kept_patches(self, side: int) -> tuple[int, int]:
        """Columns and rows of patches that count; they begin at the window's corner."""
        more = side - 1 if self.keeps_part_filled else 0
        columns, rows = (
            (min(window, scaled - corner) + more) // side
            for window, scaled, corner in zip(self.window, self.scaled, self.corner, strict=True)
        )
        return columns, rows


class Fit(Protocol):
    """A frozen value: it is part of the lock."""

    def fitted(self, width: int, height: int, patch: int) -> Fitted:
        """For frames of a size, and a network that sees patches of so many pixels."""
        ...


@dataclass(frozen=True, slots=True)
class CentreCrop:
    """The shorter side is scaled and the middle kept: what most networks publish, and blind to the sides."""

    short_side: Annotated[int, "length of the shorter side after scaling"] = 256
    side: Annotated[int, "side of the square that is kept"] = 224
    interpolation: Annotated[Interpolation, "how pixels are scaled"] = "bicubic"
    antialias: Annotated[bool, "whether every pixel counts where a frame becomes smaller"] = True
    rounds_corner: Annotated[
        bool, "rounds half a pixel to the even one, as torchvision does; else down, as transformers does"
    ] = False

    def fitted(self, width: int, height: int, patch: int) -> Fitted:
        """For frames of a size."""
        short = min(width, height)
        scaled = (width * self.short_side // short, height * self.short_side // short)
        spare = scaled[0] - self.side, scaled[1] - self.side
        corner = (round(spare[0] / 2), round(spare[1] / 2)) if self.rounds_corner else (spare[0] // 2, spare[1] // 2)
        return Fitted(scaled, corner, (self.side, self.side), self.interpolation, self.antialias)


@dataclass(frozen=True, slots=True)
class WholeFrame:
    """The longer side is scaled and everything kept; right and below, the frame is padded to whole patches."""

    long_side: Annotated[int, "length of the longer side after scaling"] = 336
    interpolation: Annotated[Interpolation, "how pixels are scaled"] = "bicubic"

    def fitted(self, width: int, height: int, patch: int) -> Fitted:
        """For frames of a size."""
        scale = self.long_side / max(width, height)
        scaled = (max(patch, round(width * scale)), max(patch, round(height * scale)))
        return Fitted(
            scaled, (0, 0), (-(-scaled[0] // patch) * patch, -(-scaled[1] // patch) * patch), self.interpolation
        )


@dataclass(frozen=True, slots=True)
class BlackPaddedFrame(WholeFrame):
    """The same, padded with black before colours are normalised; only patches that are all padding do not count."""

    def fitted(self, width: int, height: int, patch: int) -> Fitted:
        """For frames of a size."""
        return replace(WholeFrame.fitted(self, width, height, patch), keeps_part_filled=True, pads_black=True)


@dataclass(frozen=True, slots=True)
class Squeezed:
    """Everything is kept and squeezed into one size, whatever the aspect ratio was."""

    width: Annotated[int, "width of the input"] = 224
    height: Annotated[int, "height of the input"] = 224
    interpolation: Annotated[Interpolation, "how pixels are scaled"] = "bilinear"

    def fitted(self, width: int, height: int, patch: int) -> Fitted:
        """For frames of any size."""
        size = (self.width, self.height)
        return Fitted(size, (0, 0), size, self.interpolation)


def unscaled(picture: Pixels) -> Fitted:
    """For pictures of the size of this one, which go to the network as they are."""
    height, width = picture.shape[:2]
    return Fitted((width, height), (0, 0), (width, height), "bilinear")


@dataclass(frozen=True, slots=True)
class Colours:
    """What a network was trained to see as mean and spread of each channel, on a scale of 0 to 1."""

    mean: Annotated[Colour, "mean of red, green and blue"] = IMAGENET_MEAN
    std: Annotated[Colour, "spread of each"] = (0.229, 0.224, 0.225)


SeenColours: TypeAlias = Annotated[Colours, "mean and spread of the colours that the network was trained on"]
CLIP_COLOURS = Colours(mean=(0.48145466, 0.4578275, 0.40821073), std=(0.26862954, 0.26130258, 0.27577711))
FROM_MINUS_ONE = Colours(mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))
"""Pictures between -1 and 1."""


def to_input(torch: ModuleType, pictures: Sequence[Pixels], fitted: Fitted, colours: Colours, compute: Compute) -> Any:
    """A tensor [pictures, 3, height, width]; pictures of one size."""
    batch = torch.from_numpy(np.stack(pictures)).to(compute.device).permute(0, 3, 1, 2)
    width, height = fitted.scaled
    if batch.shape[2:] != (height, width):
        batch = _scaled(torch, batch, fitted)
    (left, top), (window_width, window_height) = fitted.corner, fitted.window
    batch = batch[:, :, top : top + window_height, left : left + window_width]
    mean, std = (torch.tensor(values, device=compute.device).view(1, 3, 1, 1) for values in (colours.mean, colours.std))
    padding = (0, window_width - batch.shape[3], 0, window_height - batch.shape[2])
    if fitted.pads_black:
        batch = torch.nn.functional.pad(batch, padding)
    batch = (batch.float() / 255 - mean) / std
    if not fitted.pads_black:
        batch = torch.nn.functional.pad(batch, padding)
    return batch.to(dtype_of(torch, compute))


def _scaled(torch: ModuleType, batch: Any, fitted: Fitted) -> Any:
    """Scaled without aliasing and rounded to bytes, as Pillow does it; or as tensors are, with neither."""
    is_on_cpu = batch.device.type == "cpu"
    source = batch if is_on_cpu and fitted.antialias else batch.float()
    scaled = torch.nn.functional.interpolate(
        source,
        size=fitted.scaled[::-1],
        mode=fitted.interpolation,
        antialias=fitted.antialias,
        align_corners=False,
    )
    return scaled if is_on_cpu or not fitted.antialias else scaled.round().clamp(0, 255)
