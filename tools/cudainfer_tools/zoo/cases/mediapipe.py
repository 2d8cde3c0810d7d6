"""MediaPipe's networks with the weights of its package, converted by tf2onnx, and what MediaPipe's own calculators make of them.

The graphs here are those of mediapipe/modules in its sources, which the package has in binary form: the options are copied from
palm_detection_cpu.pbtxt, face_detection*.pbtxt, pose_detection_cpu.pbtxt, hand_landmark_cpu.pbtxt, face_landmark_cpu.pbtxt,
iris_landmark_cpu.pbtxt, pose_landmark_by_roi_cpu.pbtxt and tensors_to_*landmarks*.pbtxt. Detections suppress each other as
OpenCV's zoo has it (`algorithm: DEFAULT`), where MediaPipe averages them (`WEIGHTED`)."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import flatbuffers
import mediapipe
import numpy as np
import onnx
import tensorflow as tf
import tf2onnx
from mediapipe.framework.formats.rect_pb2 import NormalizedRect
from mediapipe.python._framework_bindings import resource_util
from onnx import helper, numpy_helper
from PIL import Image
from tensorflow.lite.python import schema_py_generated as schema

from cudainfer_tools.zoo.cases.case import Case, close_up, resized

LIBRARY = f"mediapipe {importlib.metadata.version('mediapipe')}"
PACKAGE = Path(mediapipe.__file__).parent
GET = mediapipe.packet_getter
# Of one size: `[N, H, W, 3]`, or one after the other.
Frames = np.ndarray | list[np.ndarray]
resource_util.set_resource_dir(str(PACKAGE.parent))


def densified(file: Path) -> bytes:
    """A TFLite model whose sparse weights are dense, which is how tf2onnx reads them. Only the last dimension is sparse in
    MediaPipe's (sparsity of CSR, a row for each place of the others)."""
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(file.read_bytes(), 0))
    graph, dense = model.subgraphs[0], set()
    for number, tensor in enumerate(graph.tensors):
        if tensor.sparsity is None:
            continue
        rows = tensor.sparsity.dimMetadata[-1]
        values = model.buffers[tensor.buffer].data.view(np.float16)
        starts, columns = np.asarray(rows.arraySegments.values), np.asarray(rows.arrayIndices.values)
        full = np.zeros((len(starts) - 1, tensor.shape[-1]), np.float16)
        full[np.repeat(np.arange(len(full)), np.diff(starts)), columns] = values
        model.buffers[tensor.buffer].data, tensor.sparsity = full.view(np.uint8).ravel(), None
        dense.add(number)
    made = {op.outputs[0]: op.inputs[0] for op in graph.operators if op.inputs[0] in dense}
    graph.operators = [op for op in graph.operators if op.outputs[0] not in made]
    for op in graph.operators:
        op.inputs = [made.get(number, number) for number in op.inputs]
    builder = flatbuffers.Builder()
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def standard(model: onnx.ModelProto) -> None:
    """Puts ONNX's operators in the place of MediaPipe's own transposed convolution (transpose_conv_bias.cc), whose windows of
    2x2 do not overlap. Its weights are `[1, 2, 2, C]`."""
    weights = {one.name: one for one in model.graph.initializer}
    for number, one in reversed(list(enumerate(model.graph.node))):
        if one.op_type != "TFL_Convolution2DTransposeBias":
            continue
        image, kernel, bias = one.input
        turned = numpy_helper.to_array(weights[kernel]).transpose(3, 0, 1, 2)
        weights[kernel].CopyFrom(numpy_helper.from_array(np.ascontiguousarray(turned), kernel))
        del model.graph.node[number]
        for new in (
            helper.make_node("Transpose", [f"{kernel}/large"], one.output, perm=[0, 2, 3, 1]),
            helper.make_node("ConvTranspose", [f"{kernel}/small", kernel, bias], [f"{kernel}/large"], strides=[2, 2]),
            helper.make_node("Transpose", [image], [f"{kernel}/small"], perm=[0, 3, 1, 2]),
        ):
            model.graph.node.insert(number, new)


def convert(folder: Path, model: str, name: str = "model") -> list[str]:
    """Writes one of the package's models as NAME.onnx, and gives the names of its outputs."""
    file = folder / f"{name}.tflite"
    file.write_bytes(densified(PACKAGE / "modules" / model))
    converted, _ = tf2onnx.convert.from_tflite(str(file), opset=17)
    file.unlink()
    standard(converted)
    onnx.save(converted, folder / f"{name}.onnx")
    return [output.name for output in converted.graph.output]


def run(graph: str, frames: Frames, readers: dict[str, Callable], regions: Sequence = (), **sides: int) -> list[dict]:
    """What the graph's streams have for each frame, by their names: nothing where a stream is silent. `regions` are those of
    the frames that `roi` stands for, else the whole frames."""
    streams = "".join(f'output_stream: "{name}"\n' for name in readers)
    started = mediapipe.CalculatorGraph(graph_config=f'input_stream: "image"\ninput_stream: "roi"\n{streams}{graph}')
    found: list[dict] = []
    for name, read in readers.items():
        started.observe_output_stream(name, lambda name, packet, read=read: found[-1].__setitem__(name, read(packet)))
    started.start_run({name: mediapipe.packet_creator.create_int(value) for name, value in sides.items()})
    whole = NormalizedRect(x_center=0.5, y_center=0.5, width=1, height=1)
    for number, (frame, region) in enumerate(zip(frames, regions or [whole] * len(frames), strict=True)):
        found.append({})
        image = mediapipe.ImageFrame(mediapipe.ImageFormat.SRGB, np.ascontiguousarray(frame))
        started.add_packet_to_input_stream("image", mediapipe.packet_creator.create_image_frame(image).at(number))
        started.add_packet_to_input_stream("roi", mediapipe.packet_creator.create_proto(region).at(number))
        started.wait_until_idle()
    started.close()
    return found


def node(calculator: str, streams: str, options: str = "", extension: str = "") -> str:
    """A node of a graph. `streams` are its inputs and outputs: `TAG:name ... > TAG:name`, and side packets after `|`."""
    inputs, _, rest = streams.partition(">")
    outputs, _, side = rest.partition("|")
    lines = [f'input_stream: "{name}"' for name in inputs.split()] + [f'output_stream: "{name}"' for name in outputs.split()]
    lines += [f'input_side_packet: "{name[1:]}"' for name in side.split() if name[0] == "<"]
    lines += [f'output_side_packet: "{name[1:]}"' for name in side.split() if name[0] == ">"]
    if options:
        lines.append(f"options {{ [mediapipe.{extension or calculator}Options.ext] {{ {options} }} }}")
    return f'node {{ calculator: "{calculator}" {" ".join(lines)} }}\n'


def inferred(model: str, size: tuple[int, int], low: int, inputs: str = "IMAGE:image") -> str:
    """The nodes that give `tensors`, the outputs of a model for the frame, whose pixels become `low` to 1."""
    values = f"output_tensor_float_range {{ min: {low} max: 1 }}"
    shape = f"output_tensor_width: {size[0]} output_tensor_height: {size[1]}"
    return node("ImageToTensorCalculator", f"{inputs} > TENSORS:image_tensor", f"{shape} {values}") + node(
        "InferenceCalculator",
        "TENSORS:image_tensor > TENSORS:tensors",
        f'model_path: "mediapipe/modules/{model}" delegate {{ xnnpack {{}} }}',
    )


@dataclass
class Detector:
    """One of MediaPipe's detectors, and the options of its calculators."""

    model: str
    # Of the square input, and what a black pixel becomes.
    size: int
    low: int
    strides: tuple[int, ...]
    boxes: int
    points: tuple[str, ...]
    confidence: float = 0.5

    def graph(self, algorithm: str) -> str:
        """What gives `detections`, suppressed, as a list of detections."""
        strides = " ".join(f"strides: {stride}" for stride in self.strides)
        # One anchor a cell where the only layer has none of an interpolated scale.
        ratio = "interpolated_scale_aspect_ratio: 0" if len(self.strides) == 1 else ""
        anchors = (
            f"num_layers: {len(self.strides)} {strides} min_scale: 0.1484375 max_scale: 0.75 input_size_width: {self.size} "
            f"input_size_height: {self.size} anchor_offset_x: 0.5 anchor_offset_y: 0.5 aspect_ratios: 1 fixed_anchor_size: true {ratio}"
        )
        scales = " ".join(f"{axis}_scale: {self.size}" for axis in "xywh")
        decoding = (
            f"num_classes: 1 num_boxes: {self.boxes} num_coords: {4 + 2 * len(self.points)} box_coord_offset: 0 "
            f"keypoint_coord_offset: 4 num_keypoints: {len(self.points)} num_values_per_keypoint: 2 sigmoid_score: true "
            f"score_clipping_thresh: 100 reverse_output_order: true {scales} min_score_thresh: {self.confidence}"
        )
        suppression = f"min_suppression_threshold: 0.3 overlap_type: INTERSECTION_OVER_UNION algorithm: {algorithm}"
        return (
            inferred(self.model, (self.size, self.size), self.low)
            + node("SsdAnchorsCalculator", "> | >anchors", anchors)
            + node("TensorsToDetectionsCalculator", "TENSORS:tensors > DETECTIONS:all | <ANCHORS:anchors", decoding)
            + node("NonMaxSuppressionCalculator", "all > detections", suppression)
        )

    def sidecar(self) -> str:
        """What our elements need to know."""
        values = "" if self.low == 0 else "scale = 1.0\nmean = [127.5]\nstd = [127.5]\n"
        names = ", ".join(f'"{name}"' for name in self.points)
        head = f"[input]\n{values}" if values else ""
        return f'{head}[output]\ndecoder = "mediapipe"\n[skeleton]\npoints = [{names}]\n'


FACE = ("right eye", "left eye", "nose", "mouth", "right ear", "left ear")
PALM = ("wrist", "index", "middle", "ring", "little", "thumb base", "thumb")
BODY = ("hips", "circle", "shoulders", "upper circle")
NEAR, FAR = (8, 16, 16, 16), (4,)
DETECTORS = {
    "palms": Detector("palm_detection/palm_detection_full.tflite", 192, 0, NEAR, 2016, PALM),
    "palms-lite": Detector("palm_detection/palm_detection_lite.tflite", 192, 0, NEAR, 2016, PALM),
    "faces": Detector("face_detection/face_detection_short_range.tflite", 128, -1, NEAR, 896, FACE),
    "faces-far": Detector("face_detection/face_detection_full_range_sparse.tflite", 192, -1, FAR, 2304, FACE, 0.6),
    "people": Detector("pose_detection/pose_detection.tflite", 224, -1, (8, 16, 32, 32, 32), 2254, BODY),
}


def boxes_of(found: dict, size: int) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Corners, points and score of each detection, in pixels."""
    rows = []
    for one in found.get("detections", []):
        box, points = one.location_data.relative_bounding_box, one.location_data.relative_keypoints
        corners = np.array([box.xmin, box.ymin, box.xmin + box.width, box.ymin + box.height]) * size
        rows.append((corners, np.array([[p.x, p.y] for p in points]) * size, one.score[0]))
    return rows


def hands(size: int, side: int) -> np.ndarray:
    """20 views of the hand in a picture of Ultralytics's package, turned this way and that: `side` pixels of it as
    `[20, size, size, 3]`."""
    package = importlib.util.find_spec("ultralytics")
    assert package and package.origin, "the hand is in a picture of the package ultralytics"
    with Image.open(Path(package.origin).parent / "assets" / "zidane.jpg") as file:
        picture = file.convert("RGB")
    views = []
    for turn in np.deg2rad(np.linspace(-45, 50, 20)):
        # From a view's pixels to the picture's.
        a, b = np.cos(turn) * side / size, np.sin(turn) * side / size
        left, top = np.array([1050, 440]) - np.array([[a, -b], [b, a]]) @ [size / 2, size / 2]
        views.append(picture.transform((size, size), Image.Transform.AFFINE, (a, -b, left, b, a, top), Image.Resampling.BICUBIC))
    return np.stack([np.asarray(view) for view in views])


def detections(name: str, folder: Path, _: np.ndarray) -> None:
    """Boxes and points of one of the detectors, and how far away those are that MediaPipe averages."""
    detector = DETECTORS[name]
    size = detector.size
    frames = hands(size, 440) if detector.points == PALM else resized(close_up(folder), size, size)
    convert(folder, detector.model)
    best, averaged = (
        [boxes_of(found, size) for found in run(detector.graph(algorithm), frames, {"detections": GET.get_proto_list})]
        for algorithm in ("DEFAULT", "WEIGHTED")
    )
    pairs = [pair for a, b in zip(best, averaged, strict=True) for pair in zip(a, b, strict=True)]
    apart = [max(np.abs(a[0] - b[0]).max(), np.abs(a[1] - b[1]).max()) for a, b in pairs]
    expected = [
        [{"box": np.clip(box, 0, size), "keypoints": points, "score": score, "class": 0} for box, points, score in rows]
        for rows in best
    ]
    note = (
        "MediaPipe's own calculators, with `algorithm: DEFAULT` for the suppression. Its graphs have `WEIGHTED`, the average of what is "
        f"suppressed: that moves half of the results by {np.median(apart):.1f} px or more, and one by {max(apart):.1f} px."
    )
    elements = f"gpunms confidence={detector.confidence} iou=0.3"
    Case(LIBRARY, elements, expected, sidecar=detector.sidecar(), weights=True, note=note).write(folder, frames)


@dataclass
class Landmarks:
    """One of MediaPipe's networks of landmarks, and the options of its calculators."""

    model: str
    size: int
    points: int
    # Which of the model's outputs has the points, and which says that they are there.
    output: int = 0
    presence: int | None = 1
    presence_is_logit: bool = False
    # What divides the third coordinate.
    depth: float = 1.0
    # Whether points have scores, of being visible and of being there.
    scored: bool = False
    # The output with a heat map of each point.
    heat_maps: int | None = None

    def graph(self) -> str:
        """What gives `landmarks`, in fractions of the frame, `presence`, and `refined` points, in fractions of the region."""
        options = f"num_landmarks: {self.points} input_image_width: {self.size} input_image_height: {self.size}"
        if self.depth != 1:
            options += f" normalize_z: {self.depth}"
        if self.scored:
            options += " visibility_activation: SIGMOID presence_activation: SIGMOID"
        outputs = {"points": self.output, "flag": self.presence, "heat_maps": self.heat_maps}
        wanted = [(name, number) for name, number in outputs.items() if number is not None]
        ranges = " ".join(f"ranges {{ begin: {number} end: {number + 1} }}" for _, number in wanted)
        names = " ".join(name for name, _ in wanted)
        graph = (
            inferred(self.model, (self.size, self.size), 0, "IMAGE:image NORM_RECT:roi")
            + node("SplitTensorVectorCalculator", f"tensors > {names}", ranges, "SplitVectorCalculator")
            + node("TensorsToLandmarksCalculator", "TENSORS:points > NORM_LANDMARKS:inside", options)
            + node("LandmarkProjectionCalculator", "NORM_LANDMARKS:inside NORM_RECT:roi > NORM_LANDMARKS:landmarks")
        )
        if self.presence is not None:
            activation = "activation: SIGMOID" if self.presence_is_logit else "activation: NONE"
            graph += node("TensorsToFloatsCalculator", "TENSORS:flag > FLOAT:presence", activation)
        if self.heat_maps is not None:
            streams = "NORM_LANDMARKS:inside TENSORS:heat_maps > NORM_LANDMARKS:refined"
            graph += node("RefineLandmarksFromHeatmapCalculator", streams, "kernel_size: 7")
        return graph


LANDMARKS = {
    "hand": Landmarks("hand_landmark/hand_landmark_full.tflite", 224, 21, depth=0.4),
    "hand-lite": Landmarks("hand_landmark/hand_landmark_lite.tflite", 224, 21, depth=0.4),
    "face-mesh": Landmarks("face_landmark/face_landmark.tflite", 192, 468, presence_is_logit=True),
    "eye": Landmarks("iris_landmark/iris_landmark.tflite", 64, 71, presence=None),
    "iris": Landmarks("iris_landmark/iris_landmark.tflite", 64, 5, output=1, presence=None),
    "pose": Landmarks("pose_landmark/pose_landmark_full.tflite", 256, 39, scored=True, heat_maps=3),
}


def points_of(found: dict, network: Landmarks, size: float, stream: str = "landmarks") -> np.ndarray:
    """x, y, score and z of each point, in pixels of a square frame."""
    # MediaPipe divides the third coordinate by `normalize_z`; ours is in pixels as the others are.
    return np.array(
        [
            [p.x * size, p.y * size, min(p.visibility, p.presence) if network.scored else 1.0, p.z * network.depth * size]
            for p in found[stream].landmark
        ]
    )


def read(network: Landmarks, frames: Frames, regions: Sequence = ()) -> list[dict]:
    """What MediaPipe's calculators make of the frames."""
    readers: dict[str, Callable] = {"landmarks": GET.get_proto}
    if network.presence is not None:
        readers["presence"] = GET.get_float
    if network.heat_maps is not None:
        readers["refined"] = GET.get_proto
    return run(network.graph(), frames, readers, regions)


def face(folder: Path, size: int) -> np.ndarray:
    """The frames of a man, cut to his face."""
    return resized(close_up(folder)[:, 5:105, 45:145], size, size)


def eye(folder: Path, size: int) -> np.ndarray:
    """The same, cut to one of his eyes where the detector finds it."""
    detector, frames = DETECTORS["faces"], close_up(folder)[:, :, 16:160]
    found = run(detector.graph("DEFAULT"), frames, {"detections": GET.get_proto_list})
    cut = []
    for frame, one in zip(frames, found, strict=True):
        _, points, _ = boxes_of(one, len(frame))[0]
        x, y = points[1].round().astype(int)
        cut.append(frame[y - 16 : y + 16, x - 16 : x + 16])
    return resized(np.stack(cut), size, size)


def landmarks(name: str, view: Callable[[Path, int], np.ndarray], folder: Path, _: np.ndarray) -> None:
    """The points of a network in frames of the size of its input."""
    network = LANDMARKS[name]
    frames = view(folder, network.size)
    outputs = convert(folder, network.model)
    found = read(network, frames)
    expected = [
        [{"class": 0, "score": one.get("presence", 0.0), "keypoints": points_of(one, network, network.size)}] for one in found
    ]
    note = "MediaPipe's own calculators; the points' third coordinates are compared, too."
    if network.depth != 1:
        note += f" MediaPipe divides these by {network.depth}, ours are in pixels as the others."
    if network.heat_maps is not None:
        moved = [points_of(one, network, network.size) - points_of(one, network, network.size, "refined") for one in found]
        far = np.abs(np.stack(moved)[:, :, :2]).max(-1)
        note += f" MediaPipe then refines points by heat maps, which moves half of them by {np.median(far):.1f} px or more, and one by {far.max():.1f} px; ours are those before."
    sidecar = landmarks_sidecar(network, outputs)
    Case(LIBRARY, "peakfind", expected, sidecar=sidecar, weights=True, note=note).write(folder, frames)


def landmarks_sidecar(network: Landmarks, outputs: list[str], region: str = "") -> str:
    """What our elements need to know. `region` are lines of [input]."""
    lines = [f"[input]\n{region}" if region else "", "[peaks]", 'encoding = "points"', f'output = "{outputs[network.output]}"']
    if network.presence is not None:
        lines.append(f'pose-scores = "{outputs[network.presence]}"')
    if network.presence_is_logit:
        lines.append('pose-activation = "sigmoid"')
    lines.append('point-format = "xyz-visibility-presence"' if network.scored else 'point-format = "xyz"')
    if network.scored:
        lines += ['activation = "sigmoid"', "threshold = 0"]
    return "\n".join([*filter(None, lines), "normalized = false", ""])


# The region of a person (pose_detection_to_roi.pbtxt): a square around the first point, turned so that the second lies above it,
# whose side is 1.25 times twice their distance.
REGION = (
    node("ImagePropertiesCalculator", "IMAGE:image > SIZE:size")
    + node(
        "AlignmentPointsRectsCalculator", "DETECTIONS:detections IMAGE_SIZE:size > NORM_RECTS:squares",
        "rotation_vector_start_keypoint_index: 0 rotation_vector_end_keypoint_index: 1 rotation_vector_target_angle_degrees: 90",
        "DetectionsToRectsCalculator",
    )
    + node(
        "RectTransformationCalculator", "NORM_RECTS:squares IMAGE_SIZE:size > regions",
        "scale_x: 1.25 scale_y: 1.25 square_long: true",
    )
)  # fmt: skip


def corner_and_sides(region: NormalizedRect, size: int) -> tuple[np.ndarray, np.ndarray]:
    """A region's upper left corner in pixels of a square frame, and the way along its width and its height, as columns."""
    turn = np.array([[np.cos(region.rotation), -np.sin(region.rotation)], [np.sin(region.rotation), np.cos(region.rotation)]])
    sides = turn * [region.width * size, region.height * size]
    return np.array([region.x_center, region.y_center]) * size - sides.sum(1) / 2, sides


def people_in(street: np.ndarray, size: int) -> tuple[np.ndarray, list[dict]]:
    """20 parts of the frames of a street in which people are whole, with room around them, and what is found there."""
    detector = DETECTORS["people"]
    height, width = street.shape[1:3]
    parts = np.stack(
        [
            frame[y : y + size, x : x + size]
            for frame in street
            for y in range(0, height - size + 1, size // 2)
            for x in range(0, width - size + 1, size // 2)
        ]
    )
    found = run(detector.graph("DEFAULT") + REGION, parts, {"detections": GET.get_proto_list, "regions": GET.get_proto_list})

    def whole(region: NormalizedRect) -> bool:
        corner, sides = corner_and_sides(region, size)
        corners = corner + np.array([[0, 0], [0, 1], [1, 0], [1, 1]]) @ sides.T
        return bool(corners.min() > 1 and corners.max() < size - 1)

    kept = [i for i, one in enumerate(found) if one.get("regions") and all(map(whole, one["regions"]))][:20]
    return parts[kept], [found[i] for i in kept]


def sampled(frame: np.ndarray, region: NormalizedRect, size: int, centred: bool = False) -> np.ndarray:
    """A region as `[size, size, 3]`, interpolated in float64. As in image_to_tensor_converter_opencv.cc, the region's corner is where
    its first pixel's centre is, and whole numbers are the centres of the frame's. With `centred`, both are half a pixel from there, as in
    MediaPipe's converters on a GPU."""
    corner, sides = corner_and_sides(region, len(frame))
    at = np.stack(np.meshgrid(np.arange(size), np.arange(size)), -1) / size @ sides.T + corner
    at += (sides.sum(1) / size - 1) / 2 if centred else 0.0
    first = np.floor(at).astype(int)
    x, y = first[..., 0], first[..., 1]
    right, down = ((at - first)[..., axis, None] for axis in (0, 1))
    upper = frame[y, x] * (1 - right) + frame[y, x + 1] * right
    lower = frame[y + 1, x] * (1 - right) + frame[y + 1, x + 1] * right
    return upper * (1 - down) + lower * down


def person_of(outputs: dict[int, np.ndarray], region: NormalizedRect, size: int) -> np.ndarray:
    """The points of the network's 195 numbers in the frame, as TensorsToLandmarksCalculator and LandmarkProjectionCalculator
    place them, in float64."""
    network = LANDMARKS["pose"]
    numbers = outputs[5 * network.points].reshape(-1, 5).astype(np.float64)
    corner, sides = corner_and_sides(region, size)
    places = numbers[:, :2] / network.size @ sides.T + corner
    scores = (1 / (1 + np.exp(-numbers[:, 3:]))).min(1)
    return np.column_stack([places, scores, numbers[:, 2] / network.size * region.width * size])


def pose(folder: Path, street: np.ndarray) -> None:
    """The points of people in their regions."""
    network = LANDMARKS["pose"]
    parts, found = people_in(street, DETECTORS["people"].size)
    frames = np.stack([sampled(part, one["regions"][0], network.size) for part, one in zip(parts, found, strict=True)])
    landmarks("pose", lambda *_: frames.round().astype(np.uint8), folder, street)


def stages(folder: Path, street: np.ndarray) -> None:
    """People, and their points in regions that are turned as they are."""
    detector, network = DETECTORS["people"], LANDMARKS["pose"]
    size = detector.size
    frames, found = people_in(street, size)
    convert(folder, detector.model)
    outputs = convert(folder, network.model, "landmarks")
    interpreter = tf.lite.Interpreter(str(PACKAGE / "modules" / network.model))
    interpreter.allocate_tensors()
    expected, far = [], []
    for frame, one in zip(frames, found, strict=True):
        people = []
        for (box, _, score), region in zip(boxes_of(one, size), one["regions"], strict=True):
            image = sampled(frame, region, network.size) / 255
            interpreter.set_tensor(interpreter.get_input_details()[0]["index"], image[None].astype(np.float32))
            interpreter.invoke()
            tensors = {
                int(np.prod(info["shape"])): interpreter.get_tensor(info["index"]) for info in interpreter.get_output_details()
            }
            points = person_of(tensors, region, size)
            theirs = points_of(read(network, [frame], regions=[region])[0], network, size)
            far.append(np.abs(theirs - points)[:, :2].max(1))
            # Where the pixels lie that the network saw: centres of pixels are halves here.
            points[:, :2] += 0.5 - corner_and_sides(region, size)[1].sum(1) / network.size / 2
            people.append({"box": np.clip(box, 0, size), "score": score, "class": 0, "keypoints": points})
        expected.append(people)
    middle, above = network.size / 2, network.size / 2 - network.size / 2.5
    names = ", ".join(f'"{name}"' for name in detector.points[:2])
    region = f'roi-crop = "align"\nalign = [[{middle}, {middle}], [{middle}, {above:.1f}]]\nalign-points = [{names}]'
    (folder / "landmarks.toml").write_text(landmarks_sidecar(network, outputs, region))
    note = (
        "MediaPipe's own calculators find people and their regions. These are interpolated and points are placed in float64 with its formulas; its "
        "`ImageToTensorCalculator` rounds to 1/32 of a pixel and to bytes on the CPU, which moves half of the points "
        f"by {np.median(far):.2f} px or more, and one by {np.max(far):.1f} px. MediaPipe counts a region's pixels from their corners and centres alike, so that its points are "
        "(1 - S) / 2 px to the left and top of these, where S of the frame's pixels are one of the region's. All regions lie in the frame: "
        "beyond it MediaPipe repeats the frame's edge, ours has `padding`. The region of a person is `align` in `[input]` of the second model's "
        "sidecar ([MediaPipe's landmarks](model-sidecar.md#mediapipes-landmarks))."
    )
    line = f"gpunms confidence={detector.confidence} iou=0.3 ! fusedpreproc roi=objects ! trtinfer model=landmarks.onnx ! peakfind"
    Case(LIBRARY, line, expected, sidecar=detector.sidecar(), weights=True, note=note).write(folder, frames)


def selfie(model: str, number: int, width: int, height: int, folder: Path, _: np.ndarray) -> None:
    """The mask of a man."""
    convert(folder, f"selfie_segmentation/{model}.tflite")
    frames = resized(close_up(folder), width, height)
    graph = node("SelfieSegmentationCpu", "IMAGE:image > SEGMENTATION_MASK:mask | <MODEL_SELECTION:number")
    found = run(graph, frames, {"mask": lambda packet: GET.get_image_frame(packet).numpy_view().copy()}, number=number)
    samples = np.stack([one["mask"] for one in found]) * 255
    case = Case(LIBRARY, "segmask mode=soft output=gray", [], weights=True, note="MediaPipe's own graph.")
    case.write_samples(folder, frames, samples, 255)


CASES = {
    **{f"mediapipe-{name}": partial(detections, name) for name in DETECTORS},
    "mediapipe-hand": partial(landmarks, "hand", lambda _, size: hands(size, 220)),
    "mediapipe-hand-lite": partial(landmarks, "hand-lite", lambda _, size: hands(size, 220)),
    "mediapipe-face-mesh": partial(landmarks, "face-mesh", face),
    "mediapipe-eye": partial(landmarks, "eye", eye),
    "mediapipe-iris": partial(landmarks, "iris", eye),
    "mediapipe-pose": pose,
    "mediapipe-people-pose": stages,
    "mediapipe-selfie": partial(selfie, "selfie_segmentation", 0, 256, 256),
    "mediapipe-selfie-landscape": partial(selfie, "selfie_segmentation_landscape", 1, 256, 144),
}
