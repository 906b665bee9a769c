from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest

import lookaway
from lookaway.core import Case, Dataset, Reason, Rollout, Sampler, Unmeasurable
from lookaway.engine import feature_job
from lookaway.io.sampling import BySegment
from lookaway.io.video import Video
from tests.support.runs import events, statuses
from tests.support.scripted import CALLS, CRASHES, Brightness, bound, script
from tests.support.tiny import FRAMES, write_folder


@dataclass(frozen=True, slots=True)
class FilmedBrightness(Brightness):
    """Brightness that depends on the video alone."""

    of_video: ClassVar[bool] = True
    frames: Sampler | None = None


def described(dataset: Dataset, prompt: str) -> Dataset:
    """The same videos with another prompt."""
    rollouts = (replace(one, case=replace(one.case, prompt=(prompt,))) for one in dataset.rollouts)
    return replace(dataset, rollouts=tuple(rollouts))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "videos", cases=1)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often a video was opened and how often its frames were gone through."""
    counts: Counter[str] = Counter()

    class CountingVideo(Video):
        def __init__(self, path: Path) -> None:
            counts["opened"] += 1
            super().__init__(path)

        def frames(self, requests, *, keep=False):
            counts["passes"] += 1
            return super().frames(requests, keep=keep)

    monkeypatch.setattr(feature_job, "Video", CountingVideo)
    return counts


def test_a_feature_is_perceived_once_whichever_metrics_ask_for_it(root, tmp_path, monkeypatch):
    script(monkeypatch, bound("first"), bound("second"), bound("third", scale=100.0))
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    assert CALLS["brightness.finish"] == 1
    assert CALLS["brightness.add_frame"] == FRAMES
    assert statuses(tmp_path / "run") == {"first": "score", "second": "score", "third": "score"}


def test_all_extractors_share_one_pass_over_the_video(root, tmp_path, monkeypatch, opened):
    recipes = [Brightness(name=f"brightness{number}") for number in range(3)]
    script(monkeypatch, *(bound(f"metric{number}", recipe) for number, recipe in enumerate(recipes)))
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    assert opened == {"opened": 1, "passes": 1}
    assert [event["decoded_frames"] for event in events(tmp_path / "run")] == [FRAMES]


def test_an_extractor_is_loaded_once_for_all_rollouts(tmp_path, monkeypatch):
    script(monkeypatch, bound())
    lookaway.evaluate(write_folder(tmp_path / "videos", cases=3), tmp_path / "run", suite="scripted")
    assert CALLS["brightness.load"] == 1
    assert CALLS["brightness.finish"] == 3


def test_recipes_that_differ_in_one_constant_are_two_features(root, tmp_path, monkeypatch):
    script(monkeypatch, bound("plain"), bound("doubled", Brightness(weight=2.0)))
    run = lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    values = {row["metric"]: row["value"] for row in run.items()}
    assert CALLS["brightness.finish"] == 2
    assert values["doubled"] == pytest.approx(2 * values["plain"])


def test_a_feature_made_from_another_is_perceived_after_it(root, tmp_path, monkeypatch):
    ground = Brightness(name="ground")
    script(monkeypatch, bound("derived", Brightness(from_features=(ground,))))
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    assert CALLS["ground.finish"] == CALLS["brightness.finish"] == 1
    assert statuses(tmp_path / "run") == {"derived": "score"}


def test_a_feature_made_from_another_finds_the_pictures_already_decoded(root, tmp_path, monkeypatch, opened):
    ground = Brightness(name="ground")
    script(monkeypatch, bound("derived", Brightness(from_features=(ground,))))
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    assert opened == {"opened": 1, "passes": 2}
    assert [event["decoded_frames"] for event in events(tmp_path / "run")] == [FRAMES]


def test_what_keeps_an_extractor_from_loading_is_found_out_once(tmp_path, monkeypatch):
    script(monkeypatch, bound())
    CRASHES["brightness.load"] = Unmeasurable(Reason.MISSING_WEIGHTS, "there are no weights.")
    lookaway.evaluate(write_folder(tmp_path / "videos", cases=3), tmp_path / "run", suite="scripted")
    assert CALLS["brightness.load"] == 1
    assert set(statuses(tmp_path / "run").values()) == {"missing_weights"}


def test_a_metric_added_later_uses_kept_features_without_opening_the_video(root, tmp_path, monkeypatch, opened):
    script(monkeypatch, bound("first"), bound("second"))
    lookaway.evaluate(root, tmp_path / "run", suite="scripted", metrics=["first"])
    lookaway.evaluate(root, tmp_path / "run", suite="scripted", metrics=["first", "second"])
    assert opened["opened"] == 1
    assert CALLS["first.measure"] == CALLS["second.measure"] == 1
    assert [event["decoded_frames"] for event in events(tmp_path / "run")] == [FRAMES, 0]


def test_runs_with_one_folder_of_features_share_them(root, tmp_path, monkeypatch, opened):
    script(monkeypatch, bound())
    for name in ("one", "two"):
        lookaway.evaluate(root, tmp_path / name, suite="scripted", features=tmp_path / "features")
    assert opened["opened"] == 1
    assert not (tmp_path / "one" / "features").exists()


def test_a_feature_of_the_video_is_used_again_after_the_manifest_changed(root, tmp_path, monkeypatch):
    script(monkeypatch, bound("first", FilmedBrightness()))
    dataset = lookaway.read(root, suite="scripted")
    for prompt in ("a kitchen", "a kitchen at night"):
        lookaway.evaluate(described(dataset, prompt), tmp_path / "run", new=True)
    assert CALLS["brightness.finish"] == 1
    assert CALLS["first.measure"] == 2


@pytest.mark.parametrize(
    "recipe",
    [
        Brightness(),
        FilmedBrightness(frames=BySegment(2)),
        FilmedBrightness(from_features=(Brightness(name="ground"),)),
    ],
    ids=["itself", "its frames", "what it needs"],
)
def test_a_feature_that_may_depend_on_the_case_is_perceived_again_with_it(root, tmp_path, monkeypatch, recipe):
    script(monkeypatch, bound("first", recipe))
    dataset = lookaway.read(root, suite="scripted")
    for prompt in ("a kitchen", "a kitchen at night"):
        lookaway.evaluate(described(dataset, prompt), tmp_path / "run", new=True)
    assert CALLS["brightness.finish"] == 2


def test_an_extractor_of_the_video_is_told_nothing_of_the_case(root, tmp_path, monkeypatch):
    seen = []
    start = Brightness.start
    monkeypatch.setattr(FilmedBrightness, "start", lambda *given: seen.append(given[1]) or start(*given), raising=False)
    script(monkeypatch, bound("first", FilmedBrightness()))
    dataset = described(lookaway.read(root, suite="scripted"), "a kitchen")
    lookaway.evaluate(dataset, tmp_path / "run")
    (rollout,) = dataset.rollouts
    assert seen == [Rollout(case=Case(id="video", subset="", scene=""), model="", video=rollout.video)]


def test_a_damaged_kept_feature_is_perceived_again(root, tmp_path, monkeypatch):
    script(monkeypatch, bound("first"), bound("second"))
    lookaway.evaluate(root, tmp_path / "run", suite="scripted", metrics=["first"])
    (kept,) = (tmp_path / "run" / "features").rglob("*.npz")
    kept.write_bytes(kept.read_bytes()[:100])
    run = lookaway.evaluate(root, tmp_path / "run", suite="scripted", metrics=["first", "second"])
    assert CALLS["brightness.finish"] == 2
    first, second = (row["value"] for row in run.items())
    assert first == second
