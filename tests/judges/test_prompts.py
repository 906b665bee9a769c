from __future__ import annotations

import hashlib
import re
from importlib import resources
from pathlib import Path

import pytest

import lookaway
from lookaway.core import UnknownName, UserError, describe
from lookaway.core.lock import canonical_json
from lookaway.judges import question_writing
from lookaway.judges.probe_probabilities import ProbeProbabilities
from lookaway.judges.prompts import Prompt, prompt_names
from lookaway.judges.question_verdicts import QuestionVerdicts
from lookaway.judges.rating import CorrectnessRating, ProgressRating
from lookaway.judges.reobservation import Reobservation
from lookaway.judges.return_rating import ReturnRating
from lookaway.judges.trigger_verdict import TriggerVerdict

RECIPES = (
    *(TriggerVerdict.about(what) for what in ("human", "object", "environment", "causal")),
    ProgressRating(),
    CorrectnessRating(),
    ProbeProbabilities(),
    ProbeProbabilities(subject=Prompt.named("named_subject")),
    Reobservation(),
    ReturnRating(),
    QuestionVerdicts(),
)


def prompts_of(recipe) -> set[Prompt]:
    own = getattr(recipe, "prompts", ())
    own += (recipe.subject,) if getattr(recipe, "subject", None) else ()
    return {recipe.system, *own, *(prompt for probe in getattr(recipe, "probes", ()) for prompt in probe.prompts)}


def test_a_prompt_is_its_file_and_the_hash_of_it():
    text = (resources.files("lookaway.judges.prompts") / "system.md").read_text(encoding="utf-8")
    prompt = Prompt.named("system")
    assert (prompt.text, prompt.sha256) == (text, hashlib.sha256(text.encode()).hexdigest())


def test_a_prompt_that_changed_after_planning_is_not_put():
    with pytest.raises(UserError, match="was changed after the run was planned"):
        Prompt("system", "0" * 64).text  # noqa: B018


def test_an_unknown_prompt_is_answered_with_the_nearest_name():
    with pytest.raises(UnknownName, match=r"Did you mean 'trigger'\?"):
        Prompt.named("triger")
    with pytest.raises(UnknownName):
        Prompt.named("no_such_package:trigger")


def test_a_prompt_can_lie_in_another_package():
    prompt = Prompt.named("lookaway.judges.prompts:system")
    assert prompt.text == Prompt.named("system").text


def test_every_prompt_is_asked_by_somebody():
    used = {prompt.name for recipe in RECIPES for prompt in prompts_of(recipe)}
    used |= {prompt.name for prompt in (question_writing.SYSTEM, *question_writing.PROMPTS)}
    sources = "".join(path.read_text(encoding="utf-8") for path in Path(lookaway.__file__).parent.rglob("*.py"))
    assert used <= set(prompt_names())
    assert [name for name in prompt_names() if name not in used and f'Prompt.named("{name}")' not in sources] == []


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_the_hash_of_every_prompt_is_in_the_lock(recipe):
    lock = canonical_json(describe(recipe))
    for prompt in prompts_of(recipe):
        assert f'"name":"{prompt.name}","sha256":"{prompt.sha256}"' in lock


@pytest.mark.parametrize("name", prompt_names())
def test_a_prompt_is_plain_text_without_marks_of_its_own(name):
    text = Prompt.named(name).text
    assert text.isascii()
    assert text.endswith("\n")
    if "system" not in name:
        assert not re.search("</?material", text)
