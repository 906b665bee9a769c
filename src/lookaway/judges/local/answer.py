"""Has a loaded model answer, and words the answer as a chat completion."""

from __future__ import annotations

from typing import Any

from lookaway.core import Json, JudgeRequest, JudgeUnusable
from lookaway.judges.faults import LastingFault
from lookaway.judges.local.draw import Draw
from lookaway.judges.local.network import Network
from lookaway.judges.local.prompt import prompt_tokens


def answer(network: Network, request: JudgeRequest) -> dict[str, Json]:
    """A chat completion; the same for the same question, so it bears no time."""
    asked = network_inputs(network, request)
    tokens, logits = _written(network, request, asked)
    listed = None
    if request.token_choices:
        places = zip(tokens, logits, strict=True)
        listed = {"content": [_place(network, token, place, request.token_choices) for token, place in places]}
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": _text(network, tokens, is_whole=True)},
        "logprobs": listed,
        "finish_reason": "stop" if tokens[-1] in network.ends else "length",
    }
    usage = {"prompt_tokens": asked["input_ids"].shape[1], "completion_tokens": len(tokens)}
    return {
        "id": f"local-{request.key()[:24]}",
        "object": "chat.completion",
        "created": 0,
        "model": network.id,
        "choices": [choice],
        "usage": {**usage, "total_tokens": sum(usage.values())},
    }


def network_inputs(network: Network, request: JudgeRequest) -> dict[str, Any]:
    """What the network takes: tokens, and the patches of all pictures one after the other."""
    torch, patches, device = network.torch, network.patches, network.model.device
    grids = [patches.grid(*picture.pixels.shape[:2]) for picture in request.pictures]
    ids = torch.tensor([_with_places(network, request, [patches.tokens(grid) for grid in grids])], device=device)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if not grids:
        return inputs
    cut = torch.cat([patches.cut(torch, picture.pixels) for picture in request.pictures])
    return {
        **inputs,
        "mm_token_type_ids": (ids == network.picture_token).int(),
        "pixel_values": cut.to(device, network.model.dtype),
        "image_grid_thw": torch.tensor([[1, *grid] for grid in grids], device=device),
    }


def _with_places(network: Network, request: JudgeRequest, places: list[int]) -> list[int]:
    """The tokens of a question, each picture with as many places as it takes."""
    short = prompt_tokens(network.tokenizer, request)
    if short.count(network.picture_token) != len(places):
        raise JudgeUnusable(
            f"The chat template of the model has {short.count(network.picture_token)} places for {len(places)} "
            "pictures. Take an instruction-tuned vision-language model."
        )
    length, most = len(short) - len(places) + sum(places), _most_tokens(request)
    if length + most > network.context:
        raise LastingFault(
            f"the question has {length} tokens with its {len(places)} pictures, and its answer up to {most}; the model "
            f"takes {network.context} together. Show fewer or smaller frames, or allow a shorter answer."
        )
    left = iter(places)
    return [token for one in short for token in [one] * (next(left) if one == network.picture_token else 1)]


def _written(network: Network, request: JudgeRequest, asked: dict[str, Any]) -> tuple[list[int], tuple[Any, ...]]:
    """The tokens of the answer, and where choices are wanted the logits [vocabulary] of each, before any drawing."""
    sampling = request.judge.sampling
    with network.torch.inference_mode():
        written = network.model.generate(
            **asked,
            do_sample=False,
            logits_processor=[Draw(network.torch, sampling, request.seed)] if sampling.temperature > 0 else None,
            max_new_tokens=_most_tokens(request),
            output_logits=request.token_choices > 0,
            return_dict_in_generate=True,
        )
    tokens = written.sequences[0, asked["input_ids"].shape[1] :].tolist()
    return tokens, tuple(place[0] for place in written.logits or ())


def _place(network: Network, token: int, logits: Any, count: int) -> dict[str, Json]:
    """A token of the answer, and the likeliest ones in its place."""
    log_probabilities = logits.float().log_softmax(-1)
    values, tokens = log_probabilities.topk(min(count, len(log_probabilities)))
    choices = [_token(network, *choice) for choice in zip(tokens.tolist(), values.tolist(), strict=True)]
    return {**_token(network, token, log_probabilities[token].item()), "top_logprobs": choices}


def _token(network: Network, token: int, log_probability: float) -> dict[str, Json]:
    text = _text(network, [token], is_whole=False)
    return {"token": text, "logprob": log_probability, "bytes": list(text.encode())}


def _text(network: Network, tokens: list[int], *, is_whole: bool) -> str:
    # Spaces stay as they are: " yes" and "yes" are two tokens. Marks of the end are no part of an answer.
    return str(network.tokenizer.decode(tokens, skip_special_tokens=is_whole, clean_up_tokenization_spaces=False))


def _most_tokens(request: JudgeRequest) -> int:
    return request.most_tokens or request.judge.sampling.most_tokens
