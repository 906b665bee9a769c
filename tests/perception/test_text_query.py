from __future__ import annotations

import pytest
import transformers

from lookaway.core import Case, Target
from lookaway.perception.networks.grounding_dino import phrase_of, token_ids
from tests.support.mask_networks import save_tokenizer


def case(**target: object) -> Case:
    return Case(id="a", subset="all", scene="a", target=Target(**target))


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizer")
    save_tokenizer(folder)
    return transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)


def test_attributes_come_before_the_name_and_everything_is_in_lower_case():
    assert phrase_of(case(name="Ball", attributes=("small", "RED"))) == "small red ball"


@pytest.mark.parametrize(
    "target", [None, Target(), Target(name=""), Target(name=" . ?\n"), Target(attributes=("red",))]
)
def test_without_a_name_there_is_no_phrase(target):
    assert phrase_of(Case(id="a", subset="all", scene="a", target=target)) == ""


def test_what_would_end_the_query_is_taken_out_so_that_nothing_else_is_asked_for():
    assert phrase_of(case(name="ball. cat? cube.")) == "ball cat cube"


def test_a_long_text_keeps_its_end_since_the_name_comes_last():
    phrase = phrase_of(case(name="ball", attributes=("red ",) * 10_000))
    assert len(phrase) <= 1000
    assert phrase.endswith("red ball")


def test_half_a_surrogate_pair_does_not_reach_the_tokenizer(tokenizer):
    assert token_ids(tokenizer, phrase_of(case(name="red\ud800 ball")), 256) == tokenizer("red ball.").input_ids


def test_tokens_are_those_of_the_phrase_with_a_full_stop(tokenizer):
    assert token_ids(tokenizer, "small red ball", 256) == tokenizer("small red ball.").input_ids


def test_more_tokens_than_the_network_takes_lose_their_beginning(tokenizer):
    tokens = token_ids(tokenizer, "green " + "red " * 400 + "ball", 256)
    whole = tokenizer("red ball.").input_ids
    assert len(tokens) == 256
    assert (tokens[0], tokens[-4:]) == (101, whole[-4:])
    assert tokenizer("green").input_ids[1] not in tokens


def test_names_of_special_tokens_in_a_text_are_only_letters(tokenizer):
    tokens = token_ids(tokenizer, phrase_of(case(name="[SEP] [CLS] ball [PAD]")), 256)
    assert (tokens.count(101), tokens.count(102), tokens.count(0)) == (1, 1, 0)
