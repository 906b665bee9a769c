"""Converts decoded pictures of any pixel format to upright RGB."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import av
import numpy as np
from av.sidedata.sidedata import SideData, Type
from av.video.reformatter import Interpolation, VideoReformatter

from lookaway.core import Pixels

# Exact rounding makes frames equal on every processor. Without the interpolation of chroma for every pixel, swscale
# darkens pictures of even width by about two levels, and those of odd width not at all.
EXACT = Interpolation.ACCURATE_RND | Interpolation.BITEXACT | Interpolation.FULL_CHR_H_INT
SHRINK, ENLARGE = Interpolation.AREA | EXACT, Interpolation.BICUBIC | EXACT
ONE = 1 << 16
"""1.0 in the fixed-point format of display matrices."""


@dataclass(frozen=True, slots=True)
class Orientation:
    """How a stored picture is oriented for display: transposed, then flipped."""

    is_transposed: bool = False
    flips_rows: bool = False
    flips_columns: bool = False

    def upright(self, pixels: Pixels) -> Pixels:
        """The upright picture."""
        if self.is_transposed:
            pixels = pixels.swapaxes(0, 1)
        return pixels[:: -1 if self.flips_rows else 1, :: -1 if self.flips_columns else 1]


def orientation(picture: av.VideoFrame) -> Orientation | None:
    """The orientation of a display matrix; None for rotations and scales that need resampling.

    A display matrix sends the stored point (p, q) to (a p + c q, b p + d q), with rows counted downwards.
    """
    matrix = cast(Mapping[Type, SideData], picture.side_data).get(Type.DISPLAYMATRIX)
    if matrix is None:
        return Orientation()
    a, b, _, c, d = np.frombuffer(bytes(matrix), np.int32)[:5].tolist()
    if abs(a) == abs(d) == ONE and b == c == 0:
        return Orientation(flips_columns=a < 0, flips_rows=d < 0)
    if abs(b) == abs(c) == ONE and a == d == 0:
        return Orientation(is_transposed=True, flips_columns=c < 0, flips_rows=b < 0)
    return None


def to_rgb(scaler: VideoReformatter, picture: av.VideoFrame, width: int, height: int) -> Pixels | None:
    """The picture at a size, [height, width, 3]; None if parts of it are transparent."""
    has_alpha = any(component.is_alpha for component in picture.format.components) or picture.format.has_palette
    interpolation = ENLARGE if height > picture.height else SHRINK
    target = "rgba" if has_alpha else "rgb24"
    pixels = scaler.reformat(picture, width, height, target, interpolation=interpolation, threads=1).to_ndarray()
    if has_alpha and pixels[..., 3].min() < 255:
        return None
    return np.asarray(pixels[..., :3], np.uint8)


JPEG_QUALITY = 95


def png_bytes(pixels: Pixels) -> bytes:
    """Encode a picture, [height, width, 3], as lossless PNG."""
    return _encoded(".png", pixels, [])


def jpeg_bytes(pixels: Pixels) -> bytes:
    """Encode a picture as JPEG, at about a fifth of the size."""
    import cv2

    return _encoded(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])


def picture_pixels(encoded: bytes) -> Pixels:
    """The pixels, [height, width, 3], of an encoded picture; raises a `ValueError` if it is none."""
    import cv2

    found = cv2.imdecode(np.frombuffer(encoded, np.uint8), cv2.IMREAD_COLOR_RGB) if encoded else None
    if found is None:
        raise ValueError(f"{len(encoded)} bytes are not a valid picture.")
    return np.asarray(found, np.uint8)


def _encoded(suffix: str, pixels: Pixels, options: list[int]) -> bytes:
    import cv2  # takes a moment to import, and not every command needs it

    done, encoded = cv2.imencode(suffix, np.ascontiguousarray(pixels[..., ::-1]), options)
    if not done:
        raise ValueError(f"a picture of {pixels.dtype} {pixels.shape} cannot be written as {suffix}.")
    return encoded.tobytes()
