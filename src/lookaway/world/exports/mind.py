"""MIND: `MIND-Data` with actions and poses, and one folder of predictions for each model."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from lookaway.core import Floats, Json, mirrored_frames
from lookaway.io.camera_steps import camera_steps
from lookaway.io.decoding import Decoder
from lookaway.io.encoding import BT709, X264, Encoding, write_pictures
from lookaway.io.files import write_json, write_text
from lookaway.io.world_clips import WorldClip
from lookaway.world.exports.conventions import to_colmap, to_unreal
from lookaway.world.exports.folder import Export, ExportCase, ExportReport, contestant, put

SAME_POSE: Final = 1e-6
"""Largest difference of two equal poses, in metres and in rotation matrix entries."""
LOSSLESS: Final = {"qp": "0", "preset": "veryfast", "x264-params": X264}


def write_tail(video: Path, target: Path, start: int, fps: int) -> None:
    """The frames from `start` on, as every decoder finds them in the video, bit for bit."""
    with closing(Decoder(video)) as decoder:
        _write(decoder, target, range(start, len(decoder.index)), fps)


def write_frames(video: Path, target: Path, indices: Sequence[int], fps: int) -> None:
    """Frames of increasing indices, as every decoder finds them in the video, bit for bit."""
    with closing(Decoder(video)) as decoder:
        _write(decoder, target, indices, fps)


def _write(decoder: Decoder, target: Path, indices: Sequence[int], fps: int) -> None:
    encoding = Encoding(container="mp4", codec="libx264", fps=fps, options=LOSSLESS, colour=BT709)
    write_pictures(target, (picture for _, picture in decoder.pictures(indices)), encoding)


TRUTH: Final = "MIND-Data"
PREDICTIONS: Final = "models"
VIEWS: Final = ("1st_data", "3rd_data")
TESTS: Final = ("mem_test", "action_space_test")
MIRROR: Final = "mirror_test"
HEAD: Final = """\
# Image list with two lines of data per image:
#   IMAGE_ID, QW, QX, QY, QZ, TX, TY, TZ, CAMERA_ID, NAME
#   POINTS2D[] as (X, Y, POINT3D_ID)
# World to camera, OpenCV axes, metres
"""


def export_mind(clips: Sequence[WorldClip], output: Path) -> ExportReport:
    """First-person memory tests: the context ends where the target disappears, the rest is predicted.

    Predictions are cut there, since MIND compares their first frame with the frame after the context. If there is no
    event and the camera retraces its path, the case is also a mirror test.
    """
    export = Export.start(clips, output, "mind")
    for view in VIEWS:  # the official evaluator does not start where one of them is missing
        for test in TESTS:
            (output / TRUTH / view / "test" / test).mkdir(parents=True)
    for case, truth in export.memory_tests():
        mark = truth.card.phases.disappeared[0]
        folder = output / TRUTH / VIEWS[0] / "test" / TESTS[0] / case.name
        put(truth.video, folder / "video.mp4")
        write_json(folder / "action.json", _actions(truth, mark))
        write_text(folder / "images.txt", images_text(truth.arrays().camera_to_world[mark:]))
        for clip in case.clips:
            root = output / PREDICTIONS / contestant(clip.card)
            for view in VIEWS:
                for test in (*TESTS, MIRROR):
                    (root / view / test).mkdir(parents=True, exist_ok=True)
            place = root / VIEWS[0] / TESTS[0] / case.name
            write_tail(clip.video, place / "video.mp4", mark, clip.card.fps)
            write_text(place / "images.txt", images_text(clip.arrays().camera_to_world[mark:]))
            export.written += 1
        export.names[case.name] = {
            "mark_time": mark,
            "total_time": truth.card.frames,
            MIRROR: _write_mirror_test(output, case, truth),
        }
    return export.finish()


def _write_mirror_test(output: Path, case: ExportCase, truth: WorldClip) -> Json:
    """Write the mirrored path of every model; returns its frames, or why there is none."""
    if truth.card.event != "none":
        return {"left_out": f"the target changes: its event is {truth.card.event!r}"}
    frames = mirrored_frames(truth.arrays().camera_to_world, SAME_POSE)
    if frames is None:
        return {"left_out": f"the camera {truth.card.camera!r} does not retrace its path"}
    for clip in case.clips:
        place = output / PREDICTIONS / contestant(clip.card) / VIEWS[0] / MIRROR / case.name
        write_frames(clip.video, place / "path-1.mp4", frames, clip.card.fps)
    return {"frames": list(frames)}


def images_text(camera_to_world: Floats) -> str:
    """`images.txt` as COLMAP writes it, with a line of no points after each image."""
    lines = []
    for number, (turn, move) in enumerate(zip(*to_colmap(camera_to_world), strict=True)):
        numbers = " ".join(f"{value:.9f}" for value in (*turn, *move))
        lines.append(f"{number + 1} {numbers} 1 images/frame_{number:06d}.jpg\n\n")
    return HEAD + "".join(lines)


def _actions(truth: WorldClip, mark: int) -> Json:
    """`action.json`; in first-person clips the camera is the actor."""
    cameras = truth.arrays().camera_to_world
    locations, angles = to_unreal(cameras)
    keys = camera_steps(cameras).held_keys()
    keys.append(dict.fromkeys(keys[-1], 0))  # nothing follows the last frame
    data: list[Json] = [
        {"time": frame, **held, "actor_pos": _xyz(locations[frame]), "actor_rpy": _xyz(angles[frame])}
        for frame, held in enumerate(keys)
    ]
    return {"mark_time": mark, "total_time": truth.card.frames, "caption": truth.card.caption, "data": data}


def _xyz(values: Floats) -> dict[str, Json]:
    return dict(zip("xyz", map(float, values), strict=True))
