"""Faces: detected, aligned and recognised."""

from lookaway.perception.faces.detection import Choice, Detector, Found, Scrfd, Yunet
from lookaway.perception.faces.extraction import FaceExtractor, LoadedFaceExtractor
from lookaway.perception.faces.recognition import Recogniser, aligned
from lookaway.perception.faces.sessions import load_session

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
