"""How like its prompt, or like the frame it is compared with, a frame looks to CLIP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar

from numpy.typing import NDArray

from lookaway.core import Abstention, ComparedFrames, Compute, Floats, Frame, Json, Reason, Rollout, Sampler, Timeline
from lookaway.io.sampling import BySegment
from lookaway.perception.networks.batching import BatchExtractor, BatchPlan
from lookaway.perception.networks.clip_pictures import ClipPictures, of_unit_length
from lookaway.perception.networks.fits import CLIP_COLOURS, CentreCrop, Fit, Fitted, SeenColours
from lookaway.perception.networks.pretrained import load_pretrained, load_tokenizer, load_torch
from lookaway.perception.similarity.compared_frames import (
    GeneratedSize,
    PairExtractor,
    Picture,
    ReferenceFrames,
    pairs_at_once,
    partner_indices,
    partner_of,
)
from lookaway.perception.weights import Weights, published


@dataclass(frozen=True, slots=True)
class _Network:
    pictures: ClipPictures
    model: Any
    tokenizer: Any

    def embed_text(self, prompt: Sequence[str], device: str) -> tuple[Any, dict[str, Json]]:
        """Vectors of unit length [segments, channels], and which segments are longer than CLIP reads."""
        most = self.model.config.text_config.max_position_embeddings
        lengths = [len(tokens) for tokens in self.tokenizer(list(prompt), truncation=False, verbose=False).input_ids]
        tokens = self.tokenizer(list(prompt), truncation=True, max_length=most, padding=True, return_tensors="pt")
        found = self.model.get_text_features(**tokens.to(device)).pooler_output
        cut: list[Json] = [segment for segment, length in enumerate(lengths) if length > most]
        return of_unit_length(found), {"tokens": [*lengths], "tokens_read_at_most": most, "segments_cut": cut}


@dataclass(frozen=True, slots=True)
class ClipSimilarity(BatchExtractor[_Network]):
    """Cosines between frames and prompt segments, every frame with every segment.

    CLIP reads the beginning of a long segment only; the feature's detail says of which.
    """

    name: ClassVar[str] = "clip_similarity"
    software: ClassVar[tuple[str, ...]] = ("torch", "transformers", "tokenizers")
    seconds_per_frame: ClassVar[float] = 0.1
    bytes_per_frame: ClassVar[float] = 1100.0
    arrays: ClassVar[Mapping[str, str]] = {
        "cosines": "float32 [frames, segments]: of the angle between a frame and a segment of the prompt",
        "embeddings": "float16 [frames, channels]: the frame as a vector of unit length",
        "frame_indices": "int64 [frames]: the frame of each row",
    }

    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "clip-vit-b-32-laion2b"))
    frames: Annotated[Sampler, "which frames are sampled"] = BySegment(8)
    fit: Annotated[Fit, "how a frame is brought to the network's input"] = CentreCrop(224, 224)
    colours: SeenColours = CLIP_COLOURS
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()

    def declines(self, rollout: Rollout) -> Abstention | None:
        """A case without a prompt has nothing to be like."""
        if not rollout.case.prompt:
            found = f"the case {rollout.case.id} has no prompt"
            return Abstention(Reason.MISSING_INPUT, f"{found}, and frames are compared with its segments.")
        return self.weights.declines()

    def network(self) -> _Network:
        """Both halves of CLIP, and its tokenizer."""
        model = load_pretrained("CLIPModel", self.weights, self.compute)

        def embed(batch: Any) -> Any:
            return model.get_image_features(pixel_values=batch, interpolate_pos_encoding=True).pooler_output

        pictures = ClipPictures(load_torch(self.compute), embed, model.config.vision_config, self.colours, self.compute)
        return _Network(pictures, model, load_tokenizer("CLIPTokenizer", self.weights))

    def batches(self, network: _Network, rollout: Rollout, timeline: Timeline) -> BatchPlan:
        """How the frames of a rollout go through the network; its prompt goes first."""
        pictures = network.pictures
        fitted = self.fit.fitted(timeline.width, timeline.height, pictures.config.patch_size)
        with pictures.torch.inference_mode():
            segments, detail = network.embed_text(rollout.case.prompt, self.compute.device)

        def extract(frames: Sequence[Frame]) -> dict[str, Floats]:
            with pictures.torch.inference_mode():
                vectors = pictures([frame.pixels for frame in frames], fitted)
                cosines = vectors @ segments.T
                return {"cosines": cosines.cpu().numpy(), "embeddings": vectors.half().cpu().numpy()}

        return BatchPlan(pictures.frames_at_once(fitted), extract, {**detail, "frame_count": timeline.frame_count})


@dataclass(frozen=True, slots=True)
class ClipPairSimilarity(PairExtractor[ClipPictures]):
    """Cosine between every compared frame and its partner: 1 where they are equal.

    Each is brought to the network's input by itself, whatever the sizes of both.
    """

    name: ClassVar[str] = "clip_pair_similarity"
    software: ClassVar[tuple[str, ...]] = ("torch", "transformers", "opencv-python-headless")
    seconds_per_frame: ClassVar[float] = 0.2
    bytes_per_frame: ClassVar[float] = 20.0
    arrays: ClassVar[Mapping[str, str]] = {
        "cosines": "float32 [pairs]: of the angle between a frame and its partner",
        "frame_indices": "int64 [pairs]: the frame of the generated video",
        "partner_indices": "int64 [pairs]: the frame that it is compared with",
    }

    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "clip-vit-b-32"))
    compared: Annotated[ComparedFrames, "which frames are compared"] = ReferenceFrames()
    fit: Annotated[Fit, "how a frame is brought to the network's input"] = CentreCrop(224, 224)
    reduced: Annotated[GeneratedSize | None, "size of generated frames before; `None` leaves them as they are"] = None
    colours: SeenColours = CLIP_COLOURS
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()

    def network(self) -> ClipPictures:
        """The half of CLIP that sees."""
        return ClipPictures.load(self.weights, self.colours, self.compute)

    def batches(self, network: ClipPictures, rollout: Rollout, timeline: Timeline) -> BatchPlan:
        """How the pairs of a rollout go through the network."""

        def fitted(height: int, width: int) -> Fitted:
            return self.fit.fitted(width, height, network.config.patch_size)

        def embedded(pictures: Sequence[Picture]) -> Any:
            return network(pictures, fitted(*pictures[0].shape[:2]))

        def extract(frames: Sequence[Frame]) -> dict[str, NDArray[Any]]:
            firsts = [self.reduced.reduce(frame.pixels) if self.reduced else frame.pixels for frame in frames]
            with network.torch.inference_mode():
                both = embedded(firsts) * embedded([partner_of(frame).pixels for frame in frames])
                return {"cosines": both.sum(dim=1).cpu().numpy(), "partner_indices": partner_indices(frames)}

        at_once = min(network.frames_at_once(fitted(timeline.height, timeline.width)), pairs_at_once(timeline))
        return BatchPlan(at_once, extract, {"video_frames": timeline.frame_count})
