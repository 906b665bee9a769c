"""What to look for, as a text that a detector can take: what datasets write is data, however long or odd."""

from __future__ import annotations

from typing import Any

from lookaway.core import Case

MOST_CHARACTERS = 1000
"""Of a query. More than any detector takes, and few enough to be tokenized at once."""
SEPARATORS = str.maketrans(".?", "  ")
"""Detectors take these as the end of one query and the beginning of another."""


def phrase_of(case: Case) -> str:
    """What a case's target is called, its attributes first, in lower case; empty where it has no name.

    >>> from lookaway.core import Target
    >>> target = Target(name="Ball", attributes=("red", "made of  wood."))
    >>> phrase_of(Case(id="a", subset="all", scene="a", target=target))
    'red made of wood ball'
    """
    if case.target is None or not (name := _cleaned(case.target.name or "")):
        return ""
    words = " ".join(filter(None, [*map(_cleaned, case.target.attributes), name]))
    # The name comes last, so what is too long loses its beginning.
    return words[-MOST_CHARACTERS:].strip()


def token_ids(tokenizer: Any, phrase: str, most: int) -> list[int]:
    """A phrase and its full stop between the tokens that begin and end a text, `most` in all."""
    words, stop = (tokenizer(text, add_special_tokens=False).input_ids for text in (phrase, "."))
    around = [tokenizer.cls_token_id, *stop, tokenizer.sep_token_id]
    return [around[0], *words[-(most - len(around)) :], *around[1:]]


def _cleaned(text: str) -> str:
    # Half a surrogate pair is valid JSON, but no tokenizer takes it.
    readable = text.encode("utf-8", "replace").decode()
    return " ".join(readable.translate(SEPARATORS).lower().split())
