"""How well each frame fits the prompt, to people."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Annotated, Any, ClassVar, Final

from lookaway.core import Abstention, Compute, Floats, Frame, Reason, Rollout, Sampler, Timeline
from lookaway.io.sampling import SpreadFrames
from lookaway.perception.networks.batching import BatchExtractor, BatchPlan, batch_size
from lookaway.perception.networks.fits import CLIP_COLOURS, CentreCrop, Fit, SeenColours, to_input
from lookaway.perception.networks.pretrained import dtype_of, load_tensors, load_tokenizer, load_torch
from lookaway.perception.networks.vit_tokens import COPIES
from lookaway.perception.similarity.compared_frames import GeneratedSize
from lookaway.perception.weights import Weights, published

VISION: Final[dict[str, Any]] = {
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "image_size": 224,
    "patch_size": 16,
    "layer_norm_eps": 1e-6,
}
TEXT: Final[dict[str, Any]] = {
    "vocab_size": 30524,
    "hidden_size": 768,
    "encoder_hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "max_position_embeddings": 512,
    "layer_norm_eps": 1e-12,
}
HEAD: Final = {0: 1024, 2: 128, 4: 64, 6: 16, 7: 1}
"""Place and width of each layer of the head; dropout is between them, and nothing that bends."""
RENAMED: Final = {
    "embeddings.class_embedding": "cls_token",
    "embeddings.position_embedding": "pos_embed",
    "embeddings.patch_embedding": "patch_embed.proj",
    "encoder.layers.": "blocks.",
    "self_attn.projection": "attn.proj",
    "self_attn": "attn",
    "layer_norm": "norm",
    "post_layernorm": "norm",
}
"""What of the network for pictures has another name in the published file than in transformers."""


@dataclass(frozen=True, slots=True)
class ImageRewards(BatchExtractor["_Network"]):
    """The reward of ImageReward for each frame and the prompt: 0 for an average picture of the training data, one more
    for each standard deviation.

    The network reads the beginning of a long prompt; `detail.tokens` says how long it is.
    """

    name: ClassVar[str] = "image_reward"
    software: ClassVar[tuple[str, ...]] = ("torch", "transformers", "tokenizers", "opencv-python-headless")
    seconds_per_frame: ClassVar[float] = 1.5
    bytes_per_frame: ClassVar[float] = 12.0
    arrays: ClassVar[Mapping[str, str]] = {
        "rewards": "float32 [frames]: in standard deviations of the training data",
        "frame_indices": "int64 [frames]: the frame of each row",
    }

    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "image-reward"))
    tokenizer: Annotated[Weights, "its tokenizer"] = field(default_factory=partial(published, "bert-base-uncased"))
    frames: Annotated[Sampler, "which frames are sampled"] = SpreadFrames(5)
    fit: Annotated[Fit, "how a frame is brought to the network's input"] = CentreCrop(224, 224)
    reduced: Annotated[GeneratedSize | None, "size of frames before; `None` leaves them as they are"] = None
    colours: SeenColours = CLIP_COLOURS
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()
    max_tokens: Annotated[int, "tokens of a prompt that are read"] = 35
    mean: Annotated[float, "mean of the rewards of the training data"] = 0.16717362830052426
    spread: Annotated[float, "standard deviation of them"] = 1.0333394966054072

    def declines(self, rollout: Rollout) -> Abstention | None:
        """A case without a prompt has nothing to fit."""
        if not prompt_of(rollout):
            message = f"the case {rollout.case.id} has no prompt, and frames are judged beside it."
            return Abstention(Reason.MISSING_INPUT, message)
        return self.weights.declines() or self.tokenizer.declines()

    def network(self) -> _Network:
        """BLIP and its head."""
        torch = load_torch(self.compute)
        return _Network(
            torch, load_modules(torch, self.weights, self.compute), load_tokenizer("BertTokenizer", self.tokenizer)
        )

    def batches(self, network: _Network, rollout: Rollout, timeline: Timeline) -> BatchPlan:
        """How the frames of a rollout go through the network; its prompt is cut into tokens first."""
        prompt = prompt_of(rollout)
        length = len(network.tokenizer(prompt, truncation=False, verbose=False).input_ids)
        read = network.tokenizer(prompt, truncation=True, max_length=self.max_tokens, return_tensors="pt").input_ids
        tokens = read.to(self.compute.device)

        def extract(frames: Sequence[Frame]) -> dict[str, Floats]:
            pictures = [self.reduced.reduce(frame.pixels) if self.reduced else frame.pixels for frame in frames]
            height, width = pictures[0].shape[:2]
            fitted = self.fit.fitted(width, height, VISION["patch_size"])
            batch = to_input(network.torch, pictures, fitted, self.colours, self.compute)
            return {"rewards": (network.rewards(batch, tokens) - self.mean) / self.spread}

        patches = (VISION["image_size"] / VISION["patch_size"]) ** 2 + 1
        at_once = batch_size(patches * VISION["hidden_size"] * 4 * COPIES, self.compute)
        detail = {"tokens": length, "tokens_read_at_most": self.max_tokens, "video_frames": timeline.frame_count}
        return BatchPlan(at_once, extract, detail)


def prompt_of(rollout: Rollout) -> str:
    """All segments of a prompt as one text."""
    return " ".join(rollout.case.prompt).strip()


@dataclass(frozen=True, slots=True)
class _Network:
    torch: ModuleType
    modules: Any
    tokenizer: Any

    def rewards(self, batch: Any, tokens: Any) -> Floats:
        with self.torch.inference_mode():
            seen = self.modules["visual_encoder"](pixel_values=batch).last_hidden_state
            text = tokens.expand(len(batch), -1)
            read = self.modules["text_encoder"](input_ids=text, encoder_hidden_states=seen).last_hidden_state
            found: Floats = self.modules["mlp"](read[:, 0]).float()[:, 0].cpu().numpy()
        return found


def load_modules(torch: ModuleType, weights: Weights, compute: Compute) -> Any:
    """The network with the parameters of the published file, which has some that are not used."""
    import transformers

    kinds: Any = transformers
    widths = [TEXT["hidden_size"], *HEAD.values()]
    head = {
        str(place): torch.nn.Linear(before, after)
        for place, before, after in zip(HEAD, widths, widths[1:], strict=False)
    }
    modules = torch.nn.ModuleDict(
        {
            "visual_encoder": kinds.BlipVisionModel(kinds.BlipVisionConfig(**VISION)),
            "text_encoder": kinds.BlipTextModel(kinds.BlipTextConfig(**TEXT), add_pooling_layer=False),
            "mlp": torch.nn.Sequential(OrderedDict(head)),
        }
    )
    names = {name: published_name(name) for name in modules.state_dict()}
    shapes = {names[name]: tuple(tensor.shape) for name, tensor in modules.state_dict().items()}
    tensors = load_tensors(torch, weights, shapes, compute, is_part=True)
    modules.load_state_dict({name: tensors[known] for name, known in names.items()})
    return modules.to(compute.device, dtype_of(torch, compute)).eval()


def published_name(name: str) -> str:
    """The name of a parameter in the published file.

    >>> published_name("visual_encoder.encoder.layers.3.self_attn.projection.bias")
    'blip.visual_encoder.blocks.3.attn.proj.bias'
    >>> published_name("visual_encoder.post_layernorm.weight"), published_name("mlp.0.weight")
    ('blip.visual_encoder.norm.weight', 'mlp.layers.0.weight')
    """
    part, _, rest = name.partition(".")
    if part == "mlp":
        return f"mlp.layers.{rest}"
    if part == "visual_encoder":
        for ours, theirs in RENAMED.items():
            rest = rest.replace(ours, theirs)
    return f"blip.{part}.{rest}"
