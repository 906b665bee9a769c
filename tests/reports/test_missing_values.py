from __future__ import annotations

import pytest

from lookaway.core import Abstention, Failure, Reason
from lookaway.reports.missing_values import NEXT_STEPS, coverage_shortfalls, missing_values
from tests.reports.site.simulated import Simulated

STYLE, TEXTURE = "mbencht.environment.rendering_style", "mbencht.environment.object_texture"
CLIPS = 12


def run_with(path, outcome):
    """Two models; the second metric of `b` has this outcome for its first three clips."""

    def decide(model, number, metric):
        return outcome if (model, metric) == ("b", TEXTURE) and number < 3 else None

    return Simulated(
        path=path, skills={"a": 0.3, "b": 0.8}, metrics=[STYLE, TEXTURE], scenes=CLIPS, decide=decide
    ).write()


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_a_next_step(reason):
    step = NEXT_STEPS[reason]
    assert step.words.endswith(".")
    assert not step.command or step.command.startswith("lookaway ")


@pytest.mark.parametrize("reason", [Reason.EMPTY_FILE, Reason.NO_JUDGE, Reason.POSE_FAILED])
def test_each_reason_is_one_line_with_how_much_is_missing_and_what_to_do(tmp_path, reason):
    run = run_with(tmp_path / "run", Abstention(reason, "said so."))
    (found,) = missing_values(run, run.table().cells)
    assert found.line.startswith(f"{reason.value}: 3 of {2 * CLIPS} values missing, object_texture. ")
    assert NEXT_STEPS[reason].words in found.line
    assert found.line.endswith(NEXT_STEPS[reason].command)
    assert found.empty == ()


def test_the_weights_that_messages_name_are_in_the_command(tmp_path):
    said = "the weights alexnet are not on this machine. Fetch them with: lookaway weights fetch alexnet"
    run = run_with(tmp_path / "run", Abstention(Reason.MISSING_WEIGHTS, said))
    (found,) = missing_values(run, run.table().cells)
    assert found.step.command == "lookaway weights fetch alexnet"


def test_a_failure_leads_to_its_traceback(tmp_path):
    run = run_with(tmp_path / "run", Failure("ValueError", "no"))
    (found,) = missing_values(run, run.table().cells)
    assert found.line.startswith("failed: 3 of")
    assert "events.jsonl" in found.line


def test_nothing_missing_needs_no_line(tmp_path):
    run = run_with(tmp_path / "run", None)
    assert missing_values(run, run.table().cells) == []


def test_coverage_names_the_metric_of_the_model_that_has_too_few_scores(tmp_path):
    cells = run_with(tmp_path / "run", Abstention(Reason.EMPTY_FILE, "empty.")).table().cells
    assert coverage_shortfalls(cells, 0.9) == [f"{TEXTURE} of b on environment: 9 of 12 scores, 0.750"]
    assert coverage_shortfalls(cells, 0.75) == []


def test_a_rollout_that_did_not_test_memory_is_not_a_lack_of_coverage(tmp_path):
    cells = run_with(tmp_path / "run", Abstention(Reason.GATE_CLOSED, "closed.")).table().cells
    assert coverage_shortfalls(cells, 1.0) == []
