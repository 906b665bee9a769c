"""Frames per second of every extractor, and which part of its time its network takes.

Networks have their published sizes and random weights: that costs what the real ones cost. Each extractor runs in two
processes at once, one for each of two cores, as workers do. The clock of the network runs while it is called and at no
other time, so that the part is free of the machine's moods. The part is the ratio to the bare network: of the
extractor's own time, and of all time with decoding, which extractors share where several run.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import functools
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers

from lookaway.core import Case, Extractor, FrameRequest, Rollout, Target
from lookaway.engine.feature_job import Extractors, FeatureJob
from lookaway.io.sampling import EveryFrame, UniformFrames, spread
from lookaway.io.video import Video
from lookaway.perception.depth.depth_anything import DepthAnything
from lookaway.perception.faces.sface_faces import SfaceFaces
from lookaway.perception.masks.grounding_dino_boxes import GroundingDinoBoxes
from lookaway.perception.masks.sam2_track import Sam2Track
from lookaway.perception.motion.dis_flow import DisFlow
from lookaway.perception.motion.realised_motion import RealisedMotion
from lookaway.perception.motion.transnet_cuts import TransnetCuts
from lookaway.perception.networks.lpips_network import LpipsNetwork
from lookaway.perception.networks.musiq_network import MusiqNetwork
from lookaway.perception.quality.aesthetic_quality import LaionAesthetics
from lookaway.perception.quality.lab_means import LabMeans
from lookaway.perception.quality.musiq_quality import MusiqQuality
from lookaway.perception.similarity import efficientnet_embeddings
from lookaway.perception.similarity.clip_similarity import ClipSimilarity
from lookaway.perception.similarity.dinov2_embeddings import Dinov2Embeddings
from lookaway.perception.similarity.dinov3_embeddings import Dinov3Embeddings
from lookaway.perception.similarity.efficientnet_embeddings import EfficientnetEmbeddings
from lookaway.perception.similarity.lpips_steps import LpipsSteps
from lookaway.perception.similarity.vgg_style import VggStyle
from lookaway.perception.weights import Weights
from lookaway.perception.weights.places import hub_home
from tests.support.clips import numbered_frames, write_clip
from tests.support.hub import put_into_hub
from tests.support.mask_networks import save_tokenizer
from tests.support.networks import seeded
from tests.support.picture_networks import (
    clip_vocabulary,
    random_lpips,
    random_musiq,
    random_tensors,
    random_vgg19,
    save_tensors,
)

FRAMES, FPS, WIDTH, HEIGHT = 96, 16, 832, 480
ROUNDS = 2
VIT_BASE: dict[str, Any] = {
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
}


def dinov2(frames: int) -> Extractor:
    """ViT-B/14."""
    model = seeded(lambda: transformers.Dinov2Model(transformers.Dinov2Config(image_size=518)))
    weights = put_into_hub("dinov2-base", model.save_pretrained)
    return Dinov2Embeddings(weights=weights, frames=UniformFrames(frames))


def dinov3(frames: int) -> Extractor:
    """ViT-B/16 with four registers."""
    config = transformers.DINOv3ViTConfig(**VIT_BASE, num_register_tokens=4)
    weights = put_into_hub("dinov3-vitb16", seeded(lambda: transformers.DINOv3ViTModel(config)).save_pretrained)
    return Dinov3Embeddings(weights=weights, frames=UniformFrames(frames))


def clip_base(frames: int) -> Extractor:
    """ViT-B/32."""
    vocabulary = clip_vocabulary()
    text: dict[str, Any] = {
        "vocab_size": len(vocabulary),
        "bos_token_id": len(vocabulary) - 2,
        "eos_token_id": len(vocabulary) - 1,
    }
    model = seeded(lambda: transformers.CLIPModel(transformers.CLIPConfig(text_config=text)))

    def save(folder: Path) -> None:
        model.save_pretrained(folder)
        transformers.CLIPTokenizer(vocab=vocabulary, merges=[]).save_pretrained(folder)
        for name in ("vocab.json", "merges.txt", "special_tokens_map.json"):
            if not (folder / name).exists():
                (folder / name).write_text(json.dumps(vocabulary) if name == "vocab.json" else "{}")

    return ClipSimilarity(weights=put_into_hub("clip-vit-b-32-laion2b", save), frames=UniformFrames(frames))


def aesthetic(frames: int) -> Extractor:
    """CLIP ViT-L/14 and a linear head."""
    large: dict[str, Any] = {
        "hidden_size": 1024,
        "intermediate_size": 4096,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
    }
    config = transformers.CLIPVisionConfig(**large, patch_size=14, projection_dim=768)
    model = seeded(lambda: transformers.CLIPVisionModelWithProjection(config))
    clip = put_into_hub("clip-vit-l-14", model.save_pretrained)
    head = save_tensors("laion-aesthetic-linear", random_tensors({"weight": (1, 768), "bias": (1,)}))
    return LaionAesthetics(clip, head, frames=UniformFrames(frames))


def depth(frames: int) -> Extractor:
    """ViT-S/14 at 518 pixels."""
    small: dict[str, Any] = {
        "hidden_size": 384,
        "intermediate_size": 1536,
        "num_hidden_layers": 12,
        "num_attention_heads": 6,
    }
    backbone = transformers.Dinov2Config(  # type: ignore[call-arg]
        **small, image_size=518, out_indices=[3, 6, 9, 12], reshape_hidden_states=False, apply_layernorm=True
    )
    config = transformers.DepthAnythingConfig(
        backbone_config=backbone,
        reassemble_hidden_size=384,
        neck_hidden_sizes=[48, 96, 192, 384],
        fusion_hidden_size=64,
    )
    model = seeded(lambda: transformers.DepthAnythingForDepthEstimation(config))  # type: ignore[no-untyped-call]
    weights = put_into_hub("depth-anything-v2-small", model.save_pretrained)
    return DepthAnything(weights=weights, frames=UniformFrames(frames))


def sam2(frames: int) -> Extractor:
    """Hiera base-plus at 1024 pixels."""
    backbone: dict[str, Any] = {
        "hidden_size": 112,
        "num_attention_heads": 2,
        "blocks_per_stage": [2, 3, 16, 3],
        "embed_dim_per_stage": [112, 224, 448, 896],
        "num_attention_heads_per_stage": [2, 4, 8, 16],
        "global_attention_blocks": [12, 16, 20],
        "window_positional_embedding_background_size": [14, 14],
    }
    vision = transformers.Sam2VisionConfig(
        backbone_config=transformers.Sam2HieraDetConfig(**backbone), backbone_channel_list=[896, 448, 224, 112]
    )
    model = seeded(lambda: transformers.Sam2VideoModel(transformers.Sam2VideoConfig(vision_config=vision)))
    return Sam2Track(weights=put_into_hub("sam2.1-base-plus", model.save_pretrained), frames=UniformFrames(frames))


def grounding_dino(frames: int) -> Extractor:
    """Swin-T at 800 pixels."""
    config = transformers.GroundingDinoConfig()
    model = seeded(lambda: transformers.GroundingDinoForObjectDetection(config))

    def save(folder: Path) -> None:
        model.save_pretrained(folder)
        save_tokenizer(folder)

    return GroundingDinoBoxes(weights=put_into_hub("grounding-dino-tiny", save), frames=UniformFrames(frames))


def lpips(kind: Any, frames: int) -> Extractor:
    """One trunk and its heads."""
    trunk, heads = random_lpips(kind)
    return LpipsSteps(kind, trunk, heads, frames=UniformFrames(frames))


def musiq(frames: int) -> Extractor:
    """At full size."""
    weights: Weights = random_musiq()
    return MusiqQuality(weights, frames=UniformFrames(frames))


CASES: dict[str, tuple[Callable[[int], Extractor], int]] = {
    "lab_means": (lambda frames: LabMeans(), FRAMES),
    "dis_flow": (lambda frames: DisFlow(frames=EveryFrame()), FRAMES),
    "realised_motion": (lambda frames: RealisedMotion(DisFlow(frames=EveryFrame())), FRAMES),
    "transnet_cuts": (lambda frames: TransnetCuts(), FRAMES),
    "efficientnet_lite0_embeddings": (lambda frames: EfficientnetEmbeddings(frames=UniformFrames(frames)), 32),
    "sface_faces": (lambda frames: SfaceFaces(frames=UniformFrames(frames)), 32),
    "clip_similarity": (clip_base, 32),
    "dinov2_embeddings": (dinov2, 16),
    "dinov3_embeddings": (dinov3, 16),
    "vgg_style": (lambda frames: VggStyle(random_vgg19(), frames=UniformFrames(frames)), 16),
    "lpips_steps (alex)": (functools.partial(lpips, "alex"), 16),
    "lpips_steps (vgg)": (functools.partial(lpips, "vgg"), 8),
    "musiq_quality": (musiq, 8),
    "aesthetic_quality": (aesthetic, 8),
    "depth_anything_v2": (depth, 4),
    "sam2_track": (sam2, 4),
    "grounding_dino_boxes": (grounding_dino, 2),
}


class NetworkClock:
    """Counts the seconds inside networks; a network inside a network counts once."""

    def __init__(self) -> None:
        self.seconds, self._depth = 0.0, 0
        import onnxruntime

        for kind, method in (
            (torch.nn.Module, "__call__"),
            (onnxruntime.InferenceSession, "run"),
            (torch.nn.functional, "conv2d"),
            (torch.nn.functional, "max_pool2d"),
            (LpipsNetwork, "distances"),
            (MusiqNetwork, "__call__"),
            (efficientnet_embeddings, "last_map"),
        ):
            setattr(kind, method, self._timed(getattr(kind, method)))

    def _timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        def timed(*arguments: Any, **named: Any) -> Any:
            self._depth += 1
            started = time.perf_counter()
            try:
                return call(*arguments, **named)
            finally:
                self._depth -= 1
                if self._depth == 0:
                    self.seconds += time.perf_counter() - started

        return timed


def measure(name: str, clip: Path) -> dict[str, float]:
    """Frames per second of one process, and the network's part of the time."""
    make, frames = CASES[name]
    carried = hub_home() / "lookaway"
    with tempfile.TemporaryDirectory() as home:
        os.environ["HF_HOME"] = home
        if carried.is_dir():
            shutil.copytree(carried, Path(home) / "lookaway")
        recipe = make(frames)
        case = Case(
            id="clip",
            subset="all",
            scene="clip",
            prompt=("a red ball in a room",),
            target=Target(name="ball", attributes=("red",), box=(0.5, 0.5, 0.3, 0.3)),
        )
        rollout = Rollout(case=case, model="model", video=clip)
        extractors, clock = Extractors(None), NetworkClock()
        FeatureJob(extractors, rollout, "", [recipe]).run()
        total, decoding, inside = 0.0, decoding_seconds(clip, frames), -clock.seconds
        for _ in range(ROUNDS):
            started = time.perf_counter()
            found = FeatureJob(extractors, rollout, "", [recipe]).run()[recipe]
            total += time.perf_counter() - started
            if isinstance(found, Exception):
                raise found
        inside += clock.seconds
    return {
        "frames_per_second": ROUNDS * frames / total,
        "part_of_extractor": inside / (total - ROUNDS * decoding),
        "part_of_all": inside / total,
    }


def decoding_seconds(clip: Path, frames: int) -> float:
    """Of the frames that an extractor asks for, at the height of the video."""
    times = []
    for _ in range(3):
        started = time.perf_counter()
        with Video(clip) as video:
            for _ in video.frames([FrameRequest(frozenset(spread(0, FRAMES, frames)))]):
                pass
        times.append(time.perf_counter() - started)
    return min(times)


def main() -> None:
    """Print a table."""
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    if len(sys.argv) == 3:
        print(json.dumps(measure(sys.argv[1], Path(sys.argv[2]))))
        return
    with tempfile.TemporaryDirectory() as folder:
        clip = write_clip(Path(folder) / "clip.mp4", numbered_frames(FRAMES, width=WIDTH, height=HEIGHT), fps=FPS)
        print("| Extractor | Frames a second, two cores | Ratio to the bare network | With decoding |")
        print("| --- | --- | --- | --- |")
        for name in CASES if len(sys.argv) == 1 else [sys.argv[1]]:
            command = [sys.executable, "-m", "benchmarks.perception_throughput", name, str(clip)]
            both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
            found = [json.loads(process.communicate()[0].splitlines()[-1]) for process in both]
            speed = sum(one["frames_per_second"] for one in found)
            parts = [sum(one[part] for one in found) / 2 for part in ("part_of_extractor", "part_of_all")]
            shown = [f"{part:.2f}" if part > 0 else "no network" for part in parts]
            print(f"| `{name}` | {speed:.3g} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
