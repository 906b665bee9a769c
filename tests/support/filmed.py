"""Runs over small videos that can be watched: what a site shows of them is known."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lookaway.core import Abstention, JudgeModel, JudgeRequest, Lock, Outcome, Picture, Reason, Rollout, Score, Unit
from lookaway.engine.locking import content_key
from lookaway.engine.reading import read
from lookaway.io.encoding import write_video
from lookaway.judges.reply_store import ReplyStore
from lookaway.store.outcome_rows import Measured
from lookaway.store.run_folder import RunFolder

FRAMES, PAIRS, JUDGED = "psnr", "spatial_epipolar", "state_progress"
LOCKS = {FRAMES: "a" * 32, PAIRS: "b" * 32, JUDGED: "c" * 32}
QUESTION, ANSWER = "How far did the candle burn?", '{"rating": 4, "reason": "It is shorter."}'
HOSTILE = "\"'><script>window.hacked=1</script><img src=x onerror=window.hacked=1>\u202e\u2028${alert(1)}{{7*7}}"


def write_numbers(path: Path, count: int = 16, fps: int = 8, *, lossless: bool = False) -> Path:
    """A video whose brightness rises from frame to frame."""
    rows = np.linspace(0, 120, 48, dtype=np.uint8)[:, None, None]
    frames = (np.broadcast_to(rows + np.uint8(6 * n % 120), (48, 64, 3)).copy() for n in range(count))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_video(path, frames, fps, lossless=lossless)
    return path


@dataclass
class FilmedRun:
    """A folder of videos with its manifest, and a run over it."""

    root: Path
    lines: list[dict[str, Any]] = field(default_factory=list)
    question: str = QUESTION
    answer: str = ANSWER

    @property
    def run(self) -> Path:
        """Folder of the run."""
        return self.root / "run"

    @property
    def videos(self) -> Path:
        """Folder of the dataset."""
        return self.root / "videos"

    def film(self, model: str, case: str = "candle", *, count: int = 16, fps: int = 8, **fields: Any) -> Path:
        """Write one video and its line of the manifest."""
        path = self.videos / fields.pop("file", f"{len(self.lines)}.mp4")
        write_numbers(path, count, fps)
        phases = {"visible": [0, count // 4], "disappeared": [count // 4, count // 2], "back": [count // 2, count]}
        line = {"video": path.name, "model": model, "case": case, "prompt": ["It burns.", "It is shorter."]}
        self.lines.append({**line, "phases": phases, **fields})
        return path

    def write(self, outcomes: Mapping[str, Sequence[Outcome]] | None = None) -> Path:
        """Write manifest and run; `outcomes` by metric, one for each line, in place of the usual ones."""
        manifest = self.videos / "manifest.jsonl"
        manifest.write_text("".join(json.dumps(line) + "\n" for line in self.lines))
        rollouts = {rollout.id: rollout for rollout in read(self.videos).rollouts}
        folder = RunFolder(self.run)
        metrics = list(LOCKS) if outcomes is None else list(outcomes)
        locks = {name: LOCKS.get(name, "d" * 32) for name in metrics}
        folder.start(_lock(metrics), [(r, content_key(r)) for r in rollouts.values()], self._about(locks))
        for number, rollout in enumerate(rollouts.values()):
            folder.add(
                [
                    Measured(
                        rollout=rollout.id,
                        content=content_key(rollout),
                        metric=name,
                        lock=locks[name],
                        outcome=outcomes[name][number] if outcomes else self._usual(name, rollout, number),
                    )
                    for name in metrics
                ]
            )
        return self.run

    def _about(self, locks: Mapping[str, str]) -> dict[str, Any]:
        asked = [{"name": name, "lock": lock, "subsets": None, "is_gate": False} for name, lock in locks.items()]
        return {
            "suite": "folder",
            "dataset": str(self.videos),
            "lock_sha256": "e" * 64,
            "problems": [],
            "metrics": asked,
        }

    def _usual(self, metric: str, rollout: Rollout, number: int) -> Outcome:
        if metric == FRAMES:
            units = tuple(Unit(f"f{frame}", Score(30.0 + number + frame % 5)) for frame in range(16))
            return Score(32.0 + number, units=units)
        if metric == PAIRS:
            if number == 1:
                return Abstention(Reason.TOO_FEW_MATCHES, "7 matches were found, 8 are needed.")
            return Score(0.5, raw=1.25, units=tuple(Unit(f"f0_f{frame}", Score(frame / 16)) for frame in range(8, 12)))
        return Score(0.75, raw=4.0, detail={"replies": [self._reply(rollout)]})

    def _reply(self, rollout: Rollout) -> str:
        pictures = tuple(Picture(index, index / 8, np.full((2, 2, 3), index, np.uint8)) for index in (0, 5, 15))
        request = JudgeRequest(
            judge=JudgeModel(model="oracle"),
            system="Be exact.",
            instruction=self.question,
            pictures=pictures,
            material=f"<material>{rollout.id}</material>",
        )
        message = {"content": self.answer}
        reply = {"model": "oracle-1", "choices": [{"message": message, "finish_reason": "stop"}]}
        ReplyStore(self.run / "replies").put(request, reply)
        return request.key()


def _lock(metrics: Sequence[str]) -> Lock:
    entries = {name: {"metric": {"kind": name}, "features": {}, "software": {}, "decoder": {}} for name in metrics}
    return Lock({"suite": {"name": "folder", "version": 1}, "dataset": {"settings": {}}, "metrics": entries})
