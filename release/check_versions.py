"""Whether the package, its citation, its changelog and a tag agree on the version.

python -m release.check_versions            package and citation
python -m release.check_versions v0.2.0     the tag and the changelog too, as before a release
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import yaml

from release import changelog

ROOT = Path(__file__).parents[1]


def package_version(root: Path = ROOT) -> str:
    """The version that the package has."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])


def disagreements(root: Path = ROOT, tag: str | None = None) -> list[str]:
    """Every place that names another version than the package has; for a tag, what keeps it from a release."""
    version = package_version(root)
    found = []
    cited = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))["version"]
    if cited != version:
        found.append(f"CITATION.cff has version {cited}, pyproject.toml has {version}. Make them equal.")
    if tag is None:
        return found
    if tag != f"v{version}":
        found.append(f"The tag is {tag}, pyproject.toml has version {version}. Expected the tag v{version}.")
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = next(iter(changelog.versions(text)), None)
    if newest != version:
        found.append(
            f"The newest version in CHANGELOG.md is {newest}, expected {version}. "
            f"Run: python -m release.changelog cut {version}"
        )
    elif not changelog.section(text, version).strip():
        found.append(f"The section of {version} in CHANGELOG.md is empty. Say there what changes.")
    return found


def main(arguments: list[str]) -> None:
    """Check, and print what disagrees."""
    found = disagreements(tag=arguments[0] if arguments else None)
    if found:
        sys.exit("\n".join(found))
    sys.stdout.write(f"version {package_version()} everywhere\n")


if __name__ == "__main__":
    main(sys.argv[1:])
