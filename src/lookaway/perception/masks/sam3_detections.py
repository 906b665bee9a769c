"""Where SAM 3 finds what a text names."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Annotated, Any, ClassVar

from lookaway.core import Abstention, Compute, Frame, Rollout
from lookaway.perception.masks.text_detections import Detect, Detection, TextDetections
from lookaway.perception.networks.fits import FROM_MINUS_ONE, Colours, SeenColours, Squeezed, to_input
from lookaway.perception.networks.pretrained import load_pretrained, load_tokenizer, load_torch
from lookaway.perception.weights import Weights, published


@dataclass(frozen=True, slots=True)
class Sam3Detections(TextDetections):
    """What SAM 3 takes for the target in frames of full size: all of its queries, however unsure.

    The score of a query is its probability times the probability that the frame shows anything of that name. A mask is
    where its probability, scaled to the size of the frame, is above one half. Of a long text the network reads the
    beginning.
    """

    name: ClassVar[str] = "sam3_detections"
    software: ClassVar[tuple[str, ...]] = ("torch", "transformers", "tokenizers")
    seconds_per_frame: ClassVar[float] = 30.0

    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "sam3"))
    colours: SeenColours = FROM_MINUS_ONE
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()

    def declines(self, rollout: Rollout) -> Abstention | None:
        """There must be a target to look for, and the weights."""
        return TextDetections.declines(self, rollout) or self.weights.declines()

    def load_detector(self) -> Detect:
        """SAM 3 and its tokenizer, from the same files."""
        torch, model = load_torch(self.compute), load_pretrained("Sam3Model", self.weights, self.compute)
        return _Sam3(torch, model, load_tokenizer("CLIPTokenizer", self.weights), self.colours, self.compute)


@dataclass(frozen=True, slots=True)
class _Sam3:
    """The loaded network: it sees frames squeezed into a square."""

    torch: ModuleType
    model: Any
    tokenizer: Any
    colours: Colours
    compute: Compute

    def __call__(self, frame: Frame, words: str) -> list[Detection]:
        height, width = frame.pixels.shape[:2]
        config = self.model.config
        fitted = Squeezed(config.image_size, config.image_size, "bilinear").fitted(width, height, 1)
        text = self.tokenizer(
            words,
            truncation=True,
            padding="max_length",
            max_length=config.text_config.max_position_embeddings,
            return_tensors="pt",
        ).to(self.compute.device)
        with self.torch.inference_mode():
            picture = to_input(self.torch, [frame.pixels], fitted, self.colours, self.compute)
            found = self.model(pixel_values=picture, input_ids=text["input_ids"], attention_mask=text["attention_mask"])
            scores = found.pred_logits[0].float().sigmoid() * found.presence_logits[0].float().sigmoid()
            coverages = [self._coverage(drawn, height, width) for drawn in found.pred_masks[0].float()]
        return [Detection(*both) for both in zip(coverages, scores.tolist(), strict=True)]

    def _coverage(self, drawn: Any, height: int, width: int) -> float:
        # One at a time: all masks at the size of a frame would take gigabytes.
        scaled = self.torch.nn.functional.interpolate(
            drawn[None, None], size=(height, width), mode="bilinear", align_corners=False
        )
        return int((scaled > 0).sum()) / (height * width)
