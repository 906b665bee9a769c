"""D3 to D6 of WRBench: probes about place and state while visible, the re-observation gate, and probes behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lookaway.core import BoundMetric
from lookaway.io.sampling import AtFps
from lookaway.judges.probe_probabilities import (
    HIDDEN_SPACE,
    HIDDEN_STATE,
    VISIBLE_SPACE,
    VISIBLE_STATE,
    Probe,
    ProbeProbabilities,
)
from lookaway.judges.prompts import Prompt
from lookaway.judges.reobservation import Reobservation
from lookaway.metrics.gates import Reobserved
from lookaway.metrics.judge_metrics import ProbeSupport

NAMES_SUBJECT: Final = "names_subject"
"""Setting that tells the judge the subject's name: another instrument, with another lock."""
FRAMES: Final = AtFps(2.0)
VISIBLE: Final[Mapping[str, tuple[Probe, ...]]] = {
    "wrbench.d3.visible_spatial": VISIBLE_SPACE,
    "wrbench.d4.visible_state": VISIBLE_STATE,
}
GATE: Final = "wrbench.reobserved"
RETURNED: Final[Mapping[str, tuple[Probe, ...]]] = {
    "wrbench.d5.returned_spatial": HIDDEN_SPACE,
    "wrbench.d6.returned_state": HIDDEN_STATE,
}


def probe_metrics(settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
    """D3, D4, D5, D6 and their gate; each asks about its own probes, so that one that fails takes no other with it.

    Six questions about every rollout, those of the gate, and four about the rollouts that pass it. The gate is the one
    of the paper: that of the published code closes every case without a requested camera, 500 of 500 tasks of which the
    paper reports 73 % as re-observed.
    """
    subject = Prompt.named("named_subject") if settings.get(NAMES_SUBJECT) else None
    gate = Reobservation(frames=FRAMES, subject=subject)
    return (
        *(_dimension(name, probes, subject) for name, probes in VISIBLE.items()),
        *(_dimension(name, probes, subject, gate) for name, probes in RETURNED.items()),
        BoundMetric(name=GATE, metric=Reobserved(), recipes={"reobservation": gate}, is_gate=True),
    )


def _dimension(
    name: str, probes: tuple[Probe, ...], subject: Prompt | None, gate: Reobservation | None = None
) -> BoundMetric:
    recipe = ProbeProbabilities(frames=FRAMES, probes=probes, subject=subject, gate=gate)
    return BoundMetric(
        name=name,
        metric=ProbeSupport(),
        recipes={"probe_probabilities": recipe},
        is_consistency=gate is not None,
    )
