"""Makes the cases of all libraries that this Python has. Prints a line of JSON for each: its name, and the error if there is one."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
import traceback
from pathlib import Path

import numpy as np

# Modules of this package, and what each one needs.
LIBRARIES = {
    "ultralytics_cases": "ultralytics",
    "torchvision_cases": "torchvision",
    "transformers_cases": "transformers",
}


def main() -> None:
    out, frames = Path(sys.argv[1]), np.load(sys.argv[2])
    wanted = sys.argv[3:]
    for module, library in LIBRARIES.items():
        try:
            importlib.import_module(library)
        except ImportError as error:
            print(json.dumps({"library": library, "missing": str(error)}), flush=True)
            continue
        cases = importlib.import_module(f"zoo.{module}").CASES
        for name, make in cases.items():
            if wanted and not any(word in name for word in wanted):
                continue
            folder = out / name
            if (folder / "case.json").exists():
                print(json.dumps({"case": name}), flush=True)
                continue
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            line = {"case": name}
            try:
                make(folder, frames)
            except Exception as error:  # Whatever a library throws, the other cases go on.
                traceback.print_exc()
                line["error"] = f"{type(error).__name__}: {error}".splitlines()[0]
            print(json.dumps(line), flush=True)


main()
