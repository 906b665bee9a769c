from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from lookaway.core import BudgetSpent, RunError
from lookaway.io.files import list_files, read_bytes, write_whole
from lookaway.io.journal import Journal
from lookaway.io.object_storage import as_path
from lookaway.judges import budget as budget_module
from lookaway.judges.budget import Budget, Spending, Spent
from lookaway.judges.reply_store import ReplyStore
from tests.judges.requests import question
from tests.support.s3_server import S3Server, new_bucket, s3_server


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with s3_server(tmp_path_factory.mktemp("s3")) as running:
        yield running


@pytest.fixture(params=["disk", pytest.param("objects", marks=pytest.mark.server)])
def path(request, tmp_path) -> Path:
    if request.param == "disk":
        return tmp_path / "run" / "spending.jsonl"
    request.getfixturevalue("server")
    return new_bucket() / "run" / "spending.jsonl"


@pytest.fixture
def away(server: S3Server) -> Path:
    return new_bucket() / "run" / "spending.jsonl"


def test_what_is_spent_is_the_sum_of_what_all_workers_spent(path):
    workers = [Spending(path, Budget()) for _ in range(3)]
    for number, worker in enumerate(workers):
        worker.take_call()
        worker.add_tokens(10 * number, number)
    expected = Spent(calls=3, prompt_tokens=30, answer_tokens=3)
    assert [worker.spent() for worker in workers] == [expected] * 3
    assert [worker.spent() for worker in workers] == [expected] * 3
    assert Spending(path, Budget()).spent() == expected


@pytest.mark.parametrize("limit", [{"calls": 2}, {"tokens": 40}, {"money": 0.4, "price": 1e4}])
def test_a_budget_holds_over_all_that_was_spent_before(limit, path):
    budget = Budget(
        calls=limit.get("calls"),
        tokens=limit.get("tokens"),
        money=limit.get("money"),
        price_per_million_prompt_tokens=limit.get("price", 0.0),
    )
    workers = [Spending(path, budget) for _ in range(3)]
    for worker in workers[:2]:
        worker.take_call()
        worker.add_tokens(20, 0)
    for worker in workers[1:]:
        with pytest.raises(BudgetSpent, match="budget is spent"):
            worker.take_call()
    assert Spending(path, Budget()).spent().calls == 2


def test_ones_own_calls_count_at_once_however_many_threads_take_them(path):
    worker, refused = Spending(path, Budget(calls=10)), []

    def take() -> None:
        for _ in range(5):
            try:
                worker.take_call()
            except BudgetSpent as error:
                refused.append(error)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (worker.spent().calls, len(refused)) == (10, 10)


def test_merging_neither_loses_nor_doubles_what_was_spent(away, monkeypatch):
    monkeypatch.setattr(budget_module, "FRESH_SECONDS", 0.0)
    first, second = Spending(away, Budget(calls=100)), Spending(away, Budget(calls=100))
    for number in range(1, 6):
        first.take_call()
        second.take_call()
        first.add_tokens(7, 1)
        if number % 2:
            Journal(away).merge()
        expected = Spent(calls=2 * number, prompt_tokens=7 * number, answer_tokens=number)
        assert first.spent() == second.spent() == Spending(away, Budget()).spent() == expected


def test_what_others_spent_is_looked_for_once_in_a_while_and_only_where_there_is_a_limit(server, away, monkeypatch):
    worker = Spending(away, Budget(calls=5))
    Spending(away, Budget()).take_call()

    def lookups(call) -> int:
        before = len(server.requests())
        call()
        return sum(method == "GET" for method, _ in server.requests()[before:])

    assert lookups(worker.take_call) > 0
    assert lookups(worker.take_call) == 0
    assert lookups(Spending(away, Budget()).take_call) == 0
    monkeypatch.setattr(budget_module, "FRESH_SECONDS", 0.0)
    assert lookups(worker.take_call) > 0
    with pytest.raises(BudgetSpent, match="5 of 5 calls"):
        worker.take_call()


def test_a_run_that_was_copied_from_disk_has_spent_what_it_spent_there(away):
    write_whole(away, lambda file: file.write(b'{"calls": 4}\n{"prompt_tokens": 9}\n'))
    worker = Spending(away, Budget(calls=5))
    worker.take_call()
    assert worker.spent() == Spent(calls=5, prompt_tokens=9)
    with pytest.raises(BudgetSpent):
        worker.take_call()


def test_lines_on_disk_are_what_they_always_were_with_a_checksum(tmp_path):
    worker = Spending(tmp_path / "spending.jsonl", Budget())
    worker.take_call()
    worker.add_tokens(3, 2)
    lines = [json.loads(line) for line in (tmp_path / "spending.jsonl").read_text().splitlines()]
    assert all(len(line.pop("crc32")) == 8 for line in lines)
    assert lines == [{"calls": 1}, {"prompt_tokens": 3, "answer_tokens": 2}]


def test_a_flipped_digit_in_what_was_spent_is_noticed(tmp_path):
    path = tmp_path / "spending.jsonl"
    Spending(path, Budget()).add_tokens(3, 2)
    path.write_text(path.read_text().replace('"prompt_tokens": 3', '"prompt_tokens": 1'))
    with pytest.raises(RunError, match=r"spending\.jsonl: 1 lines are damaged"):
        Spending(path, Budget()).take_call()


@pytest.mark.parametrize("line", ["{", "[]", '{"calls": 1', '{"cells": 1}'])
def test_a_line_that_a_full_disk_cut_off_is_named_and_not_passed_over(line, tmp_path):
    (tmp_path / "spending.jsonl").write_text(f'{{"calls": 1}}\n{line}\n')
    with pytest.raises(RunError, match=r"spending\.jsonl: .*Delete the line"):
        Spending(tmp_path / "spending.jsonl", Budget()).take_call()


def test_a_place_that_cannot_be_written_is_an_error_of_the_user(tmp_path):
    (tmp_path / "run").write_text("")
    with pytest.raises(RunError, match="judge costs cannot be recorded"):
        Spending(tmp_path / "run" / "spending.jsonl", Budget()).take_call()


def test_replies_are_kept_on_object_storage_and_a_damaged_one_is_none(server):
    store, request = ReplyStore(new_bucket() / "replies"), question()
    assert store.get(request) is None
    store.put(request, {"choices": [], "größe": 1})
    assert store.get(request) == {"choices": [], "größe": 1}
    path = store.path(request.key())
    assert list_files(path.parent, ".json") == [path]
    content = read_bytes(path)
    for damaged in (content[:-5], content.replace(b'"choices"', b'"voices"')):
        write_whole(path, lambda file, damaged=damaged: file.write(damaged))
        assert store.get(request) is None


def test_only_object_storage_is_slow_to_note_what_was_spent(tmp_path):
    assert not Spending(tmp_path / "spending.jsonl", Budget()).is_slow
    assert Spending(as_path("s3://bucket/run") / "spending.jsonl", Budget()).is_slow
