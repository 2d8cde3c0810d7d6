"""What the benchmarks on a GPU measure, on what machine, and how their programs are run."""

from __future__ import annotations

import datetime
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

from cudainfer_tools.machine import commit, gpu, processor


@dataclass(frozen=True)
class Network:
    """One of those that bench/gpu/models.py makes, in float16."""

    called: str
    """What its files, which name the rows, are called, but for the type."""
    side: int
    """Pixels."""
    batches: tuple[int, ...]
    quantised: bool = False
    """Whether it is measured in int8, too."""

    def row(self, kind: str = "float16") -> str:
        return f"{self.called}-{self.side}-{kind}"


# By their names in bench/gpu/models.py.
NETWORKS = {
    "yolov8n": Network("yolov8n", 640, (1, 4, 16), quantised=True),
    "deeplab": Network("deeplabv3-resnet50", 512, (1, 8), quantised=True),
    "unet": Network("unet", 384, (1, 4)),
    "lraspp": Network("lraspp-mobilenet-v3", 512, (1, 8)),
    "resnet18": Network("resnet18", 224, (1, 16)),
    "resnet50": Network("resnet50", 224, (1, 16)),
    "mobilenet": Network("mobilenet-v3-large", 224, (1, 16)),
    "efficientnet": Network("efficientnet-b0", 224, (1, 16)),
    "convnext": Network("convnext-tiny", 224, (1, 16)),
    "vit": Network("vit-b-16", 224, (1, 16)),
    "swin": Network("swin-t", 224, (1, 16)),
}
# Those of whole pipelines.
OF_PIPELINES = ("yolov8n", "deeplab")
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
