"""The suite as published beside what MIND's own code gave."""

from __future__ import annotations

import numpy as np
import pytest

import lookaway
from lookaway.suites.mind import protocol
from tests.support.clips import LOSSLESS, write_clip
from tests.support.golden import golden_arrays, golden_numbers
from tests.support.mind import MindWriter, actions

MARK, FRAMES, SCORED = 3, 250, 200
NEAR = {"mse": 1e-8, "psnr": 1e-5, "ssim": 5e-6}


@pytest.mark.golden("mind.json", metrics=["mind.lcm.mse", "mind.lcm.psnr", "mind.lcm.ssim"])
def test_the_suite_as_published_gives_the_official_numbers_of_the_official_frames(tmp_path, monkeypatch):
    monkeypatch.setattr(protocol, "CANVAS", None)  # the official numbers are of frames that were not resized
    pictures, official = golden_arrays("mind"), golden_numbers("mind")["lcm"]
    truth, answer, shown = pictures["gt"], pictures["pred"], np.arange(FRAMES) % 10
    quick = {**LOSSLESS, "options": {"qp": "0", "preset": "ultrafast"}}
    ours = write_clip(tmp_path / "answer.mp4", answer[shown], **quick)
    theirs = write_clip(tmp_path / "truth.mp4", np.concatenate([truth[-MARK:], truth[shown]]), **quick)
    writer = MindWriter(tmp_path / "data")
    writer.case(record=actions(MARK, MARK + FRAMES), video=theirs.read_bytes())
    writer.answer(video=ours.read_bytes())
    names = [f"mind.lcm.{name}" for name in NEAR]
    run = lookaway.evaluate(writer.root, tmp_path / "run", metrics=names, as_published=True)
    assert {row["metric"]: row["status"] for row in run.items()} == dict.fromkeys(names, "score")
    for name, units in run.frames(names):
        order = np.argsort(units.frames)
        assert units.frames[order].tolist() == list(range(SCORED))
        expected = np.array(official[name.rpartition(".")[2]])[shown[:SCORED]]
        np.testing.assert_allclose(units.values[order], expected, atol=NEAR[name.rpartition(".")[2]], rtol=0)
