"""Detectors that suppress inside: lists of boxes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cudainfer_tools.test_models.graph import F32, I32, I64, RED_AND_BLUE, Graph, detector_tables, mean_scores

# Corners and class of two boxes in an input of 64x64, and their confidences.
LISTED = np.array([[30, 8, 60, 40], [4, 6, 20, 30]], np.float32)

LISTED_CLASSES, LISTED_SCORES = np.array([0, 2]), np.array([0.5, 0.75], np.float32)


def lists() -> None:
    """Final boxes in lists, as libraries write them; all find the same two objects."""
    labels = '[input]\nresize = "stretch"\n[output]\nlabels = ["a", "b", "c"]\n'

    def fixed(graph: Graph, name: str, value: npt.ArrayLike, kind: int = F32) -> None:
        """An output of these numbers, which depends on the image in name only."""
        values = np.asarray(value, np.float32)
        result = name if kind == F32 else f"{name}_float"
        graph.node("Add", [graph.constant(f"fixed_{name}", values), "nothing"], result)
        if kind != F32:
            graph.node("Cast", [result], name, to=kind)
        graph.output(name, kind, list(values.shape))

    def start() -> Graph:
        graph = Graph(F32, [1, 3, 64, 64])
        graph.nothing()
        return graph

    # torchvision: labels count from 1. Exported as its documentation does, it takes a list of images without a batch.
    for name, dims in [("lists-torchvision", [1, 3, 64, 64]), ("lists-unbatched", [3, 64, 64])]:
        graph = Graph(F32, dims)
        graph.nothing()
        fixed(graph, "boxes", LISTED)
        fixed(graph, "labels", LISTED_CLASSES + 1, I64)
        fixed(graph, "scores", LISTED_SCORES)
        graph.save(name, labels + 'background = "first"\n')

    # What only the names in the graph say: torchvision's detectors, and RF-DETR, whose queries are sure of the same objects.
    graph = start()
    fixed(graph, "boxes", LISTED)
    fixed(graph, "labels", LISTED_CLASSES + 1, I64)
    fixed(graph, "scores", LISTED_SCORES)
    graph.scoped(["transform", "backbone", "rpn", "roi_heads"])
    graph.save("says-torchvision", producer="pytorch")
    graph = start()
    corners = LISTED / np.float32(64)
    fixed(graph, "dets", [np.c_[(corners[:, :2] + corners[:, 2:]) / 2, corners[:, 2:] - corners[:, :2]]])
    logits = np.full((1, 2, 3), -5, np.float32)
    logits[0, [0, 1], LISTED_CLASSES] = [0, np.log(3)]
    fixed(graph, "labels", logits)
    graph.constant("one", np.float32(1))
    for i in range(2):
        graph.node("Mul", ["nothing", "one"], f"idle{i}")
    graph.scoped(["backbone", "transformer", "class_embed", "bbox_embed"])
    graph.save("says-rfdetr", producer="pytorch")
    graph = start()
    fixed(graph, "logits", [[0.0, 2.0, 1.0]])
    graph.constant("one", np.float32(1))
    for i in range(7):
        graph.node("Mul", ["nothing", "one"], f"idle{i}")
    graph.scoped(["conv1", "relu", "maxpool", "layer1", "layer2", "layer3", "layer4", "avgpool", "fc"])
    graph.save("says-resnet", producer="pytorch")

    # The same with a mask in each box, as Mask R-CNN writes them: growing to the right, and growing upwards. Between the two
    # is a box that is nothing.
    ramp = (np.arange(7, dtype=np.float32) + np.float32(0.5)) / np.float32(7)
    maps = np.ones((3, 1, 7, 7), np.float32)
    maps[0, 0], maps[2, 0] = ramp[None, :], 1 - ramp[:, None]
    graph = start()
    fixed(graph, "boxes", np.stack([LISTED[0], np.array([0, 0, 9, 9], np.float32), LISTED[1]]))
    fixed(graph, "labels", [1, 2, 3], I64)
    fixed(graph, "scores", [LISTED_SCORES[0], 0.125, LISTED_SCORES[1]])
    fixed(graph, "masks", maps)
    graph.save("lists-masks", labels + 'background = "first"\n')
    # And with two points of each box beside it.
    graph = start()
    fixed(graph, "boxes", np.stack([LISTED[0], np.array([0, 0, 9, 9], np.float32), LISTED[1]]))
    fixed(graph, "labels", [1, 2, 3], I64)
    fixed(graph, "scores", [LISTED_SCORES[0], 0.125, LISTED_SCORES[1]])
    fixed(graph, "masks", maps)
    fixed(graph, "keypoints", [[[32, 10, 1], [58, 38, 1]], [[0, 0, 0]] * 2, [[6, 8, 1], [18, 28, 1]]])
    graph.save("lists-posed-masks", labels + 'background = "first"\n[skeleton]\npoints = ["head", "tail"]\n')

    # RT-DETR and the like: boxes in the given size, width before height.
    graph = start()
    graph.input("orig_target_sizes", I64, [1, 2])
    graph.node("Cast", ["orig_target_sizes"], "size", to=F32)
    graph.node("Concat", ["size", "size"], "corners", axis=1)
    fixed(graph, "labels", [LISTED_CLASSES], I64)
    graph.node("Mul", [graph.constant("fractions", LISTED[None] / [np.float32(64)]), "corners"], "boxes")
    graph.output("boxes", F32, [1, 2, 4])
    fixed(graph, "scores", [LISTED_SCORES])
    graph.save("lists-rtdetr", labels)

    # MMDeploy, with a row of padding.
    graph = start()
    fixed(graph, "dets", [[*np.c_[LISTED, LISTED_SCORES], [0, 0, 0, 0, 0]]])
    fixed(graph, "labels", [[*LISTED_CLASSES, -1]], I64)
    graph.save("lists-mmdeploy", labels)

    # Keypoints beside the boxes: torchvision's Keypoint R-CNN, and RTMO as MMDeploy exports it, which has no labels.
    points = np.array([[[32, 10, 1], [58, 38, 1]], [[6, 8, 1], [18, 28, 1]]], np.float32)
    pose = '[input]\nresize = "stretch"\n[skeleton]\npoints = ["head", "tail"]\nedges = [["head", "tail"]]\n'
    graph = start()
    fixed(graph, "boxes", LISTED)
    fixed(graph, "labels", [1, 1], I64)
    fixed(graph, "scores", LISTED_SCORES)
    fixed(graph, "keypoints", points)
    fixed(graph, "keypoints_scores", [[7, 8], [9, 10]])
    graph.save("lists-keypoint-rcnn", pose + '[output]\nlabels = ["person"]\nbackground = "first"\n')
    graph = start()
    fixed(graph, "dets", [np.c_[LISTED, LISTED_SCORES]])
    fixed(graph, "keypoints", [points * np.array([1, 1, 0.5], np.float32)])
    graph.save("lists-rtmo", pose)

    # TensorFlow's Object Detection API.
    graph = start()
    fixed(graph, "detection_boxes", LISTED[None][..., [1, 0, 3, 2]] / np.float32(64))
    fixed(graph, "detection_classes", [LISTED_CLASSES + 1])
    fixed(graph, "detection_scores", [LISTED_SCORES])
    fixed(graph, "num_detections", [2])
    fixed(graph, "raw_detection_boxes", np.zeros((1, 9, 4)))
    graph.save("lists-tensorflow", labels)

    # EfficientNMS: the third row is left over.
    third = np.array([[0, 0, 64, 64]], np.float32)
    for name, count in [("lists-efficient", 2), ("lists-efficient-negative", -1)]:
        graph = start()
        fixed(graph, "num_dets", [[count]], I32)
        fixed(graph, "det_boxes", [np.concatenate([LISTED, third])])
        fixed(graph, "det_scores", [[*LISTED_SCORES, 0.9]])
        fixed(graph, "det_classes", [[*LISTED_CLASSES, 1]], I32)
        graph.save(name, labels)

    # An anchor that is of two classes.
    boxes, scores, colours = detector_tables()
    scores[1, 0] = 0.45
    graph = Graph(F32, [1, 3, 64, 64])
    mean_scores(graph, boxes, scores, colours)
    graph.output("detections", F32, [1, 6, 84])
    graph.save("two-labels", RED_AND_BLUE + "multi-label = true\n")

    # Two boxes that reach out of the picture, of which the same is left inside.
    graph = start()
    fixed(graph, "boxes", [[[-1, 0.25, 0.5, 0.75], [0, 0.25, 0.5, 0.75]]])
    fixed(graph, "scores", [[[0.75, 0.125], [0.5, 0.125]]])
    graph.save("beyond-frame", RED_AND_BLUE + "clip-before-nms = true\n")

    # PaddleDetection: boxes in pixels of a picture of this size, before it was scaled by these factors.
    rows = np.c_[LISTED_CLASSES, LISTED_SCORES, LISTED].astype(np.float32)
    graph = start()
    graph.input("im_shape", F32, [1, 2])
    graph.input("scale_factor", F32, [1, 2])
    graph.node("Div", ["im_shape", "scale_factor"], "origin")
    graph.node("Concat", [graph.constant("units", np.ones((1, 2), np.float32)), "origin", "origin"], "factors", axis=1)
    graph.node(
        "Mul", [graph.constant("rows", rows / np.array([1, 1, 64, 64, 64, 64], np.float32)), "factors"], "multiclass_nms3_0.tmp_0"
    )
    graph.output("multiclass_nms3_0.tmp_0", F32, [2, 6])
    fixed(graph, "multiclass_nms3_0.tmp_2", [2], I32)
    graph.save("lists-paddle", labels)
    graph = start()
    # Not two rows, as many as a pyramid of two levels has cells in so small an input.
    fixed(graph, "o", np.concatenate([rows, rows[:1]]))
    graph.save("rows-of-six", labels)

    # YOLOv7's end-to-end export, with as many rows as the picture is bright: one, two, or two and one of padding.
    graph = start()
    rows = np.c_[np.zeros(2), LISTED, LISTED_CLASSES, LISTED_SCORES].astype(np.float32)
    rows = np.concatenate([rows[1:], rows[:1], np.array([[0, 0, 0, 9, 9, -1, 0.9]], np.float32)])
    graph.node("Greater", ["mean_all", graph.constant("levels", np.array([-1, 0.25, 0.75], np.float32))], "which")
    graph.node("Compress", [graph.constant("rows", rows), "which"], "output", axis=0)
    graph.output("output", F32, ["found", 7])
    graph.save("lists-yolov7", labels + 'row-format = "batch-box-class-score"\n')
