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
from cudainfer_tools.bench.gpu.__main__ import BATCHES, NETWORKS, SESSION, host_python, machine, output_of
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
    session = programs.programs("bench")[SESSION]
    rows: list[dict] = []
    good = True
    with tempfile.TemporaryDirectory() as folder:
        files = exported(Path(folder)) + [(ROOT / ".cache" / "models" / f"{name}.onnx", 1) for name in OTHERS]
        for file, batch in files:
            for provider in PROVIDERS:
                found, ended = output_of([str(session), "--batch", str(batch), "--provider", provider, str(file)])
                rows += [row | {"provider": provider} for row in found]
                good &= ended
    if not given.no_peers:
        python, env = host_python()
        found, ended = output_of(repository.command("bench.gpu.peers", "networks", python=python), env)
        rows += found
        good &= ended
    given.results.mkdir(parents=True, exist_ok=True)
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    text = json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n"
    (given.results / f"network-speed-{date}.json").write_text(text)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
