"""A tiny vision-language network with random weights, in the files that a real one is published in.

It is a Qwen2.5-VL that transformers and vLLM load alike. Its tokenizer spells everything in bytes, except the words
that say yes or no: each is one token, and the network leans to them, so that they are among its likeliest answers.
It leans to the marks that end a text, a number and an object as well, so that its JSON comes to an end.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.picture_networks import random_tensors

# Those with a space come first: the earlier of two merges wins, and " yes" shall not become " " and "yes".
YES_NO = (" yes", " no", " Yes", " No", "yes", "no", "Yes", "No", "YES", "NO")
ENDING = ('"', ",", "}")
SPECIAL = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
# How byte-level tokenizers write a space.
SPACE = "\u0120"
WIDTH, PATCH, LONGEST = 128, 14, 16384
# How far the favourites are ahead of all others.
LEAN = 6.0
# The least and the most pixels of a picture as the network sees it: 4 to 64 tokens.
PIXELS = {"shortest_edge": 4 * (2 * PATCH) ** 2, "longest_edge": 64 * (2 * PATCH) ** 2}
CHAT_TEMPLATE = """\
{%- for message in messages -%}
<|im_start|>{{ message.role }}
{% if message.content is string -%}
{{ message.content }}
{%- else -%}
{%- for part in message.content -%}
{%- if part.type in ('image', 'image_url') -%}<|vision_start|><|image_pad|><|vision_end|>
{%- elif part.type in ('video', 'video_url') -%}<|vision_start|><|video_pad|><|vision_end|>
{%- else -%}{{ part.text }}
{%- endif -%}
{%- endfor -%}
{%- endif -%}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}<|im_start|>assistant
{% endif -%}
"""


def make_tiny_vlm(folder: Path) -> Path:
    """Save the network, its tokenizer and the settings of its pictures; the same in every run."""
    from transformers import GenerationConfig

    tokenizer = _tokenizer()
    model = _network(tokenizer)
    # As published networks of this family do: settings that a judge has to override to be repeatable.
    model.generation_config = GenerationConfig(
        do_sample=True,
        temperature=0.7,
        top_k=20,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=[tokenizer.eos_token_id, tokenizer.pad_token_id],
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    pictures = {"patch_size": PATCH, "temporal_patch_size": 2, "merge_size": 2, "size": PIXELS}
    named = {"processor_class": "Qwen2_5_VLProcessor", **pictures}
    _write(folder / "preprocessor_config.json", {"image_processor_type": "Qwen2VLImageProcessor", **named})
    _write(folder / "video_preprocessor_config.json", {"video_processor_type": "Qwen2VLVideoProcessor", **named})
    return folder


def _write(path: Path, settings: dict[str, Any]) -> None:
    path.write_text(json.dumps(settings, indent=2) + "\n")


def _tokenizer() -> Any:
    from tokenizers.pre_tokenizers import ByteLevel
    from transformers import Qwen2Tokenizer

    words = [word.replace(" ", SPACE) for word in YES_NO]
    beginnings = [word[:length] for word in words for length in range(2, len(word) + 1)]
    vocabulary = {
        piece: place for place, piece in enumerate(dict.fromkeys([*sorted(ByteLevel.alphabet()), *beginnings]))
    }
    merges = dict.fromkeys((beginning[:-1], beginning[-1]) for beginning in beginnings)
    return Qwen2Tokenizer(
        vocab=vocabulary,
        merges=list(merges),
        eos_token="<|im_end|>",
        additional_special_tokens=list(SPECIAL),
        chat_template=CHAT_TEMPLATE,
        model_max_length=LONGEST,
    )


def _network(tokenizer: Any) -> Any:
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

    number = tokenizer.convert_tokens_to_ids
    config = Qwen2_5_VLConfig(
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": WIDTH,
            "intermediate_size": 2 * WIDTH,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": LONGEST,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [4, 6, 6]},
            "bos_token_id": None,
            "eos_token_id": tokenizer.eos_token_id,
        },
        vision_config={
            "depth": 2,
            "hidden_size": WIDTH // 2,
            "intermediate_size": WIDTH,
            "num_heads": 2,
            "out_hidden_size": WIDTH,
            "patch_size": PATCH,
            "fullatt_block_indexes": [1],
        },
        image_token_id=number("<|image_pad|>"),
        video_token_id=number("<|video_pad|>"),
        vision_start_token_id=number("<|vision_start|>"),
        vision_end_token_id=number("<|vision_end|>"),
        dtype="float32",
    )
    model = Qwen2_5_VLForConditionalGeneration(config).float().eval()
    model.load_state_dict(random_tensors({name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}))
    _lean(model, [number(word.replace(" ", SPACE)) for word in (*YES_NO, *ENDING)])
    return model


def _lean(model: Any, favourites: list[int]) -> None:
    """Give some words a bias."""
    import torch

    # All tokens say the same in the first channel, no layer changes it, and the head reads it.
    with torch.no_grad():
        model.get_input_embeddings().weight[:, 0] = 2.0
        for layer in model.get_decoder().layers:
            layer.self_attn.o_proj.weight[0] = 0.0
            layer.mlp.down_proj.weight[0] = 0.0
        head = model.get_output_embeddings().weight
        head[:, 0] = 0.0
        head[favourites, 0] = LEAN
