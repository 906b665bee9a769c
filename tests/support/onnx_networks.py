"""Tiny networks in the layout of InsightFace's, whose answers are known."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from lookaway.perception.weights import Weights
from tests.support.hub import put_into_hub

STRIDES, ANCHORS = (8, 16, 32), 2
COLUMNS = {"scores": 1, "sides": 4, "points": 10}
OPSET = 13
DETECTOR_SIDE = 640
LANDMARKS = [-0.25, -0.2, 0.25, -0.2, 0, 0, -0.2, 0.3, 0.2, 0.3]
FACES = {
    (32, (3 * 20 + 4) * 2): (0.9, [1.0] * 4, LANDMARKS),
    (32, (3 * 20 + 14) * 2): (0.8, [1.0] * 4, LANDMARKS),
}
"""In any picture, two of them, where cells of 32 pixels are four and fourteen from the left."""


def tiny_buffalo() -> Weights:
    """Detector and recogniser, saved as the published ones are."""

    def save(folder: Path) -> None:
        save_detector(folder / "detection/model.onnx", DETECTOR_SIDE, FACES)
        save_recogniser(folder / "recognition/model.onnx")

    return put_into_hub("buffalo-l", save)


def save_detector(
    path: Path, side: int, faces: Mapping[tuple[int, int], tuple[float, list[float], list[float]]]
) -> None:
    """A detector that finds the same faces in any picture, as sure of them as its reddest pixel is red.

    Each is told by its stride and row: how sure, four distances, ten offsets. Outputs have no axis for the batch.
    """
    nodes, initializers, outputs = [], [], []
    nodes.append(helper.make_node("ReduceMax", ["input.1"], ["colours"], axes=[0, 2, 3], keepdims=0))
    nodes.append(helper.make_node("Gather", ["colours", "first"], ["red"], axis=0))
    initializers.append(numpy_helper.from_array(np.array([0]), "first"))
    for place, (kind, columns) in enumerate(COLUMNS.items()):
        for stride in STRIDES:
            values = np.zeros(((side // stride) ** 2 * ANCHORS, columns), np.float32)
            for (of_stride, row), answers in faces.items():
                if of_stride == stride:
                    values[row] = answers[place]
            name = f"{kind}_{stride}"
            initializers.append(numpy_helper.from_array(values, f"{name}_known"))
            factor = "red" if kind == "scores" else "one"
            nodes.append(helper.make_node("Mul", [f"{name}_known", factor], [name]))
            outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, values.shape))
    initializers.append(numpy_helper.from_array(np.ones(1, np.float32), "one"))
    _save(path, nodes, initializers, [None, 3, None, None], outputs)


def save_recogniser(path: Path) -> None:
    """A network whose vector of a face is its mean colour."""
    node = helper.make_node("ReduceMean", ["input.1"], ["colours"], axes=[2, 3], keepdims=0)
    _save(path, [node], [], [None, 3, 112, 112], [helper.make_tensor_value_info("colours", TensorProto.FLOAT, [1, 3])])


def _save(path: Path, nodes: list, initializers: list, shape: list, outputs: list) -> None:
    seen = helper.make_tensor_value_info("input.1", TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "tiny", [seen], outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(path))
