"""Runs the server: binds its address, answers until it is told to stop, and then answers what it took."""

from __future__ import annotations

import ipaddress
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Final

from lookaway.core import MissingExtra, UserError
from lookaway.judges.server import Secret
from lookaway.serving.admission import Admission
from lookaway.serving.schema import TOKEN_VARIABLE, ServingLimits
from lookaway.serving.scoring import Backend, InProcess, ScorerRecipe

if TYPE_CHECKING:
    import uvicorn

MIN_TOKEN: Final = 16
"""Characters of a token: a shorter one can be guessed."""
KEEP_ALIVE_SECONDS: Final = 65
"""How long a connection may be idle: longer than the minute of most proxies, so that they close it and not we."""
MAX_HEADER_BYTES: Final = 16 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Where a server listens, and how it works."""

    host: str = "127.0.0.1"
    port: int = 8321
    """0: any that is free."""
    token: Secret = Secret()
    limits: ServingLimits = field(default_factory=ServingLimits)
    batch_window: float = 0.0
    """Seconds to wait for further clips of a batch."""
    max_batch_size: int = 1
    replicas: int = 0
    """0: measure in this process, without Ray."""
    gpus_per_replica: float = 0.0
    ray_address: str | None = None


def take_token() -> Secret:
    """The token from the environment, from which it is removed: other processes need not see it."""
    token = os.environ.pop(TOKEN_VARIABLE, "")
    if token and len(token) < MIN_TOKEN:
        raise UserError(
            f"{TOKEN_VARIABLE} has {len(token)} characters. Expected at least {MIN_TOKEN}; make one with: "
            "python -c 'import secrets; print(secrets.token_urlsafe())'"
        )
    return Secret(token)


def serve(recipe: ScorerRecipe, settings: ServerSettings, *, on_ready: Callable[[str], None]) -> None:
    """Answer requests until SIGTERM or SIGINT; `on_ready` gets the address."""
    with listening(settings) as listener, _backend(recipe, settings) as backend:
        server, admission = make_server(backend, settings)
        with _stopping(server, admission):
            on_ready(address_of(listener))
            server.run(sockets=[listener])


def make_server(backend: Backend, settings: ServerSettings) -> tuple[uvicorn.Server, Admission]:
    """A server that does not run yet, and what it takes requests with."""
    try:
        import uvicorn

        from lookaway.serving.app import ScoringRoutes, make_app
    except ImportError as error:
        raise MissingExtra("`lookaway serve`", "serve") from error
    admission = Admission(
        backend, settings.limits, batch_window=settings.batch_window, max_batch_size=settings.max_batch_size
    )
    routes = ScoringRoutes(backend, admission, settings.limits, settings.token)
    # One implementation of HTTP and of the loop, whatever else is installed.
    config = uvicorn.Config(
        make_app(routes),
        http="h11",
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
    )
    return uvicorn.Server(config), admission


@contextmanager
def _backend(recipe: ScorerRecipe, settings: ServerSettings) -> Iterator[Backend]:
    scorer = recipe.make()  # also with replicas: what is wrong with it is told before Ray is started
    backend: Backend
    if settings.replicas:
        from lookaway.serving.replicas import OnReplicas

        backend = OnReplicas(
            recipe, scorer, settings.replicas, address=settings.ray_address, gpus=settings.gpus_per_replica
        )
    else:
        backend = InProcess(scorer)
    try:
        yield backend
    finally:
        backend.close()


@contextmanager
def _stopping(server: uvicorn.Server, admission: Admission) -> Iterator[None]:
    """Stop on SIGTERM and SIGINT, and end as if nothing had happened; a second one does not hurry.

    uvicorn has handlers of its own while it runs, and gives the signals back to these when it has stopped.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        server.should_exit = admission.is_stopping = True

    handle_exit = server.handle_exit

    def stop_taking(number: int, frame: FrameType | None) -> None:
        admission.is_stopping = True
        handle_exit(number, frame)

    server.handle_exit = stop_taking  # type: ignore[method-assign, assignment]
    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def listening(settings: ServerSettings) -> Iterator[socket.socket]:
    """An open socket; raises `UserError` where others could use it without a token."""
    host, port = settings.host, settings.port
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise UserError(f"{host!r} is not an address of this machine ({error.strerror}).") from error
    if not settings.token and not ipaddress.ip_address(address[0]).is_loopback:
        raise UserError(
            f"{host} can be reached from other machines, and there is no token. Set {TOKEN_VARIABLE}, or listen on "
            "127.0.0.1."
        )
    try:
        listener = socket.create_server(address[:2], family=family, backlog=2048)
    except OSError as error:
        raise UserError(f"Cannot listen on {host} port {port}: {error.strerror}. Choose another --port.") from error
    with listener:
        yield listener


def address_of(listener: socket.socket) -> str:
    """Where a socket can be reached."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
