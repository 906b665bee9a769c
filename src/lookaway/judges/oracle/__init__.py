"""A judge that knows the truth: a real server that answers questions about clips of the simulated world, with as much
noise and as many server errors as it is configured for."""

from lookaway.judges.oracle.clip_index import KnownClip
from lookaway.judges.oracle.noise import Noise
from lookaway.judges.oracle.parsed_question import AnswerFunction
from lookaway.judges.oracle.request_log import RequestLog
from lookaway.judges.oracle.server import OracleServer, serve
from lookaway.judges.oracle.server_errors import ERROR_KINDS, ServerErrors

__all__ = ["ERROR_KINDS", "AnswerFunction", "KnownClip", "Noise", "OracleServer", "RequestLog", "ServerErrors", "serve"]
