"""Faces and who they are, by networks that anybody may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, ClassVar

from lookaway.core import Abstention, Extractor, Rollout
from lookaway.io.sampling import Sampler, UniformFrames
from lookaway.perception.faces import FACE_ARRAYS, Choice, LoadedFace, Recogniser, Yunet, load_session
from lookaway.perception.opencv import load_opencv
from lookaway.perception.weights import Weights, published


@dataclass(frozen=True, slots=True)
class SfaceFaces:
    """Faces that YuNet finds, and a vector of each by SFace: no face at all is a feature without rows."""

    name: ClassVar[str] = "sface_faces"
    version: ClassVar[int] = 1
    software: ClassVar[tuple[str, ...]] = ("onnxruntime", "opencv-python-headless")
    seconds_per_frame: ClassVar[float] = 0.1
    bytes_per_frame: ClassVar[float] = 600.0
    arrays: ClassVar[Mapping[str, str]] = FACE_ARRAYS
    needs: ClassVar[Mapping[str, Extractor]] = {}

    weights: Annotated[Weights, "the detector, then the network that tells faces apart"] = field(
        default_factory=partial(published, "yunet-sface")
    )
    frames: Annotated[Sampler, "which frames are looked at"] = UniformFrames(24)
    min_score: Annotated[float, "of a face, from 0 to 1"] = 0.8
    max_overlap: Annotated[float, "of two faces, shared over joint area"] = 0.3
    max_faces: Annotated[int, "kept a frame, the surest"] = 16
    device: Annotated[str, "`cpu`, `cuda` or `cuda:1`"] = "cpu"

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Any video will do, once the weights are there."""
        return self.weights.declines()

    def load(self) -> LoadedFace:
        """Load both networks."""
        cv2 = load_opencv()
        choice = Choice(self.min_score, self.max_overlap, self.max_faces)
        detector = Yunet(cv2, load_session(self.weights, 0, outputs=12, device=self.device), choice)
        recogniser = Recogniser(load_session(self.weights, 1, outputs=1, device=self.device), mean=0, scale=1)
        return LoadedFace(cv2, self.frames, detector, recogniser)
