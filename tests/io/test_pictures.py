import av
import numpy as np
import pytest
from av.video.reformatter import ColorRange

from lookaway.core import FrameRequest, Reason, VideoError
from lookaway.io.video import Video
from tests.support.clips import LOSSLESS, X265_ALONE, numbered_frames, with_display_matrix, write_clip

COLOURS = [
    (255, 0, 0),
    (0, 255, 0),
    (0, 0, 255),
    (200, 30, 90),
    (12, 240, 128),
    (255, 255, 255),
    (0, 0, 0),
    (90, 90, 90),
]
BT709, BT601, BT2020 = 1, 5, 9
LIMITED, FULL = int(ColorRange.MPEG), int(ColorRange.JPEG)


def flat(colour, width=64, height=48):
    return np.full((height, width, len(colour)), colour, np.uint8)


def read(path, height=None):
    with Video(path) as video:
        every = FrameRequest(frozenset(range(video.timeline.frame_count)), height)
        return [frame.pixels for _, frame in video.frames([every])]


def declined(path):
    with pytest.raises(VideoError) as raised:
        read(path)
    return raised.value.reason


def furthest(read_pixels, encoded):
    return max(np.abs(a.astype(int) - b).max() for a, b in zip(read_pixels, encoded, strict=True))


# Colour


def stored_values(rgb, red, blue, is_full):
    """Y, Cb and Cr of a colour by definition of the standards, given the weights of red and blue."""
    r, g, b = (channel / 255 for channel in rgb)
    y = red * r + (1 - red - blue) * g + blue * b
    chroma = (b - y) / (2 * (1 - blue)), (r - y) / (2 * (1 - red))
    if is_full:
        return [255 * y, *(128 + 255 * c for c in chroma)]
    return [16 + 219 * y, *(128 + 224 * c for c in chroma)]


def filled(pixel_format, values):
    picture = av.VideoFrame(64, 48, pixel_format)
    for plane, value in zip(picture.planes, values, strict=True):
        plane.update(bytes([min(255, round(value))]) * plane.buffer_size)
    return picture


@pytest.mark.parametrize("pixel_format", ["yuv420p", "yuv444p"])
@pytest.mark.parametrize(
    ("colour", "red", "blue"),
    [
        ({"colorspace": BT709, "color_range": LIMITED}, 0.2126, 0.0722),
        ({"colorspace": BT709, "color_range": FULL}, 0.2126, 0.0722),
        ({"colorspace": BT601, "color_range": LIMITED}, 0.299, 0.114),
        ({"colorspace": BT601, "color_range": FULL}, 0.299, 0.114),
        ({"colorspace": BT2020, "color_range": LIMITED}, 0.2627, 0.0593),
        ({}, 0.299, 0.114),
    ],
)
def test_colours_come_back_as_their_tags_say(tmp_path, pixel_format, colour, red, blue):
    is_full = colour.get("color_range") == FULL
    # The planes are filled as computed, so that the test does not rest on the converter it is about.
    pictures = [filled(pixel_format, stored_values(rgb, red, blue, is_full)) for rgb in COLOURS]
    path = write_clip(tmp_path / "c.mp4", pictures, pixel_format=pixel_format, options={"qp": "0"}, colour=colour)
    assert furthest(read(path), [flat(rgb) for rgb in COLOURS]) <= 2
    assert furthest(read(path, height=20), [flat(rgb, 27, 20) for rgb in COLOURS]) <= 2


def test_brightness_does_not_depend_on_whether_the_width_is_even(tmp_path):
    path = write_clip(tmp_path / "c.mp4", [flat(colour, 128, 96) for colour in COLOURS], options={"qp": "0"})
    even, odd = read(path, height=48), read(path, height=47)
    assert even[0].shape[1] % 2 == 0
    assert odd[0].shape[1] % 2 == 1
    assert max(np.abs(a[20, 20].astype(int) - b[20, 20]).max() for a, b in zip(even, odd, strict=True)) <= 1


# Formats


@pytest.mark.parametrize(
    ("name", "settings", "tolerance"),
    [
        ("rgb.mp4", LOSSLESS, 0),
        ("ffv1.mkv", {"codec": "ffv1", "pixel_format": "bgr0"}, 0),
        ("png.mov", {"codec": "png", "pixel_format": "rgb24"}, 0),
        ("opaque.mov", {"codec": "png", "pixel_format": "rgba"}, 0),
        ("opaque_rle.mov", {"codec": "qtrle", "pixel_format": "argb"}, 0),
        ("raw.avi", {"codec": "rawvideo", "pixel_format": "bgr24"}, 0),
        ("444.mp4", {"pixel_format": "yuv444p", "options": {"qp": "0"}}, 3),
        ("ten_bits_444.mkv", {"codec": "ffv1", "pixel_format": "yuv444p10le"}, 1),
    ],
)
@pytest.mark.parametrize(("width", "height"), [(64, 48), (101, 75)])
def test_texture_survives_in_every_format_that_keeps_it(tmp_path, name, settings, tolerance, width, height):
    frames = numbered_frames(3, width=width, height=height)
    pixels = read(write_clip(tmp_path / name, frames, **settings))
    assert pixels[0].shape == (height, width, 3)
    assert furthest(pixels, frames) <= tolerance


X265 = {"codec": "libx265", "options": {"x265-params": f"lossless=1:{X265_ALONE}"}}
VP9 = {"codec": "libvpx-vp9", "options": {"lossless": "1", "deadline": "realtime"}}


@pytest.mark.parametrize(
    ("width", "height", "settings"),
    [
        (64, 48, {"pixel_format": "yuv420p", "options": {"qp": "0"}}),
        (64, 48, {"pixel_format": "yuv420p10le", "options": {"qp": "0"}}),
        (64, 48, {"pixel_format": "yuv420p10le", **X265}),
        (64, 48, {"pixel_format": "yuv422p10le", "codec": "prores_ks"}),
        (101, 75, {"pixel_format": "yuv420p", **VP9}),
        (101, 75, {"pixel_format": "yuv420p", "codec": "ffv1"}),
        (101, 75, {"pixel_format": "yuv420p10le", "codec": "ffv1"}),
        (101, 75, {"pixel_format": "yuv422p10le", "codec": "prores_ks"}),
    ],
)
def test_flat_colours_survive_with_reduced_chroma_and_ten_bits(tmp_path, width, height, settings):
    frames = [flat(colour, width, height) for colour in COLOURS]
    pixels = read(write_clip(tmp_path / "clip.mkv", frames, **settings))
    assert pixels[0].shape == (height, width, 3)
    assert furthest(pixels, frames) <= 3


@pytest.mark.parametrize("pixel_format", ["gray", "gray10le", "gray16le"])
def test_grey_uses_the_full_range(tmp_path, pixel_format):
    frames = [flat((level,) * 3) for level in (0, 16, 128, 235, 255)]
    pixels = read(write_clip(tmp_path / "grey.mkv", frames, codec="ffv1", pixel_format=pixel_format))
    assert furthest(pixels, frames) <= 1
    assert all((frame == frame[..., :1]).all() for frame in pixels)


def test_grey_in_h264_is_limited_unless_tagged_otherwise(tmp_path):
    levels = (16, 126, 235)
    for colour, shown in (({}, (0, 128, 255)), ({"color_range": FULL}, levels)):
        frames = [flat((level,) * 3) for level in levels]  # the converter stores grey levels as they are
        path = write_clip(tmp_path / "grey.mp4", frames, pixel_format="gray", options={"qp": "0"}, colour=colour)
        assert furthest(read(path), [flat((level,) * 3) for level in shown]) <= 1


def test_a_gif_keeps_the_colours_of_its_palette(tmp_path):
    frames = [flat(colour) for colour in [(255, 0, 0), (0, 255, 0), (0, 0, 0), (255, 255, 255)]]
    path = write_clip(tmp_path / "clip.gif", frames, codec="gif", pixel_format="rgb8")
    assert furthest(read(path), frames) <= 3


@pytest.mark.parametrize(("name", "codec"), [("clip.mov", "png"), ("clip.mkv", "ffv1")])
def test_transparent_pictures_are_declined(tmp_path, name, codec):
    clear = flat((200, 30, 90, 255))
    clear[10:20, 10:20, 3] = 128
    pixel_format = {"png": "rgba", "ffv1": "yuva420p"}[codec]
    assert declined(write_clip(tmp_path / name, [clear], codec=codec, pixel_format=pixel_format)) is Reason.UNDECODABLE


def test_the_picture_is_whole_at_its_edges(tmp_path):
    frame = np.zeros((75, 101, 3), np.uint8)
    frame[0], frame[-1], frame[:, 0], frame[:, -1] = 255, 255, 255, 255
    for settings in (LOSSLESS, {"pixel_format": "yuv444p", "options": {"qp": "0"}}):
        pixels = read(write_clip(tmp_path / "edges.mp4", [frame], **settings))[0]
        assert furthest([pixels], [frame]) <= 3


# Orientation


def shown(stored, matrix):
    """Where every stored pixel goes, by definition: the centre (p, q) moves to (a p + c q, b p + d q), y downwards."""
    a, b, c, d = matrix
    q, p = np.indices(stored.shape[:2]) + 0.5
    x, y = a * p + c * q, b * p + d * q
    columns, rows = (x - x.min()).round().astype(int), (y - y.min()).round().astype(int)
    picture = np.zeros((rows.max() + 1, columns.max() + 1, 3), np.uint8)
    picture[rows, columns] = stored
    return picture


UPRIGHT = (1, 0, 0, 1)
QUARTER_CLOCKWISE = (0, 1, -1, 0)
MATRICES = [
    UPRIGHT,
    QUARTER_CLOCKWISE,
    (-1, 0, 0, -1),
    (0, -1, 1, 0),
    (-1, 0, 0, 1),
    (1, 0, 0, -1),
    (0, 1, 1, 0),
    (0, -1, -1, 0),
]


@pytest.mark.parametrize("matrix", MATRICES)
def test_turned_and_mirrored_pictures_are_shown_as_the_file_asks(tmp_path, matrix):
    frames = numbered_frames(2)
    path = with_display_matrix(write_clip(tmp_path / "clip.mp4", frames, **LOSSLESS), matrix)
    with Video(path) as video:
        timeline = video.timeline
    expected = [shown(frame, matrix) for frame in frames]
    assert (timeline.height, timeline.width) == expected[0].shape[:2]
    pixels = read(path)
    assert furthest(pixels, expected) == 0
    assert pixels[0].flags.c_contiguous


def test_a_quarter_turn_clockwise_moves_the_top_edge_to_the_right(tmp_path):
    frame = np.zeros((48, 64, 3), np.uint8)
    frame[0] = 255
    path = with_display_matrix(write_clip(tmp_path / "clip.mp4", [frame], **LOSSLESS), QUARTER_CLOCKWISE)
    pixels = read(path)[0]
    assert pixels.shape == (64, 48, 3)
    assert (pixels[:, -1] == 255).all()
    assert (pixels[:, :-1] == 0).all()


def test_a_turned_picture_has_the_requested_upright_height(tmp_path):
    path = write_clip(tmp_path / "clip.mp4", numbered_frames(1), **LOSSLESS)
    assert read(with_display_matrix(path, QUARTER_CLOCKWISE), height=32)[0].shape == (32, 24, 3)


@pytest.mark.parametrize("matrix", [(0.7071, 0.7071, -0.7071, 0.7071), (2, 0, 0, 2), (1, 0.5, 0, 1), (0, 0, 0, 0)])
def test_what_no_exchange_of_pixels_can_show_is_declined(tmp_path, matrix):
    path = write_clip(tmp_path / "clip.mp4", numbered_frames(1), **LOSSLESS)
    assert declined(with_display_matrix(path, matrix)) is Reason.UNDECODABLE


def test_the_orientation_of_matroska_is_followed(tmp_path):
    frames = numbered_frames(1)
    path = write_clip(tmp_path / "clip.mkv", frames, turn_degrees=-90, **LOSSLESS)
    assert furthest(read(path), [shown(frames[0], QUARTER_CLOCKWISE)]) == 0
