"""The doctor finds planted faults and names the likely reason; a slow disk is not one."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lookaway.calibration import doctor, doctor_checks, run_cards
from lookaway.calibration.doctor import CLIPS, FORM, examine, read_reference
from lookaway.calibration.doctor_checks import CheckResult, check_decoder, check_poses, check_storage
from lookaway.core import JudgeModel
from lookaway.io import video
from lookaway.io.pose_files import layouts
from lookaway.judges.oracle import Noise, OracleServer
from lookaway.judges.server import Connection
from lookaway.judges.settings import JudgeSettings
from lookaway.perception import opencv
from lookaway.perception.weights import CATALOGUE
from tests.support.hub import empty_hub, put_into_hub
from tests.support.rendered import copy_clips


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_clips(CLIPS.recipes(FORM), tmp_path_factory.mktemp("doctor") / "world")


@pytest.fixture
def measured_as_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measuring takes seconds: here it gives what was shipped."""
    values = {
        name: {clip: (known.value, known.reason) for clip, known in expected.values.items()}
        for name, expected in read_reference().metrics.items()
    }
    monkeypatch.setattr(doctor, "measure", lambda world, run: values)


@pytest.fixture
def no_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing torch takes seconds."""
    found = CheckResult(check="device", status="skipped", found="not in this test")
    monkeypatch.setattr(doctor, "check_device", lambda compute: found)


def faults(found: Any) -> dict[str, CheckResult]:
    return {finding.check: finding for finding in found if finding.status == "fault"}


def swap_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    convert = video.Video._to_pixels

    def swapped(self: Any, *arguments: Any) -> Any:
        return np.ascontiguousarray(convert(self, *arguments)[..., ::-1])

    monkeypatch.setattr(video.Video, "_to_pixels", swapped)


def test_a_healthy_installation_has_no_fault_in_its_parts(tmp_path):
    for finding in (check_decoder(), check_poses(), check_storage(tmp_path)):
        assert finding.status == "ok", finding
    assert list(tmp_path.iterdir()) == []


def test_swapped_channels_are_found(monkeypatch):
    swap_channels(monkeypatch)
    assert "BGR for RGB" in check_decoder().reason


@pytest.mark.parametrize(("shift", "said"), [(1, "off by 1"), (-1, "off by -1")])
def test_a_decoder_that_is_off_by_one_is_found(monkeypatch, shift, said):
    pictures = video.Decoder.pictures

    def shifted(self: Any, wanted: Any) -> Iterator[Any]:
        last = len(self.index) - 1
        for index in wanted:
            ((_, picture),) = pictures(self, [min(max(index + shift, 0), last)])
            yield index, picture

    monkeypatch.setattr(video.Decoder, "pictures", shifted)
    assert said in check_decoder().reason


def test_a_wrong_frame_rate_is_found(monkeypatch):
    timeline = video.Video.timeline.fget

    def doubled(self: Any) -> Any:
        found = timeline(self)
        return replace(found, times_seconds=found.times_seconds / 2)

    monkeypatch.setattr(video.Video, "timeline", property(doubled))
    finding = check_decoder()
    assert "20 frames per second" in finding.found
    assert "wrong frame rate" in finding.reason


def test_world_to_camera_for_camera_to_world_is_found(monkeypatch):
    convert = layouts.as_camera_to_world
    monkeypatch.setattr(layouts, "as_camera_to_world", lambda *given: np.linalg.inv(convert(*given)))
    assert check_poses().reason == "world-to-camera is taken for camera-to-world"


def test_a_slow_disk_is_not_a_fault(monkeypatch, tmp_path):
    seconds = iter([0.0, 90.0])
    monkeypatch.setattr(doctor_checks.time, "perf_counter", lambda: next(seconds))
    finding = check_storage(tmp_path)
    assert finding.status == "ok"
    assert "90.00 s" in finding.found


def test_storage_that_refuses_or_forgets_is_a_fault(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    assert check_storage(tmp_path / "file").status == "fault"
    monkeypatch.setattr(doctor_checks, "read_bytes", lambda path: b"")
    assert check_storage(tmp_path).reason == "storage does not keep what is written"


def test_storage_that_ignores_conditions_is_a_fault(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor_checks, "is_remote", lambda folder: True)
    monkeypatch.setattr(doctor_checks, "write_object_if", lambda path, content, version: "new")
    assert "If-None-Match" in check_storage(tmp_path).reason


def test_values_beyond_their_tolerance_deviate_by_a_named_amount():
    reference = read_reference()
    values = {
        name: {clip: (known.value, known.reason) for clip, known in expected.values.items()}
        for name, expected in reference.metrics.items()
    }
    values["look"]["perfect"] = (values["look"]["perfect"][0] + 0.01, None)
    values["cut"]["vanish-1.00"] = (None, "not_applicable")
    found = {
        each.found.partition(" ")[0]: each
        for each in doctor.compare(values, reference, [], reference.frames)
        if each.status == "fault"
    }
    assert set(found) == {"look", "cut"}
    assert "on perfect" in found["look"].found
    assert "off by 0.01" in found["look"].found
    assert "not_applicable on vanish-1.00" in found["cut"].found
    assert found["look"].reason.startswith("unknown")


def test_other_pixels_and_another_decoder_are_likely_reasons():
    reference = read_reference()
    other = reference.model_copy(update={"decoder": {**reference.decoder, "pyav": "1.0"}})
    reasons = {finding.reason for finding in doctor.compare({}, other, [], {})}
    assert len(reasons) == 1
    assert "another MuJoCo or Mesa; another pyav: found " in reasons.pop()


@pytest.mark.usefixtures("no_networks")
@pytest.mark.parametrize("damage", [lambda text: text[:1000], lambda text: text.replace('"value":', '"value": 1', 1)])
def test_truncated_or_changed_values_are_found(monkeypatch, tmp_path, damage):
    path = tmp_path / "reference_values.json"
    path.write_text(damage(json.dumps(read_reference().model_dump(mode="json"))))
    monkeypatch.setattr(doctor, "REFERENCE", path)
    found = faults(examine(tmp_path))
    assert "truncated or changed card" in found["cards"].reason


@pytest.mark.usefixtures("no_networks")
@pytest.mark.parametrize(
    "damage",
    [
        lambda packed: packed[:100_000],
        lambda packed: gzip.compress(re.sub(rb'"scenes":\d+', b'"scenes":999', gzip.decompress(packed), count=1)),
        lambda packed: b"other",
    ],
)
def test_a_truncated_or_changed_card_is_found(monkeypatch, tmp_path, damage):
    damaged = tmp_path / run_cards.SHIPPED.name
    damaged.write_bytes(damage(run_cards.SHIPPED.read_bytes()))
    monkeypatch.setattr(run_cards, "SHIPPED", damaged)
    monkeypatch.setattr(doctor, "shipped_cards", run_cards.shipped_cards.__wrapped__)
    found = faults(examine(tmp_path))
    assert "truncated or changed card" in found["cards"].reason


def test_wrong_weights_are_found(monkeypatch, tmp_path):
    empty_hub(tmp_path / "hub", monkeypatch)
    listing = CATALOGUE["dinov2-base"]
    put_into_hub(
        "dinov2-base", lambda folder: [(folder / name).write_text("other") for name in listing.files], listing.revision
    )
    found = faults(doctor_checks.check_installed_weights())
    assert found["weights"].found.startswith("dinov2-base: config.json has the SHA-256 ")
    assert "wrong weights" in found["weights"].reason


def test_another_opencv_is_found(monkeypatch):
    monkeypatch.setattr(opencv.load_opencv(), "__version__", "4.10.0")
    finding = doctor_checks.check_opencv(read_reference().opencv)
    assert (finding.status, finding.found) == ("fault", "4.10.0")
    assert "another OpenCV" in finding.reason


@pytest.mark.render
@pytest.mark.usefixtures("measured_as_shipped", "no_networks")
def test_a_changed_constant_is_named_with_both_values(monkeypatch, world, tmp_path):
    bind = doctor.bind_metrics

    def changed(*given: Any) -> Any:
        return [
            replace(bound, metric=replace(bound.metric, tau=12.0)) if bound.name == "rendering_lighting" else bound
            for bound in bind(*given)
        ]

    monkeypatch.setattr(doctor, "bind_metrics", changed)
    found = faults(examine(tmp_path, world=world))
    assert set(found) == {"constants"}
    assert found["constants"].found == "rendering_lighting: metric.tau is 12.0, expected 10.0"
    assert "a changed constant of rendering_lighting" in found["constants"].reason


@contextmanager
def judged_by(world: Path, noise: Noise) -> Iterator[JudgeSettings]:
    with OracleServer(world, noise=noise) as server:
        yield JudgeSettings(model=JudgeModel(model="oracle"), connection=Connection(url=server.base_url))


@pytest.mark.render
@pytest.mark.server
@pytest.mark.parametrize(("bias", "said"), [(12.0, "always says yes"), (-12.0, "always says no")])
def test_a_judge_that_always_says_the_same_is_found(world, tmp_path, bias, said):
    with judged_by(world, Noise(yes_bias=bias)) as settings:
        finding = doctor.check_planted_pairs(settings, world, tmp_path)
    assert finding.status == "fault"
    assert said in finding.reason


@pytest.mark.render
@pytest.mark.server
def test_a_judge_that_knows_the_answers_passes(world, tmp_path):
    with judged_by(world, Noise()) as settings:
        finding = doctor.check_planted_pairs(settings, world, tmp_path)
    assert (finding.status, finding.found) == ("ok", "oracle: 12 of 12 planted answers right")


@pytest.mark.merge
@pytest.mark.render
def test_a_healthy_installation_measures_what_was_shipped(world, tmp_path):
    found = list(examine(tmp_path, world=world))
    assert [finding for finding in found if finding.status == "fault"] == []
    assert [finding.status for finding in found if finding.check == "calibration"] == ["ok"] * len(doctor.METRICS)


@pytest.mark.merge
@pytest.mark.render
def test_swapped_channels_make_metrics_deviate_and_are_their_likely_reason(monkeypatch, world, tmp_path):
    swap_channels(monkeypatch)
    found = [finding for finding in examine(tmp_path, world=world) if finding.status == "fault"]
    deviating = {finding.found.partition(" ")[0]: finding for finding in found if finding.check == "calibration"}
    assert "rendering_lighting" in deviating
    assert "BGR for RGB" in deviating["rendering_lighting"].reason
