"""Makes the cases of all libraries that this Python has. Prints a line of JSON for each: its name, and the error if there is one."""

from __future__ import annotations

import importlib
import importlib.util
import json
import shutil
import sys
import traceback
from pathlib import Path

import numpy as np

# Modules of this package, and what each one needs.
LIBRARIES = {
    "ultralytics": "ultralytics",
    "torchvision": "torchvision",
    "transformers": "transformers",
    "transformers_maps": "transformers",
    "timm": "timm",
    "rfdetr": "rfdetr",
    "libreyolo": "libreyolo",
    "opencv": "cv2",
    "rapidocr": "rapidocr",
    "deface": "deface",
    "nudenet": "nudenet",
    "ddddocr": "ddddocr",
    "deeplabcut": "deeplabcut",
    "lightning_pose": "lightning_pose",
    "segment_anything": "segment_anything",
    "mediapipe": "mediapipe",
    "mediapipe_regions": "mediapipe",
    "insightface": "insightface",
    "fast_plate_ocr": "fast_plate_ocr",
    "rembg": "rembg",
    "open_clip": "open_clip",
}


def main() -> None:
    keep, out, frames = sys.argv[1] == "--keep", Path(sys.argv[2]), np.load(sys.argv[3])
    wanted = sys.argv[4:]
    for module, library in LIBRARIES.items():
        if importlib.util.find_spec(library) is None or importlib.util.find_spec(f"cudainfer_tools.zoo.cases.{module}") is None:
            print(json.dumps({"library": library, "missing": f"no module '{library}'"}), flush=True)
            continue
        try:
            cases = importlib.import_module(f"cudainfer_tools.zoo.cases.{module}").CASES
        except Exception as error:  # Nor does another version of a library end the others.
            traceback.print_exc()
            print(json.dumps({"library": library, "missing": f"{type(error).__name__}: {error}"}), flush=True)
            continue
        for name, make in cases.items():
            if wanted and not any(word in name for word in wanted):
                continue
            folder = out / name
            if keep and (folder / "case.json").exists():
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


if __name__ == "__main__":
    main()
