"""A real server of a vision-language network: vLLM on the CPU, on loopback, in an environment of its own."""

from __future__ import annotations

import http.client
import os
import secrets
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.tiny_vlm import LONGEST

VARIABLE = "LOOKAWAY_VLLM_PYTHON"
LAUNCHER = Path(__file__).with_name("vllm_launch.py")
MODEL = "tiny-vlm"
MAX_PICTURES = 8
SETTINGS = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
    # The network lives in the engine's process; a worker of its own would import everything a third time.
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    # Compiling a few small functions takes longer than all questions of the tests.
    "TORCHDYNAMO_DISABLE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
}
FLAGS = (
    f"--served-model-name={MODEL}",
    "--host=127.0.0.1",
    f"--max-model-len={LONGEST}",
    "--dtype=float32",
    "--enforce-eager",
    "--max-num-seqs=2",
    f'--limit-mm-per-prompt={{"image": {MAX_PICTURES}, "video": 1}}',
    # Left to itself, a random network fills its JSON with blanks and never ends.
    '--structured-outputs-config={"backend": "xgrammar", "disable_any_whitespace": true}',
)
SHOWN_CHARACTERS = 6000

needs_vllm = pytest.mark.skipif(
    not os.environ.get(VARIABLE),
    reason=f"needs vLLM: `make vllm VLLM=FOLDER`, then set {VARIABLE}=FOLDER/bin/python",
)


@dataclass(frozen=True)
class VllmServer:
    """Where it listens, who may ask, and what it serves."""

    url: str
    key: str = field(repr=False)
    model: str
    network: Path
    log: Path
    group: int
    """Of all its processes."""

    def processes(self) -> list[int]:
        """Those that run."""
        return running(self.group)


@contextmanager
def vllm_serving(network: Path, *, within_seconds: float = 300) -> Iterator[VllmServer]:
    """Serve a folder of a network until the block ends; then no process and no file is left."""
    # Short, for it holds sockets, whose names must be.
    with tempfile.TemporaryDirectory(prefix="vllm") as folder:
        log, key, port = Path(folder) / "log.txt", secrets.token_urlsafe(16), _free_port()
        # Nothing of this process's own variables: the server needs none of its keys and none of its settings.
        variables = {"PATH": os.defpath, "HOME": folder, "TMPDIR": folder, "VLLM_API_KEY": key, **SETTINGS}
        command = [os.environ[VARIABLE], "-P", str(LAUNCHER), f"--model={network}", f"--port={port}", *FLAGS]
        with (
            log.open("wb") as output,
            subprocess.Popen(
                command,
                env=variables,
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            ) as process,
        ):
            try:
                _wait(process, port, log, time.monotonic() + within_seconds)
                yield VllmServer(f"http://127.0.0.1:{port}/v1", key, MODEL, network, log, group=process.pid)
            finally:
                _stop(process)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _wait(process: subprocess.Popen[bytes], port: int, log: Path, until: float) -> None:
    while not _is_healthy(port):
        ended, is_late = process.poll() is not None, time.monotonic() > until
        if ended or is_late:
            what = f"ended with code {process.returncode}" if ended else "is not ready in time"
            raise RuntimeError(f"vLLM {what}. The end of its log:\n{log.read_text()[-SHOWN_CHARACTERS:]}")
        time.sleep(0.2)


def _is_healthy(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == http.HTTPStatus.OK
    except OSError:
        return False
    finally:
        connection.close()


def _stop(process: subprocess.Popen[bytes], within_seconds: float = 15) -> None:
    """Ask it to end; then end whatever of its processes is left."""
    process.terminate()
    try:
        with suppress(subprocess.TimeoutExpired):
            process.wait(within_seconds)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def running(group: int) -> list[int]:
    """Processes of a group that have not ended, as Linux lists them."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # The name of a process stands in parentheses and may hold anything.
            state, _, its_group = path.read_text().rpartition(")")[2].split()[:3]
            if int(its_group) == group and state != "Z":
                found.append(int(path.parent.name))
    return found
