"""MBench-A and MBench-T: `dataset.yaml`, `samples/`, `models/`."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import yaml
from numpy.lib import format as npy
from numpy.typing import NDArray

from lookaway.core import Json
from lookaway.io.clip_card import ClipCard
from lookaway.io.files import write_json, write_text, write_whole
from lookaway.io.world_clips import CARD, WorldClip
from lookaway.world.exports.conventions import inverse
from lookaway.world.exports.folder import Export, ExportCase, ExportReport, put, write_first_frame

KNOWN_ACTIONS: Final = {
    "left_then_right": "left_then_right",
    "right_then_left": "right_then_left",
    "forward_then_backward": "forward_then_backward",
    "turn_around_then_back": "right_then_left",
    "turn_around_once": "right_360",
}
"""Our camera actions in MBench's names, where left and right are turns. Trucks, tilts and orbits have none."""
SUBSETS: Final = {
    "environment": "The camera leaves a view and comes back to it; nothing moves or changes by itself.",
    "object": "The target leaves the view and comes back as it was.",
    "causal": "Something happens to the target, seen or not.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    layout: str
    dataset_id: str
    title: str
    pattern: str
    is_text: bool

    def condition(self, card: ClipCard) -> str | None:
        """The condition id; None for a camera without a name in the setting."""
        if self.is_text:
            return "text"
        action = KNOWN_ACTIONS.get(card.action)
        return action and f"{action}_{card.seconds:g}s"


_ACTION = _Setting(
    layout="mbench-a", dataset_id="mbencha", title="MBench-A", pattern="{action}_{length}", is_text=False
)
_TEXT = _Setting(layout="mbench-t", dataset_id="mbencht", title="MBench-T", pattern="text", is_text=True)


def export_mbench_a(clips: Sequence[WorldClip], output: Path) -> ExportReport:
    """Setting A: camera actions, one caption. Leaves out static cameras and those without an MBench name."""
    return _export(clips, output, _ACTION)


def export_mbench_t(clips: Sequence[WorldClip], output: Path) -> ExportReport:
    """Setting T: five caption segments."""
    return _export(clips, output, _TEXT)


def _export(clips: Sequence[WorldClip], output: Path, setting: _Setting) -> ExportReport:
    export = Export.start(clips, output, setting.layout)
    lines: dict[str, list[str]] = {}
    for case in export.cases:
        condition, subsets = setting.condition(case.lead.card), _subsets(case)
        if condition is None:
            export.leave_out(case, f"{setting.title} has no name for the camera action {case.lead.card.action!r}")
            continue
        if not subsets:
            export.leave_out(case, "nothing leaves the view and nothing happens, so it belongs to no subset")
            continue
        known = _sample(case, setting)
        for subset in subsets:
            _write_sample(output / "samples" / subset / case.name, case, known)
        for clip in case.clips:
            written = _write_clip(output / "models" / clip.card.model, clip, condition, subsets)
            lines.setdefault(clip.card.model, []).extend(json.dumps(_line(setting, line)) for line in written)
            export.written += 1
        export.names[case.name] = {"condition_id": condition, "subsets": list(subsets)}
    for model, found in lines.items():
        write_text(output / "models" / model / "samples.jsonl", "".join(f"{line}\n" for line in found))
    write_text(output / "dataset.yaml", yaml.safe_dump(_dataset(setting), sort_keys=False))
    return export.finish()


def _subsets(case: ExportCase) -> tuple[str, ...]:
    """Subsets of a case: a static environment, a target that returns unchanged, an event."""
    card = case.lead.card
    belongs = {
        "environment": card.camera != "static" and card.event == "none",
        "object": case.is_memory_test and card.event == "none",
        "causal": card.event != "none",
    }
    return tuple(subset for subset in SUBSETS if belongs[subset])


def _dataset(setting: _Setting) -> dict[str, Any]:
    place = "{subset}/{sample_id}/{condition_id}"
    return {
        "dataset_id": setting.dataset_id,
        "dataset_name": f"lookaway world as {setting.title}",
        "version": "1.0",
        "path_mode": "relative_to_dataset_root",
        "extrinsics_convention": "world_to_camera",
        "subsets": {name: {"description": text} for name, text in SUBSETS.items()},
        "condition_id": {"pattern": setting.pattern},
        "paths": {
            "output_video": f"models/{{model_id}}/outputs/{place}/video.mp4",
            "artifact_da3": f"models/{{model_id}}/artifacts/{place}/da3/results.npz",
        },
    }


def _sample(case: ExportCase, setting: _Setting) -> dict[str, Json]:
    card = case.lead.card
    metadata: dict[str, Json] = {
        "scene": f"{card.family}-{card.seed}",
        "caption": card.caption,
        "object_anchor": list(card.target_box),
        "object_card": {"name": card.target.name, "core_attributes": [card.process[1]]},
        "event": card.event,
        "phases": card.phases.model_dump(mode="json"),
        "question": card.question.model_dump(mode="json"),
    }
    if setting.is_text:
        metadata["caption_segments"] = list(card.caption_segments)
        return {"metadata": metadata}
    return {"metadata": metadata, "annotations": {"action": case.lead.timed_action()}}


def _write_sample(folder: Path, case: ExportCase, known: dict[str, Json]) -> None:
    write_json(folder / "sample.json", known)
    write_first_frame(folder / "first_frame.png", case.lead)
    if case.truth is not None:
        put(case.truth.video, folder / "source_video.mp4")


def _write_clip(folder: Path, clip: WorldClip, condition: str, subsets: tuple[str, ...]) -> list[dict[str, Any]]:
    """Write a clip into all of its subsets; returns the parts in which its lines differ."""
    card, poses, lines = clip.card, None, []
    for subset in subsets:
        place = f"{subset}/{card.case}/{condition}" + (f"/take{card.take}" if card.take else "")
        video, da3 = f"outputs/{place}/video.mp4", f"artifacts/{place}/da3/results.npz"
        truth = f"artifacts/{place}/truth"
        put(clip.video, folder / video)
        for file in clip.files:
            put(file, folder / truth / file.name)
        if poses is None:
            poses = folder / da3
            write_whole(poses, lambda file: _write_da3(file, clip))
        else:
            put(poses, folder / da3)
        line = {
            "item_id": f"{subset}:{card.case}:{condition}",
            "subset": subset,
            "sample_id": card.case,
            "condition_id": condition,
            "model_id": card.model,
            "media": {"videos": [{"path": video, "role": "generated"}]},
            "artifacts": {"da3": {"path": da3}, "truth": {"path": f"{truth}/{CARD}"}},
            "metadata": {
                "seed": str(card.take),
                "injections": [found.model_dump(mode="json") for found in card.injections],
            },
        }
        lines.append(line)
    return lines


def _line(setting: _Setting, line: dict[str, Any]) -> dict[str, Any]:
    return {"dataset_id": setting.dataset_id, **line}


def _write_da3(file: BinaryIO, clip: WorldClip) -> None:
    """`results.npz` as Depth Anything 3 writes it: world to camera, OpenCV axes; here in metres."""
    arrays, count = clip.arrays(), clip.card.frames
    small = {
        "extrinsics": inverse(arrays.camera_to_world)[:, :3],
        "intrinsics": np.tile(arrays.intrinsics, (count, 1, 1)),
        "frame_indices": np.arange(count),
    }
    shape = (count, clip.card.height, clip.card.width)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, values in small.items():
            with archive.open(f"{name}.npy", "w") as member:
                npy.write_array(member, values, allow_pickle=False)
        with archive.open("depth.npy", "w", force_zip64=True) as member:  # one picture at a time: all are gigabytes
            npy.write_array_header_1_0(member, {"descr": "<f4", "fortran_order": False, "shape": shape})
            for depth in clip.depth():
                member.write(_bytes(depth))


def _bytes(depth: NDArray[np.float32]) -> bytes:
    return np.ascontiguousarray(depth, "<f4").tobytes()
