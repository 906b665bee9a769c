"""Boxes around what a text names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Abstention, Compute, Floats, Frame, Indices, Reason, Rollout, Sampler, Timeline, Unmeasurable
from lookaway.io.sampling import UniformFrames
from lookaway.perception.networks.batching import BatchExtractor, BatchPlan
from lookaway.perception.networks.fits import Colours, Fitted, SeenColours
from lookaway.perception.networks.grounding_dino import GroundingDino, phrase_of
from lookaway.perception.weights import Weights, published

BOX_ARRAYS = {
    "boxes": "float32 [boxes, 4]: left, top, right and bottom, as parts of the frame",
    "scores": "float32 [boxes]: how sure the source is",
    "frame_indices": "int64 [boxes]: the frame of each box",
    "looked_at": "int64 [frames]: all sampled frames, whether or not anything was found",
}


@dataclass(frozen=True, slots=True)
class GroundingDinoBoxes(BatchExtractor[GroundingDino]):
    """Boxes that Grounding DINO draws around the case's target, best first, found by its attributes and name.

    A frame in which nothing was found has no box, and is listed in `looked_at`. Boxes are not merged: one thing can
    have several.
    """

    name: ClassVar[str] = "grounding_dino_boxes"
    constants: ClassVar[tuple[str, ...]] = (f"{phrase_of.__module__}:MAX_CHARACTERS",)
    software: ClassVar[tuple[str, ...]] = ("torch", "transformers", "tokenizers")
    seconds_per_frame: ClassVar[float] = 12.0
    bytes_per_frame: ClassVar[float] = 300.0
    arrays: ClassVar[Mapping[str, str]] = BOX_ARRAYS

    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "grounding-dino-tiny"))
    frames: Annotated[Sampler, "which frames are sampled"] = UniformFrames(1)
    box_threshold: Annotated[float, "a box is kept where it fits the text better than this"] = 0.35
    text_threshold: Annotated[float, "and one of the words, not only the full stop, better than this"] = 0.25
    short_side: Annotated[int, "length of a frame's shorter side at the input"] = 800
    long_side: Annotated[int, "greatest length of its longer side; the shorter one gives way"] = 1333
    most: Annotated[int, "boxes kept in a frame"] = 10
    colours: SeenColours = Colours()
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()

    def declines(self, rollout: Rollout) -> Abstention | None:
        """The target must have a name, and the weights must be there."""
        if not phrase_of(rollout.case):
            return Abstention(Reason.NO_TARGET, "the case names no target, and boxes are found by name.")
        return self.weights.declines()

    def network(self) -> GroundingDino:
        """The network and its tokenizer."""
        return GroundingDino.load(self.weights, self.colours, self.compute)

    def fitted(self, width: int, height: int) -> Fitted:
        """Frames of a size on their way to the input, scaled as the network's makers do."""
        short, long = sorted((width, height))
        exact = min(self.short_side, self.long_side * short / long)
        side = round(exact)
        scaled = (short, long) if side == short else (side, int(exact * long / short))
        size = scaled if width <= height else scaled[::-1]
        return Fitted(size, (0, 0), size, "bilinear")

    def kept(self, probabilities: Floats) -> Indices:
        """Which boxes are kept, best first, by how well each fits each token of the text [boxes, tokens]."""
        scores, words = probabilities.max(axis=1), probabilities[:, 1:-2].max(axis=1)
        best = np.argsort(-scores, kind="stable")
        is_found = (scores > self.box_threshold) & (words > self.text_threshold)
        kept: Indices = best[is_found[best]][: self.most]
        return kept

    def batches(self, network: GroundingDino, rollout: Rollout, timeline: Timeline) -> BatchPlan:
        """How the frames of a rollout go through the network."""
        phrase = phrase_of(rollout.case)
        tokens, fitted = network.tokens(phrase), self.fitted(timeline.width, timeline.height)
        if network.places(fitted) < network.queries:
            raise Unmeasurable(
                Reason.INVALID_INPUT,
                f"frames of {timeline.width} x {timeline.height} have {network.places(fitted)} places to look at, "
                f"the network chooses {network.queries} of them. Look at frames that are less narrow, or larger.",
            )

        def extract(frames: Sequence[Frame]) -> dict[str, NDArray[np.generic]]:
            probabilities, boxes = network([frame.pixels for frame in frames], fitted, tokens)
            kept = [self.kept(each) for each in probabilities]
            scores = [each[rows].max(axis=1) for each, rows in zip(probabilities, kept, strict=True)]
            return {
                "boxes": np.concatenate([each[rows] for each, rows in zip(boxes, kept, strict=True)]),
                "scores": np.concatenate(scores),
                "frame_indices": np.repeat([frame.index for frame in frames], [len(rows) for rows in kept]),
            }

        return BatchPlan(network.frames_at_once(fitted), extract, {"query": f"{phrase}."}, indices_name="looked_at")
