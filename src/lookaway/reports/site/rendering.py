"""Renders pages from templates: everything from a dataset is escaped, and no page loads anything from the network."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookaway.core import Json
from lookaway.io.files import write_text

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

PACKAGE = "lookaway.reports.site"
LONGEST_TEXT = 160
"""Characters of a text from a dataset that are shown at first; a click shows the rest."""
READABLE, HASHED = 40, 8
"""Characters of a file name that are readable, and of the hash that makes it unique."""
SCRIPT_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&'\u2028\u2029"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Style sheets and scripts of a page, in order, as names of assets of this package."""

    styles: Sequence[str] = ("site.css",)
    scripts: Sequence[str] = ()
    is_inlined: bool = False
    """Whether they are inlined, so that the page can be sent as one file."""
    has_pictures: bool = False
    """Whether a page with inlined scripts still shows pictures of its site."""


def slug(text: str) -> str:
    """A safe file name and fragment: the readable part of a text, and a hash that makes it unique.

    >>> slug("causal: <b>Ärger</b>/../x"), slug("...")
    ('causal-b-rger-b-x-5c9fa925', 'ab5df625')
    """
    readable = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:READABLE].rstrip("-")
    hashed = _hash(text.encode("utf-8", "backslashreplace"))
    return f"{readable}-{hashed}" if readable else hashed


@cache
def environment() -> Environment:
    """The templates: autoescape everywhere, and an undefined name is an error."""
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.PackageLoader(PACKAGE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["name"] = isolated
    made.filters["plain"] = _writable
    made.filters["parts"] = breakable
    made.filters["text"] = shortened
    made.filters["script_json"] = script_json
    made.filters["slug"] = slug
    return made


def isolated(text: object) -> Markup:
    """Text of a dataset within ours; its direction marks have no effect outside it.

    >>> isolated("<script>")
    Markup('<bdi>&lt;script&gt;</bdi>')
    """
    from markupsafe import Markup

    return Markup("<bdi>{}</bdi>").format(_writable(text))


def breakable(text: object) -> Markup:
    """A name that wraps between its parts where a column is narrow, and not within a word.

    >>> breakable("mind.lcm_mse")
    Markup('<bdi>mind.</bdi><wbr><bdi>lcm_</bdi><wbr><bdi>mse</bdi>')
    """
    from markupsafe import Markup

    return Markup("<wbr>").join(isolated(part) for part in re.split(r"(?<=[._/:-])", str(text)))


def shortened(text: object, longest: int = LONGEST_TEXT) -> Markup:
    """Text of a dataset; a long one shows its start, and the whole on a click."""
    from markupsafe import Markup

    whole = _writable(text)
    if len(whole) <= longest:
        return isolated(whole)
    start = isolated(whole[:longest].rstrip() + "…")
    return Markup("<details class=long><summary>{}</summary><bdi tabindex=0>{}</bdi></details>").format(start, whole)


def script_json(value: Json) -> Markup:
    """JSON for a script element: nothing in it can end the element.

    >>> script_json({"a": "</script>"})
    Markup('{"a":"\\\\u003c/script\\\\u003e"}')
    """
    from markupsafe import Markup

    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False, sort_keys=True)
    return Markup(_writable(text).translate(SCRIPT_ESCAPES))  # noqa: S704 - all that HTML could act upon is escaped


def write_page(output: Path, name: str, template: str, *, sources: Sources | None = None, **context: Any) -> Path:
    """Write one page, e.g. `items/x.html`, and its style sheets and scripts."""
    sources = sources or Sources()
    if not sources.is_inlined:
        for asset in map(_asset, (*sources.styles, *sources.scripts)):
            write_text(output / "assets" / asset["file"], asset["text"])
    write_text(output / name, rendered_page(name, template, sources, **context))
    return output / name


def rendered_page(name: str, template: str, sources: Sources, **context: Any) -> str:
    """One page as text; the template also gets `root` (the path to the index), `page` and `policy`.

    The policy allows a page the files of its site and nothing else, or only what is inlined.
    """
    styles, scripts = ([_asset(entry) for entry in entries] for entries in (sources.styles, sources.scripts))
    page = {"styles": styles, "scripts": scripts, "is_inlined": sources.is_inlined}
    policy = _policy(styles, scripts, sources)
    return (
        environment().get_template(template).render(root="../" * name.count("/"), page=page, policy=policy, **context)
    )


def _policy(styles: Sequence[Mapping[str, str]], scripts: Sequence[Mapping[str, str]], page: Sources) -> str:
    """The content security policy of the page."""

    def sources(assets: Sequence[Mapping[str, str]]) -> str:
        if not assets:
            return "'none'"
        return " ".join(asset["digest"] for asset in assets) if page.is_inlined else "'self'"

    if page.is_inlined:
        pictures = "img-src 'self' data:" if page.has_pictures else "img-src data:"
    else:
        pictures = "img-src 'self' data:; media-src 'self'"
    return (
        f"default-src 'none'; {pictures}; "
        f"style-src {sources(styles)}; script-src {sources(scripts)}; base-uri 'none'; form-action 'none'"
    )


@cache
def _asset(name: str) -> Mapping[str, str]:
    text = files(PACKAGE).joinpath("assets", name).read_text(encoding="utf-8")
    stem, _, suffix = name.rpartition(".")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return {"file": f"{stem}.{_hash(text.encode())}.{suffix}", "text": text, "digest": f"'sha256-{digest}'"}


def _writable(text: object) -> str:
    """File names may hold bytes that are not text, and control characters; they are spelled out."""
    plain = str(text).encode("utf-8", "backslashreplace").decode()
    if plain.isprintable():
        return plain
    return "".join(c if c in "\n\t" or (ord(c) >= 32 and c != "\x7f") else f"\\x{ord(c):02x}" for c in plain)


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:HASHED]
