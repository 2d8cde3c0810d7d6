"""Classifiers, attributes and texts."""

from __future__ import annotations

import numpy as np

from cudainfer_tools.test_models.graph import F32, Graph, constant_outputs


def classifiers() -> None:
    """Scores are ten times the picture's mean colours, 0..1; and the same with a score that is NaN."""
    sidecar = '[input]\nresize = "stretch"\n[output]\nlabels = ["red", "green", "blue"]\n[classify]\ntop-k = 2\n'
    for name, more in [("colours", [0, 0, 0]), ("colours-not-finite", [np.nan, 0, 0])]:
        graph = Graph(F32, ["batch", 3, 16, 16])
        graph.node("ReduceMean", ["images"], "mean", axes=[2, 3], keepdims=0)
        graph.node("Mul", ["mean", graph.constant("ten", np.float32(10))], "scaled")
        graph.node("Add", ["scaled", graph.constant("more", np.array(more, np.float32))], "scores")
        graph.output("scores", F32, ["batch", 3])
        graph.save(name, sidecar)
    # For one picture a run, of which nothing is said in the output.
    graph = Graph(F32, [1, 3, 16, 16])
    graph.node("ReduceMean", ["images"], "scores", axes=[0, 2, 3], keepdims=0)
    graph.output("scores", F32, [3])
    graph.save("colours-squeezed", sidecar)


def attributes() -> None:
    """Several outputs that follow from the picture's mean colours (r, g, b), 0..1: logits of its colour, ten times the means;
    probabilities of four traits; and a vector of two numbers. And the colours as probabilities, with and without a node that
    shows it."""
    stretch = '[input]\nresize = "stretch"\n'
    heads = (
        '[classify]\ntop-k = 2\n[classify.colour]\nlabels = ["red", "green", "blue"]\n'
        '[classify.traits]\nlabels = ["warm", "cold", "bright", "dark"]\ntop-k = 0\nthreshold = 0.5\n'
    )
    for name, sidecar in [
        ("attributes", heads + '[embed]\noutput = "vector"\n'),
        ("attributes-few-labels", heads.replace('"green", ', "")),
        ("attributes-other-head", heads.replace("classify.traits", "classify.trait")),
    ]:
        graph = Graph(F32, ["batch", 3, 16, 16])
        graph.node("ReduceMean", ["images"], "mean", axes=[2, 3], keepdims=0)
        graph.node("MatMul", ["mean", graph.constant("ten", 10 * np.eye(3, dtype=np.float32))], "colour")
        weights = np.array([[2, -2, 1, -1], [0, 0, 0, 0], [-2, 3, -1, 0.5]], np.float32)
        graph.node("MatMul", ["mean", graph.constant("weights", weights)], "logits")
        graph.node("Sigmoid", ["logits"], "traits")
        directions = np.array([[3, -4], [0, 0], [0, 2]], np.float32)
        graph.node("MatMul", ["mean", graph.constant("directions", directions)], "vector")
        graph.node("ReduceMean", ["images"], "rows", axes=[3], keepdims=0)
        for output, dims in [("colour", [3]), ("traits", [4]), ("vector", [2]), ("rows", [3, 16])]:
            graph.output(output, F32, ["batch", *dims])
        graph.save(name, stretch + sidecar)
    labels = '[output]\nlabels = ["red", "green", "blue"]\n[classify]\ntop-k = 3\n'
    for name, node in [("colours-softmax", True), ("colours-divided", False)]:
        graph = Graph(F32, ["batch", 3, 16, 16])
        graph.node("ReduceMean", ["images"], "mean", axes=[2, 3], keepdims=0)
        graph.node("Mul", ["mean", graph.constant("two", np.float32(2))], "scaled")
        if node:
            graph.node("Softmax", ["scaled"], "probabilities", axis=1)
            graph.node("Identity", ["probabilities"], "scores")
        else:
            graph.node("Exp", ["scaled"], "powers")
            graph.node("ReduceSum", ["powers", graph.constant("axis", np.array([1], np.int64))], "sum", keepdims=1)
            graph.node("Div", ["powers", "sum"], "scores")
        graph.output("scores", F32, ["batch", 3])
        graph.save(name, stretch + labels)


def numbers() -> None:
    """Numbers that are no scores of one set of classes: of a face as gender and age models give them, two logits and an age in
    hundreds of years, `people`, and `people-named` with a sidecar that says so; an age in years, `age`; 101 logits of ages, `ages`, and the same of unknown origin,
    `ages-open`. From the picture's mean colours, 0..1: 8 times red and green, and blue; 40 times blue; 10 times red at 20 and
    blue at 60."""
    people = 8 * np.diag(np.array([1, 1, 0.125], np.float32))
    years = np.array([[0], [0], [40]], np.float32)
    ages = np.zeros((3, 101), np.float32)
    ages[0, 20] = ages[2, 60] = 10
    named = (
        "[classify.age]\nchannels = [2, 3]\nscale = 100.0\noffset = 1.5\n"
        '[classify.gender]\nchannels = [0, 2]\nmode = "class"\nlabels = ["female", "male"]\n'
    )
    models = {"people": people, "people-named": people, "age": years, "ages": ages, "ages-open": ages}
    for name, weights in models.items():
        graph = Graph(F32, ["batch", 3, 16, 16])
        graph.node("ReduceMean", ["images"], "mean", axes=[2, 3], keepdims=0)
        if name == "ages-open":
            graph.node("MatMul", ["mean", graph.constant("weights", weights)], "product")
            graph.node("Mul", ["product", graph.constant("one", np.float32(1))], "fc")
        else:
            graph.node("MatMul", ["mean", graph.constant("weights", weights)], "fc")
        graph.output("fc", F32, ["batch", weights.shape[1]])
        graph.save(name, named if name == "people-named" else "")


def plates() -> None:
    """Recognisers of number plates that are no CTC with the blank first, of six characters A B C 1 2 and one that is none, the same
    for each picture: slots, `plate-slots`, read ABC112; a sequence with its end first and a text after it, `plate-sequence`,
    ABC112; CTC with its blank last and the steps last, `plate-lprnet`, AAB1; slots in one row, `plate-row`, ABC112. The surest character
    of each step has the logit 8."""
    image = '[input]\nresize = "stretch"\n'
    labels = image + '[output]\nlabels = ["A", "B", "C", "1", "2"]\n[classify]\n'
    for name, path, sidecar in [
        ("slots", [0, 1, 2, 3, 3, 4, 5, 5, 5], 'mode = "slots"\npad = 5\n'),
        ("sequence", [1, 2, 3, 4, 4, 5, 0, 2, 2], 'mode = "sequence"\neos = 0\n'),
        ("lprnet", [0, 0, 5, 0, 1, 1, 5, 3, 5], 'mode = "text"\nblank = 5\nlayout = "ct"\n'),
        ("row", [0, 1, 2, 3, 3, 4, 5, 5, 5], 'mode = "slots"\npad = 5\n'),
    ]:
        logits = np.zeros((len(path), 6), np.float32)
        logits[np.arange(len(path)), path] = 8
        graph = Graph(F32, ["batch", 3, 16, 16])
        laid = {"lprnet": logits.T, "row": logits.ravel()}.get(name, logits)
        constant_outputs(graph, {"plate": np.ascontiguousarray(laid)})
        graph.save(f"plate-{name}", labels + sidecar + 'activation = "softmax"\n')


def text() -> None:
    """A map of text that is the greatest of a pixel's colours, and a reader of stripes. Of each eight columns it reads R, G, B
    or a space (white), or nothing where they are black or gray: its logits follow from the mean colours, -1..1 as PP-OCR has
    them, b, g, r."""
    for name, sidecar in [("text-map", 'decoder = "db"\nlabels = ["text"]\n'), ("text-map-unnamed", "")]:
        graph = Graph(F32, ["batch", 3, "height", "width"])
        graph.node("ReduceMax", ["images"], "map", axes=[1], keepdims=1)
        graph.output("map", F32, ["batch", 1, "height", "width"])
        graph.save(name, "[input]\nwidth = 320\nheight = 192\n[output]\n" + sidecar)
    own = '[input]\nwidth = 320\nheight = 48\nchannels = "bgr"\nmean = [0.5]\nstd = [0.5]\nresize = "letterbox-top-left"\n'
    labels = {
        "reader": "",
        "reader-sidecar": own + 'padding = 128\n[output]\nlabels = ["blank", "R", "G", "B", " "]\n[classify]\nmode = "text"\n',
        "reader-few": own + '[output]\nlabels = ["R", "G"]\n[classify]\nmode = "text"\n',
        "reader-unnamed": own + '[classify]\nmode = "text"\n',
    }
    # Blank, R, G, B, space; from b, g, r.
    weights = np.array([[0, -2, -2, 4, 4], [0, -2, 4, -2, 4], [0, 4, -2, -2, 4]], np.float32)
    for name, sidecar in labels.items():
        graph = Graph(F32, ["batch", 3, 48, "width"])
        graph.node("AveragePool", ["images"], "mean", kernel_shape=[48, 8], strides=[48, 8])
        graph.node("Squeeze", ["mean", graph.constant("rows", np.array([2], np.int64))], "columns")
        graph.node("Transpose", ["columns"], "steps", perm=[0, 2, 1])
        graph.node("MatMul", ["steps", graph.constant("weights", weights)], "products")
        graph.node("Add", ["products", graph.constant("bias", np.array([2, 0, 0, 0, -4], np.float32))], "logits")
        graph.node("Softmax", ["logits"], "text", axis=2)
        graph.output("text", F32, ["batch", "steps", 5])
        graph.save(name, sidecar, {"character": "R\nG\nB"} if name == "reader" else None)
    # As recurrent layers of PyTorch have it: the steps first, then the only line.
    graph = Graph(F32, [1, 3, 48, 320])
    graph.node("AveragePool", ["images"], "mean", kernel_shape=[48, 8], strides=[48, 8])
    graph.node("Squeeze", ["mean", graph.constant("rows", np.array([2], np.int64))], "columns")
    graph.node("Transpose", ["columns"], "steps", perm=[2, 0, 1])
    graph.node("MatMul", ["steps", graph.constant("weights", weights)], "products")
    graph.node("Add", ["products", graph.constant("bias", np.array([2, 0, 0, 0, -4], np.float32))], "text")
    graph.output("text", F32, [40, 1, 5])
    graph.save("reader-steps-first", labels["reader-sidecar"])
