"""Cases of a dataset as requests: camera paths from whatever its suite reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from lookaway.core import (
    Case,
    Dataset,
    DatasetError,
    Floats,
    FrameRequest,
    Problem,
    Rollout,
    Trajectory,
    Unmeasurable,
)
from lookaway.generation.camera_motion import Axis, step
from lookaway.generation.request import CameraRequest, FirstFrame, GenerationRequest
from lookaway.io.arrays import ArrayArchive
from lookaway.io.dataset_files import read_limited
from lookaway.io.limits import MAX_JSON_BYTES
from lookaway.io.pictures import picture_pixels, png_bytes
from lookaway.io.pose_files.checks import ROTATION_TOLERANCE, as_camera_to_world, as_intrinsics, as_numbers
from lookaway.io.video import Video
from lookaway.io.world_clips import WorldClip
from lookaway.perception.poses.commanded_poses import COMMANDED
from lookaway.perception.poses.reference_poses import ReferencePoses
from lookaway.perception.poses.requested_poses import SIDECAR, TARGET, RequestedPath

ASSUMED_FOV_DEGREES: Final = 70.0
ASSUMED_SIZE: Final = (832, 480)
ASSUMED_FPS: Final = 16.0
POSE_LAYOUTS: Final = {"mind": "colmap", "memobench": "memobench"}
"""Which tool wrote the poses of the references of a suite."""
RECIPE: Final = ("family", "event", "camera", "seed", "width", "height", "fps", "seconds", "wait")
WORDS: Final[dict[str, tuple[Axis, int]]] = {
    "left": ("yaw", -1),
    "right": ("yaw", 1),
    "up": ("pitch", 1),
    "down": ("pitch", -1),
    "forward": ("forward", 1),
    "backward": ("forward", -1),
    "pan_left": ("right", -1),
    "pan_right": ("right", 1),
}
MIRROR_TEST: Final = "mirror_test"
MIRRORED: Final = (
    *("left_then_right", "right_then_left", "forward_then_backward", "backward_then_forward"),
    *("pan_left_then_right", "pan_right_then_left", "up_then_down", "down_then_up"),
)
"""Ways there and back. MIND leaves those of its mirror tests open: `path-1` is the first of these, and after the last
they begin anew at half the size, so that no two tests of a scene are one."""
STILL_WORDS: Final = frozenset({"wait", "static", "still", "none"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionForm:
    """What a camera action in words means, where the dataset does not say."""

    degrees: float = 60.0
    distance: float = 1.0
    seconds: float = 5.0


def requests_of(dataset: Dataset, form: ActionForm) -> Iterator[GenerationRequest | Problem]:
    """Each case of a dataset once, or why it cannot be asked."""
    seen: set[str] = set()
    for rollout in dataset.rollouts:
        if rollout.case.id in seen:
            continue
        seen.add(rollout.case.id)
        try:
            if _is_mirror_test(dataset.suite, rollout.case):
                yield _mirror_test(rollout.case, dataset, form)
            else:
                yield _request(dataset.suite, rollout, form)
        except (Unmeasurable, DatasetError, ValueError) as error:
            yield Problem(where=rollout.case.id, message=str(error))


def _request(suite: str, rollout: Rollout, form: ActionForm) -> GenerationRequest:
    picture = _first_frame(rollout)
    size = (picture.width, picture.height) if picture else ASSUMED_SIZE
    if "truth" in rollout.artifacts:
        return _of_world(rollout, picture)
    if COMMANDED in rollout.artifacts and rollout.artifacts[COMMANDED].is_file():
        camera, source = _commanded(rollout, size), "the requested path of the dataset"
    elif TARGET in rollout.artifacts and rollout.artifacts[TARGET].is_file():
        path = RequestedPath.read(rollout.artifacts[TARGET], rollout.artifacts.get(SIDECAR))
        lens = _lens(size, path.sidecar.fov or ASSUMED_FOV_DEGREES)
        camera, source = CameraRequest.of(path.request, lens, size, ASSUMED_FPS), "the requested path of the dataset"
    elif suite in POSE_LAYOUTS and rollout.case.reference and "poses" in rollout.case.reference.artifacts:
        camera, source = _of_reference(suite, rollout), "the poses of the reference video"
    else:
        found = _of_action(rollout.case, form, size)
        return GenerationRequest(
            case=rollout.case, camera=found, first_frame=picture, camera_source="the action in words" if found else ""
        )
    return GenerationRequest(case=rollout.case, camera=camera, first_frame=picture, camera_source=source)


def _is_mirror_test(suite: str, case: Case) -> bool:
    return suite == "mind" and case.subset.endswith(f"/{MIRROR_TEST}")


def _mirror_test(case: Case, dataset: Dataset, form: ActionForm) -> GenerationRequest:
    """A way there and back; where the dataset has a video of the scene, from its first frame and with its prompt."""
    view = case.subset.removesuffix(MIRROR_TEST)
    shown = (rollout for rollout in dataset.rollouts if rollout.case.reference is not None)
    scene = next((each for each in shown if each.case.scene == case.scene and each.case.subset.startswith(view)), None)
    number = re.search(r"(\d+)$", case.id)
    again, which = divmod(max(int(number[1]), 1) - 1 if number else 0, len(MIRRORED))
    form = replace(form, degrees=form.degrees / 2**again, distance=form.distance / 2**again)
    case = replace(case, action=MIRRORED[which], prompt=scene.case.prompt if scene else case.prompt)
    picture = _first_frame(scene) if scene else None
    return GenerationRequest(
        case=case,
        camera=_of_action(case, form, (picture.width, picture.height) if picture else ASSUMED_SIZE),
        first_frame=picture,
        camera_source="a way there and back, which the mirror test leaves open",
    )


def _of_world(rollout: Rollout, picture: FirstFrame | None) -> GenerationRequest:
    clip = WorldClip.open(rollout.artifacts["truth"].parent)
    arrays, card = clip.arrays(), clip.card
    camera = CameraRequest.of(
        arrays.requested_camera_to_world, arrays.intrinsics, (card.width, card.height), float(card.fps)
    )
    return GenerationRequest(
        case=rollout.case,
        camera=camera,
        first_frame=picture,
        camera_source="the simulated world",
        world_recipe={name: getattr(card, name) for name in RECIPE},
    )


def _commanded(rollout: Rollout, size: tuple[int, int]) -> CameraRequest:
    with ArrayArchive(rollout.artifacts[COMMANDED]) as archive:
        poses = as_camera_to_world("c2w", archive.read("c2w"), "camera_to_world", ROTATION_TOLERANCE, archive.error)
        fps = ASSUMED_FPS
        if "fps" in archive:
            rate = as_numbers("fps", archive.read("fps"), archive.error)
            if rate.size != 1 or rate.item() <= 0:
                raise archive.error(f"fps is {rate.tolist()}, expected one number above 0.")
            fps = float(rate.item())
        lens = _lens(size, ASSUMED_FOV_DEGREES)
        if "intrinsics" in archive:
            lens = as_intrinsics("intrinsics", archive.read("intrinsics"), len(poses), archive.error)[0]
            size = (round(2 * lens[0, 2]), round(2 * lens[1, 2]))
    return CameraRequest.of(poses, lens, size, fps)


def _of_reference(suite: str, rollout: Rollout) -> CameraRequest:
    reference = rollout.case.reference
    if reference is None:
        raise ValueError("the case has no reference video.")
    with Video(reference.video) as video:
        timeline = video.timeline
        layout = POSE_LAYOUTS[suite]
        feature = ReferencePoses(layout=layout).read(rollout, timeline, {})  # type: ignore[arg-type]
    path = Trajectory.from_feature(feature)
    seconds = float(timeline.times_seconds[-1] - timeline.times_seconds[0])
    fps = (timeline.frame_count - 1) / seconds if seconds > 0 else ASSUMED_FPS
    step_frames = float(np.median(np.diff(path.frame_indices))) if len(path.frame_indices) > 1 else 1.0
    return CameraRequest.of(path.camera_to_world, path.intrinsics[0], (path.width, path.height), fps / step_frames)


def _of_action(case: Case, form: ActionForm, size: tuple[int, int]) -> CameraRequest | None:
    """Equal parts of the time for each word of an action such as `left_then_wait_then_right`."""
    if not case.action:
        return None
    words = _words(case.action)
    if words is None:
        return None
    frames = round(form.seconds * ASSUMED_FPS)
    bounds = np.rint(np.linspace(0, frames, len(words) + 1)).astype(int)
    poses: list[Floats] = [np.eye(4)]
    for word, count in zip(words, np.diff(bounds).tolist(), strict=True):
        axis, sign = WORDS.get(word, ("yaw", 0))
        total = (case.turn_degrees or form.degrees) if axis in ("yaw", "pitch") else form.distance
        for _ in range(count):
            poses.append(poses[-1] @ step(axis, sign * total / count))
    return CameraRequest.of(np.array(poses), _lens(size, ASSUMED_FOV_DEGREES), size, ASSUMED_FPS)


def _words(action: str) -> list[str] | None:
    """The words of an action; `None` where one is not known. `pan` before the first word is meant for all."""
    words = action.lower().split("_then_")
    if words[0].startswith("pan_"):
        words = [words[0], *(word if word.startswith("pan_") else f"pan_{word}" for word in words[1:])]
    return words if all(word in WORDS or word in STILL_WORDS for word in words) else None


def _lens(size: tuple[int, int], fov_degrees: float) -> Floats:
    focal = size[0] / 2 / np.tan(np.radians(fov_degrees) / 2)
    return np.array([[focal, 0, size[0] / 2], [0, focal, size[1] / 2], [0, 0, 1.0]])


def _first_frame(rollout: Rollout) -> FirstFrame | None:
    """The picture of the case, else the first frame of its reference; never one that a model has made."""
    case = rollout.case
    if case.first_frame is not None:
        pixels = picture_pixels(read_limited(case.first_frame, MAX_JSON_BYTES))
    elif case.reference is not None:
        with Video(case.reference.video) as video:
            start = case.reference.start
            if not 0 <= start < video.timeline.frame_count:
                raise ValueError(f"the reference video has no frame {start}.")
            _, frame = next(video.frames([FrameRequest(frozenset([start]))]))
        pixels = frame.pixels
    else:
        return None
    return FirstFrame(suffix=".png", content=png_bytes(pixels), width=pixels.shape[1], height=pixels.shape[0])
