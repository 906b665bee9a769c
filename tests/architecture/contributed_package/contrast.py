"""A metric, an extractor and a suite as anybody might contribute them: `lookaway.core` is all they need to know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from lookaway.core import (
    Abstention,
    BoundMetric,
    Case,
    Dataset,
    Features,
    Frame,
    FrameExtractor,
    Group,
    MetricBase,
    Option,
    Outcome,
    Reason,
    Rollout,
    Score,
    Table,
    Unit,
)
from lookaway.statistics.cells import mean_cells


@dataclass(frozen=True)
class Contrast(FrameExtractor):
    """Standard deviation of the brightness of every frame."""

    name: ClassVar[str] = "contrast"
    software: ClassVar[tuple[str, ...]] = ("numpy",)
    seconds_per_frame: ClassVar[float] = 0.001
    bytes_per_frame: ClassVar[float] = 8.0
    arrays: ClassVar[Mapping[str, str]] = {"deviations": "float64 [frames]: of brightness"}

    height: int = 32

    def extract(self, frame: Frame) -> dict[str, float]:
        return {"deviations": float(frame.pixels.mean(axis=2).std())}


@dataclass(frozen=True)
class ContrastKept(MetricBase):
    """Contrast of the last frames as a part of that of the first.

    Abstains: `too_short` for fewer than `2 * edge_frames` frames; `not_applicable` where the first frames are flat.
    """

    name = "contrast_kept"
    unit = "ratio"
    range = (0.0, None)
    needs = ("contrast",)

    edge_frames: int = 4

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        deviations = features["contrast"]["deviations"]
        if len(deviations) < 2 * self.edge_frames:
            return Abstention(Reason.TOO_SHORT, f"{len(deviations)} frames, {2 * self.edge_frames} needed.")
        first, last = (float(part.mean()) for part in (deviations[: self.edge_frames], deviations[-self.edge_frames :]))
        if first == 0:
            return Abstention(Reason.NOT_APPLICABLE, "the first frames are flat.")
        return Score(last / first, units=(Unit("first", Score(first)), Unit("last", Score(last))))


class Reels:
    """Videos named in a list, one a line."""

    name = "reels"
    version = 1
    title = "Reels: a list of videos"
    options = (
        Option(name="edge_frames", type=int, minimum=1, moves_numbers=True, help="Frames at either end of a video."),
        Option(name="listing", default="reels.txt", help="File that names the videos."),
    )

    def recognises(self, root: Path) -> bool:
        return (root / "reels.txt").is_file()

    def read(self, root: Path, options: Mapping[str, Any]) -> Dataset:
        names = (root / options["listing"]).read_text().split()
        rollouts = (
            Rollout(case=Case(id=name, subset="all", scene=name), model="camera", video=root / name) for name in names
        )
        return Dataset(suite=self.name, root=root, rollouts=tuple(rollouts))

    def metrics(self, settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
        metric = ContrastKept(edge_frames=settings.get("edge_frames", 4))
        return (BoundMetric(name="reels.contrast_kept", metric=metric, recipes={"contrast": Contrast()}),)

    def table(self, groups: Sequence[Group]) -> Table:
        return Table(suite=self.name, cells=mean_cells(groups), notes=("A ratio above 1 is no better than 1.",))
