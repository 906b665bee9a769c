from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import cv2
import pytest

import lookaway
from lookaway.core import Lock
from lookaway.engine import locking, worker
from lookaway.engine.environment import blas_kernels, environment
from lookaway.perception.opencv import opencv_version
from lookaway.perception.quality.lab_means import LabMeans
from lookaway.store.run_folder import RunFolder, parse_lock
from tests.support.scripted import bound, script
from tests.support.tiny import write_folder

ENTRIES = {"machine", "opencv", "opencv_features", "ffmpeg", "numpy_features", "blas"}
OTHER = {"machine": "other"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "videos", cases=2)


def recorded(run: Path) -> list[dict[str, str]]:
    environments = json.loads((run / "lock.json").read_text())["environments"]
    return [{name: value for name, value in entry.items() if name != "sha256"} for entry in environments]


def test_everything_that_computes_is_named():
    found = environment()
    assert found.keys() == ENTRIES
    assert found["opencv"] == cv2.__version__
    assert all(isinstance(text, str) and text for text in found.values())


def test_the_version_of_opencv_is_that_of_the_module_and_not_of_a_wheel(monkeypatch):
    assert opencv_version().startswith(cv2.__version__)
    usual = locking.recipe_key(LabMeans())
    monkeypatch.setattr(cv2, "__version__", "3.4.1")  # another wheel has overwritten the module
    assert opencv_version() == "3.4.1"
    locking._version.cache_clear()
    monkeypatch.setattr(locking, "version", lambda name: "of the wheel")
    try:
        assert locking.recipe_key(LabMeans()) != usual
        assert locking._versions(["opencv-python-headless", "numpy"]) == {
            "numpy": "of the wheel",
            "opencv-python-headless": "3.4.1",
        }
    finally:
        locking._version.cache_clear()


def test_an_opencv_that_is_not_there_is_said_to_be_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "cv2", None)
    assert opencv_version() == "not installed"


def test_a_run_records_its_environment_beside_the_hash_and_another_machine_adds_its_own(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    run = lookaway.evaluate(root, tmp_path / "run", suite="scripted", limit=1)
    assert recorded(tmp_path / "run") == [environment()]
    before = run.lock
    assert before.sha256 == Lock(before.entries).sha256
    # A field with a default factory takes it from the class, so the report is replaced whole.
    real = worker.BatchReport
    monkeypatch.setattr(worker, "BatchReport", lambda **fields: real(**fields, environment=OTHER))
    run = lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    assert recorded(tmp_path / "run") == [environment(), OTHER]
    assert run.lock.environments == (environment(), OTHER)
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    assert recorded(tmp_path / "run") == [environment(), OTHER]


def test_the_environment_is_not_part_of_the_hash_nor_of_equality():
    plain, noted = Lock({"a": 1}), Lock({"a": 1}, (OTHER,))
    assert plain == noted
    assert plain.sha256 == noted.sha256
    read = parse_lock(noted.to_json(), Path("lock.json"))
    assert (read.environments, read.entries) == ((OTHER,), {"a": 1})
    assert plain.to_json() == {"a": 1, "sha256": plain.sha256}


def test_a_damaged_lock_file_does_not_keep_a_run_from_starting(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    (tmp_path / "run" / "lock.json").write_text("{")
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    assert RunFolder(tmp_path / "run").lock().environments == ()


def test_a_merged_run_has_the_environments_of_all_its_parts(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    for number in (1, 2):
        part = lookaway.Shard(number, 2)
        lookaway.evaluate(root, tmp_path / str(number), suite="scripted", shard=part)
    RunFolder(tmp_path / "2").add_environment(OTHER)
    merged = lookaway.merge([tmp_path / "1", tmp_path / "2"], tmp_path / "merged")
    assert OTHER in merged.lock.environments


def test_the_kernel_of_blas_is_found_where_openblas_is_loaded():
    pytest.importorskip("numpy")
    if sys.platform != "linux":
        pytest.skip("only Linux lists the loaded libraries")
    assert blas_kernels()


@pytest.mark.merge
@pytest.mark.parametrize(
    ("variable", "value", "moved"),
    [
        ("OPENCV_CPU_DISABLE", "AVX512-SKX,AVX2,FP16,AVX,SSE4.2,SSE4.1", "opencv_features"),
        ("OPENBLAS_CORETYPE", "Nehalem", "blas"),
        ("NPY_DISABLE_CPU_FEATURES", "X86_V3 X86_V4", "numpy_features"),
    ],
)
def test_another_instruction_set_or_kernel_is_seen_and_nothing_else_changes(variable, value, moved):
    program = "import json; from lookaway.engine.environment import environment; print(json.dumps(environment()))"
    if environment()["machine"] != "x86_64":
        pytest.skip("the names are those of x86-64")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env={**os.environ, variable: value},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    differing = {name for name in ENTRIES if found[name] != environment()[name]}
    assert differing <= {moved}
    if moved != "numpy_features" or "X86_V3" in environment()[moved]:
        assert differing == {moved}
