"""An S3 server on this machine that can be killed and started again, with all that it has acknowledged.

It keeps objects in memory and, by its own recorder, every request in a file before it answers. Started again, it does
what the file says before it opens its port, so that nobody ever sees it half restored.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
import s3fs

from lookaway.io import object_storage
from lookaway.io.object_storage import as_path

HOST = "127.0.0.1"
SECRET = "a-secret-that-nobody-may-read"
CHANGING = ("PUT", "POST", "DELETE")


class S3Server:
    """A process that serves one port, whenever it runs."""

    def __init__(self, folder: Path) -> None:
        self._recording, self._log = folder / "requests", folder / "log"
        self._reserved = shared_socket(0)
        """Keeps the port from others while the process is dead; it does not listen, so nobody is served by it."""
        self.port = self._reserved.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://{HOST}:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """What leads a process to it, and to nothing else."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "somebody",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }

    def start(self) -> None:
        """Serve, with everything that was acknowledged before."""
        command = [sys.executable, "-m", __name__, str(self.port), str(self._recording)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=log, stderr=log, cwd=Path(__file__).parents[2]
            )
        until = time.monotonic() + 300
        while not self.answers():
            assert self._process.poll() is None, self._log.read_text()
            assert time.monotonic() < until, self._log.read_text()
            time.sleep(0.05)

    def kill_and_start(self, *, seconds: float = 0.3) -> threading.Thread:
        """End it without warning, and start it again after a while; all while the caller goes on."""

        def cycle() -> None:
            self.kill()
            time.sleep(seconds)
            self.start()

        thread = threading.Thread(target=cycle)
        thread.start()
        return thread

    def kill(self) -> None:
        """End it without warning, whatever it is doing."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def close(self) -> None:
        """End it, and let others have its port."""
        self.kill()
        self._reserved.close()

    def requests(self) -> list[tuple[str, str]]:
        """Method and path of every request until now."""
        entries = [json.loads(line) for line in self._recording.read_text().splitlines()]
        return [(entry["method"], urlsplit(entry["url"]).path) for entry in entries]

    def deny(self) -> None:
        """Answer every request with 403, as after a change of policy, until `allow` is called."""
        denied_file(self._recording).touch()

    def allow(self) -> None:
        """Answer again."""
        denied_file(self._recording).unlink()

    def answers(self) -> bool:
        """Whether it can be reached."""
        try:
            with socket.create_connection((HOST, self.port), timeout=1):
                return True
        except OSError:
            return False


def shared_socket(port: int) -> socket.socket:
    """A socket of a port that another process of this user may bind as well; 0 is any free port."""
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    found.bind((HOST, port))
    return found


@contextmanager
def s3_server(folder: Path) -> Iterator[S3Server]:
    """A server that this process speaks to, and that is gone at the end."""
    with closing(S3Server(folder)) as server, pytest.MonkeyPatch.context() as patch:
        server.start()
        for name, value in server.environment.items():
            patch.setenv(name, value)
        patch.delenv("AWS_PROFILE", raising=False)
        forget_servers()
        try:
            yield server
        finally:
            forget_servers()


def new_bucket() -> Path:
    """An empty bucket."""
    bucket = as_path(f"s3://bucket-{uuid4().hex[:12]}")
    object_storage._storage(bucket).call_s3("create_bucket", Bucket=bucket.parts[0].rstrip("/"))
    return bucket


def forget_servers() -> None:
    """Connect anew, to where the environment leads now."""
    object_storage._STORAGES.clear()
    s3fs.S3FileSystem.clear_instance_cache()


def leave_with_parent() -> None:
    """End when the tests have, however they did: a pipe closes with the process that holds it."""
    sys.stdin.buffer.read()
    os._exit(0)


def denied_file(recording: Path) -> Path:
    """A file that is there while all requests are denied."""
    return recording.with_name("denied")


DENIED = b"<?xml version='1.0'?><Error><Code>AccessDenied</Code><Message>no</Message></Error>"


def in_order(application: Any, recording: Path) -> Any:
    """The application with one change at a time: its conditional requests would otherwise overtake each other."""
    changing = threading.Lock()

    def answer(environ: dict[str, Any], start_response: Any) -> Any:
        if denied_file(recording).exists():
            start_response("403 Forbidden", [("Content-Type", "application/xml"), ("Content-Length", str(len(DENIED)))])
            return [b"" if environ["REQUEST_METHOD"] == "HEAD" else DENIED]
        with changing if environ["REQUEST_METHOD"] in CHANGING else nullcontext():
            return application(environ, start_response)

    return answer


def serve(port: int, recording: Path) -> None:
    """Do what was recorded, then serve until killed."""
    threading.Thread(target=leave_with_parent, daemon=True).start()
    os.environ["MOTO_ENABLE_RECORDING"] = "true"
    os.environ["MOTO_RECORDER_FILEPATH"] = str(recording)
    from moto.moto_api import recorder
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server
    from werkzeug.test import Client

    application = DomainDispatcherApplication(create_backend_app)
    recorded = recording.read_bytes() if recording.exists() else b""
    whole, _, _ = recorded.rpartition(b"\n")  # of a request that was cut off nobody was told that it is done
    recording.write_bytes(whole + b"\n" if whole else b"")
    recorder.stop_recording()
    client = Client(application)
    client.open("/", base_url=f"http://{HOST}:{port}")  # loads the services: the first request must not wait for that
    for line in whole.splitlines():
        entry = json.loads(line)
        if entry["method"] in CHANGING:
            address = urlsplit(entry["url"])
            client.open(
                f"{address.path}?{address.query}",
                base_url=f"{address.scheme}://{address.netloc}",
                method=entry["method"],
                headers=[(name, value) for name, value in entry["headers"].items() if name != "Expect"],
                data=base64.b64decode(entry["body"]) if entry["body_encoded"] else entry["body"],
            )
    recorder.start_recording()
    with shared_socket(port) as listening:
        listening.listen(128)
        make_server(HOST, port, in_order(application, recording), threaded=True, fd=listening.fileno()).serve_forever()


if __name__ == "__main__":
    serve(int(sys.argv[1]), Path(sys.argv[2]))
