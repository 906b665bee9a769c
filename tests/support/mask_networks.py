"""Tiny networks for boxes and masks, of the real classes, with random weights and saved as published ones are."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import save_file

from lookaway.perception.weights import Weights
from tests.support.beside import DATA
from tests.support.clips import numbered_frames, write_clip
from tests.support.hub import put_into_hub
from tests.support.networks import seeded
from tests.support.picture_networks import clip_vocabulary, save_clip_tokenizer

CLIPS = DATA / "wrbench" / "videos"
SAM2_SIDE = 64
SAM3_SIDE, SAM3_QUERIES = 56, 6
WORDS = ("small", "red", "green", "ball", "cube", "cat")
FIXED_TOKENS = {0: "[PAD]", 100: "[UNK]", 101: "[CLS]", 102: "[SEP]", 103: "[MASK]", 1012: ".", 1029: "?"}
"""Grounding DINO knows the ends of texts and phrases by these numbers."""


def some_clip(folder: Path) -> Path:
    """A clip that a real model generated, where such lie beside the project; else one that is written here."""
    real = CLIPS / "case_a_yaw_lr.mp4"
    return real if real.is_file() else write_clip(folder / "clip.mp4", numbered_frames(40, width=96, height=64))


def tiny_sam2(*, seen: float | None = None) -> Weights:
    """SAM 2 for videos, as its checkpoints are published; `seen` sets the logit that its thing is seen."""

    def make() -> Any:
        model = transformers.Sam2VideoModel(_sam2_config())
        with torch.no_grad():
            # As torch begins, memories are nothing and all masks alike.
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter), alpha=0.1)
            if seen is not None:
                model.mask_decoder.pred_obj_score_head.proj_out.weight.zero_()
                model.mask_decoder.pred_obj_score_head.proj_out.bias.fill_(seen)
        return model

    return put_into_hub("sam2.1-base-plus", seeded(make).save_pretrained)


def _sam2_config() -> Any:
    backbone = {
        "model_type": "sam2_hiera_det_model",
        "hidden_size": 8,
        "image_size": [SAM2_SIDE, SAM2_SIDE],
        "blocks_per_stage": [1, 1, 2, 1],
        "embed_dim_per_stage": [8, 16, 32, 64],
        "num_attention_heads_per_stage": [1, 1, 2, 2],
        "window_size_per_stage": [4, 4, 4, 2],
        "window_positional_embedding_background_size": [2, 2],
        "global_attention_blocks": [3],
    }
    vision = {
        "model_type": "sam2_vision_model",
        "backbone_config": backbone,
        "backbone_channel_list": [64, 32, 16, 8],
        "backbone_feature_sizes": [[16, 16], [8, 8], [4, 4]],
        "fpn_hidden_size": 128,
    }
    decoder = {
        "hidden_size": 128,
        "mlp_dim": 32,
        "num_attention_heads": 2,
        "iou_head_hidden_dim": 32,
        # A random network's masks are unstable, and a single one would always give way to the best of three.
        "dynamic_multimask_stability_thresh": 0.0,
    }
    return transformers.Sam2VideoConfig(
        vision_config=vision,
        prompt_encoder_config={"hidden_size": 128, "image_size": SAM2_SIDE, "mask_input_channels": 8},
        mask_decoder_config=decoder,
        image_size=SAM2_SIDE,
        memory_attention_hidden_size=128,
        memory_attention_num_layers=1,
        memory_attention_feed_forward_hidden_size=32,
        memory_attention_rope_feat_sizes=[4, 4],
        memory_encoder_hidden_size=128,
        mask_downsampler_embed_dim=128,
        memory_fuser_embed_dim=128,
        memory_fuser_intermediate_dim=32,
    )


def tiny_sam3() -> Weights:
    """SAM 3 as it is published: the detector inside a network for videos, beside a tokenizer of characters."""

    def make() -> Any:
        model = transformers.Sam3Model(_sam3_config())
        with torch.no_grad():
            # As torch begins, masks and scores hardly depend on the picture.
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter), alpha=0.1)
        return model

    def save(folder: Path) -> None:
        model = seeded(make)
        config = {"model_type": "sam3_video", "detector_config": model.config.to_dict()}
        (folder / "config.json").write_text(json.dumps(config))
        tensors = {f"detector_model.{name}": value.contiguous() for name, value in model.state_dict().items()}
        tracker = {"tracker_neck.unused": torch.zeros(1)}
        save_file({**tensors, **tracker}, folder / "model.safetensors", metadata={"format": "pt"})
        save_clip_tokenizer(folder)

    return put_into_hub("sam3", save)


def _sam3_config() -> Any:
    small = {"hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 2}
    backbone = {
        **small,
        "model_type": "sam3_vit_model",
        "num_hidden_layers": 2,
        "image_size": SAM3_SIDE,
        "patch_size": 14,
        "window_size": 2,
        "global_attn_indexes": [1],
        "pretrain_image_size": 28,
    }
    vocabulary = len(clip_vocabulary())
    text = {
        **small,
        "model_type": "clip_text_model",
        "vocab_size": vocabulary,
        "num_hidden_layers": 1,
        "projection_dim": 16,
        "max_position_embeddings": 16,
        "bos_token_id": vocabulary - 2,
        "eos_token_id": vocabulary - 1,
    }
    return transformers.Sam3Config(
        vision_config={
            "backbone_config": backbone,
            "fpn_hidden_size": 32,
            "backbone_feature_sizes": [[16, 16], [8, 8], [4, 4]],
        },
        text_config=text,
        geometry_encoder_config={**small, "num_layers": 1},
        detr_encoder_config={**small, "num_layers": 1},
        detr_decoder_config={**small, "num_layers": 2, "num_queries": SAM3_QUERIES},
        mask_decoder_config={"hidden_size": 32, "num_attention_heads": 2},
    )


def tiny_grounding_dino() -> Weights:
    """Grounding DINO with one layer of each kind, and a tokenizer of letters and a few words."""

    def make() -> Any:
        model = transformers.GroundingDinoForObjectDetection(_grounding_config())
        with torch.no_grad():
            # As torch begins, boxes do not depend on the picture, and none reaches out of it.
            last = model.bbox_embed[0].layers[-1]
            last.weight.add_(torch.randn_like(last.weight), alpha=0.5)
            last.bias[2:] = 1.0
        return model

    def save(folder: Path) -> None:
        seeded(make).save_pretrained(folder)
        save_tokenizer(folder)

    return put_into_hub("grounding-dino-tiny", save)


def save_tokenizer(folder: Path) -> None:
    """A tokenizer as BERT's are published."""
    letters = string.ascii_lowercase
    known = [*letters, *(f"##{letter}" for letter in letters), *WORDS, ",", "-", "[", "]"]
    tokens = {number: f"[unused{number}]" for number in range(1200)} | FIXED_TOKENS
    tokens |= dict(enumerate(known, start=1030))
    vocabulary = {token: number for number, token in sorted(tokens.items())}
    tokenizer = transformers.BertTokenizer(vocab=vocabulary, do_lower_case=True, model_max_length=512)
    tokenizer.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    special = {"cls_token": "[CLS]", "mask_token": "[MASK]", "pad_token": "[PAD]", "sep_token": "[SEP]"}
    (folder / "special_tokens_map.json").write_text(json.dumps({**special, "unk_token": "[UNK]"}))


def _grounding_config() -> Any:
    backbone = transformers.SwinConfig(
        image_size=64,
        embed_dim=8,
        depths=[1, 1, 1, 1],
        num_heads=[1, 1, 2, 2],
        window_size=4,
        out_indices=[2, 3, 4],
    )
    text = transformers.BertConfig(
        vocab_size=1200, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
    )
    return transformers.GroundingDinoConfig(
        backbone_config=backbone.to_dict(),
        text_config=text.to_dict(),
        d_model=32,
        num_queries=20,
        encoder_layers=1,
        decoder_layers=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
    )
