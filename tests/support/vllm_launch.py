"""Runs inside the environment of locks/vllm.lock, never in that of the tests: serves a network with vLLM on the CPU.

It ends with whoever started it: when its standard input is closed, all its processes are killed.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

DECLARED: list[Any] = []
"""Kept, for what a library defines is gone with it."""


def end_with_parent() -> None:
    """Kill the whole process group as soon as nobody holds the other end of the standard input."""

    def wait() -> None:
        sys.stdin.buffer.read()
        os.killpg(os.getpgrp(), signal.SIGKILL)

    threading.Thread(target=wait, daemon=True).start()


def declare_operators() -> None:
    """Let torchvision be imported without its compiled operators, which a CPU build of torch cannot load."""
    import torch

    library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    DECLARED.append(library)


def serve() -> None:
    """Serve as the arguments say."""
    from vllm.entrypoints.launchers.api_server.entry import main
    from vllm.model_executor.models import registry

    # vLLM looks at a network's class in a process of its own, where the operators would be missing.
    registry._run_in_subprocess = lambda look: look()
    main()


# The second name is that of this file in processes that vLLM starts.
if __name__ in ("__main__", "__mp_main__"):
    declare_operators()
if __name__ == "__main__":
    end_with_parent()
    serve()
