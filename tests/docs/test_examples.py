"""Every code block of README and docs does what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import PAGES, REPOSITORY, RUN_LANGUAGES, Runner, agrees, blocks, has_examples, steps

FIRST_TIER = ("docs/get-started.md",)
"""The page that most others go on from."""
THIRD_TIER = (
    "docs/concepts/lock.md",
    "docs/how-to/coming-from-mbench.md",
    "docs/how-to/drift.md",
    "docs/how-to/generate.md",
    "docs/how-to/isolated-network.md",
    "docs/how-to/judge.md",
    "docs/how-to/many-workers.md",
    "docs/how-to/mbench-dataset.md",
    "docs/how-to/mind-dataset.md",
    "docs/how-to/own-question.md",
    "docs/how-to/resume.md",
    "docs/how-to/share-features.md",
    "docs/how-to/shards.md",
    "docs/how-to/simulated-world.md",
    "docs/how-to/write-a-metric.md",
    "docs/how-to/write-a-suite.md",
    "docs/how-to/write-an-extractor.md",
    "docs/perception.md",
    "docs/reference/world.md",
)
"""Pages that render worlds, ask judges or make environments for more than half a minute."""
EXAMPLES = [
    pytest.param(
        path,
        id=(name := path.relative_to(REPOSITORY).as_posix()),
        marks=() if name in FIRST_TIER else pytest.mark.nightly if name in THIRD_TIER else pytest.mark.merge,
    )
    for path in PAGES
    if has_examples(path)
]
SHOWN_ONLY = ("text", "json", "toml", "yaml")


@pytest.mark.docs
@pytest.mark.timeout(600)  # a page may go on from another, and that from a third
@pytest.mark.parametrize("path", EXAMPLES)
def test_commands_print_what_the_page_shows(path: Path, runner: Runner) -> None:
    for _, printed in runner.run(path):
        for step, found in printed:
            shown, real = "\n".join(step.output), "\n".join(found)
            assert agrees(step.output, found), f"$ {step.command}\nshown:\n{shown}\nprinted:\n{real}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_no_block_escapes_the_tests(path: Path) -> None:
    for block in blocks(path.read_text(encoding="utf-8")):
        assert block.language in (*RUN_LANGUAGES, *SHOWN_ONLY), block.text
        if block.language == "console":
            assert steps(block)


def test_readme_and_get_started_show_a_real_table() -> None:
    for path in (REPOSITORY / "README.md", REPOSITORY / "docs/get-started.md"):
        commands = [step for block in blocks(path.read_text()) if block.is_run for step in _steps(block)]
        measured = [step for step in commands if step.command.startswith("lookaway eval")]
        assert measured
        assert all("95 %" in step.output[0] for step in measured)


def _steps(block):
    return steps(block) if block.language == "console" else []


@pytest.mark.parametrize(
    ("shown", "printed", "expected"),
    [
        ("score 0.700", "score 0.701", True),
        ("score 0.700", "score 0.760", False),
        ("[0.689, 0.709]", "[0.690, 0.709]", True),
        ("raw 12.0", "raw 12.2", True),
        ("raw 3.792230823991996e-15", "raw 1.4237550381249956e-15", True),
        ("raw 3.792230823991996e-15", "raw 3.792230823991996", False),
        ("3 of 3", "2 of 3", False),
        ("lock 06859d159846d759", "lock 864267d705708014", True),
        ("about 9 s", "about 12 min", True),
        ("a\n...\nd", "a\nb\nc\nd", True),
        ("a\n...\nd", "a\nb\nc", False),
        ("", "warning", False),
        ("a  b", "a b", True),
    ],
)
def test_comparing_allows_for_versions_and_for_nothing_else(shown: str, printed: str, expected: bool) -> None:
    assert agrees(shown.splitlines(), printed.splitlines()) is expected
