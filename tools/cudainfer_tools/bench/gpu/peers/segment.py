"""What users call instead of the operation `segment`: exponential smoothing over logits and the class of each pixel, in
PyTorch."""

from __future__ import annotations

from functools import partial

import torch

from cudainfer_tools.bench.gpu.peers.measure import graph_of, in_turn, measure, row

ROW = "argmax + smoothing 21x512x512 float16"
SIDE, CLASSES, SMOOTHING = 512, 21, 0.5
# Frames taken in turns: more than the cache holds.
INPUTS = 16


def step(state: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
    """The mask `[1, 512, 512]` uint8 of smoothed logits; `state` is moved on."""
    state.lerp_(logits, 1 - SMOOTHING)
    return state.argmax(1).to(torch.uint8)


def run() -> None:
    random = torch.Generator(device="cuda").manual_seed(4)
    # Regions as networks give them: coarse noise, enlarged.
    coarse = torch.randn(INPUTS, CLASSES, 16, 16, generator=random, device="cuda")
    frames = torch.nn.functional.interpolate(4 * coarse, (SIDE, SIDE), mode="bilinear").half().split(1)
    state = frames[0].clone()
    row(ROW, "torch", measure(in_turn(partial(step, state), frames)))
    graphs = [graph_of(partial(step, state, logits)) for logits in frames]
    row(ROW, "torch, CUDA graph", measure(in_turn(torch.cuda.CUDAGraph.replay, graphs)))
