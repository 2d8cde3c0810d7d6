"""Model files without their weights, which are made anew where the files arrive.

Weights hardly compress, and a network is as fast with others. So the bytes of a large array of weights are zeros in the file that
is packed, and what it takes to make similar numbers is a `Hole`. What compresses well, such as a grid or a table of anchors, stays: a
model may depend on it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import onnx

# Arrays of fewer bytes stay.
SMALLEST = 4096
# So do those that compress to less than this share.
RANDOM = 0.6


@dataclass(frozen=True)
class Hole:
    """An array whose numbers are missing: where its bytes lie, how many numbers there are, and how these were distributed."""

    file: str
    offset: int
    type: str
    count: int
    mean: float
    deviation: float
    low: float
    high: float
    # Other numbers for another one.
    seed: int = 0

    def size(self) -> int:
        """In bytes."""
        return self.count * np.dtype(self.type).itemsize

    def numbers(self) -> np.ndarray:
        """Numbers of the same mean, deviation and range, the same ones each time."""
        drawn = np.random.default_rng([self.seed, self.offset]).standard_normal(self.count, np.float32)
        values = np.clip(drawn * np.float32(self.deviation) + np.float32(self.mean), self.low, self.high)
        return (values if self.type.startswith("float") else values.round()).astype(self.type)


def hole(values: np.ndarray, file: str, offset: int) -> Hole | None:
    """The hole that stands for an array; nothing where the array stays."""
    if values.nbytes < SMALLEST or values.dtype.name not in ("float32", "float16", "int8", "uint8"):
        return None
    if len(zlib.compress(values.tobytes(), 1)) < RANDOM * values.nbytes or not np.isfinite(values).all():
        return None
    numbers = values.astype(np.float64)
    range_of = float(numbers.mean()), float(numbers.std()), float(numbers.min()), float(numbers.max())
    return Hole(file, offset, values.dtype.name, values.size, *range_of)


def arrays(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """The constant tensors of a graph and of the graphs in its nodes."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            if attribute.HasField("g"):
                yield from arrays(attribute.g)


def holes(model: Path) -> list[Hole]:
    """The arrays of a model that can be made anew, in its file and in those with external data."""
    import onnx
    from onnx import external_data_helper, numpy_helper

    read = onnx.load(model, load_external_data=False)
    data, at, found = model.read_bytes(), 0, []
    for tensor in arrays(read.graph):
        if external_data_helper.uses_external_data(tensor):
            place = external_data_helper.ExternalDataInfo(tensor)
            values = numpy_helper.to_array(tensor, str(model.parent))
            one = hole(values, place.location, place.offset or 0)
        else:
            values = numpy_helper.to_array(tensor)
            if values.nbytes < SMALLEST:
                continue
            # The file has them in the order of the graph, but for those of nodes.
            wanted = values.tobytes()
            start = data.find(wanted, at)
            start = data.find(wanted) if start < 0 else start
            if start < 0:
                continue
            at = start + len(wanted)
            one = hole(values, model.name, start)
        if one:
            found.append(one)
    # Tensors of one content may share bytes.
    return list({(one.file, one.offset): one for one in found}.values())


def empty(folder: Path, found: list[Hole]) -> None:
    """Puts zeros in the place of what can be made anew, in the files of a folder."""
    for one in found:
        write(folder, one, bytes(one.size()))


def fill(folder: Path, found: list[Hole]) -> None:
    """Makes the numbers anew, in the files of a folder."""
    for one in found:
        write(folder, one, one.numbers().tobytes())


def write(folder: Path, one: Hole, content: bytes) -> None:
    """Overwrites the bytes of a hole."""
    with (folder / one.file).open("r+b") as file:
        file.seek(one.offset)
        file.write(content)
