"""A judge that knows the truth: a real server that answers about clips of the simulated world, as well or as badly as
its dials say."""

from lookaway.judges.oracle.answer_function import AnswerFunction
from lookaway.judges.oracle.book import Book
from lookaway.judges.oracle.dials import Dials
from lookaway.judges.oracle.faults import FAULT_KINDS, Faults
from lookaway.judges.oracle.known_clip import KnownClip
from lookaway.judges.oracle.server import OracleServer, serve

__all__ = ["FAULT_KINDS", "AnswerFunction", "Book", "Dials", "Faults", "KnownClip", "OracleServer", "serve"]
