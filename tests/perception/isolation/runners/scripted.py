"""A runner that does what a test tells it to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np


def load(settings):
    print("garbage printed while loading")
    if settings.get("load") == "crash":
        raise ValueError("no such network")
    if settings.get("load") == "unmeasurable":
        raise Missing("missing_weights", "there are no weights.")
    if settings.get("load") == "hang":
        time.sleep(60)
    count = 0

    def run(arrays, settings):
        nonlocal count
        count += 1
        answer = DEEDS[settings.get("do", "echo")](arrays, settings)
        return answer if "batch" in answer else {**answer, "count": np.array(count)}

    return run


class Missing(Exception):
    def __init__(self, reason, message):
        super().__init__(message)
        self.reason = reason


def crash(arrays, settings):
    raise ValueError("a mistake in the runner, with https://user:hunter22@example.org/simple in it")


def unmeasurable(arrays, settings):
    raise Missing(settings["reason"], "the camera is under water.")


def leave(arrays, settings):
    print("good bye", file=sys.stderr)
    os._exit(3)


def politely_leave(arrays, settings):
    sys.exit("never mind")


def die(arrays, settings):
    print("something is wrong \x1b[31mhere\x1b[0m", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def segfault(arrays, settings):
    os.kill(os.getpid(), signal.SIGSEGV)


def garbage(arrays, settings):
    print("garbage " * 20_000)
    os.write(1, b"more garbage from a library in C\n")
    subprocess.run(["echo", "and from a program that it starts"], check=True)
    sys.stderr.write("chatter " * 200_000)
    return dict(arrays)


def read_stdin(arrays, settings):
    return {"read": np.frombuffer(sys.stdin.buffer.read() + b"!", np.uint8)}


def hang(arrays, settings):
    subprocess.Popen(["sleep", settings.get("nap", "60")])
    time.sleep(60)
    return {}


def pids(arrays, settings):
    sleeper = subprocess.Popen(["sleep", "62"])
    return {"pids": np.array([os.getpid(), sleeper.pid])}


def variables(arrays, settings):
    text = "\n".join(f"{name}={value}" for name, value in os.environ.items())
    return {"text": np.frombuffer(text.encode(), np.uint8)}


def shapes(arrays, settings):
    return {"batch": np.full(len(arrays["frames"]), len(arrays["frames"])), "means": arrays["frames"].mean((1, 2, 3))}


DEEDS = {
    "echo": lambda arrays, settings: dict(arrays),
    "crash": crash,
    "unmeasurable": unmeasurable,
    "leave": leave,
    "politely leave": politely_leave,
    "die": die,
    "segfault": segfault,
    "garbage": garbage,
    "read stdin": read_stdin,
    "hang": hang,
    "pids": pids,
    "variables": variables,
    "shapes": shapes,
    "objects": lambda arrays, settings: {"found": np.array([{}], object)},
    "text": lambda arrays, settings: {"found": np.array(["a"])},
    "complex": lambda arrays, settings: {"found": np.zeros(3, complex)},
    "large": lambda arrays, settings: {"found": np.zeros(settings["bytes"], np.uint8)},
}
