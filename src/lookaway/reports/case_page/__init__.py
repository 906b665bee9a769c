"""The page of one case: its videos, scores, curves, questions and the command that reproduces them."""
