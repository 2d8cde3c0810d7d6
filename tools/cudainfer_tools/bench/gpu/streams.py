"""Many streams into one shared model, against the bare session loop at the same batch.

python3 tools bench.gpu.streams --load PROGRAM [--session PROGRAM] --video FILE DETECTOR.onnx [SEGMENTATION.onnx]

For each MODEL.onnx of batch 1 there are MODEL-batchN.onnx beside it, as bench/gpu/models.py writes them. PROGRAM is `load`
(benches/load.rs), which feeds and counts. NVDEC is the bound of lines that decode, so the goals are for frames
that were decoded before: they lie in CUDA memory and are repeated.

Frames that lie in another CUDA context of the same GPU are measured beside those in the shared one. Where two GPUs are
visible, so is each of them, and both, in one process and in two.

The detector's weights are random: thousands of its boxes are above the threshold in every frame. gpunms keeps the best of them, as
many as a street has, and in some rows its usual limit, for what objects cost.

Prints one JSON object a row: {"row", "who", "source", "streams", "batch", "objects", "fps", "p50_ms", "p99_ms", "cpu_ms_per_frame",
"mean_batch", "of_bare", "goals"}, the last a list of {"goal", "met"}; rows of the session loop have no source and no streams.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, TypedDict

# The fastest that runs them, beside which the rest counts most.
PROVIDER = "fused"
BARE = "session loop, CUDA graph"
DECODE = "filesrc location={video} ! qtdemux ! h264parse ! nvh264dec"
# Through system memory, so that no frame of the decoder's own pool is kept.
SOURCES = {
    "decoded before": DECODE + " ! cudadownload ! video/x-raw ! cudainferupload ! video/x-raw(memory:CUDAMemory)",
    "NVDEC": DECODE,
    # GStreamer's own uploader: nothing in that pipeline offers it our context, so it makes one.
    "another CUDA context": DECODE + " ! cudadownload ! video/x-raw ! cudaupload ! video/x-raw(memory:CUDAMemory)",
}
# Frames on one of several GPUs, decoded before.
ON_GPU = DECODE + " ! cudadownload ! video/x-raw ! cudainferupload device={{each}} ! video/x-raw(memory:CUDAMemory)"
KEEP = 16
# Streams and batch of the small detector by source.
DECODED = [(1, 1), (4, 1), (16, 1), (1, 4), (4, 4), (16, 4), (16, 16), (64, 16)]
NVDEC = [(1, 1), (4, 4), (16, 16), (64, 16)]
# Objects of a frame, and in a crowd, for which these streams and batches are run again.
OBJECTS = 8
CROWD = 300
CROWDED = [(1, 4), (16, 16)]
# Those of them that are run again with a live source, so often, at this share of the frames a second that they reached. No
# batch has a timeout there.
PACED = {(1, 1): 1, (16, 16): 5}
LOAD = 0.8
SEGMENTATION = (8, 8)
# Streams and batch where the model sees every third frame, and the gain that is wanted.
SPARSE = (64, 16)
INTERVAL = 2
LEAST_OF_SPARSE = 2.6
# Streams and batch where frames lie in another context, and for each of several GPUs.
ELSEWHERE = (16, 16)
LEAST_ELSEWHERE = 0.90
LEAST_OF_TWO = 0.95
# Two processes are measured while both run: neither starts within less than this of the other.
TOGETHER = {"warm-up": 3.0, "seconds": 1.6}
# A batch that is not full waits so long, in nanoseconds: some runs of a small network.
TIMEOUT = 3_000_000
# The clip is short: NVDEC is through it in two seconds.
SECONDS = {"warm-up": 0.4, "seconds": 1.6}
# No row needs longer; one that does hangs.
LIMIT_S = 90
LEAST_OF_BARE = 0.95
LEAST_GAIN = 4.0
MOST_SPREAD = 1.3

# What is printed, and what `load` prints.
Row = dict[str, Any]
# Those of `load`, by name.
Options = dict[str, str | float]


class Goal(TypedDict):
    goal: str
    met: bool


def batched(model: Path, batch: int) -> Path:
    """The file of a batch, as bench/gpu/models.py names it."""
    return model if batch == 1 else model.with_name(f"{model.stem}-batch{batch}.onnx")


def line(model: Path, batch: int, objects: int, device: str = "auto", timeout: int = TIMEOUT, sparse: str = "") -> str:
    """What is downstream of the source; with a tracker where `objects` are found in each frame. With `sparse`, the model does not see all
    frames, and the tracker carries objects on to the others by that."""
    left_out = f" interval={INTERVAL}" if sparse else ""
    carries = f" between={sparse}" if sparse else ""
    together = f" batch-size={batch} batch-timeout={timeout}" if batch > 1 else ""
    downstream = f" ! gpunms top-k-after={objects} ! tracker{carries}" if objects else ""
    inference = f"trtinfer model={batched(model, batch)} provider={PROVIDER} device={device} warm-up=complete"
    inference += f" instance=bench-{device}{together}"
    return f"fusedpreproc device={device}{left_out} ! {inference}{downstream} ! fakesink sync=false"


def visible_gpus() -> int:
    """GPUs that this process may use."""
    if (chosen := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return len([word for word in chosen.split(",") if word.strip()])
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], stdout=subprocess.PIPE, text=True, check=False).stdout
    except OSError:
        return 0
    return sum(text.startswith("GPU ") for text in listed.splitlines())


def goal(text: str, met: bool) -> Goal:
    return {"goal": text, "met": met}


def of_bare(fps: float, bare: float) -> Goal:
    return goal(f"≥ {LEAST_OF_BARE:.0%} of the bare loop", fps >= LEAST_OF_BARE * bare)


class Bench:
    def __init__(self, given: argparse.Namespace):
        self.given = given
        self.bare: dict[tuple[str, int], float] = {}
        self.rates: dict[tuple[int, int], float] = {}
        self.failed = False

    def session(self, model: Path, batch: int) -> None:
        """The bare loop's rows."""
        if not self.given.session:
            return
        command = [self.given.session, "--batch", str(batch), "--provider", PROVIDER, str(batched(model, batch))]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, timeout=LIMIT_S)
        self.failed |= done.returncode != 0
        for row in map(json.loads, done.stdout.splitlines()):
            if row["who"] == BARE:
                self.bare[model.stem, batch] = row["fps"]
            print(json.dumps(row | {"row": model.stem}), flush=True)

    def measure(
        self, model: Path, source: str, streams: int, batch: int, objects: int = OBJECTS, rate: float = 0.0, sparse: str = ""
    ) -> Row | None:
        """A row, or None with the reason on standard error."""
        options: Options = {"streams": streams, **SECONDS}
        if source != "NVDEC":
            options["keep"] = KEEP
        if rate:
            options["rate"] = round(rate, 1)
        timeout = 0 if rate else TIMEOUT
        loads = self.load(SOURCES[source], line(model, batch, objects, timeout=timeout, sparse=sparse), [options])
        if not loads:
            return None
        [reported] = loads
        row: Row = {"row": model.stem, "who": "cudainfer", "source": source, "streams": streams, "batch": batch}
        if objects:
            row["objects"] = objects
        row |= {name: round(reported[name], 3) for name in ("fps", "p50_ms", "p99_ms", "cpu_ms_per_frame")}
        if reported.get("batches"):
            row["mean_batch"] = round(reported["batched_frames"] / reported["batches"], 2)
        row["goals"] = []
        if (bare := self.bare.get((model.stem, batch))) and not rate:
            row["of_bare"] = round(reported["fps"] / bare, 3)
        return row

    def load(self, source: str, pipeline: str, together: list[Options]) -> list[Row] | None:
        """What `load` tells with each of these options, all at the same time; None with the reason on standard error."""
        source = source.format(video=self.given.video)
        processes = []
        for options in together:
            words = [str(word) for name, value in options.items() for word in (f"--{name}", value)]
            command = [self.given.load, *words, source, pipeline]
            processes.append(subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        reported = []
        for process, options in zip(processes, together, strict=True):
            try:
                printed, said = process.communicate(timeout=LIMIT_S)
                failure = said or f"it ended with {process.returncode}" if process.returncode else ""
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                failure = f"it did not end in {LIMIT_S} s"
            if failure:
                print(f"{source} ! {pipeline}, {options}: {failure}", file=sys.stderr, flush=True)
                self.failed = True
            else:
                reported.append(json.loads(printed.splitlines()[-1]))
        return reported if len(reported) == len(together) else None

    def elsewhere(self, model: Path) -> None:
        """Frames in another context of the same GPU, against those in the shared one."""
        streams, batch = ELSEWHERE
        row = self.measure(model, "another CUDA context", streams, batch)
        if row and (shared := self.rates.get(ELSEWHERE)):
            share = row["fps"] / shared
            text = f"≥ {LEAST_ELSEWHERE:.0%} of the shared context's ({share:.0%})"
            row["goals"].append(goal(text, share >= LEAST_ELSEWHERE))
        if row:
            print(json.dumps(row), flush=True)

    def sparse(self, model: Path) -> None:
        """Frames that the model does not see, against all of them."""
        streams, batch = SPARSE
        for between in ("flow", "motion"):
            row = self.measure(model, "decoded before", streams, batch, sparse=between)
            if not row:
                continue
            row["source"] = f"decoded before, interval={INTERVAL}, between={between}"
            row.pop("of_bare", None)
            if alone := self.rates.get(SPARSE):
                gain = row["fps"] / alone
                text = f"≥ {LEAST_OF_SPARSE:g} x without an interval ({gain:.2f} x)"
                row["goals"].append(goal(text, gain >= LEAST_OF_SPARSE))
            print(json.dumps(row), flush=True)

    def gpus(self, model: Path) -> None:
        """Two GPUs: one of them, the other, both in one process, both in two."""
        if visible_gpus() < 2:
            print("streams: one GPU is visible, so two are not measured", file=sys.stderr, flush=True)
            return
        streams, batch = ELSEWHERE
        pipeline = line(model, batch, OBJECTS, device="{each}")
        both = ["cuda:0", "cuda:1"]
        of_one = None
        for called, together, count in [
            ("cuda:0", both[:1], 1),
            ("cuda:1", both[1:], 1),
            ("cuda:0 and cuda:1", [",".join(both)], 2),
            ("cuda:0 and cuda:1, two processes", both, 2),
        ]:
            each = streams * count // len(together)
            options: list[Options] = [{"streams": each, "each": words, "keep": KEEP, **TOGETHER} for words in together]
            if not (reported := self.load(ON_GPU, pipeline, options)):
                continue
            fps = round(sum(one["fps"] for one in reported), 3)
            row: Row = {"row": model.stem, "who": "cudainfer", "source": f"decoded before, {called}"}
            row |= {"streams": streams * count, "batch": batch, "objects": OBJECTS, "fps": fps, "goals": []}
            row |= {name: round(max(one[name] for one in reported), 3) for name in ("p50_ms", "p99_ms")}
            if of_one:
                share = fps / (count * of_one)
                text = f"≥ {LEAST_OF_TWO:.0%} of {'twice ' if count > 1 else ''}cuda:0 ({share:.0%})"
                row["goals"].append(goal(text, share >= LEAST_OF_TWO))
            of_one = of_one or fps
            print(json.dumps(row), flush=True)

    def detector(self, model: Path) -> None:
        for batch in sorted({batch for _, batch in DECODED + NVDEC}):
            self.session(model, batch)
        for streams, batch in DECODED:
            if row := self.measure(model, "decoded before", streams, batch):
                self.hold(row)
                print(json.dumps(row), flush=True)
        for streams, batch in CROWDED:
            if row := self.measure(model, "decoded before", streams, batch, CROWD):
                print(json.dumps(row), flush=True)
        for (streams, batch), times in PACED.items():
            rate = self.rates.get((streams, batch), 0.0)
            for _ in range(times if rate else 0):
                row = self.measure(model, "decoded before", streams, batch, rate=LOAD * rate)
                if row:
                    row["source"] = f"live, {LOAD:.0%} load"
                    spread = row["p99_ms"] / row["p50_ms"]
                    row["goals"] = [goal(f"p99/p50 of {spread:.2f} ≤ {MOST_SPREAD}", spread <= MOST_SPREAD)]
                    print(json.dumps(row), flush=True)
        for streams, batch in NVDEC:
            if row := self.measure(model, "NVDEC", streams, batch):
                print(json.dumps(row), flush=True)

    def hold(self, row: Row) -> None:
        """Holds a row of the detector against its goals."""
        streams, batch, fps = row["streams"], row["batch"], row["fps"]
        self.rates[streams, batch] = fps
        if bare := self.bare.get((row["row"], batch)):
            row["goals"].append(of_bare(fps, bare))
        if (streams, batch) == (16, 16) and (one := self.rates.get((1, 1))):
            gain = f"≥ {LEAST_GAIN:g} x one stream at batch 1 ({fps / one:.1f} x)"
            row["goals"].append(goal(gain, fps >= LEAST_GAIN * one))

    def segmentation(self, model: Path) -> None:
        streams, batch = SEGMENTATION
        self.session(model, batch)
        row = self.measure(model, "decoded before", streams, batch, objects=0)
        if row and (bare := self.bare.get((model.stem, batch))):
            row["goals"].append(of_bare(row["fps"], bare))
        if row:
            print(json.dumps(row), flush=True)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--video", required=True, help="H.264 in MP4, of two seconds at NVDEC's speed or more")
    options.add_argument("--load", required=True, help="the program that feeds and counts")
    options.add_argument("--session", help="the bare session loop's program")
    options.add_argument("detector", type=Path)
    options.add_argument("segmentation", type=Path, nargs="?")
    given = options.parse_args()
    bench = Bench(given)
    bench.detector(given.detector)
    bench.elsewhere(given.detector)
    bench.sparse(given.detector)
    bench.gpus(given.detector)
    if given.segmentation:
        bench.segmentation(given.segmentation)
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
