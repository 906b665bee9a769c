"""What kind of machine this is, as far as the speed of work depends on it."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

PROCESSORS = Path("/proc/cpuinfo")
GPUS = Path("/proc/driver/nvidia/gpus")


@cache
def kind_of_machine() -> str:
    """The model of its processor, and those of its GPUs where the driver tells."""
    return " + ".join([_value(PROCESSORS, "model name") or platform.machine(), *sorted(set(_gpus()))])


def gpu_count() -> int:
    """How many GPUs the driver tells of."""
    return len(_gpus())


def _gpus() -> list[str]:
    return [model for path in GPUS.glob("*/information") if (model := _value(path, "Model"))]


def _value(path: Path, name: str) -> str:
    """What stands after a name and a colon; empty where nothing does."""
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    found = (line.partition(":")[2] for line in lines if line.partition(":")[0].strip() == name)
    return " ".join(next(found, "").split())
