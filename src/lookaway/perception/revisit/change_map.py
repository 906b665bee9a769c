"""What differs between two aligned pictures of one view: the light, the look, and the places that changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Annotated

import numpy as np

from lookaway.core import Floats, Mask, Pixels


@dataclass(frozen=True, slots=True)
class ChangeLimits:
    """From where on a place of a view has changed, in another light or look."""

    changed: Annotated[float, "Delta E (CIE 1976) above which a patch shows something else"] = 10.0
    patch: Annotated[float, "frame heights; the side of the patches in which colours are compared"] = 0.024
    shift: Annotated[float, "frame heights by which a thing may be misplaced and yet be the same"] = 0.010
    blur: Annotated[float, "frame heights by which pictures are smoothed"] = 0.005
    min_blob: Annotated[float, "part of the frame; a smaller blob is noise"] = 0.001
    look_quantile: Annotated[
        float, "quantile of differences that is the look: below the median, so that a large changed thing is none"
    ] = 0.3
    dark: Annotated[float, "linear value below which a pixel tells nothing about light"] = 0.01
    bright: Annotated[int, "encoded value above which a pixel tells nothing about light"] = 245
    min_pixels: Annotated[int, "pixels that tell about light, above which it is known"] = 50


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ViewChanges:
    """What differs in a part of the view."""

    differences: Floats
    """[height, width] Delta E after the light is made equal, at the best of small shifts; 0 outside the part."""
    changed: Mask
    """[height, width] places that show something else."""
    mask: Mask
    """[height, width] the part of the view that is compared."""
    aside: Mask
    """[height, width] places of that part that move by themselves, and are not changed for that."""
    stops: Floats
    """[3] by which red, green and blue are brighter at the return."""

    @property
    def changed_area(self) -> float:
        """Per cent of the part that shows something else."""
        return 100 * float(self.changed.sum() / self.mask.sum())

    @property
    def set_aside(self) -> float:
        """Per cent of the part that moves by itself."""
        return 100 * float(self.aside.sum() / self.mask.sum())

    @property
    def light(self) -> float:
        """Mean change of light, in stops."""
        return float(np.abs(self.stops).mean())

    def look(self, limits: ChangeLimits) -> float:
        """Delta E that is left nearly everywhere."""
        return float(np.quantile(self.differences[self.mask], limits.look_quantile))


def find_changes(
    cv2: ModuleType, firsts: Sequence[Pixels], second: Pixels, mask: Mask, limits: ChangeLimits
) -> ViewChanges:
    """Compare the return with the first visit, aligned in one or several ways; the best way counts at each place.

    Nothing is set aside.
    """
    stops = light_change(cv2, firsts[0], second, mask, limits)
    differences = np.minimum.reduce([difference_map(cv2, first, second, stops, limits) for first in firsts])
    differences = np.where(mask, differences, 0)
    changed = keep_blobs(cv2, differences > limits.changed, limits.min_blob * mask.size)
    return ViewChanges(differences=differences, changed=changed, mask=mask, aside=np.zeros_like(mask), stops=stops)


def light_change(cv2: ModuleType, first: Pixels, second: Pixels, mask: Mask, limits: ChangeLimits) -> Floats:
    """[3] stops by which each channel is brighter: the median over pixels neither near black nor near white."""
    before, after = (cv2.GaussianBlur(pixels, (0, 0), 2) for pixels in (first, second))
    dim, bright = _linear(before), _linear(after)
    told = mask[..., None] & (dim > limits.dark) & (bright > limits.dark / 3)
    told &= (before < limits.bright) & (after < limits.bright)
    ratios = np.log2(np.where(told, bright, 1) / np.where(told, dim, 1)).astype(np.float64)
    return np.array(
        [
            np.median(ratios[..., channel][told[..., channel]]) if told[..., channel].sum() > limits.min_pixels else 0.0
            for channel in range(3)
        ]
    )


def difference_map(cv2: ModuleType, first: Pixels, second: Pixels, stops: Floats, limits: ChangeLimits) -> Floats:
    """[height, width] root mean square of Delta E in a patch, the least over small shifts, in equal light."""
    height, width = second.shape[:2]
    blur, reach = max(0.6, limits.blur * height), max(1, round(limits.shift * height))
    patch = max(3, int(limits.patch * height) | 1)
    relit = _encoded(_linear(first) * (2.0**stops).astype(np.float32))
    before, after = (
        cv2.cvtColor(cv2.GaussianBlur(picture, (0, 0), blur), cv2.COLOR_RGB2LAB)
        for picture in (relit, second.astype(np.float32) / 255)
    )
    around = cv2.copyMakeBorder(before, reach, reach, reach, reach, cv2.BORDER_REPLICATE)
    least = np.full((height, width), np.inf, np.float32)
    for down in range(-reach, reach + 1):
        for right in range(-reach, reach + 1):
            if right**2 + down**2 > reach**2 + 0.5:
                continue
            shifted = around[reach + down : reach + down + height, reach + right : reach + right + width]
            apart = cv2.subtract(shifted, after)
            squares = cv2.transform(cv2.multiply(apart, apart), np.ones((1, 3), np.float32))
            np.minimum(least, cv2.blur(squares, (patch, patch)), out=least)
    return np.sqrt(least)


def keep_blobs(cv2: ModuleType, changed: Mask, min_pixels: float) -> Mask:
    """The connected places that are large enough; hairlines are opened away first."""
    opened = cv2.morphologyEx(changed.astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    _, labels, facts, _ = cv2.connectedComponentsWithStats(opened, connectivity=8)
    is_large = facts[:, cv2.CC_STAT_AREA] >= min_pixels
    is_large[0] = False
    return np.asarray(is_large[labels])


def _linear(pixels: Pixels) -> Floats:
    return LINEAR[pixels]


def _encoded(linear: Floats) -> Floats:
    linear = np.clip(linear, 0, 1)
    return np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055).astype(np.float32)


_VALUES = np.arange(256) / 255
LINEAR = np.where(_VALUES <= 0.04045, _VALUES / 12.92, ((_VALUES + 0.055) / 1.055) ** 2.4).astype(np.float32)
"""[256] linear light of an encoded value."""
