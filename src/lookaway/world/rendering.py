"""Renders a set of clips into a folder, and resumes an interrupted set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from lookaway.core import Executor, GaveUp, UserError
from lookaway.io.manifest import write_manifest
from lookaway.world.recipe import ClipRecipe
from lookaway.world.studio import CannotShoot, Studio
from lookaway.world.words import words_of
from lookaway.world.writing import is_finished, write_shot


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseReport:
    """Result of rendering the clips of one case."""

    case: str
    rendered: int = 0
    kept: int = 0
    """Clips already there, with the same recipe."""
    refused: tuple[str, ...] = ()
    """Why clips could not be rendered."""

    @property
    def clips(self) -> int:
        """Number of clips."""
        return self.rendered + self.kept + len(self.refused)


class CaseRenderer:
    """Renders the clips of one case after another; one per process, used in one thread."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._studio = Studio()

    def __call__(self, recipes: Sequence[ClipRecipe]) -> CaseReport:
        """Render the missing clips of a case."""
        missing = [recipe for recipe in recipes if not is_finished(clip_folder(self._root, recipe), recipe)]
        refused = []
        for recipe in missing:
            try:
                shot = self._studio.shoot(recipe)
            except CannotShoot as error:
                refused.append(f"{recipe.model}: {error}")
                continue
            write_shot(shot, clip_folder(self._root, recipe), words_of(shot.clip))
        return CaseReport(
            case=recipes[0].case,
            rendered=len(missing) - len(refused),
            kept=len(recipes) - len(missing),
            refused=tuple(refused),
        )

    def close(self) -> None:
        """Free graphics resources, in the thread that rendered."""
        self._studio.close()


def clip_folder(root: Path, recipe: ClipRecipe) -> Path:
    """Folder of a clip in its set."""
    return root / "clips" / recipe.case / recipe.model / str(recipe.take)


def render_set(
    recipes: Iterable[ClipRecipe], root: Path, executor: Executor, on_case: Callable[[CaseReport], object] | None = None
) -> list[CaseReport]:
    """Render clips and write the manifest of the whole folder; clips of one case should follow each other."""
    cases = [list(group) for _, group in groupby(recipes, key=lambda recipe: recipe.case)]
    reports = []
    for report in executor.map(lambda clients: CaseRenderer(root), cases):
        if isinstance(report, GaveUp):
            raise UserError(
                f"{report.workers} workers died while rendering {report.item[0].case}, perhaps out of memory. "
                "Use fewer with --workers; the same command resumes."
            )
        reports.append(report)
        if on_case:
            on_case(report)
    write_manifest(root)
    return reports
