from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import lookaway
from lookaway.core import Case, Reason, Rollout
from lookaway.engine.binding import bind_metrics
from lookaway.engine.plan import make_plan
from lookaway.io.world_clips import WorldClip, open_world
from lookaway.suites.mbench import convention
from lookaway.suites.mbench.convention import LOOKED_AT_FOR_AN_ITEM, MAX_ITEMS, decide_convention
from lookaway.world.exports import export_world
from lookaway.world.exports.conventions import inverse
from tests.docs.pages import REPOSITORY
from tests.support.clips import write_clip
from tests.support.mbench import MBenchWriter, write_poses
from tests.support.rendered import copy_small
from tests.support.room import Room, there_and_back

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.render,  # all clips are drawn before the first test
    pytest.mark.nightly,
]

FAMILIES = ("playroom", "kitchen", "garden", "street")
CAMERAS = ("yaw_left_60", "orbit_left", "forward_backward")
CONVENTIONS = ("world_to_camera", "camera_to_world")
OTHER = dict(zip(CONVENTIONS, CONVENTIONS[::-1], strict=True))


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("world")
    copy_small(root, families=FAMILIES, cameras=CAMERAS, events=("none",))
    return root


@pytest.fixture(scope="module")
def clips(world: Path) -> dict[tuple[str, str], WorldClip]:
    found = {(clip.card.family, clip.card.camera): clip for clip in open_world(world)}
    assert len(found) == len(FAMILIES) * len(CAMERAS)
    return found


def stored(path: Path, camera_to_world, convention: str, like: WorldClip) -> Path:
    card = like.card
    return write_poses(
        path,
        camera_to_world,
        like.arrays().intrinsics,
        size=(card.width, card.height),
        world_to_camera=convention == "world_to_camera",
        frame_indices=np.arange(card.frames),
    )


def rollout_of(clip: WorldClip, poses: Path, model: str = "model", video: Path | None = None) -> Rollout:
    case = Case(id=poses.stem, subset="environment", scene=clip.card.family)
    return Rollout(case=case, model=model, video=video or clip.video, artifacts={"poses": poses})


def from_first_camera(path):
    return inverse(path[:1]) @ path


def noisy(path, rng: np.random.Generator, part: float = 0.01):
    """Every pose off by a part of the whole way and of the widest turn."""
    wrong = path.copy()
    extent = np.linalg.norm(path[:, :3, 3] - path[0, :3, 3], axis=1).max()
    widest = Rotation.from_matrix(path[0, :3, :3].T @ path[:, :3, :3]).magnitude().max()
    wrong[:, :3, 3] += rng.normal(0, part * extent, (len(path), 3))
    wrong[:, :3, :3] @= Rotation.from_rotvec(rng.normal(0, part * widest, (len(path), 3))).as_matrix()
    return wrong


def random_poses(count: int, rng: np.random.Generator):
    poses = np.tile(np.eye(4), (count, 1, 1))
    poses[:, :3, :3] = Rotation.random(count, rng=rng).as_matrix()
    poses[:, :3, 3] = rng.normal(0, 3, (count, 3))
    return poses


@pytest.mark.parametrize("first_camera_is_the_world", [False, True])
@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("camera", CAMERAS)
def test_one_clip_of_any_family_tells_what_was_stored(tmp_path, clips, camera, convention, first_camera_is_the_world):
    for family in FAMILIES:
        clip = clips[family, camera]
        path = clip.arrays().camera_to_world
        path = from_first_camera(path) if first_camera_is_the_world else path
        decision = decide_convention([rollout_of(clip, stored(tmp_path / f"{family}.npz", path, convention, clip))])
        assert decision.convention == convention
        assert decision.total.pixels[convention] < 1
        assert decision.total.pixels[convention] * 2 < decision.total.pixels[OTHER[convention]]
        assert decision.total.items == 1
        assert decision.total.matches > 20


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("camera", CAMERAS)
def test_poses_that_are_off_by_a_hundredth_change_no_decision(tmp_path, clips, camera, convention):
    rng = np.random.default_rng(1)
    rollouts = [
        rollout_of(
            clip, stored(tmp_path / f"{family}.npz", noisy(clip.arrays().camera_to_world, rng), convention, clip)
        )
        for (family, name), clip in clips.items()
        if name == camera
    ]
    assert decide_convention(rollouts).convention == convention


@pytest.fixture(params=CONVENTIONS)
def exported(request, tmp_path, world) -> tuple[Path, str]:
    """An export that does not say what its poses turn into what, and what they do."""
    root = tmp_path / "data"
    export_world(world, "mbench-t", root)
    card = (root / "dataset.yaml").read_text()
    assert "extrinsics_convention: world_to_camera\n" in card
    (root / "dataset.yaml").write_text(card.replace("extrinsics_convention: world_to_camera\n", ""))
    if request.param == "camera_to_world":
        for file in root.glob("models/*/artifacts/*/*/*/da3/results.npz"):
            with np.load(file) as found:
                arrays = dict(found)
            file.unlink()  # it may be one file with that of another subset
            whole = np.concatenate([arrays["extrinsics"], np.tile([[[0.0, 0, 0, 1]]], (len(arrays["depth"]), 1, 1))], 1)
            np.savez(file, **{**arrays, "extrinsics": inverse(whole)[:, :3]})
    return root, request.param


def test_an_export_that_does_not_say_it_is_read_rightly_and_the_figures_stand_in_the_lock(exported):
    root, right = exported
    dataset = lookaway.read(root)
    test = dataset.settings["extrinsics_test"]
    assert dataset.settings["extrinsics_convention"] == right
    assert test[f"{right}_pixels"] < 1 < 10 < test[f"{OTHER[right]}_pixels"]
    assert test["items"] == MAX_ITEMS
    assert test["matches"] > 500
    metrics = bind_metrics(dataset, ["spatial_epipolar"])
    assert make_plan(dataset, metrics).lock.entries["dataset"]["settings"] == dataset.settings
    assert {bound.recipes["poses"].convention for bound in metrics if "poses" in bound.recipes} == {right}


def test_what_is_said_is_obeyed_even_where_it_is_wrong(exported, monkeypatch):
    root, right = exported
    monkeypatch.setattr(convention, "Video", None)  # nothing is tried
    dataset = lookaway.read(root, extrinsics_convention=OTHER[right])
    lock = make_plan(dataset, bind_metrics(dataset, ["spatial_epipolar"])).lock
    assert lock.entries["dataset"]["settings"] == {"extrinsics_convention": OTHER[right]}
    with (root / "dataset.yaml").open("a") as file:
        file.write(f"extrinsics_convention: {OTHER[right]}\n")
    assert lookaway.read(root).settings == {"extrinsics_convention": OTHER[right]}


def test_the_order_of_records_changes_nothing(tmp_path, clips):
    rollouts = [
        rollout_of(
            clip, stored(tmp_path / f"{number}.npz", clip.arrays().camera_to_world, "world_to_camera", clip), model
        )
        for number, clip in enumerate(clips.values())
        for model in ("alpha", "beta", "gamma")
    ]
    assert decide_convention(rollouts[::-1]) == decide_convention(rollouts)


def test_random_poses_are_ambiguous_and_nothing_is_measured_by_them(tmp_path, clips):
    rng = np.random.default_rng(3)
    writer = MBenchWriter(tmp_path / "data", extrinsics_convention=None)
    for (family, camera), clip in clips.items():
        writer.add(sample=f"{family}_{camera}", video=str(clip.video))
        path = random_poses(clip.card.frames, rng)
        stored(writer.poses(sample=f"{family}_{camera}"), path, "world_to_camera", clip)
    dataset = lookaway.read(writer.finish(), allow_outside=True)
    test = dataset.settings["extrinsics_test"]
    assert dataset.settings["extrinsics_convention"] == "ambiguous"
    assert test["items"] == MAX_ITEMS
    assert min(test["world_to_camera_pixels"], test["camera_to_world_pixels"]) > 12
    run = lookaway.evaluate(dataset, tmp_path / "run", metrics=["spatial_epipolar"])
    items = [item for item in run.items() if item["metric"].endswith("spatial_epipolar")]
    assert {item["reason"] for item in items} == {Reason.POSE_CONVENTION_AMBIGUOUS.value}
    assert all("--extrinsics-convention" in item["message"] for item in items)


def test_readings_that_both_fit_about_as_well_are_ambiguous(tmp_path, clips):
    clip = clips["kitchen", "orbit_left"]
    path = noisy(from_first_camera(clip.arrays().camera_to_world), np.random.default_rng(0))
    decision = decide_convention([rollout_of(clip, stored(tmp_path / "p.npz", path, "camera_to_world", clip))])
    assert decision.convention == "ambiguous"
    assert max(decision.total.pixels.values()) < 12


def test_a_jitter_that_nobody_could_see_leaves_a_turn_a_turn(tmp_path, clips):
    clip = clips["street", "yaw_left_60"]
    path = from_first_camera(clip.arrays().camera_to_world)
    jitter = path.copy()
    jitter[:, :3, 3] += np.random.default_rng(0).normal(0, 1e-4, (len(path), 3))
    plain, shaken = (
        decide_convention(
            [rollout_of(clip, stored(tmp_path / f"{name}.npz", poses, "camera_to_world", clip))]
        ).total.pixels
        for name, poses in (("plain", path), ("shaken", jitter))
    )
    assert shaken == pytest.approx(plain, rel=0.01)


def test_a_dataset_that_stores_both_conventions_is_ambiguous(tmp_path, clips):
    rollouts = []
    for number, family in enumerate(FAMILIES):
        clip = clips[family, "yaw_left_60"]
        path = clip.arrays().camera_to_world
        rollouts.append(rollout_of(clip, stored(tmp_path / f"{family}.npz", path, CONVENTIONS[number % 2], clip)))
    assert decide_convention(rollouts).convention == "ambiguous"


def still(folder: Path, clip: WorldClip, number: int) -> Rollout:
    path = np.repeat(clip.arrays().camera_to_world[:1], clip.card.frames, axis=0)
    return rollout_of(clip, stored(folder / f"still{number}.npz", path, "camera_to_world", clip))


def test_cameras_that_stand_still_mean_the_same_in_both_readings(tmp_path, clips):
    decision = decide_convention([still(tmp_path, clips["street", "orbit_left"], 0)])
    assert decision.settings() == {
        "extrinsics_convention": "world_to_camera",
        "extrinsics_test": {
            "world_to_camera_pixels": None,
            "camera_to_world_pixels": None,
            "frame_height": 240,
            "items": 0,
            "matches": 0,
            "models": {
                "model": {"world_to_camera_pixels": None, "camera_to_world_pixels": None, "items": 0, "matches": 0}
            },
        },
    }


def test_a_camera_that_trembles_far_from_the_origin_stands_still(tmp_path, clips):
    clip, rng = clips["street", "orbit_left"], np.random.default_rng(0)
    path = np.tile(np.eye(4), (clip.card.frames, 1, 1))
    path[:, 0, 3] = 1000.0
    path[:, :3, :3] = Rotation.from_rotvec(rng.normal(0, 0.05, (len(path), 3)), degrees=True).as_matrix()
    decision = decide_convention([rollout_of(clip, stored(tmp_path / "p.npz", path, "camera_to_world", clip))])
    assert (decision.convention, decision.total.pixels) == ("world_to_camera", None)


def test_what_stands_still_or_cannot_be_read_is_passed_over(tmp_path, clips):
    clip = clips["street", "yaw_left_60"]
    useless = [still(tmp_path, clip, number) for number in range(10)]
    broken = tmp_path / "broken.npz"
    broken.write_bytes(b"PK no archive")
    moving = stored(tmp_path / "moving.npz", clip.arrays().camera_to_world, "camera_to_world", clip)
    no_video = rollout_of(clip, moving, video=tmp_path / "none.mp4")
    useless += [rollout_of(clip, broken), replace(no_video, case=replace(no_video.case, id="no video"))]
    assert decide_convention(useless).settings()["extrinsics_convention"] == "world_to_camera"
    decision = decide_convention([*useless, rollout_of(clip, moving)])
    assert (decision.convention, decision.total.items) == ("camera_to_world", 1)


def test_no_more_than_a_few_videos_are_opened(tmp_path, clips, monkeypatch):
    opened = []

    def counting(open_video: Callable) -> Callable:
        return lambda path: opened.append(path) or open_video(path)

    monkeypatch.setattr(convention, "Video", counting(convention.Video))
    clip = clips["street", "yaw_left_60"]
    max_looked_at = MAX_ITEMS * LOOKED_AT_FOR_AN_ITEM
    decide_convention([still(tmp_path, clip, number) for number in range(max_looked_at + 8)])
    assert len(opened) == max_looked_at
    opened.clear()
    files = [
        stored(tmp_path / f"moving{number}.npz", clip.arrays().camera_to_world, "camera_to_world", clip)
        for number in range(MAX_ITEMS // 2 + 1)
    ]
    decision = decide_convention([rollout_of(clip, path, model=model) for model in ("a", "b") for path in files])
    assert {figures.items for figures in decision.by_model.values()} == {MAX_ITEMS // 2}
    assert decision.total.items == len(opened) == MAX_ITEMS


def test_every_model_is_looked_at_however_many_there_are(tmp_path, clips):
    clip, models = clips["street", "yaw_left_60"], [f"model{number}" for number in range(MAX_ITEMS + 1)]
    moving = stored(tmp_path / "moving.npz", clip.arrays().camera_to_world, "camera_to_world", clip)
    decision = decide_convention([rollout_of(clip, moving, model=model) for model in models])
    assert list(decision.by_model) == models
    assert {figures.items for figures in decision.by_model.values()} == {1}


def stored_by_models(folder: Path, clips, conventions: dict[str, str], camera: str = "yaw_left_60") -> list[Rollout]:
    rollouts = []
    for model, told in conventions.items():
        clip = clips["kitchen", camera]
        path = stored(folder / f"{model}.npz", clip.arrays().camera_to_world, told, clip)
        rollouts.append(rollout_of(clip, path, model=model))
    return rollouts


@pytest.mark.parametrize(
    ("odd", "camera"), [("world_to_camera", "yaw_left_60"), ("camera_to_world", "forward_backward")]
)
def test_one_model_of_four_that_stores_the_other_convention_makes_it_ambiguous(tmp_path, clips, odd, camera):
    told = {"alpha": OTHER[odd], "beta": OTHER[odd], "delta": odd, "gamma": OTHER[odd]}
    decision = decide_convention(stored_by_models(tmp_path, clips, told, camera))
    assert decision.total.winner == OTHER[odd]  # all together, the odd one out is not seen
    assert {model: figures.winner for model, figures in decision.by_model.items()} == told
    assert decision.convention == "ambiguous"
    message = decision.problem().message
    assert f"{odd} fits the frames of delta;" in message
    assert f"{OTHER[odd]} fits the frames of alpha, beta, gamma;" in message
    assert "--extrinsics-convention" in message


def test_models_that_agree_have_no_problem_and_their_figures_stand_in_the_lock(tmp_path, clips):
    told = dict.fromkeys(("alpha", "beta"), "camera_to_world")
    decision = decide_convention(stored_by_models(tmp_path, clips, told))
    test = decision.settings()["extrinsics_test"]
    assert (decision.convention, decision.problem()) == ("camera_to_world", None)
    assert list(test["models"]) == ["alpha", "beta"]
    for figures in test["models"].values():
        assert figures["camera_to_world_pixels"] < 1 < 10 < figures["world_to_camera_pixels"]
        assert figures["items"] == 1
    assert sum(figures["matches"] for figures in test["models"].values()) == test["matches"]


def test_a_model_whose_cameras_stand_still_contradicts_nobody(tmp_path, clips):
    moving = stored_by_models(tmp_path, clips, {"alpha": "camera_to_world"})
    standing = replace(still(tmp_path, clips["street", "yaw_left_60"], 0), model="beta")
    decision = decide_convention([*moving, standing])
    assert decision.convention == "camera_to_world"
    assert (decision.by_model["beta"].pixels, decision.by_model["beta"].items) == (None, 0)


def test_a_dataset_of_models_that_contradict_each_other_says_so_and_its_parts_have_the_same_lock(tmp_path, clips):
    writer = MBenchWriter(tmp_path / "data", extrinsics_convention=None)
    for model, told in {"alpha": "world_to_camera", "beta": "world_to_camera", "delta": "camera_to_world"}.items():
        clip = clips["kitchen", "yaw_left_60"]
        writer.add(model=model, subset="causal", video=str(clip.video), annotations={"action": "left_then_right"})
        stored(writer.poses(model=model, subset="causal"), clip.arrays().camera_to_world, told, clip)
    whole = lookaway.read(writer.finish(), allow_outside=True)
    (problem,) = whole.problems
    assert problem.where == "camera poses"
    assert "camera_to_world fits the frames of delta" in problem.message
    run = lookaway.evaluate(whole, tmp_path / "run", metrics=["camera_interaction"])
    assert {item["reason"] for item in run.items()} == {Reason.POSE_CONVENTION_AMBIGUOUS.value}
    part = lookaway.read(writer.root, models=["alpha"], allow_outside=True)
    locks = [make_plan(one, bind_metrics(one, ["camera_interaction"])).lock for one in (whole, part)]
    assert locks[0].entries == locks[1].entries


def test_every_model_has_its_say_however_many_rollouts_one_of_them_has(tmp_path, clips):
    rng, clip = np.random.default_rng(5), clips["street", "yaw_left_60"]
    loud = [
        rollout_of(clip, stored(tmp_path / f"bad{n}.npz", random_poses(clip.card.frames, rng), "camera_to_world", clip))
        for n in range(20)
    ]
    good = stored(tmp_path / "good.npz", clip.arrays().camera_to_world, "camera_to_world", clip)
    quiet = [rollout_of(clip, good, model=f"model{number}") for number in range(7)]
    assert decide_convention([*loud, *quiet]).convention == "camera_to_world"


def test_a_camera_that_moves_past_nothing_that_could_be_matched_is_ambiguous(tmp_path):
    frames = 9
    video = write_clip(tmp_path / "grey.mp4", [np.full((96, 160, 3), 128, np.uint8)] * frames)
    poses = write_poses(tmp_path / "p.npz", there_and_back("left_then_right", frames), Room(0, 160, 96).intrinsics)
    case = Case(id="grey", subset="environment", scene="grey")
    decision = decide_convention([Rollout(case=case, model="model", video=video, artifacts={"poses": poses})])
    assert (decision.convention, decision.total.pixels, decision.total.matches) == ("ambiguous", None, 0)


@pytest.mark.parametrize("page", ["pinned.yml", "how-to/mbench-dataset.md"])
def test_the_docs_name_the_limit_that_a_reading_must_keep(page):
    words = " ".join((REPOSITORY / "docs" / page).read_text().split())
    assert f"{convention.FITTING_PIXELS:g} pixels in frames of {convention.HEIGHT} rows" in words


def test_without_poses_there_is_nothing_to_decide(tmp_path, clips):
    clip = clips["street", "yaw_left_60"]
    poses = stored(tmp_path / "p.npz", clip.arrays().camera_to_world, "camera_to_world", clip)
    refused = replace(rollout_of(clip, poses), problem=lookaway.core.Unmeasurable(Reason.UNSAFE_PATH, "it leaves."))
    assert decide_convention([]) is None
    assert decide_convention([rollout_of(clip, tmp_path / "none.npz"), refused]) is None
    writer = MBenchWriter(tmp_path / "data", dataset_id="mbencht", extrinsics_convention=None)
    writer.add(poses=False)
    assert lookaway.read(writer.finish()).settings == {}
