"""Pictures of what changed where the camera came back: first visit, return, and what differs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lookaway.core import Feature
from lookaway.io.files import write_whole
from lookaway.reports.case_page.questions import kept_feature
from lookaway.reports.case_page.videos import CaseVideo, CaseVideos

MAX_PICTURES: Final = 24
"""The most pictures on one page."""
MAX_BYTES: Final = 2_000_000
JPEG: Final = b"\xff\xd8\xff"


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


def change_pictures(case: CaseVideos, output: Path) -> list[ChangePicture]:
    """The pair of each video in which most changed, those with most change first; pictures are written as files."""
    found = [picture for video in case.videos if (picture := _picture(video, output)) is not None]
    return sorted(found, key=lambda picture: -picture.changed_area)[:MAX_PICTURES]


def _picture(video: CaseVideo, output: Path) -> ChangePicture | None:
    run = video.outcomes[0].run if video.outcomes else None
    kept = run and kept_feature(run, video.rollout, "changes")
    if not kept or not {"pictures", "offsets", "pairs", "changed_area"} <= kept[1].arrays.keys():
        return None
    feature = kept[1]
    worst = int(feature["changed_area"].argmax())
    content = _content(feature, worst)
    if not content.startswith(JPEG) or len(content) > MAX_BYTES:  # the store of a received run may hold anything
        return None
    href = f"assets/changes/{hashlib.sha256(content).hexdigest()[:20]}.jpg"
    write_whole(output / href, lambda file: file.write(content), is_durable=False)
    first, second = (int(frame) for frame in feature["pairs"][worst])
    return ChangePicture(
        video=video,
        href=href,
        frames=(first, second),
        jumps=tuple((frame, at) for frame in (first, second) if (at := video.seconds(frame)) is not None),
        changed_area=float(feature["changed_area"][worst]),
    )


def _content(feature: Feature, number: int) -> bytes:
    start, stop = (int(place) for place in feature["offsets"][number : number + 2])
    return feature["pictures"][start:stop].tobytes()
