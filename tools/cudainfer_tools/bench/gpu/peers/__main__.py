"""What users would call instead of cudainfer, measured on the same machine in the same way as by main.rs: one JSON
object a row, with the same names. scripts/bench --gpu runs both.

    python3 tools bench.gpu.peers [--video VIDEO] [NAME...]

Needs PyTorch with CUDA and torchvision; OpenCV for the whole pipeline; scipy, networkx and sleap-nn for grouping; CV-CUDA and onnxruntime-gpu where there are some.
NAME is one of preproc, detect, peaks, group, segment, appearance, draw, upload, networks, line; all, if none is given.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
import traceback
from pathlib import Path

from cudainfer_tools.repository import ROOT

VIDEO = ROOT / ".cache" / "video" / "vtest-1080p.mp4"
NAMES = ("preproc", "detect", "peaks", "group", "segment", "appearance", "draw", "upload", "networks", "line")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--video", type=Path, default=VIDEO)
    parser.add_argument("names", nargs="*", metavar="NAME")
    given = parser.parse_args()
    if wrong := set(given.names) - set(NAMES):
        parser.error(f"there is no {sorted(wrong)[0]}; there are: {', '.join(NAMES)}")
    try:
        import torch
        import torchvision
    except ImportError as error:
        print(f"peers: there is nothing to compare with: {error}", file=sys.stderr)
        return 2
    if not torch.cuda.is_available():
        print("peers: PyTorch finds no CUDA device", file=sys.stderr)
        return 2
    versions = {"torch": torch.__version__, "torch_cuda": torch.version.cuda, "torchvision": torchvision.__version__}
    print(json.dumps({"versions": versions}), flush=True)
    failed = []
    for name in given.names or NAMES:
        start = time.perf_counter()
        try:
            # A module for each, of the same name as the operation's file in Rust.
            run = importlib.import_module(f"cudainfer_tools.bench.gpu.peers.{name}").run
            run(given.video) if name == "line" else run()
        except Exception:  # the others go on
            traceback.print_exc()
            failed.append(name)
        torch.cuda.empty_cache()
        print(f"peers: {name} took {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    if failed:
        print(f"peers: failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
