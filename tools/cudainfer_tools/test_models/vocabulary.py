"""Detectors whose classes are an input, and inputs whose values are in files."""

from __future__ import annotations

import numpy as np

from cudainfer_tools.test_models.graph import F32, FOLDER, Graph, detector_tables

# Of each class, how much a mean colour adds to its score.
RED_AND_BLUE = np.array([[[1, 0, 0], [0, 0, 0.5]]], np.float32)


def vocabulary() -> None:
    """An open-vocabulary detector: `txt_feats` [1, N, 3] has a row for each class."""
    np.savez(FOLDER / "vocabulary.npz", txt_feats=RED_AND_BLUE)
    np.save(FOLDER / "vocabulary-blue.npy", RED_AND_BLUE[:, ::-1] * np.array([0, 0, 2], np.float32))
    np.savez(FOLDER / "vocabulary-several.npz", one=RED_AND_BLUE, two=RED_AND_BLUE)
    np.savez_compressed(FOLDER / "vocabulary-compressed.npz", txt_feats=RED_AND_BLUE)
    np.save(FOLDER / "vocabulary-double.npy", RED_AND_BLUE.astype(np.float64))
    np.save(FOLDER / "vocabulary-half.npy", RED_AND_BLUE.astype(np.float16))
    np.save(FOLDER / "vocabulary-wide.npy", np.zeros((1, 2, 4), np.float32))
    whole = (FOLDER / "vocabulary.npz").read_bytes()
    # The header of the array says a hundred million rows; the one of the archive is left as it was.
    (FOLDER / "vocabulary-lies.npz").write_bytes(whole.replace(b"(1, 2, 3), }        ", b"(100000000, 2, 3), }"))
    for name, value in [
        ("vocabulary", '{ file = "vocabulary.npz" }'),
        ("vocabulary-of-several", '{ file = "vocabulary-several.npz", array = "two" }'),
        ("vocabulary-filled", "{ fill = 0.5, shape = [1, 2, 3] }"),
        ("vocabulary-filled-alone", "{ fill = 1 }"),
    ]:
        graph = Graph(F32, ["batch", 3, 64, 64])
        graph.input("txt_feats", F32, [1, "classes", 3])
        boxes, _, _ = detector_tables()
        graph.node("ReduceMean", ["images"], "colours", axes=[2, 3], keepdims=0)
        graph.node("Unsqueeze", ["colours", graph.constant("last", np.array([2], np.int64))], "colour_columns")
        graph.node("MatMul", ["txt_feats", "colour_columns"], "of_classes")
        first = np.zeros((1, 1, 84), np.float32)
        first[..., 0] = 1
        graph.node("Mul", ["of_classes", graph.constant("first", first)], "scores")
        graph.node("ReduceMean", ["images"], "mean", axes=[1, 2, 3], keepdims=1)
        graph.node("Squeeze", ["mean", graph.constant("third", np.array([3], np.int64))], "means")
        graph.node("Mul", ["means", graph.constant("none", np.float32(0))], "zeros")
        graph.node("Add", ["zeros", graph.constant("boxes", boxes)], "all_boxes")
        graph.node("Concat", ["all_boxes", "scores"], "detections", axis=1)
        graph.output("detections", F32, ["batch", "rows", 84])
        graph.save(
            name,
            '[input]\nresize = "stretch"\n[output]\ndecoder = "yolov8"\nlabels = ["red", "blue"]\nconfidence = 0.4\n'
            f"[constants]\ntxt_feats = {value}\n",
        )
