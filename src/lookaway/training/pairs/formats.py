"""Writes pairs as trainers read them: a folder for each format, and in it a file or folder for each axis and split."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Protocol, TextIO

import pyarrow as pa

from lookaway.core import Json
from lookaway.training.pairs.preferences import INVALID, SAME, A

UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")
MAX_NAME: Final = 100
CONFIDENCE, MARGIN = "confidence", "margin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferred:
    """One pair on one axis, the better video first."""

    pair_id: str
    axis: str
    split: str
    prompt: str
    chosen: Mapping[str, Any]
    rejected: Mapping[str, Any]
    """Video, model, fps and num_frames of each side."""
    confidence: float | None
    margin: float | None
    source: str


class PairFormat(Protocol):
    """A format that a trainer reads."""

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write some rows of the table of preferences; all rows of a pair are among them."""


def open_format(name: str, folder: Path, axes: Sequence[str], files: ExitStack) -> PairFormat:
    """The writer of a format, whose files are finished when `files` is closed."""
    writer: PairFormat = FORMATS[name](folder / name, axes, files)
    return writer


class VideoAlignCsv:
    """CSV for VideoAlign and VideoGen-RewardBench: one row for each pair, one column of labels for each axis.

    Ties are `same`; an axis on which the pair is not judged is `invalid`, which the trainer leaves out.
    """

    def __init__(self, folder: Path, axes: Sequence[str], files: ExitStack) -> None:
        self._folder, self._axes, self._files = folder, axes, files
        self._writers: dict[str, Any] = {}

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write some pairs."""
        for _, group in groupby(rows, key=lambda row: row["pair_id"]):
            own = list(group)
            first, labels = own[0], {row["axis"]: row["label"] for row in own}
            sides = [first[f"{name}_{side}"] for side in ("a", "b") for name in ("fps", "num_frames")]
            self._writer(first["split"]).writerow(
                [
                    *(first["video_a"], first["video_b"], first["prompt"]),
                    *(labels.get(axis, INVALID) for axis in self._axes),
                    *("" if value is None else value for value in sides),
                    *(first["model_a"], first["model_b"]),
                ]
            )

    def _writer(self, split: str) -> Any:
        if split not in self._writers:
            file = _open(self._folder / f"{split}.csv", self._files)
            self._writers[split] = csv.writer(file)
            facts = ("fps_A", "num_frames_A", "fps_B", "num_frames_B")
            self._writers[split].writerow(["path_A", "path_B", "prompt", *self._axes, *facts, "A_model", "B_model"])
        return self._writers[split]


class _WinnerFirst:
    """A file for each axis and split, of pairs with a winner; ties are left out."""

    def __init__(self, folder: Path, axes: Sequence[str], files: ExitStack) -> None:
        self._folder, self._files = folder, files
        self._names = file_names(axes)
        self._open: dict[tuple[str, str], Any] = {}

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write some pairs."""
        for pair in preferred(rows):
            key = (pair.axis, pair.split)
            if key not in self._open:
                self._open[key] = self.begin(self._folder / self._names[pair.axis], pair.split, self._files)
            self.write(self._open[key], pair)

    def begin(self, folder: Path, split: str, files: ExitStack) -> Any:
        """Open the file of one axis and split."""
        return JsonList(folder / f"{split}.json", files)

    def write(self, file: Any, pair: Preferred) -> None:
        """Write one pair."""
        file.add(self.entry(pair))

    def entry(self, pair: Preferred) -> Json:
        """One pair as JSON."""
        raise NotImplementedError


class VideoDpo(_WinnerFirst):
    """Folders with `metadata.json` and `pair.json` of VideoDPO: `video1` is the winner, both are numbers of videos."""

    def begin(self, folder: Path, split: str, files: ExitStack) -> Any:
        """Open both files."""
        return [JsonList(folder / split / f"{name}.json", files) for name in ("metadata", "pair")]

    def write(self, file: Any, pair: Preferred) -> None:
        """Write two videos and the pair of them."""
        metadata, pairs = file
        number = pairs.count
        for side in (pair.chosen, pair.rejected):
            fps, frames = side["fps"], side["num_frames"]
            basic = {"clip_path": side["video"], "globalidx": number}
            duration = {"clip_duration": frames / fps} if fps and frames else {}
            metadata.add({"basic": {**basic, **duration}, "misc": {"frame_caption": [pair.prompt]}})
        score = {} if pair.confidence is None else {"score": pair.confidence}
        ends = {"video1": 2 * number, "video2": 2 * number + 1, "label": 0}
        pairs.add({**ends, "frame_caption": pair.prompt, **score})


class UnifiedReward(_WinnerFirst):
    """JSON for the video DPO of UnifiedReward."""

    def entry(self, pair: Preferred) -> Json:
        """One pair as JSON."""
        return {
            "id": pair.pair_id,
            "caption": pair.prompt,
            "chosen": pair.chosen["video"],
            "rejected": pair.rejected["video"],
        }


class Hpdv3(_WinnerFirst):
    """JSON as HPDv3 has it, with `path1` preferred; `choice_dist` is for votes, of which there are none."""

    def entry(self, pair: Preferred) -> Json:
        """One pair as JSON."""
        return {
            "prompt": pair.prompt,
            "path1": pair.chosen["video"],
            "path2": pair.rejected["video"],
            "model1": pair.chosen["model"],
            "model2": pair.rejected["model"],
            CONFIDENCE: pair.confidence,
            "choice_dist": None,
            "source": pair.source,
        }


class Trl(_WinnerFirst):
    """Lines of JSON with the columns of TRL's DPO; the videos are paths, which TRL takes for text."""

    def begin(self, folder: Path, split: str, files: ExitStack) -> Any:
        """Open the file."""
        return _open(folder / f"{split}.jsonl", files)

    def write(self, file: Any, pair: Preferred) -> None:
        """Write a line."""
        margin = {} if pair.margin is None else {MARGIN: pair.margin}
        sides = {"chosen": pair.chosen["video"], "rejected": pair.rejected["video"]}
        file.write(_json({"prompt": pair.prompt, **sides, **margin}) + "\n")


class ChosenRejectedCsv(_WinnerFirst):
    """CSV with `chosen` and `rejected`, for trainers that read metadata."""

    COLUMNS = ("prompt", "chosen", "rejected", MARGIN, CONFIDENCE, "model_chosen", "model_rejected")

    def begin(self, folder: Path, split: str, files: ExitStack) -> Any:
        """Open the file and write the names of its columns."""
        writer = csv.writer(_open(folder / f"{split}.csv", files))
        writer.writerow(self.COLUMNS)
        return writer

    def write(self, file: Any, pair: Preferred) -> None:
        """Write a row."""
        numbers = ["" if value is None else value for value in (pair.margin, pair.confidence)]
        videos, models = ([side[name] for side in (pair.chosen, pair.rejected)] for name in ("video", "model"))
        file.writerow([pair.prompt, *videos, *numbers, *models])


FORMATS: Final[Mapping[str, Any]] = {
    "videoalign": VideoAlignCsv,
    "videodpo": VideoDpo,
    "unifiedreward": UnifiedReward,
    "hpdv3": Hpdv3,
    "trl": Trl,
    "csv": ChosenRejectedCsv,
}


class JsonList:
    """A list in a file, written entry by entry."""

    def __init__(self, path: Path, files: ExitStack) -> None:
        self._file = _open(path, files)
        self.count = 0
        files.callback(self._end)

    def add(self, entry: Json) -> None:
        """Write one entry."""
        self._file.write(("[\n" if self.count == 0 else ",\n") + _json(entry))
        self.count += 1

    def _end(self) -> None:
        self._file.write("\n]\n" if self.count else "[]\n")


def preferred(rows: Sequence[Mapping[str, Any]]) -> Iterator[Preferred]:
    """Rows with a winner, the winner first."""
    for row in rows:
        if row["label"] == SAME:
            continue
        a, b = (
            {name: row[f"{name}_{side}"] for name in ("video", "model", "fps", "num_frames")} for side in ("a", "b")
        )
        chosen, rejected = (a, b) if row["label"] == A else (b, a)
        names = ("pair_id", "axis", "split", "prompt", CONFIDENCE, MARGIN, "source")
        yield Preferred(chosen=chosen, rejected=rejected, **{name: row[name] for name in names})


ROW_COLUMNS: Final = (
    *("pair_id", "axis", "prompt", "label", CONFIDENCE, MARGIN, "source", "split"),
    *(f"{name}_{side}" for side in ("a", "b") for name in ("video", "model", "fps", "num_frames")),
)


def rows_of(batch: pa.Table) -> list[dict[str, Any]]:
    """The rows of a table of preferences, with the columns that formats use."""
    columns = [batch[name].to_pylist() for name in ROW_COLUMNS]
    return [dict(zip(ROW_COLUMNS, row, strict=True)) for row in zip(*columns, strict=True)]


def file_names(axes: Sequence[str]) -> dict[str, str]:
    """A name for the files of each axis, safe in a path: names of metrics may be from anybody's run.

    >>> file_names(["light", "../light", "a/b"])
    {'light': 'light', '../light': '_light', 'a/b': 'a_b'}
    """
    found: dict[str, str] = {}
    for axis in axes:
        name = UNSAFE.sub("_", axis).lstrip(".")[:MAX_NAME] or "axis"
        while name in found.values():
            name += "_"
        found[axis] = name
    return found


def _open(path: Path, files: ExitStack) -> TextIO:
    path.parent.mkdir(parents=True, exist_ok=True)
    return files.enter_context(path.open("w", encoding="utf-8", newline=""))


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
