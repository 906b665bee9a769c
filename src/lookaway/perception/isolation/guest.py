"""Runs a script in a Python that was not made for it: what that one lacks is found where the script comes from.

Only the standard library is here, for nothing else is known to be.
"""

from __future__ import annotations

import json
import runpy
import site
import sys


def main() -> None:
    """The first argument says where else to look, the second is the script, the others are its own."""
    home = json.loads(sys.argv[1])
    del sys.argv[:2]
    sys.path.extend(home["paths"])
    for folder in home["sites"]:
        # At the end of the path: the packages of this environment come first.
        site.addsitedir(folder)
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
