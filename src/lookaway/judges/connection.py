"""Where a judge's server stands, and the key to it."""

from __future__ import annotations

import math
import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from lookaway.core import UserError
from lookaway.judges.secret import Secret

VARIABLES: Mapping[str, tuple[str, ...]] = {
    "url": ("LOOKAWAY_JUDGE_URL", "MBENCH_VLM_BASE_URL", "OPENAI_BASE_URL", "OPENAI_API_BASE"),
    "key": ("LOOKAWAY_JUDGE_KEY", "MBENCH_VLM_API_KEY", "OPENAI_API_KEY"),
    "model": ("LOOKAWAY_JUDGE_MODEL", "MBENCH_VLM_MODEL"),
}
"""No model is taken from variables that are set for other programs: naming one is what turns the judge on."""
FILE_VARIABLE = "LOOKAWAY_JUDGE_FILE"
DEFAULT_URL = "https://api.openai.com/v1"
ENDPOINT = "/chat/completions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """Where to ask, with which key, and how long to wait for an answer."""

    url: str = DEFAULT_URL
    key: Secret = Secret()
    timeout_seconds: float = 120.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", self.url.rstrip("/").removesuffix(ENDPOINT).rstrip("/"))
        parts = urlsplit(self.url)
        if parts.username or parts.password:
            raise UserError("The address of a judge holds a password. Give it as the judge's key instead.")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UserError(f"{self.url!r} is no address of a server, such as http://127.0.0.1:8000/v1.")
        if not 0 < self.timeout_seconds < math.inf:
            raise UserError(f"A time limit for answers is positive, found {self.timeout_seconds:g} s.")


def find_setting(name: str, flag: str | None, file: Mapping[str, str], given: Mapping[str, str] = os.environ) -> str:
    """One setting: from the flag, else the file, else the environment; empty where nobody says."""
    if flag:
        return flag
    if name in file:
        return file[name]
    return next((given[variable] for variable in VARIABLES[name] if given.get(variable)), "")


def read_private_file(path: Path | None, given: Mapping[str, str] = os.environ) -> dict[str, str]:
    """`url`, `key` and `model` from a TOML file that only its owner can read; nothing where no file is named."""
    if path is None:
        named = given.get(FILE_VARIABLE)
        if not named:
            return {}
        path = Path(named).expanduser()
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        # Neither the text nor a line of it is repeated: it holds a key.
        raise UserError(f"{path}: cannot be read as TOML ({type(error).__name__}).") from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UserError(f"{path}: others can read it, and it holds a key. Make it private with: chmod 600 {path}")
    if unknown := sorted(set(content) - set(VARIABLES)):
        raise UserError(f"{path}: unknown settings {', '.join(unknown)}; known: {', '.join(VARIABLES)}.")
    if not all(isinstance(value, str) for value in content.values()):
        raise UserError(f"{path}: all settings are text in quotation marks.")
    return content
