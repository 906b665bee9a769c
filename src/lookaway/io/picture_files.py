"""Single pictures as PNG or JPEG."""

from __future__ import annotations

import numpy as np

from lookaway.core import Pixels

JPEG_QUALITY = 95


def png_bytes(pixels: Pixels) -> bytes:
    """The picture, [height, width, 3], without loss."""
    return _encoded(".png", pixels, [])


def jpeg_bytes(pixels: Pixels) -> bytes:
    """The picture, a fifth of the size, with loss."""
    import cv2

    return _encoded(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])


def picture_pixels(encoded: bytes) -> Pixels:
    """The pixels, [height, width, 3], of an encoded picture; a `ValueError` where it is none."""
    import cv2

    found = cv2.imdecode(np.frombuffer(encoded, np.uint8), cv2.IMREAD_COLOR_RGB) if encoded else None
    if found is None:
        raise ValueError(f"{len(encoded)} bytes are no picture.")
    return np.asarray(found, np.uint8)


def _encoded(suffix: str, pixels: Pixels, options: list[int]) -> bytes:
    import cv2  # takes a moment to import, and not every command needs it

    done, encoded = cv2.imencode(suffix, np.ascontiguousarray(pixels[..., ::-1]), options)
    if not done:
        raise ValueError(f"a picture of {pixels.dtype} {pixels.shape} cannot be written as {suffix}.")
    return encoded.tobytes()
