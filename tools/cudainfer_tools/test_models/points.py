"""Networks that find points: heat maps, coordinates, and groups of them."""

from __future__ import annotations

import itertools

import numpy as np

from cudainfer_tools.test_models.graph import F32, I32, U8, Graph

SKELETON = '[skeleton]\npoints = ["left", "right", "foot"]\nedges = [["left", "right"], ["right", "foot"]]\n'

# Where the heat-maps' peaks are, in cells (0 is the first cell's centre): channel, x, y.
PEAKS = [(0, 7.25, 11.5), (1, 20.0, 4.75)]


def heat_maps() -> None:
    """Two channels of 24x32 cells (height, width) for a 96x128 input, a peak in each; parabolas, which quadratic
    refinement finds exactly, and the same with NaN and infinity in two cells away from the peaks."""
    y, x = np.mgrid[0:24, 0:32].astype(np.float32)
    maps = np.zeros((1, 2, 24, 32), np.float32)
    for channel, px, py in PEAKS:
        maps[0, channel] = np.maximum(0, 0.9 - 0.02 * (x - px) ** 2 - 0.03 * (y - py) ** 2)
    sidecar = '[output]\nlabels = ["nose", "tail"]\n'
    for name, bad in [("heat-maps", False), ("heat-maps-not-finite", True)]:
        graph = Graph(F32, [1, 3, 96, 128])
        values = maps.copy()
        if bad:
            values[0, 0, 20, 20], values[0, 1, 20, 20] = np.nan, np.inf
        graph.node("Add", [graph.constant("maps", values), graph.nothing()], "heat")
        graph.output("heat", F32, [1, 2, 24, 32])
        graph.save(name, sidecar)
    # For several frames a run, and with the detector's input.
    for name, size in [("heat-maps-batch", [96, 128]), ("heat-maps-64", [64, 64])]:
        graph = Graph(F32, ["batch", 3, *size])
        graph.node("ReduceMean", ["images"], "mean", axes=[1, 2, 3], keepdims=1)
        graph.node("Mul", ["mean", graph.constant("zero", np.float32(0))], "zeros")
        graph.node("Add", ["zeros", graph.constant("maps", maps)], "heat")
        graph.output("heat", F32, ["batch", 2, 24, 32])
        graph.save(name, sidecar)


# Points of two animals that cross, in input pixels: head, thorax, tail. The second one has no tail.
ANIMALS: list[list[tuple[int, int] | None]] = [[(8, 8), (28, 28), (48, 48)], [(8, 48), (28, 20), None]]


def groups() -> None:
    """What says which points belong together, for a 64x64 input. Fields: SLEAP's, of head-thorax and thorax-tail, on
    every fourth pixel, maps on every second. Displacements: PoseNet's, from head to tail, on 5x5 cells of 65 pixels."""
    maps = np.zeros((1, 3, 32, 32), np.float32)
    fields = np.zeros((1, 4, 16, 16), np.float32)
    y, x = 4 * np.mgrid[0:16, 0:16].astype(np.float32)
    for animal in ANIMALS:
        for point, at in enumerate(animal):
            if at is not None:
                maps[0, point, at[1] // 2, at[0] // 2] = 0.9
        for edge, (a, b) in enumerate(itertools.pairwise(animal)):
            if a is None or b is None:
                continue
            way = np.array(b, np.float32) - a
            unit = way / np.linalg.norm(way)
            near = (np.abs((x - a[0]) * unit[1] - (y - a[1]) * unit[0]) <= 5) & (
                np.abs((x - a[0]) * unit[0] + (y - a[1]) * unit[1] - np.linalg.norm(way) / 2) <= np.linalg.norm(way) / 2 + 2
            )
            fields[0, 2 * edge : 2 * edge + 2] += unit[:, None, None] * near
    skeleton = '[skeleton]\npoints = ["head", "thorax", "tail"]\nedges = [["head", "thorax"], ["thorax", "tail"]]\n'
    peaks = '[peaks]\noutput = "maps"\ngrouping = "paf"\ngrid = "strided"\nmax-length = 1.0\nrefinement = "none"\n'
    for name, bad in [("bottom-up", False), ("bottom-up-not-finite", True)]:
        graph = Graph(F32, [1, 3, 64, 64])
        nothing = graph.nothing()
        broken = fields.copy()
        if bad:
            broken[:] = np.nan
        graph.node("Add", [graph.constant("some-maps", maps), nothing], "maps")
        graph.node("Add", [graph.constant("some-fields", broken), nothing], "pafs")
        graph.output("maps", F32, [1, 3, 32, 32])
        graph.output("pafs", F32, [1, 4, 16, 16])
        graph.save(name, skeleton + peaks)
    graph = Graph(F32, [1, 3, 65, 65])
    nothing = graph.nothing()
    heat = np.full((1, 5, 5, 2), -4, np.float32)
    heat[0, 1, 1, 0], heat[0, 3, 3, 1] = 3, 2
    offset = np.zeros((1, 5, 5, 4), np.float32)
    offset[0, 1, 1, [0, 2]] = 3, -2  # y and x of the head
    offset[0, 3, 3, [1, 3]] = -1, 4
    forward = np.full((1, 5, 5, 2), 30, np.float32)
    for name, values in [("heatmap", heat), ("offset", offset), ("displacement_fwd", forward), ("displacement_bwd", -forward)]:
        graph.node("Add", [graph.constant(f"some-{name}", values), nothing], name)
        graph.output(name, F32, list(values.shape))
    graph.save(
        "displacements",
        '[skeleton]\npoints = ["head", "tail"]\nedges = [["head", "tail"]]\n'
        '[peaks]\ngrouping = "displacements"\nactivation = "sigmoid"\nlayout = "nhwc"\ngrid = "corners"\nlabel = "worm"\n',
    )


def interest() -> None:
    """SuperPoint's outputs for a 64x64 input, with points at 20, 12 and 50, 40; a weaker one two pixels from the first, and one at the
    edge."""
    logits = np.zeros((1, 65, 8, 8), np.float32)
    logits[0, 64] = 8
    for x, y, logit in [(20, 12, 10), (22, 13, 9), (50, 40, 8), (1, 30, 12)]:
        logits[0, y % 8 * 8 + x % 8, y // 8, x // 8] = logit
    graph = Graph(F32, [1, 3, 64, 64])
    nothing = graph.nothing()
    for name, values in [("semi", logits), ("desc", np.ones((1, 256, 8, 8), np.float32))]:
        graph.node("Add", [graph.constant(f"some-{name}", values), nothing], name)
        graph.output(name, F32, list(values.shape))
    graph.save("superpoint")


def lanes() -> None:
    """Lanes as Ultra-Fast-Lane-Detection gives them for TuSimple in both versions, and as CLRNet does; and those of a network of the
    first version with rows that nobody knows."""
    cells = np.zeros((1, 101, 56, 4), np.float32)
    cells[:, 100] = 5
    # The second lane leans to the left, and is not seen on one row; the third one has three points, the last one two.
    for row in range(10, 56):
        cells[0, 80 - row, row, 1] = 0 if row == 30 else 40
    cells[0, 40, 53:, 2] = cells[0, 90, 54:, 3] = 40
    few = np.zeros((1, 11, 3, 2), np.float32)
    few[0, 4] = 40
    rows, columns = np.zeros((1, 100, 56, 4), np.float32), np.zeros((1, 100, 41, 4), np.float32)
    on_rows, on_columns = np.zeros((1, 2, 56, 4), np.float32), np.zeros((1, 2, 41, 4), np.float32)
    # Between two cells; the third lane is on half of the rows, which is too little.
    rows[0, 30:32, :, 1] = 40
    on_rows[0, 1, 20:, 1], on_rows[0, 1, 28:, 2] = 2, 2
    for column in range(15):
        columns[0, 80 - column, column, 0] = 40
        on_columns[0, 1, column, 0] = 3
    lines = np.zeros((1, 192, 78), np.float32)
    lines[..., 0] = 5
    # The second one is 16 pixels from the first, and the third one goes on to the bottom, where it does not begin.
    for line, (sure, start, length, x) in enumerate([(3, 0, 1, 0.25), (2, 0, 1, 0.27), (1, 10 / 71, 20 / 71, 0.75)], 5):
        lines[0, line, :6] = [0, sure, start, x, 0.5, length]
        lines[0, line, 6:] = x
    networks: list[tuple[str, int, dict[str, np.ndarray]]] = [
        ("lanes-cells", 288, {"lanes": cells}),
        ("lanes-few", 288, {"lanes": few}),
        ("lanes-anchors", 320, {"loc_row": rows, "loc_col": columns, "exist_row": on_rows, "exist_col": on_columns}),
        ("lanes-lines", 320, {"lines": lines}),
    ]
    for name, height, outputs in networks:
        graph = Graph(F32, [1, 3, height, 800])
        nothing = graph.nothing()
        for output, values in outputs.items():
            graph.node("Add", [graph.constant(f"some-{output}", values), nothing], output)
            graph.output(output, F32, list(values.shape))
        graph.save(name, '[input]\nresize = "stretch"\n')


def tags() -> None:
    """The animals of a 64x64 input as HigherHRNet gives them: maps and tags of 4x4 pixels, and maps of 2x2. The second one's tail is
    too weak for a peak."""
    maps, fine = np.zeros((1, 6, 16, 16), np.float32), np.zeros((1, 3, 32, 32), np.float32)
    maps[0, 3:] = 50
    for tag, animal in zip([1, 4], ANIMALS, strict=True):
        for point, at in enumerate(animal):
            x, y = np.array(at or (52, 8)) // 4
            maps[0, 3 + point, y - 1 : y + 2, x - 1 : x + 2] = tag
            if at is None:
                fine[0, point, 2 * y, 2 * x] = 0.1
            else:
                # The mean of 9/16 of it and of the fine map is 0.9.
                maps[0, point, y, x], fine[0, point, 2 * y, 2 * x] = 0.8, 1.35
    graph = Graph(F32, [1, 3, 64, 64])
    nothing = graph.nothing()
    for name, values in [("maps", maps), ("fine", fine)]:
        graph.node("Add", [graph.constant(f"some-{name}", values), nothing], name)
        graph.output(name, F32, list(values.shape))
    skeleton = '[skeleton]\npoints = ["head", "thorax", "tail"]\nedges = [["head", "thorax"], ["thorax", "tail"]]\n'
    graph.save("tags", skeleton + '[peaks]\ngrouping = "tags"\nlabel = "mouse"\n')


def dots() -> None:
    """Three confidence maps that are the picture's red, green and blue, for several frames a run."""
    graph = Graph(F32, ["batch", 3, 64, 64])
    graph.node("Identity", ["images"], "maps")
    graph.output("maps", F32, ["batch", 3, 64, 64])
    graph.save("dots", "")


def mediapipe() -> None:
    """Points in the forms in which MediaPipe's networks and regression heads give them, for an input of 64x96 (width, height):
    21 points x, y, z of a hand in pixels, with its presence; landmarks of -1 to 1; two objects' points with scores."""
    i = np.arange(21, dtype=np.float32)
    hand = np.stack([i, 2 * i, -i], axis=1)
    flags = {"presence": np.array([[0.875]], np.float32), "handedness": np.array([[0.25]], np.float32)}
    of_hand = '[peaks]\nencoding = "points"\noutput = "landmarks"\npose-scores = "presence"\n'
    xyz = 'point-format = "xyz"\nnormalized = false\n'
    # The first row is left of the input and above it, the second right and below.
    face = np.array([[-0.5, -0.75]] * 10 + [[0.5, 0.5]] * 6, np.float32)
    people = np.array([[[0.25, 0.5, 0.5], [0.5, 0.5, 0.75]], [[0.75, 0.25, 1], [0, 0, 0.125]]], np.float32)
    skeleton = '[skeleton]\npoints = ["nose", "tail"]\n'
    # As P2PNet: three points in pixels, with logits of nothing and of a head.
    heads = {"pred_points": np.array([[[8, 4], [16, 48], [32, 72]]], np.float32)}
    heads["pred_logits"] = np.array([[[0, 2], [2, 0], [1, 1.5]]], np.float32)
    crowd = '[peaks]\nencoding = "poses"\noutput = "pred_points"\npose-scores = "pred_logits"\npose-activation = "softmax"\n'
    crowd += 'point-format = "xy"\nnormalized = false\ngrouping = "each"\nmin-score = 0.5\n[skeleton]\npoints = ["head"]\n'
    for name, outputs, sidecar in [
        ("hand", {"landmarks": hand.reshape(1, 63), **flags}, of_hand + xyz),
        ("hand-rows", {"landmarks": hand[None]}, "[peaks]\nnormalized = false\n"),
        ("landmarks", {"face": face.reshape(1, 32)}, '[peaks]\npoint-format = "xy"\ncoordinate-range = [-1, 1]\n'),
        ("people-scored", {"people": people[None]}, skeleton),
        ("crowd", heads, crowd),
    ]:
        graph = Graph(F32, [1, 3, 96, 64])
        nothing = graph.nothing()
        for output, values in outputs.items():
            graph.node("Add", [graph.constant(f"some-{output}", values), nothing], output)
            graph.output(output, F32, list(values.shape))
        graph.save(name, '[input]\nresize = "stretch"\n' + sidecar)


def simcc_scores(cells: int, maxima: list[tuple[int, float]]) -> np.ndarray:
    """A vector of low scores a point, with the given cell and score of its maximum."""
    scores = np.full((1, len(maxima), cells), 0.02, np.float32)
    for point, (cell, score) in enumerate(maxima):
        scores[0, point, cell] = score
    return scores


def gaussian(dx: np.ndarray, dy: np.ndarray) -> np.ndarray:
    """A hill that is 1 where both are 0; its sigma is 2."""
    return np.exp(-(dx**2 + dy**2) / 8)


def keypoints() -> None:
    """Networks that give keypoints without confidence maps: SimCC of two points for a 64x96 input (width, height), two
    cells a pixel; MoveNet's coordinates, whose scores are the picture's mean red, green and blue; coordinates in pixels."""
    along_x = simcc_scores(128, [(40, 0.9), (101, 0.6)])
    along_y = simcc_scores(192, [(100, 0.7), (31, 0.8)])
    third = simcc_scores(192, [(100, 0.7), (31, 0.8), (0, 0.5)])
    sidecar = '[input]\nresize = "stretch"\n[skeleton]\npoints = ["nose", "tail"]\nedges = [[0, 1]]\n'
    named = {"simcc_x": along_x, "simcc_y": along_y}
    square = {"first": simcc_scores(128, [(40, 0.9), (101, 0.6)]), "second": simcc_scores(128, [(20, 0.9), (31, 0.6)])}
    for name, outputs, height in [
        ("simcc", named, 96),
        ("simcc-unnamed", {"b": along_y, "a": along_x}, 96),
        ("simcc-square", square, 64),
        ("simcc-differ", {"simcc_x": along_x, "simcc_y": third}, 96),
        ("simcc-uneven", {"simcc_x": along_x, "simcc_y": simcc_scores(200, [(1, 0.7), (2, 0.8)])}, 96),
        ("simcc-three", {"simcc_x": simcc_scores(128, [(1, 0.9)] * 3), "simcc_y": third}, 96),
    ]:
        graph = Graph(F32, ["batch", 3, height, 64])
        graph.node("ReduceMean", ["images"], "mean", axes=[1, 2, 3], keepdims=0)
        graph.node("Mul", ["mean", graph.constant("zero", np.float32(0))], "flat")
        graph.node("Reshape", ["flat", graph.constant("shape", np.array([-1, 1, 1], np.int64))], "zeros")
        for output, values in outputs.items():
            graph.node("Add", ["zeros", graph.constant(f"some-{output}", values)], output)
            graph.output(output, F32, ["batch", *values.shape[1:]])
        graph.save(name, sidecar)
    # y, x and a score that is the mean of a channel, 0..1. Pixel values must arrive as they are.
    points = np.array([[0.25, 0.5, 0], [0.125, 0.75, 0], [1, 0, 0]], np.float32)
    person = [0.5, 0.25, 0.9, 0.75, 0.5, 0.1, 0.25, 0.125, 1, 0.625]
    people = np.array([person + [0.8], person + [0.1], [*(0.5 * np.array(person)), 0.9]], np.float32)
    stretch = '[input]\nresize = "stretch"\n'
    for suffix, kind in [("", I32), ("-uint8", U8)]:
        graph = Graph(kind, [1, 96, 64, 3], "input")
        graph.node("Cast", ["input"], "pixels", to=F32)
        graph.node("ReduceMean", ["pixels"], "mean", axes=[0, 1, 2], keepdims=0)
        graph.node("Div", ["mean", graph.constant("most", np.float32(255))], "scores")
        graph.node("Reshape", ["scores", graph.constant("shape", np.array([1, 1, 3, 1], np.int64))], "column")
        graph.node("Mul", ["column", graph.constant("last", np.array([0, 0, 1], np.float32))], "columns")
        graph.node("Add", ["columns", graph.constant("points", points[None, None])], "output_0")
        graph.output("output_0", F32, [1, 1, 3, 3])
        graph.save("movenet" + suffix, stretch)
    skeleton = '[skeleton]\npoints = ["nose", "tail"]\n'
    for name, values, more in [
        ("movenet-people", people[None], '[peaks]\nlabel = "person"\n' + skeleton),
        ("movenet-people-17", np.zeros((1, 6, 56), np.float32), ""),
        ("regressed", np.array([[[16, 24], [48, 12]]], np.float32), "[peaks]\nnormalized = false\n"),
    ]:
        graph = Graph(F32, [1, 3, 96, 64])
        graph.node("Add", [graph.constant("some", values), graph.nothing()], "output_0")
        graph.output("output_0", F32, list(values.shape))
        graph.save(name, stretch + more)
    mediapipe()
    dots()
    # Two of the maps of tools/cudainfer_tools/reference/refinement.py, for an input of 192x256.
    y, x = np.mgrid[0:64, 0:48].astype(np.float64)
    maps = np.zeros((1, 2, 64, 48), np.float32)
    for channel, (px, py, neighbour) in enumerate([(20.3, 31.7, 0.3), (10.5, 40.25, 0.6)]):
        values = 0.8 * gaussian(x - px, y - py) + neighbour * gaussian(x - px - 4, y - py + 3)
        maps[0, channel] = values + 0.01 * np.sin(1.7 * x + 0.9 * y)
    graph = Graph(F32, [1, 3, 256, 192])
    graph.node("Add", [graph.constant("maps", maps), graph.nothing()], "heat")
    graph.output("heat", F32, [1, 2, 64, 48])
    graph.save("heat-maps-udp", stretch + '[peaks]\nmode = "global"\nrefinement = "dark-udp"\ngrid = "udp"\n')
