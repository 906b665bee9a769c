"""Reads a folder with the suite it belongs to."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from lookaway.core import Dataset, DatasetError, Rollout, Suite, UnknownName, plugins

FALLBACK_SUITE = "folder"


def load_suite(name: str) -> Suite:
    """The suite of this name."""
    suite: Suite = plugins.load("suites", name)()
    return suite


def read(  # noqa: PLR0913 - each narrows or explains what is read, and all have defaults
    root: Path | str,
    *,
    suite: str | None = None,
    models: Collection[str] = (),
    subsets: Collection[str] = (),
    cases: Collection[str] = (),
    limit: int | None = None,
    pattern: str | None = None,
    extrinsics_convention: str | None = None,
    allow_outside: bool = False,
    truth: Path | str | None = None,
    as_published: bool = False,
    max_frames: int | None = None,
    alignment: str | None = None,
) -> Dataset:
    """All cases and rollouts under a root, or some of them: those of some models, some subsets, some cases.

    Without a name, the suite is the one that recognises the folder. `limit` keeps the first cases of each model and
    subset. `pattern` says what the paths in a plain folder mean, `extrinsics_convention` what supplied poses turn into
    what, and `allow_outside` lets the dataset name files outside its root. `truth` is the folder of true videos where
    it lies apart from the answers, `max_frames` how many frames of an answer are compared with them, `alignment` what
    is fitted before camera paths are compared (`sim3`, `se3` or `none`), and `as_published` measures as the published
    code does, with its faults. A suite that has no use for one of these four refuses it.
    """
    root = Path(root)
    if not root.is_dir():
        raise DatasetError(f"{root}: there is no such folder.")
    root = root.absolute()  # workers may be in another folder
    options = {
        "pattern": pattern,
        "extrinsics_convention": extrinsics_convention,
        "allow_outside": allow_outside,
        "truth": truth and Path(truth).absolute(),
        "as_published": as_published,
        "max_frames": max_frames,
        "alignment": alignment,
    }
    dataset = load_suite(suite or _recognised(root)).read(root, options)
    _check_known("model", models, (rollout.model for rollout in dataset.rollouts))
    _check_known("subset", subsets, (rollout.case.subset for rollout in dataset.rollouts))
    _check_known("case", cases, (rollout.case.id for rollout in dataset.rollouts))

    def is_wanted(rollout: Rollout) -> bool:
        chosen = ((models, rollout.model), (subsets, rollout.case.subset), (cases, rollout.case.id))
        return all(not wanted or name in wanted for wanted, name in chosen)

    return dataset.select(is_wanted, limit)


def _recognised(root: Path) -> str:
    found = [name for name in plugins.names("suites") if load_suite(name).recognises(root)]
    if len(found) > 1:
        raise DatasetError(f"{root}: looks like {' and '.join(found)}. Say which with --suite.")
    return found[0] if found else FALLBACK_SUITE


def _check_known(kind: str, wanted: Collection[str], known: Any) -> None:
    if wanted:
        names = set(known)
        for name in wanted:
            if name not in names:
                raise UnknownName(kind, name, names)
