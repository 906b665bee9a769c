"""How beautiful people would find each frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import ModuleType
from typing import Annotated, Any, ClassVar, TypeAlias

from lookaway.core import Abstention, Compute, Floats, Frame, Rollout, Sampler, Timeline
from lookaway.io.sampling import UniformFrames
from lookaway.perception.networks.batching import BatchExtractor, BatchPlan
from lookaway.perception.networks.clip_pictures import ClipPictures
from lookaway.perception.networks.fits import CLIP_COLOURS, CentreCrop, Fit, SeenColours
from lookaway.perception.networks.pretrained import load_tensors
from lookaway.perception.similarity.compared_frames import SharedSize, shown
from lookaway.perception.weights import Weights, published

_Head: TypeAlias = tuple[tuple[Any, Any], ...]
"""Weight and bias of each layer."""
_Network: TypeAlias = tuple[ClipPictures, _Head]


@dataclass(frozen=True, slots=True)
class LaionAesthetics(BatchExtractor[_Network]):
    """The aesthetic score of LAION for each frame, about 0 to 10: a linear head on what CLIP sees.

    By default frames are scaled as the benchmarks do that use it: without a filter against aliasing.
    """

    name: ClassVar[str] = "aesthetic_quality"
    of_video: ClassVar[bool] = True
    software: ClassVar[tuple[str, ...]] = ("torch", "transformers", "opencv-python-headless")
    seconds_per_frame: ClassVar[float] = 1.2
    bytes_per_frame: ClassVar[float] = 12.0
    arrays: ClassVar[Mapping[str, str]] = {
        "aesthetic": "float32 [frames]: on the head's own scale, on which people gave 0 to 10",
        "frame_indices": "int64 [frames]: the frame of each row",
    }

    layers: ClassVar[Mapping[str, int]] = {"": 1}
    """Outputs of each layer of the head, by what its tensors' names begin with."""

    weights: Annotated[Weights, "CLIP"] = field(default_factory=partial(published, "clip-vit-l-14"))
    head: Annotated[Weights, "the linear head"] = field(default_factory=partial(published, "laion-aesthetic-linear"))
    frames: Annotated[Sampler, "which frames are sampled"] = UniformFrames(24)
    fit: Annotated[Fit, "how a frame is brought to the network's input"] = CentreCrop(224, 224, antialias=False)
    colours: SeenColours = CLIP_COLOURS
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()
    canvas: Annotated[SharedSize | None, "size that frames are brought to before; `None` leaves them as they are"] = (
        None
    )

    halves_on_gpu: Annotated[
        bool, "runs CLIP in half precision on a GPU, whatever the precision, as OpenAI's own loader does"
    ] = False

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Any video will do, once the weights are there."""
        return self.weights.declines() or self.head.declines()

    def network(self) -> _Network:
        """CLIP and its head."""
        is_halved = self.halves_on_gpu and self.compute.device != "cpu"
        compute = replace(self.compute, precision="float16") if is_halved else self.compute
        pictures = ClipPictures.load(self.weights, self.colours, compute)
        return pictures, self._load_head(pictures.torch, pictures.config.projection_dim)

    def batches(self, network: _Network, rollout: Rollout, timeline: Timeline) -> BatchPlan:
        """How the frames of a rollout go through the network."""
        pictures, head = network
        width, height = self.canvas.size_of(timeline) if self.canvas else (timeline.width, timeline.height)
        fitted = self.fit.fitted(width, height, pictures.config.patch_size)
        at_once = pictures.frames_at_once(fitted)
        if self.canvas is not None:
            at_once = min(at_once, self.canvas.frames_at_once(timeline))

        def extract(frames: Sequence[Frame]) -> dict[str, Floats]:
            with pictures.torch.inference_mode():
                vectors = pictures(shown([frame.pixels for frame in frames], self.canvas), fitted)
                for weight, bias in head:
                    vectors = vectors @ weight.T + bias
                return {"aesthetic": vectors[:, 0].cpu().numpy()}

        return BatchPlan(at_once, extract, {"video_frames": timeline.frame_count})

    def _load_head(self, torch: ModuleType, channels: int) -> _Head:
        shapes: dict[str, tuple[int, ...]] = {}
        for name, outputs in self.layers.items():
            shapes |= {f"{name}weight": (outputs, channels), f"{name}bias": (outputs,)}
            channels = outputs
        tensors = load_tensors(torch, self.head, shapes, self.compute)
        return tuple((tensors[f"{name}weight"].float(), tensors[f"{name}bias"].float()) for name in self.layers)


@dataclass(frozen=True, slots=True)
class MlpAesthetics(LaionAesthetics):
    """The aesthetic score of each frame, about 0 to 10, by a head of five layers on what CLIP sees.

    There is nothing between the layers, so that they do what one linear layer could; they were trained on other
    ratings than LAION's own head.
    """

    name: ClassVar[str] = "mlp_aesthetic_quality"
    layers: ClassVar[Mapping[str, int]] = {
        "layers.0.": 1024,
        "layers.2.": 128,
        "layers.4.": 64,
        "layers.6.": 16,
        "layers.7.": 1,
    }

    head: Annotated[Weights, "the five layers"] = field(default_factory=partial(published, "laion-aesthetic-mlp"))
