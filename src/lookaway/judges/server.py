"""A judge behind a server that speaks the OpenAI protocol."""

from __future__ import annotations

import asyncio
import email.utils
import json
import time
from collections.abc import Mapping
from typing import Any

from lookaway.core import Json, JudgeRequest, JudgeUnusable, MissingExtra
from lookaway.judges.connection import Connection
from lookaway.judges.faults import LastingFault, PassingFault
from lookaway.judges.wire import completion_fields

LONGEST_WAIT_SECONDS = 600.0
"""However long a server asks to be left alone."""
WRONG_KEY, NO_SUCH_MODEL, TOO_MANY = (401, 403), 404, 429
PASSING = (408, 409, 425)
SHOWN_CHARACTERS = 300


class ServerJudge:
    """Sends one request at a time and turns whatever comes back into a reply or a typed fault; others are patient."""

    def __init__(self, connection: Connection) -> None:
        try:
            import openai
        except ImportError as error:
            raise MissingExtra("A judge behind a server", "judge") from error
        self._openai: Any = openai
        self._connection = connection
        self._client = openai.AsyncOpenAI(
            base_url=connection.url,
            api_key=connection.key.reveal() or "none",
            timeout=connection.timeout_seconds,
            max_retries=0,
        )

    async def reply(self, request: JudgeRequest) -> Json:
        """A chat completion; or a fault."""
        # Pictures are encoded beside the loop, which has other questions to attend to.
        fields = await asyncio.to_thread(completion_fields, request)
        extra = json.loads(request.judge.extra)
        fields = {name: value for name, value in fields.items() if name not in extra}
        more = {name: value for name, value in extra.items() if value is not None}
        create = self._client.chat.completions.with_raw_response.create
        try:
            response = await create(**fields, extra_body=more or None)
            body = response.http_response.content
        except self._openai.APIStatusError as error:
            raise self._fault(error, request.judge.model) from None
        except self._openai.APITimeoutError:
            raise PassingFault(f"no answer within {self._connection.timeout_seconds:g} s.") from None
        except self._openai.APIConnectionError as error:
            problem = self._shown(error.__cause__ or error)
            raise PassingFault(f"the connection to {self._connection.url} failed: {problem}.") from None
        return self._parsed(body)

    async def models(self) -> list[str]:
        """What the server says it serves."""
        try:
            return [model.id async for model in self._client.models.list()]
        except self._openai.OpenAIError as error:
            raise PassingFault(f"the server does not list its models: {self._shown(error)}.") from None

    async def close(self) -> None:
        """Close its connections."""
        await self._client.close()

    def _parsed(self, body: bytes) -> Json:
        """The completion, without the key, should the server repeat it."""
        try:
            return json.loads(self._connection.key.scrub(body.decode()), parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise PassingFault(f"the server's reply is cut off or no JSON: {self._shown(error)}.") from None

    def _fault(self, error: Any, model: str) -> Exception:
        """What an HTTP status means: another try, no use for this question, or no use at all."""
        status, message = error.status_code, f"{error.status_code} {self._message(error)}"
        if status in WRONG_KEY:
            return JudgeUnusable(
                f"The judge's server refused the key: {message} "
                "Give another one in LOOKAWAY_JUDGE_KEY or in the file that --judge-file names."
            )
        if status == TOO_MANY and error.code == "insufficient_quota":
            return JudgeUnusable(f"The judge's account has nothing left to spend: {message}")
        if status == NO_SUCH_MODEL:
            return PassingFault(f"the server does not serve the model {model!r}, or not at this address: {message}")
        if status == TOO_MANY or status in PASSING or status >= 500:
            return PassingFault(message, _retry_after(error.response.headers))
        is_refusal = "content_filter" in str(error.code) or "content_policy" in str(error.code)
        return LastingFault(f"the server refused the question: {message}", is_refusal=is_refusal)

    def _message(self, error: Any) -> str:
        body = error.body if isinstance(error.body, Mapping) else {}
        return self._shown(body.get("message") or error.message) + "."

    def _shown(self, text: object) -> str:
        words = " ".join(self._connection.key.scrub(str(text)).split())
        return words[:SHOWN_CHARACTERS].rstrip(".")


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, in any of the forms in which servers ask for it."""
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
