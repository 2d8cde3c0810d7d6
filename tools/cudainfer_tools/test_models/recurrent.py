"""Models that remember something from one frame of a stream to the next."""

from __future__ import annotations

import numpy as np

from cudainfer_tools.test_models.graph import F32, Graph

NAMED = '[input]\nresize = "stretch"\n[state]\ncount_out = "count_in"\ntotal_out = { input = "total_in", initial = 100 }\n'


def recurrent() -> None:
    """Recurrent models whose states a test can calculate."""
    cases: list[tuple[str, int | str, str]] = [
        ("recurrent", "batch", NAMED),
        ("recurrent-other", "batch", NAMED.replace("initial = 100", "initial = 200")),
        ("recurrent-fixed-batch", 4, NAMED),
        # Nothing is named: without values it does not run, with them it remembers nothing.
        ("recurrent-bare", "batch", '[input]\nresize = "stretch"\n'),
        ("recurrent-forgetful", "batch", '[input]\nresize = "stretch"\n[constants]\ncount_in = [0]\ntotal_in = [0]\n'),
    ]
    for name, batch, sidecar in cases:
        graph = Graph(F32, [batch, 3, 8, 8])
        counts(graph, batch)
        graph.save(name, sidecar)
    # One state for all rows of a run.
    graph = Graph(F32, ["batch", 3, 8, 8])
    graph.input("count_in", F32, [1, 1])
    graph.node("ReduceMean", ["images"], "mean", axes=[1, 2, 3], keepdims=0)
    graph.node("Add", ["count_in", graph.constant("one", np.float32(1))], "count_out")
    graph.output("count_out", F32, [1, 1])
    graph.node("ReduceMean", ["images"], "means", axes=[2, 3], keepdims=0)
    graph.node("Mul", ["means", graph.constant("none", np.float32(0))], "zeros")
    graph.node("Add", ["zeros", "count_out"], "count")
    graph.output("count", F32, ["batch", 3])
    graph.save("recurrent-for-all", '[input]\nresize = "stretch"\n[state]\ncount_out = "count_in"\n')
    # The picture that it makes is fed back: half of the one before, and half of the new one.
    graph = Graph(F32, [1, 3, 8, 8])
    graph.input("before", F32, [1, 3, 8, 8])
    graph.node("Add", ["images", "before"], "both")
    graph.node("Mul", ["both", graph.constant("half", np.float32(0.5))], "mixed")
    graph.output("mixed", F32, [1, 3, 8, 8])
    graph.save("recurrent-picture", '[input]\nname = "images"\nresize = "stretch"\n[state]\nmixed = "before"\n')
    # The first state has one element, and all others those of the picture.
    for name, state in [
        ("recurrent-open", 'r1o = "r1i"'),
        ("recurrent-open-stated", 'r1o = { input = "r1i", shape = [1, 3, 8, 8] }'),
        ("recurrent-open-wrong", 'r1o = { input = "r1i", shape = [1, 1, 8, 8] }'),
    ]:
        graph = Graph(F32, ["batch", 3, "height", "width"])
        graph.input("r1i", F32, ["r1_batch", "r1_channels", "r1_height", "r1_width"])
        graph.node("Add", ["images", "r1i"], "r1o")
        graph.output("r1o", F32, ["r1_batch", "r1_channels", "r1_height", "r1_width"])
        graph.node("ReduceMean", ["r1o"], "total", axes=[1, 2, 3], keepdims=0)
        graph.output("total", F32, ["batch"])
        graph.save(name, f'[input]\nwidth = 8\nheight = 8\nresize = "stretch"\n[state]\n{state}\n')


def counts(graph: Graph, batch: int | str) -> None:
    """`count` [batch, 1]: how many frames there were; `total` [batch, 1]: the sum of their brightness."""
    graph.node("ReduceMean", ["images"], "mean", axes=[1, 2, 3], keepdims=0)
    graph.node("Reshape", ["mean", graph.constant("column", np.array([-1, 1], np.int64))], "brightness")
    for name, plus in [("count", graph.constant("one", np.float32(1))), ("total", "brightness")]:
        graph.input(f"{name}_in", F32, [batch, 1])
        graph.node("Add", [f"{name}_in", plus], f"{name}_out")
        graph.output(f"{name}_out", F32, [batch, 1])
        graph.node("Identity", [f"{name}_out"], name)
        graph.output(name, F32, [batch, 1])
