"""Cuts a video without loss."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from lookaway.io.decoding import Decoder
from lookaway.io.encoder import Encoding, write_pictures
from lookaway.io.encoding import BT709, X264

LOSSLESS: Final = {"qp": "0", "preset": "veryfast", "x264-params": X264}


def write_tail(video: Path, target: Path, start: int, fps: int) -> None:
    """The frames from `start` on, as every decoder finds them in the video, bit for bit."""
    with closing(Decoder(video)) as decoder:
        _write(decoder, target, range(start, len(decoder.index)), fps)


def write_frames(video: Path, target: Path, indices: Sequence[int], fps: int) -> None:
    """Frames of increasing indices, as every decoder finds them in the video, bit for bit."""
    with closing(Decoder(video)) as decoder:
        _write(decoder, target, indices, fps)


def _write(decoder: Decoder, target: Path, indices: Sequence[int], fps: int) -> None:
    encoding = Encoding(container="mp4", codec="libx264", fps=fps, options=LOSSLESS, colour=BT709)
    write_pictures(target, (picture for _, picture in decoder.pictures(indices)), encoding)
