"""Thousands of questions over real HTTP, with faults, kills and limits."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from lookaway.judges.oracle import ERROR_KINDS, Noise, OracleServer, ServerErrors
from tests.judges.client_process import PROMPT, Parity

pytestmark = pytest.mark.nightly  # thousands of questions; the other tests of the client ask a few

KEY = "sk-of-the-oracle-0123456789"
PATIENT = {"tries": 8, "first_wait_seconds": 0.02, "longest_wait_seconds": 0.5, "trip_after": 200, "pause_seconds": 0.2}


class Numbers:
    """Answers from the number in the question, and notes in which life of the asker it was asked."""

    def __init__(self) -> None:
        self.life = 0
        self.asked: Counter[tuple[int, int]] = Counter()
        self._lock = threading.Lock()

    def __call__(self, clip, material, frames) -> Parity:
        number = material["number"]
        with self._lock:
            self.asked[self.life, number] += 1
        return Parity(number=number, is_even=number % 2 == 0)


def start(server: OracleServer, folder: Path, **given) -> subprocess.Popen[str]:
    settings = {
        "url": server.base_url,
        "key": KEY,
        "timeout_seconds": 1.5,
        "run": str(folder / "run"),
        "answers": str(folder / "answers.jsonl"),
        "policy": {**PATIENT, "concurrent": 32},
        "ahead": 200,
        **given,
    }
    command = [sys.executable, "-m", "tests.judges.client_process", json.dumps(settings)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> dict:
    out, err = process.communicate(timeout=280)
    assert process.returncode == 0, err
    return json.loads(out)


def answers(folder: Path) -> dict[int, dict]:
    """By number; the last line counts, and a line that a kill cut off does not."""
    lines = (folder / "answers.jsonl").read_text().splitlines(keepends=True)
    found = [json.loads(line) for line in lines if line.endswith("\n")]
    return {line["number"]: line for line in found}


def kept_numbers(folder: Path) -> set[int]:
    """Numbers whose first question has a kept reply."""
    numbers = set()
    for path in (folder / "run" / "replies").glob("*/*.json"):
        request = json.loads(path.read_text())["request"]
        if not request["corrections"]:
            numbers.add(int(request["material"].splitlines()[1]))
    return numbers


@pytest.mark.timeout(600)
def test_of_2000_questions_with_every_fifth_reply_at_fault_none_is_lost_or_wrong_or_asked_twice_after_a_kill(tmp_path):
    numbers, count = Numbers(), 2000
    errors = ServerErrors.mixed(0.2)
    with OracleServer(None, answers={PROMPT: numbers}, errors=errors, key=KEY) as server:
        process = start(server, tmp_path, count=count)
        while len(list((tmp_path / "run").glob("replies/*/*.json"))) < count // 3:
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kept_before = kept_numbers(tmp_path)
        numbers.life = 1
        finish(start(server, tmp_path, count=count))
        given, replies = server.request_log.errors, server.request_log.answered
    found = answers(tmp_path)
    assert sorted(found) == list(range(count))
    answered = {number: line["answer"] for number, line in found.items() if "answer" in line}
    assert all(answer == {"number": number, "is_even": number % 2 == 0} for number, answer in answered.items())
    assert {line["reason"] for line in found.values() if "reason" in line} <= {"judge_failed", "judge_refused"}
    assert len(answered) > 0.9 * count
    assert set(given) == set(ERROR_KINDS)
    assert given.total() > 0.15 * count
    assert count // 4 < len(kept_before) < count // 2
    asked_again = {number for (life, number), times in numbers.asked.items() if life == 1} & kept_before
    # Corrections of answers that were cut or of the wrong type are other questions, about the same number.
    corrected = {number for number in asked_again if _has_correction(tmp_path, number)}
    assert asked_again == corrected
    under_way = 32
    assert sum(times - 1 for times in replies.values()) <= under_way


def _has_correction(folder: Path, number: int) -> bool:
    return any(
        request["corrections"] and request["material"].splitlines()[1] == str(number)
        for path in (folder / "run" / "replies").glob("*/*.json")
        if (request := json.loads(path.read_text())["request"])
    )


@pytest.mark.timeout(600)
def test_the_key_stands_in_no_file_that_asking_wrote(tmp_path):
    with OracleServer(None, answers={PROMPT: Numbers()}, errors=ServerErrors.mixed(0.5), key=KEY) as server:
        process = start(server, tmp_path, count=200)
        out, err = process.communicate(timeout=280)
    assert process.returncode == 0, err
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) > 100
    assert not [path for path in written if KEY.encode() in path.read_bytes()]
    assert KEY not in out + err


@pytest.mark.timeout(600)
def test_64_concurrent_questions_hold_the_configured_rate_within_5_percent(tmp_path):
    def measured_rate(folder: Path) -> float:
        folder.mkdir()
        policy = {**PATIENT, "concurrent": 64, "per_second": 60.0}
        with OracleServer(None, answers={PROMPT: Numbers()}, noise=Noise(latency_seconds=0.7), key=KEY) as server:
            finish(start(server, folder, count=800, policy=policy, timeout_seconds=30))
            steady = np.array(server.request_log.arrived)[100:]
            assert 20 < server.request_log.max_in_flight <= 64
        measured = (len(steady) - 1) / (steady[-1] - steady[0])
        assert measured < 1.05 * 60
        return measured

    # A busy machine may be slower for a while, but it may never be faster.
    assert any(measured_rate(tmp_path / str(attempt)) > 0.95 * 60 for attempt in range(3))


@pytest.mark.timeout(600)
def test_memory_is_flat_over_thousands_of_questions(tmp_path):
    policy = {**PATIENT, "concurrent": 64}
    with OracleServer(None, answers={PROMPT: Numbers()}, key=KEY) as server:
        memory = finish(start(server, tmp_path, count=4000, policy=policy, timeout_seconds=30))["memory"]
    assert len(answers(tmp_path)) == 4000
    early, late = max(memory[1:3]), max(memory[-2:])
    assert late - early < 3 * 2**20, [round(entry / 2**20) for entry in memory]  # 1.2 kB for each that came between
