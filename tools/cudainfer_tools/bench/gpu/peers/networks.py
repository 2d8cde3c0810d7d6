"""The network alone: PyTorch as it is and compiled, and a bare session of ONNX Runtime where the one installed here has the CUDA provider.

    python3 tools bench.gpu.peers.networks [--autotune] [NAME...]

NAME is one of bench/gpu/measuring.py's NETWORKS; all, if none is given.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from cudainfer_tools.bench.gpu import models
from cudainfer_tools.bench.gpu.measuring import NETWORKS
from cudainfer_tools.bench.gpu.peers.measure import graph_of, in_turn, measure, row

if TYPE_CHECKING:
    import onnxruntime

# How torch.compile chooses kernels: by its rules, or by timing them, which takes minutes and is done for these alone, in the end.
DEFAULT, AUTOTUNE = "default", "max-autotune-no-cudagraphs"
INPUTS = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--autotune", action="store_true", help="torch.compile's max-autotune, which takes minutes a network, and nothing else"
    )
    parser.add_argument("names", nargs="*", choices=[*NETWORKS, []], metavar="NAME")
    given = parser.parse_args()
    print(json.dumps({"versions": {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version()}}), flush=True)
    run(given.names, autotune=given.autotune)


def run(names: Sequence[str] = (), autotune: bool = False) -> None:
    torch.backends.cudnn.benchmark = True
    session = onnx_session()
    cases = [(name, batch) for name in names or NETWORKS for batch in NETWORKS[name].batches]
    for name, batch in cases:
        network = NETWORKS[name]
        called, side = network.row(), network.side
        # Its weights with channels last, which PyTorch is faster with.
        model = models.made(name).cuda().half().to(memory_format=torch.channels_last)
        images = [torch.rand(batch, 3, side, side, device="cuda").half() for _ in range(INPUTS)]
        last = [image.to(memory_format=torch.channels_last) for image in images]
        if autotune:
            compiled(model, called, last, AUTOTUNE)
            continue
        with torch.inference_mode():
            row(called, "torch", measure(in_turn(model, last)), batch=batch)
            graphs = [graph_of(partial(model, image)) for image in last]
            row(called, "torch, CUDA graph", measure(in_turn(torch.cuda.CUDAGraph.replay, graphs)), batch=batch)
            del graphs
        compiled(model, called, last, DEFAULT)
        if session:
            with tempfile.TemporaryDirectory() as folder:
                file = str(Path(folder) / "model.onnx")
                models.export(model.to(memory_format=torch.contiguous_format), side, batch, torch.float16, file)
                bare_loop(session(file), called, images)


def compiled(model: torch.nn.Module, called: str, images: list[torch.Tensor], mode: str) -> None:
    """By torch.compile, with batch normalisation folded and weights as constants ("freezing"), as a CUDA graph of ours."""
    import torch._inductor.config

    torch._dynamo.reset()
    torch._inductor.config.freezing = True
    started = time.monotonic()
    faster = torch.compile(folded(copy.deepcopy(model)), mode=mode)
    # Not inference_mode, in which nothing is frozen.
    with torch.no_grad():
        for _ in range(3):
            faster(images[0])
        torch.cuda.synchronize()
        took = time.monotonic() - started
        graphs = [graph_of(partial(faster, image)) for image in images]
        times = measure(in_turn(torch.cuda.CUDAGraph.replay, graphs))
    row(called, f"torch.compile, {mode}, CUDA graph", times, batch=len(images[0]), compiled_s=round(took, 1))


def folded(model: torch.nn.Module) -> torch.nn.Module:
    """The model, whose convolutions do their batch normalisation themselves where it is a module beside them."""
    from torch.nn.utils.fusion import fuse_conv_bn_eval

    for module in model.modules():
        if isinstance(module, models.Conv):
            module.conv, module.bn = fuse_conv_bn_eval(module.conv, module.bn), torch.nn.Identity()
    return model


def onnx_session() -> Callable[[str], onnxruntime.InferenceSession] | None:
    """What makes a CUDA session of a file, or None."""
    try:
        import onnxruntime
    except ImportError as error:
        print(f"peers: ONNX Runtime is left out: {error}", file=sys.stderr)
        return None
    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        print(
            f"peers: ONNX Runtime is left out: the Python package onnxruntime {onnxruntime.__version__} has no CUDA "
            "provider (onnxruntime-gpu has)",
            file=sys.stderr,
        )
        return None
    stream = str(torch.cuda.current_stream().cuda_stream)
    cuda = ("CUDAExecutionProvider", {"user_compute_stream": stream, "use_tf32": "0"})
    return lambda file: onnxruntime.InferenceSession(file, providers=[cuda])


def bare_loop(session: onnxruntime.InferenceSession, called: str, images: list[torch.Tensor]) -> None:
    """Inputs and outputs stay on the device."""
    import onnxruntime

    bindings = []
    for image in images:
        binding = session.io_binding()
        binding.bind_input("images", "cuda", 0, "float16", list(image.shape), image.data_ptr())
        binding.bind_output("output0", "cuda")
        bindings.append(binding)
    times = measure(in_turn(session.run_with_iobinding, bindings))
    row(called, f"onnxruntime {onnxruntime.__version__}", times, batch=len(images[0]))


if __name__ == "__main__":
    main()
