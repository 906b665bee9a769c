"""Keep one comment on a pull request: written at the first run of a job, replaced at the next.

Reads TOKEN, NUMBER, KEY and FILE, and what GitHub sets: GITHUB_API_URL and GITHUB_REPOSITORY.
"""

from __future__ import annotations

import json
import os
import re
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

MAX_CHARACTERS = 60_000
"""GitHub refuses comments of more than 65,536."""
CUT = "\n\nThe rest is in the summary of the job.\n"
PAGE = 100


class CommentRefused(Exception):
    """GitHub did not take the comment."""


def main() -> None:
    """Write the comment, or say why it was refused."""
    number, key = os.environ["NUMBER"], os.environ["KEY"]
    if not re.fullmatch(r"[0-9]+", number):
        sys.exit(f"pull-request is {number!r}; expected the number of a pull request.")
    try:
        keep_comment(number, key, Path(os.environ["FILE"]).read_text(encoding="utf-8"))
    except CommentRefused as error:
        sys.exit(str(error))


def keep_comment(number: str, key: str, text: str) -> None:
    """Replace the comment of this key where there is one, else add it."""
    mark = f"<!-- lookaway compare: {re.sub(r'[^A-Za-z0-9]+', '-', key)} -->"
    body = {"body": f"{mark}\n{text if len(text) <= MAX_CHARACTERS else text[:MAX_CHARACTERS] + CUT}"}
    known = _find(number, mark)
    if known is None:
        _ask("POST", f"issues/{number}/comments", body)
    else:
        _ask("PATCH", f"issues/comments/{known}", body)


def _find(number: str, mark: str) -> int | None:
    page = 1
    while True:
        found = _ask("GET", f"issues/{number}/comments?per_page={PAGE}&page={page}")
        for comment in found:
            # Anybody can write the mark; only a bot's comment is ours to replace.
            if comment["body"].startswith(mark) and comment["user"]["type"] == "Bot":
                return int(comment["id"])
        if len(found) < PAGE:
            return None
        page += 1


def _ask(method: str, path: str, body: dict[str, str] | None = None) -> Any:
    address = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/{path}"
    headers = {"Accept": "application/vnd.github+json", "Authorization": f"Bearer {os.environ['TOKEN']}"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, headers, method=method)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return json.load(answer)
    except urllib.error.HTTPError as error:
        # Neither headers nor the request are shown: they hold the token.
        raise CommentRefused(
            f"GitHub answered {error.code} to {method} {path}. The job needs `permissions: pull-requests: write`; "
            "the token of a pull request from a fork may only read."
        ) from None
    except urllib.error.URLError as error:
        raise CommentRefused(f"GitHub could not be reached: {error.reason}. Run the job again.") from None


if __name__ == "__main__":
    main()
