"""transformers' detectors, classifiers and segmenters with random weights, their configurations beside the exported file as
save_pretrained writes them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
import transformers

from cudainfer_tools.zoo.cases.case import Case, Maker, enliven, resized, session, spread, top, wake

if TYPE_CHECKING:
    from transformers.configuration_utils import PretrainedConfig
    from transformers.image_processing_base import ImageProcessingMixin

LIBRARY = f"transformers {transformers.__version__}"
# What optimum's exporter and transformers' own pipelines call them.
CONFIDENCE = 0.3


class Outputs(torch.nn.Module):
    """A model that returns these outputs only."""

    def __init__(self, model: torch.nn.Module, names: list[str]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, pixel_values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found = self.model(pixel_values=pixel_values)
        return tuple(found[name] for name in self.names)


def export(
    folder: Path,
    model: torch.nn.Module,
    processor: ImageProcessingMixin,
    size: int,
    names: list[str],
    opset: int = 17,
    height: int = 0,
) -> None:
    torch.onnx.export(
        Outputs(model, names), torch.zeros(1, 3, height or size, size), folder / "model.onnx", dynamo=False, opset_version=opset,
        input_names=["pixel_values"], output_names=names,
    )  # fmt: skip
    processor.save_pretrained(folder)
    # save_pretrained of the model would write this, and the weights.
    model.config.architectures = [type(model).__name__]
    model.config.save_pretrained(folder)


def queries(
    folder: Path, frames: np.ndarray, config: PretrainedConfig, kind: str, processor: ImageProcessingMixin, size: int
) -> None:
    """A query detector: logits and boxes."""
    frames = resized(frames, size, size)
    torch.manual_seed(0)
    model = getattr(transformers, kind)(config).eval()
    inputs = processor(images=list(frames), return_tensors="pt")["pixel_values"]
    wake(model)
    enliven(model, lambda: model(pixel_values=inputs[::5]))
    scoring = [
        module for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear) and module.out_features in (config.num_labels, config.num_labels + 1)
    ]  # fmt: skip
    background = config.num_labels < scoring[-1].out_features
    spread(scoring, lambda: model(pixel_values=inputs[::2]), *((2.0, 8.0, 0.16) if background else (-0.85, 3.0, 1e-2)))
    for layer in scoring if background else ():
        layer.bias.data[-1] -= 4.0
    export(folder, model, processor, size, ["logits", "pred_boxes"])
    net = session(folder)
    expected = []
    for i in range(len(frames)):
        logits, boxes = net.run(["logits", "pred_boxes"], {"pixel_values": inputs[i : i + 1].numpy()})
        outputs = transformers.utils.ModelOutput(logits=torch.from_numpy(logits), pred_boxes=torch.from_numpy(boxes))
        found = processor.post_process_object_detection(outputs, threshold=CONFIDENCE, target_sizes=[(size, size)])[0]
        rows = zip(found["boxes"].clamp(0, size).tolist(), found["scores"].tolist(), found["labels"].tolist(), strict=True)
        expected.append([{"box": box, "score": score, "class": label} for box, score, label in rows])
    Case(LIBRARY, f"gpunms confidence={CONFIDENCE} top-k-after=300", expected).write(folder, frames)


def resnet(stages: list[str], kind: str = "ResNet") -> PretrainedConfig:
    """A small backbone, so that no case takes long."""
    return getattr(transformers, f"{kind}Config")(
        depths=[1, 1, 1, 1], hidden_sizes=[32, 64, 128, 256], embedding_size=32, layer_type="basic", out_features=stages
    )


SMALL: dict[str, object] = {
    "d_model": 64,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "num_labels": 20,
}


def detr(folder: Path, frames: np.ndarray, family: str = "Detr", processor: str = "Detr", **more: object) -> None:
    options = {"use_timm_backbone": False, "backbone_config": resnet(["stage4"]), "num_queries": 50, **SMALL, **more}
    config = getattr(transformers, f"{family}Config")(encoder_layers=1, decoder_layers=2, **options)
    made = getattr(transformers, f"{processor}ImageProcessor")(size={"height": 320, "width": 320}, do_pad=False)
    queries(folder, frames, config, f"{family}ForObjectDetection", made, 320)


def yolos(folder: Path, frames: np.ndarray) -> None:
    config = transformers.YolosConfig(
        image_size=[320, 320], hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        num_detection_tokens=50, num_labels=20, use_mid_position_embeddings=False,
    )  # fmt: skip
    processor = transformers.YolosImageProcessor(size={"height": 320, "width": 320}, do_pad=False)
    queries(folder, frames, config, "YolosForObjectDetection", processor, 320)


def rt_detr(folder: Path, frames: np.ndarray, version: str = "RTDetr") -> None:
    options = SMALL | {
        "num_queries": 100, "decoder_layers": 2, "encoder_layers": 1, "encoder_hidden_dim": 64, "feat_strides": [8, 16, 32],
        "encoder_in_channels": [64, 128, 256], "decoder_in_channels": [64, 64, 64],
        "backbone_config": resnet(["stage2", "stage3", "stage4"], "RTDetrResNet"),
    }  # fmt: skip
    config = getattr(transformers, f"{version}Config")(**options)
    processor = transformers.RTDetrImageProcessor(size={"height": 320, "width": 320})
    queries(folder, frames, config, f"{version}ForObjectDetection", processor, 320)


def classes(folder: Path, frames: np.ndarray) -> None:
    """ViT: the five best classes."""
    frames = resized(frames, 224, 224)
    torch.manual_seed(0)
    config = transformers.ViTConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, num_labels=50)
    model = transformers.ViTForImageClassification(config).eval()
    processor = transformers.ViTImageProcessor()
    inputs = processor(images=list(frames), return_tensors="pt")["pixel_values"]
    spread([model.classifier], lambda: model(pixel_values=inputs), 0.0, 3.0, 0.1)
    export(folder, model, processor, 224, ["logits"])
    net = session(folder)
    logits = [net.run(None, {"pixel_values": inputs[i : i + 1].numpy()})[0][0] for i in range(len(frames))]
    Case(LIBRARY, "classify top-k=5", [top(torch.from_numpy(one).softmax(0).numpy()) for one in logits]).write(folder, frames)


def segments(folder: Path, frames: np.ndarray) -> None:
    """SegFormer: the class of each cell of its output, a quarter as large as the input."""
    frames = resized(frames, 256, 256)
    torch.manual_seed(0)
    config = transformers.SegformerConfig(
        depths=[1, 1, 1, 1], hidden_sizes=[16, 32, 64, 128], num_labels=20, decoder_hidden_size=64
    )
    model = transformers.SegformerForSemanticSegmentation(config).eval()
    processor = transformers.SegformerImageProcessor(size={"height": 256, "width": 256})
    inputs = processor(images=list(frames), return_tensors="pt")["pixel_values"]
    enliven(model, lambda: model(pixel_values=inputs[::4]))
    export(folder, model, processor, 256, ["logits"])
    net = session(folder)
    logits = np.concatenate([net.run(None, {"pixel_values": inputs[i : i + 1].numpy()})[0] for i in range(len(frames))])
    outputs = transformers.utils.ModelOutput(logits=torch.from_numpy(logits))
    masks = [mask.numpy() for mask in processor.post_process_semantic_segmentation(outputs)]
    Case(LIBRARY, "segmask", []).write_masks(folder, frames, np.stack(masks), logits)


CASES: dict[str, Maker] = {
    "detr": detr,
    "conditional-detr": partial(detr, family="ConditionalDetr", processor="ConditionalDetr"),
    "yolos": yolos,
    "rt-detr": rt_detr,
    "rt-detr-v2": partial(rt_detr, version="RTDetrV2"),
    "d-fine": partial(rt_detr, version="DFine"),
    "vit": classes,
    "segformer": segments,
}
