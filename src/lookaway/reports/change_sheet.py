"""A contact sheet of a run: first visit, return and what changed of its rollouts, on one picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np

from lookaway.core import Pixels, UserError
from lookaway.io.files import write_whole
from lookaway.io.pictures import jpeg_bytes, picture_pixels, png_bytes
from lookaway.reports.contact_sheet import GAP, INK, PAPER, text_strip
from lookaway.reports.numbers import amount
from lookaway.reports.pair_pictures import PairPicture, flagged_by, pair_pictures
from lookaway.reports.runs import LoadedMetric, LoadedRun, row_detail

MAX_ROWS: Final = 40
CELL_WIDTH: Final = 320
MAX_HEIGHT: Final = 360
"""Pixels that the pictures of one rollout may be high."""
WIDTH: Final = 3 * CELL_WIDTH + 2 * GAP
FLAGGED: Final = (190, 0, 70)
COLUMNS: Final = ("first visit", "return", "what changed (dark: not compared)")
ENCODERS: Final = {".jpg": jpeg_bytes, ".jpeg": jpeg_bytes, ".png": png_bytes}


@dataclass(slots=True)
class _Measured:
    """The numbers of one rollout that say whether it is consistent."""

    rollout: str
    values: dict[str, float] = field(default_factory=dict)
    flagged: set[str] = field(default_factory=set)

    @property
    def order(self) -> tuple[int, float, str]:
        """The worst first: most flags, then most change."""
        return -len(self.flagged), -self.values.get("changed_area", 0.0), self.rollout


def write_change_sheet(run: LoadedRun, path: Path) -> str:
    """Write the sheet as JPEG or PNG; returns what is on it."""
    if path.suffix.lower() not in ENCODERS:
        raise UserError(f"{path}: a contact sheet is a picture. Name a file that ends in {', '.join(ENCODERS)}.")
    sheet, said = change_sheet(run)
    encoded = ENCODERS[path.suffix.lower()](sheet)
    try:
        write_whole(path, lambda file: file.write(encoded))
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error}.") from error
    return said


def change_sheet(run: LoadedRun) -> tuple[Pixels, str]:
    """[height, width, 3], one row for each of the worst rollouts; and how many of how many there are."""
    measured = sorted(_measured(run), key=lambda entry: entry.order)
    shown = _pictured(run, measured)
    if not shown:
        raise UserError(
            f"{run.path}: no pictures of what changed are stored with this run. Measure with `lookaway eval --suite "
            "revisit` into a new folder, without --features; merged runs have no pictures."
        )
    said = f"{len(shown)} of {amount(len(run.rollouts), 'rollout')}, the worst first"
    unmeasured = len(run.rollouts) - len(measured)
    missing = ((len(measured) - len(shown), "with less change or without a picture"), (unmeasured, "not measured"))
    if left_out := [f"{count} {why}" for count, why in missing if count]:
        said += f"; left out: {', '.join(left_out)}"
    rows = [text_strip(f"{run.name}: {said}", WIDTH), _headings()]
    metrics = {metric.name: metric for metric in run.metrics}
    for number, (entry, picture) in enumerate(shown, 1):
        rows += [
            _title(f"{number}. {entry.rollout}   frames {picture.frames[0]} and {picture.frames[1]}"),
            _numbers(entry, metrics),
            _fitted(picture_pixels(picture.jpeg)),
        ]
    return np.vstack(rows), said


def _measured(run: LoadedRun) -> list[_Measured]:
    """Rollouts with a number of consistency."""
    wanted = {metric.name for metric in run.metrics if metric.is_consistency and not metric.is_gate}
    found: dict[str, _Measured] = {}
    for row in run.items():
        if row["metric"] in wanted and row["status"] == "score" and row["rollout"] in run.rollouts:
            entry = found.setdefault(row["rollout"], _Measured(row["rollout"]))
            entry.values[row["metric"]] = row["value"]
            entry.flagged |= flagged_by(row["metric"], row_detail(row))
    return list(found.values())


def _pictured(run: LoadedRun, measured: Sequence[_Measured]) -> list[tuple[_Measured, PairPicture]]:
    """The first of them that have a picture, each with the one in which most changed."""
    found: list[tuple[_Measured, PairPicture]] = []
    for entry in measured:
        if len(found) == MAX_ROWS:
            break
        if picture := next(_readable(pair_pictures(run, run.rollouts[entry.rollout])), None):
            found.append((entry, picture))
    return found


def _readable(pictures: Sequence[PairPicture]) -> Iterator[PairPicture]:
    for picture in pictures:
        try:
            picture_pixels(picture.jpeg)
        except ValueError:  # the store of a received run may hold anything
            continue
        yield picture


def _headings() -> Pixels:
    strips = [text_strip(words, CELL_WIDTH) for words in COLUMNS]
    gap = np.full((len(strips[0]), GAP, 3), PAPER, np.uint8)
    return np.hstack([strips[0], gap, strips[1], gap, strips[2]])


def _title(words: str) -> Pixels:
    line = np.full((1, WIDTH, 3), 200, np.uint8)
    return np.vstack([np.full((GAP, WIDTH, 3), PAPER, np.uint8), line, text_strip(words, WIDTH)])


def _numbers(entry: _Measured, metrics: Mapping[str, LoadedMetric]) -> Pixels:
    """Every number with its unit; those above their limits in another colour."""
    pieces: list[tuple[str, Any]] = []
    for name, value in entry.values.items():
        unit = metrics[name].unit
        words = f"{name} {value:.3g}{f' {unit}' if unit not in (None, 'score', 'share') else ''}"
        is_flagged = name in entry.flagged
        pieces.append((f"{words} flagged" if is_flagged else words, FLAGGED if is_flagged else INK))
    return text_strip(pieces, WIDTH)


def _fitted(pixels: Pixels) -> Pixels:
    """The picture as wide as the sheet, or as high as a row may be."""
    height, width = pixels.shape[:2]
    scale = min(WIDTH / width, MAX_HEIGHT / height)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    small = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    row = np.full((size[1], WIDTH, 3), PAPER, np.uint8)
    row[:, : size[0]] = small[:, :WIDTH]
    return row
