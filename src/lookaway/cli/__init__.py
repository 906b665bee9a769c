"""The command line: one file per command, each a thin layer over a library call."""

from lookaway.cli.main import main

__all__ = ["main"]
