"""Models that see more than one frame of a stream."""

from __future__ import annotations

import numpy as np

from cudainfer_tools.test_models.graph import F32, FOLDER, Dims, Graph

STRETCH = '[input]\nname = "images"\nresize = "stretch"\n'


def earlier() -> None:
    """`seen` [batch, N] is how bright each of the N pictures is."""
    # Two inputs, and a third that is always the same picture.
    pictures: Dims = ["batch", 3, 8, 8]
    inputs = (
        ("earlier-input", ["image1"], "[frames]\nimage1 = -1\n"),
        ("earlier-inputs", ["near", "far"], "[frames]\nnear = -1\nfar = -3\n"),
    )
    for name, others, frames in inputs:
        graph = Graph(F32, pictures)
        for other in [*others, "background"]:
            graph.input(other, F32, pictures)
        means = [mean(graph, picture) for picture in ["images", *others, "background"]]
        graph.node("Concat", means, "seen", axis=1)
        graph.output("seen", F32, ["batch", len(means)])
        graph.save(name, STRETCH + frames + '[constants]\nbackground = { file = "background.npy" }\n')
    np.save(FOLDER / "background.npy", np.linspace(0.25, 0.75, 192, dtype=np.float32).reshape(1, 3, 8, 8))
    # Pictures that lie in the channels of one input.
    stacks: list[tuple[str, Dims, int, str]] = [
        ("earlier-stack", ["batch", 9, 8, 8], 1, "[-2, -1, 0]"),
        ("earlier-stack-fixed-batch", [2, 6, 8, 8], 1, "[0, -3]"),
        ("earlier-stack-last", ["batch", 8, 8, 2], 3, "[-1, 0]"),
    ]
    for name, dims, channels, stack in stacks:
        graph = Graph(F32, dims)
        graph.node("ReduceMean", ["images"], "seen", axes=[axis for axis in (1, 2, 3) if axis != channels], keepdims=0)
        graph.output("seen", F32, [dims[0], dims[channels]])
        graph.save(name, f"{STRETCH}[frames]\nstack = {stack}\n")


def mean(graph: Graph, picture: str) -> str:
    """How bright a picture is, [batch, 1]."""
    graph.node("ReduceMean", [picture], f"{picture}_mean", axes=[1, 2, 3], keepdims=0)
    column = graph.constant(f"{picture}_column", np.array([-1, 1], np.int64))
    return graph.node("Reshape", [f"{picture}_mean", column], f"{picture}_seen")


def clips() -> None:
    """`seen` [batch, 4] is how bright each picture of a clip is; `scores` [batch, 2] says whether the first or the last one is brighter,
    or [batch, 3] which colour they have."""
    shapes: list[tuple[str, Dims, int, str]] = [
        ("clip-channels-first", ["batch", 3, 4, 8, 8], 2, "frames = 4\nstride = 2\nhop = 3\n"),
        ("clip-time-first", ["batch", 4, 3, 8, 8], 1, "frames = 4\n"),
        ("clip-channels-last", ["batch", 4, 8, 8, 3], 1, "frames = 4\nhop = 1\n"),
        ("clip-time-last", [2, 3, 8, 8, 4], 4, "frames = 4\nhop = 2\naxis = 4\n"),
    ]
    for name, dims, axis, clip in shapes:
        graph = Graph(F32, dims)
        graph.node("ReduceMean", ["images"], "seen", axes=[other for other in (1, 2, 3, 4) if other != axis], keepdims=0)
        graph.output("seen", F32, [dims[0], 4])
        graph.save(name, f'[input]\nresize = "stretch"\n[clip]\n{clip}')
    graph = Graph(F32, ["batch", 3, 4, 8, 8])
    graph.node("ReduceMean", ["images"], "seen", axes=[1, 3, 4], keepdims=0)
    weights = np.array([[50, -50], [0, 0], [0, 0], [-50, 50]], np.float32)
    graph.node("MatMul", ["seen", graph.constant("weights", weights)], "scores")
    graph.output("scores", F32, ["batch", 2])
    sidecar = '[input]\nresize = "stretch"\nroi-crop = "box"\n[clip]\nframes = 4\nhop = 2\n[classify]\nactivation = "softmax"\n[output]\nlabels = ["darker", "brighter"]\n'
    graph.save("clip-actions", sidecar)
    # What is red in the first picture of a clip, blue in the second or green in the last: no two are near each other.
    graph = Graph(F32, ["batch", 3, 4, 8, 8])
    graph.node("ReduceMean", ["images"], "seen", axes=[3, 4], keepdims=0)
    graph.node("Flatten", ["seen"], "row")
    weights = np.zeros((12, 3), np.float32)
    for label, (channel, picture) in enumerate([(0, 0), (1, 3), (2, 1)]):
        weights[4 * channel + picture, label] = 6
    graph.node("MatMul", ["row", graph.constant("weights", weights)], "scores")
    graph.output("scores", F32, ["batch", 3])
    graph.save("clip-colours", sidecar.replace('"darker", "brighter"', '"red", "green", "blue"'))
