"""The network alone, on one card in one run: ONNX Runtime as trtinfer runs it, the engine fused, and PyTorch as it is and compiled.

    python3 tools bench.gpu.networks [--no-peers] [--results FOLDER]

The networks are those of bench/gpu/models.py, exported in float16 for each batch, and the models of scripts/setup, in float32. Each
is run by the session loop (benches/gpu/session.rs) with provider=cuda, in its fastest variant, and with provider=fused. All rows and
what they were measured on go to network-speed-DATE.json in FOLDER (default: benches/results).
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from cudainfer_tools import repository
from cudainfer_tools.bench.gpu.measuring import BATCHES, NETWORKS, SESSION, host_python, machine, output_of
from cudainfer_tools.gpu import programs
from cudainfer_tools.repository import ROOT

PROVIDERS = ("cuda", "fused")
OTHERS = ("nanodet", "posenet", "selfie")


def exported(folder: Path) -> list[tuple[Path, int]]:
    """The networks as files, and their batches."""
    python, env = host_python()
    files = []
    for name, called in NETWORKS.items():
        file = folder / f"{called}.onnx"
        command = repository.command("bench.gpu.models", name, "--batch", BATCHES[name], file, python=python)
        subprocess.run(command, env=env, stdout=sys.stderr, check=True)
        for batch in map(int, BATCHES[name].split(",")):
            files.append((file if batch == 1 else file.with_name(f"{called}-batch{batch}.onnx"), batch))
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
        files = exported(Path(folder)) + [(ROOT / ".cache" / "models" / f"{name}.onnx", 1) for name in OTHERS]
        for model, batch in files:
            for provider in PROVIDERS:
                measure([str(session), "--batch", str(batch), "--provider", provider, str(model)], provider=provider)
    if not given.no_peers:
        python, env = host_python()
        measure(repository.command("bench.gpu.peers", "networks", python=python), env)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
