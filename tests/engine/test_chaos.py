from __future__ import annotations

import random
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import lookaway
from lookaway.engine.run import Run
from tests.support import lightness_suite
from tests.support.ray_runs import descendants, ended, kill_with_ray, ray_folder, start, workers
from tests.support.runs import table_text
from tests.support.tiny import clip_bytes

pytestmark = [pytest.mark.ray, pytest.mark.nightly]

MODELS, CASES = 10, 50
ROLLOUTS = MODELS * CASES
WORKERS_KILLED, DRIVERS_KILLED = 20, 3
SEED = 9
SECONDS_PER_ROLLOUT = "0.05"
LATEST = 0.9
"""Part of the run after which nobody is killed any more."""


@pytest.fixture(scope="module", autouse=True)
def _lightness() -> Iterator[None]:
    with lightness_suite.offered():
        yield


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five hundred rollouts."""
    root = tmp_path_factory.mktemp("chaos") / "videos"
    for model in range(MODELS):
        (root / f"model{model}").mkdir(parents=True)
        for case in range(CASES):
            (root / f"model{model}" / f"case{case:02d}.mp4").write_bytes(clip_bytes(case % 5))
    return root


def lines(run: Path) -> int:
    """How many rollouts were reported as measured, some of them twice."""
    path = run / "events.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


class Chaos:
    """Runs an evaluation and kills its processes when it has come so far."""

    def __init__(self, root: Path, run: Path, env: dict[str, str]) -> None:
        self._run, self._env = run, {**env, lightness_suite.SECONDS: SECONDS_PER_ROLLOUT}
        self._command = (
            "eval",
            root,
            "--suite",
            lightness_suite.NAME,
            "-o",
            run,
            "--executor",
            "ray",
            "--workers",
            2,
            "--quiet",
        )
        self._dice = random.Random(SEED)
        victims = ["worker"] * WORKERS_KILLED + ["driver"] * DRIVERS_KILLED
        self._dice.shuffle(victims)
        moments = sorted(self._dice.randint(1, int(LATEST * ROLLOUTS)) for _ in victims)
        self._plan = list(zip(moments, victims, strict=True))
        self.killed: Counter[str] = Counter()
        self.left_behind: list[str] = []
        self.codes: list[int] = []

    def finish(self) -> None:
        """Give the same command until it ends well."""
        while not self.codes or self.codes[-1] != 0:
            assert len(self.codes) <= DRIVERS_KILLED + 2
            driver = start(*self._command, env=self._env)
            while self._plan and driver.poll() is None:
                if lines(self._run) < self._plan[0][0]:
                    time.sleep(0.01)
                    continue
                self._kill(driver, self._plan.pop(0)[1])
            code, errors = ended(driver)
            assert code in (0, 3, -9), errors
            self.codes.append(code)

    def _kill(self, driver: subprocess.Popen[str], victim: str) -> None:
        if victim == "driver":
            self.left_behind += kill_with_ray(driver)
        else:
            while not (found := workers(descendants(driver.pid))):
                assert driver.poll() is None, driver.communicate()[1]
                time.sleep(0.01)
            self._dice.choice(found).kill()
        self.killed[victim] += 1


def test_a_run_whose_workers_and_drivers_are_killed_at_random_loses_and_doubles_nothing(root, tmp_path):
    print(f"seed {SEED}")
    with ray_folder() as env:
        chaos = Chaos(root, tmp_path / "run", env)
        chaos.finish()
    print(f"exit codes {chaos.codes}, {lines(tmp_path / 'run')} measurements of {ROLLOUTS} rollouts")
    assert chaos.killed == {"worker": WORKERS_KILLED, "driver": DRIVERS_KILLED}
    assert chaos.left_behind == []
    lookaway.evaluate(root, tmp_path / "undisturbed", suite=lightness_suite.NAME)
    assert table_text(tmp_path / "run") == table_text(tmp_path / "undisturbed")
    run, undisturbed = Run(tmp_path / "run"), Run(tmp_path / "undisturbed")
    items, units = list(run.items()), list(run.units(lightness_suite.NAME))
    assert items == list(undisturbed.items())
    assert units == list(undisturbed.units(lightness_suite.NAME))
    assert (len(items), len(units)) == (ROLLOUTS, 2 * ROLLOUTS)
