"""Builds the sdist, builds the wheel from it, and checks what both contain.

    python -m release.check_artifacts dist                         builds and checks
    python -m release.check_artifacts dist --tests tests/core      then runs these tests from the unpacked sdist

The sdist must contain all that the repository tracks, so that it can be tested and built again. The wheel must contain
all of `src/lookaway`, templates, prompts, styles and scripts included, and nothing else.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
REQUIRED_SUFFIXES = (".css", ".j2", ".js", ".json", ".md", ".py", ".typed")
"""A package without files of one of these kinds has lost its data."""


@dataclass(frozen=True)
class Artifacts:
    """A built release."""

    sdist: Path
    wheel: Path
    unpacked: Path
    """The folder of the sdist, unpacked; the wheel was built in it."""


def build(root: Path, into: Path, work: Path) -> Artifacts:
    """Build the sdist of a checkout, and the wheel from the unpacked sdist, as an installer does it."""
    sdist = _build("sdist", root, into)
    with tarfile.open(sdist) as archive:
        # Python before 3.11.4 takes no filter as an argument.
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
        archive.extractall(work)  # noqa: S202 - filtered where this Python can, and made by us
    unpacked = work / sdist.name.removesuffix(".tar.gz")
    return Artifacts(sdist, _build("wheel", unpacked, into), unpacked)


def _build(target: str, root: Path, into: Path) -> Path:
    into.mkdir(parents=True, exist_ok=True)
    script = f"import sys; from hatchling.build import build_{target} as build; print(build(sys.argv[1]))"
    command = [sys.executable, "-c", script, str(into.resolve())]
    done = subprocess.run(command, cwd=root, text=True, capture_output=True)
    if done.returncode:
        raise RuntimeError(f"The {target} cannot be built:\n{done.stdout}{done.stderr}")
    return into / done.stdout.split()[-1]


def sdist_problems(root: Path, unpacked: Path) -> list[str]:
    """Files that the repository tracks and the sdist lacks; none where the root is no repository."""
    if not (root / ".git").exists():
        return []
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, stdout=subprocess.PIPE, text=True).stdout
    tracked = [name for name in listed.split("\0") if name and (root / name).exists()]
    return [
        f"The sdist lacks {name}. Add it to [tool.hatch.build.targets.sdist] in pyproject.toml."
        for name in tracked
        if not (unpacked / name).exists()
    ]


def wheel_problems(wheel: Path, unpacked: Path) -> list[str]:
    """Differences between the wheel and the package as the sdist has it."""
    source = unpacked / "src"
    expected = {
        path.relative_to(source).as_posix()
        for path in (source / "lookaway").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    problems = [f"The wheel lacks {name}." for name in sorted(expected - names)]
    problems += [f"The wheel contains {name}, which is not part of the package." for name in sorted(names - expected)]
    present = {Path(name).suffix or Path(name).name for name in names}
    problems += [f"The wheel contains no *{kind} file." for kind in REQUIRED_SUFFIXES if kind not in present]
    return problems


def run_tests(unpacked: Path, tests: list[str]) -> None:
    """Run tests of the unpacked sdist against its own source."""
    environment = {**os.environ, "PYTHONPATH": str(unpacked / "src")}
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", *tests], cwd=unpacked, env=environment)
    if done.returncode:
        sys.exit(done.returncode)


def main(arguments: list[str] | None = None) -> None:
    """Build, check, and run the tests that are named."""
    parser = argparse.ArgumentParser(description="Builds the sdist and the wheel and checks what they contain.")
    parser.add_argument("into", type=Path, help="folder of the sdist and the wheel")
    parser.add_argument("--tests", nargs="+", default=[], help="tests to run from the unpacked sdist")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as work:
        built = build(ROOT, chosen.into, Path(work))
        problems = sdist_problems(ROOT, built.unpacked) + wheel_problems(built.wheel, built.unpacked)
        if problems:
            sys.exit("\n".join(problems))
        for path in (built.sdist, built.wheel):
            sys.stdout.write(f"{path.name}  {path.stat().st_size / 1e6:.2f} MB\n")
        sys.stdout.flush()
        if chosen.tests:
            run_tests(built.unpacked, chosen.tests)


if __name__ == "__main__":
    main()
