"""YAML as records need it: no aliases, no merge keys, no integers that take seconds to compute."""

from __future__ import annotations

import re
from typing import Any

import yaml

from lookaway.core import DatasetError
from lookaway.io.limits import MAX_DIGITS, MAX_YAML_DEPTH

MERGE = "tag:yaml.org,2002:merge"
INTEGER = re.compile(rf"[-+]?[0-9]{{1,{MAX_DIGITS}}}")
NUMBER = re.compile(r"[-+]?(\d{1,20}(\.\d{0,40})?|\.\d{1,40})([eE][-+]?\d{1,3})?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


def parse_yaml(text: str, where: str) -> Any:
    """The one document of a YAML text, or a `DatasetError` that quotes nothing of it."""
    try:
        return yaml.load(text, _Loader)  # noqa: S506 - a subclass of the safe loader
    except _Refused as error:
        raise DatasetError(f"{where}: not readable as YAML: line {error.line}: {error}.") from error
    except yaml.MarkedYAMLError as error:
        # Its own message quotes the lines around the mark.
        line = f" at line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise DatasetError(f"{where}: not readable as YAML{line}.") from error
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise DatasetError(f"{where}: not readable as YAML ({type(error).__name__}).") from error


class _Refused(Exception):
    """Valid YAML that is not read."""

    def __init__(self, message: str, mark: Any) -> None:
        super().__init__(message)
        self.line = mark.line + 1


class _Loader(yaml.SafeLoader):
    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """A node; aliases are refused, since a few nested ones stand for billions of values."""
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            raise _Refused("aliases are not read; repeat the value", event.start_mark)
        self.depth += 1
        if self.depth > MAX_YAML_DEPTH:
            raise _Refused(f"more than {MAX_YAML_DEPTH} collections inside each other", event.start_mark)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def flatten_mapping(self, node: Any) -> None:
        """Merge keys are refused; nothing else needs flattening."""
        for key, _ in node.value:
            if key.tag == MERGE:
                raise _Refused("merge keys (<<) are not read; write the keys out", key.start_mark)

    def construct_number(self, node: Any) -> int | float:
        """An integer or a number in decimal digits: no base 60, no other base, no underscores."""
        text = self.construct_scalar(node)
        if INTEGER.fullmatch(text):
            return int(text)
        if NUMBER.fullmatch(text):
            return float(re.sub(r"\.(inf|nan)", r"\1", text.lower()))
        raise _Refused("a number that is not written in decimal digits, or is too long; quote it", node.start_mark)


for _tag in ("int", "float"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_tag}", _Loader.construct_number)
