"""Cuts a video without loss."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Final

from lookaway.io.decoding import Decoder
from lookaway.io.encoder import Encoding, write_pictures
from lookaway.io.encoding import BT709, X264

LOSSLESS: Final = {"qp": "0", "preset": "veryfast", "x264-params": X264}


def write_tail(video: Path, target: Path, start: int, fps: int) -> None:
    """The frames from `start` on, as every decoder finds them in the video, bit for bit."""
    encoding = Encoding(container="mp4", codec="libx264", fps=fps, options=LOSSLESS, colour=BT709)
    with closing(Decoder(video)) as decoder:
        pictures = (picture for _, picture in decoder.pictures(range(start, len(decoder.index))))
        write_pictures(target, pictures, encoding)
