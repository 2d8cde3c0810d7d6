"""The network alone, on one card in one run: ONNX Runtime as trtinfer runs it, the engine fused, and PyTorch as it is and compiled.

    python3 tools bench.gpu.networks [--no-peers] [--results FOLDER]

The networks are those of bench/gpu/models.py, exported in float16 for each batch and in int8 (which needs onnx and onnxruntime), and the
models of scripts/setup, in float32. Each is run by the session loop (benches/gpu/session.rs) with provider=cuda, in its fastest variant, and
with provider=fused; of int8, which ONNX Runtime computes in float32, batches with the latter alone. All rows and what they were measured on
go to network-speed-DATE.json in FOLDER (default: benches/results).
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cudainfer_tools import repository
from cudainfer_tools.bench.gpu.measuring import BATCHES, NETWORKS, SESSION, host_python, machine, output_of
from cudainfer_tools.gpu import programs
from cudainfer_tools.repository import ROOT

PROVIDERS = ("cuda", "fused")
OTHERS = ("nanodet", "posenet", "selfie")


# A model's file, the batch and the providers that it is run with.
Case = tuple[Path, int, Sequence[str]]


def exported(folder: Path) -> list[Case]:
    """The networks as files: in float16 one for each batch, in int8 one for all."""
    python, env = host_python()
    running = []
    files: list[Case] = []

    def export(name: str, file: Path, *options: str) -> None:
        command = repository.command("bench.gpu.models", name, *options, file, python=python)
        running.append((name, subprocess.Popen(command, env=env, stdout=sys.stderr)))

    for name, called in NETWORKS.items():
        batches = [int(batch) for batch in BATCHES[name].split(",")]
        file = folder / f"{called}.onnx"
        export(name, file, "--batch", BATCHES[name])
        files += [(file if batch == 1 else file.with_name(f"{called}-batch{batch}.onnx"), batch, PROVIDERS) for batch in batches]
        quantised = folder / f"{called.replace('float16', 'int8')}.onnx"
        export(name, quantised, "--type", "int8", "--batch", "0")
        quantised = quantised.with_name(f"{quantised.stem}-batchs.onnx")
        files += [(quantised, batch, PROVIDERS if batch == 1 else ("fused",)) for batch in batches]
    for name, process in running:
        if process.wait() != 0:
            sys.exit(f"networks: {name} was not exported, as is said above")
    return files


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--results", type=Path, default=ROOT / "benches" / "results")
    given = parser.parse_args()
    given.results.mkdir(parents=True, exist_ok=True)
    file = given.results / f"network-speed-{datetime.datetime.now(datetime.UTC).date().isoformat()}.json"
    rows: list[dict] = []
    good = True

    def measure(command: list[str], env: dict[str, str] | None = None, **given: str) -> None:
        """Adds the rows of a program to the file as they come: what is there stays if a later one takes too long."""
        nonlocal good

        def keep(row: dict) -> None:
            rows.append(row | given)
            file.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")

        good &= output_of(command, env, keep)[1]

    session = programs.programs("bench")[SESSION]
    with tempfile.TemporaryDirectory() as folder:
        others: list[Case] = [(ROOT / ".cache" / "models" / f"{name}.onnx", 1, PROVIDERS) for name in OTHERS]
        for model, batch, providers in exported(Path(folder)) + others:
            for provider in providers:
                measure([str(session), "--batch", str(batch), "--provider", provider, str(model)], provider=provider)
    if not given.no_peers:
        python, env = host_python()
        measure(repository.command("bench.gpu.peers", "networks", python=python), env)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
