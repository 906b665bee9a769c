"""A judge that needs no server: a vision-language model in this process."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lookaway.core import Compute, Json, JudgeModel, JudgeRequest, JudgeUnusable
from lookaway.judges.local.answer import answer
from lookaway.judges.local.network import Network, load_network


class LocalJudge:
    """Asks a model of the Qwen-VL family (Qwen2-VL, Qwen2.5-VL, Qwen3-VL) that was downloaded into a folder.

    It needs torch, transformers and jinja2: pictures are cut as the model's own settings say, without Pillow and
    torchvision. The model is loaded with the first question. Questions are answered one at a time.
    """

    def __init__(self, model_folder: Path, compute: Compute) -> None:
        self.model_folder = model_folder
        self.compute = compute
        self._network: Network | None = None
        # One thread, so that no two questions meet in the network, even where one is given up while it is answered.
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="local-judge")

    async def reply(self, request: JudgeRequest) -> Json:
        """A chat completion; a `LastingFault` where the question is too long, a `JudgeUnusable` without a model."""
        _check_settings(request.judge)
        return await asyncio.get_running_loop().run_in_executor(self._worker, self._answer, request)

    async def close(self) -> None:
        """Wait for the question that is being answered, and let go of the model."""
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
    """What the lock says about a judge must be so."""
    if judge.media != "png" or judge.extra != "{}":
        raise JudgeUnusable(
            "A local judge is shown pictures without loss, and takes no fields of a server: "
            f"found media {judge.media!r} and extra {judge.extra!r}, expected 'png' and '{{}}'."
        )
