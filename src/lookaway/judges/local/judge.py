"""A judge without a server: a vision-language model in this process."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

from lookaway.core import Compute, Json, JudgeModel, JudgeRequest, JudgeUnusable, Sampling
from lookaway.judges.errors import PermanentError
from lookaway.judges.local.network import Network, load_network
from lookaway.judges.local.prompt import prompt_tokens


class Draw:
    """A logits processor that samples: it leaves only the sampled token possible, so that greedy decoding takes it.

    The random state of the process is not touched.
    """

    def __init__(self, torch: ModuleType, sampling: Sampling, seed: int | None) -> None:
        self.torch = torch
        self.sampling = sampling
        self.generator = torch.Generator()
        if seed is None:
            self.generator.seed()
        else:
            self.generator.manual_seed(seed)

    def __call__(self, tokens: Any, logits: Any) -> Any:
        """Logits [1, vocabulary] of the next token, with all but the sampled one impossible."""
        ahead = logits.cpu().double() - logits.max().item()
        likely, order = (ahead / self.sampling.temperature).softmax(-1).sort(descending=True, stable=True)
        # A token is kept if the more likely ones sum to less than top_p; the most likely one always is.
        likely[likely.cumsum(-1) - likely >= self.sampling.top_p] = 0.0
        drawn = order.gather(1, self.torch.multinomial(likely, 1, generator=self.generator))
        return self.torch.full_like(logits, -self.torch.inf).scatter(1, drawn.to(logits.device), 0.0)


def answer(network: Network, request: JudgeRequest) -> dict[str, Json]:
    """A chat completion, with no timestamp, so that the same request gives the same one."""
    inputs = network_inputs(network, request)
    tokens, logits = _generate(network, request, inputs)
    listed = None
    if request.token_choices:
        pairs = zip(tokens, logits, strict=True)
        listed = {"content": [_token_choices(network, token, row, request.token_choices) for token, row in pairs]}
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": _text(network, tokens, is_whole=True)},
        "logprobs": listed,
        "finish_reason": "stop" if tokens[-1] in network.ends else "length",
    }
    usage = {"prompt_tokens": inputs["input_ids"].shape[1], "completion_tokens": len(tokens)}
    return {
        "id": f"local-{request.key()[:24]}",
        "object": "chat.completion",
        "created": 0,
        "model": network.id,
        "choices": [choice],
        "usage": {**usage, "total_tokens": sum(usage.values())},
    }


def network_inputs(network: Network, request: JudgeRequest) -> dict[str, Any]:
    """The inputs of the network: tokens, and the patches of all pictures in order."""
    torch, patches, device = network.torch, network.patches, network.model.device
    grids = [patches.grid(*picture.pixels.shape[:2]) for picture in request.pictures]
    ids = torch.tensor(
        [_prompt_with_pictures(network, request, [patches.tokens(grid) for grid in grids])], device=device
    )
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


def _prompt_with_pictures(network: Network, request: JudgeRequest, counts: list[int]) -> list[int]:
    """The tokens of a request, with each picture token repeated as often as its picture needs."""
    short = prompt_tokens(network.tokenizer, request)
    if short.count(network.picture_token) != len(counts):
        raise JudgeUnusable(
            f"The chat template of the model has {short.count(network.picture_token)} picture tokens for {len(counts)} "
            "pictures. Use an instruction-tuned vision-language model."
        )
    length, max_tokens = len(short) - len(counts) + sum(counts), _max_tokens(request)
    if length + max_tokens > network.context:
        raise PermanentError(
            f"the question with its {len(counts)} pictures has {length} tokens, and its answer up to {max_tokens}; the "
            f"model takes {network.context} in total. Show fewer or smaller frames, or lower the answer length."
        )
    left = iter(counts)
    return [token for one in short for token in [one] * (next(left) if one == network.picture_token else 1)]


def _generate(network: Network, request: JudgeRequest, inputs: dict[str, Any]) -> tuple[list[int], tuple[Any, ...]]:
    """The tokens of the answer, and, if choices are requested, the logits [vocabulary] of each before sampling."""
    sampling = request.judge.sampling
    with network.torch.inference_mode():
        written = network.model.generate(
            **inputs,
            do_sample=False,
            logits_processor=[Draw(network.torch, sampling, request.seed)] if sampling.temperature > 0 else None,
            max_new_tokens=_max_tokens(request),
            output_logits=request.token_choices > 0,
            return_dict_in_generate=True,
        )
    tokens = written.sequences[0, inputs["input_ids"].shape[1] :].tolist()
    return tokens, tuple(row[0] for row in written.logits or ())


def _token_choices(network: Network, token: int, logits: Any, count: int) -> dict[str, Json]:
    """A token of the answer, with the most likely alternatives."""
    log_probabilities = logits.float().log_softmax(-1)
    values, tokens = log_probabilities.topk(min(count, len(log_probabilities)))
    choices = [_token(network, *choice) for choice in zip(tokens.tolist(), values.tolist(), strict=True)]
    return {**_token(network, token, log_probabilities[token].item()), "top_logprobs": choices}


def _token(network: Network, token: int, log_probability: float) -> dict[str, Json]:
    text = _text(network, [token], is_whole=False)
    return {"token": text, "logprob": log_probability, "bytes": list(text.encode())}


def _text(network: Network, tokens: list[int], *, is_whole: bool) -> str:
    # Spaces stay: " yes" and "yes" are two tokens. End tokens are not part of an answer.
    return str(network.tokenizer.decode(tokens, skip_special_tokens=is_whole, clean_up_tokenization_spaces=False))


def _max_tokens(request: JudgeRequest) -> int:
    return request.max_tokens or request.judge.sampling.max_tokens


class LocalJudge:
    """A downloaded model of the Qwen-VL family (Qwen2-VL, Qwen2.5-VL, Qwen3-VL).

    It needs torch and transformers; pictures are prepared as the model's settings say, without Pillow and
    torchvision. The model is loaded at the first request. Requests are answered one at a time.
    """

    def __init__(self, model_folder: Path, compute: Compute) -> None:
        self.model_folder = model_folder
        self.compute = compute
        self._network: Network | None = None
        # One thread, so that the network never runs two requests at once, even if one is cancelled meanwhile.
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="local-judge")

    async def reply(self, request: JudgeRequest) -> Json:
        """A chat completion; raises `PermanentError` if the request is too long, `JudgeUnusable` without a model."""
        _check_settings(request.judge)
        return await asyncio.get_running_loop().run_in_executor(self._worker, self._answer, request)

    async def close(self) -> None:
        """Wait for the current request, and release the model."""
        await asyncio.to_thread(self._worker.shutdown, cancel_futures=True)
        network, self._network = self._network, None
        if network is not None and network.model.device.type == "cuda":
            torch = network.torch
            del network
            torch.cuda.empty_cache()

    def _answer(self, request: JudgeRequest) -> Json:
        if self._network is None:
            self._network = load_network(self.model_folder, self.compute)
        return answer(self._network, request)


def _check_settings(judge: JudgeModel) -> None:
    """Refuse settings that the lock would record but a local judge ignores."""
    if judge.media != "png" or judge.extra != "{}":
        raise JudgeUnusable(
            "A local judge takes lossless pictures and no extra request fields: "
            f"found media {judge.media!r} and extra {judge.extra!r}, expected 'png' and '{{}}'."
        )
