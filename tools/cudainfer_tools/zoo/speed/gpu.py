"""How fast the zoo's models are on a GPU machine with the bundle of scripts/gpu-bundle and its ort: with ONNX Runtime and the engine fused.

    python3 tools zoo.speed.gpu FOLDER [--results FILE] [--seconds N] [--timeout N] [CASE...]

FOLDER has the pieces that zoo.speed.pack made, or some of them. Each model is run by the session loop (benches/gpu/session.rs), one
frame a run, with provider=cuda and with provider=fused, the small models first. If there are several GPUs, each takes the next model;
on one GPU they run one after the other. The rows go to FILE (default: benches/results/zoo-speed.json) as they come. What this machine
has measured there stays as it is; CASE, words of names, measures those alone, and anew. Nothing is begun after --seconds (default:
540); a run that takes longer than --timeout (default: 60 s) has no figure. `python3 tools zoo --speed --take FILE` adds the rows of
FILE to the repository's.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from cudainfer_tools.bench.gpu.measuring import SESSION, machine, objects
from cudainfer_tools.gpu import programs
from cudainfer_tools.machine import printed
from cudainfer_tools.zoo.speed import hollow, rows
from cudainfer_tools.zoo.speed.hollow import Hole

PROVIDERS = ("cuda", "fused")
KEPT = ("fps", "median_ms", "variant", "device_mb")


def unpack(folder: Path, to: Path) -> list[Path]:
    """The folders of the models in the pieces, the small ones first; those that are unpacked already are not unpacked again."""
    found = []
    for piece in sorted(folder.glob("zoo.[0-9][0-9].tar")):
        with tarfile.open(piece) as archive:
            for entry in archive:
                model = to / entry.name.removesuffix(".tar.xz")
                found.append(model)
                content = archive.extractfile(entry)
                if content is not None and not model.exists():
                    refill(content, model)
    return found


def refill(content: IO[bytes], model: Path) -> None:
    """Unpacks a model into a folder of this name, with new weights. The folder is there when all of it is."""
    with tempfile.TemporaryDirectory(dir=model.parent) as place:
        with tarfile.open(fileobj=content, mode="r:xz") as archive:
            archive.extractall(place, filter="data")
        ready = Path(place) / model.name
        hollow.fill(ready, [Hole(**one) for one in json.loads((ready / "holes.json").read_text())])
        ready.rename(model)


def reason(stderr: str, code: int) -> str:
    """Why a program gave no figure: what it panicked with, else its last line."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    at = next((number for number, line in enumerate(lines) if " panicked at " in line), None)
    if at is not None and at + 1 < len(lines):
        return lines[at + 1].partition(" value: ")[2] or lines[at + 1]
    return lines[-1] if lines else f"the program ended with {code}"


def figure(program: Path, model: Path, provider: str, gpu: int, timeout: float) -> dict:
    """What the session loop says of a model: its first row, which is trtinfer's own way to run it, or why there is none."""
    command = [str(program), "--provider", provider, str(model / "model.onnx")]
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": str(gpu)}
    late = threading.Event()
    with tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment) as process:

            def end() -> None:
                late.set()
                process.kill()

            timer = threading.Timer(timeout, end)
            timer.start()
            assert process.stdout is not None
            found = next((one for line in process.stdout for one in objects(line) if "fps" in one), None)
            # The second row, of IO binding, is not waited for. A program that has ended by itself keeps its code.
            if found:
                process.kill()
            code = process.wait()
            timer.cancel()
        errors.seek(0)
        said = errors.read()
    if found:
        return {name: found[name] for name in KEPT if name in found}
    return {"why": f"no figure within {timeout:g} s" if late.is_set() else reason(said, code)}


def gpus() -> int:
    """How many there are."""
    return max(1, printed(["nvidia-smi", "-L"]).count("GPU "))


def measure(models: Sequence[tuple[Path, str]], program: Path, file: Path, here: dict, end: float, timeout: float) -> int:
    """Runs models with a provider each until there are no more, or until it is `end`; how many remain."""
    waiting: queue.SimpleQueue[tuple[Path, str]] = queue.SimpleQueue()
    for one in models:
        waiting.put(one)
    runs, writing = rows.read(file), threading.Lock()

    def work(gpu: int) -> None:
        while time.monotonic() < end:
            try:
                model, provider = waiting.get_nowait()
            except queue.Empty:
                return
            row = {"case": model.name, "column": provider} | figure(program, model, provider, gpu, timeout)
            with writing:
                rows.add(runs, here, row)
                rows.write(runs, file)
                print(json.dumps(row), flush=True)

    workers = [threading.Thread(target=work, args=(gpu,)) for gpu in range(gpus())]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return waiting.qsize()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--results", type=Path, default=rows.RESULTS, metavar="FILE")
    parser.add_argument("--seconds", type=float, default=540)
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--unpacked", type=Path, default=Path(tempfile.gettempdir()) / "zoo", help="where the models are unpacked")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="only the cases whose names contain one of these words")
    given = parser.parse_args()
    end = time.monotonic() + given.seconds
    given.unpacked.mkdir(parents=True, exist_ok=True)
    given.results.parent.mkdir(parents=True, exist_ok=True)
    here = machine()
    if library := os.environ.get("ORT_DYLIB_PATH"):
        here["onnxruntime"] = Path(library).resolve().name
    done = set() if given.cases else rows.measured(rows.read(given.results), here)
    models = [
        (model, provider)
        for model in unpack(given.folder, given.unpacked)
        for provider in PROVIDERS
        if (model.name, provider) not in done and (not given.cases or any(word in model.name for word in given.cases))
    ]
    left = measure(models, programs.programs("bench")[SESSION], given.results, here, end, given.timeout)
    print(f"{len(models) - left} of {len(models)} runs; {given.results}", file=sys.stderr)
    return 0 if left == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
