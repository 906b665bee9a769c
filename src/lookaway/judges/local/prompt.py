"""Tokenizes a request with the chat template of a model, so that text cannot pose as part of the template."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from lookaway.core import JudgeRequest, JudgeUnusable
from lookaway.judges.openai_format import turns

MARK = re.compile("\ue000(\\d+)\ue001")


def prompt_tokens(tokenizer: Any, request: JudgeRequest) -> list[int]:
    """The tokens, with one token for each picture.

    The template is filled with placeholders, and the text is tokenized separately and put in their places, so that no
    text becomes a control token.
    """
    texts: list[str] = []

    def marked(text: str) -> str:
        texts.append(text)
        return f"\ue000{len(texts) - 1}\ue001"

    pieces = MARK.split(_fill(tokenizer, list(messages(request, marked))))
    if [int(index) for index in pieces[1::2]] != list(range(len(texts))):
        raise JudgeUnusable(
            "The chat template of the model drops or repeats parts of a request, such as the system prompt. "
            "Use an instruction-tuned vision-language model."
        )
    tokens: list[int] = []
    for number, piece in enumerate(pieces):
        if number % 2:
            tokens += plain_tokens(tokenizer, texts[int(piece)])
        elif piece:
            tokens += tokenizer(piece, add_special_tokens=False)["input_ids"]
    return tokens


def messages(request: JudgeRequest, marked: Callable[[str], str]) -> Iterator[dict[str, Any]]:
    """The turns of the conversation for a chat template; a local model gets the schema as text."""
    worded = replace(request, judge=replace(request.judge, wording="text"))
    for role, parts in turns(worded):
        content = [
            {"type": "text", "text": marked(part)} if isinstance(part, str) else {"type": "image"} for part in parts
        ]
        yield {"role": role, "content": content}


def plain_tokens(tokenizer: Any, text: str) -> list[int]:
    """Text as ordinary tokens of the vocabulary, without control tokens."""
    backend = tokenizer.backend_tokenizer
    if backend.normalizer is not None:
        text = backend.normalizer.normalize_str(text)
    words = (
        [text] if backend.pre_tokenizer is None else [word for word, _ in backend.pre_tokenizer.pre_tokenize_str(text)]
    )
    return [token.id for word in words for token in backend.model.tokenize(word)]


def _fill(tokenizer: Any, turns: list[dict[str, Any]]) -> str:
    from jinja2 import TemplateError

    try:
        return str(tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))
    except TemplateError as error:
        raise JudgeUnusable(
            f"The chat template of the model does not support a system prompt with pictures: {error}. "
            "Use an instruction-tuned vision-language model."
        ) from error
