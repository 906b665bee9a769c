"""Environments made by uv; the small ones take half a second each."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest

from lookaway.core import MissingExtra, NoEnvironment, UserError, describe
from lookaway.perception.isolation import environment as module
from lookaway.perception.isolation.environment import Environment, lookaway_home, run_uv
from lookaway.perception.isolation.variables import fit_to_show, uv_variables

SIX = Environment(("six==1.16.0",))


@pytest.fixture
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("LOOKAWAY_HOME", str(tmp_path))
    return tmp_path / "environments"


def names(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def version_of_six(python):
    code = "import six; print(six.__version__)"
    return subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.merge
def test_an_environment_has_what_it_was_asked_for(own_home):
    python = SIX.ensure()
    assert python == SIX.folder / "bin" / "python"
    assert version_of_six(python) == "1.16.0"
    assert names(own_home) == [SIX.folder.name, f"{SIX.folder.name}.lock"]


@pytest.mark.merge
def test_an_environment_is_made_once(own_home, monkeypatch):
    SIX.ensure()
    monkeypatch.setattr(module, "run_uv", lambda *arguments, folder: pytest.fail("made again"))
    SIX.ensure()


@pytest.mark.nightly
def test_bare_packages_come_without_what_they_need(own_home):
    bare = Environment((), bare=("python-dateutil==2.9.0.post0",))
    site = next(bare.ensure().parents[1].glob("lib/python*/site-packages"))
    assert (site / "dateutil").is_dir()
    assert not (site / "six.py").exists()


@pytest.mark.nightly
def test_its_commands_work_where_it_is(own_home):
    environment = Environment(("pyflakes==3.2.0",))
    done = subprocess.run([environment.ensure().parent / "pyflakes", "--version"], capture_output=True, text=True)
    assert done.stdout.startswith("3.2.0")


def ensured(number):
    before = time.monotonic()
    SIX.ensure()
    return os.getpid(), before


@pytest.mark.nightly
def test_processes_that_want_one_environment_at_once_make_it_once(own_home, tmp_path, monkeypatch):
    counting = tmp_path / "uv_calls"
    real = module.run_uv

    def counted(*arguments, folder):
        with counting.open("a") as file:
            file.write(arguments[0] + "\n")
        time.sleep(0.3)
        real(*arguments, folder=folder)

    monkeypatch.setattr(module, "run_uv", counted)
    workers = [multiprocessing.get_context("fork").Process(target=ensured, args=(n,)) for n in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert counting.read_text().split() == ["venv", "pip"]
    assert version_of_six(SIX.ensure()) == "1.16.0"


@pytest.mark.nightly
def test_a_failure_half_way_leaves_nothing(own_home, monkeypatch):
    real = module.run_uv

    def interrupted(*arguments, folder):
        if arguments[0] == "pip":
            raise KeyboardInterrupt
        real(*arguments, folder=folder)

    monkeypatch.setattr(module, "run_uv", interrupted)
    with pytest.raises(KeyboardInterrupt):
        SIX.ensure()
    assert names(own_home) == [f"{SIX.folder.name}.lock"]


KILLED = """
import time
from lookaway.perception.isolation import environment
real = environment.run_uv
def slow(*arguments, folder):
    real(*arguments, folder=folder)
    print("made the folder", flush=True)
    time.sleep(60)
environment.run_uv = slow
environment.Environment(("six==1.16.0",)).ensure()
"""


@pytest.mark.nightly
def test_a_process_killed_half_way_leaves_no_environment_and_does_not_stand_in_the_way(own_home):
    with subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    assert not SIX.folder.exists()
    assert any(name.endswith(".partial") for name in names(own_home))
    assert version_of_six(SIX.ensure()) == "1.16.0"
    assert not any(name.endswith(".partial") for name in names(own_home))


@pytest.mark.nightly
def test_an_environment_whose_python_is_gone_is_made_again(own_home):
    (SIX.ensure()).unlink()
    assert version_of_six(SIX.ensure()) == "1.16.0"


@pytest.mark.nightly
@pytest.mark.parametrize(
    "requirements", [("six==1.16.0", "six==1.15.0"), ("six==99.0",), ("no-such-package-of-ours==1.0",)]
)
def test_packages_that_cannot_be_had_are_told_as_uv_tells_it(own_home, requirements):
    with pytest.raises(NoEnvironment, match="uv could not make an environment") as caught:
        Environment(requirements).ensure()
    assert requirements[0].partition("=")[0] in str(caught.value)
    assert not [name for name in names(own_home) if not name.endswith(".lock")]


@pytest.mark.merge
def test_credentials_of_an_index_are_not_shown(own_home, monkeypatch):
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://me:hunter22@127.0.0.1:9/simple")
    monkeypatch.delenv("UV_FIND_LINKS", raising=False)
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with pytest.raises(NoEnvironment) as caught:
        Environment(("no-such-package-of-ours==1.0",)).ensure()
    assert "127.0.0.1:9" in str(caught.value)
    assert "hunter22" not in str(caught.value)


def test_uv_that_is_not_installed_is_a_missing_extra(own_home, monkeypatch):
    monkeypatch.setitem(sys.modules, "uv", None)
    with pytest.raises(MissingExtra, match=r"lookaway\[isolated\]"):
        SIX.ensure()


def test_uv_heeds_no_project_that_it_is_started_in(own_home, tmp_path, monkeypatch):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "uv.toml").write_text('index-url = "http://127.0.0.1:9/simple"\n')
    monkeypatch.chdir(tmp_path / "project")
    assert version_of_six(SIX.ensure()) == "1.16.0"


@pytest.mark.parametrize(
    "requirement",
    [
        "six",
        "six>=1.16",
        "six==1.*",
        "six==1.16.0,<2",
        "six==1.16.0; python_version > '3'",
        "six @ git+https://github.com/benjaminp/six@main",
        "six @ https://example.org/six.whl",
        "--index-url=http://example.org",
        "-r requirements.txt",
        "/etc/passwd",
        "",
    ],
)
def test_only_exact_pins_are_taken(requirement):
    with pytest.raises(UserError, match="not an exact pin"):
        Environment((requirement,))
    with pytest.raises(UserError, match="not an exact pin"):
        Environment((), bare=(requirement,))


@pytest.mark.parametrize(
    "requirement", ["six==1.16.0", "torch==2.13.0+cpu", "imageio[ffmpeg]==2.38.1", "a.b-c_d==1!2.0rc1"]
)
def test_pins_of_any_form_are_taken(requirement):
    assert Environment((requirement,)).requirements == (requirement,)


def test_a_commit_is_a_pin():
    Environment((f"vggt @ git+https://github.com/facebookresearch/vggt.git@{'0a' * 20}",))


@pytest.mark.parametrize("python", ["", "3", "2.7", ">=3.11", "/usr/bin/python3", "--help"])
def test_only_versions_of_python_are_taken(python):
    with pytest.raises(UserError, match="not a version of Python"):
        Environment((), python=python)


def test_another_environment_has_another_place():
    folders = {
        Environment(("six==1.16.0",)).folder,
        Environment(("six==1.15.0",)).folder,
        Environment((), bare=("six==1.16.0",)).folder,
        Environment(("six==1.16.0",), python="3.12").folder,
    }
    assert len(folders) == 4
    assert SIX.folder == Environment(("six==1.16.0",)).folder


def test_its_packages_go_into_the_lock():
    assert describe(SIX)["requirements"] == ["six==1.16.0"]


def test_the_home_is_named_or_in_the_cache_of_the_user(monkeypatch, tmp_path):
    monkeypatch.setenv("LOOKAWAY_HOME", str(tmp_path / "a"))
    assert lookaway_home() == tmp_path / "a"
    monkeypatch.delenv("LOOKAWAY_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "b"))
    assert lookaway_home() == tmp_path / "b" / "lookaway"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert lookaway_home() == tmp_path / ".cache" / "lookaway"


def test_uv_gets_its_own_variables_and_no_secret_of_others():
    given = {
        "UV_INDEX_OURS_PASSWORD": "a",
        "HTTPS_PROXY": "http://me:pw@proxy",
        "OPENAI_API_KEY": "b",
        "HF_TOKEN": "c",
        "VIRTUAL_ENV": "/v",
        "PIP_INDEX_URL": "d",
        "PATH": "/bin",
    }
    assert uv_variables(given).keys() == {"UV_INDEX_OURS_PASSWORD", "HTTPS_PROXY", "PATH"}


def test_text_is_fit_to_be_shown_without_secrets_and_colours():
    given = {"OPENAI_API_KEY": "sk-123456", "SHORT_KEY": "a", "PATH": "/usr/local/bin"}
    text = "\x1b[31msk-123456\x1b[0m at https://me:pw@host/a?b@c and /usr/local/bin\x07, a ssh://git@host:2/x\r\nend"
    assert fit_to_show(text, given) == "*** at https://***@host/a?b@c and /usr/local/bin, a ssh://***@host:2/x\n\nend"


def test_uv_says_what_went_wrong_in_a_few_lines(tmp_path):
    with pytest.raises(NoEnvironment) as caught:
        run_uv("pip", "install", "--python", str(tmp_path / "none"), "six", folder=tmp_path)
    assert 1 < len(str(caught.value).splitlines()) <= 16


def test_what_uv_says_is_shown_without_secrets(tmp_path, monkeypatch):
    program = tmp_path / "uv"
    program.write_text("#!/bin/sh\necho 'no answer from https://me:hunter22@host/simple'\nexit 2\n")
    program.chmod(0o755)
    monkeypatch.setattr("uv.find_uv_bin", lambda: str(program))
    with pytest.raises(NoEnvironment) as caught:
        run_uv("venv", folder=tmp_path)
    assert str(caught.value).endswith("(exit code 2):\nno answer from https://***@host/simple")
