"""Faces: found, brought upright, and told apart."""

from lookaway.perception.faces.alignment import aligned
from lookaway.perception.faces.detection import Choice, Detector, Found
from lookaway.perception.faces.perceiving import FACE_ARRAYS, FacePerceiver
from lookaway.perception.faces.recognition import Recogniser
from lookaway.perception.faces.scrfd import Scrfd
from lookaway.perception.faces.sessions import load_session
from lookaway.perception.faces.yunet import Yunet

__all__ = [
    "FACE_ARRAYS",
    "Choice",
    "Detector",
    "FacePerceiver",
    "Found",
    "Recogniser",
    "Scrfd",
    "Yunet",
    "aligned",
    "load_session",
]
