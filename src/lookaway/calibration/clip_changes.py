"""Controls, nuisances and looks: what is done to a clip that is no fault of a memory.

A control shows nothing about memory, and no metric should prefer it. A nuisance changes nothing that matters, and no
metric should react to it. A look is that of all clips of a set, with and without faults.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any, Final, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from lookaway.calibration.card import CLEAN_LOOK
from lookaway.core import FrameRequest, Indices, Rollout, UnknownName, UserError
from lookaway.io.clip_card import ClipArrays, hash_arrays, hash_pictures, write_clip_arrays
from lookaway.io.encoding import DEFAULT_CRF, write_video
from lookaway.io.files import write_json
from lookaway.io.planes import read_planes, write_planes
from lookaway.io.video import Video
from lookaway.io.world_clips import ARRAYS, CARD, DEPTH, INSTANCES, VIDEO, WorldClip
from lookaway.perception.truth import TRUTH

PHASES: Final = ("visible", "disappeared", "reappeared")
CROP: Final = 0.6
LETTERBOX: Final = 1 / 12
"""Height of each bar, as a part of the frame's."""
GRAIN: Final = 4.0
"""Standard deviation of added noise, in levels."""
FLICKER_STOPS: Final = 0.05
GAMMA: Final = 2.2
CAST: Final = (1.06, 1.0, 0.92)
"""Gains of red, green and blue."""

Pictures = NDArray[Any]
"""[frames, height, width, 3] from 0 to 255, of any type."""
Edit = Callable[[Pictures, np.random.Generator], Pictures]
Order = Callable[[int, np.random.Generator], Indices]
"""From a number of frames to the frames that are shown, one after the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipChange:
    """One control, nuisance or look."""

    name: str
    kind: Literal["control", "nuisance", "look"]
    summary: str
    order: Order | None = None
    """Which frames are shown; `None` is all of them in their order."""
    edit: Edit | None = None
    """What is done to the frames that are shown; `None` is nothing."""
    crf: int = DEFAULT_CRF
    rate: Fraction = Fraction(1)
    """Factor of the frame rate."""
    keeps_truth: bool = True
    """Whether the ground truth of a frame still holds once it is changed."""
    pose_jitter: float = 0.0
    """Random error of the true camera positions, as a part of the depth of the scene; the video stays as it is."""
    is_of_another_scene: bool = False
    """Whether the frames are those of another clip."""


def frozen(count: int, rng: np.random.Generator) -> Indices:
    """The first frame for the whole time."""
    return np.zeros(count, np.int64)


def backwards(count: int, rng: np.random.Generator) -> Indices:
    """All frames from the last to the first."""
    return np.arange(count)[::-1]


def shuffled(count: int, rng: np.random.Generator) -> Indices:
    """All frames in a random order."""
    return rng.permutation(count)


def looped(count: int, rng: np.random.Generator) -> Indices:
    """The first half, then the same frames backwards.

    >>> rng = np.random.default_rng(0)
    >>> looped(5, rng).tolist(), looped(4, rng).tolist()
    ([0, 1, 2, 1, 0], [0, 1, 1, 0])
    """
    return np.minimum(np.arange(count), np.arange(count)[::-1])


def cropped(frames: Pictures, rng: np.random.Generator) -> Pictures:
    """A window that pans over the first frame and back."""
    height, width = frames.shape[1:3]
    high, wide = round(CROP * height), round(CROP * width)
    top, ways = (height - high) // 2, np.sin(np.pi * np.linspace(0, 1, len(frames)))
    lefts = np.round((width - wide) * (1 - ways)).astype(int)
    windows = (frames[0][top : top + high, left : left + wide] for left in lefts)
    return np.stack([cv2.resize(window, (width, height), interpolation=cv2.INTER_CUBIC) for window in windows])


def only_noise(frames: Pictures, rng: np.random.Generator) -> Pictures:
    """Random pixels, new in every frame."""
    return rng.integers(0, 256, frames.shape).astype(np.uint8)


def overlaid(frames: Pictures, rng: np.random.Generator) -> Pictures:
    """The first frame at half opacity over every frame, so that something always looks as it did."""
    return 0.5 * frames + 0.5 * frames[:1]


def flickering(frames: Pictures, rng: np.random.Generator) -> Pictures:
    """A random exposure of every frame."""
    gains = 2.0 ** rng.normal(0, FLICKER_STOPS, len(frames))
    return np.stack(
        [
            255 * ((frame / 255) ** GAMMA * gain).clip(0, 1) ** (1 / GAMMA)
            for frame, gain in zip(frames, gains, strict=True)
        ]
    )


def grainy(frames: Pictures, rng: np.random.Generator) -> Pictures:
    """Noise on every pixel."""
    return frames + rng.normal(0, GRAIN, frames.shape)


def blurred(frames: Pictures, rng: np.random.Generator) -> Pictures:
    """A soft focus, in proportion to the height."""
    sigma = frames.shape[1] / 360
    return np.stack([cv2.GaussianBlur(frame, (0, 0), sigma) for frame in frames])


def colour_cast(frames: Pictures, rng: np.random.Generator) -> Pictures:
    """Warmer colours, the same in every frame."""
    return np.asarray(frames * np.array(CAST))


def narrow_range(frames: Pictures, rng: np.random.Generator) -> Pictures:
    """Levels from 16 to 235, as a player shows them that confuses the range of a video."""
    return 16 + frames * (219 / 255)


def letterboxed(frames: Pictures, rng: np.random.Generator) -> Pictures:
    """Black bars above and below, over the picture."""
    bar = max(1, round(LETTERBOX * frames.shape[1]))
    shown = frames.copy()
    shown[:, :bar] = shown[:, -bar:] = 0
    return shown


def resized(scale: float, interpolation: int) -> Edit:
    """Frames of another size."""

    def resize(frames: Pictures, rng: np.random.Generator) -> Pictures:
        return np.stack([cv2.resize(f, None, fx=scale, fy=scale, interpolation=interpolation) for f in frames])

    return resize


def resampled(interpolation: int) -> Edit:
    """Frames that were made three quarters as large, and large again, with one filter."""

    def resample(frames: Pictures, rng: np.random.Generator) -> Pictures:
        height, width = frames.shape[1:3]
        small = [cv2.resize(f, (width * 3 // 4, height * 3 // 4), interpolation=interpolation) for f in frames]
        return np.stack([cv2.resize(f, (width, height), interpolation=interpolation) for f in small])

    return resample


def wobbling(frames: Pictures, rng: np.random.Generator) -> Pictures:
    """As generators do: each frame is warped smoothly by up to half a per cent of its height."""
    height, width = frames.shape[1:3]
    y, x = np.indices((height, width), np.float32)

    def field() -> Pictures:
        coarse = rng.normal(0, 0.0025 * height, (4, 6)).astype(np.float32)
        return np.asarray(cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC))

    return np.stack(
        [cv2.remap(f, x + field(), y + field(), cv2.INTER_LINEAR, None, cv2.BORDER_REFLECT) for f in frames]
    )


def repainted(frames: Pictures, rng: np.random.Generator) -> Pictures:
    """As generators do: fine texture is lost in a picture of a third of the size and painted anew in every frame."""
    height, width = frames.shape[1:3]
    small = [cv2.resize(frame, (width // 3, height // 3), interpolation=cv2.INTER_AREA) for frame in frames]
    coarse = np.stack([cv2.resize(frame, (width, height), interpolation=cv2.INTER_CUBIC) for frame in small])
    strength = np.abs(frames.astype(np.float32) - coarse).mean(axis=-1, keepdims=True)
    grain = np.stack([cv2.GaussianBlur(rng.normal(0, 1, (height, width)), (0, 0), 0.8) for _ in frames])[..., None]
    return np.asarray(coarse + 1.5 * strength * grain)


def as_generated(frames: Pictures, rng: np.random.Generator) -> Pictures:
    """As generators do: soft, warped smoothly, grainy and warm."""
    return colour_cast(grainy(wobbling(blurred(frames, rng), rng), rng), rng)


def _control(name: str, summary: str, **more: Any) -> ClipChange:
    return ClipChange(name=name, kind="control", summary=summary, **more)


def _nuisance(name: str, summary: str, **more: Any) -> ClipChange:
    return ClipChange(name=name, kind="nuisance", summary=summary, **more)


CONTROLS: Final[Mapping[str, ClipChange]] = {
    change.name: change
    for change in (
        _control("frozen", "the first frame for the whole time", order=frozen),
        _control("reversed", "the clip backwards", order=backwards),
        _control("shuffled", "all frames in a random order", order=shuffled),
        _control("wrong_scene", "the clean clip of another scene", is_of_another_scene=True),
        _control("noise", "random pixels", edit=only_noise, keeps_truth=False),
        _control("overlay", "the first frame at half opacity over every frame", edit=overlaid),
        _control("crop", "a window that pans over the first frame and back", edit=cropped, keeps_truth=False),
        _control("loop", "the first half, then the same frames backwards", order=looped),
    )
}
NUISANCES: Final[Mapping[str, ClipChange]] = {
    change.name: change
    for change in (
        _nuisance("crf18", "encoded at CRF 18", crf=18),
        _nuisance("crf28", "encoded at CRF 28", crf=28),
        _nuisance("crf35", "encoded at CRF 35", crf=35),
        _nuisance(
            "half_rate", "every other frame", order=lambda count, rng: np.arange(count)[::2], rate=Fraction(1, 2)
        ),
        _nuisance(
            "double_rate", "every frame twice", order=lambda count, rng: np.arange(2 * count) // 2, rate=Fraction(2)
        ),
        _nuisance("trimmed", "without its last frame", order=lambda count, rng: np.arange(count - 1)),
        _nuisance("half_size", "half the height and width", edit=resized(0.5, cv2.INTER_AREA), keeps_truth=False),
        _nuisance("bilinear", "three quarters and back, bilinear", edit=resampled(cv2.INTER_LINEAR)),
        _nuisance("lanczos", "three quarters and back, Lanczos", edit=resampled(cv2.INTER_LANCZOS4)),
        _nuisance("letterbox", "black bars over a twelfth of the height each", edit=letterboxed),
        _nuisance("narrow_range", "levels from 16 to 235", edit=narrow_range),
        _nuisance("flicker", "a random exposure of every frame, 0.05 stops", edit=flickering),
        _nuisance("grain", "noise of four levels", edit=grainy),
        _nuisance("blur", "a soft focus", edit=blurred),
        _nuisance("colour_cast", "warmer colours", edit=colour_cast),
        _nuisance("pose_jitter_0.1", "true poses off by 0.1 % of the depth", pose_jitter=0.001),
        _nuisance("pose_jitter_2", "true poses off by 2 % of the depth", pose_jitter=0.02),
        _nuisance("wobble", "every frame warped smoothly", edit=wobbling, crf=18),
        _nuisance("repainted", "fine texture painted anew in every frame", edit=repainted, crf=18),
    )
}
CHANGES: Final[Mapping[str, ClipChange]] = {**CONTROLS, **NUISANCES}
REORDERED: Final = tuple(name for name, change in CHANGES.items() if change.order is not None)
"""Those that show frames of the clip as they are, in another order."""
LOOKS: Final[Mapping[str, ClipChange | None]] = {
    CLEAN_LOOK: None,
    "generator_like": ClipChange(
        name="generator_like", kind="look", summary="soft, warped, grainy and warm, with the blocks of a low bit rate",
        edit=as_generated, crf=32,
    ),
}  # fmt: skip


def find_change(name: str) -> ClipChange:
    """The control or nuisance of this name."""
    if name not in CHANGES:
        raise UnknownName("control or nuisance", name, CHANGES)
    return CHANGES[name]


def changed_model(rollout: Rollout, change: ClipChange) -> str:
    """The model that a changed clip is listed under."""
    return f"{rollout.model}+{change.name}"


def changed_folder(rollout: Rollout, change: ClipChange, folder: Path) -> Path:
    """Where a changed clip is kept below a folder of changed clips."""
    return folder / change.name / rollout.model / f"{rollout.case.id}-{rollout.seed}"


def change_rollout(rollout: Rollout, change: ClipChange, folder: Path, donor: Rollout | None = None) -> Rollout:
    """The rollout with its video changed and written below a folder; one that is there already is kept.

    `donor` is a clip of another scene, for the changes that show one.
    """
    if change.is_of_another_scene and (donor is None or donor.case.scene == rollout.case.scene):
        raise UserError(f"{change.name} of {rollout.case.id} needs a clip of another scene: add families or seeds.")
    source = donor if donor is not None and change.is_of_another_scene else rollout
    target = changed_folder(rollout, change, folder)
    rng = random_of(change, rollout)
    with Video(source.video) as video:
        count, rate = video.timeline.frame_count, frame_rate(video.timeline.times_seconds.tolist())
    order = np.arange(count) if change.order is None else change.order(count, rng)
    phases = {name: _moved(bounds, change.rate, len(order)) for name, bounds in rollout.phases.items()}
    shown = source.video if change.pose_jitter else target / VIDEO
    if not shown.is_file():
        frames = edit_frames(read_frames(source.video)[order], change, rng)
        write_video(shown, frames, rate * change.rate, crf=change.crf)
    artifacts = source.artifacts if change.keeps_truth else {}
    if TRUTH in artifacts and (change.order is not None or change.pose_jitter):
        if not (target / CARD).is_file():
            _write_truth(WorldClip.open(artifacts[TRUTH].parent), order, change, rng, target)
        artifacts = {TRUTH: target / CARD}
    model = changed_model(rollout, change)
    return replace(rollout, video=shown, model=model, artifacts=artifacts, phases=phases)


def random_of(change: ClipChange, rollout: Rollout) -> np.random.Generator:
    """Random numbers that depend on the change and the rollout alone."""
    digest = hashlib.sha256(f"{change.name}/{rollout.id}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "big"))


def edit_frames(frames: Pictures, change: ClipChange, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Frames as they are shown, with even sides."""
    edited = frames if change.edit is None else change.edit(frames, rng)
    shown = np.round(np.clip(edited, 0, 255)).astype(np.uint8)
    return shown[:, : shown.shape[1] // 2 * 2, : shown.shape[2] // 2 * 2]


def _moved(bounds: tuple[int, int], rate: Fraction, count: int) -> tuple[int, int]:
    start, end = bounds
    return min(ceil(start * rate), count), min(ceil(end * rate), count)


def _write_truth(clip: WorldClip, order: Indices, change: ClipChange, rng: np.random.Generator, folder: Path) -> None:
    """Write the ground truth of frames in another order or with other poses, the card last.

    A control does not change what the camera was asked to do.
    """
    card, arrays = clip.card, clip.arrays()
    asked = order if change.kind == "nuisance" else np.arange(len(order))
    columns = {name: column if name == "intrinsics" else column[order] for name, column in arrays.named().items()}
    if change.pose_jitter:
        error = change.pose_jitter * float(np.median(next(clip.depth())))
        columns["camera_to_world"] = np.array(columns["camera_to_world"])
        columns["camera_to_world"][:, :3, 3] += rng.normal(0, error, (len(order), 3))
    columns["requested_camera_to_world"] = arrays.requested_camera_to_world[asked]
    columns["timestamps"] = np.arange(len(order)) / (card.fps * float(change.rate))
    write_clip_arrays(folder / ARRAYS, ClipArrays(**columns))
    hashes = {"arrays": hash_arrays(columns)}
    for name, kind in ((DEPTH, "depth"), (INSTANCES, "instances")):
        planes = list(read_planes(clip.folder / name))
        shown = [planes[index] for index in order.tolist()]
        write_planes(folder / name, shown)
        hashes[kind] = hash_pictures(shown)
    phases = {name: _moved(getattr(card.phases, name), change.rate, len(order)) for name in PHASES}
    changed = card.model_copy(
        update={
            "model": f"{card.model}+{change.name}",
            "frames": len(order),
            "phases": card.phases.model_copy(update={**phases, "causes": ()}),
            "hashes": card.hashes.model_copy(update=hashes),
        }
    )
    write_json(folder / CARD, changed.model_dump(mode="json"))


def read_frames(path: Path) -> NDArray[np.uint8]:
    """All frames of a video, [frames, height, width, 3]."""
    with Video(path) as video:
        request = FrameRequest(frozenset(range(video.timeline.frame_count)), video.timeline.height)
        return np.stack([frame.pixels for _, frame in video.frames([request])])


def frame_rate(times: Sequence[float]) -> Fraction:
    """Frames per second of a video whose frames have these times; 1 for a single frame."""
    if len(times) < 2:
        return Fraction(1)
    return Fraction((len(times) - 1) / (times[-1] - times[0])).limit_denominator(1001)
