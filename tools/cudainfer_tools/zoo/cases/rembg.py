"""rembg's mattes with networks of its models' inputs and outputs and random weights."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import numpy as np
from onnxruntime import SessionOptions
from PIL import Image
from rembg.sessions.base import BaseSession
from rembg.sessions.birefnet_general import BiRefNetSessionGeneral
from rembg.sessions.dis_general_use import DisSession
from rembg.sessions.u2net import U2netSession

from cudainfer_tools.test_models.graph import F32
from cudainfer_tools.zoo.cases.case import Case, Colour, resized
from cudainfer_tools.zoo.cases.network import Network

LIBRARY = f"rembg {version('rembg')}"
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
NOTE = (
    "rembg divides a frame by its brightest sample, not by 255: each frame has a white corner here. Its mattes are compared before it "
    "cuts their decimals off."
)


def network(size: int, image: str, outputs: list[str], sigmoid: bool) -> Network:
    """A map of each level, as large as the input, and first one that is made of all of them."""
    net = Network([1, 3, size, size], image)
    channels = (3, 8, 16, 16, 16, 16, 16)
    maps = []
    for i, level in enumerate(net.trunk(image, channels)):
        head = net.convolution(level, f"map{i}", channels[i + 1], 1)
        scales = net.constant(f"map{i}.scales", np.array([1, 1, 2 ** (i + 1), 2 ** (i + 1)], np.float32))
        maps.append(net.node("Resize", [head, "", scales], f"map{i}.large", mode="linear"))
    maps.insert(0, net.node("Sum", maps, "maps"))
    for name, values in zip(outputs, maps, strict=False):
        net.node("Sigmoid" if sigmoid else "Identity", [values], name)
        net.output(name, F32, [1, 1, size, size])
    return net


def matte(
    folder: Path,
    frames: np.ndarray,
    kind: type[BaseSession],
    net: Network,
    size: int,
    mean: Colour,
    std: Colour,
    needs: str,
    logits: bool,
) -> None:
    frames = resized(frames, size, size)
    frames[:, :4, :4] = 255
    net.write(folder / "model.onnx")
    # The model is here already.
    local = type("Local", (kind,), {"download_models": classmethod(lambda _: folder / "model.onnx")})
    session = local("local", SessionOptions(), providers=["CPUExecutionProvider"])
    mattes = []
    for frame in frames:
        image = Image.fromarray(frame)
        first = session.inner_session.run(None, session.normalize(image, mean, std, (size, size)))[0][0, 0]
        values = session.sigmoid(first) if logits else first
        matte = (values - values.min()) / (values.max() - values.min()) * 255
        assert np.array_equal(matte.astype(np.uint8), np.asarray(session.predict(image)[0])), "rembg makes another matte"
        mattes.append(matte)
    line = f"segmask {needs} mode=soft range=frame output=gray".replace("  ", " ")
    sidecar = f"[input]\nmean = {list(mean)}\nstd = {list(std)}\n"
    Case(LIBRARY, line, [], sidecar=sidecar, note=NOTE).write_samples(folder, frames, np.stack(mattes), 255)


def u2net(folder: Path, frames: np.ndarray) -> None:
    names = [str(number) for number in range(1959, 1966)]
    net = network(320, "input.1", names, sigmoid=True)
    matte(folder, frames, U2netSession, net, 320, *IMAGENET, needs="tensor=1959", logits=False)


def isnet(folder: Path, frames: np.ndarray) -> None:
    names = [f"output{number}" for number in range(6)]
    net = network(1024, "input_image", names, sigmoid=True)
    matte(folder, frames, DisSession, net, 1024, (0.5, 0.5, 0.5), (1.0, 1.0, 1.0), needs="tensor=output0", logits=False)


def birefnet(folder: Path, frames: np.ndarray) -> None:
    net = network(1024, "input_image", ["output_image"], sigmoid=False)
    matte(folder, frames, BiRefNetSessionGeneral, net, 1024, *IMAGENET, needs="activation=sigmoid", logits=True)


CASES = {"rembg-u2net": u2net, "rembg-isnet": isnet, "rembg-birefnet": birefnet}
