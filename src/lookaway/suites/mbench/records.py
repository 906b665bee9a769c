"""The records of an MBench dataset."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def _plain_name(name: str) -> str:
    if name in {"", ".", ".."} or any(character in name for character in "/\\\0"):
        raise ValueError("a name must not be empty, '.', '..' or contain a slash")
    return name


Name = Annotated[str, AfterValidator(_plain_name)]


class _Record(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class VideoEntry(_Record):
    """One video of a line."""

    path: str
    role: str = "generated"


class SampleVideos(_Record):
    """The videos of a line."""

    videos: list[VideoEntry] = Field(min_length=1)


class Artifact(_Record):
    """A file produced by another tool."""

    path: str


class SampleLine(_Record):
    """One line of `samples.jsonl`: what one model generated for one sample under one condition."""

    subset: Name
    sample_id: Name
    condition_id: Name
    media: SampleVideos
    item_id: str | None = None
    dataset_id: str | None = None
    model_id: str | None = None
    artifacts: dict[str, Artifact] = {}
    annotations: dict[str, Any] = {}
    metadata: dict[str, Any] = {}


class SampleCard(_Record):
    """`sample.json`: metadata of a sample, the same for all models."""

    annotations: dict[str, Any] = {}
    metadata: dict[str, Any] = {}


class DatasetCard(_Record):
    """`dataset.yaml`."""

    dataset_id: Literal["mbencha", "mbencht"]
    dataset_name: str | None = None
    version: str | int | float | None = None
    path_mode: str | None = None
    subsets: dict[str, Any] = {}
    extrinsics_convention: Literal["world_to_camera", "camera_to_world"] | None = None
