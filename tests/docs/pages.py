"""Reads the code blocks of a page, runs them in a folder, and compares what they print with what the page shows.

A block with a title is a file and is written. A `console` block is run command by command, a `python` block as a
script. A comment before a block keeps it from being run: `<!-- not run: it would install something -->`. A comment at
the top of a page names the page whose folder it goes on from: `<!-- goes on from: get-started.md -->`.

    python -m tests.docs.pages [PAGE...]    runs all pages or these, and writes what the commands print into them
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

from tests.support.made_once import CACHE, copy_of, key_of

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
PAGES = [*sorted(REPOSITORY.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
RUN_LANGUAGES = ("console", "python")

FENCE = re.compile(
    r"(?:^<!-- not run: (?P<why>[^\n]*?) -->\n+)?"
    r"^```(?P<language>\w+)?(?: title=\"(?P<title>[^\"]+)\")?[^\n]*\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
ORIGIN = re.compile(r"^<!-- goes on from: (\S+) -->$", re.MULTILINE)
HASH = re.compile(r"(?<!\.)\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{12,}\b")
TIME = re.compile(r"\b\d+(\.\d+)? ?(s|min|h|d)\b")
DECIMAL = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")
HOW_FAR = re.compile(r"Waiting for a worker: ")
"""What a command says if it takes long."""
TOLERANCE = 0.02
"""Encoders and decoders of other versions move the third digit."""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str
    title: str | None
    is_run: bool
    start: int
    stop: int


@dataclass(frozen=True)
class Step:
    """A command of a console block and what the page says it prints."""

    command: str
    output: list[str]
    source: list[str]


def blocks(text: str) -> list[Block]:
    """All fenced blocks of a page."""
    return [
        Block(
            language=match["language"] or "",
            text=match["text"],
            title=match["title"],
            is_run=match["why"] is None,
            start=match.start("text"),
            stop=match.end("text"),
        )
        for match in FENCE.finditer(text)
    ]


def origin(text: str) -> str | None:
    """The page whose folder this page goes on from."""
    found = ORIGIN.search(text)
    return found[1] if found else None


STARTS = frozenset(DOCS / before for path in PAGES if (before := origin(path.read_text(encoding="utf-8"))))
"""Pages that others go on from."""
FOLDER, PRINTED = "folder", "printed"


def has_examples(path: Path) -> bool:
    """Whether the page has blocks to run."""
    return any(block.is_run and block.language in RUN_LANGUAGES for block in blocks(path.read_text(encoding="utf-8")))


def steps(block: Block) -> list[Step]:
    """The commands of a console block."""
    found: list[Step] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append(Step(line[2:], [], [line]))
        elif line.startswith("> ") and found and not found[-1].output:
            last = found.pop()
            found.append(Step(f"{last.command}\n{line[2:]}", [], [*last.source, line]))
        elif found:
            found[-1].output.append(line)
        else:
            raise ValueError(f"A console block starts with a command after '$ ', found {line!r}.")
    return found


Ran: TypeAlias = list[tuple[Block, list[tuple[Step, list[str]]]]]
"""Every console block that was run, with what each of its commands really printed."""


def run_page(text: str, folder: Path) -> Iterator[tuple[Block, list[tuple[Step, list[str]]]]]:
    """Run all blocks of a page in order; yields every console block with what each command really printed."""
    for block in blocks(text):
        if not block.is_run:
            continue
        if block.title:
            path = folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        elif block.language == "python":
            _checked(_run([sys.executable, "-W", "error", "-c", block.text], folder), block.text)
        elif block.language == "console":
            yield block, list(_run_console(block, folder))


def _run_console(block: Block, folder: Path) -> Iterator[tuple[Step, list[str]]]:
    code = 0
    for step, following in itertools.zip_longest(steps(block), steps(block)[1:]):
        command = _install(step.command, folder) if step.command.startswith("pip install") else step.command
        done = _run(["bash", "-c", f"(exit {code}); {command}"], folder)
        code = done.returncode
        if following is None or following.command != "echo $?":
            _checked(done, step.command)
        yield step, [line for line in done.stdout.splitlines() if not HOW_FAR.match(line)]


def _install(command: str, folder: Path) -> str:
    """Install a package of the page beside the page's folder instead of into the environment of the tests."""
    target = shlex.quote(str(_packages(folder)))
    what = command.removeprefix("pip install").strip()
    offline = "--quiet --disable-pip-version-check --no-index --no-deps --no-build-isolation"
    return f"PYTHONWARNINGS= {shlex.quote(sys.executable)} -m pip install {offline} --target {target} {what}"


def _packages(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}-packages")


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(_packages(folder)),
        # Ray starts programs of its own, which warn of what is not ours.
        "PYTHONWARNINGS": "" if "--executor ray" in command[-1] else "error",
        "NO_COLOR": "1",
        "LOOKAWAY_NO_PROGRESS": "1",  # on a terminal nothing is left of it
        "OPENBLAS_NUM_THREADS": "1",
        # A plan rests on what earlier runs took, and they must be the page's own.
        "LOOKAWAY_HOME": str(folder.with_name(f"{folder.name}-home")),
    }
    return subprocess.run(
        command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300
    )


def _checked(done: subprocess.CompletedProcess[str], what: str) -> None:
    if done.returncode:
        raise AssertionError(f"exit code {done.returncode} of\n{what}\n{done.stdout}")


def agrees(shown: list[str], printed: list[str]) -> bool:
    """Whether a page shows what was printed; a line of three dots stands for any lines."""
    wanted, found = (
        [_tokens(line) for line in shown if line.strip()],
        [_tokens(line) for line in printed if line.strip()],
    )
    return _lines_agree(wanted, found)


def _lines_agree(wanted: list[list[str]], found: list[list[str]]) -> bool:
    if not wanted:
        return not found
    if wanted[0] == ["..."]:
        return any(_lines_agree(wanted[1:], found[skipped:]) for skipped in range(len(found) + 1))
    return bool(found) and _line_agrees(wanted[0], found[0]) and _lines_agree(wanted[1:], found[1:])


def _line_agrees(wanted: list[str], found: list[str]) -> bool:
    return len(wanted) == len(found) and all(map(_token_agrees, wanted, found))


def _token_agrees(wanted: str, found: str) -> bool:
    if wanted == found:
        return True
    ours, theirs = DECIMAL.findall(wanted), DECIMAL.findall(found)
    if not ours or len(ours) != len(theirs) or DECIMAL.sub("#", wanted) != DECIMAL.sub("#", found):
        return False
    return all(abs(float(a) - float(b)) <= TOLERANCE * max(1, abs(float(a))) for a, b in zip(ours, theirs, strict=True))


def _tokens(line: str) -> list[str]:
    return TIME.sub("<time>", HASH.sub("<hash>", line)).split()


class Runner:
    """Runs pages, each in a folder of its own; one that others go on from is run once for all test processes."""

    def __init__(self, root: Path) -> None:
        self._root = root
        # What a page did belongs to this run of the tests alone: all of the package may have changed since the last.
        self._number = os.environ.get("PYTEST_XDIST_TESTRUNUID") or str(os.getpid())
        self._starts: dict[Path, Path] = {}

    def run(self, path: Path) -> Ran:
        """What the commands of a page print, from an empty folder or from the one that the page goes on from."""
        if path in STARTS:
            return _read_ran(self._start(path) / PRINTED)
        return self._run(path, self._root / _name(path))

    def _start(self, path: Path) -> Path:
        if path not in self._starts:
            key, target = key_of(self._number, path), self._root / f"{_name(path)}-start"
            self._starts[path] = copy_of(key, target, partial(self._make_start, path))
        return self._starts[path]

    def _make_start(self, path: Path, target: Path) -> None:
        ran = self._run(path, target / FOLDER)
        (target / PRINTED).write_text(
            json.dumps([[asdict(block), [[asdict(step), lines] for step, lines in steps]] for block, steps in ran])
        )

    def _run(self, path: Path, folder: Path) -> Ran:
        text = path.read_text(encoding="utf-8")
        before = origin(text)
        if before is None:
            folder.mkdir(parents=True)
        else:
            shutil.copytree(self._start(DOCS / before) / FOLDER, folder)
        return list(run_page(text, folder))


def _read_ran(path: Path) -> Ran:
    return [
        (Block(**block), [(Step(**step), lines) for step, lines in steps])
        for block, steps in json.loads(path.read_text())
    ]


def _name(path: Path) -> str:
    return path.relative_to(REPOSITORY).with_suffix("").as_posix().replace("/", "-")


def rewrite(path: Path, ran: Ran) -> bool:
    """Write what the commands of a page print into the page, where it shows something else."""
    text = path.read_text(encoding="utf-8")
    pieces, written = [], 0
    for block, printed in ran:
        lines = []
        for step, found in printed:
            shown = step.output if agrees(step.output, found) else [line.rstrip() for line in found if line.strip()]
            lines += [*step.source, *shown]
        pieces += [text[written : block.start], "".join(f"{line}\n" for line in lines)]
        written = block.stop
    updated = "".join([*pieces, text[written:]])
    if updated != text:
        path.write_text(updated, encoding="utf-8")
    return updated != text


def main() -> None:
    """Rewrite every page that needs it, or of those that are named."""
    named = {Path(name).resolve() for name in sys.argv[1:]}
    with tempfile.TemporaryDirectory() as root:
        os.environ[CACHE] = str(Path(root) / "made_once")
        runner = Runner(Path(root))
        for path in filter(has_examples, PAGES):
            if (not named or path in named) and rewrite(path, runner.run(path)):
                print(f"rewrote {path.relative_to(REPOSITORY)}")


if __name__ == "__main__":
    main()
