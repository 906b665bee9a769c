import pytest

from lookaway.core import Reason, VideoError
from lookaway.io.containers import identify
from lookaway.io.video import Video, probe
from tests.support.clips import blank_end, cut, numbered_frames, write_clip

KINDS = {
    "index_last.mp4": {},
    "index_first.mp4": {"container": {"movflags": "faststart"}},
    "fragments.mp4": {"options": {"g": "8"}, "container": {"movflags": "frag_keyframe+empty_moov"}},
    "clip.mov": {"codec": "prores_ks", "pixel_format": "yuv422p10le"},
    "clip.mkv": {},
    "clip.webm": {"codec": "libvpx"},
    "clip.avi": {"codec": "mpeg4"},
    "clip.gif": {"codec": "gif", "pixel_format": "rgb8"},
}


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    """One clip of every kind."""
    folder = tmp_path_factory.mktemp("containers")
    frames = numbered_frames(48, width=160, height=120)
    return {name: write_clip(folder / name, frames, **settings) for name, settings in KINDS.items()}


@pytest.mark.parametrize("name", KINDS)
def test_a_whole_file_is_read(clips, name):
    assert probe(clips[name]).frame_count == 48


@pytest.mark.parametrize("fraction", [0.02, 0.3, 0.5, 0.77, 0.95, 0.999])
@pytest.mark.parametrize("name", KINDS)
def test_a_file_that_was_cut_off_is_truncated(clips, name, fraction):
    with pytest.raises(VideoError, match="but ends after") as raised:
        probe(cut(clips[name], fraction))
    assert raised.value.reason is Reason.TRUNCATED


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("index_last.mp4", Reason.TRUNCATED),
        ("index_first.mp4", Reason.UNDECODABLE),
        ("fragments.mp4", Reason.UNDECODABLE),
        ("clip.mov", Reason.TRUNCATED),
        ("clip.mkv", Reason.TRUNCATED),
        ("clip.webm", Reason.TRUNCATED),
        ("clip.avi", Reason.UNDECODABLE),
        ("clip.gif", Reason.TRUNCATED),
    ],
)
def test_a_file_that_ends_in_zeros_is_not_taken_for_a_shorter_clip(clips, name, reason):
    with pytest.raises(VideoError) as raised, Video(blank_end(clips[name], 0.6)) as video:
        list(video.windows(16))
    assert raised.value.reason is reason


def test_bytes_after_the_end_do_not_matter(clips, tmp_path):
    for name in ("index_last.mp4", "clip.mkv", "clip.avi"):
        (tmp_path / name).write_bytes(clips[name].read_bytes() + b"tail")
        assert probe(tmp_path / name).frame_count == 48


@pytest.mark.parametrize(
    ("name", "found"), [("index_last.mp4", "mov"), ("clip.webm", "matroska"), ("clip.avi", "avi"), ("clip.gif", "gif")]
)
def test_the_bytes_tell_the_container_and_not_the_name(clips, tmp_path, name, found):
    disguised = tmp_path / "disguised.txt"
    disguised.write_bytes(clips[name].read_bytes())
    assert identify(disguised) == found
    assert probe(disguised).frame_count == 48


MOOV = b"\0\0\0\x08moov"
SEGMENT = b"\x18S\x80g"


@pytest.mark.parametrize(
    "whole",
    [
        MOOV + b"\0\0\0\x0cmdat1234",
        MOOV + b"\0\0\0\x01mdat\0\0\0\0\0\0\0\x141234",
        MOOV + b"\0\0\0\x00mdat1234",
        b"\x1aE\xdf\xa3\x81x" + SEGMENT + b"\x841234",
        b"\x1aE\xdf\xa3\x40\x01x" + SEGMENT + b"\x01\0\0\0\0\0\0\x041234",
        b"RIFF\x08\0\0\0AVI 1234",
        b"RIFF\x04\0\0\0AVI RIFF\x08\0\0\0AVIX1234",
        b"RIFF\x05\0\0\0AVI 1\0RIFF\x08\0\0\0AVIX1234",
        b"GIF89a;",
    ],
)
def test_a_file_is_whole_to_the_last_byte_it_announces(tmp_path, whole):
    path = tmp_path / "clip"
    path.write_bytes(whole)
    assert identify(path)
    if b"\0\0\0\x00mdat" not in whole:  # a box without a length reaches to the end, wherever that is
        path.write_bytes(whole[:-1])
        with pytest.raises(VideoError) as raised:
            identify(path)
        assert raised.value.reason is Reason.TRUNCATED


@pytest.mark.parametrize(
    "unfinished",
    [
        b"\x1aE\xdf\xa3\x81x" + SEGMENT + b"\xff1234",
        b"\x1aE\xdf\xa3\x81x" + SEGMENT + b"\x01\xff\xff\xff\xff\xff\xff\xff1234",
        b"RIFF\0\0\0\0AVI 1234",
    ],
)
def test_a_live_recording_that_announces_no_end_is_taken_as_it_is(tmp_path, unfinished):
    (tmp_path / "clip").write_bytes(unfinished)
    assert identify(tmp_path / "clip")


@pytest.mark.parametrize("name", ["live.mkv", "live.webm"])
def test_a_live_recording_is_read(tmp_path, name):
    codec = {"live.mkv": "libx264", "live.webm": "libvpx"}[name]
    path = write_clip(tmp_path / name, numbered_frames(20), codec=codec, container={"live": "1"})
    assert probe(path).frame_count == 20


@pytest.mark.parametrize("start", [b"\x1aE\xdf\xa3", b"\x1aE\xdf\xa3\0", b"\0\0\0\x01moov", b"GIF8"])
def test_a_file_that_ends_within_its_header_has_a_typed_reason(tmp_path, start):
    (tmp_path / "clip").write_bytes(start)
    with pytest.raises(VideoError):
        probe(tmp_path / "clip")
