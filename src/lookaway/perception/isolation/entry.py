"""Goes on as Python in an environment of its own, with a script: `python -m ...entry ENVIRONMENT SCRIPT ARGUMENTS`.

This is how an actor of a cluster comes to run in the environment of its network. The environment is made where it is
not there yet; what it lacks, this package included, is found where this process comes from. Without a script, the
environment is only made.
"""

from __future__ import annotations

import json
import os
import site
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from lookaway.perception.isolation import guest
from lookaway.perception.isolation.environment import HERE, Environment
from lookaway.perception.isolation.variables import child_variables

SECONDS_TO_MAKE = 40.0
"""A cluster waits a minute for a process that it has started; one that comes later would be ended."""


def main(described: str, *command: str) -> None:
    """Never comes back where there is a command."""
    environment = Environment.from_json(json.loads(described))
    if not command:
        environment.ensure()
    elif _is_there(environment, described):
        _enter(environment, command)
    else:
        # Whoever needs the environment waits for it, or learns why it cannot be made.
        os.execv(sys.executable, [sys.executable, *command])  # noqa: S606 - ourselves


def _is_there(environment: Environment, described: str) -> bool:
    if environment.is_made:
        return True
    making = [sys.executable, "-P", "-m", __spec__.name, described]
    nowhere = subprocess.DEVNULL
    # In a session of its own, it goes on when the wait for it is over.
    maker = subprocess.Popen(making, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True)  # noqa: S603 - ourselves
    try:
        return maker.wait(SECONDS_TO_MAKE) == 0
    except subprocess.TimeoutExpired:
        return False


def _enter(environment: Environment, command: Sequence[str]) -> NoReturn:
    python = str(environment.ensure())
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    home = json.dumps({"sites": _sites(), "paths": paths})
    of_cluster = {name: value for name, value in os.environ.items() if name.startswith("RAY_")}
    variables = {**child_variables(), **of_cluster, "LOOKAWAY_HOME": str(environment.folder.parents[1])}
    os.execve(  # noqa: S606 - our own program, in an environment that we made
        python, [python, "-I", guest.__file__, home, *command], {**variables, HERE: environment.folder.name}
    )


def _sites() -> list[str]:
    """Folders of installed packages of this Python."""
    user = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    return [folder for folder in [*user, *site.getsitepackages()] if Path(folder).is_dir()]


if __name__ == "__main__":
    main(*sys.argv[1:])
