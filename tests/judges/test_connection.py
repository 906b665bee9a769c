from __future__ import annotations

import pickle

import pytest

from lookaway.core import UserError
from lookaway.judges.server import Connection, Secret, find_setting, read_private_file

KEY = "sk-very-private"


def private(path, text, mode=0o600):
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8000/v1",
        "http://127.0.0.1:8000/v1/",
        "http://127.0.0.1:8000/v1/chat/completions",
        "http://127.0.0.1:8000/v1/chat/completions/",
    ],
)
def test_an_address_may_name_the_endpoint_or_not(url):
    assert Connection(url=url).url == "http://127.0.0.1:8000/v1"


@pytest.mark.parametrize("url", ["", "127.0.0.1:8000", "ftp://host/v1", "http://", "file:///etc/passwd"])
def test_what_is_no_address_is_refused(url):
    with pytest.raises(UserError, match="is not the address of a server"):
        Connection(url=url)


def test_a_password_in_an_address_is_refused_and_not_repeated():
    with pytest.raises(UserError) as caught:
        Connection(url=f"https://me:{KEY}@host/v1")
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan")])
def test_a_time_limit_is_positive_and_finite(seconds):
    with pytest.raises(UserError, match="timeout"):
        Connection(timeout_seconds=seconds)


def test_a_flag_counts_before_the_file_and_the_file_before_the_environment():
    variables = {"LOOKAWAY_JUDGE_URL": "from variable"}
    assert find_setting("url", "from flag", {"url": "from file"}, variables) == "from flag"
    assert find_setting("url", None, {"url": "from file"}, variables) == "from file"
    assert find_setting("url", None, {}, variables) == "from variable"
    assert find_setting("url", None, {}, {}) == ""


@pytest.mark.parametrize(
    ("name", "variables"),
    [
        ("url", ["LOOKAWAY_JUDGE_URL", "MBENCH_VLM_BASE_URL", "OPENAI_BASE_URL", "OPENAI_API_BASE"]),
        ("key", ["LOOKAWAY_JUDGE_KEY", "MBENCH_VLM_API_KEY", "OPENAI_API_KEY"]),
        ("model", ["LOOKAWAY_JUDGE_MODEL", "MBENCH_VLM_MODEL"]),
    ],
)
def test_our_own_variable_counts_before_those_of_other_programs(name, variables):
    given = {variable: variable for variable in variables}
    for variable in variables:
        assert find_setting(name, None, {}, given) == variable
        given[variable] = ""  # set, but to nothing
    assert find_setting(name, None, {}, given) == ""


def test_a_key_alone_names_no_judge():
    assert find_setting("model", None, {}, {"OPENAI_API_KEY": KEY, "OPENAI_MODEL": "gpt"}) == ""


def test_a_private_file_gives_all_settings(tmp_path):
    path = private(tmp_path / "judge.toml", f'url = "http://host/v1"\nkey = "{KEY}"\nmodel = "m"\n')
    expected = {"url": "http://host/v1", "key": KEY, "model": "m"}
    assert read_private_file(path) == expected
    assert read_private_file(None, {"LOOKAWAY_JUDGE_FILE": str(path)}) == expected
    assert read_private_file(None, {}) == {}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660])
def test_a_file_that_others_can_read_is_refused(tmp_path, mode):
    path = private(tmp_path / "judge.toml", f'key = "{KEY}"\n', mode)
    with pytest.raises(UserError, match="chmod 600") as caught:
        read_private_file(path)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("text", [f"key = {KEY}", f'key = "{KEY}', f'key = ["{KEY}"]', f'"{KEY}" = "x"', "\xff"])
def test_a_file_that_cannot_be_read_is_refused_without_repeating_the_key(tmp_path, text):
    path = tmp_path / "judge.toml"
    path.write_bytes(text.encode("latin-1"))
    path.chmod(0o600)
    with pytest.raises(UserError) as caught:
        read_private_file(path)
    message = str(caught.value)
    assert str(path) in message
    assert KEY not in message or text.startswith(f'"{KEY}"')
    assert caught.value.__cause__ is None


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"judge\.toml"):
        read_private_file(tmp_path / "judge.toml")


def test_a_secret_is_never_shown():
    secret = Secret(KEY)
    for shown in (str(secret), repr(secret), f"{secret}", repr(Connection(key=secret)), str([secret])):
        assert KEY not in shown
    assert secret.reveal() == KEY
    assert pickle.loads(pickle.dumps(secret)) == secret


def test_a_secret_is_taken_out_of_text_but_short_ones_leave_words_alone():
    assert Secret(KEY).scrub(f"key={KEY}; {KEY}") == "key=***; ***"
    assert Secret("").scrub("text") == "text"
    assert Secret("ex").scrub("text") == "text"
