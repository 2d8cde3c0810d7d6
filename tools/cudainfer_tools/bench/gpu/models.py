"""The networks that are measured, with random weights: the structure is what takes the time.

    python3 tools bench.gpu.models NAME [--batch N,N...] [--type float16|float32|int8] [--video VIDEO] FILE.onnx

NAME is one of bench/gpu/measuring.py's: yolov8n (input 'images', output 'output0' [N, 84, 8400]; on VIDEO, some hundred of its 8400
anchors pass a confidence of 0.25), deeplab (torchvision's DeepLabV3-ResNet50 without the auxiliary head), unet (of the size with which
SLEAP labels flies), or a classifier or segmenter of torchvision. Batches above 1 go to files of their own, FILE-batchN.onnx; 0 is for any batch. int8 is float32 that was
quantised as scripts/quantize does it, which needs onnx and onnxruntime. The ONNX file is for what runs ONNX models: ONNX Runtime, `trtinfer`.
"""

from __future__ import annotations

import argparse
import itertools
import math
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from cudainfer_tools.bench.gpu.measuring import NETWORKS

# What ONNX Runtime 1.17, the oldest that the plugin takes, can read.
OPSET = 17
STRIDES = (8, 16, 32)


class Conv(nn.Module):
    """Convolution, batch normalisation, SiLU."""

    def __init__(self, inputs: int, outputs: int, kernel: int = 1, stride: int = 1):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
        self.bn = nn.BatchNorm2d(outputs, eps=1e-3, momentum=0.03)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.silu(self.bn(self.conv(x)))


class Bottleneck(nn.Module):
    """Two 3x3 convolutions, added to the input in the backbone."""

    def __init__(self, channels: int, shortcut: bool):
        super().__init__()
        self.cv1, self.cv2, self.shortcut = Conv(channels, channels, 3), Conv(channels, channels, 3), shortcut

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.cv2(self.cv1(x))
        return x + y if self.shortcut else y


class C2f(nn.Module):
    """Two halves; bottlenecks chained after the second; all of them joined."""

    def __init__(self, inputs: int, outputs: int, n: int, shortcut: bool):
        super().__init__()
        self.half = outputs // 2
        self.cv1 = Conv(inputs, outputs)
        self.cv2 = Conv((2 + n) * self.half, outputs)
        self.m = nn.ModuleList(Bottleneck(self.half, shortcut) for _ in range(n))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = list(self.cv1(x).split(self.half, 1))
        for block in self.m:
            parts.append(block(parts[-1]))
        return self.cv2(torch.cat(parts, 1))


class Sppf(nn.Module):
    """Three 5x5 poolings in a row, joined with what went in."""

    def __init__(self, channels: int):
        super().__init__()
        self.cv1, self.cv2 = Conv(channels, channels // 2), Conv(channels * 2, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = [self.cv1(x)]
        for _ in range(3):
            parts.append(F.max_pool2d(parts[-1], 5, 1, 2))
        return self.cv2(torch.cat(parts, 1))


class Detect(nn.Module):
    """A box branch (16 bins a side, their expectation is the distance in cells) and a class branch for each stride."""

    BINS = 16

    def __init__(self, channels: tuple[int, ...], classes: int, side: int):
        super().__init__()
        middle, scores = max(16, channels[0] // 4, 4 * self.BINS), max(channels[0], min(classes, 100))

        def branch(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
            return nn.Sequential(Conv(inputs, hidden, 3), Conv(hidden, hidden, 3), nn.Conv2d(hidden, outputs, 1))

        self.cv2 = nn.ModuleList(branch(c, middle, 4 * self.BINS) for c in channels)
        self.cv3 = nn.ModuleList(branch(c, scores, classes) for c in channels)
        centres, strides = [], []
        for stride in STRIDES:
            at = torch.arange(side // stride) + 0.5
            y, x = torch.meshgrid(at, at, indexing="ij")
            centres.append(torch.stack([x.flatten(), y.flatten()]))
            strides.append(torch.full((x.numel(),), float(stride)))
        self.register_buffer("centres", torch.cat(centres, 1))
        self.register_buffer("strides", torch.cat(strides))
        self.register_buffer("bins", torch.arange(self.BINS).float().view(1, -1, 1, 1))

    def logits(self, features: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        sides = torch.cat([branch(f).flatten(2) for branch, f in zip(self.cv2, features, strict=True)], 2)
        scores = torch.cat([branch(f).flatten(2) for branch, f in zip(self.cv3, features, strict=True)], 2)
        return sides, scores

    def forward(self, features: list[torch.Tensor]) -> torch.Tensor:
        sides, scores = self.logits(features)
        batch, _, anchors = sides.shape
        weights = sides.view(batch, 4, self.BINS, anchors).transpose(1, 2).softmax(1)
        left_top, right_bottom = F.conv2d(weights, self.bins).view(batch, 4, anchors).chunk(2, 1)
        low, high = self.centres - left_top, self.centres + right_bottom
        boxes = torch.cat([(low + high) / 2, high - low], 1) * self.strides
        return torch.cat([boxes, scores.sigmoid()], 1)


class Yolov8n(nn.Module):
    """YOLOv8 as Ultralytics published it (yolov8.yaml), at its scale n: depth 0.33, width 0.25, 3.2 million weights."""

    def __init__(self, classes: int = 80, side: int = 640):
        super().__init__()
        c1, c2, c3, c4, c5 = 16, 32, 64, 128, 256
        self.stem = nn.Sequential(Conv(3, c1, 3, 2), Conv(c1, c2, 3, 2), C2f(c2, c2, 1, True))
        self.p3 = nn.Sequential(Conv(c2, c3, 3, 2), C2f(c3, c3, 2, True))
        self.p4 = nn.Sequential(Conv(c3, c4, 3, 2), C2f(c4, c4, 2, True))
        self.p5 = nn.Sequential(Conv(c4, c5, 3, 2), C2f(c5, c5, 1, True), Sppf(c5))
        self.up4, self.up3 = C2f(c5 + c4, c4, 1, False), C2f(c4 + c3, c3, 1, False)
        self.down3, self.out4 = Conv(c3, c3, 3, 2), C2f(c3 + c4, c4, 1, False)
        self.down4, self.out5 = Conv(c4, c4, 3, 2), C2f(c4 + c5, c5, 1, False)
        self.detect = Detect((c3, c4, c5), classes, side)

    def features(self, images: torch.Tensor) -> list[torch.Tensor]:
        p3 = self.p3(self.stem(images))
        p4 = self.p4(p3)
        p5 = self.p5(p4)
        n4 = self.up4(torch.cat([F.interpolate(p5, scale_factor=2.0, mode="nearest"), p4], 1))
        n3 = self.up3(torch.cat([F.interpolate(n4, scale_factor=2.0, mode="nearest"), p3], 1))
        o4 = self.out4(torch.cat([self.down3(n3), n4], 1))
        return [n3, o4, self.out5(torch.cat([self.down4(o4), p5], 1))]

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.detect(self.features(images))


def made_up(side: int) -> torch.Tensor:
    """Something like frames, `[2, 3, side, side]`, 0 to 1: large shapes with finer ones on them."""
    torch.manual_seed(9)
    layers = (F.interpolate(torch.rand(2, 3, n, n), (side, side), mode="bilinear") / k for k, n in enumerate((6, 40, 160), 1))
    return sum(layers) / 1.84


def from_video(file: str, side: int) -> torch.Tensor:
    """A frame and the one a second later, `[2, 3, side, side]` RGB, 0 to 1, letterboxed with grey bars."""
    import cv2

    from cudainfer_tools.bench.gpu.peers.preproc import letterbox

    video = cv2.VideoCapture(file)
    frames = [frame for read, frame in (video.read() for _ in range(31)) if read]
    if not frames:
        raise SystemExit(f"models: OpenCV reads no frame of {file}")
    rgb = torch.stack([torch.from_numpy(frames[n]).permute(2, 0, 1).flip(0) for n in (0, -1)])
    return letterbox(rgb.float(), side).float()


def yolov8n(frames: torch.Tensor | None = None, candidates: int = 400) -> nn.Module:
    """Random weights whose activations keep their size: batch normalisation takes the statistics of `frames`
    (`[2, 3, 640, 640]`), and the class biases let `candidates` of the first one's 8400 anchors pass a confidence of
    0.25. Other pictures may find very few or very many: give it frames of what it will run on."""
    frames = made_up(NETWORKS["yolov8n"].side) if frames is None else frames
    torch.manual_seed(8)
    model = Yolov8n()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = 1.0
    with torch.no_grad():
        model.train().detect.logits(model.features(frames))
        _, scores = model.eval().detect.logits(model.features(frames[:1]))
        best = scores[0].amax(0).sort(descending=True).values
        for branch in model.detect.cv3:
            branch[-1].bias += math.log(0.25 / 0.75) - best[candidates]
    return model


class Out(nn.Module):
    """The map of a segmenter of torchvision, `[N, classes, side, side]`, which gives it under a name."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.model(images)["out"]


class Unet(nn.Module):
    """Two 3x3 convolutions a level, `levels` poolings, and resizing with shortcuts back to half of the input's size: the backbone of SLEAP's
    profile for medium receptive fields (filters 16, rate 2)."""

    def __init__(self, filters: int = 16, levels: int = 4, maps: int = 13):
        super().__init__()

        def block(inputs: int, outputs: int) -> nn.Sequential:
            pairs = [(inputs, outputs), (outputs, outputs)]
            return nn.Sequential(*(layer for a, b in pairs for layer in (nn.Conv2d(a, b, 3, 1, 1), nn.ReLU())))

        widths = [filters * 2**level for level in range(levels + 1)]
        self.down = nn.ModuleList(block(a, b) for a, b in zip([3, *widths[:-1]], widths, strict=True))
        self.up = nn.ModuleList(block(a + b, a) for a, b in itertools.pairwise(widths[1:]))
        self.head = nn.Conv2d(widths[1], maps, 1)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x, kept = images, []
        for level, block in enumerate(self.down):
            x = block(F.max_pool2d(x, 2) if level else x)
            kept.append(x)
        for level in reversed(range(len(self.up))):
            x = F.interpolate(x, scale_factor=2.0, mode="bilinear")
            x = self.up[level](torch.cat([x, kept[level + 1]], 1))
        return self.head(x)


def of_torchvision(name: str) -> nn.Module:
    from torchvision.models import get_model

    model = get_model(name, weights=None, weights_backbone=None) if name in SEGMENTERS else get_model(name, weights=None)
    return Out(model) if name in SEGMENTERS else model


SEGMENTERS = ("deeplabv3_resnet50", "lraspp_mobilenet_v3_large")
OF_TORCHVISION = {
    "deeplab": "deeplabv3_resnet50",
    "lraspp": "lraspp_mobilenet_v3_large",
    "resnet18": "resnet18",
    "resnet50": "resnet50",
    "mobilenet": "mobilenet_v3_large",
    "efficientnet": "efficientnet_b0",
    "convnext": "convnext_tiny",
    "vit": "vit_b_16",
    "swin": "swin_t",
}


def made(name: str, frames: torch.Tensor | None = None) -> nn.Module:
    """A network by its name; `frames` are those that yolov8n finds something in."""
    if name == "yolov8n":
        return yolov8n(frames)
    torch.manual_seed(3)
    return (Unet() if name == "unet" else of_torchvision(OF_TORCHVISION[name])).eval()


def export(model: nn.Module, side: int, batch: int, kind: torch.dtype, file: str) -> None:
    """Writes `model` as ONNX, for this type and batch only, 0 for any batch; on the GPU where there is one."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    images = torch.zeros(batch or 2, 3, side, side, dtype=kind, device=device)
    # Attention by one function of PyTorch is nothing that ONNX has.
    torch.backends.mha.set_fastpath_enabled(False)
    with torch.no_grad():
        torch.onnx.export(
            model.to(device, kind),
            (images,),
            file,
            input_names=["images"],
            output_names=["output0"],
            dynamic_axes=None if batch else {"images": {0: "batch"}, "output0": {0: "batch"}},
            opset_version=OPSET,
            dynamo=False,
        )


def quantize(file: str, frames: torch.Tensor) -> None:
    """Puts the INT8 form of a float32 model in its place, its ranges those of `frames`."""
    from cudainfer_tools.models import quantize

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        raw = [folder / f"{n}.raw" for n in range(len(frames))]
        for frame, path in zip(frames, raw, strict=True):
            frame.numpy().tofile(path)
        feeds = quantize.Calibration(raw, "images", [1, *frames.shape[1:]])
        quantize.quantize(Path(file), feeds, folder / "int8.onnx", folder)
        Path(file).write_bytes((folder / "int8.onnx").read_bytes())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=NETWORKS)
    parser.add_argument("--batch", default="1", metavar="N,N...")
    parser.add_argument("--type", choices=["float16", "float32", "int8"], default="float16")
    parser.add_argument("--video")
    parser.add_argument("file")
    given = parser.parse_args()
    side = NETWORKS[given.name].side
    frames = from_video(given.video, side) if given.video else made_up(side)
    model = made(given.name, frames)
    kind = torch.float16 if given.type == "float16" else torch.float32
    for batch in map(int, given.batch.split(",")):
        file = given.file if batch == 1 else f"{given.file.removesuffix('.onnx')}-batch{batch or 's'}.onnx"
        export(model, side, batch, kind, file)
        if given.type == "int8":
            quantize(file, frames)


if __name__ == "__main__":
    main()
