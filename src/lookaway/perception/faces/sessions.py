"""Networks in the ONNX format."""

from __future__ import annotations

from typing import Any

from lookaway.core import MissingDevice, MissingExtra, Reason, Unmeasurable
from lookaway.perception.weights import Weights

ERRORS_ONLY = 3


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
