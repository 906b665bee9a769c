"""Writes pairs as trainers read them: a folder for each format, and in it a file or folder for each axis and split.

Whole columns are written at once, since there may be millions of pairs.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from json.encoder import encode_basestring as quoted
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol, TextIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookaway.training.pairs.preferences import INVALID, SAME, A

UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")
MAX_NAME: Final = 100
OPTIONAL: Final = ("score", "margin", "clip_duration")
"""Fields that are left out where nothing is known, since their trainers take no null."""


class WonPairs:
    """Pairs with a winner, of one axis and split: their columns, also as JSON, which several formats share."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self._texts: dict[str, list[str]] = {}

    def __len__(self) -> int:
        return len(self.table)

    def texts(self, name: str) -> list[str]:
        """The values of a column as JSON."""
        if name not in self._texts:
            self._texts[name] = _json_values(self.table[name])
        return self._texts[name]

    def objects(self, fields: Mapping[str, str]) -> list[str]:
        """An object for each pair, with a field for each of some columns."""
        used = {
            field: column
            for field, column in fields.items()
            if not (field in OPTIONAL and self.table[column].null_count == len(self))
        }
        template = "{" + ", ".join(f"{quoted(field)}: %s" for field in used) + "}"
        return list(map(template.__mod__, zip(*map(self.texts, used.values()), strict=True)))

    def add(self, name: str, column: pa.Array) -> None:
        """Add a column, in place of one of the same name."""
        if name in self.table.column_names:
            self.table = self.table.drop_columns(name)
        self._texts.pop(name, None)
        self.table = self.table.append_column(name, column)


class PairFormat(Protocol):
    """A format that a trainer reads."""

    def add(self, batch: pa.Table, winners_first: Mapping[tuple[str, str], WonPairs]) -> None:
        """Write some rows of the table of preferences, given also as pairs with a winner by axis and split."""


class VideoAlignCsv:
    """CSV for VideoAlign and VideoGen-RewardBench: one row for each pair, one column of labels for each axis.

    Ties are `same`; an axis on which the pair is not judged is `invalid`, which the trainer leaves out.
    """

    SIDES = ("fps_a", "num_frames_a", "fps_b", "num_frames_b")

    def __init__(self, folder: Path, axes: Sequence[str], files: ExitStack) -> None:
        self._folder, self._axes, self._files = folder, axes, files
        self._writers: dict[str, Any] = {}

    def add(self, batch: pa.Table, winners_first: Mapping[tuple[str, str], WonPairs]) -> None:
        """Write some pairs, all rows of which are in the batch."""
        ids = batch["pair_id"].combine_chunks().dictionary_encode()
        pair = ids.indices.to_numpy()  # in the order in which they come
        axis = pc.index_in(batch["axis"], pa.array(self._axes)).to_numpy()
        labels = np.full((len(ids.dictionary), len(self._axes)), INVALID, object)
        labels[pair, axis] = batch["label"].to_pylist()
        firsts = np.unique(pair, return_index=True)[1]
        rows = batch.take(pa.array(firsts))
        splits = np.array(rows["split"].to_pylist(), object)
        columns = [rows[name].to_pylist() for name in ("video_a", "video_b", "prompt")]
        facts = [rows[name].to_pylist() for name in (*self.SIDES, "model_a", "model_b")]
        for split in dict.fromkeys(splits.tolist()):
            own = np.flatnonzero(splits == split).tolist()
            every = [*columns, *labels.T, *facts]
            self._writer(split).writerows(zip(*([column[place] for place in own] for column in every), strict=True))

    def _writer(self, split: str) -> Any:
        if split not in self._writers:
            self._writers[split] = _csv_writer(self._folder / f"{split}.csv", self._files)
            facts = ("fps_A", "num_frames_A", "fps_B", "num_frames_B")
            self._writers[split].writerow(["path_A", "path_B", "prompt", *self._axes, *facts, "A_model", "B_model"])
        return self._writers[split]


class WinnerFirst:
    """Files for each axis and split, of pairs with a winner; ties are left out."""

    def __init__(self, folder: Path, axes: Sequence[str], files: ExitStack) -> None:
        self._folder, self._names, self._files = folder, file_names(axes), files
        self._open: dict[tuple[str, str], Any] = {}

    def add(self, batch: pa.Table, winners_first: Mapping[tuple[str, str], WonPairs]) -> None:
        """Write some pairs."""
        for (axis, split), pairs in winners_first.items():
            if (axis, split) not in self._open:
                self._open[axis, split] = self.begin(self._folder / self._names[axis], split, self._files)
            self.write(self._open[axis, split], pairs)

    def begin(self, folder: Path, split: str, files: ExitStack) -> Any:
        """Open the files of one axis and split."""
        raise NotImplementedError

    def write(self, file: Any, pairs: WonPairs) -> None:
        """Write some pairs of one axis and split."""
        raise NotImplementedError


class JsonFormat(WinnerFirst):
    """JSON with the same fields in each entry."""

    FIELDS: ClassVar[Mapping[str, str]] = {}
    """The column of each field."""
    LINES = False

    def begin(self, folder: Path, split: str, files: ExitStack) -> Any:
        """Open the file."""
        return JsonEntries(folder / f"{split}.{'jsonl' if self.LINES else 'json'}", files, lines=self.LINES)

    def write(self, file: Any, pairs: WonPairs) -> None:
        """Write an entry for each pair."""
        file.add(pairs.objects(self.FIELDS))


class UnifiedReward(JsonFormat):
    """For the video DPO of UnifiedReward."""

    FIELDS: ClassVar[Mapping[str, str]] = {
        "id": "pair_id",
        "caption": "prompt",
        "chosen": "chosen",
        "rejected": "rejected",
    }


class Hpdv3(JsonFormat):
    """As HPDv3 has it, with `path1` preferred; `choice_dist` is for votes, of which there are none."""

    FIELDS: ClassVar[Mapping[str, str]] = {
        "prompt": "prompt",
        "path1": "chosen",
        "path2": "rejected",
        "model1": "model_chosen",
        "model2": "model_rejected",
        "confidence": "confidence",
        "choice_dist": "n_votes",
        "source": "source",
    }


class Trl(JsonFormat):
    """The columns of TRL's DPO; the videos are paths, which TRL takes for text."""

    FIELDS: ClassVar[Mapping[str, str]] = {
        "prompt": "prompt",
        "chosen": "chosen",
        "rejected": "rejected",
        "margin": "margin",
    }
    LINES = True


class VideoDpo(WinnerFirst):
    """Folders with `metadata.json` and `pair.json` of VideoDPO: `video1` is the winner, both are numbers of videos."""

    PAIR: ClassVar[Mapping[str, str]] = {
        "video1": "video1",
        "video2": "video2",
        "label": "label",
        "frame_caption": "prompt",
        "score": "confidence",
    }

    def begin(self, folder: Path, split: str, files: ExitStack) -> Any:
        """Open both files."""
        return [JsonEntries(folder / split / f"{name}.json", files) for name in ("metadata", "pair")]

    def write(self, file: Any, pairs: WonPairs) -> None:
        """Write two videos for each pair, the winner first, and the pair of them."""
        metadata, own = file
        number = own.count + np.arange(len(pairs))
        places = {"video1": 2 * number, "video2": 2 * number + 1, "label": np.zeros(len(pairs), np.int64)}
        for name, column in {**places, "globalidx": number}.items():
            pairs.add(name, pa.array(column))
        videos = [self._videos(pairs, side) for side in ("chosen", "rejected")]
        metadata.add(entry for both in zip(*videos, strict=True) for entry in both)
        own.add(pairs.objects(self.PAIR))

    def _videos(self, pairs: WonPairs, side: str) -> list[str]:
        basic = pairs.objects({"clip_path": side, "clip_duration": f"seconds_{side}", "globalidx": "globalidx"})
        return [
            f'{{"basic": {own}, "misc": {{"frame_caption": [{caption}]}}}}'
            for own, caption in zip(basic, pairs.texts("prompt"), strict=True)
        ]


class ChosenRejectedCsv(WinnerFirst):
    """CSV with `chosen` and `rejected`, for trainers that read metadata."""

    COLUMNS = ("prompt", "chosen", "rejected", "margin", "confidence", "model_chosen", "model_rejected")

    def begin(self, folder: Path, split: str, files: ExitStack) -> Any:
        """Open the file and write the names of its columns."""
        writer = _csv_writer(folder / f"{split}.csv", files)
        writer.writerow(self.COLUMNS)
        return writer

    def write(self, file: Any, pairs: WonPairs) -> None:
        """Write a row for each pair."""
        file.writerows(zip(*(pairs.table[name].to_pylist() for name in self.COLUMNS), strict=True))


FORMATS: Final[Mapping[str, Callable[[Path, Sequence[str], ExitStack], PairFormat]]] = {
    "videoalign": VideoAlignCsv,
    "videodpo": VideoDpo,
    "unifiedreward": UnifiedReward,
    "hpdv3": Hpdv3,
    "trl": Trl,
    "csv": ChosenRejectedCsv,
}


class JsonEntries:
    """A file of objects, as a list or as lines, written some at a time."""

    def __init__(self, path: Path, files: ExitStack, *, lines: bool = False) -> None:
        self._file = _open(path, files)
        self._between = "\n" if lines else ",\n"
        self.count = 0
        if not lines:
            self._file.write("[\n")
        files.callback(self._file.write, "\n" if lines else "\n]\n")

    def add(self, entries: Iterator[str] | Sequence[str]) -> None:
        """Write some entries."""
        texts = list(entries)
        if texts:
            self._file.write((self._between if self.count else "") + self._between.join(texts))
            self.count += len(texts)


def _json_values(column: pa.ChunkedArray) -> list[str]:
    values = column.to_pylist()
    write: Callable[[Any], str] = quoted if pa.types.is_string(column.type) else repr  # numbers are finite
    return ["null" if value is None else write(value) for value in values]


def winners_first(batch: pa.Table) -> dict[tuple[str, str], WonPairs]:
    """Pairs with a winner by axis and split, with columns for the chosen and the rejected video."""
    pairs = batch.filter(pc.not_equal(batch["label"], SAME))
    is_a = pc.equal(pairs["label"], A)
    found = pairs.select(["pair_id", "prompt", "confidence", "margin", "n_votes", "source"])
    for side, first, second in (("chosen", "a", "b"), ("rejected", "b", "a")):
        own = {
            name: pc.if_else(is_a, pairs[f"{name}_{first}"], pairs[f"{name}_{second}"])
            for name in ("video", "model", "fps", "num_frames")
        }
        seconds = pc.divide(own["num_frames"].cast(pa.float64()), own["fps"])
        columns = {side: own["video"], f"model_{side}": own["model"], f"seconds_{side}": seconds}
        for name, column in columns.items():
            found = found.append_column(name, column)
    groups = {}
    for axis in pc.unique(pairs["axis"]).to_pylist():
        for split in pc.unique(pairs["split"]).to_pylist():
            own_rows = found.filter(pc.and_(pc.equal(pairs["axis"], axis), pc.equal(pairs["split"], split)))
            if len(own_rows):
                groups[axis, split] = WonPairs(own_rows)
    return groups


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


def _csv_writer(path: Path, files: ExitStack) -> Any:
    return csv.writer(_open(path, files), lineterminator="\n")


def _open(path: Path, files: ExitStack) -> TextIO:
    path.parent.mkdir(parents=True, exist_ok=True)
    return files.enter_context(path.open("w", encoding="utf-8", newline=""))
