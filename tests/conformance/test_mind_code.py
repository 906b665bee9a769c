"""Each number that MIND's released code writes, worked out again in a few lines, against what its published name gives.

Its paper was not at hand; `specs` and the audit were made from its code, CSU-JPG/MIND at 8f9c59c.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import lookaway
from lookaway.core import (
    Abstention,
    Case,
    Feature,
    Reason,
    Reference,
    Rollout,
    Score,
    Timeline,
    Trajectory,
    Unmeasurable,
)
from lookaway.engine.reading import load_suite
from lookaway.perception.networks.fits import CentreCrop
from lookaway.suites.mind import protocol
from lookaway.suites.mind.records import FrameKeys
from tests.support.clips import LOSSLESS, numbered_frames, write_clip
from tests.support.golden import golden_arrays, golden_numbers
from tests.support.hub import empty_hub
from tests.support.mind import MindWriter, actions
from tests.support.picture_networks import noise, tiny_dinov3
from tests.support.room import trajectory
from tests.support.watching import perceive

NUMBERS = {
    "lcm.length": "test_lcm_scores_all_frames_but_those_of_the_last_batch_of_100",
    "lcm.mse": "test_lcm_mse_psnr_and_ssim_are_those_of_the_code",
    "lcm.psnr": "test_lcm_mse_psnr_and_ssim_are_those_of_the_code",
    "lcm.ssim": "test_lcm_mse_psnr_and_ssim_are_those_of_the_code",
    "lcm.lpips": "needs weights; AlexNet on inputs from -1 to 1: tests/perception/test_lpips_pairs.py, random weights",
    "gsc.length": "test_gsc_pairs_frame_i_with_frame_n_minus_1_minus_i_and_refuses_odd_numbers",
    "gsc.mse": "test_gsc_mse_is_that_of_the_code",
    "gsc.psnr": "test_gsc_mse_is_that_of_the_code",
    "gsc.ssim": "the metric of lcm.ssim on the pairs of gsc",
    "gsc.lpips": "the metric of lcm.lpips on the pairs of gsc",
    "visual_quality.imaging": "test_imaging_is_the_quality_divided_by_100",
    "visual_quality.aesthetic": "test_aesthetic_is_the_score_divided_by_10",
    "dino.dino_mse": "test_dino_mse_is_that_of_frames_divided_by_255_twice",
    "action.rpe_trans_mean": "test_rpe_translation_is_that_of_the_code",
    "action.rpe_trans_median": "test_rpe_translation_is_that_of_the_code",
    "action.rpe_rot_mean_deg": "test_rpe_rotation_is_that_of_the_code",
    "action.rpe_rot_median_deg": "test_rpe_rotation_is_that_of_the_code",
    "action.count": "test_outliers_are_left_out_and_8_steps_must_remain",
    "mark_time": "read from action.json; no score",
    "total_time": "read from action.json; no score",
    "sample_frames": "a number of frames; no score",
    "video_max_time": "an option; no score",
}
"""Every number of `Result.json`: the test of it, or why there is none."""
NEAR = {"mse": 1e-8, "psnr": 1e-5, "ssim": 5e-6}
"""The code computes in single precision."""
MARK, FRAMES = 3, 250
BOUND = {bound.name: bound for bound in load_suite("mind").metrics({})}


def golden() -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    return golden_numbers("mind"), golden_arrays("mind")


def rollout(controls: list[str] | None = None, **reference: Any) -> Rollout:
    case = Case(
        id="a", subset="1st_data/mem_test", scene="a", controls=None if controls is None else tuple(controls),
        reference=Reference(**{"video": Path("true.mp4"), **reference}),
    )  # fmt: skip
    return Rollout(case=case, model="model", video=Path("clip.mp4"))


def test_every_number_of_the_result_file_has_a_test_or_a_reason():
    families = {"lcm": "lcm", "gsc": "gsc", "visual_quality": "visual", "dino": "dino"}
    for key, said in NUMBERS.items():
        family, _, name = key.partition(".")
        assert said in globals() if said.startswith("test_") else " " in said
        if family in families and name != "length":
            assert BOUND[f"mind.{families[family]}.{name}"].is_of("published")


# lcm


def test_lcm_mse_psnr_and_ssim_are_those_of_the_code(tmp_path, monkeypatch):
    monkeypatch.setattr(protocol, "CANVAS", None)  # the official numbers are of frames that were not resized
    official, pictures = golden()
    truth, answer, shown = pictures["gt"], pictures["pred"], np.arange(FRAMES) % 10
    quick = {**LOSSLESS, "options": {"qp": "0", "preset": "ultrafast"}}
    ours = write_clip(tmp_path / "answer.mp4", answer[shown], **quick)
    theirs = write_clip(tmp_path / "truth.mp4", np.concatenate([truth[-MARK:], truth[shown]]), **quick)
    writer = MindWriter(tmp_path / "data")
    writer.case(record=actions(MARK, MARK + FRAMES), video=theirs.read_bytes())
    writer.answer(video=ours.read_bytes())
    names = [f"mind.lcm.{name}" for name in NEAR]
    run = lookaway.evaluate(writer.root, tmp_path / "run", metrics=names)
    for row in run.items():
        name = row["metric"].rpartition(".")[2]
        assert row["value"] == pytest.approx(np.mean(official["lcm"][name]), abs=NEAR[name])
    for name, units in run.frames(names):
        order = np.argsort(units.frames)
        assert units.frames[order].tolist() == list(range(200))
        expected = np.array(official["lcm"][name.rpartition(".")[2]])[shown[:200]]
        np.testing.assert_allclose(units.values[order], expected, atol=NEAR[name.rpartition(".")[2]], rtol=0)


def scored_by_the_code(real_time: int) -> int:
    """The loop of process.py: the batch that ends the video is read and never scored."""
    position = scored = 0
    while True:
        batch = min(100, real_time - position)
        position += batch
        if batch <= 0 or position >= real_time:
            return scored
        scored += batch


@pytest.mark.parametrize("frames", [100, 101, 200, 201, 250, 300, 301])
def test_lcm_scores_all_frames_but_those_of_the_last_batch_of_100(tmp_path, monkeypatch, frames):
    reference = tmp_path / "true.mp4"
    write_clip(reference, numbered_frames(frames + 40, width=16, height=16))
    timeline = Timeline(np.arange(frames + 10) / 24, 16, 16)
    compared = BOUND["mind.lcm.mse"].recipes["fidelity"].compared
    case = rollout(video=reference, start=MARK, end=MARK + frames)  # what follows `total_time` does not count
    expected = scored_by_the_code(frames)
    if expected == 0:
        with pytest.raises(Unmeasurable, match="last batch of 100"):
            compared.partners(timeline, case)
    else:
        assert dict(compared.partners(timeline, case).indices) == {index: MARK + index for index in range(expected)}


@pytest.mark.parametrize(("height", "width"), [(360, 640), (1080, 1920), (480, 832), (704, 1280)])
def test_frames_are_brought_to_720_by_1280_as_in_the_code(height, width):
    torch = pytest.importorskip("torch")
    (picture,) = noise(1, height, width)
    batch = torch.from_numpy(picture).float().permute(2, 0, 1)[None]
    scale = max(1280 / width, 720 / height)
    size = (720, 1280) if height * 1280 == width * 720 else (round(height * scale), round(width * scale))
    scaled = torch.nn.functional.interpolate(batch, size=size, mode="bilinear", align_corners=False)[0]
    top, left = round((size[0] - 720) / 2), round((size[1] - 1280) / 2)
    expected = scaled[:, top : top + 720, left : left + 1280].permute(1, 2, 0).numpy()
    canvas = BOUND["mind.lcm.mse"].recipes["fidelity"].canvas
    np.testing.assert_allclose(canvas.cover(picture), expected, atol=1e-4 * 255, rtol=0)


def test_psnr_of_equal_frames_is_infinite_in_the_code_and_no_score():
    for name in ("mind.lcm.psnr", "mind.gsc.psnr"):
        feature = Feature({"mse": np.array([0.01, 0.0]), "frame_indices": np.arange(2)})
        found = BOUND[name].metric.measure(rollout(), {"fidelity": feature})
        assert isinstance(found, Abstention)
        assert found.reason is Reason.NOT_APPLICABLE
        assert found.units[0].outcome.value == pytest.approx(20)
        dark = Feature({"mse": np.array([1e-11]), "frame_indices": np.arange(1)})
        assert BOUND[name].metric.measure(rollout(), {"fidelity": dark}).value == pytest.approx(110)


# gsc


def test_gsc_pairs_frame_i_with_frame_n_minus_1_minus_i_and_refuses_odd_numbers():
    compared = BOUND["mind.gsc.mse"].recipes["fidelity"].compared
    found = compared.partners(Timeline(np.arange(6) / 24, 16, 16), rollout())
    assert dict(found.indices) == {0: 5, 1: 4, 2: 3}
    with pytest.raises(Unmeasurable, match="not an even number"):
        compared.partners(Timeline(np.arange(7) / 24, 16, 16), rollout())


def test_gsc_mse_is_that_of_the_code(tmp_path):
    pictures = np.stack(noise(4, 720, 1280))
    video = write_clip(tmp_path / "path-1.mp4", pictures, **LOSSLESS)
    feature = perceive(BOUND["mind.gsc.mse"].recipes["fidelity"], replace(rollout(), video=video))
    tensor = pictures.astype(np.float64) / 255
    expected = ((tensor[:2] - tensor[2:][::-1]) ** 2).mean(axis=(1, 2, 3))
    for name, values in (("mse", expected), ("psnr", 10 * np.log10(1 / expected))):
        found = BOUND[f"mind.gsc.{name}"].metric.measure(rollout(), {"fidelity": feature})
        assert [unit.outcome.value for unit in found.units] == pytest.approx(values.tolist(), abs=1e-6)
        assert found.value == pytest.approx(values.mean(), abs=1e-6)


# visual and dino


@pytest.mark.parametrize(
    ("name", "array", "scale"),
    [("imaging", "quality", 100), ("aesthetic", "aesthetic", 10)],
    ids=["imaging", "aesthetic"],
)
def test_quality_of_a_clip_is_the_mean_of_its_frames_on_a_scale_of_1(name, array, scale):
    bound = BOUND[f"mind.visual.{name}"]
    series = np.array([3.0, 4.5, 7.25])
    feature = Feature({array: series, "frame_indices": np.arange(3)})
    found = bound.metric.measure(rollout(), dict.fromkeys(bound.recipes, feature))
    assert found.value == pytest.approx(sum(value / scale for value in series) / 3, abs=1e-9)


def test_imaging_is_the_quality_divided_by_100():
    recipe = BOUND["mind.visual.imaging"].recipes["quality"]
    assert (recipe.weights.name, recipe.height, recipe.canvas) == ("musiq-spaq", None, protocol.CANVAS)
    assert recipe.frames == BOUND["mind.lcm.mse"].recipes["fidelity"].compared


def test_aesthetic_is_the_score_divided_by_10():
    recipe = BOUND["mind.visual.aesthetic"].recipes["aesthetic"]
    assert (recipe.weights.name, recipe.head.name) == ("clip-vit-l-14", "laion-aesthetic-linear")
    assert recipe.fit == CentreCrop(224, 224, antialias=False)
    assert recipe.halves_on_gpu  # clip.load does so


def test_dino_mse_is_that_of_frames_divided_by_255_twice(tmp_path, monkeypatch):
    empty_hub(tmp_path / "home", monkeypatch)
    torch = pytest.importorskip("torch")
    answer, truth = noise(101, 18, 32), noise(101, 18, 32, seed=1)
    reference = write_clip(tmp_path / "true.mp4", truth, **LOSSLESS)
    case = rollout(video=reference, start=0, end=101)
    case = replace(case, video=write_clip(tmp_path / "clip.mp4", answer, **LOSSLESS))
    bound = BOUND["mind.dino.dino_mse"]
    recipe = replace(bound.recipes["feature_error"], weights=tiny_dinov3(), canvas=None)
    found = bound.metric.measure(case, {"feature_error": perceive(recipe, case)})
    network = recipe.network()

    def tokens(pictures: list[np.ndarray]) -> Any:
        frames = torch.from_numpy(np.stack(pictures)).permute(0, 3, 1, 2).float() / 255
        shown = torch.nn.functional.interpolate(  # the processor divides again
            frames / 255, size=(224, 224), mode="bilinear", antialias=True, align_corners=False
        )
        mean, std = (torch.tensor(v).view(1, 3, 1, 1) for v in ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
        with torch.inference_mode():
            hidden = network.model(pixel_values=(shown - mean) / std).last_hidden_state
        return torch.nn.functional.normalize(hidden[:, 1 + network.model.config.num_register_tokens :], p=2, dim=-1)

    expected = ((tokens(answer[:3]) - tokens(truth[:3])) ** 2).reshape(3, -1).mean(dim=1)
    assert len(found.units) == 100
    assert [unit.outcome.value for unit in found.units[:3]] == pytest.approx(expected.tolist(), rel=1e-3, abs=1e-10)


# action


def steps_of(estimated: np.ndarray, true: np.ndarray, controls: list[str] | None = None) -> tuple[Any, Any]:
    features = {"poses": trajectory(estimated).to_feature(), "reference_poses": trajectory(true).to_feature()}
    case = rollout(controls)
    return tuple(BOUND[f"mind.action.{name}"].metric.measure(case, features) for name in ("rpe_trans", "rpe_rot"))


def test_rpe_translation_is_that_of_the_code():
    official, arrays = golden()
    found, _ = steps_of(arrays["poses_est_c2w"], arrays["poses_gt_c2w"])
    np.testing.assert_allclose([unit.outcome.value for unit in found.units], official["rpe_translation"], atol=1e-9)
    assert found.value == pytest.approx(np.mean(official["rpe_translation"]), abs=1e-9)
    assert found.detail["median"] == pytest.approx(np.median(official["rpe_translation"]), abs=1e-9)
    assert found.detail["scale"] == pytest.approx(official["sim3"]["scale"], abs=1e-9)


def test_rpe_rotation_is_that_of_the_code():
    official, arrays = golden()
    _, found = steps_of(arrays["poses_est_c2w"], arrays["poses_gt_c2w"])
    np.testing.assert_allclose([unit.outcome.value for unit in found.units], official["rpe_rotation_deg"], atol=1e-6)
    assert found.value == pytest.approx(np.mean(official["rpe_rotation_deg"]), abs=1e-6)
    assert found.detail["median"] == pytest.approx(np.median(official["rpe_rotation_deg"]), abs=1e-6)


def walk(frames: int) -> np.ndarray:
    path = np.tile(np.eye(4), (frames, 1, 1))
    path[:, :3, :3] = Rotation.from_euler("y", np.linspace(0, 40, frames)[:, None], degrees=True).as_matrix()
    path[:, 2, 3] = np.linspace(0, 3, frames)
    path[:, 0, 3] = np.sin(np.arange(frames))
    return path


def test_outliers_are_left_out_and_8_steps_must_remain():
    true, wrong = walk(97), walk(97)
    flip = np.diag([1.0, -1.0, -1.0])
    for kept in (96, 95):
        translations, degrees = steps_of(wrong, true)
        assert (translations.detail["count"], degrees.detail["count"]) == (kept, kept)
        wrong[-1, :3, :3] = wrong[-1, :3, :3] @ flip  # by 180 degrees: above 179
    for last in (9, 8):
        found, _ = steps_of(walk(last), walk(last))
        assert isinstance(found, Score) is (last - 1 >= 8)


def test_the_first_97_frames_are_compared_up_to_the_last_action():
    found, _ = steps_of(walk(120), walk(120), ["forward"] * 120)
    assert len(found.units) == 96
    found, _ = steps_of(walk(120), walk(120), ["forward"] * 30)
    assert len(found.units) == 30


def bucket_of_the_code(action: str) -> str:
    if action in {"w", "a", "s", "d", "forward", "backward", "left", "right"}:
        return "translation"
    turns = {"cam_left", "cam_right", "cam_up", "cam_down", "yaw_left", "yaw_right", "pitch_up", "pitch_down"}
    return "rotation" if action in turns else "other"


def test_groups_are_those_of_the_code():
    names = ["forward", "left", "look_left", "look_up", "no_op", "forward+left", "forward+look_right", "backward"]
    controls = [names[index % len(names)] for index in range(96)]
    true, wrong = walk(97), walk(97)
    wrong[:, 1, 3] = 0.1 * np.random.default_rng(0).normal(size=97)
    for found in steps_of(wrong, true, controls):
        values = np.array([unit.outcome.value for unit in found.units])
        buckets = np.array([bucket_of_the_code(control) for control in controls])
        assert found.detail["groups"].keys() == {"__overall__", *buckets, *(f"act:{name}" for name in names)}
        assert "rotation" not in found.detail["groups"]
        for name in ("translation", "other"):
            group = found.detail["groups"][name]
            own = values[buckets == name]
            assert (group["count"], group["mean"], group["median"]) == (
                len(own),
                pytest.approx(own.mean(), abs=1e-9),
                pytest.approx(np.median(own), abs=1e-9),
            )


def test_actions_are_named_as_in_the_code():
    words = {
        "ws": ("", "forward", "backward"), "ad": ("", "left", "right"), "ud": ("", "look_up", "look_down"),
        "lr": ("", "look_left", "look_right"),
    }  # fmt: skip
    for number in range(81):
        keys = {key: number // 3**place % 3 for place, key in enumerate(words)}
        expected = "+".join(filter(None, (words[key][value] for key, value in keys.items()))) or "no_op"
        assert FrameKeys(**keys).control == expected


# Poses


def poses_of_the_code(text: str) -> np.ndarray:
    """parse_colmap_images_txt."""
    lines, entries, position = text.splitlines(), [], 0
    while position < len(lines):
        parts = lines[position].split()
        position += 1
        if len(parts) < 10 or parts[0].startswith("#"):
            continue
        position += 1
        pose = np.eye(4)
        w, *xyz = map(float, parts[1:5])
        if np.linalg.norm([w, *xyz]) >= 1e-12:
            pose[:3, :3] = Rotation.from_quat([*xyz, w]).as_matrix().T
        pose[:3, 3] = -pose[:3, :3] @ np.array(parts[5:8], float)
        entries.append((parts[9], pose))
    return np.stack([pose for _, pose in sorted(entries, key=lambda entry: entry[0])])


def images(names: list[str], *, points: str = "") -> str:
    lines = ["# comment"]
    for number, name in enumerate(names):
        quaternion = "0 0 0 0" if number == 5 else f"{2 + number} 0.1 {0.01 * number} 0"
        lines += [f"{number + 1} {quaternion} {number} 0 {number / 7} 1 {name}", points]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "text",
    [
        images([f"images/frame_{number:06d}.jpg" for number in range(60)]),
        images([f"images/frame_{3 * number:06d}.jpg" for number in range(20)]),
        images([f"frame_{number}.jpg" for number in range(30)], points="1.0 2.0 -1"),
        images([f"frame_{number:03d}.jpg" for number in range(24)]).replace("\n\n", "\n"),
    ],
    ids=["more than frames", "gaps", "names out of order", "no points"],
)
def test_images_of_the_reference_are_read_as_in_the_code(tmp_path, text):
    video = write_clip(tmp_path / "true.mp4", numbered_frames(40, width=16, height=16))
    (tmp_path / "images.txt").write_text(text)
    case = rollout(video=video, start=MARK, artifacts={"poses": tmp_path / "images.txt"})
    recipe = BOUND["mind.action.rpe_rot"].recipes["reference_poses"]
    found = Trajectory.from_feature(perceive(recipe, replace(case, video=video)))
    expected = poses_of_the_code(text)
    assert found.frame_indices.tolist() == list(range(len(expected)))
    np.testing.assert_allclose(found.camera_to_world, expected, atol=1e-9)


def test_a_reference_with_fewer_than_97_poses_is_measured_anew_in_the_code_and_not_here():
    features = {"poses": trajectory(walk(97)).to_feature(), "reference_poses": trajectory(walk(97)).to_feature()}
    arrays = dict(features["reference_poses"].arrays)
    for name in ("camera_to_world", "intrinsics", "frame_indices", "median_depth"):
        arrays[name] = arrays[name][:96]
    features["reference_poses"] = Feature(arrays)
    found = BOUND["mind.action.rpe_rot"].metric.measure(rollout(), features)
    assert isinstance(found, Abstention)
    assert (found.reason, "1 of the first 97 frames" in found.message) == (Reason.MISSING_INPUT, True)


def test_cameras_of_generated_videos_are_those_of_vipe_on_their_first_97_frames():
    for name in ("rpe_trans", "rpe_rot"):
        recipe = BOUND[f"mind.action.{name}"].recipes["poses"]
        assert (recipe.name, recipe.pipeline, recipe.first_frames) == ("vipe_poses", "default", 97)


def test_frames_of_the_reader_are_those_of_the_file(tmp_path):
    """The code trusts the number in the header, which the writers of videos of these layouts state rightly."""
    import av

    path = write_clip(tmp_path / "clip.mp4", numbered_frames(12, width=16, height=16))
    with av.open(str(path)) as container:
        assert container.streams.video[0].frames == 12
