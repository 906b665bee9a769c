"""A question as the tokens of a model: its own chat template around text that cannot pretend to be part of it."""

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

    The template is filled with marks, and the text is put in their places after it was cut into tokens by itself: no
    text becomes a control token, whatever it says.
    """
    texts: list[str] = []

    def marked(text: str) -> str:
        texts.append(text)
        return f"\ue000{len(texts) - 1}\ue001"

    laid_out = MARK.split(_filled(tokenizer, list(messages(request, marked))))
    if [int(place) for place in laid_out[1::2]] != list(range(len(texts))):
        raise JudgeUnusable(
            "The chat template of the model leaves out or repeats parts of a question, such as what a judge is told "
            "before it. Take an instruction-tuned vision-language model."
        )
    tokens: list[int] = []
    for number, piece in enumerate(laid_out):
        if number % 2:
            tokens += plain_tokens(tokenizer, texts[int(piece)])
        elif piece:
            tokens += tokenizer(piece, add_special_tokens=False)["input_ids"]
    return tokens


def messages(request: JudgeRequest, marked: Callable[[str], str]) -> Iterator[dict[str, Any]]:
    """The turns of the talk as a chat template takes them; a model in this process is told the schema in words."""
    told = replace(request, judge=replace(request.judge, wording="text"))
    for role, parts in turns(told):
        content = [
            {"type": "text", "text": marked(part)} if isinstance(part, str) else {"type": "image"} for part in parts
        ]
        yield {"role": role, "content": content}


def plain_tokens(tokenizer: Any, text: str) -> list[int]:
    """Text as tokens of the vocabulary proper, without those that were added to steer the model."""
    backend = tokenizer.backend_tokenizer
    if backend.normalizer is not None:
        text = backend.normalizer.normalize_str(text)
    words = (
        [text] if backend.pre_tokenizer is None else [word for word, _ in backend.pre_tokenizer.pre_tokenize_str(text)]
    )
    return [token.id for word in words for token in backend.model.tokenize(word)]


def _filled(tokenizer: Any, turns: list[dict[str, Any]]) -> str:
    from jinja2 import TemplateError

    try:
        return str(tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))
    except TemplateError as error:
        raise JudgeUnusable(
            f"The chat template of the model does not take a question with a system turn and pictures: {error}. "
            "Take an instruction-tuned vision-language model."
        ) from error
