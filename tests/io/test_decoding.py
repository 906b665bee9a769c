import os
import struct
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from lookaway.core import FrameRequest, Reason, VideoError
from lookaway.io import decoding
from lookaway.io.video import Video, probe
from tests.support.clips import (
    LOSSLESS,
    X265_ALONE,
    numbered_frames,
    with_edit,
    write_clip,
    write_sound,
    write_without_frames,
)

FRAMES = numbered_frames(150)
KINDS = {
    "short_groups.mp4": {"options": {"g": "10", "bf": "3"}},
    "tiny_groups.mp4": {"options": {"g": "2", "bf": "1"}},
    "open_groups.mp4": {"options": {"g": "15", "bf": "3", "x264-params": "open-gop=1"}},
    "open_groups.mkv": {"options": {"g": "15", "bf": "3", "x264-params": "open-gop=1"}},
    "one_group.mp4": {"options": {"g": "250", "bf": "3"}},
    "refreshed_bit_by_bit.mp4": {"options": {"g": "15", "bf": "0", "intra-refresh": "1"}},
    "fragments.mp4": {"options": {"g": "12", "bf": "2"}, "container": {"movflags": "frag_keyframe+empty_moov"}},
    "hevc.mp4": {"codec": "libx265", "options": {"x265-params": f"keyint=15:{X265_ALONE}"}},
    "hevc_leading.mp4": {
        "codec": "libx265",
        "options": {
            "x265-params": (f"keyint=15:min-keyint=15:open-gop=0:radl=3:bframes=3:b-adapt=0:scenecut=0:{X265_ALONE}")
        },
    },
    "vp9.webm": {"codec": "libvpx-vp9", "options": {"g": "15", "deadline": "realtime", "lag-in-frames": "16"}},
    "vp8.webm": {"codec": "libvpx", "options": {"g": "15"}},
    "mpeg4.mp4": {"codec": "mpeg4", "options": {"g": "12", "bf": "2"}},
    "mpeg4.avi": {"codec": "mpeg4", "options": {"g": "12", "bf": "2"}},
    "h264.avi": {"options": {"g": "12", "bf": "2"}},
    "intra_only.mov": {"codec": "prores_ks", "pixel_format": "yuv422p10le"},
    "moving.gif": {"codec": "gif", "pixel_format": "rgb8"},
}


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    """Writes each kind of clip once, when it is first asked for."""
    folder = tmp_path_factory.mktemp("clips")

    def clip(name):
        path = folder / name
        return path if path.exists() else write_clip(path, FRAMES, **KINDS[name])

    return clip


def pixels_of(path, indices):
    """Pixels by index, and how many pictures were decoded for them."""
    with Video(path) as video:
        frames = {frame.index: frame.pixels for _, frame in video.frames([FrameRequest(frozenset(indices))])}
        return frames, video.decoded_pictures


def declined(path):
    """Why a file is not read: on opening, or on reading its frames."""
    with pytest.raises(VideoError) as raised, Video(path) as video:
        list(video.frames([FrameRequest(frozenset(range(video.timeline.frame_count)))]))
    assert str(raised.value).startswith(f"{Path(path).name}: ")
    return raised.value.reason


# Seeking


@pytest.mark.parametrize("name", KINDS)
def test_any_choice_of_frames_gives_the_pixels_of_reading_in_order(clips, name):
    path = clips(name)
    in_order, _ = pixels_of(path, range(150))
    assert list(in_order) == list(range(150))
    for seed in range(8):
        chosen = np.random.default_rng(seed).choice(150, 1 + seed // 2, replace=False).tolist()
        some, _ = pixels_of(path, chosen)
        assert list(some) == sorted(chosen)
        for index, pixels in some.items():
            np.testing.assert_array_equal(pixels, in_order[index])


@pytest.mark.parametrize("name", ["short_groups.mp4", "hevc.mp4", "hevc_leading.mp4", "vp9.webm", "mpeg4.mp4"])
def test_frames_far_apart_are_reached_by_seeking(clips, name):
    _, decoded = pixels_of(clips(name), [0, 75, 149])
    assert decoded <= 60


@pytest.mark.parametrize("name", ["one_group.mp4", "h264.avi", "moving.gif"])
def test_without_keyframes_to_start_from_every_picture_is_decoded_once(clips, name):
    _, decoded = pixels_of(clips(name), [0, 75, 149])
    assert decoded == 150


def test_frames_close_together_are_not_sought(clips):
    _, decoded = pixels_of(clips("short_groups.mp4"), range(0, 150, 20))
    assert decoded == 141


def test_a_seek_that_leads_astray_costs_no_more_than_starting_again(clips):
    _, decoded = pixels_of(clips("refreshed_bit_by_bit.mp4"), [0, 149])
    assert 150 < decoded <= 1 + 15 + 150


def test_a_file_that_calls_every_frame_a_keyframe_is_not_believed(tmp_path):
    path = write_clip(tmp_path / "honest.mp4", FRAMES, codec="mpeg4", options={"g": "250"})
    with av.open(path) as file, av.open(tmp_path / "boasting.mp4", "w") as boasting:
        stream = boasting.add_stream_from_template(file.streams.video[0])
        for packet in file.demux(video=0):
            if packet.size:
                packet.stream, packet.is_keyframe = stream, True
                boasting.mux(packet)
    honest, _ = pixels_of(path, [0, 75, 149])
    believed, _ = pixels_of(tmp_path / "boasting.mp4", [0, 75, 149])
    for index, pixels in honest.items():
        np.testing.assert_array_equal(believed[index], pixels)


def test_frames_of_an_avi_come_in_the_order_of_showing(tmp_path):
    path = write_clip(
        tmp_path / "b.avi", FRAMES[:30], codec="libx264rgb", pixel_format="rgb24", options={"qp": "0", "bf": "3"}
    )
    shown, _ = pixels_of(path, range(30))
    for index, pixels in shown.items():
        np.testing.assert_array_equal(pixels, FRAMES[index])


# Edit lists


@pytest.mark.parametrize(
    ("skipped", "milliseconds", "shown"), [(0, 1000, range(16)), (5, 2000, range(5, 32)), (5, 1000, range(5, 21))]
)
def test_an_edit_list_shows_only_its_part(tmp_path, skipped, milliseconds, shown):
    options = {"g": "8", "bf": "2", "qp": "0"}
    path = write_clip(tmp_path / "c.mp4", FRAMES[:32], codec="libx264rgb", pixel_format="rgb24", options=options)
    ticks = skipped * 16384 // 16
    frames, _ = pixels_of(with_edit(path, skip_ticks=ticks, milliseconds=milliseconds), range(len(shown)))
    for pixels, original in zip(frames.values(), shown, strict=True):
        np.testing.assert_array_equal(pixels, FRAMES[original])


def test_a_seek_in_an_edited_file_finds_the_frames_of_the_edit(tmp_path):
    options = {"g": "10", "bf": "2", "qp": "0"}
    path = write_clip(tmp_path / "c.mp4", FRAMES, codec="libx264rgb", pixel_format="rgb24", options=options)
    frames, decoded = pixels_of(with_edit(path, skip_ticks=5 * 1024, milliseconds=8000), [0, 100])
    np.testing.assert_array_equal(frames[0], FRAMES[5])
    np.testing.assert_array_equal(frames[100], FRAMES[105])
    assert decoded < 40


# Files that are not a video


def test_a_missing_file_is_missing(tmp_path):
    assert declined(tmp_path / "none.mp4") is Reason.MISSING_VIDEO
    (tmp_path / "nowhere.mp4").symlink_to(tmp_path / "gone")
    assert declined(tmp_path / "nowhere.mp4") is Reason.MISSING_VIDEO


def test_an_empty_file_is_empty(tmp_path):
    (tmp_path / "empty.mp4").touch()
    assert declined(tmp_path / "empty.mp4") is Reason.EMPTY_FILE


def test_a_folder_is_not_a_video(tmp_path):
    assert declined(tmp_path) is Reason.NOT_A_VIDEO


def test_a_pipe_is_not_a_video_and_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.mp4")
    assert declined(tmp_path / "pipe.mp4") is Reason.NOT_A_VIDEO


@pytest.mark.parametrize("name", ["story.txt", "story.mp4", "story.srt", "story.gif"])
@pytest.mark.parametrize("text", ["Once upon a time\n" * 100, "x", "1\n00:00:00,000 --> 00:00:01,000\nhello\n"])
def test_text_is_not_a_video(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert declined(tmp_path / name) is Reason.NOT_A_VIDEO


@pytest.mark.parametrize("codec", ["png", "mjpeg"])
def test_a_picture_is_not_a_video(tmp_path, codec):
    encoder = av.CodecContext.create(codec, "w")
    encoder.width, encoder.height, encoder.time_base = 64, 48, Fraction(1, 16)
    encoder.pix_fmt = {"png": "rgb24", "mjpeg": "yuvj420p"}[codec]
    picture = av.VideoFrame.from_ndarray(FRAMES[0], format="rgb24").reformat(format=encoder.pix_fmt)
    (tmp_path / "picture.mp4").write_bytes(b"".join(bytes(packet) for packet in encoder.encode(picture)))
    assert declined(tmp_path / "picture.mp4") is Reason.NOT_A_VIDEO


@pytest.mark.parametrize("seed", range(8))
def test_random_bytes_are_not_a_video(tmp_path, seed):
    (tmp_path / "noise.mp4").write_bytes(np.random.default_rng(seed).bytes(20_000))
    assert declined(tmp_path / "noise.mp4") is Reason.NOT_A_VIDEO


PLAYLISTS = {
    "list.m3u8": "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n{clip}\n#EXT-X-ENDLIST\n",
    "list.ffconcat": "ffconcat version 1.0\nfile '{clip}'\n",
    "list.sdp": "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\n",
}


@pytest.mark.parametrize("name", PLAYLISTS)
@pytest.mark.parametrize("disguise", ["", ".mp4"])
def test_a_playlist_is_not_followed(clips, tmp_path, name, disguise):
    target = clips("one_group.mp4")
    (tmp_path / "clip.mp4").symlink_to(target)
    (tmp_path / (name + disguise)).write_text(PLAYLISTS[name].format(clip="clip.mp4"))
    assert declined(tmp_path / (name + disguise)) is Reason.NOT_A_VIDEO


@pytest.mark.parametrize("name", ["clip.ts", "clip.flv", "clip.h264"])
def test_containers_that_hide_a_missing_end_are_declined(tmp_path, name):
    assert declined(write_clip(tmp_path / name, FRAMES[:5])) is Reason.NOT_A_VIDEO


@pytest.mark.parametrize("name", ["sound.mp4", "sound.mkv"])
def test_sound_without_pictures_is_told_apart(tmp_path, name):
    assert declined(write_sound(tmp_path / name)) is Reason.AUDIO_ONLY


def test_a_cover_is_not_a_video(tmp_path):
    path = write_sound(tmp_path / "song.mp4", cover=FRAMES[0])
    with av.open(path) as file:
        assert len(file.streams.video) == 1
    assert declined(path) is Reason.AUDIO_ONLY


@pytest.mark.parametrize("name", ["none.mp4", "none.mkv", "none.avi", "none.mov"])
def test_a_stream_without_frames_has_no_frames(tmp_path, name):
    assert declined(write_without_frames(tmp_path / name)) is Reason.NO_FRAMES


def test_a_picture_of_no_size_is_told_apart(tmp_path):
    path = write_clip(tmp_path / "raw.avi", FRAMES[:3], codec="rawvideo", pixel_format="bgr24")
    data = bytearray(path.read_bytes())
    start = data.index(b"strf") + 12
    assert struct.unpack("<ii", data[start : start + 8]) == (64, -48)
    data[start : start + 8] = bytes(8)
    path.write_bytes(data)
    assert declined(path) is Reason.ZERO_SIZE


@pytest.mark.parametrize("name", ["short_groups.mp4", "vp8.webm"])
def test_a_picture_beyond_all_sizes_is_refused(monkeypatch, clips, name):
    path = clips(name)
    monkeypatch.setattr(decoding, "MAX_PIXELS", 64 * 48 - 1)
    assert declined(path) is Reason.ZERO_SIZE


@pytest.mark.parametrize(
    ("width", "height"), [(8192, 2), (2, 8192), (65000, 1), (1, 65000), (16386, 300), (64, 65 * 64)]
)
def test_a_strip_is_refused_before_it_is_scaled(tmp_path, width, height):
    picture = np.zeros((height, width, 3), np.uint8)
    path = write_clip(tmp_path / "strip.avi", [picture], codec="rawvideo", pixel_format="bgr24")
    assert declined(path) is Reason.UNDECODABLE


@pytest.mark.parametrize(("width", "height"), [(640, 10), (10, 640), (16384, 256)])
def test_a_wide_picture_up_to_the_limit_is_read(tmp_path, width, height):
    picture = np.zeros((height, width, 3), np.uint8)
    path = write_clip(tmp_path / "wide.avi", [picture], codec="rawvideo", pixel_format="bgr24")
    assert probe(path).width == width


def test_an_unknown_codec_is_undecodable(tmp_path):
    path = write_clip(tmp_path / "odd.mkv", FRAMES[:3])
    path.write_bytes(path.read_bytes().replace(b"V_MPEG4/ISO/AVC", b"V_NONESUCH/OF/X"))
    assert declined(path) is Reason.UNDECODABLE


def test_a_size_that_changes_on_the_way_is_undecodable(tmp_path):
    """Two encoders write into one Matroska stream, as a careless concatenation does."""
    path = tmp_path / "two_sizes.mkv"
    small, large = (
        write_clip(tmp_path / f"{width}.avi", numbered_frames(4, width=width), codec="mpeg4") for width in (64, 96)
    )
    with av.open(path, "w") as file, av.open(small) as first, av.open(large) as second:
        stream = file.add_stream_from_template(first.streams.video[0])
        for number, packet in enumerate(p for source in (first, second) for p in source.demux() if p.size):
            packet.stream, packet.pts, packet.dts = stream, number, number
            file.mux(packet)
    assert declined(path) is Reason.UNDECODABLE


# Damage


def textured_frames(count):
    """Larger frames with grain, so that most bytes of the file are picture."""
    grain = np.random.default_rng(0).normal(0, 4, (240, 320, 3))
    return [np.clip(frame + grain, 0, 255).astype(np.uint8) for frame in numbered_frames(count, width=320, height=240)]


def packets_of(path):
    """Position and size of every packet, in the order in which they are stored."""
    with av.open(path) as file:
        return [(packet.pos, packet.size) for packet in file.demux(video=0) if packet.size]


def plainly_decoded(path):
    """What FFmpeg makes of a file when nobody asks questions: whether each picture is flagged, and its pixels."""
    with av.open(path) as file:
        file.streams.video[0].codec_context.thread_count = 1
        return [(picture.is_corrupt, picture.to_ndarray(format="rgb24")) for picture in file.decode(video=0)]


def damaged_copies(path, count, seed):
    """Copies with one bit turned, or with 16 or 512 bytes of noise, somewhere in the pictures."""
    data = path.read_bytes()
    start = data.index(b"mdat") + 4 if b"mdat" in data else len(data) // 10
    random = np.random.default_rng(seed)
    for number in range(count):
        copy = bytearray(data)
        length = (1, 16, 512)[number % 3]
        at = int(random.integers(start, min(start + len(data) // 2, len(data) - length)))
        copy[at : at + length] = bytes([copy[at] ^ 0x10]) if length == 1 else random.bytes(length)
        target = path.with_name(f"damaged_{number}{path.suffix}")
        target.write_bytes(copy)
        yield target


def outcome(path, whole):
    """`declined`, `same` as the whole file as far as it was read, or `different`."""
    try:
        with Video(path) as video:
            for _, frame in video.frames([FrameRequest(frozenset(range(video.timeline.frame_count)))]):
                if frame.index >= len(whole) or not np.array_equal(frame.pixels, whole[frame.index]):
                    return "different"
    except VideoError:
        return "declined"
    return "same"


@pytest.mark.parametrize(
    ("name", "settings", "max_unseen"),
    [
        ("h264.mp4", {"options": {"crf": "18"}}, 0.45),
        ("mpeg4.mp4", {"codec": "mpeg4", "options": {"b": "2000000"}}, 0.3),
        ("hashed.mp4", {"codec": "libx265", "options": {"x265-params": f"hash=1:{X265_ALONE}"}}, 0.0),
        ("png.mov", {"codec": "png", "pixel_format": "rgb24"}, 0.0),
    ],
)
def test_damage_is_reported_and_not_papered_over(tmp_path, name, settings, max_unseen):
    # A turned bit can be valid code for another picture, which no decoder can tell; what decoders do tell must count.
    path = write_clip(tmp_path / name, textured_frames(24), **settings)
    whole, _ = pixels_of(path, range(24))
    outcomes = [outcome(copy, whole) for copy in damaged_copies(path, 24, seed=1)]
    assert outcomes.count("declined") > 12
    assert outcomes.count("different") <= max_unseen * len(outcomes)


THREE_BETWEEN = {"g": "250", "bf": "3", "b_strategy": "0", "x264-params": "b-pyramid=none:scenecut=0"}
"""Stored are the first picture, then the fifth, then the three between, which are made from both, and so on."""


def test_neither_a_concealed_picture_nor_one_made_from_it_is_handed_out(tmp_path):
    path = write_clip(tmp_path / "clip.mp4", textured_frames(24), options=THREE_BETWEEN)
    whole = plainly_decoded(path)
    position, size = packets_of(path)[1]
    concealed = path.with_name("concealed.mp4")
    for seed in range(50):
        data = bytearray(path.read_bytes())
        data[position + size // 2 : position + size // 2 + 64] = np.random.default_rng(seed).bytes(64)
        concealed.write_bytes(data)
        plain = plainly_decoded(concealed)
        if [index for index, (is_corrupt, _) in enumerate(plain) if is_corrupt] == [4]:
            break
    else:
        pytest.fail("FFmpeg conceals no damage of the fifth picture")
    assert not any(np.array_equal(plain[index][1], whole[index][1]) for index in (1, 2, 3, 4))
    for index in (1, 2, 3, 4, 5, 23):
        with pytest.raises(VideoError) as raised:
            pixels_of(concealed, [index])
        assert raised.value.reason is Reason.UNDECODABLE


def test_a_lost_picture_is_not_made_up_for_by_the_next(tmp_path):
    path = write_clip(tmp_path / "clip.webm", FRAMES[:20], codec="libvpx")
    with av.open(path) as file:
        packet = bytes([p for p in file.demux(video=0) if p.size][10])
    hidden = bytes([packet[0] & ~0x10]) + packet[1:]  # VP8's mark for a frame that is not shown
    path.write_bytes(path.read_bytes().replace(packet, hidden))
    assert [is_corrupt for is_corrupt, _ in plainly_decoded(path)] == [False] * 19
    assert declined(path) is Reason.UNDECODABLE


def test_frames_before_the_damage_are_still_read(tmp_path):
    path = write_clip(tmp_path / "clip.mov", FRAMES[:20], codec="png", pixel_format="rgb24")
    data = bytearray(path.read_bytes())
    data[packets_of(path)[10][0] + 60] ^= 0xFF
    path.write_bytes(data)
    frames, _ = pixels_of(path, range(10))
    np.testing.assert_array_equal(frames[9], FRAMES[9])
    assert declined(path) is Reason.UNDECODABLE


def test_a_frame_that_reaches_beyond_the_file_is_undecodable(tmp_path):
    path = write_clip(tmp_path / "clip.mp4", FRAMES[:5], container={"movflags": "faststart"})
    data = bytearray(path.read_bytes())
    last_size = data.index(b"stsz") + 16 + 4 * 4
    data[last_size : last_size + 4] = (1_000_000).to_bytes(4, "big")
    path.write_bytes(data)
    assert declined(path) is Reason.UNDECODABLE


@pytest.mark.parametrize(
    "name", ["short_groups.mp4", "hevc.mp4", "vp9.webm", "open_groups.mkv", "mpeg4.avi", "moving.gif"]
)
def test_damage_anywhere_ends_in_frames_or_in_a_typed_reason(clips, tmp_path, name):
    data = clips(name).read_bytes()
    random = np.random.default_rng(7)
    for _ in range(25):
        copy = bytearray(data)
        for at in random.integers(0, len(data), 3):
            copy[at] = random.integers(256)
        path = tmp_path / name
        path.write_bytes(copy)
        assert outcome(path, {}) in {"declined", "different"}


def test_a_raw_clip_of_two_frames_at_one_time_is_counted(tmp_path):
    path = write_clip(tmp_path / "fast.mkv", FRAMES[:8], fps=3000, **LOSSLESS)
    timeline = probe(path)
    assert timeline.frame_count == 8
    assert timeline.times_seconds == pytest.approx(np.arange(8) / 3000)
    frames, _ = pixels_of(path, range(8))
    for index, pixels in frames.items():
        np.testing.assert_array_equal(pixels, FRAMES[index])
