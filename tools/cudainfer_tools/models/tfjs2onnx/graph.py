"""Reads a TensorFlow.js GraphModel: model.json and the weight shards beside it."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

STORED_AS = {"float16": "<f2", "uint8": "u1", "uint16": "<u2"}
DTYPES = {"float32": "<f4", "int32": "<i4", "bool": "?"}


class ConversionError(Exception):
    """The model cannot be converted; the message says why."""


@dataclass(frozen=True)
class Node:
    """One TensorFlow operation; `inputs` are "node" or "node:index" without control inputs."""

    name: str
    op: str
    inputs: list[str]
    attributes: dict

    def ints(self, key: str, default: list[int] | None = None) -> list[int]:
        if key not in self.attributes:
            return default or []
        return [int(i) for i in self.attributes[key]["list"].get("i", [])]

    def text(self, key: str, default: str = "") -> str:
        value = self.attributes.get(key)
        return base64.b64decode(value["s"]).decode() if value else default

    def texts(self, key: str) -> list[str]:
        listed = self.attributes.get(key, {}).get("list", {}).get("s", [])
        return [base64.b64decode(s).decode() for s in listed]

    def number(self, key: str, default: float = 0.0) -> float:
        return float(self.attributes.get(key, {}).get("f", default))

    def flag(self, key: str) -> bool:
        return bool(self.attributes.get(key, {}).get("b", False))


@dataclass(frozen=True)
class Graph:
    """A GraphModel as read from disk: nodes in execution order, weights by name, shapes by input and output name."""

    nodes: list[Node]
    weights: dict[str, np.ndarray]
    inputs: dict[str, list[int]]
    outputs: dict[str, list[int]]


def canonical(name: str) -> str:
    """TensorFlow's "node:0" and "node" are the same tensor."""
    return name.removesuffix(":0")


def read_weights(manifest: list[dict], folder: Path) -> dict[str, np.ndarray]:
    """The weights of all groups, de-quantised to the types that the graph declares."""
    weights = {}
    for group in manifest:
        blob = b"".join((folder / path).read_bytes() for path in group["paths"])
        offset = 0
        for entry in group["weights"]:
            if entry["dtype"] not in DTYPES:
                raise ConversionError(f"weight '{entry['name']}' has the type {entry['dtype']}, known are {list(DTYPES)}")
            dtype = np.dtype(DTYPES[entry["dtype"]])
            packed = entry.get("quantization")
            disk = np.dtype(STORED_AS[packed["dtype"]]) if packed else dtype
            count = int(np.prod(entry["shape"], dtype=np.int64))
            if offset + count * disk.itemsize > len(blob):
                raise ConversionError(f"the weight files end within '{entry['name']}': they are truncated")
            array = np.frombuffer(blob, disk, count, offset).reshape(entry["shape"])
            offset += count * disk.itemsize
            if packed and "scale" in packed:
                array = array.astype(np.float32) * packed["scale"] + packed["min"]
            weights[entry["name"]] = array.astype(dtype)
    return weights


def read_graph(path: Path) -> Graph:
    """Reads model.json and the shards beside it."""
    try:
        model = json.loads(path.read_bytes())
    except ValueError as error:
        raise ConversionError(f"it is not the .json file of a model: {error}") from None
    if model.get("format", "graph-model") != "graph-model" or "signature" not in model:
        raise ConversionError(f"{path} is not a TensorFlow.js GraphModel with a signature (format: {model.get('format')})")
    nodes = [
        Node(n["name"], n["op"], [i for i in n.get("input", []) if not i.startswith("^")], n.get("attr", {}))
        for n in model["modelTopology"]["node"]
    ]

    def shapes(side: str) -> dict[str, list[int]]:
        return {canonical(v["name"]): [int(d["size"]) for d in v["tensorShape"]["dim"]] for v in model["signature"][side].values()}

    return Graph(nodes, read_weights(model["weightsManifest"], path.parent), shapes("inputs"), shapes("outputs"))
