"""insightface's detector, recogniser and model of attributes, with networks of their inputs and outputs and random weights."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
from insightface import __version__ as version
from insightface.app.common import Face
from insightface.model_zoo.arcface_onnx import ArcFaceONNX
from insightface.model_zoo.attribute import Attribute
from insightface.model_zoo.scrfd import SCRFD
from insightface.utils.face_align import arcface_dst

from cudainfer_tools.repository import ROOT
from cudainfer_tools.test_models.graph import F32
from cudainfer_tools.zoo.cases.case import Case, close_up, resized, session
from cudainfer_tools.zoo.cases.network import Network

LIBRARY = f"insightface {version}"
# Of the detector's input.
SIZE = 320
STRIDES = (8, 16, 32)
# Numbers an anchor, and the outputs' names in det_10g.onnx.
HEADS = {"scores": (1, ("448", "471", "494")), "boxes": (4, ("451", "474", "497")), "points": (10, ("454", "477", "500"))}
# The faces of every frame: the middle, the scale of the aligned points and the angle in degrees. The last is cut off by the frame.
FACES = ((90, 90, 0.9, -35), (220, 100, 1.6, 10), (100, 230, 1.0, 160), (300, 280, 1.2, 25))


def sidecar(name: str) -> str:
    """A sidecar of pipelines/models without its comments."""
    lines = (ROOT / "pipelines" / "models" / f"{name}.toml").read_text().splitlines()
    return "\n".join(line for line in lines if line and not line.startswith("#")).replace("640", str(SIZE)) + "\n"


def found(detector: SCRFD, frame: np.ndarray) -> list[Face]:
    """The faces, in the order of their scores."""
    boxes, points = detector.detect(np.ascontiguousarray(frame[:, :, ::-1]))
    return [Face(bbox=row[:4], det_score=row[4], kps=kps) for row, kps in zip(boxes, points, strict=True)]


def result(face: Face) -> dict:
    return {"box": np.clip(face.bbox, 0, SIZE), "score": face.det_score, "class": 0, "keypoints": face.kps}


def not_rounded(frame: np.ndarray) -> np.ndarray:
    """A frame of which insightface cuts faces without rounding their samples to bytes."""
    return np.ascontiguousarray(frame[:, :, ::-1], np.float32)


def detecting(factor: float = 1.0, offset: float = 0.0) -> Network:
    """SCRFD's three heads for each stride, two anchors a cell. The scores are those of the logits times factor plus offset."""
    net = Network([1, 3, SIZE, SIZE], "input.1")
    levels = net.trunk("input.1", (3, 16, 32, 32, 48, 48))[2:]
    for kind, (count, names) in HEADS.items():
        rows = net.constant(f"{kind}.rows", np.array([-1, count]))
        for level, channels, name, stride in zip(levels, (32, 48, 48), names, STRIDES, strict=True):
            head = net.convolution(level, f"{kind}.{name}", channels, 2 * count)
            last = net.node("Transpose", [head], f"{head}.last", perm=[0, 2, 3, 1])
            values = net.node("Reshape", [last, rows], f"{head}.values")
            if kind == "scores":
                net.node("Mul", [values, net.constant(f"{head}.factor", np.float32(factor))], f"{head}.scaled")
                net.node("Add", [f"{head}.scaled", net.constant(f"{head}.offset", np.float32(offset))], f"{head}.moved")
                net.node("Sigmoid", [f"{head}.moved"], name)
            else:
                # Distances from the anchor to the box's edges are positive.
                net.node("Softplus" if kind == "boxes" else "Identity", [values], name)
            net.output(name, F32, [2 * (SIZE // stride) ** 2, count])
    return net


def scrfd(folder: Path, frames: np.ndarray) -> None:
    frames = resized(frames, SIZE, SIZE)
    detecting().write(folder / "model.onnx")
    net = session(folder)
    images = ((frame.transpose(2, 0, 1)[None] - 127.5) / 128 for frame in frames)
    scores = np.concatenate([np.concatenate(net.run(HEADS["scores"][1], {"input.1": i.astype(np.float32)})) for i in images])
    logits = np.sort(np.log(scores / (1 - scores)).ravel())
    least, most = logits[-300], logits[-1]
    factor = 3 / (most - least)
    detecting(factor, -least * factor).write(folder / "model.onnx")
    detector = SCRFD(str(folder / "model.onnx"))
    detector.prepare(-1)
    expected = [[result(face) for face in found(detector, frame)] for frame in frames]
    Case(LIBRARY, "gpunms", expected, sidecar=sidecar("det_10g")).write(folder, frames)


def same_faces(file: Path) -> None:
    """Writes a model of SCRFD's outputs that finds the same faces in every frame."""
    tables = {name: np.zeros((2 * (SIZE // stride) ** 2, count), np.float32)
              for count, names in HEADS.values() for name, stride in zip(names, STRIDES, strict=True)}  # fmt: skip
    score, box, points = (names[0] for _, names in HEADS.values())
    for number, (x, y, scale, degrees) in enumerate(FACES):
        turn = cv2.getRotationMatrix2D((0, 0), degrees, scale)
        places = (arcface_dst - arcface_dst.mean(0)) @ turn[:, :2].T + (x, y)
        column, row = x // 8, y // 8
        anchor, cell = 2 * (row * (SIZE // 8) + column), np.array([column, row]) * 8
        tables[score][anchor] = 0.9 - 0.1 * number
        tables[box][anchor] = np.array([x, y, x, y] - np.tile(cell, 2) + scale * 50 * np.array([-1, -1, 1, 1])) * [-1, -1, 1, 1] / 8
        tables[points][anchor] = ((places - cell) / 8).ravel()
    net = Network([1, 3, SIZE, SIZE], "input.1")
    nothing = net.nothing("input.1")
    for name, table in tables.items():
        net.node("Add", [net.constant(f"{name}.fixed", table), nothing], name)
        net.output(name, F32, table.shape)
    net.write(file)


def recogniser(folder: Path, _: np.ndarray) -> None:
    """The embedding of each face, of what is aligned by its points."""
    frames = resized(close_up(folder), SIZE, SIZE)
    same_faces(folder / "model.onnx")
    net = Network(["None", 3, 112, 112], "input.1")
    level = net.trunk("input.1", (3, 16, 32, 32, 32))[-1]
    net.node("Flatten", [level], "flat")
    net.node("Gemm", ["flat", net.weights("last", 512, 32 * 7 * 7)], "683", transB=1)
    net.output("683", F32, ["None", 512])
    net.write(folder / "arcface.onnx")
    (folder / "arcface.toml").write_text(sidecar("w600k_r50"))
    detector, model = SCRFD(str(folder / "model.onnx")), ArcFaceONNX(str(folder / "arcface.onnx"))
    detector.prepare(-1)
    expected = []
    rounding = 0.0
    for frame in frames:
        faces = found(detector, frame)
        for face in faces:
            model.get(np.ascontiguousarray(frame[:, :, ::-1]), face)
            rounded = face.normed_embedding
            model.get(not_rounded(frame), face)
            rounding = max(rounding, float(np.abs(face.normed_embedding - rounded).max()))
        expected.append([result(face) | {"embedding": face.normed_embedding} for face in faces])
    line = "gpunms ! fusedpreproc roi=objects ! trtinfer model=arcface.onnx batch-size=4 ! embed"
    note = (
        "The faces are the same in every frame. The recogniser needs the sidecar pipelines/models/w600k_r50.toml. insightface aligns "
        f"float32 frames here: of bytes it rounds the aligned picture, which moves numbers of its embeddings by up to {rounding:.4f}."
    )
    Case(LIBRARY, line, expected, sidecar=sidecar("det_10g"), note=note).write(folder, frames)


def attributes(folder: Path, _: np.ndarray) -> None:
    """Gender and age of each face, of a square around its box."""
    frames = resized(close_up(folder), SIZE, SIZE)
    same_faces(folder / "model.onnx")
    net = Network(["None", 3, 96, 96], "data")
    # As in genderage.onnx, by which insightface knows that pixels are 0 to 255.
    numbers = [net.constant(f"bn_data.{i}", np.full(3, value, np.float32)) for i, value in enumerate((1, 0, 127.5, 4096))]
    level = net.trunk(net.node("BatchNormalization", ["data", *numbers], "bn_data"), (3, 16, 32, 32, 32))[-1]
    net.node("Flatten", [level], "flat")
    net.node("Gemm", ["flat", net.weights("last", 3, 32 * 6 * 6)], "fc1", transB=1)
    net.output("fc1", F32, ["None", 3])
    net.write(folder / "genderage.onnx")
    (folder / "genderage.toml").write_text(
        '[input]\nscale = 1.0\npadding = 0\nroi-crop = "mmpose"\nroi-padding = 1.5\n\n'
        '[classify.gender]\nchannels = [0, 2]\nmode = "class"\nlabels = ["female", "male"]\n\n'
        "[classify.age]\nchannels = [2, 3]\nscale = 100.0\n"
    )
    detector, model = SCRFD(str(folder / "model.onnx")), Attribute(str(folder / "genderage.onnx"))
    detector.prepare(-1)
    expected = []
    for frame in frames:
        rows = []
        for face in found(detector, frame):
            face.bbox = np.clip(face.bbox, 0, SIZE)
            gender, age = model.get(not_rounded(frame), face)
            # Of a model of another task it gives the numbers themselves.
            model.taskname = "attribute_3"
            numbers = model.get(not_rounded(frame), face).astype(np.float64)
            model.taskname = "genderage"
            assert age == round(numbers[2] * 100)
            scores = np.exp(numbers[:2]) / np.exp(numbers[:2]).sum()
            rows.append({"class": int(gender), "score": scores[gender], "values": [100 * numbers[2]]})
        expected.append(rows)
    line = "gpunms ! fusedpreproc roi=objects ! trtinfer model=genderage.onnx batch-size=4 ! classify"
    note = (
        "Frames are float32 as for insightface-arcface. Boxes are clamped to the frame first, as gpunms does it: of a face at the frame's "
        "edge, insightface cuts a square around all of the box. genderage.toml has `[input]` scale = 1.0, padding = 0, "
        'roi-crop = "mmpose" and roi-padding = 1.5, and the two numbers of `[classify.gender]` and the third of `[classify.age]`.'
    )
    Case(LIBRARY, line, expected, sidecar=sidecar("det_10g"), note=note).write(folder, frames)


CASES = {"insightface-scrfd": scrfd, "insightface-arcface": recogniser, "insightface-genderage": attributes}
