"""Runs a module of cudainfer_tools where it lies, without installation:

    python3 tools MODULE ARGUMENT...

MODULE is its name in the package: `run`, `bench.report`, `reference.rotated`. The scripts do this for users.
"""

import runpy
import sys
from pathlib import Path


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    # Modules are imported after a change of the working directory, too.
    sys.path[0] = str(Path(__file__).resolve().parent)
    module = sys.argv.pop(1)
    runpy.run_module(f"cudainfer_tools.{module}", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
