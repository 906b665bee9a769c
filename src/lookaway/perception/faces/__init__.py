"""Faces: found, brought upright, and told apart."""

from lookaway.perception.faces.detection import Choice, Detector, Found, Scrfd, Yunet
from lookaway.perception.faces.perceiving import FACE_ARRAYS, LoadedFace
from lookaway.perception.faces.recognition import Recogniser, aligned
from lookaway.perception.faces.sessions import load_session

__all__ = [
    "FACE_ARRAYS",
    "Choice",
    "Detector",
    "Found",
    "LoadedFace",
    "Recogniser",
    "Scrfd",
    "Yunet",
    "aligned",
    "load_session",
]
