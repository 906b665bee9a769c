"""What all exports share: cases with their ground truth, safe names, atomic writes, and a report."""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from lookaway.core import DatasetError, Frame, FrameRequest, Json, Pixels, UserError
from lookaway.io.clip_card import ClipCard
from lookaway.io.files import write_json, write_text, write_whole
from lookaway.io.video import Video
from lookaway.io.world_clips import WorldClip
from lookaway.world.recipe import PERFECT

NOTES = "lookaway_export.json"
"""Written beside the benchmark's files: the name of every exported case, and what was left out."""
SAFE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True)
class ExportReport:
    """Result of an export."""

    written: int
    """Clips."""
    left_out: tuple[str, ...]
    """Clips that the layout cannot represent, each with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportCase:
    """All clips of one case."""

    name: str
    clips: tuple[WorldClip, ...]
    truth: WorldClip | None
    """Clip of the model that remembers everything."""

    @property
    def lead(self) -> WorldClip:
        """The clip that describes the case."""
        return self.truth or self.clips[0]

    @property
    def is_memory_test(self) -> bool:
        """Whether the target disappears and reappears."""
        phases = self.lead.card.phases
        return all(start < end for start, end in (phases.visible, phases.disappeared, phases.reappeared))


@dataclass(slots=True)
class Export:
    """An export in progress. `start` checks everything possible before the first file is written."""

    output: Path
    layout: str
    cases: tuple[ExportCase, ...]
    names: dict[str, Json] = field(default_factory=dict)
    """Names of the cases in the layout."""
    written: int = 0
    left_out: list[str] = field(default_factory=list)

    @classmethod
    def start(cls, clips: Sequence[WorldClip], output: Path, layout: str) -> Export:
        """Start an export into an empty folder."""
        cases = _cases(clips)
        if output.exists() and (not output.is_dir() or any(output.iterdir())):
            raise UserError(f"{output}: not an empty folder; choose another one for the export.")
        output.mkdir(parents=True, exist_ok=True)
        return cls(output, layout, cases)

    def leave_out(self, case: ExportCase, reason: str) -> None:
        """Leave out all clips of a case, with the reason."""
        self.left_out += [f"{_title(clip.card)}: {reason}" for clip in case.clips]

    def memory_tests(self) -> Iterator[tuple[ExportCase, WorldClip]]:
        """Cases whose target disappears and reappears, with their ground truth; the others are left out."""
        for case in self.cases:
            if case.truth is None:
                self.leave_out(case, f"there is no clip of the model {PERFECT!r}, the ground truth of the layout")
            elif not case.is_memory_test:
                self.leave_out(case, "the target does not leave the view and come back")
            else:
                yield case, case.truth

    def finish(self) -> ExportReport:
        """Write the notes."""
        notes: dict[str, Json] = {"layout": self.layout, "cases": self.names, "left_out": list(self.left_out)}
        write_json(self.output / NOTES, notes)
        return ExportReport(self.written, tuple(self.left_out))


def contestant(card: ClipCard) -> str:
    """Model name of a clip in layouts without takes."""
    return card.model if card.take == 0 else f"{card.model}_take{card.take}"


def checked_name(name: str) -> str:
    """The name, if it is safe as part of a path."""
    if not SAFE_NAME.fullmatch(name):
        raise DatasetError(f"the name {name!r} cannot be a file name; expected letters, digits, '_', '-' and '.'.")
    return name


def put(source: Path, target: Path) -> None:
    """Hard-link a file to another path, or copy it where the disk does not allow that."""
    source = source.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except FileExistsError:
        raise DatasetError(f"{target}: two clips would have this path.") from None
    except OSError:  # another disk, or one without hard links
        with source.open("rb") as file:
            write_whole(target, lambda copy: shutil.copyfileobj(file, copy))


def write_array(path: Path, values: NDArray[np.generic]) -> None:
    """Write a `.npy` file without pickle."""
    write_whole(path, lambda file: np.save(file, values, allow_pickle=False))


def write_rows(path: Path, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Write a CSV file with a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    write_text(path, text.getvalue())


def write_picture(path: Path, pixels: Pixels) -> None:
    """Write a picture in the format of its suffix; JPEG at best quality."""
    best = [cv2.IMWRITE_JPEG_QUALITY, 100, cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444]
    is_encoded, data = cv2.imencode(path.suffix, pixels[..., ::-1], best if path.suffix == ".jpg" else [])
    if not is_encoded:
        raise ValueError(f"{path}: cannot be encoded as {path.suffix}.")
    write_whole(path, lambda file: file.write(data.tobytes()))


def frames(video: Path, count: int) -> Iterator[Frame]:
    """The first frames of a video."""
    with Video(video) as opened:
        for _, frame in opened.frames([FrameRequest(indices=frozenset(range(count)))]):
            yield frame


def write_first_frame(path: Path, clip: WorldClip) -> None:
    """Write the first frame of a clip as a picture."""
    for frame in frames(clip.video, 1):
        write_picture(path, frame.pixels)


def _cases(clips: Sequence[WorldClip]) -> tuple[ExportCase, ...]:
    if not clips:
        raise UserError("there are no clips to export.")
    seen: dict[str, dict[tuple[str, int], WorldClip]] = {}
    for clip in clips:
        card = clip.card
        for name in (card.case, card.model, card.family, card.camera):
            checked_name(name)
        of_case = seen.setdefault(card.case, {})
        if (card.model, card.take) in of_case:
            raise DatasetError(f"{_title(card)}: there are two such clips; remove one of them.")
        of_case[card.model, card.take] = clip
    return tuple(
        ExportCase(
            name=name, clips=tuple(seen[name][key] for key in sorted(seen[name])), truth=seen[name].get((PERFECT, 0))
        )
        for name in sorted(seen)
    )


def _title(card: ClipCard) -> str:
    return f"{card.case} of {card.model}, take {card.take}"
