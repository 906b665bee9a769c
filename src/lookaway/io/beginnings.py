"""Writes the first frames of a video as a video of their own."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from pathlib import Path

import av

from lookaway.core import Reason, VideoError
from lookaway.io.encoding import Encoding, write_pictures

USUAL_RATE = Fraction(24)
"""Of a file that names none."""


def write_beginning(path: Path, video: Path, count: int, *, crf: int) -> None:
    """Encode the first frames of a video anew, as `ffmpeg -i VIDEO -vframes COUNT -c:v libx264 -crf CRF` does.

    Pictures keep their pixel format, so that only the encoder changes them.
    """
    try:
        with av.open(str(video)) as container:
            rate = Fraction(container.streams.video[0].average_rate or USUAL_RATE)
            encoding = Encoding(
                container="mp4", codec="libx264", fps=rate, options={"crf": str(crf), "preset": "medium"}
            )
            write_pictures(path, islice(container.decode(video=0), count), encoding)
    except (av.FFmpegError, IndexError, ValueError) as error:
        raise VideoError(
            Reason.UNDECODABLE, f"{video.name}: its first frames cannot be encoded anew: {error}"
        ) from error
