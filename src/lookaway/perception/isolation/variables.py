"""Which environment variables other processes get to see.

A child gets what it needs to find its files, devices and language, and nothing that looks like a secret: neither the
keys of judges nor `HF_TOKEN`, for it loads weights from folders that are already on this machine and is kept offline.
uv gets its own variables on top, credentials of package indexes included.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

SHARED = re.compile(
    r"PATH|LD_LIBRARY_PATH|HOME|USER|LOGNAME|LANG|LC_.*|TZ|TMPDIR|XDG_.*_HOME|XDG_.*_DIR|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE"
    r"|(HF|HUGGINGFACE|TORCH|PYTORCH|CUDA|CUBLAS|NVIDIA|NCCL|ROCR|HIP|OMP|MKL|OPENBLAS)_.*"
    r"|(http|https|no|all)_proxy|(HTTP|HTTPS|NO|ALL)_PROXY"
)
SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
UV = re.compile(r"UV_.*|GIT_.*|SSH_AUTH_SOCK|NETRC")


def child_variables(given: Mapping[str, str] = os.environ) -> dict[str, str]:
    """For a process that runs a network."""
    return {**_shared(given), **OFFLINE}


def uv_variables(given: Mapping[str, str] = os.environ) -> dict[str, str]:
    """For uv, and for the builds of packages that it starts."""
    own = {name: value for name, value in given.items() if UV.fullmatch(name)}
    proxies = {name: value for name, value in given.items() if name.lower().endswith("_proxy")}
    return {**_shared(given), **proxies, **own}


def fit_to_show(text: str, given: Mapping[str, str] = os.environ) -> str:
    """Text of another process without colours, without credentials in addresses, without values of secret variables."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]", "", text.replace("\r", "\n"))
    for name, value in given.items():
        if SECRET.search(name) and len(value) >= 6:
            text = text.replace(value, "***")
    return re.sub(r"(?<=://)[^/@\s]+@", "***@", text)


def _shared(given: Mapping[str, str]) -> dict[str, str]:
    """A proxy with credentials is a secret too."""
    return {
        name: value
        for name, value in given.items()
        if SHARED.fullmatch(name) and not SECRET.search(name) and not ("proxy" in name.lower() and "@" in value)
    }
