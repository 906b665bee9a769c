"""Which cameras and wordings WRBench asks for, as data, and all records of a prompt suite that they make.

For families of your own, write a `FamilyPlan` for each, `write_prompts` them as a prompt suite in the form of
Natural-25, and `write_tasks` for a model: once its videos are there, the list of tasks is the list of videos that the
suite reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from lookaway.core import DatasetError, Json, UserError, canonical_json
from lookaway.io.dataset_files import DatasetTree
from lookaway.io.files import write_text
from lookaway.suites.wrbench.layout import FAMILIES, VARIANTS, Natural25, read_rows
from lookaway.suites.wrbench.records import (
    EVENTS,
    LAYOUT_PROFILE,
    LEVELS,
    SEPARATOR,
    CameraType,
    Change,
    EventTailRow,
    EventViewRecord,
    Id,
    LayoutAnchorRow,
    RequestedView,
    VariantRow,
    variant_id,
)

Wording: TypeAlias = Literal["event", "camera", "layout"]
"""What a prompt says: the event alone, the event and the camera, or the first frame's layout in words and the event."""
ROTATIONS: Final = ("static", "yaw30_LR", "yaw30_RL", "yaw60_LR", "yaw60_RL")
PROMPTED: Final = ("static", "yaw_LR", "yaw_RL")
LAYOUT_ANCHORS, EVENT_TAILS = "t2v_layout_anchors.jsonl", "t2v_event_tails.jsonl"
CAMERA_SENTENCES: Final[Mapping[CameraType, str]] = {
    "static": "The camera does not move.",
    "yaw_LR": "The camera turns left until {subject} is out of view, then turns right, back to the first view.",
    "yaw_RL": "The camera turns right until {subject} is out of view, then turns left, back to the first view.",
}
"""How the camera is put into words for families of one's own."""


@dataclass(frozen=True, slots=True)
class CameraTrack:
    """The cameras that models with one kind of interface are asked for."""

    name: str
    cameras: tuple[str, ...]
    wording: Wording
    has_first_frame: bool = True
    natural25_tasks: int = 0
    """How many tasks Natural-25 has with it."""


TRACKS: Final[Mapping[str, CameraTrack]] = {
    track.name: track
    for track in (
        CameraTrack("trajectory", ROTATIONS, "event", natural25_tasks=500),
        CameraTrack("prompt_only", PROMPTED, "camera", natural25_tasks=300),
        CameraTrack("text_to_video", ROTATIONS, "layout", has_first_frame=False, natural25_tasks=500),
    )
}
"""What the published table used, by its counts: local models, those behind an API, and the text-to-video addendum."""


def make_records(suite: Natural25, track: CameraTrack) -> tuple[EventViewRecord, ...]:
    """Every event of every family under every camera of a track; raises a `DatasetError` where a wording is missing."""
    prompts = _layout_prompts(suite) if track.wording == "layout" else {}
    views = [RequestedView.parse(label) for label in track.cameras]
    return tuple(
        _record(suite, track, variant, view, prompts)
        for without_camera in suite.variants.values()
        if without_camera.oov_gap == "none"
        for view in views
        for variant in (_variant(suite, track, without_camera, view),)
    )


def _variant(suite: Natural25, track: CameraTrack, variant: VariantRow, view: RequestedView) -> VariantRow:
    if track.wording != "camera":
        return variant
    wanted = variant_id(variant.family_id, variant.event_delta, view.camera_type)
    if wanted not in suite.variants:
        raise DatasetError(
            f"{suite.folder / VARIANTS}: there is no variant {wanted}, which the track {track.name!r} needs."
        )
    return suite.variants[wanted]


def _record(
    suite: Natural25, track: CameraTrack, variant: VariantRow, view: RequestedView, prompts: Mapping[str, str]
) -> EventViewRecord:
    family = suite.families[variant.family_id]
    return EventViewRecord(
        family_id=variant.family_id,
        first_frame=suite.first_frames.get(variant.family_id) if track.has_first_frame else None,
        subject=family.primary_object.name,
        change=variant.event_delta,
        event_text=variant.world_state_prompt,
        expected_state=variant.expected_state,
        view=view,
        visibility=view.visibility,
        prompt_variant=variant.oov_gap,
        prompt=prompts[variant.variant_id] if track.wording == "layout" else variant.ti2v_prompt,
    )


def _layout_prompts(suite: Natural25) -> dict[str, str]:
    """By variant: where things are, in words instead of a first frame, then the event with its subject named."""
    tree = DatasetTree(suite.folder)
    anchors = {row.family_id: row for row in read_rows(tree, LAYOUT_ANCHORS, LayoutAnchorRow)}
    found: dict[str, str] = {}
    for row in read_rows(tree, EVENT_TAILS, EventTailRow):
        variant = suite.variants.get(row.variant_id)
        if variant is None or variant.oov_gap != "none":
            continue
        layout = anchors.get(variant.family_id)
        if layout is None:
            raise DatasetError(f"{suite.folder / LAYOUT_ANCHORS}: there is no layout of {variant.family_id}.")
        found[row.variant_id] = " ".join((*_layout_sentences(layout), row.t2v_event_tail))
    missing = [
        row.variant_id for row in suite.variants.values() if row.oov_gap == "none" and row.variant_id not in found
    ]
    if missing:
        raise DatasetError(f"{suite.folder / EVENT_TAILS}: there is no event of {missing[0]} ({len(missing)} missing).")
    return found


def _layout_sentences(layout: LayoutAnchorRow) -> Iterator[str]:
    subject, interactor = (text.strip().rstrip(".") for text in (layout.subject, layout.interactor))
    yield f"In {layout.scene}, {subject}; {interactor}."
    yield f"The layout includes {layout.open_surface.strip().rstrip('.')}."
    for anchor in layout.anchors:
        text = anchor.strip().rstrip(".")
        yield f"{text[:1].upper()}{text[1:]}."


class EventWords(BaseModel):
    """An event of one's own family, in words."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    happens: str = Field(min_length=1)
    """What happens: `The cat jumps onto the bed.`"""
    expected: str = Field(min_length=1)
    """How it ends: `The cat is on the bed.`"""


class FamilyPlan(BaseModel):
    """A family of one's own: a first frame, and what may happen in it."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    family_id: Id
    scene: str
    caption: str
    """Describes the first frame."""
    subject: str
    interactor: str
    anchors: tuple[str, ...] = ()
    events: dict[Change, EventWords]
    """The four events of the 2 x 2 design: none, spatial, state_only, full."""

    def variants(self) -> Iterator[VariantRow]:
        """Every event in every wording."""
        missing = [change for change in EVENTS if change not in self.events]
        if missing:
            raise UserError(f"The family {self.family_id!r} has no event {', '.join(missing)}; it needs all four.")
        for level, change in LEVELS.items():
            words = self.events[change]
            tier, _, divergence = level.partition("_")
            for gap, sentence in (("none", ""), *CAMERA_SENTENCES.items()):
                camera = sentence.format(subject=self.subject)
                yield VariantRow.model_validate(
                    {
                        "variant_id": variant_id(self.family_id, change, gap),
                        "family_id": self.family_id,
                        "reasoning_tier": tier,
                        "divergence_id": divergence or None,
                        "event_delta": change,
                        "oov_gap": gap,
                        "world_state_prompt": words.happens,
                        "expected_state": words.expected,
                        "ti2v_prompt": f"{self.caption} {words.happens} {camera}".rstrip(),
                    }
                )

    def row(self) -> Json:
        """As in `families.jsonl`."""
        others = [(name, "anchor") for name in self.anchors] + [(self.interactor, "interactor")]
        return {
            "family_id": self.family_id,
            "scene": self.scene,
            "t2i_scene": self.caption,
            "primary_object": {"id": _identifier(self.subject), "name": self.subject},
            "supporting_objects": [{"id": _identifier(name), "name": name, "role": role} for name, role in others],
        }


def write_prompts(plans: Sequence[FamilyPlan], folder: Path) -> None:
    """Write `families.jsonl` and `variants.jsonl`; first frames are `first_frames/<family>.png`, for you to add."""
    names = [plan.family_id for plan in plans]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UserError(f"The family {twice!r} is given twice; give each its own id.")
    variants = [row.model_dump(mode="json") for plan in plans for row in plan.variants()]
    _write_lines(folder / VARIANTS, variants)
    _write_lines(folder / FAMILIES, [plan.row() for plan in plans])


def write_tasks(records: Iterable[EventViewRecord], model: str, path: Path, *, seed: int = 0) -> int:
    """Write what a model is to generate, one line for each record; returns how many.

    Where the videos are generated at these paths, the lines are a `videos.jsonl` that the suite reads.
    """
    rows = [_task(record, model, seed) for record in records]
    _write_lines(path, rows)
    return len(rows)


def _task(record: EventViewRecord, model: str, seed: int) -> Json:
    video = SEPARATOR.join((model, record.id, str(seed)))
    return {
        "video_id": video,
        "model": model,
        "seed": seed,
        "path": f"videos/{model}/{video}.mp4",
        "variant_id": variant_id(record.family_id, record.change, record.prompt_variant),
        "family_id": record.family_id,
        "event_delta": record.change,
        "world_state_prompt": record.event_text,
        "expected_state": record.expected_state,
        "oov_gap": record.prompt_variant,
        "camera": record.view.label,
        "camera_type": record.view.camera_type,
        "stress_yaw_deg": record.view.degrees,
        "prompt": record.prompt,
        "first_frame_path": record.first_frame,
        "prompt_profile_id": LAYOUT_PROFILE if record.first_frame is None else None,
        "record_sha256": record.sha256,
    }


def _identifier(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _write_lines(path: Path, rows: Sequence[Json]) -> None:
    write_text(path, "".join(f"{canonical_json(row)}\n" for row in rows))
