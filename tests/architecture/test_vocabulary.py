"""One name for one thing, the field's words, and files that a newcomer can read."""

from __future__ import annotations

import ast
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "src" / "lookaway"
PROMPTS = PACKAGE / "judges" / "prompts"
SOURCES = sorted(PACKAGE.rglob("*.py"))
MAX_FILES = 605
MAX_LINES = 450

RETIRED_NAMES = {
    r"\bCrew\b|\bcrew\b": "WorkerPool",
    r"\b_?(?:hire|bury|_welcome)\w*\(": "start_worker, replace_dead",
    r"\bWitness\b": "DeathLog",
    r"\bDesk\b|\bDesks\(": "ServiceClient",
    r"\bManners\b": "RetryPolicy",
    r"\bPatientAsking\b|\bAskingElsewhere\b": "JudgeClient, RemoteJudge",
    r"\bPerceiv(?:ing|er)\b(?=\(|:|\]|\.)": "FeatureJob, LoadedExtractor",
    r"\bPassingFault\b|\bLastingFault\b": "TransientError, PermanentError",
    r"\b_?heard\b": "wait_for_answer, answers",
    r"\btold_apart\b": "is_significant",
    r"\brehearse\w*": "dry_run",
    r"\b\w*_likeness\b|\blikeness_\w*": "similarity",
    r"\b(?:most|fewest|least)_(?!significant|common|square|squares|recent)\w+": "max_ or min_",
    r"(?<![\w-])--(?:truth|most-frames)\b": "--ground-truth, --max-frames",
    r"\bREADING\b[^\n]*= [({]": "Suite.options",
    r"\bwhy_unwatchable\b|\bwhy_declined\b": "video_problem, why_not_applicable",
    r"\bObjectsInPlace\b": "DuckDBObjectFS",
    r"\bclass (?:Take|Board|Watch|Showing|Reread)\b": "CaseVideo, Leaderboard, Extraction, FrameBatch, reload_dataset",
    r"\bclass (?:Effort|Account|Changes|Lost|Introduction)\b": "StageTimings, SessionLog, Overrides, GaveUp ...",
    r"\b(?:patiently|is_passing|read_again|gathered)\(": "retry, is_transient, reload_dataset, load_runs",
    r"\b(?:perceptual_distance|peak_signal_to_noise|structural_similarity|mean_squared_error)\b": "lpips, psnr ...",
}
"""Identifiers and options that were renamed, as patterns, with what they are called."""

RETIRED_PHRASES = {
    r"puts? (?:nothing )?to the test": "triggered (a gate), measured (a metric)",
    r"(?:stands?|standing) with its interval": "has an interval",
    r"true videos?\b": "reference video",
    r"in a little other light": "in slightly different light",
    r"holds? (?:two|one) (?:runs? )?against": "compare",
    r"(?-i:What it took)\b": "cost",
    r"\bgoes? a path\b|models go a path": "follow a path",
    r"\bwho speaks for\b": "which source is used",
    r"something you can put right": "an error you can fix",
    r"\b(?:cannot be|can be|not) told apart\b|\btold apart from\b": "no significant difference",
    r"\bnobody is asked\b|\basks nobody\b": "no judge calls are made",
    r"\bthe seams?\b": "interface",
    r"\bthe house\b": "package",
    r"\b(?:every|only|new|empty) room (?:that|shares|of the package|has its place)": "package",
    r"\bway of the data\b": "data flow",
    r"\"\"\"(?-i:Of )": "the noun that it is about",
}
"""Wording of pages, messages and docstrings that a reader of this field would stumble over, with plain words for it."""


def class_names() -> dict[str, list[str]]:
    """Where every public class of the package is defined."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in SOURCES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(f"{path.relative_to(REPOSITORY)}:{node.lineno}")
    return found


def test_no_public_class_name_is_defined_twice() -> None:
    assert {name: places for name, places in class_names().items() if len(places) > 1} == {}


def pages() -> list[Path]:
    """Everything that a user reads beside the source; the changelog names what things were called."""
    top = [REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "mkdocs.yml")]
    docs = [path for ending in ("md", "yml", "py") for path in (REPOSITORY / "docs").rglob(f"*.{ending}")]
    templates = [path for ending in ("j2", "html", "js") for path in PACKAGE.rglob(f"*.{ending}")]
    return [*top, *sorted(docs), *sorted(templates)]


def occurrences(pattern: str, paths: list[Path], flags: re.RegexFlag = re.NOFLAG) -> Iterator[str]:
    """Every match as `file:line: text`; a phrase is found across the end of a line, too."""
    compiled = re.compile(pattern.replace(" ", r"[\s#]+"), flags)
    for path in paths:
        if PROMPTS in path.parents:  # prompts are hashed: another word would move numbers
            continue
        text = path.read_text(encoding="utf-8")
        for match in compiled.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{os.path.relpath(path, REPOSITORY)}:{line}: {' '.join(match[0].split())}"


@pytest.mark.parametrize("pattern", RETIRED_NAMES)
def test_a_retired_name_does_not_come_back(pattern: str) -> None:
    found = list(occurrences(pattern, [*SOURCES, *pages()]))
    assert not found, f"Write {RETIRED_NAMES[pattern]}:\n" + "\n".join(found)


@pytest.mark.parametrize("pattern", RETIRED_PHRASES)
def test_a_retired_phrase_does_not_come_back(pattern: str) -> None:
    found = list(occurrences(pattern, [*SOURCES, *pages()], re.IGNORECASE))
    assert not found, f"Write {RETIRED_PHRASES[pattern]}:\n" + "\n".join(found)


def test_workers_of_ray_are_replicas_and_actors_are_simulated_models() -> None:
    assert not list(occurrences(r"--actors \w+=\d", [*SOURCES, *pages()]))


def test_a_phrase_is_found_across_lines(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("The video is put to\nthe test.\n")
    (found,) = occurrences("puts? to the test", [page])
    assert found.endswith("page.md:1: put to the test")


def test_no_source_file_is_too_long() -> None:
    lengths = {
        str(path.relative_to(REPOSITORY)): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES
    }
    assert {path: length for path, length in lengths.items() if length > MAX_LINES} == {}


def test_the_source_has_few_files() -> None:
    assert len(SOURCES) <= MAX_FILES
