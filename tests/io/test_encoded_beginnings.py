from __future__ import annotations

import av
import numpy as np
import pytest

from lookaway.core import VideoError
from lookaway.io.encoding import write_beginning
from tests.support.clips import numbered_frames, write_clip


def pictures(path):
    with av.open(str(path)) as container:
        return [picture.to_ndarray() for picture in container.decode(video=0)], container.streams.video[0].average_rate


@pytest.mark.parametrize(("count", "expected"), [(5, 5), (97, 12)])
def test_the_first_frames_are_written_at_the_same_rate_and_all_but_alike(tmp_path, count, expected):
    video = write_clip(tmp_path / "clip.mp4", numbered_frames(12, width=64, height=48))
    write_beginning(tmp_path / "beginning.mp4", video, count, crf=18)
    (whole, rate), (beginning, own_rate) = pictures(video), pictures(tmp_path / "beginning.mp4")
    assert (len(beginning), own_rate) == (expected, rate)
    for first, second in zip(whole, beginning, strict=False):
        assert np.abs(first.astype(int) - second).mean() < 4


def test_what_is_no_video_is_told(tmp_path):
    (tmp_path / "clip.mp4").write_bytes(b"no video")
    with pytest.raises(VideoError, match=r"clip\.mp4: its first frames cannot be encoded anew"):
        write_beginning(tmp_path / "beginning.mp4", tmp_path / "clip.mp4", 97, crf=18)
