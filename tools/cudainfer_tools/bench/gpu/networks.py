"""The network alone, on one card in one run: ONNX Runtime as trtinfer runs it, the engine fused, and PyTorch as it is and compiled.

    python3 tools bench.gpu.networks [--no-peers | --autotune] [--only-fused] [--results FOLDER] [NAME...]

The networks are those of bench/gpu/measuring.py (NAME; all, if none is given), exported in float16 for each batch and some in int8 (which
needs onnx and onnxruntime), and if no NAME is given the models of scripts/setup, in float32. Each is run by the session loop
(benches/gpu/session.rs) with provider=cuda, in its fastest variant, and with provider=fused; of int8, which ONNX Runtime computes in
float32, batches with the latter alone; with --only-fused, all. --autotune measures torch.compile's max-autotune instead, which takes minutes a network. All rows and what
they were measured on go to network-speed-DATE.json in FOLDER (default: benches/results); rows of other networks that a run of the same
commit on the same kind of GPU has left there stay.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cudainfer_tools import repository
from cudainfer_tools.bench.gpu.measuring import NETWORKS, SESSION, host_python, machine, output_of
from cudainfer_tools.gpu import programs
from cudainfer_tools.repository import ROOT

PROVIDERS = ("cuda", "fused")
OTHERS = ("nanodet", "posenet", "selfie")
# What a row is of.
IDENTITY = ("row", "batch", "who", "provider")


# A model's file, the batch and the providers that it is run with.
Case = tuple[Path, int, Sequence[str]]


def exported(folder: Path, names: Sequence[str]) -> tuple[list[Case], bool]:
    """The networks as files: in float16 one for each batch, in int8 one for all; and whether all were exported."""
    python, env = host_python()
    running: list[tuple[str, subprocess.Popen, list[Case]]] = []

    def export(name: str, file: Path, cases: list[Case], *options: str) -> None:
        command = repository.command("bench.gpu.models", name, *options, file, python=python)
        running.append((name, subprocess.Popen(command, env=env, stdout=sys.stderr), cases))

    for name in names:
        network = NETWORKS[name]
        file = folder / f"{network.row()}.onnx"
        of_batch = {batch: file if batch == 1 else file.with_name(f"{file.stem}-batch{batch}.onnx") for batch in network.batches}
        cases: list[Case] = [(path, batch, PROVIDERS) for batch, path in of_batch.items()]
        export(name, file, cases, "--batch", ",".join(map(str, network.batches)))
        if network.quantised:
            file = folder / f"{network.row('int8')}.onnx"
            path = file.with_name(f"{file.stem}-batchs.onnx")
            cases = [(path, batch, PROVIDERS if batch == 1 else ("fused",)) for batch in network.batches]
            export(name, file, cases, "--type", "int8", "--batch", "0")
    files: list[Case] = []
    for name, process, cases in running:
        if process.wait() == 0:
            files += cases
        else:
            print(f"networks: {name} was not exported, as is said above, and is left out", file=sys.stderr, flush=True)
    return files, len(files) == sum(len(cases) for _, _, cases in running)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--autotune", action="store_true")
    parser.add_argument("--only-fused", action="store_true")
    parser.add_argument("--results", type=Path, default=ROOT / "benches" / "results")
    parser.add_argument("names", nargs="*", choices=[*NETWORKS, []], metavar="NAME")
    given = parser.parse_args()
    given.results.mkdir(parents=True, exist_ok=True)
    file = given.results / f"network-speed-{datetime.datetime.now(datetime.UTC).date().isoformat()}.json"
    of = machine() | {"versions": {}}
    former = json.loads(file.read_text()) if file.exists() else {"machine": {}, "rows": []}
    same = all(former["machine"].get(key) == value for key, value in of.items() if key not in ("date", "versions"))
    of, rows = (former["machine"], former["rows"]) if same else (of, [])
    if library := os.environ.get("ORT_DYLIB_PATH"):
        of["versions"]["onnxruntime"] = Path(library).resolve().name
    good = True

    def measure(command: list[str], env: dict[str, str] | None = None, **given: str) -> None:
        """Adds the rows of a program to the file as they come: what is there stays if a later one takes too long."""
        nonlocal good

        def keep(row: dict) -> None:
            if "versions" in row:
                of["versions"] |= row["versions"]
                return
            one = row | given
            rows[:] = [other for other in rows if any(other.get(key) != one.get(key) for key in IDENTITY)]
            rows.append(one)
            file.write_text(json.dumps({"machine": of, "rows": rows}, indent=1) + "\n")

        good &= output_of(command, env, keep)[1]

    session = programs.programs("bench")[SESSION]
    if not given.autotune:
        with tempfile.TemporaryDirectory() as folder:
            cases, good = exported(Path(folder), given.names or list(NETWORKS))
            if not given.names:
                cases += [(ROOT / ".cache" / "models" / f"{name}.onnx", 1, PROVIDERS) for name in OTHERS]
            for model, batch, providers in cases:
                for provider in ("fused",) if given.only_fused else providers:
                    measure([str(session), "--batch", str(batch), "--provider", provider, str(model)], provider=provider)
    if not given.no_peers:
        python, env = host_python()
        words = [*(["--autotune"] if given.autotune else []), *given.names]
        measure(repository.command("bench.gpu.peers.networks", *words, python=python), env)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
