"""Matrix-Game-3: keys for whole blocks on standard input, or for every frame with a small patch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final

import numpy as np

from lookaway.core import Floats, UserError
from lookaway.generation.adapter import (
    ControlPlan,
    ControlRefusal,
    FrameRule,
    ModelCard,
    OverlayBoxes,
    Planned,
    Shell,
    judged,
    keyed_legs,
    loss_of,
)
from lookaway.generation.array_files import npz_bytes
from lookaway.generation.camera_motion import Axis, Leg
from lookaway.generation.delivered import DeliveredPath
from lookaway.generation.key_adapter import KeyAdapter
from lookaway.generation.key_planner import KeyRules, PlannedRun
from lookaway.generation.request import GenerationRequest

FIRST_BLOCK, BLOCK = 57, 40
MOVE, DIAGONAL_MOVE, TURN_DEGREES = 0.1235, 0.0873, 15.0
MOUSE: Final = 0.1
DEAD_ZONE: Final = 0.02
KEYBOARD: Final = ("w", "s", "a", "d", "space", "attack")
CAMERA_KEYS: Final[Mapping[int, str]] = {-1: "j", 0: "u", 1: "l"}
MOVE_KEYS: Final[Mapping[tuple[Axis, int], str]] = {
    ("forward", 1): "w",
    ("forward", -1): "s",
    ("right", -1): "a",
    ("right", 1): "d",
}
QUANTUM: Final[Mapping[Axis, float]] = {"yaw": TURN_DEGREES * MOUSE, "right": MOVE, "forward": MOVE}
"""Without pitch: the key that looks up gives the memory a pose that looks down."""
CARD: Final = ModelCard(
    title="Matrix-Game-3, keys for every frame",
    repository="https://github.com/SkyworkAI/Matrix-Game",
    commit="134804b50684d53153526ba78dcfabcc5d5f44a0",
    licence="Apache-2.0",
    fps=17,
    size=(1280, 704),
    frames=FrameRule(first=FIRST_BLOCK, step=BLOCK),
    output="result.mp4",
    executable="quantised",
    twins=("_current_iteration_*.mp4",),
    overlay=OverlayBoxes(
        width=1280,
        height=704,
        boxes=(
            *((475, 544, 51, 51), (405, 614, 51, 51), (475, 614, 51, 51), (545, 614, 51, 51)),
            *((620, 614, 91, 51), (720, 614, 91, 51), (614, 334, 54, 36)),
        ),
    ),
    needs_patch="Actions are random unless they are typed; load keyboard and mouse from control.npz instead, "
    "and leave out the drawing of keys and cursor, which cannot be switched off.",
    notes=("--size is read as height*width.",),
)


def frame_path(keyboard: Floats, mouse: Floats) -> Floats:
    """[F, 4, 4] of keys [F, 6] and mouse [F, 2]: pose i + 1 comes from action i."""
    yaw = pitch = 0.0
    centre: Floats = np.zeros(3)
    poses: list[Floats] = [np.eye(4)]
    for keys, (up, right) in zip(keyboard[:-1] > 0.5, mouse[:-1], strict=True):
        before = yaw
        yaw += TURN_DEGREES * right if abs(right) >= DEAD_ZONE else 0.0
        pitch -= TURN_DEGREES * up if abs(up) >= DEAD_ZONE else 0.0
        forward, aside = float(keys[0]) - float(keys[1]), float(keys[3]) - float(keys[2])
        size = DIAGONAL_MOVE if forward and aside else MOVE
        middle = np.radians((before + yaw) / 2)
        ahead, to_right = np.array([np.sin(middle), 0, np.cos(middle)]), np.array([np.cos(middle), 0, -np.sin(middle)])
        centre = centre + size * (forward * ahead + aside * to_right)
        poses.append(_pose(yaw, pitch, centre))
    return np.array(poses)


def _pose(yaw: float, pitch: float, centre: Floats) -> Floats:
    a, b = np.radians([yaw, pitch])
    about_y = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
    about_x = np.array([[1, 0, 0], [0, np.cos(b), -np.sin(b)], [0, np.sin(b), np.cos(b)]])
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = about_y @ about_x, centre
    return pose


def frame_actions(steps: Sequence[Mapping[Axis, int]], frames: int) -> tuple[Floats, Floats]:
    """Keyboard [F, 6] and mouse [F, 2] of steps; the rest stands still."""
    keyboard, mouse = np.zeros((frames, len(KEYBOARD))), np.zeros((frames, 2))
    for row, press in enumerate(steps):
        for axis, sign in press.items():
            if axis == "yaw":
                mouse[row, 1] = MOUSE * sign
            else:
                keyboard[row, KEYBOARD.index(MOVE_KEYS[axis, sign])] = 1
    return keyboard, mouse


class MatrixGame3(KeyAdapter):
    """Matrix-Game-3 with an action for every frame, which needs a patch."""

    name: ClassVar[str] = "matrix-game-3"
    card: ClassVar[ModelCard] = CARD
    rules: ClassVar[KeyRules] = KeyRules(
        quantum=QUANTUM,
        can_hold=True,
        can_combine=True,
        is_length=lambda steps: CARD.frames.allows(steps + 1),
        steps_per_second=CARD.fps,
    )

    def native(self, runs: Sequence[PlannedRun]) -> str:
        """Keys and frames, as in `j*40,l*40,q*16`."""
        return ",".join(f"{_letters(run.press)}*{run.count}" for run in runs)

    def execute(self, native: str) -> Floats:
        """The path of the arrays."""
        return frame_path(*self._arrays(native))

    def _arrays(self, native: str) -> tuple[Floats, Floats]:
        steps: list[Mapping[Axis, int]] = []
        for part in native.split(","):
            letters, _, count = part.partition("*")
            steps += [_press(letters)] * int(count)
        return frame_actions(steps, len(steps) + 1)

    def control_files(self, native: str, request: GenerationRequest) -> Mapping[str, bytes]:
        """Keyboard and mouse for every frame."""
        keyboard, mouse = self._arrays(native)
        return {"control.npz": npz_bytes(keyboard=keyboard.astype(np.float32), mouse=mouse.astype(np.float32))}

    def command(self, native: str, request: GenerationRequest, frames: int, seed: int) -> list[str]:
        """The patched entry."""
        return [
            *("python", "generate.py", "--size", "704*1280", "--ckpt_dir", Shell("${WEIGHTS:?}"), "--image"),
            *(Shell("${CASE}/first_frame.png"), "--prompt", request.prompt, "--seed", str(seed), "--num_iterations"),
            *(str(1 + (frames - FIRST_BLOCK) // BLOCK), "--actions", Shell("${CASE}/control.npz")),
            *("--output_dir", Shell("${OUT}"), "--save_name", "result"),
        ]


def _letters(press: Mapping[Axis, int]) -> str:
    found = [CAMERA_KEYS[sign] if axis == "yaw" else MOVE_KEYS[axis, sign] for axis, sign in press.items()]
    return "".join(found) or "q"


def _press(letters: str) -> dict[Axis, int]:
    meanings: dict[str, tuple[Axis, int]] = {key: meaning for meaning, key in MOVE_KEYS.items()}
    meanings |= {"j": ("yaw", -1), "l": ("yaw", 1)}
    return dict(meanings[letter] for letter in letters if letter not in "qu")


class MatrixGame3Blocks:
    """Matrix-Game-3 as it is published: one camera key and one other key for a whole block."""

    name: ClassVar[str] = "matrix-game-3-blocks"
    card: ClassVar[ModelCard] = replace(
        CARD,
        title="Matrix-Game-3, keys for blocks",
        needs_patch="The drawing of keys and cursor cannot be switched off.",
    )

    def plan(self, request: GenerationRequest, seed: int) -> Planned:
        """Blocks whose path is nearest; refused where one block turns or moves farther than is asked."""
        found = keyed_legs(request)
        if isinstance(found, ControlRefusal):
            return found
        camera, legs = found
        legs = [leg for leg in legs if not leg.is_hold]
        blocks, bounds = _blocks(legs)
        native = " / ".join(f"{turn},{move}" for turn, move in blocks) or "u,q"
        path = block_path(native)
        frames = len(path)
        at = np.interp(np.arange(frames), *_clock(bounds, frames, camera.frames))
        delivered = DeliveredPath(camera_to_world=path, frame=np.arange(frames), frame_of_request=at)
        lines = "".join(f"{turn}\n{move}\n" for turn, move in blocks)
        plan = ControlPlan(
            files={"control.txt": lines.encode()},
            command=[
                *("python", "generate.py", "--interactive", "--size", "704*1280", "--ckpt_dir"),
                *(Shell("${WEIGHTS:?}"), "--image", Shell("${CASE}/first_frame.png"), "--prompt", request.prompt),
                *("--seed", str(seed), "--num_iterations", str(len(blocks)), "--output_dir", Shell("${OUT}")),
                *("--save_name", "result"),
            ],
            native=native,
            delivered=delivered,
            frames=frames,
            fps=self.card.fps,
            width=1280,
            height=704,
            output=self.card.output,
            loss=loss_of(
                self.card,
                camera,
                delivered,
                frames,
                axes=tuple(QUANTUM),
                quantum={axis: (size * BLOCK, float(BLOCK)) for axis, size in QUANTUM.items()},
            ),
        )
        for number, leg in enumerate(legs):
            frames_of_block = BLOCK if number else FIRST_BLOCK
            for axis, amount in leg.amounts.items():
                least = QUANTUM.get(axis, 0.0) * frames_of_block
                if abs(amount) < least:
                    return ControlRefusal(
                        message=f"{axis} of {abs(amount):.3g} is asked for, but a block of {frames_of_block} frames "
                        f"makes {least:.4g} at least.",
                        nearest=plan,
                    )
        return judged(plan, camera)


def _blocks(legs: Sequence[Leg]) -> tuple[list[tuple[str, str]], list[int]]:
    """Keys of each block, and the leg of each."""
    blocks: list[tuple[str, str]] = []
    of: list[int] = []
    for number, leg in enumerate(legs):
        known = {axis: amount for axis, amount in leg.amounts.items() if axis in QUANTUM}
        if not known:
            continue
        frames = max(abs(amount) / QUANTUM[axis] for axis, amount in known.items())
        count = max(1, round((frames - (0 if blocks else FIRST_BLOCK - BLOCK)) / BLOCK))
        turn = CAMERA_KEYS[int(np.sign(known.get("yaw", 0.0)))]
        moves = [(axis, amount) for axis, amount in known.items() if axis != "yaw"]
        main = max(moves, key=lambda move: abs(move[1]), default=None)
        key = MOVE_KEYS[main[0], int(np.sign(main[1]))] if main else "q"
        blocks += [(turn, key)] * count
        of += [number] * count
    return blocks, of


def _clock(of: Sequence[int], frames: int, requested: int) -> tuple[Floats, Floats]:
    """Frames at which blocks end, and where the request is then: legs take equal parts of it."""
    ends = np.minimum(FIRST_BLOCK + BLOCK * np.arange(max(1, len(of))), frames - 1)
    legs = (max(of) + 1) if of else 1
    shares = [(leg + (of[: place + 1].count(leg) / of.count(leg))) / legs for place, leg in enumerate(of)] or [1.0]
    return np.concatenate([[0], ends]), np.concatenate([[0], np.array(shares) * (requested - 1)])


def block_path(native: str) -> Floats:
    """[F, 4, 4] of blocks, as in `j,q / l,q`."""
    steps: list[Mapping[Axis, int]] = []
    blocks = native.removeprefix("stdin ").split(" / ")
    for number, block in enumerate(blocks):
        turn, comma, move = block.partition(",")
        if not comma or turn not in "ikjlu" or move not in "wsadq":
            raise UserError(f"Matrix-Game-3: {block!r} is not CAMERA,KEY with ikjlu and wsadq.")
        steps += [_press(turn.translate({ord("i"): None, ord("k"): None}) + move)] * (BLOCK if number else FIRST_BLOCK)
    frames = FIRST_BLOCK + BLOCK * (len(blocks) - 1)
    keyboard, mouse = frame_actions(steps[:frames], frames)
    for number, block in enumerate(blocks):
        start = 0 if number == 0 else FIRST_BLOCK + BLOCK * (number - 1)
        mouse[start : FIRST_BLOCK + BLOCK * number, 0] = {"i": MOUSE, "k": -MOUSE}.get(block[0], 0.0)
    return frame_path(keyboard, mouse)
