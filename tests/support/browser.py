"""Opens pages in Debian's Chromium, cut off from everything but files, and keeps what they tried."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE_MS = 20_000


@dataclass
class Visit:
    """A page that is open, and what happened on it."""

    page: Page
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def went_out(self) -> list[str]:
        """Requests for anything but files."""
        return [url for url in self.requests if not url.startswith("file:")]


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser, ended afterwards; the test is skipped where it or its driver is not installed."""
    driver = pytest.importorskip("playwright.sync_api", reason="playwright, which drives the browser, is not installed")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no chromium here: install Debian's package of that name")
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def visit(
    browser: Browser, path: Path, *, fragment: str = "", dark: bool = False, width: int = 1280
) -> Iterator[Visit]:
    """Open a file in a window of its own."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light", reduced_motion="reduce"
    )
    context.set_default_timeout(PATIENCE_MS)
    try:
        found = Visit(context.new_page())
        found.page.on("request", lambda request: found.requests.append(request.url))
        found.page.on("dialog", lambda dialog: (found.dialogs.append(dialog.message), dialog.dismiss()))
        found.page.on("pageerror", lambda error: found.errors.append(str(error)))
        found.page.on("console", lambda line: line.type == "error" and found.errors.append(line.text))
        found.page.goto(path.as_uri() + fragment)
        yield found
    finally:
        context.close()


def serious_violations(page: Page) -> list[str]:
    """What axe-core finds serious or critical, with the places."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    found: list[dict[str, Any]] = axe.Axe().run(page).response["violations"]
    return [
        f"{entry['id']}: {node['target']} {node['html'][:160]}"
        for entry in found
        if entry["impact"] in ("serious", "critical")
        for node in entry["nodes"]
    ]
