"""RF-DETR with random weights, exported and post-processed by rfdetr itself."""

from __future__ import annotations

import shutil
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import rfdetr
import torch
from rfdetr.models.postprocess import PostProcess

from cudainfer_tools.zoo.cases import object_masks
from cudainfer_tools.zoo.cases.case import Case, planes, resized, session, spread

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CONFIDENCE = 0.3


def queries(folder: Path, frames: np.ndarray, kind: str) -> None:
    """Boxes of the strongest pairs of query and class, and their masks where the model has any."""
    torch.manual_seed(2)
    model = getattr(rfdetr, kind)(pretrain_weights=None, num_classes=20, device="cpu")
    net, size = model.model.model.eval(), model.model.resolution
    frames = resized(frames, size, size)
    inputs = [planes(frame, mean=MEAN, std=STD) for frame in frames]
    some = torch.from_numpy(np.concatenate(inputs[::5]))
    scoring = [module for name, module in net.named_modules() if "class_embed" in name and isinstance(module, torch.nn.Linear)]
    spread(scoring, lambda: net(some), -0.85, 3.0, 1e-2)
    exported = model.export(output_dir=str(folder / "export"), verbose=False, shape=(size, size))
    shutil.move(next(Path(folder / "export").glob("*.onnx"), exported), folder / "model.onnx")
    run, finish = session(folder), PostProcess(num_select=model.model_config.num_select)
    names = {"dets": "pred_boxes", "labels": "pred_logits", "masks": "pred_masks"}
    has_masks = len(run.get_outputs()) > 2
    expected, masks, tied = [], [], []
    for image in inputs:
        wanted = list(names)[: 3 if has_masks else 2]
        values = run.run(wanted, {run.get_inputs()[0].name: image})
        outputs = {names[name]: torch.from_numpy(value) for name, value in zip(wanted, values, strict=True)}
        found = finish(outputs, torch.tensor([[size, size]]))[0]
        if has_masks:
            kept = found["scores"] > CONFIDENCE
            masks.append(found["masks"].reshape(-1, size, size)[kept].numpy())
            # The same of the numbers that it compares with 0.
            order = torch.argsort(outputs["pred_logits"].sigmoid().flatten(1), dim=1, descending=True, stable=True)[0]
            query = order // values[1].shape[2]
            fine = outputs["pred_masks"][:, query[: len(kept)][kept]]
            tied.append(object_masks.near(torch.nn.functional.interpolate(fine, (size, size), mode="bilinear")[0].numpy()))
        rows = zip(found["boxes"].clamp(0, size).tolist(), found["scores"].tolist(), found["labels"].tolist(), strict=True)
        expected.append([{"box": box, "score": score, "class": label} for box, score, label in rows if score > CONFIDENCE])
    elements = f"gpunms confidence={CONFIDENCE} top-k-after={model.model_config.num_select}"
    if has_masks:
        object_masks.write(folder, masks, tied)
    declared_by = "the modules in its graph"
    Case(
        f"rfdetr {version('rfdetr')}",
        elements + (" ! segmask upsample=true" if has_masks else ""),
        expected,
        declared_by=declared_by,
    ).write(folder, frames)


CASES = {"rf-detr-nano": partial(queries, kind="RFDETRNano"), "rf-detr-seg-nano": partial(queries, kind="RFDETRSegNano")}
