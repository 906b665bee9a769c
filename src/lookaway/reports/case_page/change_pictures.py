"""Pictures of what changed where the camera came back: first visit, return, and what differs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lookaway.io.files import write_whole
from lookaway.reports.case_page.change_overlay import change_overlay
from lookaway.reports.case_page.videos import CaseVideo, CaseVideos
from lookaway.reports.pair_pictures import flagged_by, pair_pictures

MAX_PICTURES: Final = 24
"""The most pictures on one page; the others are linked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePicture:
    """One pair of frames of one video."""

    video: CaseVideo
    href: str
    frames: tuple[int, int]
    """First visit and return."""
    jumps: tuple[tuple[int, float], ...]
    """The same frames with their seconds, where the video can be played."""
    changed_area: float
    """Per cent of the revisited view."""
    overlay: str | None
    """What changed, to be laid over the video at the return; `None` where it cannot be made."""

    @property
    def seconds(self) -> float | None:
        """When the return is, where the video can be played."""
        return self.video.seconds(self.frames[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePictures:
    """The pictures of a case."""

    shown: tuple[ChangePicture, ...]
    linked: tuple[ChangePicture, ...]

    @property
    def overlays(self) -> dict[str, ChangePicture]:
        """Those that can be laid over a player, by the video's id."""
        found = (*self.shown, *self.linked)
        return {one.video.key: one for one in found if one.overlay and one.seconds is not None}

    def links(self) -> dict[str, str]:
        """Where the picture of each video is, by the video's id: a place in the page, or a file of the site."""
        here = {picture.video.key: f"#changes-{picture.video.key}" for picture in self.shown}
        return here | {picture.video.key: picture.href for picture in self.linked}


def change_pictures(case: CaseVideos, output: Path) -> ChangePictures:
    """The pair of each video in which most changed, flagged videos first; pictures are written as files."""
    found = [picture for video in case.videos if (picture := _picture(video, output)) is not None]
    found.sort(key=lambda picture: (-len(flags(picture.video)), -picture.changed_area))
    return ChangePictures(shown=tuple(found[:MAX_PICTURES]), linked=tuple(found[MAX_PICTURES:]))


def flags(video: CaseVideo) -> frozenset[tuple[str, str]]:
    """Runs and metrics whose values of this video are flagged."""
    return frozenset(
        (outcome.run.name, metric)
        for outcome in video.outcomes
        for metric in flagged_by(outcome.metric.name, outcome.detail)
    )


def write_picture(picture: bytes, output: Path, suffix: str = ".jpg") -> str:
    """Write a picture once, named by its content; returns its address in the site."""
    href = f"assets/changes/{hashlib.sha256(picture).hexdigest()[:20]}{suffix}"
    write_whole(output / href, lambda file: file.write(picture), is_durable=False)
    return href


def _picture(video: CaseVideo, output: Path) -> ChangePicture | None:
    runs = {outcome.run.name: outcome.run for outcome in video.outcomes}.values()
    worst = next((found[0] for run in runs if (found := pair_pictures(run, video.rollout))), None)
    if worst is None:
        return None
    href, overlay = write_picture(worst.jpeg, output), change_overlay(worst.jpeg)
    return ChangePicture(
        video=video,
        href=href,
        frames=worst.frames,
        jumps=tuple((frame, at) for frame in worst.frames if (at := video.seconds(frame)) is not None),
        changed_area=worst.changed_area,
        overlay=write_picture(overlay, output, ".png") if overlay else None,
    )
