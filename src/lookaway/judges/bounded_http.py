"""An HTTP client for servers that are not trusted: bounded replies, compressed or not, and no redirects."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable
from typing import Any, Final

import httpx2

MAX_REPLY_BYTES: Final = 16 * 1024 * 1024
"""Size of a reply as it is sent, and after it is unpacked: log-probabilities of a long answer take 2 MB."""
GZIP_BITS: Final = 31
"""A window of 32 KiB, with the header of gzip."""
LIMITS: Final = httpx2.Limits(max_connections=1000, max_keepalive_connections=100)
"""As many connections as the openai package allows; `RetryPolicy` bounds them further."""
DROPPED: Final = (b"content-encoding", b"content-length", b"transfer-encoding")
"""Headers about a body that is unpacked now."""


class BoundedClient(httpx2.AsyncClient):
    """Reads every reply whole, up to a limit; a larger one is an `httpx2.ReadError`."""

    def __init__(self, timeout_seconds: float, max_bytes: int = MAX_REPLY_BYTES) -> None:
        super().__init__(timeout=timeout_seconds, limits=LIMITS, headers={"Accept-Encoding": "gzip"})
        self._max_bytes = max_bytes

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request to its own address, and no other."""
        response = await super().send(request, **{**options, "stream": True, "follow_redirects": False})
        try:
            sent = await self._read(response.aiter_raw())
        finally:
            await response.aclose()
        return httpx2.Response(
            response.status_code,
            headers=[(name, value) for name, value in response.headers.raw if name.lower() not in DROPPED],
            content=self._unpacked(sent, response.headers.get("Content-Encoding", "identity").lower()),
            request=request,
        )

    async def _read(self, chunks: AsyncIterable[bytes]) -> bytes:
        content = bytearray()
        async for chunk in chunks:
            content += chunk
            if len(content) > self._max_bytes:
                raise self._too_large()
        return bytes(content)

    def _unpacked(self, content: bytes, encoding: str) -> bytes:
        if encoding == "identity":
            return content
        if encoding != "gzip":
            raise httpx2.DecodingError(f"the reply is packed in a way that was not offered, expected gzip: {encoding}")
        unpacker = zlib.decompressobj(GZIP_BITS)
        try:
            unpacked = unpacker.decompress(content, self._max_bytes + 1)
        except zlib.error as error:
            raise httpx2.DecodingError("the reply is not valid gzip") from error
        if len(unpacked) > self._max_bytes:
            raise self._too_large()
        if not unpacker.eof:
            raise httpx2.DecodingError("the reply is cut off")
        return unpacked

    def _too_large(self) -> httpx2.ReadError:
        return httpx2.ReadError(f"the reply is larger than {self._max_bytes:,} bytes")
