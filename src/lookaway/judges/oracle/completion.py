"""Turns an answer of the oracle into a chat completion."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lookaway.core import Json
from lookaway.judges.oracle.parsed_question import ParsedQuestion

YES_OR_NO = 0.98
"""Probability of all spellings of yes and no together."""
SPELLINGS = {True: {"Yes": 0.7, " yes": 0.2, "YES": 0.1}, False: {"No": 0.7, " no": 0.2, "NO": 0.1}}
"""How the probability of each side is split among its spellings."""
OTHER_WORDS = {"The": 0.01, "I": 0.005}
PIECES = re.compile(r"\s*\w+|\s*[^\w\s]|\s+")
CHARACTERS_PER_TOKEN, PIXELS_PER_TOKEN = 4, 28 * 28


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message of the oracle before it is sent."""

    content: Json
    first_words: Mapping[str, float] | None = None
    """Probabilities of the first word, if known."""
    refusal: str | None = None
    finish: str = "stop"


def yes_or_no(p_yes: float) -> Message:
    """Yes or no, whichever is more likely.

    A spelling with share s of its side has probability 0.98 s p, with p = `p_yes` for a yes and 1 - `p_yes` for a
    no; words of probability 0 are left out. So P(yes) / (P(yes) + P(no)), each over all spellings, is `p_yes`.
    """
    chances = {
        word: YES_OR_NO * share * (p_yes if side else 1.0 - p_yes)
        for side, words in SPELLINGS.items()
        for word, share in words.items()
    }
    likely = {word: chance for word, chance in {**chances, **OTHER_WORDS}.items() if chance > 0}
    return Message(content="Yes" if p_yes >= 0.5 else "No", first_words=likely)


def chat_completion(
    message: Message, question: ParsedQuestion, pixels: int, name: str, *, model: str, logprobs: bool
) -> dict[str, Any]:
    """The whole reply of a server; an answer longer than requested is cut off."""
    pieces = PIECES.findall(message.content) if isinstance(message.content, str) else []
    content, finish = message.content, message.finish
    if question.max_tokens is not None and pieces and len(pieces) >= question.max_tokens:
        pieces, finish = pieces[: question.max_tokens], "length"
        content = "".join(pieces)
    choice: dict[str, Any] = {
        "index": 0,
        "message": {"role": "assistant", "content": content, "refusal": message.refusal},
        "finish_reason": finish,
    }
    if logprobs:
        choice["logprobs"] = None if question.token_choices is None else {"content": _tokens(pieces, message, question)}
    prompt_tokens = question.text_characters // CHARACTERS_PER_TOKEN + pixels // PIXELS_PER_TOKEN + 1
    return {
        "id": name,
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [choice],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": len(pieces),
            "total_tokens": prompt_tokens + len(pieces),
        },
    }


def _tokens(pieces: list[str], message: Message, question: ParsedQuestion) -> list[dict[str, Any]]:
    """Each piece with its most likely alternatives; only the piece itself where no probabilities are known."""
    tokens = []
    for position, piece in enumerate(pieces):
        likely = message.first_words if position == 0 and message.first_words else {piece: 1.0}
        ranked = sorted(likely.items(), key=lambda entry: -entry[1])[: question.token_choices]
        tokens.append({**_token(piece, likely[piece]), "top_logprobs": [_token(*entry) for entry in ranked]})
    return tokens


def _token(word: str, chance: float) -> dict[str, Any]:
    return {"token": word, "logprob": math.log(chance), "bytes": list(word.encode())}
