"""A judge behind a server with an OpenAI-compatible API, and how to connect to it."""

from __future__ import annotations

import asyncio
import email.utils
import json
import math
import os
import stat
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from lookaway.core import Json, JudgeRequest, JudgeUnusable, MissingExtra, UserError
from lookaway.judges.errors import PermanentError, TransientError
from lookaway.judges.openai_format import EncodedPictures, completion_fields

HIDDEN = "***"
SHORTEST = 4
"""Shorter secrets are part of too many ordinary words to be scrubbed."""


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
        """Other text with the secret removed."""
        return text.replace(self._value, HIDDEN) if len(self._value) >= SHORTEST else text

    def __repr__(self) -> str:
        return HIDDEN

    def __bool__(self) -> bool:
        return bool(self._value)


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
    """The address of a server, its API key, and the timeout of a request."""

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
        self._openai: Any = openai
        self._connection = connection
        self._encoded = EncodedPictures()
        self._client = openai.AsyncOpenAI(
            base_url=connection.url,
            api_key=connection.key.reveal() or "none",
            timeout=connection.timeout_seconds,
            max_retries=0,
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
            response = await create(**fields, extra_body=more or None)
            body = response.http_response.content
        except self._openai.APIStatusError as error:
            raise self._typed_error(error, request.judge.model) from None
        except self._openai.APITimeoutError:
            raise TransientError(f"no answer within {self._connection.timeout_seconds:g} s.") from None
        except self._openai.APIConnectionError as error:
            problem = self._shown(error.__cause__ or error)
            raise TransientError(f"the connection to {self._connection.url} failed: {problem}.") from None
        return self._parsed(body)

    async def models(self) -> list[str]:
        """The models that the server lists."""
        try:
            return [model.id async for model in self._client.models.list()]
        except self._openai.OpenAIError as error:
            raise TransientError(f"the server does not list its models: {self._shown(error)}.") from None

    async def close(self) -> None:
        """Close its connections."""
        await self._client.close()

    def _parsed(self, body: bytes) -> Json:
        """The completion, with the API key removed if the server repeats it."""
        try:
            return json.loads(self._connection.key.scrub(body.decode()), parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise TransientError(f"the server's reply is cut off or not JSON: {self._shown(error)}.") from None

    def _typed_error(self, error: Any, model: str) -> Exception:
        """The meaning of an HTTP status: try again, give up on this request, or give up on the judge."""
        status, message = error.status_code, f"{error.status_code} {self._message(error)}"
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


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")
