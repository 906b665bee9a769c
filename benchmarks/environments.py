"""How far a number moves with the machine: the same clips, measured with other instruction sets and BLAS kernels.

    python -m benchmarks.environments -o FOLDER [--videos FOLDER] [--only NAME,...]

Renders 16 small clips of the simulated world, exports them in the layout of MBench-A, and measures them with every
metric that needs no network, in a process of its own for each environment: OpenCV, NumPy and OpenBLAS are told by
environment variables to leave out what newer processors have, and FFmpeg's libraries to use plain C. `--videos` adds a
folder of other videos, measured with the metrics of the suite `revisit`; `--only` leaves out other environments.

Prints, for each environment, the greatest difference of one clip from the usual environment, of the value and the raw
value of each metric. The tolerances in `src/lookaway/reports/lock_explanations.py` are made of it.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import lookaway
from lookaway.core import canonical_json

USUAL = "usual"
ENVIRONMENTS: Mapping[str, Mapping[str, str]] = {
    USUAL: {},
    "opencv without AVX-512": {"OPENCV_CPU_DISABLE": "AVX512-SKX"},
    "opencv without AVX2": {"OPENCV_CPU_DISABLE": "AVX512-SKX,AVX2,FP16,AVX"},
    "opencv plain": {"OPENCV_CPU_DISABLE": "AVX512-SKX,AVX2,FP16,AVX,SSE4.2,SSE4.1"},
    "blas Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "blas Nehalem": {"OPENBLAS_CORETYPE": "Nehalem"},
    "numpy without AVX2": {"NPY_DISABLE_CPU_FEATURES": "X86_V4 X86_V3"},
    "ffmpeg plain": {"PLAIN_FFMPEG": "1"},
}
WORLD = (
    "--families bedroom,kitchen,office,playroom --cameras yaw_left_60 --faults camera_drift,layout_change,vanish "
    "--severities 0.6 "
    "--size 144x256 --fps 8 --seconds 2 --quiet"
)
COMMAND = "from benchmarks.environments import command; command()"


def command() -> None:
    """The command line of the package, with FFmpeg's libraries in plain C where that is asked for."""
    from lookaway.cli import main

    if os.environ.get("PLAIN_FFMPEG"):
        import av  # noqa: F401 - loads the libraries

        for line in Path("/proc/self/maps").read_text().splitlines():
            if "libavutil" in (path := line.split()[-1]):
                ctypes.CDLL(path).av_force_cpu_flags(0)
                break
    main()


def run(*arguments: object, variables: Mapping[str, str] | None = None) -> None:
    """One command in a process of its own."""
    subprocess.run(
        [sys.executable, "-c", COMMAND, *map(str, arguments)],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **(variables or {})},
        stdout=subprocess.DEVNULL,
        check=True,
    )


def datasets(folder: Path, videos: Path | None) -> Iterator[tuple[str, Path, tuple[str, ...]]]:
    """Name, folder and options of each dataset."""
    if not (folder / "mbench").exists():
        run("world", "render", "-o", folder / "world", *WORLD.split())
        run("world", "export", folder / "world", "--layout", "mbench-a", "-o", folder / "mbench")
    yield "world", folder / "mbench", ("--metrics", "mbench-a,revisit", "--subsets", "environment")
    if videos is not None:
        yield "videos", videos, ("--suite", "revisit")


def values(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Value and raw value of each score, by rollout and metric; other outcomes by their reason."""
    return {
        (row["rollout"], row["metric"]): {"value": row["value"], "raw": row["raw"], "reason": row["reason"]}
        for row in lookaway.Run(path).items()
    }


def differences(usual: Mapping[Any, Any], other: Mapping[Any, Any]) -> dict[str, dict[str, Any]]:
    """The greatest difference of each metric, and how many outcomes changed their kind."""
    found: dict[str, dict[str, Any]] = {}
    for key, ours in usual.items():
        theirs, entry = other[key], found.setdefault(key[1], {"value": 0.0, "raw": 0.0, "clips": 0, "changed": 0})
        if ours["reason"] != theirs["reason"]:
            entry["changed"] += 1
        if ours["value"] is None or theirs["value"] is None:
            continue
        entry["clips"] += 1
        for name in ("value", "raw"):
            if ours[name] is not None and theirs[name] is not None:
                entry[name] = max(entry[name], abs(ours[name] - theirs[name]))
    return found


def main() -> None:
    """Measure in every environment, and print how far each metric moves."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--videos", type=Path)
    parser.add_argument("--only", default=",".join(ENVIRONMENTS))
    given = parser.parse_args()
    chosen = {name: ENVIRONMENTS[name] for name in (USUAL, *given.only.split(","))}
    report: dict[str, Any] = {}
    for name, dataset, options in datasets(given.output, given.videos):
        for environment, variables in chosen.items():
            path = given.output / "runs" / f"{name} {environment}"
            run("eval", dataset, "-o", path, *options, "--quiet", variables=variables)
            if environment != USUAL:
                moved = differences(values(given.output / "runs" / f"{name} {USUAL}"), values(path))
                report.setdefault(name, {})[environment] = {
                    metric: entry for metric, entry in moved.items() if entry["clips"] or entry["changed"]
                }
                print(
                    name,
                    environment,
                    canonical_json({k: v for k, v in moved.items() if v["value"] or v["changed"]}),
                    flush=True,
                )
    (given.output / "moved.json").write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
