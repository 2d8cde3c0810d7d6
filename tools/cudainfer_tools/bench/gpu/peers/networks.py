"""The network alone: PyTorch as it is and compiled, and a bare session of ONNX Runtime where the one installed here has the CUDA provider."""

from __future__ import annotations

import copy
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from cudainfer_tools.bench.gpu import models
from cudainfer_tools.bench.gpu.peers.measure import graph_of, in_turn, measure, row

if TYPE_CHECKING:
    import onnxruntime

# name, what it is called in rows, batch
NETWORKS = (
    ("deeplab", "DeepLabV3-ResNet50 512x512 float16", 1),
    ("deeplab", "DeepLabV3-ResNet50 512x512 float16", 8),
    ("yolov8n", "YOLOv8n 640x640 float16", 1),
    ("yolov8n", "YOLOv8n 640x640 float16", 4),
    ("yolov8n", "YOLOv8n 640x640 float16", 16),
)
# How torch.compile chooses kernels: by its rules, or by timing them, which takes minutes and is done for these alone, in the end.
DEFAULT, AUTOTUNE = "default", "max-autotune-no-cudagraphs"
AUTOTUNED = (NETWORKS[2], NETWORKS[4])
INPUTS = 4


def run() -> None:
    torch.backends.cudnn.benchmark = True
    session = onnx_session()
    for name, called, batch in NETWORKS:
        called = f"{called}, batch {batch}"
        model, images = made(name, batch)
        last = [image.to(memory_format=torch.channels_last) for image in images]
        with torch.inference_mode():
            row(called, "torch", measure(in_turn(model, last)))
            graphs = [graph_of(partial(model, image)) for image in last]
            row(called, "torch, CUDA graph", measure(in_turn(torch.cuda.CUDAGraph.replay, graphs)))
            del graphs
        compiled(model, called, last, DEFAULT)
        if session:
            with tempfile.TemporaryDirectory() as folder:
                file = str(Path(folder) / "model.onnx")
                models.export(model.to(memory_format=torch.contiguous_format), models.SIDES[name], batch, torch.float16, file)
                bare_loop(session(file), called, images)
    for name, called, batch in AUTOTUNED:
        model, images = made(name, batch)
        last = [image.to(memory_format=torch.channels_last) for image in images]
        compiled(model, f"{called}, batch {batch}", last, AUTOTUNE)


def made(name: str, batch: int) -> tuple[torch.nn.Module, list[torch.Tensor]]:
    """A network in float16, its weights with channels last, which PyTorch is faster with, and batches of images."""
    model = models.deeplab() if name == "deeplab" else models.yolov8n()
    side = models.SIDES[name]
    images = [torch.rand(batch, 3, side, side, device="cuda").half() for _ in range(INPUTS)]
    return model.cuda().half().to(memory_format=torch.channels_last), images


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
    row(called, f"torch.compile, {mode}, CUDA graph", times, compiled_s=round(took, 1))


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
    row(called, f"onnxruntime {onnxruntime.__version__}", times)
