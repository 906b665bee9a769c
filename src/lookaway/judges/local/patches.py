"""Pictures as the Qwen-VL family takes them: any size, cut into small squares."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Self

from lookaway.core import JudgeUnusable, Pixels
from lookaway.judges.faults import LastingFault

KINDS = ("Qwen2VLImageProcessor", "Qwen2VLImageProcessorFast", "Qwen2VLImageProcessorPil")
BICUBIC = 3
ALWAYS = {"do_resize": True, "do_rescale": True, "do_normalize": True, "resample": BICUBIC, "rescale_factor": 1 / 255}
MOST_ELONGATED = 200
MEAN = (0.48145466, 0.4578275, 0.40821073)
DEVIATION = (0.26862954, 0.26130258, 0.27577711)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patches:
    """Cuts pictures into patches; the fields are those of the model's own settings, and their usual values."""

    patch_size: int = 14
    temporal_patch_size: int = 2
    merge_size: int = 2
    least_pixels: int = 56 * 56
    most_pixels: int = 28 * 28 * 1280
    mean: tuple[float, ...] = MEAN
    deviation: tuple[float, ...] = DEVIATION

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self:
        """As a model's settings say; a `JudgeUnusable` where they say something that is not done here."""
        kind = settings.get("image_processor_type")
        if kind not in KINDS:
            raise JudgeUnusable(
                f"The model wants pictures prepared by {kind!r}; a local judge prepares them as {KINDS[0]!r} does. "
                "Take a model of the Qwen-VL family, or ask the model through a server."
            )
        unusual = {name: settings[name] for name, value in ALWAYS.items() if settings.get(name, value) != value}
        if unusual:
            raise JudgeUnusable(f"The model wants pictures prepared with {unusual}; expected {ALWAYS}.")
        size = settings.get("size") or {}
        found = {
            "patch_size": settings.get("patch_size"),
            "temporal_patch_size": settings.get("temporal_patch_size"),
            "merge_size": settings.get("merge_size"),
            "least_pixels": settings.get("min_pixels") or size.get("shortest_edge"),
            "most_pixels": settings.get("max_pixels") or size.get("longest_edge"),
            "mean": settings.get("image_mean"),
            "deviation": settings.get("image_std"),
        }
        return cls(**{name: value for name, value in found.items() if value is not None})

    def grid(self, height: int, width: int) -> tuple[int, int]:
        """Rows and columns of patches that a picture is cut into, about as wide for its height as the picture is."""
        if max(height, width) > MOST_ELONGATED * min(height, width):
            raise LastingFault(f"a picture of {width}x{height} pixels is too long for the model to be shown.")
        unit = self.patch_size * self.merge_size
        rows, columns = round(height / unit), round(width / unit)
        if rows * columns * unit**2 > self.most_pixels:
            shrink = math.sqrt(height * width / self.most_pixels)
            rows, columns = (max(1, math.floor(side / shrink / unit)) for side in (height, width))
        elif rows * columns * unit**2 < self.least_pixels:
            grow = math.sqrt(self.least_pixels / (height * width))
            rows, columns = (math.ceil(side * grow / unit) for side in (height, width))
        return rows * self.merge_size, columns * self.merge_size

    def tokens(self, grid: tuple[int, int]) -> int:
        """How many places in the text a picture takes."""
        return grid[0] * grid[1] // self.merge_size**2

    def cut(self, torch: ModuleType, pixels: Pixels) -> Any:
        """Patches [patches, values] of a picture [height, width, 3]; those that are merged follow one another."""
        rows, columns = self.grid(*pixels.shape[:2])
        picture = torch.tensor(pixels).permute(2, 0, 1)[None]
        picture = torch.nn.functional.interpolate(
            picture, (rows * self.patch_size, columns * self.patch_size), mode="bicubic", antialias=True
        )
        mean, deviation = (torch.tensor(colour).view(3, 1, 1) * 255 for colour in (self.mean, self.deviation))
        colours = (picture[0].float() - mean) / deviation
        split = colours.unflatten(2, (-1, self.merge_size, self.patch_size))
        split = split.unflatten(1, (-1, self.merge_size, self.patch_size))
        # From [colour, rows, merged, y, columns, merged, x]; a picture stands still in all frames of a patch.
        ordered = split.permute(1, 4, 2, 5, 0, 3, 6)[..., None, :, :]
        still = ordered.expand(*ordered.shape[:5], self.temporal_patch_size, *ordered.shape[6:])
        return still.reshape(rows * columns, -1)
