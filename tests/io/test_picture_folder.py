from __future__ import annotations

import os

import numpy as np
import pytest

from lookaway.core import FrameRequest, Reason, VideoError
from lookaway.io.files import content_hash
from lookaway.io.picture_folder import announced_size
from lookaway.io.pictures import jpeg_bytes, png_bytes
from lookaway.io.video import Video, probe

SIZE = (12, 20)


def picture(level, size=SIZE):
    return np.full((*size, 3), level, np.uint8)


@pytest.fixture
def folder(tmp_path):
    for index in range(6):
        (tmp_path / f"frame_{index:04d}.png").write_bytes(png_bytes(picture(40 * index)))
    return tmp_path


def declined(folder):
    with pytest.raises(VideoError) as raised, Video(folder) as video:
        list(video.frames([FrameRequest(frozenset(range(video.timeline.frame_count)))]))
    return raised.value


def test_pictures_are_frames_in_the_order_of_their_names(folder):
    (folder / "notes.txt").write_text("no picture")
    (folder / ".frame_0009.png").write_bytes(b"hidden")
    with Video(folder) as video:
        assert (video.timeline.frame_count, video.timeline.width, video.timeline.height) == (6, 20, 12)
        frames = [frame for _, frame in video.frames([FrameRequest(frozenset({1, 4}))])]
        assert [frame.index for frame in frames] == [1, 4]
        assert [int(frame.pixels[0, 0, 0]) for frame in frames] == [40, 160]
        assert video.decoded_pictures == 3  # the first one says how large they are


def test_pixels_are_those_of_the_file_and_can_be_asked_for_smaller(folder):
    noise = np.random.default_rng(0).integers(0, 256, (*SIZE, 3), np.uint8)
    (folder / "frame_0006.png").write_bytes(png_bytes(noise))
    with Video(folder) as video:
        requests = [FrameRequest(frozenset({6})), FrameRequest(frozenset({6}), height=6)]
        whole, small = (frame.pixels for _, frame in video.frames(requests))
    assert np.array_equal(whole, noise)
    assert small.shape == (6, 10, 3)


def test_jpeg_pictures_are_read_too(tmp_path):
    for index in range(3):
        (tmp_path / f"NewLevelSequence7.{index:04d}.JPG").write_bytes(jpeg_bytes(picture(80)))
    assert probe(tmp_path).frame_count == 3


def test_a_missing_number_is_a_missing_frame(folder):
    (folder / "frame_0003.png").unlink()
    error = declined(folder)
    assert error.reason is Reason.TRUNCATED
    assert "no picture is numbered 3" in str(error)


def test_numbers_without_zeros_are_refused_instead_of_being_read_out_of_order(tmp_path):
    for index in range(11):
        (tmp_path / f"{index}.png").write_bytes(png_bytes(picture(index)))
    error = declined(tmp_path)
    assert error.reason is Reason.UNDECODABLE
    assert "Pad numbers with zeros" in str(error)


def test_two_pictures_of_one_number_are_refused(folder):
    (folder / "frame_0002.jpg").write_bytes(jpeg_bytes(picture(1)))
    assert declined(folder).reason is Reason.UNDECODABLE


@pytest.mark.parametrize("content", [b"", b"no picture", png_bytes(picture(1))[:60]])
def test_a_damaged_picture_is_named(folder, content):
    (folder / "frame_0004.png").write_bytes(content)
    error = declined(folder)
    assert error.reason is Reason.UNDECODABLE
    assert "frame_0004.png" in str(error)


def test_a_picture_of_another_size_is_refused(folder):
    (folder / "frame_0006.png").write_bytes(png_bytes(picture(1, (12, 22))))
    assert "22 x 12 pixels, the first picture 20 x 12" in str(declined(folder))


def test_a_folder_without_pictures_is_not_a_video(tmp_path):
    assert declined(tmp_path).reason is Reason.NOT_A_VIDEO


def test_a_pipe_is_not_waited_for(folder):
    os.mkfifo(folder / "frame_0006.png")
    assert probe(folder).frame_count == 6
    assert content_hash(folder)


def test_a_header_that_claims_too_many_pixels_is_refused_before_it_is_unpacked(folder):
    claimed = bytearray(png_bytes(picture(1)))
    claimed[16:24] = (100_000).to_bytes(4, "big") * 2
    (folder / "frame_0005.png").write_bytes(bytes(claimed))
    assert "not a PNG or JPEG picture of 1 to" in str(declined(folder))


def test_the_size_in_a_header_is_that_of_the_picture():
    shown = picture(9, (14, 22))
    assert announced_size(png_bytes(shown)) == announced_size(jpeg_bytes(shown)) == (22, 14)
    assert announced_size(b"\xff\xd8\xff\xff") is None


def test_the_hash_depends_on_pictures_and_their_order_but_not_on_the_folder(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    for path in folder.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    assert content_hash(other) == content_hash(folder)
    (other / "notes.txt").write_text("no picture")
    assert content_hash(other) == content_hash(folder)
    (other / "frame_0003.png").write_bytes(png_bytes(picture(121)))
    assert content_hash(other) != content_hash(folder)
