"""WRBench: the prompt suite in the form of Natural-25, videos with their camera sidecars, and one manifest."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from lookaway.core import Json
from lookaway.io.clip_card import ClipCard
from lookaway.io.files import write_json, write_text
from lookaway.io.world_clips import WorldClip
from lookaway.world.exports.conventions import to_first_camera
from lookaway.world.exports.folder import (
    Export,
    ExportCase,
    ExportReport,
    contestant,
    put,
    write_array,
    write_first_frame,
)
from lookaway.world.exports.sidecars import Camera, write_sidecars

SUITE: Final = "natural25"
SCOPE: Final = "lookaway_world"
CAMERAS: Final = {
    "static": Camera("static", "static", "static", None),
    **{
        f"yaw_{way}_{degrees}": Camera(f"yaw{degrees}_{short}", f"yaw_{short}", "yaw", degrees)
        for way, short in (("left", "LR"), ("right", "RL"))
        for degrees in (30, 60, 120)
    },
    "pan_left": Camera("pan_LR", "pan_LR", "pan", None),
    "pan_right": Camera("pan_RL", "pan_RL", "pan", None),
}
"""LR looks or moves to the left first."""
TIERS: Final[dict[str, tuple[str, str | None, str]]] = {
    "none": ("T0", None, "none"),
    "spatial": ("T1", None, "spatial"),
    "in_place": ("T2", "div_a", "state_only"),
    "both": ("T2", "div_b", "full"),
}
"""Tier, divergence and kind of change of each event."""


@dataclass(frozen=True, slots=True)
class _Families:
    """One family per scene and first frame; its events are variants."""

    known: dict[tuple[object, ...], str]
    rows: list[Json]
    pictures: list[Json]

    def id_of(self, case: ExportCase, output: Path) -> str:
        card = case.lead.card
        name = f"{card.family}_{card.camera}_{card.seed:03d}".replace("-", "_")
        # Another event may have needed another draw of the scene: then it is another family.
        key = (name, card.wait, card.width, card.height, card.place, card.things, card.target_box)
        if key not in self.known:
            draws = sum(key[0] == other[0] for other in self.known)
            self.known[key] = name if draws == 0 else f"{name}_draw{draws + 1}"
            self._add(self.known[key], case, output)
        return self.known[key]

    def _add(self, family: str, case: ExportCase, output: Path) -> None:
        card = case.lead.card
        picture = f"first_frames/{family}.png"
        write_first_frame(output / SUITE / picture, case.lead)
        self.rows.append(_family(family, card))
        self.pictures.append(
            {
                "family_id": family,
                "image_path": picture,
                "prompt_source": "families.jsonl:t2i_scene",
                "t2i_scene": card.caption_segments[0],
                "width": card.width,
                "height": card.height,
                "format": "png",
                "release_note": "First frame of a rendered clip.",
            }
        )


def export_wrbench(clips: Sequence[WorldClip], output: Path) -> ExportReport:
    """Cases under the cameras that WRBench scores: static, yaw and sideways; other cameras are left out."""
    export = Export.start(clips, output, "wrbench")
    families = _Families({}, [], [])
    variants: dict[str, Json] = {}
    manifest: list[Json] = []
    cameras: dict[str, Json] = {}
    for case in export.cases:
        camera = CAMERAS.get(case.lead.card.camera)
        if camera is None:
            export.leave_out(case, f"WRBench does not score the camera {case.lead.card.camera!r}")
            continue
        family = families.id_of(case, output)
        cameras[camera.label] = camera.scope_row()
        without, variant = (_variant(family, case.lead.card, gap) for gap in ("none", camera.oov_gap))
        for row in (without, variant):
            variants[str(row["variant_id"])] = row
        for clip in case.clips:
            manifest.append(_write_clip(output, clip, variant, camera))
            export.written += 1
        export.names[case.name] = variant["variant_id"]
    scope: dict[str, Json] = {
        "schema_version": 1,
        "scope_id": SCOPE,
        "variant_filter": {"oov_gap": "none"},
        "expected_task_count": len(export.names),
        "cameras": [cameras[label] for label in sorted(cameras)],
    }
    write_json(output / SUITE / f"camera_scopes/{SCOPE}.json", scope)
    _write_lines(output / SUITE / "families.jsonl", families.rows)
    _write_lines(output / SUITE / "variants.jsonl", list(variants.values()))
    write_json(output / SUITE / "first_frames_manifest.json", families.pictures)
    write_json(output / "manifest.json", manifest)
    return export.finish()


def _family(family: str, card: ClipCard) -> Json:
    name = card.target.name
    third = ("left third", "middle", "right third")[min(2, int(card.target_box[0] * 3))]
    others = [thing for role in ("anchor", "interactor") for thing in card.things if thing.role == role]
    return {
        "family_id": family,
        "scene": card.place,
        "t2i_scene": card.caption_segments[0],
        "first_frame_guidance": {
            "shot_type": "eye-level medium-wide shot",
            "composition": f"{name} in the {third} of the frame",
            "lighting": "as rendered",
            "texture": "as rendered",
            "palette": "as rendered",
        },
        "primary_object": {"id": _identifier(name), "name": name},
        "supporting_objects": [
            {"id": _identifier(thing.name), "name": thing.name, "role": thing.role} for thing in others
        ],
    }


def _variant(family: str, card: ClipCard, gap: str) -> dict[str, Json]:
    tier, divergence, delta = TIERS[card.event]
    happening = {
        "none": f"The {card.target.name} stays as it is.",
        "spatial": f"The {card.target.name} {card.motion}.",
        "in_place": f"The {card.target.name} {card.process[0]}.",
        "both": f"The {card.target.name} {card.motion} and {card.process[0]}.",
    }[card.event]
    level = tier if divergence is None else f"{tier}_{divergence}"
    return {
        "variant_id": f"{family}__{level}__{gap}",
        "family_id": family,
        "reasoning_tier": tier,
        "oov_gap": gap,
        "event_delta": delta,
        "divergence_id": divergence,
        "world_state_prompt": happening,
        "expected_state": card.caption_segments[4],
        "ti2v_prompt": f"{card.caption_segments[0]} {happening}" if gap == "none" else card.caption,
    }


def _write_clip(output: Path, clip: WorldClip, variant: dict[str, Json], camera: Camera) -> Json:
    """Write video, sidecars and true poses; returns the manifest row. Ids include the model, unlike WRBench's."""
    card, model = clip.card, contestant(clip.card)
    output_id = f"{variant['variant_id']}__{camera.label}"
    video_id = f"{model}__{output_id}"
    video, poses = f"videos/{model}/{video_id}.mp4", f"pose_cache/pose/{video_id}/poses.npy"
    arrays = clip.arrays()
    first = arrays.camera_to_world[0]
    put(clip.video, output / video)
    write_array(output / poses, to_first_camera(arrays.camera_to_world, first).astype(np.float32))
    write_sidecars(output, video, clip, camera)
    return {
        **variant,
        "output_id": output_id,
        "video_id": video_id,
        "path": video,
        "model": model,
        "seed": card.take,
        "camera": camera.label,
        "preset": camera.camera_type,
        "camera_type": camera.camera_type,
        "stress_axis": camera.axis,
        "stress_yaw_deg": camera.degrees,
        "camera_scope_id": SCOPE,
        "prompt_profile_id": None,
        "prompt": variant["ti2v_prompt"],
        "first_frame_path": f"{SUITE}/first_frames/{variant['family_id']}.png",
        "target_pose_path": f"{video}.target_c2w.npy",
        "pose_path": poses,
        "first_camera_to_world": first.tolist(),
        "visibility": card.phases.model_dump(mode="json"),
        "question": card.question.model_dump(mode="json"),
        "injections": [found.model_dump(mode="json") for found in card.injections],
    }


def _identifier(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _write_lines(path: Path, rows: Sequence[Json]) -> None:
    write_text(path, "".join(json.dumps(row) + "\n" for row in rows))
