"""What the exports of all programs do: errors, the packages they need, the ONNX files that PyTorch writes, and sidecars."""

from __future__ import annotations

import argparse
import importlib
import json
import math
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import torch
    from onnx import ModelProto


class ExportError(Exception):
    """Why a model is not exported: at most three sentences."""


def imported(needed: Sequence[str], program: str) -> None:
    """Opens the packages that are needed, `program`'s among them.

    Raises ExportError if one is missing."""
    missing = []
    for name in needed:
        try:
            importlib.import_module(name)
        except ImportError as error:
            missing.append(f"{name} ({error})" if error.name != name else name)
    if missing:
        raise ExportError(
            f"{sys.executable} has not what an export needs: {', '.join(missing)}. Install {program} and onnx there, or name the "
            "Python that has them with --python"
        )


def read_yaml(path: Path) -> dict[str, Any]:
    """The configuration in a file.

    Raises ExportError where it cannot be read."""
    import yaml

    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ExportError(f"'{path}' cannot be read: {' '.join(str(error).split())}") from None
    if not isinstance(config, dict):
        raise ExportError(f"'{path}' is no configuration of a training: a mapping was expected")
    return config


def traced(
    model: torch.nn.Module,
    inputs: Mapping[str, torch.Tensor],
    outputs: Sequence[str],
    axes: Mapping[str, Mapping[int, str]],
    opset: int,
    to: Path,
) -> None:
    """Writes what PyTorch's tracing exporter makes of `model`. `axes` are the open dimensions of inputs and outputs."""
    import torch

    with warnings.catch_warnings():
        # Of the exporter's age, and of shapes that are known while it traces.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            tuple(inputs.values()),
            str(to),
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_axes=axes,
            opset_version=opset,
            dynamo=False,
        )


def signed(model: ModelProto, facts: Mapping[str, str]) -> None:
    """Writes `facts` into the file's metadata, and takes out where each node came from in the user's folders."""
    import onnx

    for node in model.graph.node:
        node.doc_string = ""
    model.metadata_props.extend(onnx.StringStringEntryProto(key=key, value=value) for key, value in facts.items())


def answers(path: Path, frames: np.ndarray) -> list[np.ndarray]:
    """What the file makes of frames: by ONNX Runtime where it is installed, else by ONNX's own evaluator, which is slow."""
    try:
        import onnxruntime
    except ImportError:
        from onnx.reference import ReferenceEvaluator

        return list(ReferenceEvaluator(str(path)).run(None, {"image": frames}))
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {"image": frames})


def compare(
    path: Path, model: torch.nn.Module, frames: torch.Tensor, outputs: Sequence[str], tolerance: float, backbone: str
) -> None:
    """Compares what the file makes of frames with what PyTorch makes of them.

    Raises ExportError where they are farther apart than `tolerance`, or of values above 1 than that part of the greatest."""
    import torch

    with torch.inference_mode():
        expected = [each.numpy() for each in model(frames)]
    for name, ours, theirs in zip(outputs, answers(path, frames.numpy()), expected, strict=True):
        apart = float(abs(ours - theirs).max()) if ours.shape == theirs.shape else math.inf
        if not apart <= tolerance * max(1.0, float(abs(theirs).max())):
            raise ExportError(
                f"the ONNX file's '{name}' is {apart:g} from PyTorch's: the backbone '{backbone}' cannot be exported so"
            )


def strings(names: Sequence[str]) -> str:
    """A list of TOML's strings, which are JSON's where nothing below the space is left."""
    return json.dumps(list(names), ensure_ascii=False).replace("\x7f", "\\u007f")


def pairs(pairs: Sequence[tuple[str, str]]) -> str:
    """A list of TOML's pairs of strings."""
    return f"[{', '.join(strings(each) for each in pairs)}]"


def command(parser: argparse.ArgumentParser, export: Callable[[argparse.Namespace], list[Path]]) -> int:
    """Runs an export, and prints the files or the sentence why there are none."""
    try:
        for path in export(parser.parse_args()):
            print(path)
    except (ExportError, OSError) as error:
        print(f"export: {error}", file=sys.stderr)
        return 1
    return 0
