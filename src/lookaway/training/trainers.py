"""Rewards as trainers call them: functions and a class with the signatures of four trainers, by dotted path.

| Trainer | Configure |
| --- | --- |
| verl-omni | `lookaway.training.trainers.compute_score` |
| flow_grpo | `lookaway.training.trainers.memory_score` |
| VideoAlign, DanceGRPO | `lookaway.training.trainers.VideoAlignReward` |
| HY-WorldPlay | `lookaway.training.trainers.world_reward` |

The reward is that of this package, or the file that `LOOKAWAY_REWARD` names. These trainers take a number for every
video, so a reward that masks pays a stated constant here, `LOOKAWAY_UNMEASURED`, 0 by default, and `measured` says
where.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from lookaway.core import Floats, UserError
from lookaway.engine.scorer import CasePaths
from lookaway.training.reward import MEMORY, Reward, RewardValue

REWARD, UNMEASURED, FPS = "LOOKAWAY_REWARD", "LOOKAWAY_UNMEASURED", "LOOKAWAY_FPS"
DEFAULT_FPS: Final = 16.0
POSES: Final = ("camera_poses", "gt_camera_pose", "poses")
"""Where trainers keep the requested path of a sample."""
AXES: Final = ("VQ", "MQ", "TA", "Overall")


def compute_score(
    data_source: Any = None,
    solution_image: Any = None,
    ground_truth: Any = None,
    extra_info: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> dict[str, float]:
    """A scorer of verl-omni: one video, uint8 [frames, 3, height, width]; parts of the reward come beside the score."""
    info = extra_info or {}
    found = _reward()(_pixels(solution_image), fps=_fps(info), paths=_paths(info))
    return {"score": _paid(found), "measured": float(found.is_measured), **found.parts}


def memory_score(
    images: Any, prompts: Sequence[str], metadata: Any = None
) -> tuple[list[float], dict[str, list[float]]]:
    """A score function of flow_grpo: videos [videos, frames, 3, height, width], uint8, or floats from 0 to 1.

    `metadata` is one mapping for each video, or none.
    """
    infos: Sequence[Mapping[str, Any]] = metadata if isinstance(metadata, Sequence) else [{}] * len(images)
    if len(infos) != len(images):
        raise UserError(f"metadata has {len(infos)} entries for {len(images)} videos. Expected one for each.")
    found = [
        _reward()(_pixels(video), fps=_fps(info), paths=_paths(info)) for video, info in zip(images, infos, strict=True)
    ]
    return [_paid(each) for each in found], {"measured": [float(each.is_measured) for each in found]}


class VideoAlignReward:
    """The class that trainers use for VideoAlign, such as DanceGRPO: files in, one mapping for each out.

    Every axis has the reward for memory, so that it counts whichever a trainer reads.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Checkpoint, device and type of VideoAlign are not used."""

    def reward(self, video_paths: Sequence[str], prompts: Sequence[str], **kwargs: Any) -> list[dict[str, float]]:
        """What each video earns; a file that cannot be read is unmeasured, and not -1."""
        found = [_reward()(Path(path)) for path in video_paths]
        return [{**dict.fromkeys(AXES, _paid(each)), "measured": float(each.is_measured)} for each in found]


def world_reward(
    video_path: str, gt_camera_pose: Any = None, gt_action: Any = None, caption: str = "", **kwargs: Any
) -> dict[str, float]:
    """The reward of HY-WorldPlay's trainer: a file, with the path that the camera was asked for, [frames, 4, 4]."""
    found = _reward()(Path(video_path), paths=_paths({"gt_camera_pose": gt_camera_pose}), prompt=(caption,))
    return {"reward": _paid(found), "measured": float(found.is_measured), **found.parts}


@cache
def _reward() -> Reward:
    """Loaded once in each process."""
    reward = Reward.read(Path(os.environ[REWARD])) if os.environ.get(REWARD) else Reward(MEMORY)
    _constant(reward)
    return reward


def _paid(found: RewardValue) -> float:
    return _constant(_reward()) if found.value is None else found.value


def _constant(reward: Reward) -> float:
    """What is paid for an unmeasured video: what the recipe states, or else the environment."""
    if reward.recipe.unmeasured != "mask":
        return float(reward.recipe.unmeasured)
    text = os.environ.get(UNMEASURED, "0")
    try:
        return float(text)
    except ValueError as error:
        raise UserError(f"{UNMEASURED} is {text!r}. Expected a number, what an unmeasured video earns.") from error


def _fps(info: Mapping[str, Any]) -> float:
    return float(info.get("fps") or os.environ.get(FPS) or DEFAULT_FPS)


def _paths(info: Mapping[str, Any]) -> CasePaths | None:
    found = next((info[name] for name in POSES if info.get(name) is not None), None)
    return None if found is None else CasePaths(requested=_array(found), intrinsics=_intrinsics(info))


def _intrinsics(info: Mapping[str, Any]) -> Floats | None:
    return None if info.get("intrinsics") is None else _array(info["intrinsics"])


def _array(given: Any) -> Floats:
    return np.asarray(given.detach().cpu() if hasattr(given, "detach") else given, np.float64)


def _pixels(video: Any) -> Any:
    """Floats from 0 to 1 as uint8, as trainers convert them; uint8 as it is."""
    frames = np.asarray(video.detach().cpu() if hasattr(video, "detach") else video)
    if frames.dtype.kind != "f":
        return frames
    if not (np.isfinite(frames).all() and frames.min() >= -1e-3 and frames.max() <= 1 + 1e-3):
        raise UserError(
            f"frames are floats from {frames.min():g} to {frames.max():g}. Expected 0 to 1, or uint8 from 0 to 255."
        )
    return (255 * frames).round().clip(0, 255).astype(np.uint8)
