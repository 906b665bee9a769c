"""The routes of the server: score, info, health, metrics, and the schema of them all."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from importlib.metadata import version
from typing import Any, Final
from uuid import uuid4

from lookaway.core import MissingExtra, UnknownName
from lookaway.io.limits import MIB
from lookaway.judges.server import Secret
from lookaway.serving.admission import Admission
from lookaway.serving.body import BodyPart, ClipRequest, parse_clip, read_parts
from lookaway.serving.counters import RequestCounters
from lookaway.serving.schema import (
    FRAMES,
    GIVEN_PATHS,
    ID_PATTERN,
    INFO_PATH,
    NPY,
    OPTIONS,
    REQUEST_ID,
    SAFETENSORS,
    SCHEMA_PATH,
    SCORE_PATH,
    ErrorResponse,
    HealthReport,
    Refused,
    ScoreOptions,
    ScoreResponse,
    ServerInfo,
    ServingLimits,
)
from lookaway.serving.scoring import Backend

try:
    from fastapi import FastAPI, Request, Response
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect
except ImportError as error:
    raise MissingExtra("The server", "serve") from error

LOG = logging.getLogger(__name__)
LARGE_BODY: Final = 1 * MIB
"""A body is hashed and read in a thread from this size on, so that others need not wait for it."""
REFUSALS: Final = {
    400: "The body is not multipart, lacks a part or has one too many.",
    401: "The token is missing or wrong.",
    408: "The body came too slowly.",
    409: "Another request has the same id.",
    413: "The body is too large.",
    415: "The body or a part is of another type.",
    422: "The clip or an option is not valid, or a metric is not measured here.",
    429: "Too many requests are waiting; `Retry-After` says when to come back.",
    500: "The measurement failed, or replicas died of it.",
    503: "The server is stopping; `Retry-After` says when to come back.",
    504: "There was no answer in time.",
}


class ScoringRoutes:
    """What the routes share: where clips are measured, what is accepted, and what is counted."""

    def __init__(self, backend: Backend, admission: Admission, limits: ServingLimits, token: Secret) -> None:
        self.admission, self.limits = admission, limits
        self._backend, self._token = backend, token
        self.counters = RequestCounters(lambda: admission.taken, lambda: backend.deaths)

    def authorise(self, request: Request) -> None:
        """Refuse a request without the token; every wrong one takes the same time."""
        if not self._token:
            return
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        is_right = hmac.compare_digest(given.strip().encode(), self._token.reveal().encode())
        if kind.lower() != "bearer" or not is_right:
            raise Refused(
                401, "unauthorised", "The token is missing or wrong. Send it in the header Authorization: Bearer TOKEN."
            )

    async def score(self, request: Request) -> Response:
        """Answer a request, with a measurement or an error."""
        started, name = time.perf_counter(), ""
        try:
            self.authorise(request)
            with self.admission.take():
                name = _request_id(request.headers)
                parts = await read_parts(request.stream(), request.headers, self.limits)
                digest, clip = await self._checked(parts)
                self._check_metrics(clip.options.metrics)
                found = await self.admission.answer(name, digest, clip)
            self.counters.answered(found, len(clip.frames))
            return Response(found.model_dump_json(), media_type="application/json")
        except ClientDisconnect:
            refused = Refused(400, "bad_request", "The connection was closed before the end of the body.")
        except Refused as error:
            refused = error
        except Exception:
            # Whatever it is, a client gets an error of the one shape.
            LOG.exception("A request failed")
            refused = Refused(500, "failed", "The request could not be read. The server's log says more.")
        finally:
            self.counters.took(time.perf_counter() - started)
        self.counters.refused(refused.code)
        return refusal(refused, name or None)

    def info(self) -> ServerInfo:
        """What this server measures and accepts."""
        return ServerInfo(
            lookaway=version("lookaway"),
            metrics=self._backend.metrics,
            has_reward=self._backend.has_reward,
            replicas=self._backend.replicas,
            limits=asdict(self.limits),
        )

    async def _checked(self, parts: Mapping[str, BodyPart]) -> tuple[bytes, ClipRequest]:
        if sum(len(part.data) for part in parts.values()) < LARGE_BODY:
            return _digest(parts), parse_clip(parts, self.limits)
        return await asyncio.to_thread(lambda: (_digest(parts), parse_clip(parts, self.limits)))

    def _check_metrics(self, wanted: tuple[str, ...] | None) -> None:
        for name in wanted or ():
            if name not in self._backend.metrics:
                raise Refused(
                    422, "unknown_metric", str(UnknownName("metric of this server", name, self._backend.metrics))
                )


def make_app(routes: ScoringRoutes) -> FastAPI:
    """The application, which measures while it runs."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with routes.admission.running():
            yield

    # No pages of FastAPI: they load scripts from elsewhere.
    app = FastAPI(
        title="lookaway",
        version="1",
        summary="Measures whether video world models remember what the camera looked away from.",
        openapi_url=SCHEMA_PATH,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )

    @app.exception_handler(HTTPException)
    async def not_found(request: Request, found: HTTPException) -> Response:
        message = f"There is nothing at this address. Send clips with POST to {SCORE_PATH}."
        return refusal(Refused(found.status_code, "not_found", message), None)

    @app.exception_handler(Refused)
    async def refused(request: Request, found: Refused) -> Response:
        return refusal(found, None)

    @app.post(
        SCORE_PATH,
        response_model=ScoreResponse,
        responses={status: {"model": ErrorResponse, "description": text} for status, text in REFUSALS.items()},
        openapi_extra={"requestBody": _body_schema(), "parameters": [_id_schema()]},
    )
    async def score(request: Request) -> Response:
        """Measure one clip."""
        return await routes.score(request)

    @app.get(INFO_PATH, responses={401: {"model": ErrorResponse, "description": REFUSALS[401]}})
    async def info(request: Request) -> ServerInfo:
        """What this server measures and accepts."""
        routes.authorise(request)
        return routes.info()

    @app.get("/health", responses={503: {"model": HealthReport, "description": "The server is stopping."}})
    async def health(response: Response) -> HealthReport:
        """Whether the server takes requests; needs no token."""
        is_stopping = routes.admission.is_stopping
        response.status_code = 503 if is_stopping else 200
        return HealthReport(status="stopping" if is_stopping else "ok", waiting=routes.admission.taken)

    @app.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
    async def metrics(request: Request) -> Response:
        """Counters for Prometheus."""
        routes.authorise(request)
        return Response(routes.counters.text(), media_type=routes.counters.media_type)

    return app


def refusal(found: Refused, name: str | None) -> Response:
    """An error as an answer."""
    headers = {} if found.retry_after is None else {"Retry-After": str(int(found.retry_after))}
    if found.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if found.status == 408:
        headers["Connection"] = "close"
    body = ErrorResponse(error=found.code, message=str(found), id=name)
    return Response(body.model_dump_json(), found.status, headers, "application/json")


def _request_id(headers: Mapping[str, str]) -> str:
    given = headers.get(REQUEST_ID.lower())
    if given is None:
        return uuid4().hex
    if not re.fullmatch(ID_PATTERN, given):
        raise Refused(400, "bad_request", f"{REQUEST_ID} has {len(given)} characters. Expected {ID_PATTERN}.")
    return given


def _digest(parts: Mapping[str, BodyPart]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for name, part in sorted(parts.items()):
        digest.update(json.dumps([name, part.media_type, len(part.data)]).encode())
        digest.update(part.data)
    return digest.digest()


def _id_schema() -> dict[str, Any]:
    return {
        "name": REQUEST_ID,
        "in": "header",
        "required": False,
        "description": "Names the request: sent again, it gets the answer that it already has.",
        "schema": {"type": "string", "pattern": f"^{ID_PATTERN}$"},
    }


def _body_schema() -> dict[str, Any]:
    binary = {"type": "string", "format": "binary"}
    texts = {
        FRAMES: "uint8 [frames, 3, height, width] or channels last; a safetensors file may hold poses too.",
        "poses": "Where the camera was: floats [frames, 4, 4], camera to world, OpenCV axes.",
        "requested": "Where it was asked to be.",
        "intrinsics": "Floats [3, 3] in pixels.",
    }
    arrays = {name: {**binary, "description": texts[name]} for name in (FRAMES, *GIVEN_PATHS)}
    types = {name: {"contentType": NPY} for name in GIVEN_PATHS}
    return {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": [FRAMES],
                    "additionalProperties": False,
                    "properties": {**arrays, OPTIONS: ScoreOptions.model_json_schema()},
                },
                "encoding": {
                    FRAMES: {"contentType": f"{NPY}, {SAFETENSORS}"},
                    **types,
                    OPTIONS: {"contentType": "application/json"},
                },
            }
        },
    }
