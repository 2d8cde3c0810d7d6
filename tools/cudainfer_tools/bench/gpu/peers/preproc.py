"""What users call instead of the operation `preproc`: a chain of PyTorch operations, as it stands and as a CUDA graph,
and CV-CUDA's operators where CV-CUDA is installed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F

from cudainfer_tools.bench.gpu.peers.measure import graph_of, in_turn, measure, row

WIDTH, HEIGHT, SIDE, BATCH = 1920, 1080, 640, 16
ROW = "preproc NV12 1080p to 640x640 letterbox RGB float16"
BATCH_ROW = f"{ROW}, batch of {BATCH} (a frame)"
# Taken in turns: 75 MB, more than the cache holds.
FRAMES = 24


def to_rgb(frames: torch.Tensor) -> torch.Tensor:
    """NV12 `[N, H * 3 / 2, W]` uint8 to RGB `[N, 3, H, W]` float32, 0 to 255: BT.709, limited range, as video is."""
    height, width = frames.shape[1] * 2 // 3, frames.shape[2]
    y = (frames[:, None, :height].float() - 16) * (255 / 219)
    uv = frames[:, height:].reshape(-1, height // 2, width // 2, 2).permute(0, 3, 1, 2).float()
    uv = (F.interpolate(uv, scale_factor=2, mode="nearest") - 128) * (255 / 224)
    u, v = uv[:, :1], uv[:, 1:]
    return torch.cat([y + 1.5748 * v, y - 0.1873 * u - 0.4681 * v, y + 1.8556 * u], 1).clamp_(0, 255)


def letterbox(rgb: torch.Tensor, side: int = SIDE) -> torch.Tensor:
    """RGB `[N, 3, H, W]`, 0 to 255, to the network's input `[N, 3, side, side]` float16, 0 to 1, with grey bars."""
    height, width = rgb.shape[2:]
    scale = min(side / height, side / width)
    height, width = round(height * scale), round(width * scale)
    small = F.interpolate(rgb, (height, width), mode="bilinear", align_corners=False)
    top, left = (side - height) // 2, (side - width) // 2
    bars = (left, side - width - left, top, side - height - top)
    return (F.pad(small, bars, value=114.0) / 255).half()


def chain(frames: torch.Tensor) -> torch.Tensor:
    return letterbox(to_rgb(frames))


def noise(batch: int, number: int) -> torch.Tensor:
    torch.manual_seed(number)
    return torch.randint(0, 256, (batch, HEIGHT * 3 // 2, WIDTH), dtype=torch.uint8, device="cuda")


def run() -> None:
    frames = [noise(1, number) for number in range(FRAMES)]
    row(ROW, "torch", measure(in_turn(chain, frames)))
    graphs = [graph_of(partial(chain, frame)) for frame in frames]
    row(ROW, "torch, CUDA graph", measure(in_turn(torch.cuda.CUDAGraph.replay, graphs)))

    batches = [noise(BATCH, number) for number in range(2)]
    row(BATCH_ROW, "torch", measure(in_turn(chain, batches)) / BATCH)
    graphs = [graph_of(partial(chain, batch)) for batch in batches]
    row(BATCH_ROW, "torch, CUDA graph", measure(in_turn(torch.cuda.CUDAGraph.replay, graphs)) / BATCH)
    with_cvcuda(frames, batches)


def with_cvcuda(frames: list[torch.Tensor], batches: list[torch.Tensor]) -> None:
    """The same chain of CV-CUDA's operators, each writing into memory that is allocated once."""
    try:
        import cvcuda
    except ImportError as error:
        print(f"peers: CV-CUDA is left out: {error}", file=sys.stderr)
        return

    def tensor(shape: tuple[int, ...], kind: torch.dtype, layout: str) -> cvcuda.Tensor:
        return cvcuda.as_tensor(torch.empty(shape, dtype=kind, device="cuda"), layout)

    def prepare(batch: int) -> Callable[[cvcuda.Tensor], None]:
        height = SIDE * HEIGHT // WIDTH
        rgb = tensor((batch, HEIGHT, WIDTH, 3), torch.uint8, "NHWC")
        small = tensor((batch, height, SIDE, 3), torch.uint8, "NHWC")
        boxed = tensor((batch, SIDE, SIDE, 3), torch.uint8, "NHWC")
        halves = tensor((batch, SIDE, SIDE, 3), torch.float16, "NHWC")
        planes = tensor((batch, 3, SIDE, SIDE), torch.float16, "NCHW")
        stream = cvcuda.as_stream(torch.cuda.current_stream())

        def work(frame: cvcuda.Tensor) -> None:
            cvcuda.cvtcolor_into(rgb, frame, cvcuda.ColorConversion.YUV2RGB_NV12, stream=stream)
            cvcuda.resize_into(small, rgb, cvcuda.Interp.LINEAR, stream=stream)
            cvcuda.copymakeborder_into(
                boxed,
                small,
                border_mode=cvcuda.Border.CONSTANT,
                border_value=[114.0] * 3,
                top=(SIDE - height) // 2,
                left=0,
                stream=stream,
            )
            cvcuda.convertto_into(halves, boxed, scale=1 / 255, offset=0.0, stream=stream)
            cvcuda.reformat_into(planes, halves, stream=stream)

        return work

    for name, inputs, batch in ((ROW, frames, 1), (BATCH_ROW, batches, BATCH)):
        wrapped = [cvcuda.as_tensor(frame.unsqueeze(-1), "NHWC") for frame in inputs]
        times = measure(in_turn(prepare(batch), wrapped))
        row(name, f"CV-CUDA {cvcuda.__version__}", times / batch)
