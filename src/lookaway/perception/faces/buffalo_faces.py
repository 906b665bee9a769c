"""Faces by the networks of InsightFace."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, ClassVar

from lookaway.core import Sampler
from lookaway.io.sampling import UniformFrames
from lookaway.perception.faces import Choice, FaceExtractor, LoadedFaceExtractor, Recogniser, Scrfd, load_session
from lookaway.perception.opencv import load_opencv
from lookaway.perception.weights import Weights, published


@dataclass(frozen=True, slots=True)
class BuffaloFaces(FaceExtractor):
    """Faces that SCRFD finds, and a vector of each by ArcFace: no face at all is a feature without rows."""

    name: ClassVar[str] = "buffalo_faces"
    constants: ClassVar[tuple[str, ...]] = (f"{Scrfd.__module__}:STRIDES",)
    seconds_per_frame: ClassVar[float] = 0.5
    bytes_per_frame: ClassVar[float] = 2200.0

    weights: Annotated[Weights, "the detector, then the recogniser"] = field(
        default_factory=partial(published, "buffalo-l")
    )
    frames: Annotated[Sampler, "which frames are sampled"] = UniformFrames(24)
    side: Annotated[int, "side of the square that a frame is scaled to fit, a multiple of 32"] = 640
    min_score: Annotated[float, "minimum score of a face, from 0 to 1"] = 0.5
    max_overlap: Annotated[float, "maximum overlap of two faces, as intersection over union"] = 0.4
    max_faces: Annotated[int, "faces kept in a frame, those with the highest scores"] = 16
    device: Annotated[str, "`cpu`, `cuda` or `cuda:1`"] = "cpu"

    def __post_init__(self) -> None:
        if self.side < 32 or self.side % 32:
            raise ValueError(f"the side of the input is a multiple of 32, found {self.side}.")

    def load(self) -> LoadedFaceExtractor:
        """Load both networks."""
        cv2 = load_opencv()
        choice = Choice(self.min_score, self.max_overlap, self.max_faces)
        detector = Scrfd(cv2, load_session(self.weights, 0, outputs=9, device=self.device), choice, self.side)
        recogniser = Recogniser(load_session(self.weights, 1, outputs=1, device=self.device), mean=127.5, scale=127.5)
        return LoadedFaceExtractor(cv2, self.frames, detector, recogniser)
