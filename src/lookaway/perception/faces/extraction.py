"""Faces of the sampled frames of a rollout, and how the networks that find them are loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from lookaway.core import (
    Feature,
    Features,
    Floats,
    Frame,
    FrameRequest,
    MissingDevice,
    MissingExtra,
    Reason,
    Rollout,
    Sampler,
    Timeline,
    Unmeasurable,
)
from lookaway.perception.faces.detection import Detector, Found
from lookaway.perception.faces.recognition import Recogniser, aligned
from lookaway.perception.networks.batching import NetworkExtractor
from lookaway.perception.weights import Weights

FACE_ARRAYS = {
    "boxes": "float32 [faces, 4]: left, top, right and bottom, as parts of the frame",
    "landmarks": "float32 [faces, 5, 2]: eyes, tip of the nose, corners of the mouth, as parts of the frame",
    "scores": "float32 [faces]: how sure the detector is",
    "embeddings": "float32 [faces, channels]: one vector of length 1 a face",
    "frame_indices": "int64 [faces]: the frame of each face",
    "looked_at": "int64 [frames]: all sampled frames, with or without a face",
}
"""What features of faces hold; without a face in any frame they have no rows."""
ERRORS_ONLY = 3


class FaceExtractor(NetworkExtractor):
    """An extractor of faces: no face at all is a feature without rows."""

    __slots__ = ()
    of_video: ClassVar[bool] = True
    software: ClassVar[tuple[str, ...]] = ("onnxruntime", "opencv-python-headless")
    arrays: ClassVar[Mapping[str, str]] = FACE_ARRAYS


@dataclass(frozen=True, slots=True)
class LoadedFaceExtractor:
    """A face detector and a recogniser."""

    cv2: ModuleType
    frames: Sampler
    detect: Detector
    recognise: Recogniser

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> FaceExtraction:
        """Start on one rollout."""
        return FaceExtraction(self, FrameRequest(frozenset(self.frames.indices(timeline, rollout))))


@dataclass(frozen=True, slots=True)
class FaceExtraction:
    """Collects the faces of one rollout."""

    loaded: LoadedFaceExtractor
    request: FrameRequest
    _looked_at: list[int] = field(default_factory=list)
    _found: list[Found] = field(default_factory=list)
    _embeddings: list[Floats] = field(default_factory=list)

    def add_frame(self, frame: Frame) -> None:
        """Find the faces of a frame."""
        found = self.loaded.detect(frame.pixels)
        faces = [aligned(self.loaded.cv2, frame.pixels, landmarks) for landmarks in found.landmarks]
        self._embeddings.append(self.loaded.recognise(faces))
        height, width = frame.pixels.shape[:2]
        boxes = (found.boxes / [width, height, width, height]).clip(0, 1)
        self._found.append(Found(boxes, found.landmarks / [width, height], found.scores))
        self._looked_at.append(frame.index)

    def finish(self) -> Feature:
        """All faces, one row each, in order of frames and then of scores."""
        found = Found.joined(self._found)
        counts = [len(part.scores) for part in self._found]
        arrays = {
            "boxes": found.boxes.astype(np.float32),
            "landmarks": found.landmarks.astype(np.float32),
            "scores": found.scores.astype(np.float32),
            "embeddings": np.concatenate(self._embeddings),
            "frame_indices": np.repeat(np.array(self._looked_at, np.int64), counts),
            "looked_at": np.array(self._looked_at, np.int64),
        }
        return Feature(arrays)


def load_session(weights: Weights, position: int, outputs: int, device: str) -> Any:
    """One of the files of some weights with one thread, since workers are parallel over rollouts."""
    try:
        import onnxruntime
        from onnxruntime.capi import onnxruntime_pybind11_state as refusals
    except ImportError as error:
        raise MissingExtra("A network of faces", "faces") from error
    path = weights.file(weights.files[position].name)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = ERRORS_ONLY
    try:
        session = onnxruntime.InferenceSession(path, options, providers=_providers(onnxruntime, device))
    except (refusals.Fail, refusals.InvalidProtobuf, refusals.InvalidGraph, refusals.NotImplemented) as error:
        raise _refused(weights, position, str(error).strip().partition("\n")[0]) from error
    if len(session.get_outputs()) != outputs:
        raise _refused(weights, position, f"it has {len(session.get_outputs())} outputs, expected {outputs}")
    if device != "cpu" and session.get_providers()[0] != "CUDAExecutionProvider":
        raise MissingDevice(f"onnxruntime cannot use the device {device!r} here: it fell back to the CPU.")
    return session


def _providers(onnxruntime: Any, device: str) -> list[Any]:
    if device == "cpu":
        return ["CPUExecutionProvider"]
    kind, _, number = device.partition(":")
    if kind != "cuda" or "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        known = ", ".join(onnxruntime.get_available_providers())
        raise MissingDevice(f"onnxruntime cannot use the device {device!r} here. It has: {known}.")
    return [("CUDAExecutionProvider", {"device_id": int(number or 0)}), "CPUExecutionProvider"]


def _refused(weights: Weights, position: int, reason: str) -> Unmeasurable:
    message = f"{weights.files[position].name} of the weights {weights.name} does not load: {reason}."
    return Unmeasurable(Reason.WRONG_WEIGHTS, f"{message} Nothing was loaded.")
