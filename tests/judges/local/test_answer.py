from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from lookaway.core import Json, JudgeRequest, JudgeUnusable, Picture, Sampling
from lookaway.judges.errors import PermanentError
from lookaway.judges.local.judge import answer, network_inputs
from lookaway.judges.local.network import Network
from lookaway.judges.question import NO, YES, yes_no
from lookaway.judges.reply import read_reply
from tests.judges.local.questions import JUDGE, drawing, picture, question


def text_of(completion: Json) -> str:
    return read_reply(completion).text


def test_p_yes_is_the_share_of_yes_in_the_whole_vocabulary_of_the_network(network: Network) -> None:
    request = question(token_choices=len(network.tokenizer), max_tokens=1)
    with torch.inference_mode():
        logits = network.model(**network_inputs(network, request)).logits[0, -1].double()
    spelled = [network.tokenizer.decode([token]) for token in range(len(logits))]
    yes, no = (
        sum(logits.softmax(0)[token].item() for token, text in enumerate(spelled) if text in words)
        for words in (YES, NO)
    )
    found = yes_no(read_reply(answer(network, request)), max_doubt=0.0)
    assert found.p_yes == pytest.approx(yes / (yes + no), abs=1e-6)
    assert found.mass == pytest.approx(yes + no, abs=1e-6)
    few = yes_no(read_reply(answer(network, question(max_tokens=1))), max_doubt=0.0)
    assert 0 < few.mass <= found.mass + 1e-6


def test_an_answer_is_a_whole_chat_completion(network: Network) -> None:
    request = question()
    completion = answer(network, request)
    reply = read_reply(json.loads(json.dumps(completion, allow_nan=False)))
    assert completion["object"] == "chat.completion"
    assert completion["choices"][0]["message"]["role"] == "assistant"
    assert reply.model == network.id
    assert (reply.answer_tokens, len(reply.tokens or ())) == (4, 4)
    assert reply.prompt_tokens == network_inputs(network, request)["input_ids"].shape[1]
    assert completion["usage"]["total_tokens"] == reply.prompt_tokens + 4
    assert reply.text == "".join(token.text for token in reply.tokens or ())


def test_likely_words_come_likeliest_first_with_blanks_and_bytes(network: Network) -> None:
    places = answer(network, question())["choices"][0]["logprobs"]["content"]
    for place in places:
        values = [choice["logprob"] for choice in place["top_logprobs"]]
        assert len(values) == 20
        assert values == sorted(values, reverse=True)
        assert place["logprob"] == values[0]
        assert all(choice["bytes"] == list(choice["token"].encode()) for choice in place["top_logprobs"])
    wait_for_answer = {choice["token"] for choice in places[0]["top_logprobs"]}
    assert {" yes", "yes", " no", "no"} <= wait_for_answer


def test_no_log_probabilities_are_kept_or_given_where_none_are_asked_for(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, generate, kept = text_of(answer(network, question())), network.model.generate, []

    def watched(**asked: Any) -> Any:
        kept.append(asked["output_logits"])
        return generate(**asked)

    monkeypatch.setattr(network.model, "generate", watched)
    completion = answer(network, question(token_choices=0))
    assert kept == [False]
    assert completion["choices"][0]["logprobs"] is None
    assert text_of(completion) == expected


@pytest.mark.parametrize("request_", [question(), drawing()], ids=["likeliest", "drawn"])
def test_the_same_question_has_the_same_answer_whatever_was_asked_between(
    network: Network, request_: JudgeRequest
) -> None:
    first = json.dumps(answer(network, request_))
    answer(network, question(pictures=0, material="something else", max_tokens=9))
    answer(network, question(pictures=3))
    assert json.dumps(answer(network, request_)) == first


def test_drawn_answers_differ_by_seed_and_by_repeat_and_leave_the_random_state_alone(network: Network) -> None:
    state = torch.random.get_rng_state()
    texts = {text_of(answer(network, drawing(seed))) for seed in range(4)}
    assert len(texts) == 4
    assert text_of(answer(network, drawing(seed=2, repeat=1))) == text_of(answer(network, drawing(seed=3)))
    assert torch.equal(torch.random.get_rng_state(), state)


def test_the_likeliest_words_need_no_seed(network: Network) -> None:
    seeds = [replace(JUDGE, sampling=Sampling(seed=seed)) for seed in (0, 1, None)]
    assert len({text_of(answer(network, question(judge=judge))) for judge in seeds}) == 1


def test_log_probabilities_are_those_of_the_network_however_words_are_drawn(network: Network) -> None:
    cold = answer(network, question())["choices"][0]["logprobs"]["content"][0]
    hot = answer(network, drawing(temperature=9.0))["choices"][0]["logprobs"]["content"][0]
    assert hot["top_logprobs"] == cold["top_logprobs"]


def test_an_answer_without_an_end_was_cut_and_one_with_an_end_was_not(
    network: Network, another: Path, load_again: Callable[[], Network]
) -> None:
    cut = answer(network, question())
    assert cut["choices"][0]["finish_reason"] == "length"
    settings = another / "generation_config.json"
    with torch.inference_mode():
        end = network.model(**network_inputs(network, question())).logits[0, -1].argmax().item()
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "eos_token_id": end}))
    ended = answer(load_again(), question())
    assert ended["choices"][0]["finish_reason"] == "stop"
    assert len(ended["choices"][0]["logprobs"]["content"]) == 1


def test_marks_of_the_end_are_listed_but_are_no_part_of_the_answer(network: Network) -> None:
    seeds = (answer(network, drawing(seed, temperature=30.0)) for seed in range(200))
    ended = next(found for found in seeds if found["choices"][0]["finish_reason"] == "stop")
    reply = read_reply(ended)
    assert reply.tokens is not None
    assert reply.tokens[-1].text in ("<|im_end|>", "<|endoftext|>")
    assert reply.answer_tokens == len(reply.tokens)
    assert "<|" not in reply.text


def test_habits_that_a_model_was_published_with_do_not_show(
    network: Network, another: Path, load_again: Callable[[], Network]
) -> None:
    settings = another / "generation_config.json"
    habits = {"repetition_penalty": 1.9, "top_k": 1, "temperature": 0.01, "no_repeat_ngram_size": 1}
    settings.write_text(json.dumps({**json.loads(settings.read_text()), **habits}))
    changed = load_again()
    for request in (question(max_tokens=8), drawing()):
        assert answer(changed, request)["choices"] == answer(network, request)["choices"]


def test_every_picture_and_its_place_counts(network: Network) -> None:
    def first_place(seeds: tuple[int, ...]) -> Json:
        pictures = tuple(Picture(place, float(place), picture(seed).pixels) for place, seed in enumerate(seeds))
        completion = answer(network, replace(question(), pictures=pictures))
        return completion["choices"][0]["logprobs"]["content"][0]["top_logprobs"]

    shown = [first_place(seeds) for seeds in ((), (1,), (1, 2), (2, 1), (1, 3))]
    assert all(one != other for place, one in enumerate(shown) for other in shown[:place])


def test_patches_have_rows_and_columns_to_the_network(network: Network) -> None:
    request = question(max_tokens=1)
    inputs = network_inputs(network, request)
    del inputs["mm_token_type_ids"]
    places: list[tuple[int, int, int]] = []
    grids = iter(inputs["image_grid_thw"].tolist())
    tokens = inputs["input_ids"][0].tolist()
    # Text counts on by one; a picture takes a rectangle of places, and text goes on behind its longer side.
    while len(places) < len(tokens):
        start = max(map(max, places), default=-1) + 1
        if tokens[len(places)] == network.picture_token:
            _, rows, columns = next(grids)
            places += [
                (start, start + row, start + column) for row in range(rows // 2) for column in range(columns // 2)
            ]
        else:
            places.append((start, start, start))
    with torch.inference_mode():
        logits = network.model(**inputs, position_ids=torch.tensor(places).T[:, None]).logits[0, -1]
    (place,) = answer(network, request)["choices"][0]["logprobs"]["content"]
    expected = logits.log_softmax(0).sort(descending=True).values[:20].tolist()
    assert [choice["logprob"] for choice in place["top_logprobs"]] == pytest.approx(expected, abs=1e-5)


def test_a_correction_is_part_of_the_talk(network: Network) -> None:
    plain, corrected = question(), question().corrected("Perhaps.", "Say yes or no.")
    first, second = (answer(network, request) for request in (plain, corrected))
    assert second["usage"]["prompt_tokens"] > first["usage"]["prompt_tokens"]
    assert first["choices"][0]["logprobs"] != second["choices"][0]["logprobs"]


def test_a_question_longer_than_the_context_is_declined(network: Network) -> None:
    length = network_inputs(network, question())["input_ids"].shape[1]
    exact = replace(network, context=length + 4)
    assert answer(exact, question())["usage"]["total_tokens"] == length + 4
    with pytest.raises(PermanentError, match=rf"with its 2 pictures has {length} tokens.*takes {length + 3} in total"):
        answer(replace(network, context=length + 3), question())
    with pytest.raises(PermanentError, match="fewer or smaller frames"):
        answer(network, question(pictures=700))


def test_a_template_without_places_for_pictures_is_no_judge(another: Path, load_again: Callable[[], Network]) -> None:
    template = another / "chat_template.jinja"
    template.write_text(template.read_text().replace("<|image_pad|>", ""))
    with pytest.raises(JudgeUnusable, match="0 picture tokens for 2 pictures"):
        answer(load_again(), question())
