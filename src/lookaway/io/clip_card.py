"""`clip.json`: what is known of a clip of the simulated world, beside its arrays and pictures."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Frames = tuple[int, int]
"""First frame, and one past the last."""
Fraction = Annotated[float, Field(ge=0, le=1)]
Side = Annotated[int, Field(ge=2, le=8192, multiple_of=2)]
Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class InjectionCard(_Record):
    """A fault in the clip."""

    fault: str
    severity: Fraction
    dose: float
    """Realised, counted in the truth."""
    dose_unit: str


class ThingCard(_Record):
    """Something with a name."""

    id: Annotated[int, Field(ge=1, le=255)]
    """Its value in the pictures of instances."""
    name: str
    role: Literal["target", "interactor", "anchor", "prop", "structure", "copy"]
    is_movable: bool
    diameter_metres: float


class PhasesCard(_Record):
    """When the target is seen."""

    visible: Frames
    disappeared: Frames
    reappeared: Frames
    causes: tuple[tuple[Literal["visible", "occluded", "out_of_view", "absent"], int, int], ...]
    """Runs of frames, each with its first frame and one past its last."""


class QuestionCard(_Record):
    """What a viewer can be asked about the end of the clip."""

    question: str
    choices: tuple[str, ...]
    answer: str
    """One of the choices: what is true when everything is remembered."""


class HashesCard(_Record):
    """SHA-256 of what was drawn, before anything was encoded."""

    frames: Hash
    depth: Hash
    instances: Hash
    arrays: Hash


class ClipCard(_Record):
    """All of `clip.json`."""

    format: Literal[1] = 1
    world_version: int
    """Clips of different versions differ though their recipes are equal."""
    case: str
    """One text for what is asked, whoever answers."""
    family: str
    event: Literal["none", "spatial", "in_place", "both"]
    camera: str
    seed: int
    model: str
    take: int
    injections: tuple[InjectionCard, ...]
    width: Side
    height: Side
    fps: Annotated[int, Field(ge=1)]
    frames: Annotated[int, Field(ge=1, le=1_000_000)]
    seconds: float
    wait: float
    place: str
    things: Annotated[tuple[ThingCard, ...], Field(min_length=1)]
    """The first one is the target."""
    target_box: tuple[float, float, float, float]
    """Centre x, centre y, width, height in the first frame, as fractions of its size; all 0 where it is unseen."""
    motion: str
    """`rolls across the rug`; asked of the target where the event is spatial."""
    process: tuple[str, str, str]
    """What happens in place, and the state before and after: `burns down`, `whole`, `burnt down`."""
    phases: PhasesCard
    caption: str
    caption_segments: tuple[str, str, str, str, str]
    action: str
    question: QuestionCard
    depth_metres_per_step: Annotated[float, Field(gt=0)]
    software: dict[str, str]
    """Versions of what drew and simulated it."""
    hashes: HashesCard

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        start, end = self.phases.disappeared
        around = (self.phases.visible, self.phases.reappeared)
        if around != ((0, start), (end, self.frames)) or not 0 <= start <= end <= self.frames:
            raise ValueError(f"the three phases must follow each other from frame 0 to {self.frames}")
        if len({thing.id for thing in self.things}) < len(self.things) or self.things[0].role != "target":
            raise ValueError("the first thing must be the target, and no two things may have one id")
        if self.question.answer not in self.question.choices:
            raise ValueError("the answer must be one of the choices")
        return self

    @property
    def target(self) -> ThingCard:
        """The thing whose memory is tested."""
        return self.things[0]
