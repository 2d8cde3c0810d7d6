"""SAM with random weights: the decoder as segment_anything exports it, and masks as its predictor makes them of boxes."""

from __future__ import annotations

from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from segment_anything import SamPredictor
from segment_anything.modeling import ImageEncoderViT, MaskDecoder, PromptEncoder, Sam, TwoWayTransformer
from segment_anything.utils.onnx import SamOnnxModel

from cudainfer_tools.zoo.cases import object_masks
from cudainfer_tools.zoo.cases.case import Case, resized

# Of the encoder's input, and the pixels of one of its cells.
SIZE, PATCH = 256, 16
MEAN, STD = [123.675, 116.28, 103.53], [58.395, 57.12, 57.375]
# Corners, score and class, as a detector would find them in every frame.
ROWS = np.array(
    [[20, 30, 120, 200, 0.9, 0], [100.5, 60.25, 240, 150, 0.8, 1], [5, 140, 90, 250, 0.7, 2], [150, 150, 255, 255, 0.6, 3]],
    np.float32,
)


def small_sam() -> Sam:
    """A SAM of few and narrow layers."""
    torch.manual_seed(3)
    encoder = ImageEncoderViT(
        img_size=SIZE,
        patch_size=PATCH,
        embed_dim=64,
        depth=2,
        num_heads=2,
        out_chans=256,
        norm_layer=partial(torch.nn.LayerNorm, eps=1e-6),
        use_rel_pos=True,
        window_size=7,
        global_attn_indexes=(1,),
    )
    cells = SIZE // PATCH
    prompts = PromptEncoder(embed_dim=256, image_embedding_size=(cells, cells), input_image_size=(SIZE, SIZE), mask_in_chans=16)
    transformer = TwoWayTransformer(depth=2, embedding_dim=256, mlp_dim=256, num_heads=8)
    decoder = MaskDecoder(transformer_dim=256, transformer=transformer, num_multimask_outputs=3)
    return Sam(encoder, prompts, decoder, MEAN, STD).eval()


def detector(file: Path) -> None:
    """Writes a model that finds the same boxes in every frame."""
    values = [numpy_helper.from_array(ROWS[None], "rows"), numpy_helper.from_array(np.array(0, np.float32), "zero")]
    nodes = [
        helper.make_node("ReduceMean", ["images"], ["mean"], keepdims=0),
        helper.make_node("Mul", ["mean", "zero"], ["nothing"]),
        helper.make_node("Add", ["rows", "nothing"], ["detections"]),
    ]
    images = helper.make_tensor_value_info("images", TensorProto.FLOAT, [1, 3, SIZE, SIZE])
    found = helper.make_tensor_value_info("detections", TensorProto.FLOAT, [1, *ROWS.shape])
    graph = helper.make_graph(nodes, "boxes", [images], [found], values)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), file)


def export(model: Sam, folder: Path) -> None:
    """The encoder, and the decoder as scripts/export_onnx_model.py of segment_anything writes it."""
    torch.onnx.export(
        model.image_encoder,
        (torch.zeros(1, 3, SIZE, SIZE),),
        folder / "encoder.onnx",
        input_names=["image"],
        output_names=["image_embeddings"],
        opset_version=17,
        dynamo=False,
    )
    (folder / "encoder.toml").write_text(f'[input]\nscale = 1.0\nmean = {MEAN}\nstd = {STD}\nresize = "letterbox-top-left"\n')
    cells = SIZE // PATCH
    inputs = {
        "image_embeddings": torch.randn(1, 256, cells, cells),
        "point_coords": torch.randint(0, SIZE, (1, 5, 2)).float(),
        "point_labels": torch.randint(0, 4, (1, 5)).float(),
        "mask_input": torch.randn(1, 1, 4 * cells, 4 * cells),
        "has_mask_input": torch.tensor([1.0]),
        "orig_im_size": torch.tensor([300.0, 400.0]),
    }
    torch.onnx.export(
        SamOnnxModel(model, return_single_mask=False),
        tuple(inputs.values()),
        folder / "decoder.onnx",
        input_names=list(inputs),
        output_names=["masks", "iou_predictions", "low_res_masks"],
        dynamic_axes={"point_coords": {1: "num_points"}, "point_labels": {1: "num_points"}},
        opset_version=17,
        dynamo=False,
    )


def boxes(folder: Path, frames: np.ndarray) -> None:
    """A mask for each box, of SAM's first one."""
    frames = resized(frames, SIZE, SIZE)
    model = small_sam()
    export(model, folder)
    detector(folder / "model.onnx")
    predictor = SamPredictor(model)
    expected, masks, tied = [], [], []
    for frame in frames:
        predictor.set_image(frame)
        asked = [predictor.predict(box=row[:4], multimask_output=False, return_logits=True)[0][0] for row in ROWS]
        logits = np.stack(asked)
        masks.append(logits > model.mask_threshold)
        tied.append(object_masks.near(logits))
        expected.append([{"box": row[:4], "score": row[4], "class": int(row[5])} for row in ROWS])
    object_masks.write(folder, masks, tied)
    line = (
        "gpunms confidence=0.1 ! fusedpreproc ! trtinfer model=encoder.onnx ! trtinfer model=decoder.onnx ! segmask upsample=true"
    )
    note = (
        "The boxes are the same in every frame; a mask is the first of the decoder's four, as the predictor gives it with multimask_output=False. "
        'The encoder needs scale, mean and std in `[input]`, and resize = "letterbox-top-left"; the decoder needs nothing.'
    )
    sidecar = '[input]\nresize = "stretch"\n[output]\ndecoder = "end-to-end"\n'
    Case(f"segment_anything {version('segment_anything')}", line, expected, sidecar=sidecar, note=note).write(folder, frames)


CASES = {"sam-boxes": boxes}
