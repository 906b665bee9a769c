"""Draws words by their probability, from a generator of its own."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from lookaway.core import Sampling


class Draw:
    """Leaves one drawn token in each place of an answer, so that the likeliest of the rest is that one.

    The random state of the process stays as it was, also for whoever draws from it meanwhile.
    """

    def __init__(self, torch: ModuleType, sampling: Sampling, seed: int | None) -> None:
        self.torch = torch
        self.sampling = sampling
        self.generator = torch.Generator()
        if seed is None:
            self.generator.seed()
        else:
            self.generator.manual_seed(seed)

    def __call__(self, tokens: Any, logits: Any) -> Any:
        """Logits [1, vocabulary] of the next token, all but the drawn one impossible."""
        ahead = logits.cpu().double() - logits.max().item()
        likely, order = (ahead / self.sampling.temperature).softmax(-1).sort(descending=True, stable=True)
        # A token counts where those before it do not make up the share yet; the likeliest always does.
        likely[likely.cumsum(-1) - likely >= self.sampling.top_p] = 0.0
        drawn = order.gather(1, self.torch.multinomial(likely, 1, generator=self.generator))
        return self.torch.full_like(logits, -self.torch.inf).scatter(1, drawn.to(logits.device), 0.0)
