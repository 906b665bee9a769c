"""MemoBench's synthetic part: `data/` with frames, depth, poses, keyframes and questions, `output/` with videos."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from lookaway.core import Json, MissingExtra
from lookaway.io.clip_card import ClipCard
from lookaway.io.files import write_whole
from lookaway.io.world_clips import WorldClip
from lookaway.world.exports.conventions import to_camera_track
from lookaway.world.exports.folder import (
    Export,
    ExportReport,
    contestant,
    frames,
    put,
    write_array,
    write_picture,
    write_rows,
)

POSITIVE, NEGATIVE = "Positive", "Negative"


def questions(card: ClipCard) -> list[Json]:
    """`Positive` questions are answered yes if everything is remembered, `Negative` ones no."""
    return [
        {"ID": number, "Dimension": dimension, "Dimension Polarity": polarity, "Question": question}
        for number, (dimension, polarity, question) in enumerate(_asked(card), start=1)
    ]


def evaluations(card: ClipCard) -> list[Json]:
    """The same questions with their true answers."""
    return [
        {
            "ID": number,
            "Dimension": dimension,
            "Dimension Polarity": polarity,
            "Question": question,
            "Answer": "Yes" if polarity == POSITIVE else "No",
            "Verdict": "Pass",
            "Reasoning": "Known from the simulation.",
        }
        for number, (dimension, polarity, question) in enumerate(_asked(card), start=1)
    ]


def _asked(card: ClipCard) -> list[tuple[str, str, str]]:
    name = card.target.name
    asked = [
        ("Instruction Following", POSITIVE, f"Does the {name} leave the view completely before the end?"),
        ("Instruction Following", NEGATIVE, "Does the camera stand still during the whole video?"),
        (
            "Object and Background",
            POSITIVE,
            f"Does the {name} in the last frame look like the same object as at first?",
        ),
        ("Object and Background", NEGATIVE, f"Is more than one {name} seen at the end?"),
        ("Physics Adherence", NEGATIVE, f"Does the {name} jump to another place while it is in view?"),
        ("Physics Adherence", POSITIVE, f"Does the {name} come back into view?"),
    ]
    for choice in card.question.choices:
        polarity = POSITIVE if choice == card.question.answer else NEGATIVE
        asked.append(("Continuity of Memory", polarity, f"{card.question.question} Is it: {choice}?"))
    return asked


def write_spreadsheet(path: Path, rows: Sequence[Sequence[str | int]]) -> None:
    """One sheet; the first row is the head."""
    try:
        from openpyxl import Workbook
    except ImportError as error:
        raise MissingExtra("The layout of MemoBench", "world") from error
    book = Workbook()
    for row in rows:
        book.active.append(list(row))
    write_whole(path, book.save)


TRUTH: Final = "data/Synthetic_processed"
TRACK_COLUMNS: Final = ("loc_x", "loc_y", "loc_z", "rot_x", "rot_y", "rot_z", "fx", "fy", "cx", "cy")
BANK_COLUMNS: Final = (
    "scene",
    "video_id",
    "Start Questions",
    "Evaluation on ground truth",
    "Evaluation on failure",
    "Revised Evaluation on failure",
    "Final questions",
)


@dataclass(frozen=True, slots=True)
class _Name:
    """`playroom_001`: a scene and a number."""

    scene: str
    number: int

    @property
    def clip(self) -> str:
        return f"{self.scene}_{self.number:03d}"

    @property
    def folder(self) -> str:
        return f"{TRUTH}/{self.scene}/{self.clip}"

    def frame(self, index: int, kind: str) -> str:
        """A file for one frame, from the root."""
        folder, suffix = ("RGB", "jpg") if kind == "picture" else ("Depth", "npy")
        return f"{self.folder}/{folder}{self.number}/NewLevelSequence{self.number}.{index:04d}.{suffix}"


def export_memobench(clips: Sequence[WorldClip], output: Path) -> ExportReport:
    """Families become scenes with numbered cases; clips whose target does not disappear and reappear are left out."""
    export = Export.start(clips, output, "memobench")
    numbers: Counter[str] = Counter()
    keyframes: list[list[str | int]] = []
    metadata: list[list[object]] = []
    listed: list[list[object]] = []
    for case, truth in export.memory_tests():
        card = truth.card
        numbers[card.family] += 1
        name = _Name(card.family, numbers[card.family])
        prompt = prompt_of(card)
        _write_truth(output, name, truth)
        _write_questions(output / f"data/vqa_questions/{name.scene}-{name.number}-questions.csv", name, card)
        for clip in case.clips:
            put(clip.video, output / "output" / contestant(clip.card) / "Synthetic" / f"{name.clip}.mp4")
            export.written += 1
        keyframes.append([name.clip, card.phases.disappeared[0], card.phases.reappeared[0], prompt])
        metadata.append([name.scene, name.number, card.target.name, name.frame(0, "picture"), prompt])
        listed.append([name.scene, name.number, "", name.clip, "Yes", prompt])
        export.names[case.name] = name.clip
    head: list[str | int] = ["video_folder", "exits", "re-enter", "prompt"]
    write_spreadsheet(output / TRUTH / "Synthetic_ExitReenter.xlsx", [head, *keyframes])
    columns = ("scene", "video_id", "subject", "exr_path", "prompt")
    write_rows(output / "data/sam3_metadata/synthetic_metadata.csv", columns, metadata)
    columns_listed = ("scene", "video_id", "hint", "folder", "Finished", "prompt")
    write_rows(output / "data/vqa_questions/failure-cases.csv", columns_listed, listed)
    return export.finish()


def prompt_of(card: ClipCard) -> str:
    """The caption after a sentence that marks the subject, as MemoBench expects."""
    return f"First person view: the observer sees the {card.target.name}(subject). {card.caption}"


def _write_truth(output: Path, name: _Name, truth: WorldClip) -> None:
    arrays, count = truth.arrays(), truth.card.frames
    for frame in frames(truth.video, count):
        write_picture(output / name.frame(frame.index, "picture"), frame.pixels)
    for index, depth in enumerate(truth.depth()):
        write_array(output / name.frame(index, "depth"), depth)
    lens = arrays.intrinsics[[0, 1, 0, 1], [0, 1, 2, 2]]
    lenses = np.tile(lens, (count, 1))
    folder = output / name.folder
    write_array(folder / str(name.number) / "intrinsics.npy", lenses)
    write_array(folder / str(name.number) / "poses.npy", arrays.camera_to_world)
    track = np.hstack([*to_camera_track(arrays.camera_to_world), lenses])
    write_rows(folder / f"camera_full{name.number}.csv", TRACK_COLUMNS, track.tolist())


def _write_questions(path: Path, name: _Name, card: ClipCard) -> None:
    """The workbook of all questions with their true answers; the sheets about failures are empty."""
    asked, answered = json.dumps(questions(card)), json.dumps(evaluations(card))
    write_rows(path, BANK_COLUMNS, [[name.scene, name.number, asked, answered, "[]", "[]", asked]])
