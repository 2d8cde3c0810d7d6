"""Packs the zoo's models for a GPU machine, where zoo.speed.gpu measures them.

    python3 tools zoo.speed.pack [--to FOLDER] [CASE...]

The models are those in out/evaluate/zoo. FOLDER (default: .gpu) gets zoo.00.tar, zoo.01.tar ... of at most 44 MiB each, the small models in
the first. Their weights are left out and made anew there (zoo/speed/hollow.py).
"""

from __future__ import annotations

import argparse
import concurrent.futures
import io
import json
import re
import shutil
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

from cudainfer_tools.repository import ROOT
from cudainfer_tools.zoo.speed import hollow
from cudainfer_tools.zoo.speed.hollow import Hole

CASES = ROOT / "out" / "evaluate" / "zoo"
PIECE = 44 << 20
# How often weights are drawn until a model runs.
SEEDS = 5
# What only the comparison and the export need.
OTHERS = ("case.json", "frames.rgb", "found.*", "objects*", "masks.npz", "samples.npz", "*.pt", "*.ckpt")


def sides(case: dict, folder: Path) -> tuple[int, int]:
    """Width and height of the model's input where the model leaves them open: those that fusedpreproc is given, else the frame's."""
    given = {name: int(value) for name, value in re.findall(r"\b(width|height)=(\d+)", case["preprocessing"])}
    sidecar = folder / "model.toml"
    told = tomllib.loads(sidecar.read_text()).get("input", {}) if sidecar.exists() else {}
    width, height = (given.get(side, told.get(side, size)) for side, size in zip(("width", "height"), case["size"], strict=True))
    return width, height


def close(model: onnx.ModelProto, width: int, height: int) -> bool:
    """Gives the only image among a model's inputs its size where it is open. Whether it was."""
    constants = {one.name for one in model.graph.initializer}
    images = [
        one.type.tensor_type.shape.dim
        for one in model.graph.input
        if one.name not in constants and len(one.type.tensor_type.shape.dim) == 4
    ]
    if len(images) != 1:
        return False
    dims = images[0]
    # The colours of an input `[N, H, W, C]` are last.
    last = dims[3].dim_value in (1, 3) and dims[1].dim_value not in (1, 3)
    opened = False
    for number, side in zip((1, 2) if last else (2, 3), (height, width), strict=True):
        if not dims[number].HasField("dim_value"):
            dims[number].dim_value = side
            opened = True
    return opened


def runs(file: Path) -> bool:
    """Whether a model takes a random image, and all that it gives are numbers. One with further inputs is taken to."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
        inputs = session.get_inputs()
        if len(inputs) > 1:
            return True
        shape = [size if isinstance(size, int) and size > 0 else 1 for size in inputs[0].shape]
        image = np.random.default_rng(0).random(shape)
        whole = inputs[0].type == "tensor(uint8)"
        given = (image * 255).astype(np.uint8) if whole else image.astype(np.float32)
        outputs = session.run(None, {inputs[0].name: given})
    except Exception:  # ONNX Runtime's exceptions have no class of their own.
        return False
    return all(np.isfinite(one).all() for one in outputs if one.dtype.kind == "f")


def usable(file: Path, found: Sequence[Hole]) -> list[Hole]:
    """The holes with a seed whose numbers the model runs with; none if there is no such seed. Of some detectors nothing is left of a
    frame with other numbers, and a later layer fails."""
    kept = {one.file: (file.parent / one.file).read_bytes() for one in found}
    for seed in range(SEEDS):
        tried = [replace(one, seed=seed) for one in found]
        hollow.fill(file.parent, tried)
        if runs(file):
            return tried
    for name, content in kept.items():
        (file.parent / name).write_bytes(content)
    return []


def staged(source: Path, folder: Path) -> None:
    """Copies what a run of a case's model needs to a folder, without the weights that can be made anew."""
    case = json.loads((source / "case.json").read_text())
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns(*OTHERS))
    for other in folder.glob("*.onnx"):
        if other.name != "model.onnx":
            other.unlink()
    file = folder / "model.onnx"
    model = onnx.load(file, load_external_data=False)
    if close(model, *sides(case, source)):
        onnx.save(model, file)
    found = usable(file, hollow.holes(file))
    hollow.empty(folder, found)
    (folder / "holes.json").write_text(json.dumps([asdict(one) for one in found]))


def packed(source: Path) -> bytes:
    """A case's model as .tar.xz."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / source.name
        staged(source, folder)
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:xz", preset=1) as archive:
            archive.add(folder, source.name)
        return buffer.getvalue()


def pieces(archives: dict[str, bytes], largest: int = PIECE) -> tuple[list[list[str]], list[str]]:
    """The names in each piece, the small ones first, and those that are larger than a piece."""
    made: list[list[str]] = []
    room, left_out = 0, []
    for name in sorted(archives, key=lambda name: (len(archives[name]), name)):
        # A header, and padding to whole blocks; the archive itself is padded to 20 blocks.
        size = len(archives[name]) + 1024
        if size > largest - tarfile.RECORDSIZE:
            left_out.append(name)
            continue
        if not made or size > room:
            made.append([])
            room = largest - tarfile.RECORDSIZE
        made[-1].append(name)
        room -= size
    return made, left_out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, default=ROOT / ".gpu", metavar="FOLDER")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="only the cases whose names contain one of these words")
    given = parser.parse_args()
    folders = sorted(file.parent for file in CASES.glob("*/case.json"))
    wanted = [one for one in folders if not given.cases or any(word in one.name for word in given.cases)]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        archives = dict(zip((one.name for one in wanted), pool.map(packed, wanted), strict=True))
    made, left_out = pieces(archives)
    given.to.mkdir(parents=True, exist_ok=True)
    for old in given.to.glob("zoo.[0-9][0-9].tar"):
        old.unlink()
    for number, names in enumerate(made):
        file = given.to / f"zoo.{number:02}.tar"
        with tarfile.open(file, "w") as archive:
            for name in names:
                entry = tarfile.TarInfo(f"{name}.tar.xz")
                entry.size = len(archives[name])
                archive.addfile(entry, io.BytesIO(archives[name]))
        print(f"{file}: {len(names)} models, {file.stat().st_size / (1 << 20):.1f} MiB")
    for name in left_out:
        print(f"left out: {name}, {len(archives[name]) / (1 << 20):.1f} MiB packed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
