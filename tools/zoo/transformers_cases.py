"""transformers' detectors and classifiers with random weights, their processor's configuration beside the exported file."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import torch
import transformers

from zoo.case import Case, enliven, resized, session

LIBRARY = f"transformers {transformers.__version__}"


class Outputs(torch.nn.Module):
    """A model that returns these outputs only."""

    def __init__(self, model: torch.nn.Module, names: list[str]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, pixel_values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found = self.model(pixel_values=pixel_values)
        return tuple(found[name] for name in self.names)


def export(folder: Path, model: torch.nn.Module, size: int, names: list[str]) -> None:
    torch.onnx.export(
        Outputs(model, names), torch.zeros(1, 3, size, size), folder / "model.onnx", dynamo=False, opset_version=17,
        input_names=["pixel_values"], output_names=names,
    )  # fmt: skip


def queries(folder: Path, frames: np.ndarray, config: object, kind: str, processor: object, size: int) -> None:
    """A query detector: logits and boxes."""
    frames = resized(frames, size, size)
    torch.manual_seed(0)
    model = getattr(transformers, kind)(config)
    inputs = processor(images=list(frames), return_tensors="pt")["pixel_values"]
    enliven(model, lambda: model(pixel_values=inputs[:2]))
    for name, parameter in model.named_parameters():
        if "class" in name and name.endswith("weight") and parameter.ndim == 2:
            torch.nn.init.normal_(parameter, std=0.1)
    export(folder, model, size, ["logits", "pred_boxes"])
    processor.save_pretrained(folder)
    config.save_pretrained(folder)
    net = session(folder)
    expected = []
    for i in range(len(frames)):
        logits, boxes = net.run(None, {"pixel_values": inputs[i : i + 1].numpy()})
        outputs = transformers.utils.ModelOutput(logits=torch.from_numpy(logits), pred_boxes=torch.from_numpy(boxes))
        found = processor.post_process_object_detection(outputs, threshold=0.3, target_sizes=[(size, size)])[0]
        rows = zip(found["boxes"].clamp(0, size).tolist(), found["scores"].tolist(), found["labels"].tolist(), strict=True)
        expected.append([{"box": box, "score": score, "class": label} for box, score, label in rows])
    Case(LIBRARY, "gpunms confidence=0.3 top-k-after=300", expected).write(folder, frames)


def backbone() -> transformers.PreTrainedConfig:
    """A small ResNet, so that no case takes long."""
    return transformers.ResNetConfig(
        depths=[1, 1, 1, 1], hidden_sizes=[32, 64, 128, 256], embedding_size=32, layer_type="basic", out_features=["stage4"]
    )


def detr(folder: Path, frames: np.ndarray) -> None:
    config = transformers.DetrConfig(
        use_timm_backbone=False, backbone_config=backbone(), num_queries=50, d_model=64, encoder_layers=1, decoder_layers=1,
        encoder_ffn_dim=64, decoder_ffn_dim=64, encoder_attention_heads=4, decoder_attention_heads=4, num_labels=20,
    )  # fmt: skip
    processor = transformers.DetrImageProcessor(size={"height": 320, "width": 320}, do_pad=False)
    queries(folder, frames, config, "DetrForObjectDetection", processor, 320)


def yolos(folder: Path, frames: np.ndarray) -> None:
    config = transformers.YolosConfig(
        image_size=[320, 320], hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        num_detection_tokens=50, num_labels=20, use_mid_position_embeddings=False,
    )  # fmt: skip
    processor = transformers.YolosImageProcessor(size={"height": 320, "width": 320}, do_pad=False)
    queries(folder, frames, config, "YolosForObjectDetection", processor, 320)


def rt_detr(folder: Path, frames: np.ndarray, version: str = "RTDetr") -> None:
    config = getattr(transformers, f"{version}Config")(
        num_queries=100, decoder_layers=2, encoder_layers=1, num_labels=20, d_model=64, encoder_hidden_dim=64,
        decoder_ffn_dim=64, encoder_ffn_dim=64, decoder_attention_heads=4, encoder_attention_heads=4,
        feat_strides=[8, 16, 32], encoder_in_channels=[64, 128, 256], decoder_in_channels=[64, 64, 64],
        backbone_config=transformers.RTDetrResNetConfig(
            depths=[1, 1, 1, 1], hidden_sizes=[32, 64, 128, 256], embedding_size=32, layer_type="basic", out_features=["stage2", "stage3", "stage4"]
        ),
    )  # fmt: skip
    processor = transformers.RTDetrImageProcessor(size={"height": 320, "width": 320})
    queries(folder, frames, config, f"{version}ForObjectDetection", processor, 320)


def classes(folder: Path, frames: np.ndarray) -> None:
    """ViT: the five best classes."""
    frames = resized(frames, 224, 224)
    torch.manual_seed(0)
    config = transformers.ViTConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, num_labels=50)
    model = transformers.ViTForImageClassification(config).eval()
    torch.nn.init.normal_(model.classifier.weight, std=0.5)
    processor = transformers.ViTImageProcessor()
    inputs = processor(images=list(frames), return_tensors="np")["pixel_values"]
    export(folder, model, 224, ["logits"])
    processor.save_pretrained(folder)
    config.save_pretrained(folder)
    net = session(folder)
    expected = []
    for i in range(len(frames)):
        scores = torch.from_numpy(net.run(None, {"pixel_values": inputs[i : i + 1]})[0])[0].softmax(0).numpy()
        expected.append([{"class": int(i), "score": scores[i]} for i in np.argsort(-scores, kind="stable")[:5]])
    Case(LIBRARY, "classify top-k=5", expected, scores=1e-4).write(folder, frames)


CASES = {
    "detr": detr,
    "yolos": yolos,
    "rt-detr": rt_detr,
    "d-fine": partial(rt_detr, version="DFine"),
    "vit": classes,
}
