"""No page says that something registered does not exist, and none limits itself to the day it was written."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from lookaway.cli.main import lookaway as root
from lookaway.core import plugins
from lookaway.engine.reading import load_suite
from tests.docs.pages import PAGES, REPOSITORY, blocks

CHECKED = [path for path in PAGES if path.name != "CHANGELOG.md"]

DENIALS = (
    r"^there (?:is|are) no {x}\b(?! (?:that|which|of|for|in|on|to|where|with)\b)",
    r"\bno {x} (?:yet|is there|are there|exists?|is planned)\b",
    r"\bnot an? {x}\b",
    r"{x} (?:is|are) (?:planned|not there|not available|not supported|not implemented|not installed|to come)\b",
    r"{x} (?:does|do|did) not exist\b",
    r"^{x}: .*\b(?:none|nothing) (?:is|exists) (?:there )?yet\b",
    r"{x}[^.;:]*\bnot there yet\b",
)
"""Ways to say that `x` does not exist."""
NAMED_DENIALS = (
    r"^(?:planned|not there yet|to come|later)\b.*{x}",
    r"\bplanned\b[^.;]*{x}",
    r"{x}[^.;]*\b(?:has|have) no effect yet\b",
)
"""The same, for names alone: a kind, such as suites, may well have planned members."""
DATED = r"\b(?:today|for now|as of now|at the moment|so far only|in this version|for later)\b"
"""A page that says what is there *today* goes stale without anybody noticing."""


@cache
def names() -> tuple[str, ...]:
    """Patterns for everything that is registered, as pages write it."""
    registered = {name for kind in ("metrics", "extractors", "executors", "suites") for name in plugins.names(kind)}
    registered |= set(_extras()) | set(root.commands) | {f"lookaway {command}" for command in root.commands}
    titles = {load_suite(name).title.partition(":")[0] for name in plugins.names("suites")}
    known_by_sight = {name for name in registered if re.search(r"[_\d-]", name)} | {
        title for title in titles if re.search("[A-Z]{2}", title)
    }
    # A name that is also a plain word, such as `show`, counts only where it is set as code.
    return (
        *(f"`{re.escape(name)}`" for name in sorted(registered)),
        *(rf"(?<![\w-]){re.escape(name)}(?![\w-])" for name in sorted(known_by_sight)),
    )


@cache
def kinds() -> tuple[str, ...]:
    """Patterns for what pages call the things that are registered, where there is at least one of them."""
    gates = [
        bound.name for suite in plugins.names("suites") for bound in load_suite(suite).metrics({}) if bound.is_gate
    ]
    poses = [name for name in plugins.names("extractors") if name.endswith("_poses")]
    found = {
        r"judges?": plugins.names("judges"),
        r"(?:trigger )?gates?": gates,
        r"(?:pose|camera) (?:estimators?|trackers?)": poses,
        r"suites?": plugins.names("suites"),
        r"metrics?": plugins.names("metrics"),
        r"extractors?": plugins.names("extractors"),
        r"executors?": plugins.names("executors"),
        r"reports?": [command for command in root.commands if command == "report"],
        r"simulated worlds?": [command for command in root.commands if command == "world"],
        r"simulators?": [command for command in root.commands if command == "world"],
    }
    return tuple(rf"\b{kind}" for kind, members in found.items() if members)


def _extras() -> list[str]:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return list(project["optional-dependencies"])


def false_claims(text: str) -> Iterator[str]:
    """Every sentence of a page that denies something registered or speaks of a day."""
    for sentence in sentences(text):
        if re.search(DATED, sentence, re.IGNORECASE) or _denies(sentence):
            yield sentence


def _denies(sentence: str) -> bool:
    return any(pattern.search(sentence) for pattern in _patterns())


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    anything = "|".join((*kinds(), *names()))
    patterns = [denial.format(x=f"(?:{anything})") for denial in DENIALS]
    patterns += [denial.format(x=f"(?:{'|'.join(names())})") for denial in NAMED_DENIALS]
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page without its code blocks; those of a definition begin with the term."""
    for block in reversed(blocks(text)):
        text = text[: block.start] + text[block.stop :]
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"^```[^\n]*$|\[(?=[^\]]*\]\()|\]\([^)]*\)|\*\*", "", text, flags=re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*] |\d+\. |[|#]))", text):
        term, is_definition, body = paragraph.partition("\n:   ")
        joined = " ".join((body if is_definition else paragraph).split()).lstrip("-*#| ")
        for sentence in re.split(r"(?<=[.!?]) +(?=[A-Z`*])", joined):
            yield f"{term.strip()}: {sentence}" if is_definition else sentence


@pytest.mark.parametrize("path", CHECKED, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_a_page_denies_nothing_that_is_registered(path: Path) -> None:
    assert list(false_claims(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "text",
    [
        "judge\n:   A vision-language model that answers typed questions. None is there yet.",
        "gate\n:   Whether the memory test was posed at all. None is there yet; until then read on.",
        "- Not a pose estimator: camera poses are read from the files of other tools.",
        "It measures whether a video world model remembers: today, whether a place and\nits light are the same.",
        "## Words that are kept for later",
        "Nothing in this version uses the others: installing them has no effect yet.",
        "There is no judge.",
        "There are no gates yet.",
        "No metric exists that asks a judge.",
        "Planned, and not there yet: the suites MIND and WRBench.",
        "The suite `mbench-t` is planned.",
        "`lookaway drift` does not exist.",
        "The extra `ray` is not supported.",
        "Installing `judge` has no effect yet.",
        "The extractor tracked_poses is not implemented.",
        "**Not a [simulator](world.md).**",
        "```console\n$ lookaway show run\n```\n\nThere is no judge.",
    ],
)
def test_a_false_claim_is_found(text: str) -> None:
    assert list(false_claims(f"# Page\n\nA true sentence.\n\n{text}\n"))


@pytest.mark.parametrize(
    "text",
    [
        "Planned: the suites Alpha and Beta.",
        "Setting A tells the camera to look away, and has no gate.",
        "Without a judge the table says that it is raw consistency.",
        "Rollouts whose gate is closed could be spared all further questions; that is not done yet.",
        "There is no metric that needs a GPU.",
        "Not a generator: it measures videos.",
        "There is no flag for it. Give the command `show` again.",
        "A video that does not exist is listed by the suite.",
        "```console\n$ lookaway show run\nthere is no judge today\n```",
    ],
)
def test_a_true_sentence_raises_no_alarm(text: str) -> None:
    assert list(false_claims(f"# Page\n\n{text}\n")) == []
