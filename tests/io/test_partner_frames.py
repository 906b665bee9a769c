"""Frames that come with the frames they are compared with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lookaway.core import FrameRequest, Partners, VideoError
from lookaway.io import partner_frames
from lookaway.io.encoding import write_video
from lookaway.io.partner_frames import PartnerFrames
from lookaway.io.video import Video


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """30 grey frames, each 8 levels brighter than the last."""
    path = tmp_path_factory.mktemp("partners") / "clip.mp4"
    write_video(path, (np.full((32, 48, 3), 8 * index, np.uint8) for index in range(30)), fps=10)
    return path


def seen(path: Path, request: FrameRequest) -> list[tuple[int, int]]:
    """Index of every frame and of its partner, told by brightness as well."""
    found = []
    with Video(path) as video, PartnerFrames([request]) as partners:
        for _, frame in video.frames([request]):
            joined = partners.join(request, frame)
            assert joined.partner is not None
            for shown in (joined, joined.partner):
                assert abs(float(shown.pixels.mean()) - 8 * shown.index) < 3
                assert shown.pixels.shape[0] == (request.height or 32)
            found.append((joined.index, joined.partner.index))
    return found


@pytest.mark.parametrize(
    "pairs", [{0: 5, 1: 6, 2: 7}, {0: 29, 1: 28, 9: 20}, {3: 4, 4: 4, 5: 4, 6: 9}, {7: 7}, {0: 9, 1: 9, 2: 3}]
)
@pytest.mark.parametrize("height", [None, 16])
def test_every_frame_comes_with_its_own_partner(clip: Path, pairs: dict[int, int], height: int | None) -> None:
    request = FrameRequest(frozenset(pairs), height, Partners(clip, pairs))
    assert seen(clip, request) == sorted(pairs.items())


def test_a_clip_is_mirrored_block_by_block_without_holding_half_of_it(
    clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partner_frames, "BLOCK_BYTES", 4 * 32 * 48 * 3)
    pairs = {index: 29 - index for index in range(15)}
    request = FrameRequest(frozenset(pairs), None, Partners(clip, pairs))
    asked: list[int] = []
    frames = Video.frames

    def counting(video: Video, requests: list[FrameRequest], **options: bool) -> object:
        asked.append(len(requests[0].indices))
        return frames(video, requests, **options)

    monkeypatch.setattr(Video, "frames", counting)
    assert seen(clip, request) == sorted(pairs.items())
    assert asked == [15, 4, 4, 4, 3]


def test_requests_with_equal_partners_decode_the_other_video_once(clip: Path) -> None:
    pairs = {index: index + 10 for index in range(12)}
    requests = [FrameRequest(frozenset(pairs), height, Partners(clip, dict(pairs))) for height in (None, 16, None)]
    with Video(clip) as video, PartnerFrames(requests) as partners:
        shapes = [
            joined.partner.pixels.shape[0]
            for position, frame in video.frames(requests)
            if (joined := partners.join(requests[position], frame)).partner is not None
        ]
        assert partners.decoded_pictures <= 30
    assert shapes == [32, 16, 32] * 12


def test_a_request_without_partners_opens_no_other_video(clip: Path) -> None:
    request = FrameRequest(frozenset({1}))
    with Video(clip) as video, PartnerFrames([request]) as partners:
        ((_, frame),) = video.frames([request])
        assert partners.join(request, frame) is frame
        assert partners.decoded_pictures == 0


def test_an_unreadable_partner_is_told_from_the_video_itself(clip: Path, tmp_path: Path) -> None:
    request = FrameRequest(frozenset({1}), None, Partners(tmp_path / "clip.mp4", {1: 0}))
    with (
        Video(clip) as video,
        PartnerFrames([request]) as partners,
        pytest.raises(VideoError, match=r"the video to compare with: clip\.mp4: there is no such file"),
    ):
        partners.join(request, next(video.frames([request]))[1])


def test_partners_that_go_back_and_forth_are_refused(clip: Path) -> None:
    with pytest.raises(ValueError, match="increasing or decreasing order"):
        Partners(clip, {0: 1, 1: 5, 2: 3})
