"""A clip of the simulated world on one image: its frames, its ground truth, and the frames of a perfect memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from lookaway.core import FrameRequest, Pixels
from lookaway.io.files import write_whole
from lookaway.io.pictures import png_bytes
from lookaway.io.video import Video
from lookaway.io.world_clips import WorldClip

T = TypeVar("T")
COLUMNS = 6
CELL_WIDTH = 300
LINE, GAP = 22, 6
FONT, FONT_SCALE = cv2.FONT_HERSHEY_SIMPLEX, 0.45
INK, PAPER, MARK = (35, 35, 35), 250, (255, 40, 160)
FAR_SHADE = 0.85
"""Part of the darkness that the farthest point of a depth picture gets."""


def write_contact_sheet(clip: WorldClip, path: Path, clean: WorldClip | None = None) -> None:
    """Write a PNG; the frames of the remembered clip of the same case, if given, come first for comparison."""
    encoded = png_bytes(contact_sheet(clip, clean))
    write_whole(path, lambda file: file.write(encoded))


def contact_sheet(clip: WorldClip, clean: WorldClip | None = None) -> Pixels:
    """[height, width, 3]"""
    card = clip.card
    frames = shown_frames(card.frames, card.phases.disappeared)
    height = round(CELL_WIDTH * card.height / card.width)
    size = (CELL_WIDTH, height)
    rows = [text_strip(line) for line in _headline(clip)]
    if clean is not None:
        rows += [text_strip("remembered"), _row(_pictures(clean, frames, size))]
        rows.append(text_strip("this clip"))
    rows += [_row(_pictures(clip, frames, size)), _row(_labels(clip, frames))]
    rows.append(_row([_outlined(cell, size) for cell in _chosen(clip.instances(), frames)]))
    rows.append(_row(_depth_cells(list(_chosen(clip.depth(), frames)), size)))
    return np.vstack(rows)


def shown_frames(count: int, disappeared: tuple[int, int]) -> list[int]:
    """Six frames: visible, leaving, twice away, back, last."""
    start, end = disappeared
    if start >= count:
        return [round(part) for part in np.linspace(0, count - 1, COLUMNS)]
    back = min(end, count - 1)
    return [0, max(start - 1, 0), start, (start + end) // 2, back, count - 1]


def _headline(clip: WorldClip) -> list[str]:
    card = clip.card
    faults = [f"{i.fault} at severity {i.severity:.2f}: {i.dose:.2f} {i.dose_unit}" for i in card.injections]
    return [
        f"{card.case}   {card.model}   {'; '.join(faults) or 'everything is remembered'}",
        f"{card.question.question}  {card.question.answer}.",
    ]


def _pictures(clip: WorldClip, frames: Sequence[int], size: tuple[int, int]) -> list[Pixels]:
    with Video(clip.video) as video:
        decoded = {f.index: f.pixels for _, f in video.frames([FrameRequest(indices=frozenset(frames), height=None)])}
    return [np.asarray(cv2.resize(decoded[frame], size, interpolation=cv2.INTER_AREA), np.uint8) for frame in frames]


def _labels(clip: WorldClip, frames: Sequence[int]) -> list[Pixels]:
    causes = {
        frame: cause.replace("_", " ") for cause, start, end in clip.card.phases.causes for frame in range(start, end)
    }
    return [text_strip(f"{frame / clip.card.fps:.2f} s  {causes[frame]}", CELL_WIDTH) for frame in frames]


def _chosen(pictures: Iterable[T], frames: Sequence[int]) -> list[T]:
    kept = {index: picture for index, picture in enumerate(pictures) if index in set(frames)}
    return [kept[frame] for frame in frames]


def _outlined(instances: NDArray[np.uint8], size: tuple[int, int]) -> Pixels:
    """Every thing in a shade of its own, the target in one that nothing else has."""
    shades = np.random.default_rng(0).integers(110, 235, (256, 1)).repeat(3, axis=1).astype(np.uint8)
    shades[0], shades[1] = PAPER, MARK
    return np.asarray(cv2.resize(shades[instances], size, interpolation=cv2.INTER_NEAREST), np.uint8)


def _depth_cells(depths: Sequence[NDArray[np.float32]], size: tuple[int, int]) -> list[Pixels]:
    farthest = max(float(np.percentile(depth, 98)) for depth in depths) or 1.0
    cells = []
    for depth in depths:
        shade = 1 - FAR_SHADE * np.clip(depth / farthest, 0, 1)
        shade[depth == 0] = PAPER / 255
        grey = np.rint(shade * 255).astype(np.uint8)
        cells.append(np.asarray(cv2.resize(grey, size, interpolation=cv2.INTER_AREA))[..., None].repeat(3, axis=2))
    return cells


def _row(cells: Sequence[Pixels]) -> Pixels:
    width = COLUMNS * (CELL_WIDTH + GAP) + GAP
    row = np.full((cells[0].shape[0] + GAP, width, 3), PAPER, np.uint8)
    for number, cell in enumerate(cells):
        left = GAP + number * (CELL_WIDTH + GAP)
        row[: cell.shape[0], left : left + CELL_WIDTH] = cell
    return row


def text_strip(text: str | Sequence[tuple[str, tuple[int, int, int]]], width: int | None = None) -> Pixels:
    """One line of text, or pieces of it with their colours, on a strip as wide as a sheet or as given."""
    strip = np.full((LINE, width or COLUMNS * (CELL_WIDTH + GAP) + GAP, 3), PAPER, np.uint8)
    left = GAP
    for piece, colour in [(text, INK)] if isinstance(text, str) else text:
        plain = piece.encode("ascii", "replace").decode()  # the built-in font knows no other letters
        cv2.putText(strip, plain, (left, LINE - 7), FONT, FONT_SCALE, colour, 1, cv2.LINE_AA)
        left += cv2.getTextSize(f"{plain}   ", FONT, FONT_SCALE, 1)[0][0]
    return strip
