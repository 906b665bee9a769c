"""Plays a new user: from an empty folder to an answer for every clip, with the time that each step takes.

python -m benchmarks.new_user CLIPS [--package .]   a folder of videos; the package is installed into a new environment
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SEEN = {
    "case_a_yaw_lr": "nothing",
    "case_a_yaw_rl": "changed",
    "case_b_inspatio": "changed",
    "case_b_spatia": "changed",
    "case_c_wan27": "not tested",
    "case_c_wanfun": "changed",
    "case_d_inspatio": "changed",
    "cat_drag_wan22_5b_yaw_rl60": "changed",
    "cat_expected_inspatio_yaw_rl60": "changed",
    "cat_reobs_worldplay_yaw_rl60": "changed",
}
"""What a person sees in ten published clips of WRBench; other clips are shown without an opinion."""
MINUTES = 10


def verdict(changed: str) -> str:
    """The answer for a clip in one or two words, as a person would give it.

    >>> [verdict(text) for text in ("nothing: remembered", "7.8 % of the view", "pose_failed: a cut")]
    ['nothing', 'changed', 'declined']
    """
    if changed.startswith(("nothing", "not tested")):
        return changed.partition(":")[0]
    return "declined" if ": " in changed else "changed"


def main() -> None:
    """Install, measure, report; then every clip beside what a person sees."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clips", type=Path)
    parser.add_argument("--package", default=str(Path(__file__).parents[1]))
    parsed = parser.parse_args()
    clips, package = parsed.clips.resolve(), str(Path(parsed.package).resolve())
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("LOOKAWAY", "PYTHON", "VIRTUAL"))
        }
        command = str(home / "env" / "bin" / "lookaway")
        spent = 0.0

        def step(name: str, *words: str) -> str:
            nonlocal spent
            start = time.perf_counter()
            done = subprocess.run(words, cwd=home, env=environment, capture_output=True, text=True, check=False)
            seconds = time.perf_counter() - start
            spent += seconds
            print(f"{name:<8} {seconds:6.1f} s", flush=True)
            if done.returncode:
                sys.exit(f"{' '.join(words)} ended with {done.returncode}:\n{done.stderr}")
            return done.stdout

        step("venv", sys.executable, "-m", "venv", "env")
        step("install", str(home / "env" / "bin" / "pip"), "install", "--quiet", package)
        step("eval", command, "eval", str(clips), "-o", "run")
        step("report", command, "report", "run", "-o", "report")
        lines = json.loads(step("clips", command, "show", "run", "--layout", "clips", "--json"))
        page = (home / "report" / "index.html").stat().st_size
    right = known = 0
    for line in lines:
        name = line["clip"].split("/")[1]
        seen, found = SEEN.get(name), verdict(line["changed"])
        known += seen is not None
        right += seen == found
        print(f"{name:<32} tested {line['tested']:<8} {line['camera']:<50} {line['changed'][:60]:<60} person: {seen}")
    answered = all(line["tested"] and line["camera"] and line["changed"] for line in lines)
    print(f"{len(lines)} clips in {spent / 60:.1f} minutes; {right} of {known} as a person sees them; {page:,} bytes")
    if not answered or spent > 60 * MINUTES or right < 0.9 * known:
        sys.exit(1)


if __name__ == "__main__":
    main()
