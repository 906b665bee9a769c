"""Checks of single parts of an installation, each with a known answer: decoder, poses, OpenCV, weights, storage."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np

from lookaway.core import Compute, Floats, LookawayError, Pixels, Timeline, Unmeasurable, UserError
from lookaway.io.encoding import write_video
from lookaway.io.files import make_folder, read_bytes, remove_all, write_whole
from lookaway.io.object_storage import is_remote, write_object_if
from lookaway.io.pose_files.layouts import read_da3
from lookaway.io.pose_files.source import PoseSource
from lookaway.io.video import Video
from lookaway.perception.networks.pretrained import load_torch
from lookaway.perception.opencv import opencv_version
from lookaway.perception.weights import CATALOGUE, published
from lookaway.perception.weights.fetching import check as check_weights

Status = Literal["ok", "fault", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What one check found."""

    check: str
    status: Status
    found: str
    reason: str = ""
    """The likely reason of a fault, and what to do about it."""


FPS: Final = 10
FRAMES: Final = 12
BLOCK: Final = 16
COLOURS: Final = ((200, 40, 40), (40, 200, 40), (40, 40, 200))
"""Red, green, blue, each far from the others after any encoding."""
NEAR: Final = 40


def check_decoder() -> CheckResult:
    """Decode a clip that shows the number of every frame, and patches of known colours."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "numbered.mp4"
        write_video(path, (numbered_frame(number) for number in range(FRAMES)), FPS)
        try:
            with Video(path) as video:
                times = video.timeline.times_seconds
                frames = [frame for window in video.windows(1) for frame in window]
        except Unmeasurable as error:
            return CheckResult(
                check="decoder", status="fault", found=str(error), reason="FFmpeg cannot read H.264 here"
            )
    problem = _decoding_problem(frames[0].pixels, [_number(frame.pixels) for frame in frames], times)
    if problem is None:
        return CheckResult(
            check="decoder", status="ok", found=f"{FRAMES} frames, in order, colours and times as written"
        )
    found, reason = problem
    return CheckResult(check="decoder", status="fault", found=found, reason=reason)


def numbered_frame(number: int) -> Pixels:
    """Three patches of colour above the bits of a number, white for 1."""
    pixels = np.zeros((2 * BLOCK, 4 * BLOCK, 3), np.uint8)
    for place, colour in enumerate(COLOURS):
        pixels[:BLOCK, place * BLOCK : (place + 1) * BLOCK] = colour
    for bit in range(4):
        pixels[BLOCK:, bit * BLOCK : (bit + 1) * BLOCK] = 255 * (number >> bit & 1)
    return pixels


def _number(pixels: Pixels) -> int:
    middle = BLOCK // 2
    return sum(int(pixels[BLOCK + middle, bit * BLOCK + middle].mean() > 127) << bit for bit in range(4))


def _decoding_problem(first: Pixels, numbers: Sequence[int], times: Floats) -> tuple[str, str] | None:
    middle = BLOCK // 2
    colours = [first[middle, place * BLOCK + middle].astype(int) for place in range(3)]
    if max(np.abs(colour - known).max() for colour, known in zip(colours, COLOURS, strict=True)) > NEAR:
        is_swapped = all(np.abs(c[::-1] - k).max() <= NEAR for c, k in zip(colours, COLOURS, strict=True))
        found = f"red is decoded as {colours[0].tolist()}, expected about {list(COLOURS[0])}"
        return found, "channels are swapped: BGR for RGB" if is_swapped else "another matrix or range of colours"
    if numbers != list(range(FRAMES)):
        # At one end the first or the last frame may be repeated.
        shifts = {number - place for place, number in enumerate(numbers) if 0 < place < FRAMES - 1}
        off = f"decoding is off by {shifts.pop()}" if len(shifts) == 1 else "frames are lost, repeated or out of order"
        return f"the frames are {numbers}, expected 0 to {FRAMES - 1}", off
    if len(times) != FRAMES or np.abs(times - np.arange(FRAMES) / FPS).max() > 0.5e-3:
        step = float(np.diff(times).mean()) if len(times) > 1 else 0.0
        rate = f"{1 / step:g} frames per second" if step > 0 else "no frame rate"
        return f"the times are those of {rate}, expected {FPS}", "wrong frame rate: time stamps are not read as written"
    return None


def check_poses() -> CheckResult:
    """Read poses of a known path, written as world-to-camera, and see where the camera is and looks."""
    angles = np.radians([0.0, 30.0, 60.0])
    expected = np.tile(np.eye(4), (len(angles), 1, 1))
    for matrix, angle in zip(expected, angles, strict=True):  # the camera moves along x and turns to its right
        matrix[:3, :3] = [[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]]
        matrix[0, 3] = angle
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.npz"
        lens = np.tile([[50.0, 0.0, 32.0], [0.0, 50.0, 16.0], [0.0, 0.0, 1.0]], (len(angles), 1, 1))
        depth = np.ones((len(angles), 32, 64), np.float32)
        np.savez(path, extrinsics=np.linalg.inv(expected)[:, :3], intrinsics=lens, depth=depth)
        timeline = Timeline(np.arange(len(angles)) / FPS, 64, 32)
        found = read_da3(PoseSource(path=path, timeline=timeline)).trajectory.camera_to_world
    if np.allclose(found, expected, atol=1e-6):
        return CheckResult(check="poses", status="ok", found="a known path is read as camera-to-world, in OpenCV axes")
    if np.allclose(found, np.linalg.inv(expected), atol=1e-6):
        what, reason = "the inverse of the known path", "world-to-camera is taken for camera-to-world"
    else:
        off = float(np.abs(found - expected).max())
        what, reason = f"a path that is off by {off:.3g}", "axes or units of poses are not those of OpenCV"
    return CheckResult(check="poses", status="fault", found=what, reason=reason)


def check_opencv(expected: str) -> CheckResult:
    """Whether OpenCV is of the version that the tolerances of metrics were measured with."""
    found = opencv_version()
    if found.split(".")[:2] == expected.split(".")[:2]:
        return CheckResult(check="opencv", status="ok", found=found)
    reason = (
        f"another OpenCV: tolerances hold for {expected}. Matches, tracked poses and resized frames may differ; "
        f"install opencv-python-headless=={'.'.join(expected.split('.')[:2])}.*"
    )
    return CheckResult(check="opencv", status="fault", found=found, reason=reason)


def check_installed_weights() -> Iterator[CheckResult]:
    """Whether installed weights are the published ones; weights that are not installed are named once."""
    missing = []
    for name in CATALOGUE:
        if published(name).declines() is not None:
            missing.append(name)
            continue
        others = [(file, found) for file, found, known in check_weights(name) if known and not found.startswith(known)]
        if others:
            file, found = others[0]
            yield CheckResult(
                check="weights",
                status="fault",
                found=f"{name}: {file} has the SHA-256 {found[:12]}",
                reason=f"wrong weights: not the published file. Run: lookaway weights fetch {name} --force",
            )
        else:
            yield CheckResult(check="weights", status="ok", found=f"{name}: as published")
    if missing:
        yield CheckResult(
            check="weights", status="skipped", found=f"{len(missing)} are not installed; see `lookaway weights list`"
        )


def check_device(compute: Compute) -> CheckResult:
    """Whether networks can compute on a device, and multiply as NumPy does."""
    try:
        torch = load_torch(compute)
    except UserError as error:
        return CheckResult(check="device", status="skipped", found=f"{compute.device}: {error}")
    first = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    product = torch.from_numpy(first).to(compute.device) @ torch.from_numpy(first.T.copy()).to(compute.device)
    if np.allclose(product.cpu().numpy(), first @ first.T, rtol=1e-5):
        return CheckResult(check="device", status="ok", found=compute.device)
    return CheckResult(
        check="device", status="fault", found=f"{compute.device} multiplies wrongly", reason="a faulty driver or device"
    )


def check_storage(folder: Path) -> CheckResult:
    """Write, read, write on a condition and remove a file. How long it takes is shown, and is no fault."""
    path, content = folder / ".lookaway-doctor", bytes(range(256)) * 64
    started = time.perf_counter()
    try:
        if not is_remote(folder):
            make_folder(folder)
        write_whole(path, lambda file: file.write(content))
        found = read_bytes(path)
        is_overwritten = is_remote(folder) and write_object_if(path, b"other", None) is not None
        remove_all([path])
    except (OSError, LookawayError) as error:
        return CheckResult(
            check="storage", status="fault", found=f"{folder}: {error}", reason="no right to write there"
        )
    seconds = time.perf_counter() - started
    if found != content:
        return CheckResult(
            check="storage", status="fault", found=f"{folder}: what is read is not what was written",
            reason="storage does not keep what is written",
        )  # fmt: skip
    if is_overwritten:
        return CheckResult(
            check="storage", status="fault", found=f"{folder}: a conditional write overwrites",
            reason="storage ignores If-None-Match, so that two processes may write one run",
        )  # fmt: skip
    return CheckResult(check="storage", status="ok", found=f"{folder}: written, read and removed in {seconds:.2f} s")
