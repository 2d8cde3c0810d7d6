"""What the benchmarks on a GPU measure, on what machine, and how their programs are run."""

from __future__ import annotations

import datetime
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable

from cudainfer_tools.machine import commit, gpu, processor

# bench/gpu/models.py's names, and those of the files, which name the rows.
NETWORKS = {"yolov8n": "yolov8n-640-float16", "deeplab": "deeplabv3-resnet50-512-float16"}
# Batches that are taken of them.
BATCHES = {"yolov8n": "1,4,16", "deeplab": "1,8"}
# The bare session loop, which prints nothing without a model.
SESSION = "benches-gpu_session"


def output_of(
    command: list[str], env: dict[str, str] | None = None, see: Callable[[dict], None] = lambda _: None
) -> tuple[list[dict], bool]:
    """The JSON objects that it prints, one a line, and whether it ended well; all that it prints goes through. `see` gets each object
    when it is printed."""
    print("==", " ".join(command), file=sys.stderr, flush=True)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
    found = []
    assert process.stdout is not None
    for line in process.stdout:
        print(line, end="", file=sys.stderr, flush=True)
        for one in objects(line):
            found.append(one)
            see(one)
    return found, process.wait() == 0


def objects(line: str) -> list[dict]:
    try:
        value = json.loads(line)
    except ValueError:
        return []
    return [value] if isinstance(value, dict) else []


def machine() -> dict:
    """What the figures are of."""
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        **gpu(),
        "processor": processor(),
        "cores": os.cpu_count(),
    }


def host_python() -> tuple[str, dict[str, str]]:
    """Python with PyTorch, and its environment: a bundle's libraries are GStreamer's, it wants its machine's."""
    own = os.environ.get("CUDAINFER_HOST_LIBRARIES", os.environ.get("LD_LIBRARY_PATH", ""))
    return shutil.which("python3") or sys.executable, os.environ | {"LD_LIBRARY_PATH": own}
