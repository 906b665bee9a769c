"""What a run found, in the tracker where a training run is watched: TensorBoard, Trackio or Weights & Biases."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from contextvars import Context
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from lookaway.core import TESTED, Cell, MissingExtra, UnknownName, UserError
from lookaway.engine.run import Run
from lookaway.reports.missing_values import measured_share
from lookaway.reports.site.rendering import slug

PROJECT: Final = "lookaway"
PLAIN_NAME = re.compile(r"\w[\w.-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelLog:
    """What a tracker is told about one model of a run."""

    project: str
    group: str
    """The run that the model was measured in."""
    model: str
    about: Mapping[str, str]
    values: Mapping[str, float]
    step: int

    @property
    def name(self) -> str:
        """Model and run."""
        return f"{self.group}/{self.model}"


def log_run(
    run: Run, to: str | Iterable[str], *, project: str = PROJECT, name: str | None = None, step: int = 0
) -> None:
    """Write means, intervals, coverage and gate shares of a run to trackers, a run of the tracker for each model.

    `to` is `tensorboard`, `trackio` or `wandb`, or several of them. Logs of the same project, name and model are one
    curve over `step`, the training step of the model; without a name it is that of the run's folder. TensorBoard reads
    the folder `tensorboard`; the others keep their files where they always do.
    """
    names = (to,) if isinstance(to, str) else tuple(to)
    require_trackers(names)
    logs = list(_model_logs(run, project=project, group=name or run.path.name, step=step))
    for tracker in names:
        for log in logs:
            try:
                _TRACKERS[tracker](log)
            except Exception as error:
                why = str(error).rstrip(".")
                raise UserError(
                    f"{tracker} did not take the results of {log.model}: {why}. The run itself is whole. Once it "
                    f"works, call lookaway.log_run(lookaway.Run({str(run.path)!r}), to={tracker!r})."
                ) from error


def require_trackers(names: Iterable[str]) -> None:
    """Refuse a tracker that is unknown or not installed, before anything is measured."""
    for name in names:
        if name not in _TRACKERS:
            raise UnknownName("experiment tracker", name, sorted(_TRACKERS))
        if find_spec(name) is None:
            raise MissingExtra(f"Writing results to {name}", name)


def _model_logs(run: Run, *, project: str, group: str, step: int) -> Iterator[ModelLog]:
    table = run.table()
    facts = {"suite": table.suite, "lock": run.about["lock_sha256"]}
    for model in dict.fromkeys(cell.model for cell in table.cells):
        cells = [cell for cell in table.cells if cell.model == model]
        values = {f"{cell.metric}/{cell.subset}/{name}": value for cell in cells for name, value in _values(cell)}
        yield ModelLog(project=project, group=group, model=model, about=facts, values=values, step=step)


def _values(cell: Cell) -> Iterator[tuple[str, float]]:
    """Only what is known: a mean that could not be computed has no point on the curve, least of all at zero."""
    if cell.estimate is not None:
        yield "mean", cell.estimate.mean
        if cell.estimate.low is not None and cell.estimate.high is not None:
            yield "low", cell.estimate.low
            yield "high", cell.estimate.high
    yield "coverage", measured_share(cell)
    if cell.gated is not None and cell.gated.coverage is not None:
        yield cell.gated.label, cell.gated.coverage.mean
    if cell.tested is not None and cell.tested.share is not None:
        yield TESTED, cell.tested.share.mean


def _to_tensorboard(log: ModelLog) -> None:
    writer_module = import_module("tensorboard.summary.writer.event_file_writer")
    events = import_module("tensorboard.compat.proto.event_pb2")
    summaries = import_module("tensorboard.compat.proto.summary_pb2")
    texts = import_module("tensorboard.plugins.text.summary_v2")
    folder = Path("tensorboard", *map(_folder_name, (log.project, log.group, log.model)))
    writer = writer_module.EventFileWriter(str(folder))
    facts = "  \n".join(f"{name}: {value}" for name, value in log.about.items())
    numbers = [summaries.Summary.Value(tag=tag, simple_value=value) for tag, value in log.values.items()]
    for summary in (texts.text_pb(f"{PROJECT}/run", facts), summaries.Summary(value=numbers)):
        writer.add_event(events.Event(wall_time=time.time(), step=log.step, summary=summary))
    writer.close()


def _folder_name(name: str) -> str:
    """A name that stays in its folder, whatever a model is called."""
    return name if PLAIN_NAME.fullmatch(name) else slug(name)


def _to_trackio(log: ModelLog) -> None:
    trackio = import_module("trackio")

    def write() -> None:
        started = trackio.init(
            project=log.project,
            name=log.name,
            group=log.group,
            config=dict(log.about),
            resume="allow",
            embed=False,
            auto_log_gpu=False,
            auto_log_cpu=False,
        )
        started.log(dict(log.values), step=log.step)
        started.finish()

    # Trackio would end the run of the training loop around it, which it finds in the context, and it prints.
    with redirect_stdout(sys.stderr):
        Context().run(write)


def _to_wandb(log: ModelLog) -> None:
    wandb = import_module("wandb")
    started = wandb.init(
        project=log.project,
        name=log.name,
        group=log.group,
        id=sha256("\n".join((log.project, log.group, log.model)).encode()).hexdigest()[:16],
        resume="allow",
        reinit="create_new",
        config=dict(log.about),
        # Results alone: no command line, which may hold a key, no paths, no code, no output of this process.
        settings=wandb.Settings(
            silent=True,
            console="off",
            disable_code=True,
            disable_git=True,
            x_disable_machine_info=True,
            x_disable_meta=True,
            x_disable_stats=True,
            x_save_requirements=False,
        ),
    )
    started.define_metric("*", step_metric="step")
    started.log({"step": log.step, **log.values})
    started.finish()


_TRACKERS: Final[Mapping[str, Callable[[ModelLog], Any]]] = {
    "tensorboard": _to_tensorboard,
    "trackio": _to_trackio,
    "wandb": _to_wandb,
}
