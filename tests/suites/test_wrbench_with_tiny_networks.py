"""Visual integrity end to end: real loading code, a tiny random network in the files of the published one."""

from __future__ import annotations

import numpy as np
import pytest

from lookaway.engine.evaluate import evaluate
from lookaway.engine.reading import read
from lookaway.engine.run import Run
from tests.support.clips import write_clip
from tests.support.hub import empty_hub, publish
from tests.support.networks import tiny_dinov2
from tests.support.picture_networks import noise
from tests.support.wrbench import WrBenchWriter

pytestmark = pytest.mark.merge


def test_integrity_by_a_tiny_network_is_full_for_a_still_picture_and_less_for_noise(tmp_path, monkeypatch):
    empty_hub(tmp_path / "home", monkeypatch)
    publish(tiny_dinov2(), monkeypatch)
    writer = WrBenchWriter(tmp_path / "set")
    still, restless = np.repeat(noise(1, 96, 160), 24, axis=0), noise(24, 96, 160)
    for model, pictures in (("still", still), ("restless", restless)):
        write_clip(writer.add(model=model, camera="static", level="T0"), list(pictures), fps=12)
    for metric, options in (
        ("wrbench.visual_integrity", {}),
        ("wrbench.corrected.visual_integrity", {}),
        ("wrbench.visual_integrity", {"released_integrity": True}),
    ):
        run = tmp_path / f"{metric}{len(options)}"
        evaluate(read(writer.root, **options), run, metrics=[metric])
        rows = {row["model"]: row for row in Run(run).items()}
        assert rows["still"]["value"] > 0.99
        assert rows["restless"]["value"] < rows["still"]["value"]
