"""Faults of the event: what happened out of view is undone, or did not happen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Floats
from lookaway.world.events import with_process
from lookaway.world.faults.contract import Fault, FaultyCase, needs_disappearance, replaced
from lookaway.world.part_motion import with_idle_motion
from lookaway.world.recipe import ClipRecipe
from lookaway.world.states import StateTable
from lookaway.world.turns import between_frames


class _EventFault(Fault):
    def declines_recipe(self, recipe: ClipRecipe) -> str | None:
        return "nothing happens to the target" if recipe.event == "none" else None

    def declines(self, case: FaultyCase) -> str | None:
        return self.declines_recipe(case.clip.recipe) or needs_disappearance(case)


class StateReset(_EventFault):
    """The event is undone."""

    name = "state_reset"
    summary = "the event's progress is multiplied by 1 - s; at 1 it is as if nothing had happened"
    dose_unit = "progress missing"

    def edit(self, case: FaultyCase, table: StateTable, severity: float) -> StateTable:
        """Scale back the progress of motion and process."""
        progress = case.clip.table.progress.copy()
        progress[case.unseen] *= 1 - severity
        return at_progress(case, table, progress)

    def dose(self, case: FaultyCase, table: StateTable) -> float:
        """Missing progress of the motion or process that lags most."""
        return missing_progress(case, table)


class FrozenWhileUnseen(_EventFault):
    """Nothing happens out of view."""

    name = "frozen_while_unseen"
    summary = "the event stands still for a fraction s of the unseen time"
    dose_unit = "seconds of standstill"

    def edit(self, case: FaultyCase, table: StateTable, severity: float) -> StateTable:
        """Pause motion and process when the target disappears."""
        start, end, frames = case.phases.d_start, case.phases.r_start, np.arange(len(table), dtype=float)
        pause = severity * (end - start)
        lagging = np.where(frames <= start, frames, np.maximum(start, frames - pause))
        clean = case.clip.table.progress
        progress = np.stack([np.interp(lagging, frames, clock) for clock in clean.T], axis=1)
        return at_progress(case, table, progress)

    def dose(self, case: FaultyCase, table: StateTable) -> float:
        """Delay at the return of the motion or process that lags most."""
        clean, end = case.clip.table.progress, case.phases.r_start
        running = [clock for clock in range(2) if clean[end, clock] > clean[case.phases.d_start, clock]]
        whole = np.arange(len(clean), dtype=float)
        late = [end - np.interp(table.progress[end, clock], clean[:, clock], whole) for clock in running]
        return float(max(late, default=0.0)) / case.clip.recipe.fps


def at_progress(case: FaultyCase, table: StateTable, progress: Floats) -> StateTable:
    """The table with the target at this progress [N, 2] of motion and process."""
    clean = case.clip.table
    if clean.progress[:, 0].any():
        table = _with_way(case, table, progress[:, 0])
    if clean.progress[:, 1].any():
        table = with_process(table, case.clip.scene, progress[:, 1])
    clocks = np.where(clean.progress.any(axis=0), progress, 0.0)
    return with_idle_motion(table.edited(progress=clocks), case.clip.scene)


def _with_way(case: FaultyCase, table: StateTable, progress: Floats) -> StateTable:
    """Move target and carrier to this progress of the motion, only in frames where it differs."""
    clean, scene = case.clip.table, case.clip.scene
    known, first = np.unique(clean.progress[:, 0], return_index=True)
    frames = np.interp(progress, known, first)
    differs = np.abs(progress - clean.progress[:, 0]) > 1e-12
    position, turn = table.position, table.quaternion
    things = [0] + ([scene.names.index(scene.motion.carrier)] if scene.motion.carrier else [])
    whole = np.arange(len(clean))
    for thing in things:
        place = np.stack([np.interp(frames, whole, axis) for axis in clean.position[:, thing].T], axis=1)
        turned = between_frames(clean.quaternion[:, thing], frames)
        position = _where(position, differs, thing, place)
        turn = _where(turn, differs, thing, turned)
    return table.edited(position=position, quaternion=turn)


def _where(column: Floats, differs: NDArray[np.bool_], thing: int, values: Floats) -> Floats:
    return replaced(column, slice(None), thing, np.where(differs[:, None], values, column[:, thing]))


def missing_progress(case: FaultyCase, table: StateTable) -> float:
    """Mean missing progress after the return, of the motion or process that lags most."""
    lag = case.clip.table.progress[case.returned] - table.progress[case.returned]
    return float(lag.mean(axis=0).max())


EVENT_FAULTS = (FrozenWhileUnseen(), StateReset())
