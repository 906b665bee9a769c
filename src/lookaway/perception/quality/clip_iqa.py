"""Whether each frame looks more like a good photo than like a bad one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar, Final

from lookaway.core import Abstention, Compute, Floats, Frame, Rollout, Sampler, Timeline
from lookaway.io.sampling import UniformFrames
from lookaway.perception.networks.batching import BatchExtractor, BatchPlan, batch_size
from lookaway.perception.networks.clip_pictures import of_unit_length
from lookaway.perception.networks.clip_resnet import STRIDE, ClipResnet, load_clip_resnet
from lookaway.perception.networks.fits import CLIP_COLOURS, SeenColours, to_input, unscaled
from lookaway.perception.networks.pretrained import load_tensors, load_tokenizer
from lookaway.perception.similarity.compared_frames import SharedSize, shown
from lookaway.perception.weights import Weights, published

LEARNED: Final = 16
"""Tokens of each prompt that were learned."""
COPIES: Final = 6
"""How many copies of its largest map the network holds at once, roughly, in single precision."""


@dataclass(frozen=True, slots=True)
class _Network:
    clip: ClipResnet
    prompts: Any
    """[2, channels] of unit length."""

    def __call__(self, batch: Any) -> Floats:
        with self.clip.torch.inference_mode():
            cosines = of_unit_length(self.clip.pictures(batch)) @ self.prompts.T
            quality: Floats = (self.clip.scale * cosines).softmax(dim=1)[:, 0].cpu().numpy()
            return quality


@dataclass(frozen=True, slots=True)
class ClipIqa(BatchExtractor[_Network]):
    """Image quality by CLIP-IQA+, 0 to 1: the probability of a good photo against a bad one, by two learned prompts.

    The size of a frame matters to it: by default frames are judged at the size they have.
    """

    name: ClassVar[str] = "clip_iqa"
    of_video: ClassVar[bool] = True
    software: ClassVar[tuple[str, ...]] = (
        "torch",
        "transformers",
        "tokenizers",
        "safetensors",
        "opencv-python-headless",
    )
    seconds_per_frame: ClassVar[float] = 0.5
    bytes_per_frame: ClassVar[float] = 12.0
    arrays: ClassVar[Mapping[str, str]] = {
        "quality": "float32 [frames]: the probability of a good photo against a bad one",
        "frame_indices": "int64 [frames]: the frame of each row",
    }

    weights: Annotated[Weights, "CLIP"] = field(default_factory=partial(published, "clip-rn50"))
    prompts: Annotated[Weights, "the learned tokens of both prompts"] = field(
        default_factory=partial(published, "clip-iqa-plus-prompts")
    )
    tokenizer: Annotated[Weights, "what cuts the rest of the prompts into tokens"] = field(
        default_factory=partial(published, "clip-tokenizer")
    )
    frames: Annotated[Sampler, "which frames are sampled"] = UniformFrames(24)
    colours: SeenColours = CLIP_COLOURS
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()
    words: Annotated[
        tuple[str, str], "the rest of both prompts, with the second full stop that they had when tokens were learned"
    ] = ("Good photo..", "Bad photo..")
    named: Annotated[int, "tokens of these that stand in the middle of the learned ones"] = 3
    head_width: Annotated[int, "channels of a head of attention"] = 64
    canvas: Annotated[SharedSize | None, "size that frames are brought to before; `None` leaves them as they are"] = (
        None
    )

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Any video will do, once all weights are there."""
        return self.weights.declines() or self.prompts.declines() or self.tokenizer.declines()

    def network(self) -> _Network:
        """CLIP, and what it sees in both prompts."""
        clip = load_clip_resnet(self.weights, self.head_width, self.compute)
        shapes = {"ctx": (len(self.words), LEARNED, clip.sizes.text_width)}
        learned = load_tensors(clip.torch, self.prompts, shapes, self.compute)["ctx"]
        tokenizer = load_tokenizer("CLIPTokenizer", self.tokenizer)
        with clip.torch.inference_mode():
            vectors = [
                clip.text(self._prompt(clip, own, tokenizer("X " * LEARNED + text).input_ids))
                for own, text in zip(learned, self.words, strict=True)
            ]
            return _Network(clip, of_unit_length(clip.torch.cat(vectors)))

    def batches(self, network: _Network, rollout: Rollout, timeline: Timeline) -> BatchPlan:
        """How the frames of a rollout go through the network."""
        width, height = self.canvas.size_of(timeline) if self.canvas else (timeline.width, timeline.height)
        places = width * height / STRIDE**2
        at_once = batch_size(places * network.clip.sizes.features * 8 * 4 * COPIES, self.compute)
        if self.canvas is not None:
            at_once = min(at_once, self.canvas.frames_at_once(timeline))

        def extract(frames: Sequence[Frame]) -> dict[str, Floats]:
            pictures = shown([frame.pixels for frame in frames], self.canvas)
            batch = to_input(network.clip.torch, pictures, unscaled(pictures[0]), self.colours, self.compute)
            return {"quality": network(batch)}

        return BatchPlan(at_once, extract, {"video_frames": timeline.frame_count})

    def _prompt(self, clip: ClipResnet, learned: Any, tokens: Sequence[int]) -> Any:
        """[tokens, width]: the first token, half of the learned ones, the named ones, the other half, the rest."""
        embedded = clip.embed_tokens(tokens)
        named, rest = embedded[1 + LEARNED :][: self.named], embedded[1 + LEARNED + self.named :]
        half = LEARNED // 2
        return clip.torch.cat([embedded[:1], learned[:half], named, learned[half:], rest])
