"""Videos of a site: reused where browsers play them, encoded anew where not, and explained where there is nothing."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from lookaway.core import FrameRequest, Reason, Timeline
from lookaway.io.video import Video, probe
from lookaway.reports.site.media import PlayableClip, SiteMedia, is_playable
from lookaway.reports.site.stills import FRAMES, MAX_BYTES, Placeholder, filmstrip, frame_times, strip_frames
from tests.support.clips import write_clip
from tests.support.filmed import write_numbers


def noise(count: int, height: int = 48, width: int = 64, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 255, (height, width, 3), np.uint8) for _ in range(count)]


def shown(root: Path, video: Path) -> PlayableClip:
    found = SiteMedia(root / "site").show(video)
    assert isinstance(found, PlayableClip)
    return found


def test_a_video_that_browsers_play_is_copied_so_that_the_site_can_be_edited(tmp_path: Path) -> None:
    video = write_numbers(tmp_path / "a.mp4")
    before = video.read_bytes()
    clip = shown(tmp_path, video)
    copied = tmp_path / "site" / clip.href
    assert not clip.is_proxy
    assert copied.read_bytes() == before
    copied.write_bytes(b"edited")
    assert video.read_bytes() == before
    assert (clip.frame_count, clip.seconds, clip.width, clip.height) == (16, 2.0, 64, 48)


def test_a_linked_name_leads_to_the_file_behind_a_symbolic_link(tmp_path: Path) -> None:
    video = write_numbers(tmp_path / "a.mp4")
    (tmp_path / "link.mp4").symlink_to(video)
    copied = tmp_path / "site" / shown(tmp_path, tmp_path / "link.mp4").href
    assert copied.read_bytes() == video.read_bytes()
    assert not copied.is_symlink()
    assert not os.path.samefile(video, copied)


def test_two_files_of_one_content_are_one_asset_and_a_second_build_changes_nothing(tmp_path: Path) -> None:
    first, second = write_numbers(tmp_path / "a.mp4"), write_numbers(tmp_path / "b.mp4")
    assert shown(tmp_path, first) == shown(tmp_path, second)
    before = {path.name: path.read_bytes() for path in (tmp_path / "site/assets").iterdir()}
    assert len(before) == 2
    assert shown(tmp_path, first) == shown(tmp_path, second)
    assert {path.name: path.read_bytes() for path in (tmp_path / "site/assets").iterdir()} == before


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("full_colour.mp4", {"pixel_format": "yuv444p"}),
        ("rgb.mp4", {"codec": "libx264rgb", "pixel_format": "rgb24", "options": {"qp": "0"}}),
        ("other_codec.mp4", {"codec": "mpeg4"}),
        ("other_container.mkv", {}),
        ("moving.gif", {"codec": "gif", "pixel_format": "rgb8"}),
    ],
)
def test_what_browsers_may_not_play_becomes_a_proxy_that_they_do(tmp_path: Path, name: str, settings: dict) -> None:
    video = write_clip(tmp_path / name, noise(6), fps=10, **settings)
    clip = shown(tmp_path, video)
    proxy = tmp_path / "site" / clip.href
    assert clip.is_proxy
    assert is_playable(proxy)
    assert not is_playable(video)
    assert probe(proxy).frame_count == clip.frame_count == 6


def test_a_proxy_shows_every_frame_when_the_original_does(tmp_path: Path) -> None:
    grey = [np.full((46, 62, 3), value, np.uint8) for value in (10, 60, 110, 160, 210)]
    times = [0.0, 0.1, 0.35, 0.4, 0.9]
    video = write_clip(tmp_path / "uneven.mkv", grey, times=times)
    clip = shown(tmp_path, video)
    with Video(tmp_path / "site" / clip.href) as proxy:
        timeline = proxy.timeline
        every = FrameRequest(indices=frozenset(range(timeline.frame_count)))
        values = {frame.index: float(frame.pixels.mean()) for _, frame in proxy.frames([every])}
    for index, value in enumerate((10, 60, 110, 160, 210)):
        middle = (clip.times[index] + clip.times[index + 1]) / 2
        at = int(np.searchsorted(timeline.times_seconds, middle, side="right")) - 1
        assert values[at] == pytest.approx(value, abs=6), index


def test_a_proxy_of_odd_sides_is_padded_and_a_large_one_made_smaller(tmp_path: Path) -> None:
    odd = shown(tmp_path, write_clip(tmp_path / "odd.mp4", noise(2, 47, 63), pixel_format="yuv444p"))
    large = shown(tmp_path, write_clip(tmp_path / "large.mkv", noise(2, 960, 640)))
    sizes = [(t.width, t.height) for t in (probe(tmp_path / "site" / clip.href) for clip in (odd, large))]
    assert sizes == [(64, 48), (320, 480)]
    assert (large.width, large.height) == (640, 960)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, Reason.MISSING_VIDEO), (b"", Reason.EMPTY_FILE), (b"a text, no video", Reason.NOT_A_VIDEO)],
)
def test_what_is_no_video_becomes_a_placeholder_with_its_reason(
    tmp_path: Path, content: bytes | None, reason: Reason
) -> None:
    if content is not None:
        (tmp_path / "a.mp4").write_bytes(content)
    found = SiteMedia(tmp_path / "site").show(tmp_path / "a.mp4")
    assert isinstance(found, Placeholder)
    assert found.reason is reason
    assert str(tmp_path) not in found.message


def test_a_video_that_breaks_off_becomes_a_placeholder_and_leaves_nothing(tmp_path: Path) -> None:
    video = write_numbers(tmp_path / "a.mp4")
    video.write_bytes(video.read_bytes()[:-200])
    found = SiteMedia(tmp_path / "site").show(video)
    assert isinstance(found, Placeholder)
    assert found.reason in (Reason.TRUNCATED, Reason.UNDECODABLE)
    assert not (tmp_path / "site/assets").exists()


def test_preparing_many_gives_what_showing_each_gives(tmp_path: Path) -> None:
    videos = [write_numbers(tmp_path / f"{n}.mp4", count=4 + n) for n in range(4)] + [tmp_path / "none.mp4"]
    together, alone = SiteMedia(tmp_path / "site"), SiteMedia(tmp_path / "site")
    together.prepare([*videos, videos[0]])
    assert [together.show(video) for video in videos] == [alone.show(video) for video in videos]


def test_a_folder_is_no_video(tmp_path: Path) -> None:
    assert SiteMedia(tmp_path / "site").show(tmp_path) == Placeholder(
        Reason.NOT_A_VIDEO, f"{tmp_path.name}: not a regular file, nor a folder of PNG or JPEG pictures."
    )


@pytest.mark.parametrize("cut", [0, 4, 11, 40, 400])
def test_a_header_that_ends_early_is_not_playable(tmp_path: Path, cut: int) -> None:
    whole = write_numbers(tmp_path / "a.mp4").read_bytes()
    (tmp_path / "b.mp4").write_bytes(whole[:cut])
    assert not is_playable(tmp_path / "b.mp4")


def test_the_strip_of_any_video_is_small_and_has_eight_frames(tmp_path: Path) -> None:
    for name, frames in (("busy", noise(9, 360, 640)), ("one", noise(1)), ("wide", noise(2, 32, 2000))):
        with Video(write_clip(tmp_path / f"{name}.mp4", frames)) as video:
            strip = filmstrip(video)
        assert 0 < len(strip) <= MAX_BYTES, name


def test_a_strip_goes_from_the_first_frame_to_the_last() -> None:
    for count in (1, 2, 7, 8, 9, 1000):
        frames = strip_frames(count)
        assert (len(frames), frames[0], frames[-1]) == (FRAMES, 0, count - 1)
        assert frames == sorted(frames)


def test_times_start_at_zero_and_say_when_the_last_frame_ends() -> None:
    uneven = Timeline(times_seconds=np.array([5.0, 5.1, 5.4]), width=1, height=1)
    assert frame_times(uneven) == (0.0, 0.1, 0.4, 0.6)
    assert frame_times(Timeline(times_seconds=np.array([3.0]), width=1, height=1)) == (0.0, 0.04)
