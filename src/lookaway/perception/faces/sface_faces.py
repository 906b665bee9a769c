"""Faces by networks with a permissive licence."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, ClassVar

from lookaway.core import Sampler
from lookaway.io.sampling import UniformFrames
from lookaway.perception.faces import Choice, FaceExtractor, LoadedFaceExtractor, Recogniser, Yunet, load_session
from lookaway.perception.opencv import load_opencv
from lookaway.perception.weights import Weights, published


@dataclass(frozen=True, slots=True)
class SfaceFaces(FaceExtractor):
    """Faces that YuNet finds, and a vector of each by SFace: no face at all is a feature without rows."""

    name: ClassVar[str] = "sface_faces"
    constants: ClassVar[tuple[str, ...]] = (f"{Yunet.__module__}:STRIDES",)
    seconds_per_frame: ClassVar[float] = 0.1
    bytes_per_frame: ClassVar[float] = 600.0

    weights: Annotated[Weights, "the detector, then the recogniser"] = field(
        default_factory=partial(published, "yunet-sface")
    )
    frames: Annotated[Sampler, "which frames are sampled"] = UniformFrames(24)
    min_score: Annotated[float, "minimum score of a face, from 0 to 1"] = 0.8
    max_overlap: Annotated[float, "maximum overlap of two faces, as intersection over union"] = 0.3
    max_faces: Annotated[int, "faces kept in a frame, those with the highest scores"] = 16
    device: Annotated[str, "`cpu`, `cuda` or `cuda:1`"] = "cpu"

    def load(self) -> LoadedFaceExtractor:
        """Load both networks."""
        cv2 = load_opencv()
        choice = Choice(self.min_score, self.max_overlap, self.max_faces)
        detector = Yunet(cv2, load_session(self.weights, 0, outputs=12, device=self.device), choice)
        recogniser = Recogniser(load_session(self.weights, 1, outputs=1, device=self.device), mean=0, scale=1)
        return LoadedFaceExtractor(cv2, self.frames, detector, recogniser)
