"""Small clips, drawn in memory in milliseconds, that exercise the branches of what is measured without networks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from lookaway.core import (
    Abstention,
    BoundMetric,
    Case,
    Extractor,
    Failure,
    Feature,
    Features,
    Frame,
    MetricBase,
    Outcome,
    Rollout,
    Score,
    Timeline,
    Trajectory,
    Unmeasurable,
    digest,
    plugins,
)
from lookaway.engine.locking import metric_entries
from lookaway.io.sampling import UniformFrames
from lookaway.perception.faces.sface_faces import SfaceFaces
from lookaway.perception.motion.transnet_cuts import TransnetCuts
from lookaway.perception.poses.tracked_poses import TrackedPoses
from lookaway.perception.poses.tracking.sightings import Sighting
from lookaway.perception.quality.musiq_quality import MusiqQuality
from lookaway.perception.similarity.efficientnet_embeddings import EfficientnetEmbeddings
from lookaway.suites.gate import revisited_gate
from lookaway.suites.revisit.own_metrics import own_metrics
from lookaway.suites.revisit.published import POSES
from tests.perception.camera_tracking.synthetic import HEIGHT, WIDTH, Cloud, orbit, poses, room
from tests.support import panorama
from tests.support.room import Room, there_and_back

Pictures = Sequence[NDArray[np.uint8]]
REFUSED = {
    *("missing_video", "empty_file", "not_a_video", "no_frames", "zero_size", "truncated", "undecodable", "too_large"),
    *("invalid_input", "invalid_record", "missing_weights", "wrong_weights", "judge_failed"),
}
"""Reasons of an abstention that say what is wrong with what was given, so that nobody takes another number for it."""
NOT_COMPARED = ("pictures", "offsets")
"""Arrays of bytes for people to look at."""
FPS = 8
ROLLOUT = Rollout(case=Case(id="a", subset="all", scene="a", target=None, prompt=()), model="m", video=Path("a.mp4"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """Frames, or what a tracker would find in them, and the metrics that are measured on it."""

    name: str
    bounds: Callable[[], list[BoundMetric]]
    """Bound anew each time, so that defaults are those of the moment."""
    draw: Callable[[], Pictures] = tuple
    given: Mapping[str, Callable[[], Feature]] = field(default_factory=dict)
    """Features that are known."""
    sightings: Callable[[], list[Sighting]] | None = None
    """In place of frames, for a camera that is tracked."""
    rollout: Rollout = ROLLOUT
    seconds: int = 3
    """More than it takes."""

    def lock(self, bounds: Sequence[BoundMetric]) -> str:
        """What the lock of a run holds of the metrics."""
        return digest({bound.name: metric_entries(bound) for bound in bounds})

    def measure(self, bounds: Sequence[BoundMetric]) -> str:
        """One hash of all features and scores; messages do not count."""
        found: dict[Extractor, Feature | Unmeasurable] = {}
        result = hashlib.sha256()
        for bound in bounds:
            for feature, recipe in sorted(bound.recipes.items()):
                _add_feature(result, self._perceive(feature, recipe, found))
            result.update(f"{bound.name} {self._outcome(bound, found)}\n".encode())
        return result.hexdigest()

    def _outcome(self, bound: BoundMetric, found: dict[Extractor, Feature | Unmeasurable]) -> object:
        features = {name: self._perceive(name, recipe, found) for name, recipe in bound.recipes.items()}
        usable = {name: feature for name, feature in features.items() if isinstance(feature, Feature)}
        if any(name not in usable for name in bound.metric.needs) or not usable:
            return "no feature"
        outcome = bound.metric.measure(self.rollout, usable)
        if isinstance(outcome, Failure):
            raise RuntimeError(outcome.message)
        if isinstance(outcome, Abstention):
            return outcome.reason
        return outcome.value, outcome.raw, outcome.detail, [unit.name for unit in outcome.units]

    def _perceive(self, name: str, recipe: Extractor, found: dict[Extractor, Any]) -> Feature | Unmeasurable:
        if name in self.given:
            return _given(self.given[name])
        if recipe not in found:
            try:
                found[recipe] = self._extract(recipe, found)
            except Unmeasurable as reason:
                found[recipe] = reason
        return found[recipe]  # type: ignore[no-any-return]

    def _extract(self, recipe: Extractor, found: dict[Extractor, Any]) -> Feature:
        needs = {name: self._perceive(name, need, found) for name, need in recipe.needs.items()}
        for need in needs.values():
            if isinstance(need, Unmeasurable):
                raise need
        features = {name: need for name, need in needs.items() if isinstance(need, Feature)}
        if self.sightings is not None and isinstance(recipe, TrackedPoses):
            seen = _drawn(self.sightings)
            extraction: Any = recipe.load().start(self.rollout, _timeline(len(seen), WIDTH, HEIGHT), features)
            extraction.size[:] = WIDTH, HEIGHT
            extraction.seen.extend(seen)
            return extraction.finish()  # type: ignore[no-any-return]
        pictures = _drawn(self.draw)
        timeline = _timeline(len(pictures), pictures[0].shape[1], pictures[0].shape[0])
        extraction = recipe.load().start(self.rollout, timeline, features)
        for index in sorted(extraction.request.indices if extraction.request else ()):
            extraction.add_frame(Frame(index, index / FPS, _at_height(pictures[index], extraction.request.height)))
        return extraction.finish()  # type: ignore[no-any-return]


@cache
def _drawn(draw: Callable[[], Any]) -> Any:
    return draw()


@cache
def _given(make: Callable[[], Feature]) -> Feature:
    return make()


def _timeline(count: int, width: int, height: int) -> Timeline:
    return Timeline(np.arange(count) / FPS, width, height)


def _at_height(picture: NDArray[np.uint8], height: int | None) -> NDArray[np.uint8]:
    if height is None or height == len(picture):
        return picture
    size = (round(picture.shape[1] * height / len(picture)), height)
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA))


def _add_feature(result: Any, feature: Feature | Unmeasurable) -> None:
    if isinstance(feature, Unmeasurable):
        if feature.reason.value in REFUSED:
            raise feature
        result.update(feature.reason.value.encode())
        return
    for name in sorted(feature.arrays.keys() - set(NOT_COMPARED)):
        result.update(name.encode() + feature.arrays[name].tobytes())
    result.update(repr(sorted((k, v) for k, v in feature.detail.items() if k != "skipped_pairs")).encode())


def _of_changes() -> list[BoundMetric]:
    return [bound for bound in own_metrics() if set(bound.recipes) == {"changes"}]


def _of_camera() -> list[BoundMetric]:
    return [bound for bound in own_metrics() if bound.name in ("return_error", "reach_missing", "cut")]


def _suite_metrics(suite: str, **settings: str) -> list[BoundMetric]:
    return list(plugins.load("suites", suite)().metrics(settings))


def _of_paths() -> list[BoundMetric]:
    """Metrics that compare a camera path with another one."""
    found = [bound for suite in ("mind", "memobench", "wrbench") for bound in _suite_metrics(suite)]
    found += _suite_metrics("revisit", scores="sana")
    paths = {"poses", "reference_poses", "requested_poses", "commanded_poses"}
    return [bound for bound in found if len(bound.recipes) > 1 and set(bound.recipes) <= paths]


def _quality() -> list[BoundMetric]:
    """MUSIQ, on few frames: it is at full width."""
    (imaging,) = (bound for bound in _suite_metrics("mind") if bound.name == "mind.corrected.visual.imaging")
    return [replace(imaging, recipes={"quality": MusiqQuality(frames=UniformFrames(1))})]


@dataclass(frozen=True, slots=True)
class _Perceived(MetricBase):
    """Nothing but features, of which no suite has a metric."""

    name = "perceived"

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Nothing."""
        return Score(0.0)


def _carried_networks() -> list[BoundMetric]:
    """Extractors whose packages carry their weights."""
    recipes: dict[str, Extractor] = {
        "cuts": TransnetCuts(),
        "faces": SfaceFaces(frames=UniformFrames(2)),
        "vectors": EfficientnetEmbeddings(frames=UniformFrames(2)),
    }
    return [BoundMetric(name="perceived", metric=_Perceived(), recipes=recipes)]


def _rated() -> list[BoundMetric]:
    """Scores of features that a judge or a network gives."""
    found = _suite_metrics("revisit", scores="sana,echo_ov")
    return [bound for bound in found if set(bound.recipes) <= set(RATED)]


def _gate() -> list[BoundMetric]:
    return [revisited_gate("revisited", POSES)]


def _tracked() -> list[BoundMetric]:
    recipe = TrackedPoses(frames=POSES.frames, height=256, keypoints=400)
    return [replace(bound, recipes={"poses": recipe}) for bound in own_metrics() if bound.name == "cut"]


LINGERING = (0, 0, 0, *panorama.OUT_AND_BACK[1:-1], 0, 0, 0)
LEFT, TOP = panorama.WIDE[0] // 2 + 20, panorama.WIDE[1] // 2
AWAY = int(np.argmax(LINGERING))

Paint = Callable[[NDArray[np.uint8], int], None]


def _painted(paint: Paint) -> Pictures:
    """The panorama, with a backdrop that is painted over in each frame."""
    shown: list[NDArray[np.uint8]] = []
    for frame in range(len(LINGERING)):
        backdrop = panorama.backdrop()
        paint(backdrop, frame)
        shown += panorama.pictures(LINGERING[frame : frame + 1], backdrop)
    return shown


def _patched(backdrop: NDArray[np.uint8], frame: int) -> None:
    if frame >= AWAY:
        backdrop[TOP - 12 : TOP + 12, LEFT : LEFT + 30] = (170, 90, 80)


def _flickering(backdrop: NDArray[np.uint8], frame: int) -> None:
    level = 14 * ((frame + (frame >= AWAY)) % 2)
    backdrop[TOP - 12 : TOP + 12, LEFT : LEFT + 30] = (110 + level, 90, 80 + level)
    backdrop[TOP + 14 : TOP + 26, LEFT : LEFT + 40] = ((150, 60, 60), (60, 110, 150))[frame % 2]
    if frame >= AWAY:
        backdrop[TOP - 40 : TOP - 25, LEFT : LEFT + 30] = (190, 170, 60)


def _pushed(backdrop: NDArray[np.uint8], frame: int) -> None:
    thing, down, right = panorama.backdrop(seed=9)[:40, :50], 8 * (frame >= AWAY), 12 * (frame >= AWAY)
    backdrop[TOP - 20 + down : TOP + 20 + down, LEFT - 5 + right : LEFT + 45 + right] = thing


def _copied(backdrop: NDArray[np.uint8], frame: int) -> None:
    thing = panorama.backdrop(seed=9)[:36, :40]
    backdrop[TOP - 40 : TOP - 4, LEFT - 20 : LEFT + 20] = thing
    if frame >= AWAY:
        backdrop[TOP : TOP + 36, LEFT : LEFT + 40] = thing


def _restyled(backdrop: NDArray[np.uint8], frame: int) -> None:
    if frame >= AWAY:
        grey = cv2.GaussianBlur(backdrop, (0, 0), 1.2).astype(np.float32)
        backdrop[:] = (255 - 0.8 * grey[..., [1, 2, 0]]).clip(0, 255).astype(np.uint8)


def _relit(backdrop: NDArray[np.uint8], frame: int) -> None:
    gains = (1.5, 1.2, 0.9) if frame >= AWAY else (1.0, 1.0, 1.0)
    backdrop[:] = (1.5 * (backdrop.astype(np.float32) - 70) * gains).clip(0, 255).astype(np.uint8)


def _early(backdrop: NDArray[np.uint8], frame: int) -> None:
    """What changes before the camera leaves."""
    if frame >= 2:
        backdrop[TOP - 12 : TOP + 12, LEFT : LEFT + 30] = (170, 90, 80)
    if frame >= AWAY:
        backdrop[TOP - 12 : TOP + 12, LEFT : LEFT + 10] = (60, 90, 180)


def _carried() -> Pictures:
    """A thing that stays in the picture on the way out, and is not there at the start."""
    shown = [picture.copy() for picture in panorama.pictures(LINGERING)]
    for frame, picture in enumerate(shown):
        right = round(2.6 * LINGERING[frame] * 0.4)
        picture[30:62, 90 + right : 120 + right] = panorama.backdrop(seed=4)[:32, :30]
    return shown


def _noisy() -> Pictures:
    random = np.random.default_rng(0)
    return [(p + random.normal(0, 22, p.shape)).clip(0, 255).astype(np.uint8) for p in panorama.pictures(LINGERING)]


def _poses() -> Feature:
    return panorama.poses(LINGERING)


ASIDE = there_and_back("left_then_right", 15, degrees=36.0, return_offset_metres=0.2)
ROOM = Room(3, width=192, height=108)


def _walked() -> Pictures:
    shown = list(ROOM.frames(ASIDE))
    shown[-1] = shown[-1].copy()
    shown[-1][40:60, 20:60] = (200, 40, 40)
    return shown


def _walked_poses() -> Feature:
    return _in_the_room(ASIDE)


def _in_the_room(path: NDArray[Any]) -> Feature:
    count = len(path)
    return Trajectory(
        camera_to_world=np.asarray(path, np.float64),
        intrinsics=np.tile(ROOM.intrinsics, (count, 1, 1)),
        frame_indices=np.arange(count),
        median_depth=np.full(count, 3.0),
        width=ROOM.width,
        height=ROOM.height,
        frame_count=count,
    ).to_feature()


TURNED = there_and_back("left_then_right", 15, degrees=40.0)


def _rich() -> Pictures:
    """A turn in a room with many points, in which a part of the picture moved and another was copied."""
    shown = [picture.copy() for picture in ROOM.frames(TURNED)]
    things = Room(8, width=192, height=108).render(TURNED[0])
    for frame, picture in enumerate(shown):
        if frame in (0, 1, 13, 14):
            down = 0 if frame < 2 else 9
            picture[20 + down : 52 + down, 100:150] = things[20:52, 100:150]
        if frame in (13, 14):
            picture[68:100, 110:160] = things[20:52, 20:70]
            picture[68:100, 20:70] = things[20:52, 20:70]
        if frame in (0, 1):
            picture[68:100, 20:70] = things[20:52, 20:70]
    return shown


def _rich_poses() -> Feature:
    return _in_the_room(TURNED)


RATED: Mapping[str, Callable[[], Feature]] = {
    "return_rating": lambda: Feature({"parts": np.array([[4, 3, 5, 2]]), "overall": np.array([70])}),
    "quality": lambda: Feature({"quality": np.linspace(60, 40, 700)}),
}


def _large() -> Pictures:
    """Enough pixels for a path to be tracked."""
    return list(Room(5, width=384, height=216).frames(there_and_back("left_then_right", 9, degrees=25.0)))


def _shaken() -> Pictures:
    """A picture that shifts, rolls and zooms a little, with a part that moves against it."""
    backdrop = panorama.backdrop(3)
    shown: list[NDArray[np.uint8]] = []
    for frame in range(14):
        progress = 1 - abs(frame - 7) / 7
        turn = cv2.getRotationMatrix2D((450, 150), 3 * progress, 1 + 0.05 * progress)
        turn[0, 2] += 60 * progress
        picture = np.array(cv2.warpAffine(backdrop, turn, panorama.WIDE)[96:204, 354:546], np.uint8)
        picture[60 : 60 + 40, 4 * frame : 4 * frame + 40] = panorama.backdrop(seed=7)[:40, :40]
        shown.append(picture)
    return shown


def _cloud(path: NDArray[Any], **fields: Any) -> Callable[[], list[Sighting]]:
    return lambda: Cloud(room(500), **{"noise": 0.4, "wrong": 0.1, **fields}).sightings(path)


def _broken(path: NDArray[Any], at: int) -> Callable[[], list[Sighting]]:
    """From one frame on, the same scene looks different."""
    return lambda: [
        *Cloud(room(500), seed=0).sightings(path)[:at],
        *Cloud(room(500), seed=1).sightings(path)[at:],
    ]


def _straight(degrees: float, way: float, frames: int) -> NDArray[Any]:
    path = np.concatenate([poses(yaw, frames=3)[1:2] for yaw in np.linspace(0, degrees, frames)])
    path[:, 0, 3] = np.linspace(0, way, frames)
    return path


def _seen(name: str, paint: Paint, seconds: int = 3) -> Clip:
    return Clip(name=name, bounds=_of_changes, draw=lambda: _painted(paint), given={"poses": _poses}, seconds=seconds)


EASED = tuple(float(angle) for angle in 30 - 30 * np.cos(np.linspace(0, 2 * np.pi, 21)))
REQUESTED = {
    "poses": lambda: panorama.poses((*(0.9 * angle for angle in EASED[:12]), *EASED[14:])),
    "commanded_poses": lambda: panorama.poses(EASED),
}


def _paths(out: float, far: float, *, jitter: float = 0.01, turned: float = 0.9) -> Mapping[str, Callable[[], Feature]]:
    """What was asked for, a turn and a move sideways and back, and a camera that went another way."""

    def path(share: float, noise: float) -> Feature:
        progress = 1 - abs(np.linspace(-1, 1, 49))
        found = np.tile(np.eye(4), (49, 1, 1))
        found[:, :3, :3] = Rotation.from_rotvec(np.outer(np.radians(out * share) * progress, [0, 1, 0])).as_matrix()
        found[:, 0, 3] = far * share * progress
        found[:, :3, 3] += noise * np.random.default_rng(0).normal(size=(49, 3))
        return Trajectory(
            camera_to_world=found,
            intrinsics=np.tile(ROOM.intrinsics, (49, 1, 1)),
            frame_indices=np.arange(49),
            median_depth=np.full(49, 3.0),
            width=ROOM.width,
            height=ROOM.height,
            frame_count=49,
        ).to_feature()

    asked = partial(path, 1.0, 0.0)
    return {"poses": partial(path, turned, jitter), **dict.fromkeys(ASKED, asked)}


def _path_clip(name: str, action: str, given: Mapping[str, Callable[[], Feature]]) -> Clip:
    rollout = replace(ROLLOUT, case=replace(ROLLOUT.case, action=action))
    return Clip(name=name, bounds=_of_paths, given=given, rollout=rollout)


ASKED = ("reference_poses", "requested_poses", "commanded_poses")
CLIPS: tuple[Clip, ...] = (
    _path_clip("asked_turn", "left_then_right", _paths(-60, 0)),
    _path_clip("asked_pan", "pan_left_then_right", _paths(0, -0.5)),
    _path_clip("asked_little", "pan_left_then_right", _paths(0, -2e-4, jitter=1e-5)),
    _path_clip("asked_nothing", "static", _paths(0, 0, jitter=1e-6)),
    _path_clip("asked_both", "left_then_right", _paths(-120, 0.8)),
    _seen("patched", _patched),
    _seen("flickering", _flickering),
    _seen("pushed", _pushed),
    _seen("copied", _copied),
    _seen("restyled", _restyled),
    _seen("relit", _relit),
    _seen("early", _early),
    Clip(name="carried", bounds=_of_changes, draw=_carried, given={"poses": _poses}),
    Clip(name="noisy", bounds=_of_changes, draw=_noisy, given={"poses": _poses}),
    Clip(name="walked", bounds=_of_changes, draw=_walked, given={"poses": _walked_poses}),
    Clip(name="rich", bounds=_of_changes, draw=_rich, given={"poses": _rich_poses}),
    Clip(name="requested", bounds=_of_camera, given=REQUESTED),
    Clip(name="gate_by_poses", bounds=_gate, draw=lambda: _painted(_patched), given={"poses": _poses}),
    Clip(name="gate_shaken", bounds=_gate, draw=_shaken),
    Clip(name="turned", bounds=_tracked, sightings=_cloud(poses(30, frames=12))),
    Clip(name="turned_wide", bounds=_tracked, sightings=_cloud(poses(70, 5, frames=12), focal=200.0)),
    Clip(name="still", bounds=_tracked, sightings=_cloud(poses(0.1, frames=8))),
    Clip(name="orbited", bounds=_tracked, sightings=_cloud(orbit(25, frames=12), wrong=0.05), seconds=6),
    Clip(name="walked_ahead", bounds=_tracked, sightings=_cloud(poses(15, way=(0.4, 0, 0.8), frames=12)), seconds=6),
    Clip(name="broken", bounds=_tracked, sightings=_broken(_straight(30, 0, 14), 7)),
    Clip(name="broken_walk", bounds=_tracked, sightings=_broken(poses(way=(0, 0, 1.5), frames=24), 12), seconds=8),
    Clip(name="tracked", bounds=_tracked, draw=_large, seconds=8),
    Clip(name="carried_networks", bounds=_carried_networks, draw=_large, seconds=8),
    Clip(name="rated", bounds=_rated, given=RATED),
    Clip(name="musiq", bounds=_quality, draw=_large, seconds=8),
)
"""The first that a change moves is the last that is measured, so quick ones come first."""
