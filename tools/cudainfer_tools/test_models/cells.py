"""Detectors whose boxes belong to cells, anchors or prior boxes."""

from __future__ import annotations

import numpy as np

from cudainfer_tools.test_models.graph import F32, RED_AND_BLUE, Graph, constant_outputs


def faces() -> None:
    """Face detectors with outputs for each of the strides 8, 16 and 32, at 64x64."""
    strides = {8: 64, 16: 16, 32: 4}
    points = np.array([-0.5, -0.5, 0.5, -0.5, 0, 0, -0.5, 1, 0.5, 1], np.float32)
    # Two anchors a cell: one sure face and a weaker one over it in the cell 3, 2 of stride 8, one in the cell 1, 1 of stride 32.
    kinds = [("score", 1), ("bbox", 4), ("kps", 10)]
    tables = {f"{kind}_{s}": np.zeros((2 * n, k), np.float32) for kind, k in kinds for s, n in strides.items()}
    cell = 2 * 8 + 3
    for anchor, score in [(0, 0.5), (1, 0.875)]:
        tables["score_8"][2 * cell + anchor] = score
        tables["bbox_8"][2 * cell + anchor] = [1, 1.5, 1, 2]
        tables["kps_8"][2 * cell + anchor] = points
    tables["score_32"][2 * 3], tables["bbox_32"][2 * 3] = 0.75, 0.5
    graph = Graph(F32, ["batch", 3, 64, 64])
    constant_outputs(graph, tables)
    graph.save("scrfd", '[input]\nresize = "stretch"\n')

    kinds = [("cls", 1), ("obj", 1), ("bbox", 4), ("kps", 10)]
    tables = {f"{kind}_{s}": np.zeros((n, k), np.float32) for kind, k in kinds for s, n in strides.items()}
    cell = 4 + 2
    tables["cls_16"][cell], tables["obj_16"][cell], tables["bbox_16"][cell] = 0.25, 1.5, [0.5, 0.5, 0, 0]
    tables["kps_16"][cell] = [0, 0, 1, 0, 0.5, 0.5, 0, 1, 1, 1]
    graph = Graph(F32, ["batch", 3, 64, 64])
    constant_outputs(graph, tables)
    graph.save("yunet", '[input]\nresize = "stretch"\n[output]\nlabels = ["Gesicht"]\n')


def priors() -> None:
    """Boxes as offsets from prior boxes, at 64x64; two prior boxes in each cell of the strides 8, 16 and 32."""
    loc, conf, landms = np.zeros((168, 4), np.float32), np.zeros((168, 2), np.float32), np.zeros((168, 10), np.float32)
    anchor = 2 * (8 + 2) + 1
    conf[:, 0], conf[anchor] = 1, [0.25, 0.75]
    loc[anchor, :2] = 2.5
    landms[anchor] = [0, -1.875, 5, -1.875, 0, 3.125, 5, 3.125, 2.5, 0.625]
    graph = Graph(F32, ["batch", 3, 64, 64])
    constant_outputs(graph, {"loc": loc, "conf": conf, "landms": landms})
    graph.save("retinaface", '[input]\nresize = "stretch"\n')

    # MediaPipe's palms: two anchors in each cell of stride 8, six in those of 16.
    raw, scores = np.zeros((224, 18), np.float32), np.full((224, 1), -20, np.float32)
    palm = 128 + 6 * (4 + 2) + 5
    raw[palm, :4], raw[palm, 4:] = [2, -3, 20, 10], [0, 8, *[1, 2] * 5, 0, -8]
    # The same cell's first anchor has the same palm, less surely.
    raw[palm - 5], scores[palm - 5], scores[palm] = raw[palm], 1, 2
    graph = Graph(F32, ["batch", 3, 64, 64])
    constant_outputs(graph, {"regressors": raw, "classificators": scores})
    graph.save("palms", '[input]\nresize = "stretch"\n')

    # Three prior boxes in each of four cells; logits with a background of its own.
    loc, conf = np.zeros((12, 4), np.float32), np.zeros((12, 3), np.float32)
    conf[:, 0], conf[3 * 3 + 1] = 20, [0, 0, 20]
    graph = Graph(F32, ["batch", 3, 64, 64])
    constant_outputs(graph, {"loc": loc, "conf": conf})
    sidecar = '[output]\ndecoder = "ssd"\nstrides = [32]\nactivation = "softmax"\nlabels = ["dog", "cat"]\n'
    graph.save("ssd", sidecar + "[priors]\nmin-sizes = [[16]]\naspect-ratios = [[4]]\n")


def anchors() -> None:
    """Raw heads for the strides 8, 16 and 32 at 64x64: three anchors a cell, two classes, in the forms of YOLOv4 and of YOLOv5. Two
    objects: anchor 1 of the cell 2, 3 of stride 8, and anchor 0 of the cell 1, 0 of stride 32."""
    sizes = "[[8, 8, 16, 32, 8, 8], [8, 8, 8, 8, 8, 8], [20, 24, 8, 8, 8, 8]]"
    heads: dict[int, np.ndarray] = {}
    for stride in [8, 16, 32]:
        head = np.full((3, 64 // stride, 64 // stride, 7), -20, np.float32)
        head[..., :4] = 0
        heads[stride] = head
    # Logits: 20 is surely 1, 0 is a half.
    heads[8][1, 3, 2, 4:] = [20, -20, 0]
    heads[32][0, 0, 1, 4:] = [20, 20, -20]
    words = RED_AND_BLUE + f"[anchors]\nsizes = {sizes}\n"
    planes: dict[int, np.ndarray] = {}
    for stride, head in heads.items():
        planes[stride] = head.transpose(0, 3, 1, 2).reshape(21, *head.shape[1:3])
    for name, tables, given in [
        ("anchors-planes", planes, True),
        ("anchors-rows", heads, True),
        ("anchors-untold", heads, False),
    ]:
        graph = Graph(F32, ["batch", 3, 64, 64])
        # The largest stride first, as Darknet has it.
        constant_outputs(graph, {f"head_{stride}": tables[stride] for stride in [32, 16, 8]})
        formula = "yolov3" if name == "anchors-planes" else "yolov5"
        graph.save(name, words + f'formula = "{formula}"\n' if given else RED_AND_BLUE)


# Class, left, top, right, bottom in tensor pixels, and the strongest coverage. The face is on the first person, the second person
# reaches beyond the frame, and the bag is in front of the first person.
COVERED = [
    (0, [34.25, 12.5, 81, 86.75], 0.875),
    (2, [44.5, 14, 68.25, 36], 0.75),
    (0, [108, 30.5, 171.5, 84], 0.625),
    (1, [40, 50.25, 90, 83], 0.5625),
]


def coverage() -> None:
    """DetectNet_v2 as TAO exports it, of the classes person, bag and face at 160x96. The cells in the middle of an object cover it,
    the nearer the stronger; each has the object's box with an error of its own, so that one is left by suppression. Boxes where
    nothing is covered would be seen: they are as large as the frame."""
    rows, columns, stride = 6, 10, 16
    covered = np.zeros((3, rows, columns), np.float32)
    boxes = np.full((12, rows, columns), 1.5, np.float32)
    for label, sides, peak in COVERED:
        for row, column in np.ndindex(rows, columns):
            x, y = column * stride + 0.5, row * stride + 0.5
            across, along = [
                abs(2 * at - low - high) / (high - low) for at, low, high in [(x, sides[0], sides[2]), (y, sides[1], sides[3])]
            ]
            if max(across, along) > 0.75:
                continue
            covered[label, row, column] = peak * (1 - 0.25 * max(across, along))
            distances = np.array([x - sides[0], y - sides[1], sides[2] - x, sides[3] - y])
            error = (np.arange(4) * 5 + row * 7 + column * 3) % 11 - 5
            boxes[4 * label : 4 * label + 4, row, column] = (distances + error * 0.125) / 35
    graph = Graph(F32, ["batch", 3, rows * stride, columns * stride], image="input_1:0")
    constant_outputs(graph, {"output_bbox/BiasAdd:0": boxes, "output_cov/Sigmoid:0": covered}, image="input_1:0")
    graph.save("coverage", '[output]\nlabels = ["person", "bag", "face"]\n')


def region_head() -> None:
    """A network that ends as YOLOv2 does, for the decoders of examples/decoder: 5 anchors on a grid of 2x2 cells of 32 pixels,
    channels of an anchor tx, ty, tw, th, to and 20 classes. A person in the upper right cell is as sure as the picture is red, a
    car in the lower left cell as it is blue. The person is there twice, of anchors 0 and 1, and the car goes beyond the picture."""
    names = (
        "aeroplane bicycle bird boat bottle bus car cat chair cow diningtable dog horse motorbike person pottedplant sheep sofa "
        "train tvmonitor"
    ).split()
    fixed = np.zeros((5, 25, 2, 2), np.float32)
    fixed[:, 4] = -8
    colours = np.zeros((3, 5, 25, 2, 2), np.float32)
    for anchor, (y, x), box, objectness, colour, label in [
        (0, (0, 1), [0.5, 0.5, -0.5, -0.4], -4, 0, "person"),
        (1, (0, 1), [0.4, 0.4, -1.65, -1.7], -5, 0, "person"),
        (2, (1, 0), [-1, 1, -1.5, -2.5], -4, 2, "car"),
    ]:
        fixed[anchor, :4, y, x] = box
        fixed[anchor, 4, y, x] = objectness
        fixed[anchor, 5 + names.index(label), y, x] = 6
        colours[colour, anchor, 4, y, x] = 8
    graph = Graph(F32, ["batch", 3, 64, 64], "image")
    graph.node("ReduceMean", ["image"], "colour", axes=[2, 3], keepdims=1)
    graph.constant("column", np.array([-1, 3, 1, 1, 1], np.int64))
    graph.node("Reshape", ["colour", "column"], "columns")
    graph.node("Mul", ["columns", graph.constant("weights", colours.reshape(3, 125, 2, 2))], "weighted")
    graph.node("ReduceSum", ["weighted", graph.constant("over", np.array([1], np.int64))], "summed", keepdims=0)
    graph.node("Add", ["summed", graph.constant("fixed", fixed.reshape(125, 2, 2))], "grid")
    graph.output("grid", F32, ["batch", 125, 2, 2])
    sidecar = f'[input]\nresize = "stretch"\n[output]\nlabels = {names}\nconfidence = 0.3\n'
    graph.save("yolov2", sidecar.replace("'", '"'))
