"""Detectors whose queries are the objects, and masks of these."""

from __future__ import annotations

import numpy as np

from cudainfer_tools.test_models.graph import F32, Graph
from cudainfer_tools.test_models.lists import LISTED, LISTED_CLASSES, LISTED_SCORES


def queries() -> None:
    """The same two objects, as the queries of transformers write them: two of four queries find one each."""
    input_size = 64
    corners = LISTED.astype(np.float32) / np.float32(input_size)
    centred = np.c_[(corners[:, :2] + corners[:, 2:]) / 2, corners[:, 2:] - corners[:, :2]]
    boxes = np.concatenate([centred, np.array([[0.5, 0.5, 1, 1], [0.25, 0.25, 0.5, 0.5]], np.float32)])[None]
    # Probabilities of a, b, c. Queries 2 and 3 find nothing.
    best = np.array([[0.5, 0.125, 0.125], [0.0625, 0.125, 0.75], [0.0625, 0.125, 0.125], [0.125, 0.0625, 0.125]], np.float32)
    # The first object is weakly a c as well.
    several = best + np.array([[0, 0, 0.25], [0, 0, 0], [0, 0, 0], [0, 0, 0]], np.float32)
    odds = np.log(several / (1 - several))[None]
    shares = np.log(np.c_[best, 1 - best.sum(axis=1)])[None] + np.float32(1)

    def save(name: str, outputs: dict[str, np.ndarray], sidecar: str = "", metadata: dict[str, str] | None = None) -> None:
        graph = Graph(F32, [1, 3, input_size, input_size])
        graph.nothing()
        for output, value in outputs.items():
            value = np.asarray(value, np.float32)
            graph.node("Add", [graph.constant(f"fixed_{output}", value), "nothing"], output)
            graph.output(output, F32, list(value.shape))
        graph.save(name, sidecar, metadata)

    stretch = '[input]\nresize = "stretch"\n'
    labels = stretch + '[output]\nlabels = ["a", "b", "c"]\n'
    save("queries-softmax", {"logits": shares, "pred_boxes": boxes}, labels)
    save("queries-sigmoid", {"logits": odds, "pred_boxes": boxes}, labels)
    # With a mask of the whole input for each query: logits that are pixels from column 20.8 on, and up from row 30.3 on.
    pixels = (np.arange(16, dtype=np.float32) + np.float32(0.5)) * 4
    maps = np.full((1, 4, 16, 16), -9, np.float32)
    maps[0, 0], maps[0, 1] = pixels[None, :] - np.float32(20.8), np.float32(30.3) - pixels[:, None]
    save("queries-masks", {"logits": shares, "pred_boxes": boxes, "pred_masks": maps}, labels)
    # A last column that is no class, and stronger than all others.
    nothing = np.full((1, 4, 1), 4.0, np.float32)
    save("queries-rfdetr", {"dets": boxes, "labels": np.concatenate([odds, nothing], axis=2)}, labels)
    # Nothing says what the scores are but a file beside it.
    save("queries-untold", {"logits": shares, "pred_boxes": boxes}, stretch)
    ultralytics = {"stride": "32", "task": "detect", "names": str(dict(enumerate("abc"))), "imgsz": "[64, 64]"}
    rows = np.concatenate([boxes, best[None]], axis=2)
    old = {"description": "Ultralytics rtdetr-l model", "version": "8.3.0", **ultralytics}
    save("queries-ultralytics", {"output0": rows}, metadata=old)
    ranked = np.c_[centred, LISTED_SCORES, LISTED_CLASSES][::-1][None]
    save("queries-ranked", {"output0": ranked}, metadata={"head": "RTDETRDecoder", "version": "8.4.190", **ultralytics})
