"""What an adapter of a model is: a card of facts, and a plan of controls for a request."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Protocol, TypeAlias

import numpy as np

from lookaway.core import Json
from lookaway.generation.camera_motion import Axis, Leg, legs_of, moved_axes
from lookaway.generation.delivered import DeliveredPath, Executable, Loss, PathErrors, Scale
from lookaway.generation.request import CameraRequest, GenerationRequest

Box: TypeAlias = tuple[int, int, int, int]
"""Left, top, width and height in pixels."""
TOLERANCE_DEG: Final = 0.1
"""Errors that are no reason to refuse, where any amount can be asked for."""
TOLERANCE_TRANS: Final = 0.01
"""As a fraction of the largest distance of the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlayBoxes:
    """Where a model draws keys or a joystick into its pictures."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    is_proportional: bool = False
    """Whether they grow with the picture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameRule:
    """Numbers of output frames that a model makes: `first`, then `step` more each time."""

    first: int
    step: int

    def at_least(self, frames: float) -> int:
        """The smallest number that is not below `frames`.

        >>> FrameRule(first=1, step=4).at_least(80)
        81
        """
        steps = max(0, int(np.ceil((frames - 1e-6 - self.first) / self.step)))
        return self.first + self.step * steps

    def allows(self, frames: int) -> bool:
        """Whether the model makes so many."""
        return frames >= self.first and (frames - self.first) % self.step == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCard:
    """Facts about a model, read from its published code."""

    title: str
    repository: str
    commit: str
    licence: str
    fps: float
    size: tuple[int, int] | None
    """Width and height of its pictures; `None` where the size is that of the first frame."""
    frames: FrameRule
    output: str
    """Path of the result below the output folder of a case; `*` stands for what the model adds to it."""
    is_growing: bool = False
    """Whether a longer file is written after each part, of which the one with the highest number is the result."""
    first_frame_kept: bool = True
    scale: Scale = "exact"
    executable: Executable = "exact"
    twins: tuple[str, ...] = ()
    """Endings of names of files beside the result that are no results."""
    overlay: OverlayBoxes | None = None
    is_command_read: bool = False
    """Whether the flags of its command are all taken from its code; others are a draft that a user compares first."""
    needs_patch: str = ""
    """What must be changed in the model's code for the controls to reach it."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlan:
    """Everything that a model is given for one request, and what it will make of it."""

    files: Mapping[str, bytes]
    """By name in the folder of the case."""
    command: Sequence[str]
    """Words of a shell command; those with variables of the user are `Shell`."""
    native: str
    """The control in the model's own words, in one line."""
    delivered: DeliveredPath | None
    """`None` where the model has no pose model: never the request."""
    frames: int
    fps: float
    width: int
    height: int
    output: str
    loss: Loss


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlRefusal:
    """Why a request cannot be expressed, and the nearest that can."""

    message: str
    nearest: ControlPlan | None = None

    def to_json(self) -> dict[str, Json]:
        """As in the plan."""
        found: dict[str, Json] = {"message": self.message}
        if self.nearest is not None:
            found["nearest"] = {"native": self.nearest.native, "loss": self.nearest.loss.to_json()}
        return found


Planned: TypeAlias = ControlPlan | ControlRefusal


class Adapter(Protocol):
    """A model that cases can be exported for. `PoseAdapter` and `KeyAdapter` have most of it."""

    name: ClassVar[str]
    card: ClassVar[ModelCard]

    def plan(self, request: GenerationRequest, seed: int) -> Planned:
        """The controls for a request, or why there are none."""
        ...


MAX_LEGS: Final = 64
"""Changes of direction that keys can follow: a hand-held path has hundreds."""


def keyed_legs(request: GenerationRequest) -> tuple[CameraRequest, list[Leg]] | ControlRefusal:
    """The path of a request and its legs, for a model that is given keys or actions."""
    if request.camera is None:
        return ControlRefusal(message="the case has no camera path, and the model is given keys.")
    legs = legs_of(request.camera.camera_to_world)
    if len(legs) > MAX_LEGS:
        return ControlRefusal(
            message=f"the path changes its direction {len(legs) - 1} times, and keys follow at most {MAX_LEGS - 1} "
            "changes. Export it for a model that is given poses."
        )
    return request.camera, legs


def picture_size(card: ModelCard, request: GenerationRequest) -> tuple[int, int]:
    """Width and height of the model's pictures for a request."""
    if card.size is not None:
        return card.size
    if request.first_frame is not None:
        return request.first_frame.width, request.first_frame.height
    return (request.camera.width, request.camera.height) if request.camera else (832, 480)


def loss_of(
    card: ModelCard,
    camera: CameraRequest | None,
    delivered: DeliveredPath | None,
    frames: int,
    *,
    axes: Sequence[Axis],
    quantum: Mapping[Axis, tuple[float, float]] | None = None,
) -> Loss:
    """The loss of a delivered path; `axes` are those that the model can move along."""
    errors = PathErrors.between(camera, delivered) if camera and delivered else None
    moved = moved_axes(legs_of(camera.camera_to_world)) if camera else ()
    return Loss(
        peak_angle_error_deg=None if errors is None else errors.peak_deg,
        return_error_deg=None if errors is None else errors.return_deg,
        return_error_trans=None if errors is None else errors.return_trans,
        path_rmse_deg=None if errors is None else errors.rmse_deg,
        seconds_requested=camera.frames / camera.fps if camera else None,
        seconds_delivered=frames / card.fps,
        frames_requested=camera.frames if camera else None,
        frames_delivered=frames,
        scale=card.scale,
        unsupported_axes=tuple(axis for axis in moved if axis not in axes),
        quantum=quantum or {},
        first_frame_kept=card.first_frame_kept,
        executable=card.executable,
    )


def judged(plan: ControlPlan, camera: CameraRequest) -> Planned:
    """The plan, unless it misses the request by more than one quantum, or by more than the tolerance without one."""
    loss = plan.loss
    if loss.unsupported_axes:
        named = ", ".join(loss.unsupported_axes)
        return ControlRefusal(message=f"the request moves along {named}, which the model cannot.", nearest=plan)
    turn = max([found[0] for axis, found in loss.quantum.items() if axis in ("yaw", "pitch")], default=TOLERANCE_DEG)
    for what, error in (("its peak", loss.peak_angle_error_deg), ("its end", loss.return_error_deg)):
        if error is not None and error > turn + 1e-6:
            return ControlRefusal(
                message=f"{what} would be {error:.2f} degrees off, and one step is {turn:g} degrees.", nearest=plan
            )
    reach = float(np.linalg.norm(camera.camera_to_world[:, :3, 3], axis=1).max())
    steps = [found[0] for axis, found in loss.quantum.items() if axis in ("right", "up", "forward")]
    move = max([*steps, TOLERANCE_TRANS * reach])
    if loss.scale == "exact" and loss.return_error_trans is not None and loss.return_error_trans > move + 1e-6:
        return ControlRefusal(
            message=f"its end would be {loss.return_error_trans:.3f} units off, and one step is {move:.3g}.",
            nearest=plan,
        )
    return plan


class Shell(str):
    """A word of a command whose ${VARIABLES} are for the shell; texts of a dataset never are such words."""

    __slots__ = ()


def command_line(words: Sequence[str]) -> str:
    """One line of shell: words of the package keep their variables, all others are quoted.

    >>> print(command_line(["run", Shell("${OUT}/a.mp4"), "${HOME}; ls"]))
    run "${OUT}/a.mp4" '${HOME}; ls'
    """
    return " ".join(f'"{word}"' if isinstance(word, Shell) else shlex.quote(word) for word in words)
