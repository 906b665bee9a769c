"""What all exports share: cases and their truth, safe names, whole files, and a report of what was left out."""

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
"""Beside the benchmark's own files: what was exported under which name, and what was not."""
SAFE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What an export did."""

    written: int
    """Clips."""
    left_out: tuple[str, ...]
    """Clips that the layout cannot hold, each with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """All clips of one case."""

    name: str
    clips: tuple[WorldClip, ...]
    truth: WorldClip | None
    """What a model that remembers everything makes of it."""

    @property
    def lead(self) -> WorldClip:
        """The clip that stands for what is asked."""
        return self.truth or self.clips[0]

    @property
    def is_memory_test(self) -> bool:
        """Whether the target is lost and comes back."""
        phases = self.lead.card.phases
        return all(start < end for start, end in (phases.visible, phases.disappeared, phases.reappeared))


@dataclass(slots=True)
class Export:
    """An export that is going on. `begin` checks everything that can be checked before the first file is written."""

    output: Path
    layout: str
    cases: tuple[Case, ...]
    names: dict[str, Json] = field(default_factory=dict)
    """Of cases, as the layout calls them."""
    written: int = 0
    left_out: list[str] = field(default_factory=list)

    @classmethod
    def start(cls, clips: Sequence[WorldClip], output: Path, layout: str) -> Export:
        """An export into an empty folder."""
        cases = _cases(clips)
        if output.exists() and (not output.is_dir() or any(output.iterdir())):
            raise UserError(f"{output}: is there already and not empty; choose another folder for the export.")
        output.mkdir(parents=True, exist_ok=True)
        return cls(output, layout, cases)

    def leave_out(self, case: Case, reason: str) -> None:
        """Note that no clip of the case fits, and why."""
        self.left_out += [f"{_title(clip.card)}: {reason}" for clip in case.clips]

    def memory_tests(self) -> Iterator[tuple[Case, WorldClip]]:
        """Cases with their truth, of which the target is lost and comes back; the others are left out."""
        for case in self.cases:
            if case.truth is None:
                self.leave_out(case, f"there is no clip of the model {PERFECT!r}, which is the truth of the layout")
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
    """The name under which a clip competes where a layout has no place for takes."""
    return card.model if card.take == 0 else f"{card.model}_take{card.take}"


def checked_name(name: str) -> str:
    """A name that may become a part of a path."""
    if not SAFE_NAME.fullmatch(name):
        raise DatasetError(f"the name {name!r} cannot be a file name; expected letters, digits, '_', '-' and '.'.")
    return name


def put(source: Path, target: Path) -> None:
    """Bring a file to another place: the same file under a second name where the disk allows it, else a copy."""
    source = source.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except FileExistsError:
        raise DatasetError(f"{target}: two clips would stand here.") from None
    except OSError:  # another disk, or one without hard links
        with source.open("rb") as file:
            write_whole(target, lambda copy: shutil.copyfileobj(file, copy))


def write_array(path: Path, values: NDArray[np.generic]) -> None:
    """`.npy`, without pickle."""
    write_whole(path, lambda file: np.save(file, values, allow_pickle=False))


def write_rows(path: Path, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A CSV file with a head."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    write_text(path, text.getvalue())


def write_picture(path: Path, pixels: Pixels) -> None:
    """A picture in the format that its name says; JPEG at its best."""
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
    """The first frame of a clip."""
    for frame in frames(clip.video, 1):
        write_picture(path, frame.pixels)


def _cases(clips: Sequence[WorldClip]) -> tuple[Case, ...]:
    if not clips:
        raise UserError("there are no clips to export.")
    seen: dict[str, dict[tuple[str, int], WorldClip]] = {}
    for clip in clips:
        card = clip.card
        for name in (card.case, card.model, card.family, card.camera):
            checked_name(name)
        of_case = seen.setdefault(card.case, {})
        if (card.model, card.take) in of_case:
            raise DatasetError(f"{_title(card)} is there twice.")
        of_case[card.model, card.take] = clip
    return tuple(
        Case(name=name, clips=tuple(seen[name][key] for key in sorted(seen[name])), truth=seen[name].get((PERFECT, 0)))
        for name in sorted(seen)
    )


def _title(card: ClipCard) -> str:
    return f"{card.case} of {card.model}, take {card.take}"
