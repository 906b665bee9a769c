from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import lookaway
from lookaway.core import BoundMetric, JudgeModel, UserError, canonical_json, describe
from lookaway.engine.judging import with_planned_judge
from lookaway.io.limits import MAX_PROMPT_BYTES
from lookaway.judges.oracle import OracleServer
from lookaway.judges.oracle.oracle import Oracle
from lookaway.judges.probe_probabilities import ProbeProbabilities
from lookaway.judges.prompt_folder import PLACEHOLDER, PromptFolder, replaceable
from lookaway.judges.prompts import Prompt, prompt_names
from lookaway.judges.question import _instruction
from lookaway.judges.rating import ProgressRating
from lookaway.judges.settings import JudgeSettings
from lookaway.judges.trigger_verdict import TriggerVerdict
from tests.judges.test_judge_runs import KEY, settings
from tests.support.command import lookaway as command
from tests.support.rendered import copy_small

TEXT = "Did the event of the material go on while it was out of sight? The wording is somebody else's.\n"


def folder(path: Path, **texts: str) -> Path:
    path.mkdir(exist_ok=True)
    for name, text in texts.items():
        (path / f"{name}.md").write_text(text)
    return path


def bound(recipe) -> BoundMetric:
    return BoundMetric(name="judged", metric=None, recipes={"answer": recipe})  # type: ignore[arg-type]


def replaced(path: Path, recipe):
    (found,) = PromptFolder.read(path).replace_in((bound(recipe),))
    return found.recipes["answer"]


def test_a_file_of_the_same_name_replaces_ours_and_no_other(tmp_path):
    usual = ProgressRating()
    found = replaced(folder(tmp_path / "p", rating_progress=TEXT), usual)
    assert found.prompts[0] == usual.prompts[0]
    assert found.system == usual.system
    assert found.prompts[1].text == TEXT
    assert _instruction(found.prompts) == f"{usual.prompts[0].text.strip()}\n\n{TEXT.strip()}"


def test_the_system_prompt_is_replaced_too(tmp_path):
    assert replaced(folder(tmp_path / "p", system=TEXT), TriggerVerdict()).system.text == TEXT


def test_prompts_inside_of_probes_are_replaced(tmp_path):
    found = replaced(folder(tmp_path / "p", probe_visible_state_action=TEXT), ProbeProbabilities())
    texts = [prompt.text for probe in found.probes for prompt in probe.prompts]
    assert TEXT in texts


def test_what_uses_none_of_them_stays_the_same_object(tmp_path):
    usual = TriggerVerdict()
    assert replaced(folder(tmp_path / "p", rating=TEXT), usual) is usual


def test_the_lock_has_the_hash_of_the_text_and_never_the_text(tmp_path):
    found = replaced(folder(tmp_path / "p", rating=TEXT), ProgressRating())
    lock = canonical_json(describe(found))
    assert found.prompts[0].sha256 in lock
    assert found.prompts[0].sha256 != Prompt.named("rating").sha256
    assert "somebody else" not in lock
    assert str(tmp_path) not in lock
    assert "somebody else" not in canonical_json(PromptFolder.read(tmp_path / "p").to_json())


def test_another_process_gets_the_text_with_the_prompt(tmp_path):
    prompt = replaced(folder(tmp_path / "p", rating=TEXT), ProgressRating()).prompts[0]
    (tmp_path / "pickled").write_bytes(pickle.dumps((prompt, Prompt.named("rating"))))
    program = "import pickle, sys; print([p.text for p in pickle.loads(open(sys.argv[1], 'rb').read())])"
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "pickled")], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == repr([TEXT, Prompt.named("rating").text])


def test_ours_given_again_is_the_same_lock(tmp_path):
    ours = Prompt.named("rating").text
    assert describe(replaced(folder(tmp_path / "p", rating=ours), ProgressRating())) == describe(ProgressRating())


def test_a_part_may_be_empty_and_the_whole_may_not(tmp_path):
    found = replaced(folder(tmp_path / "p", rating=TEXT, rating_progress=""), ProgressRating())
    assert _instruction(found.prompts) == TEXT.strip()
    with pytest.raises(UserError, match=r"rating.md, rating_progress.md: empty, so that nothing would be asked"):
        replaced(folder(tmp_path / "p", rating=" \n"), ProgressRating())


@pytest.mark.parametrize(
    "name", ["triger.md", "rating.txt", "introduction.md", "question_writing.md", "check_yes_no.md"]
)
def test_a_file_that_replaces_nothing_is_refused_with_the_known_ones(name, tmp_path):
    (folder(tmp_path / "p", trigger=TEXT) / name).write_text(TEXT)
    with pytest.raises(UserError, match=r"no prompt has this name.* Known: .*trigger\.md"):
        PromptFolder.read(tmp_path / "p")


def test_hidden_files_are_left_alone(tmp_path):
    (folder(tmp_path / "p", trigger=TEXT) / ".DS_Store").write_text("?")
    assert PromptFolder.read(tmp_path / "p").prompts.keys() == {"trigger"}


@pytest.mark.parametrize("text", ["{caption}", "{{ caption }}", "${caption}", "%(caption)s"])
def test_a_placeholder_that_nothing_fills_in_is_refused(text, tmp_path):
    with pytest.raises(UserError, match=r"trigger\.md: has .*caption.* nothing is filled into a prompt"):
        PromptFolder.read(folder(tmp_path / "p", trigger=f"The event is {text}. Did it happen?"))


def test_a_placeholder_of_ours_may_not_be_missing(tmp_path, monkeypatch):
    ours = Prompt.given("trigger", "Ask about {event}.")
    monkeypatch.setattr(Prompt, "named", classmethod(lambda cls, name: ours))
    with pytest.raises(UserError, match=r"trigger\.md: lacks \{event\}, which our trigger\.md has"):
        PromptFolder.read(folder(tmp_path / "p", trigger=TEXT))
    assert PromptFolder.read(folder(tmp_path / "p", trigger="Is {event} there?")).prompts


@pytest.mark.parametrize("name", prompt_names())
def test_ours_have_no_placeholders_and_an_example_of_json_is_none(name):
    assert not PLACEHOLDER.search(Prompt.named(name).text)
    assert not PLACEHOLDER.search('Answer with {"answer": true, "reason": ""} or {}.')


def test_a_link_out_of_the_folder_a_large_file_and_other_bytes_are_refused(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("a key")
    root = folder(tmp_path / "p")
    (root / "trigger.md").symlink_to(secret)
    with pytest.raises(UserError, match="leads out of"):
        PromptFolder.read(root)
    (root / "trigger.md").unlink()
    (root / "trigger.md").write_text("a" * (MAX_PROMPT_BYTES + 1))
    with pytest.raises(UserError, match="at most"):
        PromptFolder.read(root)
    (root / "trigger.md").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="not UTF-8"):
        PromptFolder.read(root)
    (root / "trigger.md").unlink()
    (root / "trigger.md").mkdir()
    with pytest.raises(UserError, match="cannot be read"):
        PromptFolder.read(root)


def test_a_folder_that_is_missing_or_empty_is_refused(tmp_path):
    with pytest.raises(UserError, match="there is no such folder"):
        PromptFolder.read(tmp_path / "none")
    with pytest.raises(UserError, match="holds no prompts"):
        PromptFolder.read(folder(tmp_path / "p"))


def test_a_plan_has_the_same_lock_entries_as_the_run_will_have(tmp_path):
    prompts = PromptFolder.read(folder(tmp_path / "p", trigger=TEXT))
    judge = JudgeSettings(model=JudgeModel(model="m"), prompts=prompts)
    (found,) = with_planned_judge((bound(TriggerVerdict()),), judge, tmp_path / "run")
    assert found.recipes["answer"].prompts[0].text == TEXT
    (usual,) = with_planned_judge((bound(TriggerVerdict()),), replace(judge, prompts=None), tmp_path / "run")
    assert usual.recipes["answer"].prompts == TriggerVerdict().prompts


def test_every_prompt_of_a_metric_can_be_replaced():
    assert {"trigger", "system", "rating", "probe", "reobservation", "question_verdicts"} <= set(replaceable())
    assert set(replaceable()) < set(prompt_names())


@pytest.mark.parametrize("started", [("eval", "dataset", "-o", "run"), ("calibrate", "-o", "cards")])
def test_prompts_without_a_judge_are_refused(tmp_path, monkeypatch, started):
    (tmp_path / "dataset").mkdir()
    monkeypatch.chdir(tmp_path)
    for name in ("LOOKAWAY_JUDGE_MODEL", "MBENCH_VLM_MODEL", "LOOKAWAY_JUDGE_FILE"):
        monkeypatch.delenv(name, raising=False)
    result = command(*started, "--prompts", folder(tmp_path / "p", trigger=TEXT))
    assert result.code == 2
    assert "No judge is configured: --prompts is given" in result.err


def test_cards_are_made_with_the_words_of_the_folder(tmp_path, monkeypatch):
    plans = []

    def stop(plan, *_, **__):
        plans.append(plan)
        raise UserError("Enough.")

    monkeypatch.setattr("lookaway.calibration.calibrate.calibrate", stop)
    asked = ("--judge-model", "m", "--prompts", folder(tmp_path / "p", trigger=TEXT))
    assert command("calibrate", "-o", tmp_path / "cards", *asked).code == 2
    assert plans[0].judge.prompts.prompts["trigger"].text == TEXT


@pytest.mark.render
def test_a_run_asks_in_the_words_of_the_folder_and_says_so(tmp_path, monkeypatch):
    world = tmp_path / "world"
    copy_small(world, faults=("state_reset",), severities=(1.0,))
    path = folder(tmp_path / "p", trigger=TEXT, trigger_object="")
    with OracleServer(world, key=KEY) as server:
        usual = lookaway.evaluate(world, tmp_path / "usual", metrics=["triggered"], judge=settings(server))
        known = Oracle._function
        asked = []

        def function(self, question):
            asked.append(question.instruction)
            ours = Prompt.named("trigger").text.strip() + Prompt.named("trigger_object").text.strip()
            return known(self, replace(question, instruction=question.instruction.replace(TEXT.strip(), ours)))

        monkeypatch.setattr(Oracle, "_function", function)
        options = ("--judge-url", server.base_url, "--judge-key", KEY, "--judge-model", "oracle")
        given = ("eval", world, "-o", tmp_path / "run", "--metrics", "triggered", *options, "--no-progress")
        result = command(*given, "--prompts", path)
    assert TEXT.strip() in [text.strip() for text in asked]
    assert f"judge oracle, prompts of {path} (" in result.out
    assert "the rest in own wording" in result.out  # the system prompt
    run = lookaway.Run(tmp_path / "run")
    assert run.lock.sha256 != usual.lock.sha256
    assert "judge oracle, own wording" in command("show", tmp_path / "usual").out
    assert "somebody else" not in (tmp_path / "run" / "lock.json").read_text()
    assert "somebody else" not in (tmp_path / "run" / "run.json").read_text()
