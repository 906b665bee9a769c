"""Eight frames of every video, inside the page; what cannot be shown says why."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from lookaway.core import Reason, Timeline, Unmeasurable
from lookaway.io.video import Video
from lookaway.reports.site.data_uri import data_uri
from lookaway.reports.site.filmstrip import filmstrip

THREADS: Final = 2
USUAL_FRAME_SECONDS: Final = 0.04
"""How long a video of one frame is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Still:
    """A video of which a page shows a strip of frames."""

    strip: str
    """Eight of its frames: their place from the root of the site, or the picture itself."""
    times: tuple[float, ...]
    """When each frame begins, and when the last one ends."""
    width: int
    height: int

    @property
    def frame_count(self) -> int:
        """Frames of the original."""
        return len(self.times) - 1

    @property
    def seconds(self) -> float:
        """Until the last frame ends."""
        return self.times[-1]


@dataclass(frozen=True, slots=True)
class Placeholder:
    """Why there is nothing to show."""

    reason: Reason
    message: str


Shown: TypeAlias = Still | Placeholder


@dataclass(frozen=True, slots=True)
class Stills:
    """Videos as a page shows them that has no file beside it."""

    _known: dict[Path, Shown] = field(default_factory=dict, init=False)

    def prepare(self, videos: Iterable[Path]) -> None:
        """Get many videos ready at once: decoding leaves Python free to do the next one."""
        unknown = [video for video in dict.fromkeys(videos) if video not in self._known]
        with ThreadPoolExecutor(THREADS) as pool:
            self._known.update(zip(unknown, pool.map(self._shown, unknown), strict=True))

    def show(self, video: Path) -> Shown:
        """The video as pages show it; what cannot be read becomes a placeholder that says why."""
        if video not in self._known:
            self._known[video] = self._shown(video)
        return self._known[video]

    def _shown(self, path: Path) -> Shown:
        try:
            with Video(path) as video:
                return self.kept(path, video, filmstrip(video))
        except Unmeasurable as error:
            return Placeholder(error.reason, str(error))
        except OSError as error:
            return Placeholder(Reason.MISSING_VIDEO, f"{path.name}: cannot be read: {error.strerror}.")

    def kept(self, path: Path, video: Video, strip: bytes) -> Still:
        """What the page has of a video that could be read, and of its strip in JPEG."""
        timeline = video.timeline
        return Still(
            strip=data_uri(strip, "image/jpeg"),
            times=frame_times(timeline),
            width=timeline.width,
            height=timeline.height,
        )


def frame_times(timeline: Timeline) -> tuple[float, ...]:
    """When each frame begins, and when the last one ends: as long after it began as frames last on average."""
    starts = timeline.times_seconds - timeline.times_seconds[0]
    last = 1 / timeline.fps if timeline.fps else USUAL_FRAME_SECONDS
    return tuple(round(float(time), 5) for time in (*starts, starts[-1] + last))
