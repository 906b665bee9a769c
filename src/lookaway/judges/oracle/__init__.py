"""A judge that knows the truth: a real server that answers about clips of the simulated world, as well or as badly as
its dials say."""

from lookaway.judges.oracle.asked import AnswerFunction
from lookaway.judges.oracle.clip_index import Book, KnownClip
from lookaway.judges.oracle.noise import Dials
from lookaway.judges.oracle.server import OracleServer, serve
from lookaway.judges.oracle.server_errors import FAULT_KINDS, Faults

__all__ = ["FAULT_KINDS", "AnswerFunction", "Book", "Dials", "Faults", "KnownClip", "OracleServer", "serve"]
