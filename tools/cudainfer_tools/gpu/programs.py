"""The programs that need a GPU: the tests and benchmarks that have `gpu` in their name, and `load`, which feeds pipelines.

    python3 tools gpu.programs test|bench      prints NAME and PATH of each, built by cargo

Where there is no cargo, they are those that scripts/gpu-bundle has brought.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from cudainfer_tools.repository import ROOT

# Where .gpu/enter unpacks a bundle's own part.
BUNDLE = Path("/tmp/gpu/cudainfer")


def programs(kind: str) -> dict[str, Path]:
    """The programs of a kind (`test`, `bench`) by name: the folder of their crate, a dash and the target's name."""
    return built(kind) if shutil.which("cargo") else unpacked(kind)


def unpacked(kind: str) -> dict[str, Path]:
    folder = BUNDLE / "programs" / kind
    if not folder.is_dir():
        sys.exit(f"there is neither cargo nor {folder}: bring a bundle, as scripts/gpu-bundle says")
    return {path.name: path for path in sorted(folder.iterdir())}


def built(kind: str) -> dict[str, Path]:
    """Builds them, which takes minutes the first time."""
    reported = ["--locked", "--message-format=json-render-diagnostics"]
    commands = [["cargo", kind, "--workspace", "--no-run", *reported]]
    if kind == "bench":
        commands[0] += ["--bench", "*gpu*"]
        commands += [["cargo", "build", "--release", "--package", "cudainfer-benches", "--bin", "load", *reported]]
    else:
        commands[0] += ["--release", "--test", "*gpu*"]
    found = {}
    for command in commands:
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"cargo could not build the programs: {' '.join(command)}")
        for message in map(json.loads, done.stdout.splitlines()):
            # Tests build the programs of their package, too.
            wanted = kind == "bench" or "test" in message.get("target", {}).get("kind", [])
            if message["reason"] == "compiler-artifact" and message["executable"] and wanted:
                crate = Path(message["manifest_path"]).parent.name
                found[f"{crate}-{message['target']['name']}"] = Path(message["executable"])
    return dict(sorted(found.items()))


if __name__ == "__main__":
    if sys.argv[1:] not in (["test"], ["bench"]):
        sys.exit(__doc__.strip())
    for name, path in programs(sys.argv[1]).items():
        print(name, path)
