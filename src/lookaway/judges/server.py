"""A judge behind a server with an OpenAI-compatible API, and how to connect to it."""

from __future__ import annotations

import asyncio
import base64
import email.utils
import json
import math
import os
import re
import stat
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from lookaway.core import Json, JudgeRequest, JudgeUnusable, MissingExtra, UserError
from lookaway.judges.errors import PermanentError, TransientError
from lookaway.judges.openai_format import EncodedPictures, completion_fields
from lookaway.judges.reply import map_texts

HIDDEN = "***"
SHORTEST = 4
"""Shorter secrets are part of too many ordinary words to be scrubbed."""
SHORTEST_ENCODED = 6
"""Shorter pieces of base64 are part of too much other base64."""


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """Text that must not be shown.

    >>> print(Secret("sk-1234"), Secret("sk-1234").scrub("Wrong key sk-1234."))
    *** Wrong key ***.
    """

    _value: str = ""

    def reveal(self) -> str:
        """The text itself."""
        return self._value

    def scrub(self, text: str) -> str:
        """Other text with the secret removed: as it is, escaped for JSON or for an address, in base64 or in hex."""
        return _spellings(self._value).sub(HIDDEN, text) if len(self._value) >= SHORTEST else text

    def __repr__(self) -> str:
        return HIDDEN

    def __bool__(self) -> bool:
        return bool(self._value)


@cache
def _spellings(secret: str) -> re.Pattern[str]:
    """All ways to write a secret; escapes may be mixed, and escaped again.

    Repetitions are bounded, so that no text takes more than linear time.
    """
    escaped = "".join(map(_character_spellings, secret))
    return re.compile("|".join([escaped, f"(?i:{secret.encode().hex()})", *_base64_spellings(secret.encode())]))


def _character_spellings(character: str) -> str:
    units = character.encode("utf-16-be").hex()
    in_json = "".join(rf"\\{{1,8}}u{units[start : start + 4]}" for start in range(0, len(units), 4))
    in_address = "".join(f"%(?:25){{0,4}}{byte:02x}" for byte in character.encode())
    return rf"(?:\\{{0,8}}{re.escape(character)}|(?i:{in_json}|{in_address}))"


def _base64_spellings(secret: bytes) -> list[str]:
    """The part that does not depend on what is encoded before and after, for each alignment, in both alphabets."""
    found: list[tuple[str, str]] = []
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + secret).decode()
        start, end = math.ceil(before * 8 / 6), (before + len(secret)) * 8 // 6
        if end - start >= SHORTEST_ENCODED:
            last = encoded[end] if end < len(encoded) else "="
            found += [(encoded[start:end], last), (encoded[start:end].translate(URL_SAFE), last.translate(URL_SAFE))]
    return [f"{re.escape(text)}(?:{re.escape(last)}(?:=|%3[Dd])*)?" for text, last in dict.fromkeys(found)]


URL_SAFE = str.maketrans("+/", "-_")

VARIABLES: Mapping[str, tuple[str, ...]] = {
    "url": ("LOOKAWAY_JUDGE_URL", "MBENCH_VLM_BASE_URL", "OPENAI_BASE_URL", "OPENAI_API_BASE"),
    "key": ("LOOKAWAY_JUDGE_KEY", "MBENCH_VLM_API_KEY", "OPENAI_API_KEY"),
    "model": ("LOOKAWAY_JUDGE_MODEL", "MBENCH_VLM_MODEL"),
}
"""The model is not read from variables of other programs: naming one turns the judge on."""
FILE_VARIABLE = "LOOKAWAY_JUDGE_FILE"
DEFAULT_URL = "https://api.openai.com/v1"
ENDPOINT = "/chat/completions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """The address of a server, its API key, and the timeout of a request, from its start to the end of its reply."""

    url: str = DEFAULT_URL
    key: Secret = Secret()
    timeout_seconds: float = 120.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", self.url.rstrip("/").removesuffix(ENDPOINT).rstrip("/"))
        parts = urlsplit(self.url)
        if parts.username or parts.password:
            raise UserError("The address of the judge contains a password. Give it as the judge's key instead.")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UserError(
                f"{self.url!r} is not the address of a server; expected one such as http://127.0.0.1:8000/v1."
            )
        if not 0 < self.timeout_seconds < math.inf:
            raise UserError(f"The timeout of a request must be positive, found {self.timeout_seconds:g} s.")


def find_setting(name: str, flag: str | None, file: Mapping[str, str], given: Mapping[str, str] = os.environ) -> str:
    """One setting: from the flag, else the file, else the environment; empty if it is not set."""
    if flag:
        return flag
    if name in file:
        return file[name]
    return next((given[variable] for variable in VARIABLES[name] if given.get(variable)), "")


def read_private_file(path: Path | None, given: Mapping[str, str] = os.environ) -> dict[str, str]:
    """`url`, `key` and `model` from a TOML file that only its owner can read; empty if no file is named."""
    if path is None:
        named = given.get(FILE_VARIABLE)
        if not named:
            return {}
        path = Path(named).expanduser()
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = tomllib.load(file)
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such file. Expected a TOML file with url, key and model.") from None
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        # No part of the text is repeated: it contains a key.
        raise UserError(f"{path}: cannot be read as TOML ({type(error).__name__}).") from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UserError(f"{path}: contains a key, but other users can read it. Make it private with: chmod 600 {path}")
    if unknown := sorted(set(content) - set(VARIABLES)):
        raise UserError(f"{path}: unknown settings {', '.join(unknown)}; known: {', '.join(VARIABLES)}.")
    if not all(isinstance(value, str) for value in content.values()):
        raise UserError(f"{path}: all settings must be strings in quotation marks.")
    return content


LONGEST_WAIT_SECONDS = 600.0
"""Maximum wait, however long a server asks for."""
WRONG_KEY, NO_SUCH_MODEL, TOO_MANY = (401, 403), 404, 429
TRANSIENT = (408, 409, 425)
SHOWN_CHARACTERS = 300


class ServerJudge:
    """Sends single requests and turns each response into a reply or a typed error; `JudgeClient` retries."""

    def __init__(self, connection: Connection) -> None:
        try:
            import openai
        except ImportError as error:
            raise MissingExtra("A judge behind a server", "judge") from error
        from lookaway.judges.bounded_http import BoundedClient

        self._openai: Any = openai
        self._connection = connection
        self._encoded = EncodedPictures()
        self._client = openai.AsyncOpenAI(
            base_url=connection.url,
            api_key=connection.key.reveal() or "none",
            timeout=connection.timeout_seconds,
            max_retries=0,
            http_client=BoundedClient(connection.timeout_seconds),
        )

    async def reply(self, request: JudgeRequest) -> Json:
        """A chat completion; raises a typed error if there is none."""
        # Pictures are encoded in another thread, so that the event loop can serve other requests.
        fields = await asyncio.to_thread(completion_fields, request, self._encoded)
        extra = json.loads(request.judge.extra)
        fields = {name: value for name, value in fields.items() if name not in extra}
        more = {name: value for name, value in extra.items() if value is not None}
        create = self._client.chat.completions.with_raw_response.create
        try:
            # Timeouts of the connection begin again with every byte.
            async with asyncio.timeout(self._connection.timeout_seconds):
                response = await create(**fields, extra_body=more or None)
            body = response.http_response.content
        except self._openai.APIStatusError as error:
            raise self._typed_error(error, request.judge.model) from None
        except (self._openai.APITimeoutError, TimeoutError):
            raise TransientError(f"no answer within {self._connection.timeout_seconds:g} s.") from None
        except self._openai.APIConnectionError as error:
            problem = self._shown(error.__cause__ or error)
            raise TransientError(f"the connection to {self._connection.url} failed: {problem}.") from None
        return self._parsed(body)

    async def models(self) -> list[str]:
        """The models that the server lists."""
        try:
            async with asyncio.timeout(self._connection.timeout_seconds):
                return [model.id async for model in self._client.models.list()]
        except (self._openai.OpenAIError, TimeoutError) as error:
            raise TransientError(f"the server does not list its models: {self._shown(error)}.") from None

    async def close(self) -> None:
        """Close its connections."""
        await self._client.close()

    def _parsed(self, body: bytes) -> Json:
        """The completion, with the API key removed if the server repeats it."""
        try:
            parsed = json.loads(body.decode(), parse_constant=_refuse_constant, parse_float=_finite)
            return map_texts(parsed, self._connection.key.scrub)
        except (ValueError, RecursionError) as error:
            raise TransientError(f"the server's reply is cut off or not JSON: {self._shown(error)}.") from None

    def _typed_error(self, error: Any, model: str) -> Exception:
        """The meaning of an HTTP status: try again, give up on this request, or give up on the judge."""
        status, message = error.status_code, f"{error.status_code} {self._message(error)}"
        if 300 <= status < 400:
            target = urlsplit(urljoin(self._connection.url, error.response.headers.get("location", ""))).netloc
            return JudgeUnusable(
                f"The judge's server redirects requests to {self._shown(target)}. Frames and captions are sent only to "
                "the address that you name: if you trust this one, set it with --judge-url."
            )
        if status in WRONG_KEY:
            return JudgeUnusable(
                f"The judge's server refused the key: {message} "
                "Set another one in LOOKAWAY_JUDGE_KEY or in the file that --judge-file names."
            )
        if status == TOO_MANY and error.code == "insufficient_quota":
            return JudgeUnusable(f"The quota of the judge's account is used up: {message}")
        if status == NO_SUCH_MODEL:
            return TransientError(f"the server does not serve the model {model!r}, or not at this address: {message}")
        if status == TOO_MANY or status in TRANSIENT or status >= 500:
            return TransientError(message, _retry_after(error.response.headers))
        is_refusal = "content_filter" in str(error.code) or "content_policy" in str(error.code)
        return PermanentError(f"the server refused the question: {message}", is_refusal=is_refusal)

    def _message(self, error: Any) -> str:
        body = error.body if isinstance(error.body, Mapping) else {}
        return self._shown(body.get("message") or error.message) + "."

    def _shown(self, text: object) -> str:
        words = " ".join(self._connection.key.scrub(str(text)).split())
        return words[:SHOWN_CHARACTERS].rstrip(".")


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, in any of the forms that servers use."""
    milliseconds, text = headers.get("retry-after-ms"), headers.get("retry-after")
    try:
        if milliseconds is not None:
            seconds = float(milliseconds) / 1000
        elif text is not None:
            seconds = float(text)
        else:
            return None
    except ValueError:
        date = email.utils.parsedate_tz(text or "")
        if date is None:
            return None
        seconds = email.utils.mktime_tz(date) - time.time()
    return min(max(seconds, 0.0), LONGEST_WAIT_SECONDS)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")
