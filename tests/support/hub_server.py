"""A small server that speaks as much of the Hugging Face hub's protocol as fetching files takes."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class HubServer:
    """What it holds and what it was asked."""

    repository: str
    revision: str
    files: Mapping[str, bytes]
    is_gated: bool = False
    asked: list[str] = field(default_factory=list)
    address: str = ""


@contextmanager
def serving(hub: HubServer) -> Iterator[HubServer]:
    """Serve on loopback until the block ends."""
    server = _Server(hub)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    hub.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    def __init__(self, hub: HubServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.hub = hub


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        path = self.path.partition("?")[0]
        self.server.hub.asked.append(path)
        status, body, headers = self._found(path)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def _found(self, path: str) -> tuple[int, bytes, Mapping[str, str]]:
        hub = self.server.hub
        file = path.removeprefix(f"/{hub.repository}/resolve/{hub.revision}/")
        if hub.is_gated:
            return 403, b"", {"X-Error-Code": "GatedRepo", "X-Error-Message": "ask first"}
        if path == f"/api/models/{hub.repository}/tree/{hub.revision}":
            tree = [{"type": "file", "path": name, "size": len(c), "oid": "0" * 40} for name, c in hub.files.items()]
            return 200, json.dumps(tree).encode(), {"Content-Type": "application/json"}
        if file in hub.files:
            content = hub.files[file]
            return 200, content, {"ETag": f'"{sha256(content).hexdigest()}"', "X-Repo-Commit": hub.revision}
        return 404, b"", {"X-Error-Code": "EntryNotFound"}

    def log_message(self, *args: object) -> None:
        """Say nothing."""
