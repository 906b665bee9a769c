"""Whether the subject of a commit is short and in the imperative.

python -m release.commit_subject FILE     the file of a commit message, as git gives it to a commit-msg hook
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

MAX_LENGTH = 72
FROM_GIT = ("Merge ", "Revert ", "fixup! ", "squash! ", "amend! ")
"""Subjects that git writes."""
PREFIX = re.compile(r"^\w+(\([^)]*\))?!?: ")
OTHER_MOODS = re.compile(r"(?<!s)(?<!u)s$|ed$|ing$")
IMPERATIVES = {"alias", "bias", "bring", "embed", "exceed", "feed", "need", "ping", "proceed", "seed", "shed", "speed"}
"""Verbs that end as other moods do."""


def problems(subject: str) -> list[str]:
    """What is wrong with a subject.

    >>> problems("Name the file that cannot be read")
    []
    >>> problems("Fixed the reader.")
    ["It begins with 'Fixed', expected a verb in the imperative, such as 'Fix'.", 'It ends with a full stop.']
    """
    if subject.startswith(FROM_GIT):
        return []
    found = []
    if len(subject) > MAX_LENGTH:
        found.append(f"It has {len(subject)} characters, at most {MAX_LENGTH} are allowed. Say why in the body.")
    if PREFIX.match(subject):
        found.append("It begins with a prefix. Say in a sentence what the change does.")
        return found
    first = re.split(r"\W", subject, maxsplit=1)[0]
    if not first[:1].isupper():
        found.append("It does not begin with a capital letter.")
    if OTHER_MOODS.search(first.lower()) and first.lower() not in IMPERATIVES:
        found.append(f"It begins with '{first}', expected a verb in the imperative, such as 'Fix'.")
    if subject.endswith("."):
        found.append("It ends with a full stop.")
    return found


def main(arguments: list[str]) -> None:
    """Check the first line of a message."""
    lines = Path(arguments[0]).read_text(encoding="utf-8").splitlines()
    subject = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    found = problems(subject)
    if found:
        sys.exit("\n".join([f"The subject of the commit: {subject}", *found]))


if __name__ == "__main__":
    main(sys.argv[1:])
