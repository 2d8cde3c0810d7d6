"""Mattes of 4K and 8K frames on the GPU: what a pipeline reaches, with and without the masks.

python3 tools bench.gpu.matting --load PROGRAM MODEL.onnx

MODEL makes a soft mask; scripts/setup fetches one (.cache/models/selfie.onnx). PROGRAM is `load` (benches/load.rs). The frames lie in CUDA
memory and are repeated, so that neither decoding nor the bus counts; because they are repeated, each is copied before a mask is put into it.

Prints one JSON object a line: first where it was measured, then {"row", "who", "fps", "p50_ms", "p99_ms"}, where the times are from a frame's
arrival at trtinfer to the line's end.
"""

from __future__ import annotations

import argparse
import json
import subprocess

from cudainfer_tools.bench.gpu.measuring import machine

KEEP = 4
SECONDS = {"warm-up": 1.0, "seconds": 3.0}
LIMIT_S = 90
SOURCE = (
    "videotestsrc num-buffers={keep} ! video/x-raw,format={form},width={width},height={height},framerate=60/1 ! cudainferupload"
)
SOURCE += " ! video/x-raw(memory:CUDAMemory)"
INFERENCE = "trtinfer model={model} warm-up=complete"
WHOLE, PAIR = "fusedpreproc", "fusedpreproc roi=list regions=0,0,0.5,1;0.5,0,0.5,1"
# What it is, the frames' format and size, what prepares them, what makes the masks.
ROWS = [
    ("3840x2160, alpha channel", "RGBA", (3840, 2160), WHOLE, "segmask output=alpha"),
    ("3840x2160, alpha channel, guided filter", "RGBA", (3840, 2160), WHOLE, "segmask output=alpha refine=guided"),
    ("4096x2048 side by side, masks in corners", "NV12", (4096, 2048), PAIR, "segmask output=deovr feather-out=2"),
    ("8192x4096 side by side, masks in corners", "NV12", (8192, 4096), PAIR, "segmask output=deovr feather-out=2"),
]


def measure(load: str, form: str, size: tuple[int, int], line: str) -> dict:
    options = [str(word) for name, value in ({"keep": KEEP} | SECONDS).items() for word in (f"--{name}", value)]
    source = SOURCE.format(keep=KEEP, form=form, width=size[0], height=size[1])
    done = subprocess.run(
        [load, *options, source, f"{line} ! fakesink sync=false"], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    if done.returncode:
        raise SystemExit(f"{line}: {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--load", required=True, help="the program that feeds and counts")
    options.add_argument("model")
    given = options.parse_args()
    where = machine()
    print(json.dumps({name: where[name] for name in ("date", "commit", "gpu", "cores")}), flush=True)
    inference = INFERENCE.format(model=given.model)
    for row, form, size, prepare, masks in ROWS:
        for who, line in [("without masks", f"{prepare} ! {inference}"), ("cudainfer", f"{prepare} ! {inference} ! {masks}")]:
            reported = measure(given.load, form, size, line)
            times = {name: round(reported[name], 3) for name in ("fps", "p50_ms", "p99_ms")}
            print(json.dumps({"row": row, "who": who} | times), flush=True)


if __name__ == "__main__":
    main()
