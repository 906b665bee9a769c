"""WRBench's records: what is asked of a model, and what it was given and made of it.

An event-view record is what a model is asked for: an initial observation, an event, a viewpoint, what the viewpoint
hides, and the wording of the prompt. Provenance says how one model was asked, and where its video is. Both are hashed,
and the ids of videos contain the model.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, NamedTuple, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

from lookaway.core import canonical_json

Change: TypeAlias = Literal["none", "spatial", "state_only", "full"]
Tier: TypeAlias = Literal["T0", "T1", "T2"]
Axis: TypeAlias = Literal["static", "yaw", "pan"]
Visibility: TypeAlias = Literal["stays_in_view", "leaves_and_returns"]
"""Whether the requested camera keeps the first view, or leaves it and comes back."""
CameraType: TypeAlias = Literal["static", "yaw_LR", "yaw_RL", "pan_LR", "pan_RL"]
PromptVariant: TypeAlias = Literal["none", "static", "yaw_LR", "yaw_RL", "pan_LR", "pan_RL"]
"""Which camera the prompt speaks of; WRBench's field is `oov_gap`."""
Id = Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[^/\\\x00]+$")]
Text = Annotated[str, Field(max_length=100_000)]
SEPARATOR: Final = "__"
LAYOUT_PROFILE: Final = "t2v_layout_anchor"
"""WRBench's name of prompts that describe the first frame, for models that are given none."""


class EventFactors(NamedTuple):
    """An event as a cell of a 2 x 2 design."""

    moves: bool
    """Whether the subject goes somewhere."""
    changes: bool
    """Whether its pose or state changes."""


EVENTS: Final[Mapping[Change, EventFactors]] = {
    "none": EventFactors(moves=False, changes=False),
    "spatial": EventFactors(moves=True, changes=False),
    "state_only": EventFactors(moves=False, changes=True),
    "full": EventFactors(moves=True, changes=True),
}
LEVELS: Final[Mapping[str, Change]] = {"T0": "none", "T1": "spatial", "T2_div_a": "state_only", "T2_div_b": "full"}
"""The event of each level, as levels are named in the ids of variants."""
ACTIONS: Final[Mapping[CameraType, str]] = {
    "static": "static",
    "yaw_LR": "left_then_right",
    "yaw_RL": "right_then_left",
    "pan_LR": "pan_left_then_right",
    "pan_RL": "pan_right_then_left",
}
"""The camera's action, as other suites name actions; LR looks or moves to the left first."""
LABEL: Final = re.compile(r"(?P<axis>static|yaw|pan)(?P<degrees>\d{1,3})?(?:_(?P<way>LR|RL))?")


class _Row(BaseModel):
    """A row of a published file: typed strictly, with fields that nothing here reads left alone."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class _Record(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    @property
    def sha256(self) -> str:
        """Hash of the whole content."""
        return hashlib.sha256(canonical_json(self.model_dump(mode="json")).encode()).hexdigest()


class RequestedView(_Record):
    """A camera that WRBench asks for: it stands still, or turns or moves to one side and comes back."""

    camera_type: CameraType
    degrees: Annotated[float, Field(gt=0, le=360)] | None = None
    """Amplitude of a turn; `None` where none is stated, as in prompts."""

    @model_validator(mode="after")
    def _has_an_amplitude_only_where_it_turns(self) -> Self:
        if self.degrees is not None and self.axis != "yaw":
            raise ValueError(f"the camera {self.camera_type} does not turn, found {self.degrees:g} degrees")
        return self

    @classmethod
    def parse(cls, label: str) -> Self:
        """The camera of a label.

        >>> RequestedView.parse("yaw60_LR").degrees, RequestedView.parse("static").label
        (60.0, 'static')
        """
        match = LABEL.fullmatch(label)
        if match is None or (match["axis"] == "static") != (match["way"] is None):
            raise ValueError(f"the camera {label!r} is not known; expected static, yaw_LR, yaw60_LR or pan_LR")
        kind = match["axis"] if match["way"] is None else f"{match['axis']}_{match['way']}"
        degrees = None if match["degrees"] is None else float(match["degrees"])
        return cls.model_validate({"camera_type": kind, "degrees": degrees})

    @property
    def axis(self) -> Axis:
        """What it does: nothing, turn, or move sideways."""
        if self.camera_type == "static":
            return "static"
        return "yaw" if self.camera_type.startswith("yaw") else "pan"

    @property
    def label(self) -> str:
        """As in the ids of outputs."""
        if self.degrees is None:
            return self.camera_type
        return self.camera_type.replace("yaw_", f"yaw{self.degrees:g}_")

    @property
    def visibility(self) -> Visibility:
        """What it asks to hide."""
        return "stays_in_view" if self.axis == "static" else "leaves_and_returns"


class EventViewRecord(_Record):
    """What a model is asked for: the same for every model."""

    family_id: Id
    first_frame: str | None
    """Path of the initial observation, relative to the prompt suite; `None` for text to video."""
    subject: str | None
    change: Change
    event_text: Text
    expected_state: Text
    view: RequestedView
    visibility: Visibility
    prompt_variant: PromptVariant
    prompt: Text

    @property
    def event(self) -> EventFactors:
        """The cell of the 2 x 2 design."""
        return EVENTS[self.change]

    @property
    def id(self) -> str:
        """Family, level of the event, wording and camera; WRBench's `output_id`."""
        return SEPARATOR.join((variant_id(self.family_id, self.change, self.prompt_variant), self.view.label))


class CaseKey(NamedTuple):
    """What the id of a case says, so that tables can be cut without the files of the dataset."""

    family_id: str
    change: Change
    prompt_variant: str
    camera: str

    @classmethod
    def parse(cls, case: str) -> CaseKey | None:
        """The parts of an id; `None` where it is not an id of a record.

        >>> CaseKey.parse("bedroom_cat_bed_jump__T2_div_b__none__yaw60_RL").change
        'full'
        """
        parts = case.rsplit(SEPARATOR, 3)
        if len(parts) != 4 or parts[1] not in LEVELS:
            return None
        return cls(parts[0], LEVELS[parts[1]], parts[2], parts[3])


class DeliveredCondition(_Record):
    """What of the request reached the model, by its sidecars."""

    payload_type: str | None = None
    target_poses: int | None = None
    """Number of poses in the target path, counted in its file."""
    rotation_gain: float = 1.0
    translation_gain: float = 1.0
    is_model_effective: bool | None = None
    """Whether the target path is what the model executed, according to the sidecar."""
    measured_yaw_degrees: float | None = None
    """Peak of the request, measured in the target path after its gain is undone."""


class VideoProvenance(_Record):
    """How one model was asked for a record, what was delivered to it, and the video that it made."""

    model: Id
    seed: str
    record_id: str
    record_sha256: str
    prompt: Text
    first_frame_sha256: str | None
    delivered: DeliveredCondition
    video: str
    """Path relative to the dataset."""
    video_sha256: str | None
    """Hash of the content, as features are stored by; `None` where there is no file."""

    @property
    def id(self) -> str:
        """Contains the model, so that two models never share an id."""
        return SEPARATOR.join((self.model, self.record_id, self.seed))


class SceneObject(_Row):
    """A named thing of a family."""

    id: str
    name: str
    role: Literal["anchor", "interactor"] | None = None


class FamilyRow(_Row):
    """A line of `families.jsonl`."""

    family_id: Id
    scene: str
    t2i_scene: Text
    primary_object: SceneObject
    supporting_objects: list[SceneObject] = []


class VariantRow(_Row):
    """A line of `variants.jsonl`: a family, an event and a wording."""

    variant_id: Id
    family_id: Id
    reasoning_tier: Tier
    divergence_id: Literal["div_a", "div_b"] | None = None
    event_delta: Change
    oov_gap: PromptVariant
    world_state_prompt: Text
    expected_state: Text
    ti2v_prompt: Text

    @model_validator(mode="after")
    def _agrees_with_its_id(self) -> Self:
        level = self.reasoning_tier if self.divergence_id is None else f"{self.reasoning_tier}_{self.divergence_id}"
        if LEVELS.get(level) != self.event_delta:
            raise ValueError(f"the level {level} is not the event {self.event_delta!r}")
        expected = variant_id(self.family_id, self.event_delta, self.oov_gap)
        if self.variant_id != expected:
            raise ValueError(f"variant_id is {self.variant_id!r}, expected {expected!r}")
        return self


class FirstFrameRow(_Row):
    """An entry of `first_frames_manifest.json`."""

    family_id: Id
    image_path: str
    width: Annotated[int, Field(gt=0)]
    height: Annotated[int, Field(gt=0)]


class LayoutAnchorRow(_Row):
    """A line of `t2v_layout_anchors.jsonl`: a first frame in words."""

    family_id: Id
    scene: str
    subject: str
    interactor: str
    open_surface: str
    anchors: list[str]


class EventTailRow(_Row):
    """A line of `t2v_event_tails.jsonl`: an event with its subject named."""

    variant_id: Id
    t2v_event_tail: Text


class ManifestRow(_Row):
    """A video of `videos.json`, in the spellings of WRBench's programs."""

    model: Id
    path: Annotated[str, Field(min_length=1)]
    view: RequestedView
    world_state_prompt: Annotated[Text, Field(min_length=1)]
    video_id: Id | None = None
    variant_id: Id | None = None
    family_id: Id | None = None
    event_delta: Change | None = None
    expected_state: Text = ""
    oov_gap: PromptVariant = "none"
    prompt: Text = ""
    seed: int | str = 0
    first_frame_path: str | None = None
    target_pose_path: str | None = None
    pose_path: str | None = None
    prompt_profile_id: str | None = None
    record_sha256: str | None = None
    """Hash of the record that the video was made for, if it was made from a list of tasks."""

    @property
    def has_first_frame(self) -> bool:
        """Whether the model was given a picture to begin with."""
        return self.prompt_profile_id != LAYOUT_PROFILE

    @model_validator(mode="before")
    @classmethod
    def _spellings(cls, row: Any) -> Any:
        if not isinstance(row, dict):
            raise ValueError(f"expected an object with video_id, path and model, found {type(row).__name__}")
        found = dict(row)
        for name, other in (("path", "video_path"), ("world_state_prompt", "prompt_text")):
            found.setdefault(name, row.get(other))
        found["prompt"] = row.get("prompt") or row.get("ti2v_prompt") or ""
        label = row.get("camera") or row.get("camera_type")
        if not isinstance(label, str):
            raise ValueError(f"expected the name of a camera in camera or camera_type, found {label!r}")
        view = RequestedView.parse(label)
        kind, degrees = row.get("camera_type") or view.camera_type, row.get("stress_yaw_deg")
        if degrees is not None and not isinstance(degrees, int | float):
            raise ValueError(f"expected a number in stress_yaw_deg, found {degrees!r:.80}")
        if kind != view.camera_type or (degrees is not None and view.degrees not in (None, degrees)):
            raise ValueError(f"the camera {label!r} is not of camera_type {kind!r} with {degrees} degrees")
        if degrees is not None and view.degrees is None:
            view = RequestedView.model_validate({"camera_type": view.camera_type, "degrees": float(degrees)})
        return {**{name: value for name, value in found.items() if value is not None}, "view": view}


def variant_id(family: str, change: Change, gap: str) -> str:
    """The id of a variant.

    >>> variant_id("bedroom_cat_bed_jump", "full", "yaw_RL")
    'bedroom_cat_bed_jump__T2_div_b__yaw_RL'
    """
    level = next(name for name, event in LEVELS.items() if event == change)
    return SEPARATOR.join((family, level, gap))
