"""A judge that knows the truth: a real server that answers about clips of the simulated world, as well or as badly as
its dials say."""

from lookaway.judges.oracle.asked import AnswerFunction
from lookaway.judges.oracle.clip_index import ClipIndex, KnownClip
from lookaway.judges.oracle.noise import Noise
from lookaway.judges.oracle.server import OracleServer, serve
from lookaway.judges.oracle.server_errors import ERROR_KINDS, Faults

__all__ = ["ERROR_KINDS", "AnswerFunction", "ClipIndex", "Faults", "KnownClip", "Noise", "OracleServer", "serve"]
