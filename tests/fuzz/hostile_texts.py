"""Hostile YAML, JSON and CSV: what a parser expands, resolves or counts, and how often."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.fuzz.damage import LINES, MODEL, SAMPLE, Damage

MANIFEST = "manifest.jsonl"
MEGABYTE = 1_000_000


def write_to(file: str, content: bytes | Callable[[], bytes]) -> Callable[[Path], object]:
    """Replace a file of the dataset; large contents are made only when they are needed."""
    return lambda root: (root / file).write_bytes(content() if callable(content) else content)


# YAML: what a parser expands, resolves or counts.


YAML_VALUES = (
    "!!python/object/apply:os.system ['true']",
    "!!python/name:os.system",
    "!!python/module:os",
    "!!binary AAAA",
    "!!timestamp '2001-99-99'",
    "!!int '0x'",
    "!!float 'x'",
    "!!set {a, b}",
    "!!omap [a: 1]",
    "!!pairs [a: 1]",
    "!!merge '<<'",
    "!unknown {}",
    "2001-13-45",
    "9999-12-31 23:59:60",
    ".inf",
    "-.NaN",
    "~",
    "&a [*a]",
    "&a {b: *a}",
    "*nowhere",
    "{<<: 5}",
    "{<<: [1, 2]}",
    "{[]: 1}",
    "{{a: 1}: 2}",
    "0o8",
    "1_000_000_000_000",
    "__",
    "0b_",
    '"\\ud800"',
    '"\\x00"',
    "|\n  " + "x" * 1000,
    "'unclosed",
    "%YAML 9.9",
    "\t- tab",
)
"""Tags, dates, numbers, anchors and quotes that parsers of YAML have stumbled over."""


def yaml_cards() -> Iterator[Damage]:
    """The card of the dataset."""
    head = "dataset_id: mbencha\nversion: '1.0'\n"
    texts: dict[str, Callable[[], str]] = {}
    for width in (2, 9, 50):
        for depth in (5, 20, 60):
            texts[f"merge keys {width} wide, {depth} deep"] = lambda w=width, d=depth: _merged(w, d)
            texts[f"aliases {width} wide, {depth} deep"] = lambda w=width, d=depth: _aliased(w, d)
    for digits in (100, 5000, 100_000):
        texts[f"a decimal of {digits} digits"] = lambda n=digits: f"version: {'9' * n}\n"
        texts[f"a hexadecimal of {digits} digits"] = lambda n=digits: f"version: 0x{'f' * n}\n"
        texts[f"a binary of {digits} digits"] = lambda n=digits: f"version: 0b{'1' * n}\n"
        texts[f"an octal of {digits} digits"] = lambda n=digits: f"version: 0{'7' * n}\n"
        texts[f"a sexagesimal of {digits} parts"] = lambda n=digits: f"version: 1{':1' * n}\n"
        texts[f"a sexagesimal fraction of {digits} parts"] = lambda n=digits: f"version: 1{':1' * n}.5\n"
        texts[f"an exponent of {digits} digits"] = lambda n=digits: f"version: 1.0e+{'9' * n}\n"
        texts[f"a deep list of {digits}"] = lambda n=digits: "version: " + "[" * n
        texts[f"a deep block of {digits}"] = lambda n=digits: "- " * n
        texts[f"an object of {digits} keys"] = lambda n=digits: "".join(f"k{k}: {k}\n" for k in range(n))
        texts[f"one key {digits} times"] = lambda n=digits: "version: 1\n" * n
        texts[f"{digits} documents"] = lambda n=digits: "---\na: 1\n" * n
        texts[f"{digits} anchors"] = lambda n=digits: "".join(f"k{k}: &a{k} {k}\n" for k in range(n))
        texts[f"a comment of {digits} characters"] = lambda n=digits: "#" * n + "\n"
        texts[f"a key of {digits} characters"] = lambda n=digits: "k" * n + ": 1\n"
        texts[f"a complex key of {digits}"] = lambda n=digits: "? " * n + "a\n"
    texts["30,000 entries in 60 kB"] = lambda: "version: [" + "a," * 30_000 + "]\n"
    texts["20,000 entries in 60 kB"] = lambda: "version:\n" + "- \n" * 20_000
    texts["30,000 lists in 60 kB"] = lambda: "version: [" + "[]" * 30_000 + "]\n"
    texts["200,000 entries in 600 kB"] = lambda: "version:\n" + "- \n" * 200_000
    for tag in YAML_VALUES:
        texts[f"version is {tag[:30]!r}"] = lambda t=tag: f"version: {t}\n"
        texts[f"subsets are {tag[:30]!r}"] = lambda t=tag: f"subsets: {t}\n"
    for name, text in texts.items():
        yield Damage(f"card with {name}", write_to("dataset.yaml", lambda text=text: (head + text()).encode()))


def _aliased(width: int, depth: int) -> str:
    lines = ["a0: &a0 [x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, depth)]
    return "\n".join(lines) + "\n"


def _merged(width: int, depth: int) -> str:
    lines = ["a0: &a0 {x: 1}"]
    lines += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * width)}], k{n}: 1}}" for n in range(1, depth)]
    return "\n".join(lines) + "\n"


# JSON: records and cases.

JSON: dict[str, Callable[[], str]] = {
    "a list of a million": lambda: "[" + ",".join(["0"] * MEGABYTE) + "]",
    "an object of 200,000 keys": lambda: "{" + ",".join(f'"k{k}":0' for k in range(200_000)) + "}",
    "one key 200,000 times": lambda: "{" + ",".join(['"item_id":"a"'] * 200_000) + "}",
    "a text of 20 megabytes": lambda: '{"item_id":"' + "x" * (20 * MEGABYTE) + '"}',
    "a million escapes": lambda: '{"item_id":"' + "\\u0041" * MEGABYTE + '"}',
    "a million halves of characters": lambda: '{"item_id":"' + "\\ud800" * MEGABYTE + '"}',
    "an integer of a million digits": lambda: '{"item_id":' + "9" * MEGABYTE + "}",
    "a fraction of a million digits": lambda: '{"item_id":0.' + "9" * MEGABYTE + "}",
    "an exponent of a million digits": lambda: '{"item_id":1e' + "9" * MEGABYTE + "}",
    "a million empty lines": lambda: "\n" * MEGABYTE,
    "a million empty objects": lambda: "{}\n" * MEGABYTE,
    "a million and one lines": lambda: "{}\n" * (MEGABYTE + 1),
    "two million ends of lines of two kinds": lambda: "\n\r" * MEGABYTE,
    "20,000 invalid records": lambda: '{"item_id": 5}\n' * 20_000,
    "a million spaces": lambda: "{" + " " * MEGABYTE + "}",
    "900 lists inside another": lambda: "[" * 900 + "]" * 900,
    "50,000 lists inside another": lambda: "[" * 50_000 + "]" * 50_000,
    "Infinity": lambda: '{"item_id":Infinity,"seed":-Infinity}',
    "minus zero": lambda: '{"item_id":-0,"seed":-0.0}',
    "two values": lambda: "{} {}",
    "a line separator": lambda: '{"item_id":"a\u2028b"}',
    "a key of nothing": lambda: '{"":{"":{"":""}}}',
    "a control character": lambda: '{"item_id":"\x1b[2J\x07"}',
}


def json_texts() -> Iterator[Damage]:
    """Lines of a model, and the case of a sample."""
    for file, kind in ((LINES, "lines"), (SAMPLE, "sample"), (f"{MODEL}/model.json", "model")):
        for name, text in JSON.items():
            yield Damage(f"{kind} with {name}", write_to(file, lambda text=text: text().encode()))


def manifests() -> Iterator[Damage]:
    """A manifest of a folder of videos."""
    for name, text in JSON.items():
        yield Damage(f"manifest with {name}", write_to(MANIFEST, lambda text=text: text().encode()))
    row = '{"video": "alpha/case0.mp4", "case": %s}'
    names = ("a/../../b", "/", "..", "a" * 5000, "a\nb", "\x1b[31m", "\u202eabc", "con", "-rf", "%s", "{0}", "'; DROP")
    for name in names:
        text = row % json.dumps(name)
        yield Damage(f"manifest with the case {name[:20]!r}", write_to(MANIFEST, text.encode()))
    for count in (1000, 10_000):
        line = '{"video": "alpha/case0.mp4", "case": "c%d"}\n'
        text = "".join(line % number for number in range(count))
        yield Damage(
            f"manifest with {count} cases of no video", write_to(MANIFEST, text.replace("case0.mp4", "no.mp4").encode())
        )
    tables = {
        "a million rows": "5,6\n" * MEGABYTE,
        "two million rows": "a\n" * (2 * MEGABYTE),
        "a million quotes": '"' * MEGABYTE,
    }
    for name, text in tables.items():
        yield Damage(f"table with {name}", write_to("manifest.csv", ("video,case\n" + text).encode()))
