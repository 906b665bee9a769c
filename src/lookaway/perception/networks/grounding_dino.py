"""Grounding DINO: how well each of its boxes fits each token of a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from lookaway.core import Case, Compute, Floats, Pixels
from lookaway.perception.networks.batching import batch_size
from lookaway.perception.networks.fits import Colours, Fitted, to_input
from lookaway.perception.networks.pretrained import load_pretrained, load_tokenizer, load_torch
from lookaway.perception.weights import Weights

MAX_CHARACTERS = 1000
"""Longest query: more than any detector takes, and short enough to be tokenized at once."""
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
    return words[-MAX_CHARACTERS:].strip()


def token_ids(tokenizer: Any, phrase: str, most: int) -> list[int]:
    """A phrase and its full stop between the tokens that begin and end a text, `most` in all."""
    words, stop = (tokenizer(text, add_special_tokens=False).input_ids for text in (phrase, "."))
    around = [tokenizer.cls_token_id, *stop, tokenizer.sep_token_id]
    return [around[0], *words[-(most - len(around)) :], *around[1:]]


def _cleaned(text: str) -> str:
    # Half a surrogate pair is valid JSON, but no tokenizer takes it.
    readable = text.encode("utf-8", "replace").decode()
    return " ".join(readable.translate(SEPARATORS).lower().split())


STRIDES = (8, 16, 32, 64)
"""Strides of the feature maps, in pixels."""
COPIES = 24
"""How many copies of its maps the network holds, roughly, in single precision: each is sampled 4 times a place."""


@dataclass(frozen=True, slots=True)
class GroundingDino:
    """The loaded network."""

    torch: ModuleType
    model: Any
    tokenizer: Any
    colours: Colours
    compute: Compute

    @classmethod
    def load(cls, weights: Weights, colours: Colours, compute: Compute) -> GroundingDino:
        """The network and its tokenizer, from the same files."""
        torch, model = load_torch(compute), load_pretrained("GroundingDinoForObjectDetection", weights, compute)
        return cls(torch, model, load_tokenizer("AutoTokenizer", weights), colours, compute)

    def tokens(self, phrase: str) -> list[int]:
        """The tokens of a query, no more than the network takes."""
        return token_ids(self.tokenizer, phrase, self.model.config.max_text_len)

    def __call__(self, pictures: Sequence[Pixels], fitted: Fitted, tokens: Sequence[int]) -> tuple[Floats, Floats]:
        """[pictures, boxes, tokens] probabilities and [pictures, boxes, 4] corners, from pictures of one size."""
        with self.torch.inference_mode():
            batch = to_input(self.torch, pictures, fitted, self.colours, self.compute)
            text = self.torch.tensor([tokens] * len(pictures), device=self.compute.device)
            found = self.model(pixel_values=batch, input_ids=text)
            probabilities = found.logits[:, :, : len(tokens)].float().sigmoid().cpu().numpy()
            middle, size = np.split(found.pred_boxes.float().cpu().numpy(), 2, axis=-1)
        return probabilities, np.concatenate([middle - size / 2, middle + size / 2], axis=-1).clip(0, 1)

    @property
    def queries(self) -> int:
        """How many boxes it draws in a picture."""
        return int(self.model.config.num_queries)

    def places(self, fitted: Fitted) -> int:
        """At how many places of a picture it looks."""
        width, height = fitted.window
        return sum(-(-width // stride) * -(-height // stride) for stride in STRIDES)

    def frames_at_once(self, fitted: Fitted) -> int:
        """How many pictures go through at once."""
        return batch_size(self.places(fitted) * self.model.config.d_model * 4 * COPIES, self.compute)
