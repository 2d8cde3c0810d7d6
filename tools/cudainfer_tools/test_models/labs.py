"""Networks as DeepLabCut's and Lightning Pose's trainings give them, without what lies beside them."""

from __future__ import annotations

import numpy as np

from cudainfer_tools.test_models.graph import F32, Graph


def networks() -> None:
    """Of 96x64 pixels (width, height). DeepLabCut's: maps of two points on every eighth pixel, and offsets; of one animal, once
    with other names and the offsets first. Lightning Pose's: softmaxes of two points on every fourth pixel."""
    maps = np.zeros((1, 2, 8, 12), np.float32)
    maps[0, 0, 2, 3], maps[0, 1, 6, 10] = 0.9, 0.75
    offsets = np.zeros((1, 4, 8, 12), np.float32)
    # Across and down, of the first point and of the second.
    offsets[0, :2, 2, 3], offsets[0, 2:, 6, 10] = (0.25, -0.5), (-1.0, 0.125)
    for name, named in (("deeplabcut", {"heatmap": maps, "locref": offsets}), ("deeplabcut-unnamed", {"1": offsets, "2": maps})):
        graph = Graph(F32, ["batch", 3, 64, 96])
        graph.node("ReduceMean", ["images"], "mean", axes=[1, 2, 3], keepdims=1)
        graph.node("Mul", ["mean", graph.constant("zero", np.float32(0))], "zeros")
        for output, values in named.items():
            graph.node("Add", ["zeros", graph.constant(f"some-{output}", values)], output)
            graph.output(output, F32, ["batch", *values.shape[1:]])
        graph.save(name)
    y, x = np.mgrid[0:16, 0:24]
    hills = [
        np.exp(-((x - 5.3) ** 2 + (y - 7.6) ** 2) / (2 * 1.25**2)),
        np.exp(-((x - 17.75) ** 2 + (y - 4.1) ** 2) / (2 * 1.25**2)),
    ]
    heat = np.array([[hill / hill.sum() for hill in hills]], np.float32)
    graph = Graph(F32, ["batch", 3, 64, 96])
    graph.node("ReduceMean", ["images"], "mean", axes=[1, 2, 3], keepdims=1)
    graph.node("Mul", ["mean", graph.constant("zero", np.float32(0))], "zeros")
    graph.node("Add", ["zeros", graph.constant("some-heatmaps", heat)], "heatmaps")
    graph.output("heatmaps", F32, ["batch", 2, 16, 24])
    graph.save("lightning-pose")
