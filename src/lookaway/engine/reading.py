"""Reads a folder with the suite it belongs to."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lookaway.core import Dataset, DatasetError, Option, Rollout, Suite, UnknownName, UserError, plugins

FALLBACK_SUITE = "revisit"
"""Reads what no suite recognises."""
SELECTING = ("suite", "models", "subsets", "cases", "limit")
"""What `read` takes for every suite."""


def load_suite(name: str) -> Suite:
    """The suite of this name."""
    suite: Suite = plugins.load("suites", name)()
    return suite


def suite_options() -> dict[str, tuple[Option, ...]]:
    """The options of every installed suite, by its name."""
    return {name: load_suite(name).options for name in plugins.names("suites")}


def read(
    root: Path | str,
    *,
    suite: str | None = None,
    models: Collection[str] | None = None,
    subsets: Collection[str] | None = None,
    cases: Collection[str] | None = None,
    limit: int | None = None,
    **options: Any,
) -> Dataset:
    """All cases and rollouts under a root, or some of them: those of some models, some subsets, some cases.

    Without a name, the suite is the one that recognises the folder, and `revisit` where none does. `limit` keeps the
    first cases of each model and subset. `options` are those that the suite lists in `Suite.options`, such as `pattern`
    of `revisit` or `ground_truth` of `mind`; `lookaway eval --help` shows them all. What the suite does not know is
    refused.
    """
    root = Path(root)
    if not root.is_dir():
        raise _no_folder(root)
    root = root.absolute()  # workers may be in another folder
    reader = load_suite(suite or _recognised(root))
    checked = check_options(reader, options)
    dataset = reader.read(root, checked)
    _check_known("model", models, (rollout.model for rollout in dataset.rollouts))
    _check_known("subset", subsets, (rollout.case.subset for rollout in dataset.rollouts))
    _check_known("case", cases, (rollout.case.id for rollout in dataset.rollouts))

    def is_wanted(rollout: Rollout) -> bool:
        chosen = ((models, rollout.model), (subsets, rollout.case.subset), (cases, rollout.case.id))
        return all(not wanted or name in wanted for wanted, name in chosen)

    selecting = {"suite": suite, "models": models, "subsets": subsets, "cases": cases, "limit": limit}
    given = {name: checked[name] for name, value in options.items() if value is not None and value is not False}
    return replace(
        dataset.select(is_wanted, limit),
        settings={**_locked(reader, checked), **dataset.settings},
        reading={**{name: value for name, value in selecting.items() if value}, **given},
    )


def _no_folder(root: Path) -> DatasetError:
    if root.exists():
        return DatasetError(f"{root}: a file, expected a folder of videos. Name the folder it is in: {root.parent}")
    return DatasetError(f"{root}: there is no such folder. Expected a dataset or a folder of videos; check the path.")


def check_options(suite: Suite, given: Mapping[str, Any]) -> dict[str, Any]:
    """A checked value for every option of the suite; what it does not know is refused."""
    known = {option.name: option for option in suite.options}
    for name in given:
        if name not in known:
            raise _unknown_option(suite, name)
    return {name: option.check(given.get(name)) for name, option in known.items()}


def _unknown_option(suite: Suite, name: str) -> UserError:
    message = f"The suite {suite.name!r} has no option {name!r}."
    others = {other: option for other, options in suite_options().items() for option in options if option.name == name}
    known = [option.name for option in suite.options]
    if others:
        flag = next(iter(others.values())).flag
        message += f" {flag} is for {', '.join(others)}: leave it out, or name another suite with --suite."
    elif close := difflib.get_close_matches(name, [*known, *SELECTING], n=1):
        message += f" Did you mean {close[0]!r}?"
    else:
        message += f" Known: {', '.join(sorted(known)) or 'none'}."
    return UserError(message)


def _locked(suite: Suite, checked: Mapping[str, Any]) -> dict[str, Any]:
    """Values that can move a number, as settings; the suite may have set one of them itself."""
    values = {option.setting: checked[option.name] for option in suite.options if option.moves_numbers}
    return {name: value for name, value in values.items() if value is not None}


def _recognised(root: Path) -> str:
    found = [name for name in plugins.names("suites") if load_suite(name).recognises(root)]
    if len(found) > 1:
        raise DatasetError(f"{root}: looks like a dataset of {' and '.join(found)}. Choose one with --suite.")
    return found[0] if found else FALLBACK_SUITE


def _check_known(kind: str, wanted: Collection[str] | None, known: Any) -> None:
    if wanted:
        names = set(known)
        for name in wanted:
            if name not in names:
                raise UnknownName(kind, name, names)
