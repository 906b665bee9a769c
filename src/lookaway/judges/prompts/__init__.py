"""What judges are told: files, each with a hash."""

from lookaway.judges.prompts.prompt import Prompt

__all__ = ["Prompt"]
