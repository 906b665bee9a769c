"""What datasets say about the videos of pairs: prompts and conditions, and whether files are as they were measured."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from lookaway.core import Case, Indices, Rollout, UserError, VideoError
from lookaway.engine.about import options_of
from lookaway.engine.locking import content_key
from lookaway.engine.reading import load_suite, read
from lookaway.engine.run import Run
from lookaway.io.files import content_hash
from lookaway.io.video import Video
from lookaway.training.pairs.run_columns import Flags, RunColumns
from lookaway.training.pairs.scenes import in_several

OPEN_AT_ONCE: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseText:
    """What a model was given."""

    prompt: str
    first_frame: str | None
    actions: tuple[str, ...] | None
    camera: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoFacts:
    """What the file of a rollout is."""

    sha256: str
    """As `content_hash` has it: of the size and at most 1 MiB of the content."""
    fps: float | None
    frames: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What is known of the cases and videos of pairs; nothing where datasets are not read."""

    cases: Mapping[int, CaseText] = field(default_factory=dict)
    """By number of the case."""
    videos: Mapping[int, VideoFacts] = field(default_factory=dict)
    """By number of the rollout; those whose files are as they were measured."""
    dropped: Mapping[int, str] = field(default_factory=dict)
    """Why a rollout makes no pair, by its number."""
    is_read: bool = False

    def is_dropped(self, count: int) -> Flags:
        """For each of so many rollouts, whether it makes no pair."""
        found = np.zeros(count, np.bool_)
        found[list(self.dropped)] = True
        return found

    def video_numbers(self, count: int) -> Indices:
        """For each of so many rollouts, a number that equal files share."""
        hashes = {sha256: number for number, sha256 in enumerate(sorted({v.sha256 for v in self.videos.values()}))}
        found = np.arange(count) + len(hashes)
        for place, facts in self.videos.items():
            found[place] = hashes[facts.sha256]
        return found


def describe_videos(columns: RunColumns, wanted: Indices) -> Described:
    """Read the datasets of the runs again, and look at the files of some rollouts."""
    cases: dict[int, CaseText] = {}
    videos: dict[int, VideoFacts] = {}
    dropped: dict[int, str] = {}
    rows = columns.table.select(["rollout", "content", "run"]).take(pa.array(wanted)).to_pylist()
    for number, run in enumerate(columns.runs):
        known = _dataset(run)
        own = [(place, row) for place, row in zip(wanted.tolist(), rows, strict=True) if row["run"] == number]
        for place, row in own:
            if (rollout := known.get(row["rollout"])) is not None:
                _add_case(cases, int(columns.cases[place]), rollout.case, run)
        with ThreadPoolExecutor(OPEN_AT_ONCE) as pool:
            looked = pool.map(_look, [known.get(row["rollout"]) for _, row in own], [row["content"] for _, row in own])
            for (place, _), found in zip(own, looked, strict=True):
                if isinstance(found, str):
                    dropped[place] = found
                else:
                    videos[place] = found
    described = Described(cases=cases, videos=videos, dropped=dropped, is_read=True)
    return _without_shared(columns, described)


def _dataset(run: Run) -> Mapping[str, Rollout]:
    about = run.about
    root = about.get("dataset")
    try:
        if not isinstance(root, str):
            raise UserError("the run does not record where its dataset is.")
        options = options_of(load_suite(about["suite"]), about, run.lock)
        dataset = read(Path(root), suite=about["suite"], **options)
    except (UserError, OSError) as error:
        raise UserError(
            f"{run.path}: its dataset cannot be read again for prompts and videos: {error} Put it back, or leave out "
            "prompts, frame rates and the check of files with --without-dataset."
        ) from error
    return {rollout.id: rollout for rollout in dataset.rollouts}


def _add_case(cases: dict[int, CaseText], number: int, case: Case, run: Run) -> None:
    text = CaseText(
        prompt=" ".join(case.prompt),
        first_frame=None if case.first_frame is None else str(case.first_frame),
        actions=case.controls,
        camera=case.action,
    )
    known = cases.setdefault(number, text)
    if (known.prompt, known.actions, known.camera) != (text.prompt, text.actions, text.camera):
        raise UserError(
            f"The case {case.id!r} has another prompt or another path in {run.path} than in an earlier run, so it is "
            "not one case. Mine pairs of runs of the same dataset."
        )


def _look(rollout: Rollout | None, content: str) -> VideoFacts | str:
    if rollout is None:
        return "not in the dataset any more"
    if not _is_text(rollout.video):
        return "its path is not text"
    if content_key(rollout) != content:
        return "changed since it was measured"
    try:
        with Video(rollout.video) as video:
            timeline = video.timeline
            return VideoFacts(sha256=content_hash(rollout.video), fps=timeline.fps, frames=timeline.frame_count)
    except (VideoError, OSError):
        return "its video cannot be read"


def _is_text(path: Path) -> bool:
    try:
        return "\0" not in os.fspath(path) and bool(os.fspath(path).encode())
    except UnicodeEncodeError:
        return False


def _without_shared(columns: RunColumns, described: Described) -> Described:
    """Videos whose content another scene has too would be in two splits."""
    places = np.array(list(described.videos), np.int64)
    numbers = described.video_numbers(len(columns))[places]
    shared = places[in_several(numbers, columns.scenes[places])] if len(places) else places
    dropped = {**described.dropped, **dict.fromkeys(shared.tolist(), "its video is that of another scene")}
    return Described(cases=described.cases, videos=described.videos, dropped=dropped, is_read=True)


def relative_paths(paths: Sequence[str], root: Path | None) -> list[str]:
    """Paths of videos as they are written: as the runs have them, or below a folder."""
    if root is None:
        return list(paths)
    base = os.path.abspath(root)
    found = []
    for path in paths:
        whole = os.path.abspath(path)
        if os.path.commonpath([base, whole]) != base:
            raise UserError(
                f"{path}: not below {root}, to which paths should be relative. Name a folder that holds all videos "
                "with --relative-to, or leave it out."
            )
        found.append(os.path.relpath(whole, base))
    return found
