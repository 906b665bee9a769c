"""Faces: detected, aligned and recognised."""

from lookaway.perception.faces.detection import Choice, Detector, Found, Scrfd, Yunet
from lookaway.perception.faces.extraction import FaceExtractor, LoadedFaceExtractor, load_session
from lookaway.perception.faces.recognition import Recogniser, aligned

__all__ = [
    "Choice",
    "Detector",
    "FaceExtractor",
    "Found",
    "LoadedFaceExtractor",
    "Recogniser",
    "Scrfd",
    "Yunet",
    "aligned",
    "load_session",
]
