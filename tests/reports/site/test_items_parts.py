"""Parts of item pages: curves, camera paths, kept features, commands, and videos that show what is true."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Extractor, Lock, Trajectory, describe
from lookaway.engine.locking import content_key, recipe_key
from lookaway.engine.reading import read
from lookaway.io.video import decoder_identity
from lookaway.perception.opencv import opencv_version
from lookaway.perception.poses.supplied_poses import SuppliedPoses
from lookaway.perception.poses.tracked_poses import TrackedPoses
from lookaway.reports import runs
from lookaway.reports.case_page.camera_path import camera_paths, seen_from_first
from lookaway.reports.case_page.curves import CurvePoint, thinned
from lookaway.reports.case_page.page import write_item_page
from lookaway.reports.case_page.reproduce import reproduce_command, run_command
from lookaway.reports.case_page.videos import CaseVideos, case_videos
from lookaway.reports.runs import kept_feature, load_runs
from lookaway.reports.site.building import write_items
from lookaway.reports.site.media import SiteMedia
from lookaway.store.feature_store import FeatureStore
from lookaway.store.run_folder import RunFolder
from tests.support.filmed import FilmedRun, write_numbers
from tests.support.mind import MindWriter, actions
from tests.support.runs import write_about
from tests.support.world_clip import FOLDER, write_clip_folder

SUPPLIED = SuppliedPoses()


def turned(degrees: float, centre: tuple[float, float, float] = (0, 0, 0)) -> np.ndarray:
    """A camera that looks to the right of the first one."""
    angle = np.radians(degrees)
    pose = np.eye(4)
    pose[:3, :3] = [[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]]
    pose[:3, 3] = centre
    return pose


def test_a_camera_that_turns_right_has_a_rising_yaw_and_one_that_goes_ahead_goes_up() -> None:
    poses = np.stack([turned(0), turned(30, (0, 0, 1)), turned(60, (1, 0, 2))])
    path = seen_from_first(poses, np.arange(3), 2.0)
    assert path.yaw_degrees == pytest.approx([0, 30, 60])
    assert path.right_forward.tolist() == [[0, 0], [0, 0.5], [0.5, 1]]


def test_a_path_does_not_depend_on_where_the_world_has_its_origin() -> None:
    poses = np.stack([turned(0), turned(40, (1, 0, 1)), turned(-20, (2, 0, 0))])
    moved = turned(75, (3, 4, 5)) @ poses
    here, there = (seen_from_first(path, np.arange(3), 1.0) for path in (poses, moved))
    assert here.yaw_degrees == pytest.approx(there.yaw_degrees)
    assert here.right_forward == pytest.approx(there.right_forward)


def test_a_camera_that_turns_round_and_round_is_not_wrapped() -> None:
    path = seen_from_first(np.stack([turned(step * 45) for step in range(13)]), np.arange(13), 1.0)
    assert path.yaw_degrees[-1] == pytest.approx(540)


def posed(root: Path, last: float = 40.0, recipe: Extractor = SUPPLIED, features: Path | None = None) -> CaseVideos:
    """The only case of a run whose features hold the poses that were found, with the run or elsewhere."""
    filmed = FilmedRun(root)
    filmed.film("alpha")
    filmed.write()
    entries = {
        "metric": {"kind": "a"},
        "software": {"numpy": "1", "opencv-python-headless": opencv_version(), "scipy": version("scipy"), "torch": "2"},
        "features": {"poses": describe(recipe)},
        "decoder": decoder_identity(),
    }
    (rollout,) = read(filmed.videos).rollouts
    about = json.loads((filmed.run / "run.json").read_text())
    if features:
        about["requested"] = {"features": str(features)}
    lock = Lock({"dataset": {"settings": {}}, "metrics": {name["name"]: entries for name in about["metrics"]}})
    RunFolder(filmed.run).start(lock, [(rollout, content_key(rollout))], about)
    poses = np.stack([turned(last * frame / 15) for frame in range(16)])
    trajectory = Trajectory(
        camera_to_world=poses,
        intrinsics=np.repeat(np.eye(3)[None], 16, axis=0),
        frame_indices=np.arange(16),
        median_depth=np.ones(16),
        width=64,
        height=48,
        frame_count=16,
    )
    FeatureStore(features or filmed.run / "features").put(
        content_key(rollout), recipe_key(recipe), trajectory.to_feature()
    )
    (case,) = case_videos(load_runs([filmed.run]), SiteMedia(root / "site"))
    return case


def test_poses_that_a_run_kept_are_found_by_the_recipe_in_its_lock(tmp_path: Path) -> None:
    case = posed(tmp_path)
    (path,), why = camera_paths(case)
    assert (path.found_by, path.last_yaw, why) == ("supplied_poses", {"found": pytest.approx(40)}, "")
    assert path.only_turns
    assert path.largest_difference is None
    page = (tmp_path / "site" / write_item_page(case, tmp_path / "site")).read_text()
    assert "</svg> found</span>" in page
    assert "</svg> requested</span>" not in page
    run = case.videos[0].outcomes[0].run
    assert kept_feature(run, case.videos[0].rollout, "depth") is None


def test_a_tracked_path_is_found_although_the_metric_uses_more_software_than_its_tracker(tmp_path: Path) -> None:
    (path,), why = camera_paths(posed(tmp_path, recipe=TrackedPoses()))
    assert (path.found_by, path.last_yaw, why) == ("tracked_poses", {"found": pytest.approx(40)}, "")


def test_a_tracked_path_is_found_in_the_folder_of_features_that_runs_share(tmp_path: Path) -> None:
    (path,), _ = camera_paths(posed(tmp_path, recipe=TrackedPoses(), features=tmp_path / "shared"))
    assert path.found_by == "tracked_poses"
    assert not (tmp_path / "run" / "features").exists()


def test_a_run_that_was_received_sends_no_report_to_another_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = posed(tmp_path)
    found = case.videos[0].outcomes[0].run
    received = replace(found, about={"requested": {"features": "s3://elsewhere/features"}}, feature_keys={})
    roots: list[object] = []
    monkeypatch.setattr(runs, "FeatureStore", lambda root: roots.append(root) or FeatureStore(root))
    assert kept_feature(received, case.videos[0].rollout, "poses") is not None
    assert roots == [tmp_path / "run" / "features"]


def test_without_poses_a_page_says_why_there_is_no_path(tmp_path: Path) -> None:
    filmed = FilmedRun(tmp_path)
    filmed.film("alpha")
    (case,) = case_videos(load_runs([filmed.write()]), SiteMedia(tmp_path / "site"))
    paths, why = camera_paths(case)
    assert paths == []
    assert why.startswith("No camera poses are stored")


def test_a_camera_of_the_simulated_world_is_compared_with_what_was_asked_of_it(tmp_path: Path) -> None:
    write_clip_folder(tmp_path / "videos" / FOLDER)
    rollouts = read(tmp_path / "videos").rollouts
    metric = {"name": "rendering_lighting", "lock": "a" * 32, "subsets": None, "is_gate": False}
    about = {"suite": "folder", "dataset": str(tmp_path / "videos"), "lock_sha256": "", "problems": []}
    lock = Lock({"dataset": {"settings": {}}, "metrics": {}})
    content = [(rollout, content_key(rollout)) for rollout in rollouts]
    RunFolder(tmp_path / "run").start(lock, content, {**about, "metrics": [metric]})
    (case,) = case_videos(load_runs([tmp_path / "run"]), SiteMedia(tmp_path / "site"))
    (path,), _ = camera_paths(case)
    assert path.last_yaw == {"requested": 0.0, "found": 0.0}
    assert path.largest_difference == (0.0, 0.0)
    assert path.is_same_scale


def test_thinned_points_keep_the_spike_the_dip_and_the_order() -> None:
    points = [CurvePoint(float(n), {500: 9.0, 501: -9.0}.get(n, 0.0)) for n in range(1000)]
    kept = thinned(points, 20)
    assert len(kept) <= 20
    assert {9.0, -9.0} <= {point.value for point in kept}
    assert kept == sorted(kept, key=lambda point: point.seconds)
    assert thinned(points[:20], 20) == points[:20]


def test_a_stretch_without_values_stays_a_gap_when_points_are_thinned() -> None:
    points = [CurvePoint(float(n), None if 300 <= n < 600 else 1.0) for n in range(900)]
    assert None in [point.value for point in thinned(points, 12)]


def mind_page(root: Path, mark: int = 4) -> str:
    """The page of a case of MIND: the generated video begins at a frame of the reference video."""
    truth = write_numbers(root / "truth.mp4", count=16, fps=8).read_bytes()
    answer = write_numbers(root / "answer.mp4", count=8, fps=8).read_bytes()
    writer = MindWriter(root / "data")
    writer.case(record=actions(mark=mark, total=12), video=truth)
    writer.answer(video=answer)
    dataset = read(root / "data", suite="mind")
    metric = {"name": "mind.lcm.ssim", "lock": "a" * 32, "subsets": None, "is_gate": False}
    about = {"suite": "mind", "dataset": str(root / "data"), "lock_sha256": "", "problems": [], "metrics": [metric]}
    lock = Lock({"dataset": {"settings": dict(dataset.settings)}, "metrics": {}})
    folder = RunFolder(root / "run")
    folder.start(lock, [(rollout, content_key(rollout)) for rollout in dataset.rollouts], about)
    (href,) = (page.href for page in write_items(load_runs([root / "run"]), root / "site").values())
    return (root / "site" / href).read_text()


def test_a_true_video_has_a_player_that_starts_where_answers_begin(tmp_path: Path) -> None:
    page = mind_page(tmp_path)
    (data,) = re.findall(r'id="player-data">(.*?)</script>', page)
    first, second = json.loads(data)["videos"]
    assert (first["key"], first["offset"], first["frames"]) == ("reference", 0.5, 16)
    assert (second["key"], second["offset"], second["frames"]) == ("v0", 0.0, 8)
    assert json.loads(data)["seconds"] == 1.0
    assert "Eight frames of the reference video" in page


def test_the_command_names_extractors_judge_and_convention_that_are_not_the_usual_ones(tmp_path: Path) -> None:
    filmed = FilmedRun(tmp_path)
    filmed.film("alpha")
    filmed.write()
    judged = {"kind": "progress_rating", "judge": {"model": "big judge"}}
    entries = {"features": {"poses": {"kind": "true_poses"}, "lab_means": {"kind": "lab_means"}, "rating": judged}}
    lock = Lock({"dataset": {"settings": {"extrinsics_convention": "camera_to_world"}}, "metrics": {"a": entries}})
    (rollout,) = read(filmed.videos).rollouts
    about = json.loads((filmed.run / "run.json").read_text())
    RunFolder(filmed.run).start(lock, [(rollout, content_key(rollout))], about)
    (run,) = load_runs([filmed.run])
    command = reproduce_command(run, next(iter(run.rollouts.values())))
    assert "--use=poses=true_poses" in command
    assert "lab_means" not in command
    assert "--extrinsics-convention=camera_to_world" in command
    assert "'--judge-model=big judge'" in command
    assert command.endswith("--replay")


def remembering(root: Path, judge: dict[str, object] | None = None, **about: object) -> tuple[str, str]:
    """The commands of a run that a judge was asked in, and whose description says more: of a video, and of all."""
    filmed = FilmedRun(root)
    filmed.film("alpha")
    filmed.write()
    recipe = {"judge": {"model": "big", **(judge or {})}}
    lock = Lock({"dataset": {"settings": {}}, "metrics": {"a": {"features": {"rating": recipe}}}})
    (rollout,) = read(filmed.videos).rollouts
    usual = json.loads((filmed.run / "run.json").read_text())
    RunFolder(filmed.run).start(lock, [(rollout, content_key(rollout))], {**usual, **about})
    (run,) = load_runs([filmed.run])
    return reproduce_command(run, next(iter(run.rollouts.values()))), run_command(run)


def test_the_commands_repeat_what_a_run_remembers_of_its_own(tmp_path: Path) -> None:
    reading = {"limit": 3, "pattern": "{model}/{case} $x.mp4", "allow_outside": True}
    judge = {"model": "big", "url": "http://host/v1", "wording": "text", "media": "jpeg"}
    requested = {
        "reading": {**reading, "models": ["alpha", "beta"], "suite": "folder"},
        "compute": {"device": "cuda", "precision": "bfloat16"},
        "judge": judge,
        "replies": "/home/me/kept/replies",
        "features": "kept/features",
        "ignore_triggers": True,
    }
    commands = remembering(tmp_path, requested=requested)
    for command, models in zip(commands, ("alpha", "alpha,beta"), strict=True):
        words = shlex.split(command)
        assert [*words[:4], *words[5:7]] == ["lookaway", "eval", "videos", "-o", "--suite", "folder"]
        assert re.fullmatch("again-[0-9a-f]{8}", words[4])
        assert f"--models={models}" in words
        assert words[words.index("--limit=3") :] == [
            "--limit=3",
            "--pattern={model}/{case} $x.mp4",
            "--allow-outside",
            "--device=cuda",
            "--precision=bfloat16",
            "--ignore-trigger",
            "--judge-model=big",
            "--judge-wording=text",
            "--judge-media=jpeg",
            "--replies=replies",
            "--replay",
        ]
        assert "host" not in command
    assert ["--subsets=" in command for command in commands] == [True, False]


def test_the_command_asks_as_often_and_as_the_judge_was_asked(tmp_path: Path) -> None:
    sampling = {"temperature": 0.5, "top_p": 1.0, "seed": 7, "max_tokens": 64}
    command, _ = remembering(tmp_path, {"backend": "local", "repeats": 3, "extra": '{"a":1}', "sampling": sampling})
    words = shlex.split(command)
    assert words[words.index("--judge-model=big") + 1 : -2] == [
        "--judge-backend=local",
        "--judge-repeats=3",
        '--judge-extra={"a":1}',
        "--judge-temperature=0.5",
        "--judge-seed=7",
        "--judge-answer-tokens=64",
    ]


@pytest.mark.parametrize("requested", [{}, None, {"reading": None, "compute": "cpu", "judge": []}], ids=str)
def test_a_run_that_remembers_nothing_has_commands_too(requested: object, tmp_path: Path) -> None:
    for command in remembering(tmp_path, requested=requested):
        assert command.endswith("--judge-model=big --replies=run/replies --replay")
        assert str(tmp_path) not in command


def test_a_merged_run_keeps_no_replies_to_take_answers_from(tmp_path: Path) -> None:
    assert remembering(tmp_path, merged={"runs": ["a"], "shards": []})[0].endswith("--judge-model=big")


@pytest.mark.parametrize(
    ("place", "named"), [("--output=x", "./--output=x"), ("/home/me/a set", "'a set'"), ("/", "DATASET")]
)
def test_a_dataset_is_named_by_its_folder_and_is_never_an_option(tmp_path: Path, place: str, named: str) -> None:
    filmed = FilmedRun(tmp_path)
    filmed.film("alpha")
    filmed.write()
    about = json.loads((filmed.run / "run.json").read_text())
    write_about(filmed.run, {**about, "dataset": place})
    (run,) = load_runs([filmed.run])
    for command in (reproduce_command(run, next(iter(run.rollouts.values()))), run_command(run)):
        assert command.startswith(f"lookaway eval {named} -o again-")
