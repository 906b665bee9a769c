"""What MIND's dataset card says of `Result.json`: its keys, with a value of the type that it names for each."""

from __future__ import annotations

from typing import Any

NUMBERS = [0.25, 0.5]
STEPS = {
    "count": 2,
    "rpe_trans_mean": 0.5,
    "rpe_trans_median": 0.5,
    "rpe_rot_mean_deg": 1.5,
    "rpe_rot_median_deg": 1.5,
}


def series(*names: str) -> dict[str, Any]:
    """Every measure is a list with an average. The card calls that of `aesthetic` avg_imaging, like the one before."""
    return {key: value for name in names for key, value in ((name, NUMBERS), (f"avg_{name}", 0.375))}


def card() -> dict[str, Any]:
    """The one entry that the card shows has all measures at once."""
    similarity = series("mse", "lpips", "ssim", "psnr")
    groups = ("__overall__", "translation", "rotation", "other", "act:forward", "act:look_right")
    return {
        "video_max_time": 100,
        "data": [
            {
                "path": "street",
                "perspective": "1st_data",
                "test_type": "mem_test",
                "error": "what went wrong",
                "mark_time": 2,
                "total_time": 8,
                "sample_frames": 6,
                "video_results": [
                    {
                        "video_name": "path-1.mp4",
                        "error": "what went wrong",
                        "mark_time": 2,
                        "sample_frames": 4,
                        "gsc": {"length": 2, **similarity},
                    }
                ],
                "lcm": dict(similarity),
                "visual_quality": series("imaging", "aesthetic"),
                "action": {group: dict(STEPS) for group in groups},
                "dino": series("dino_mse"),
            }
        ],
    }
