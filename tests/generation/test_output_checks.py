"""Black outputs, and outputs that start with another picture, are told from all that only look different."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lookaway.core import FrameRequest, UserError, plugins
from lookaway.generation.collect import collect_outputs
from lookaway.generation.export import export_cases
from lookaway.generation.output_checks import OutputProblem, check_output, is_same_picture
from lookaway.generation.request import FirstFrame
from lookaway.generation.work_plan import PLAN, read_plan
from lookaway.io.encoding import write_video
from lookaway.io.pictures import picture_pixels, png_bytes
from lookaway.io.video import Video
from lookaway.perception.opencv import load_opencv
from tests.generation.golden import request, there_and_back
from tests.generation.outputs import FPS, HEIGHT, WIDTH, pictures
from tests.support.beside import DATA, needs_clips, needs_natural25

STARTS = {
    "case_b_inspatio": "loading_dock_worker_pallet_box_place",
    "case_b_spatia": "loading_dock_worker_pallet_box_place",
    "case_d_inspatio": "kitchen_cat_cup_knock",
    "cat_drag_wan22_5b_yaw_rl60": "bedroom_cat_bed_jump",
    "cat_expected_inspatio_yaw_rl60": "bedroom_cat_bed_jump",
    "cat_reobs_worldplay_yaw_rl60": "bedroom_cat_bed_jump",
}
"""Clips of real models and the pictures that they were given; the others started from pictures that are not here."""


def start(seed, **form):
    return next(iter(pictures(seed, **form)))


def resized(picture, width, height):
    return load_opencv().resize(picture, (width, height), interpolation=load_opencv().INTER_AREA)


def made_item(work, *, seed=1, model="wan-fun-camera"):
    """An item of eight small frames, which starts from a picture of twice the size."""
    given = start(seed, width=2 * WIDTH, height=2 * HEIGHT)
    frame = FirstFrame(suffix=".png", content=png_bytes(given), width=2 * WIDTH, height=2 * HEIGHT)
    asked = replace(request(there_and_back(frames=9)), first_frame=frame)
    export_cases([asked], plugins.load("adapters", model)(), (0,), work)
    (item,) = read_plan(work)
    item = item.model_copy(update={"width": WIDTH, "height": HEIGHT, "frames": 8, "fps": FPS})
    (work / PLAN).write_text(f"{item.model_dump_json()}\n")
    return item, given


def output_of(outputs, item, seed):
    """An output that is half the size of its first frame."""
    frames = pictures(seed, width=2 * WIDTH, height=2 * HEIGHT)
    video = outputs / item.folder / item.output
    video.parent.mkdir(parents=True)
    write_video(video, (resized(frame, WIDTH, HEIGHT) for frame in frames), fps=FPS)
    return video


def kinds(report):
    return [finding.kind for _, finding in report.findings()]


@pytest.mark.parametrize(("seed", "expected"), [(1, []), (2, [OutputProblem.FIRST_FRAME])])
def test_an_output_of_another_case_is_not_measured_as_this_one(tmp_path, seed, expected):
    item, _ = made_item(tmp_path / "work", seed=1)
    output_of(tmp_path / "outputs", item, seed)
    report = collect_outputs(tmp_path / "work", tmp_path / "outputs", tmp_path / "dataset")
    assert kinds(report) == expected
    assert report.usable == (seed == 1)


@pytest.mark.parametrize("model", ["sana-wm", "minwm-wan", "text", "yume"])
def test_a_model_whose_outputs_do_not_start_with_the_picture_is_not_accused(tmp_path, model):
    item, given = made_item(tmp_path / "work", model=model)
    video = output_of(tmp_path / "outputs", item.model_copy(update={"output": "a.mp4"}), 2)
    card = plugins.load("adapters", model).card
    found = check_output(video, item, card, first_frame=given).findings
    assert OutputProblem.FIRST_FRAME not in [finding.kind for finding in found]


def test_a_first_frame_that_is_no_picture_is_one_message(tmp_path):
    item, _ = made_item(tmp_path / "work")
    output_of(tmp_path / "outputs", item, 1)
    (tmp_path / "work" / "cases" / item.folder / "first_frame.png").write_bytes(b"no picture")
    with pytest.raises(UserError, match="Export the cases again"):
        collect_outputs(tmp_path / "work", tmp_path / "outputs", tmp_path / "dataset")


def looks(picture):
    """A picture as models and encoders give it back."""
    cv2 = load_opencv()
    height, width = picture.shape[:2]
    edge = (width - height) // 2
    noise = np.random.default_rng(0).normal(0, 25, picture.shape)
    return {
        "smaller": resized(picture, width // 3, height // 3),
        "stretched": resized(picture, height, width),
        "cut to a square": picture[:, edge : edge + height],
        "darker": (picture * 0.5).astype(np.uint8),
        "brighter": np.clip(picture * 1.2 + 20, 0, 255).astype(np.uint8),
        "blurred": cv2.GaussianBlur(picture, (0, 0), 3),
        "noisy": np.clip(picture + noise, 0, 255).astype(np.uint8),
        "compressed": cv2.imdecode(cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, 10])[1], 1),
        "faded to grey": np.full_like(picture, 90),
    }


def test_a_picture_is_the_same_however_it_was_resized_cut_or_encoded():
    for seed in range(8):
        given = start(seed, width=320, height=176)
        assert [name for name, shown in looks(given).items() if not is_same_picture(given, shown)] == []


def test_a_picture_is_no_other_picture():
    shown = [start(seed, width=320, height=176) for seed in range(8)]
    same = [(a, b) for a in range(8) for b in range(8) if is_same_picture(shown[a], shown[b])]
    assert same == [(number, number) for number in range(8)]


@pytest.mark.merge
@needs_clips
@needs_natural25
def test_clips_of_real_models_start_with_their_own_picture_and_with_no_other():
    starts = sorted((DATA / "wrbench" / "natural25" / "first_frames").glob("*.png"))
    given = {path.stem: picture_pixels(path.read_bytes()) for path in starts}
    assert len(given) == 4
    for path in sorted((DATA / "wrbench" / "videos").glob("*.mp4")):
        with Video(path) as video:
            _, first = next(video.frames([FrameRequest(frozenset([0]))]))
        found = [name for name, picture in given.items() if is_same_picture(picture, first.pixels)]
        assert found == [STARTS[path.stem]] if path.stem in STARTS else found == [], path.name


@pytest.mark.parametrize(("brightness", "expected"), [(0.0, [OutputProblem.BLACK]), (0.12, []), (1.0, [])])
def test_a_black_output_is_told_from_a_dark_one_and_is_measured(tmp_path, brightness, expected):
    item, _ = made_item(tmp_path / "work")
    video = tmp_path / "a.mp4"
    write_video(video, pictures(1, brightness=brightness), fps=FPS)
    found = check_output(video, item, plugins.load("adapters", "wan-fun-camera").card).findings
    assert [finding.kind for finding in found] == expected
    assert all(finding.is_note for finding in found)


def test_two_black_outputs_are_no_collision(tmp_path):
    adapter = plugins.load("adapters", "wan-fun-camera")()
    cases = [request(there_and_back(frames=9), case=name) for name in ("a", "b")]
    export_cases(cases, adapter, (0,), tmp_path / "work")
    for item in read_plan(tmp_path / "work"):
        video = tmp_path / "outputs" / item.folder / item.output
        video.parent.mkdir(parents=True)
        black = np.zeros((item.height, item.width, 3), np.uint8)
        write_video(video, (black for _ in range(item.frames)), fps=int(item.fps))
    report = collect_outputs(tmp_path / "work", tmp_path / "outputs", tmp_path / "dataset")
    assert kinds(report) == [OutputProblem.BLACK, OutputProblem.BLACK]
    assert report.usable == 2
