"""The command line: one file per command. What a command does, a library call does too."""

from lookaway.cli.main import main

__all__ = ["main"]
