"""MediaPipe's hands and faces in one pipeline each: a detector, the regions that MediaPipe's own graphs make of what it finds
(palm_detection_detection_to_roi.pbtxt, face_detection_front_detection_to_roi.pbtxt), and the points in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import mediapipe
import numpy as np
import tensorflow as tf
from mediapipe.framework.formats.rect_pb2 import NormalizedRect

from cudainfer_tools.zoo.cases.case import Case, close_up, resized
from cudainfer_tools.zoo.cases.mediapipe import (
    DETECTORS,
    GET,
    LANDMARKS,
    LIBRARY,
    PACKAGE,
    Landmarks,
    boxes_of,
    convert,
    corner_and_sides,
    hands,
    landmarks_sidecar,
    node,
    points_of,
    read,
    run,
    sampled,
)


@dataclass
class Chain:
    """A detector, the network of points downstream of it, and how the region between them is made."""

    detector: str
    network: str
    # MediaPipe's graph that makes a region of a detection.
    graph: str
    # The same for our elements.
    region: str
    # Square frames of the size of the detector's input, from those of a face.
    frames: Callable[[Path, int], np.ndarray]
    # MediaPipe's own solution, which gives lists of landmarks for a frame.
    solution: Callable[[np.ndarray], list]


def solved_hands(frames: np.ndarray) -> list:
    """What mediapipe.solutions.hands finds in each frame."""
    with mediapipe.solutions.hands.Hands(static_image_mode=True, max_num_hands=1) as solution:
        return [solution.process(frame).multi_hand_landmarks or [] for frame in frames]


def solved_faces(frames: np.ndarray) -> list:
    """What mediapipe.solutions.face_mesh finds in each frame."""
    with mediapipe.solutions.face_mesh.FaceMesh(static_image_mode=True, max_num_faces=1) as solution:
        return [solution.process(frame).multi_face_landmarks or [] for frame in frames]


CHAINS = {
    "hands": Chain(
        "palms",
        "hand",
        "PalmDetectionDetectionToRoi",
        '[region]\noutline = "box"\naxis-from = ["wrist"]\naxis-to = ["middle"]\naxis-angle = 90\nshift = [0, -0.5]\npadding = 2.6\n',
        lambda _, size: hands(size, 440),
        solved_hands,
    ),
    "faces": Chain(
        "faces",
        "face-mesh",
        "FaceDetectionFrontDetectionToRoi",
        '[region]\noutline = "box"\naxis-from = ["right eye"]\naxis-to = ["left eye"]\npadding = 1.5\n',
        lambda folder, size: resized(close_up(folder), size, size),
        solved_faces,
    ),
}


def regions_of(chain: Chain) -> str:
    """The nodes that give `regions` of `detections`."""
    return (
        node("ImagePropertiesCalculator", "IMAGE:image > SIZE:size")
        + node("BeginLoopDetectionCalculator", "ITERABLE:detections CLONE:size > ITEM:one CLONE:one_size BATCH_END:end")
        + node(chain.graph, "DETECTION:one IMAGE_SIZE:one_size > ROI:one_region")
        + node("EndLoopNormalizedRectCalculator", "ITEM:one_region BATCH_END:end > ITERABLE:regions")
    )


def whole(region: NormalizedRect, size: int) -> bool:
    """Whether a region lies in the frame: MediaPipe repeats the frame's edge beyond it, ours has padding."""
    corner, sides = corner_and_sides(region, size)
    corners = corner + np.array([[0, 0], [0, 1], [1, 0], [1, 1]]) @ sides.T
    return bool(corners.min() > 1 and corners.max() < size - 1)


class Network:
    """A network of points, run by TensorFlow Lite."""

    def __init__(self, network: Landmarks) -> None:
        self.network = network
        self.interpreter = tf.lite.Interpreter(str(PACKAGE / "modules" / network.model))
        self.interpreter.allocate_tensors()

    def points(self, image: np.ndarray, region: NormalizedRect, size: int) -> np.ndarray:
        """x, y, score and z of the points of an image `[S, S, 3]` from 0 to 1, in the frame's pixels, as TensorsToLandmarksCalculator and
        LandmarkProjectionCalculator place them."""
        self.interpreter.set_tensor(self.interpreter.get_input_details()[0]["index"], image[None].astype(np.float32))
        self.interpreter.invoke()
        tensors = [self.interpreter.get_tensor(info["index"]) for info in self.interpreter.get_output_details()]
        numbers = next(one for one in tensors if one.size == 3 * self.network.points).reshape(-1, 3).astype(np.float64)
        corner, sides = corner_and_sides(region, size)
        places = numbers[:, :2] / self.network.size @ sides.T + corner
        return np.column_stack([places, np.ones(len(places)), numbers[:, 2] / self.network.size * region.width * size])


def away(solved: list, expected: list[list[dict]], size: int) -> Iterator[float]:
    """How far each point of MediaPipe's own solution is away, in pixels of the frame, where both have one object."""
    for theirs, ours in zip(solved, expected, strict=True):
        if len(theirs) == len(ours) == 1:
            points = np.array([[point.x * size, point.y * size] for point in theirs[0].landmark])
            yield from np.hypot(*(points - ours[0]["keypoints"][:, :2]).T)


def stages(name: str, folder: Path, _: np.ndarray) -> None:
    """Objects, and their points in regions that are turned, moved and enlarged as MediaPipe does it."""
    chain = CHAINS[name]
    detector, network = DETECTORS[chain.detector], LANDMARKS[chain.network]
    size, run_network = detector.size, Network(network)
    frames = chain.frames(folder, size)
    convert(folder, detector.model)
    outputs = convert(folder, network.model, "landmarks")
    streams = {"detections": GET.get_proto_list, "regions": GET.get_proto_list}
    expected: list[list[dict]] = []
    far: list[float] = []
    rounded: list[float] = []
    for frame, one in zip(frames, run(detector.graph("DEFAULT") + regions_of(chain), frames, streams), strict=True):
        objects = []
        for (box, _, score), region in zip(boxes_of(one, size), one.get("regions", []), strict=True):
            assert whole(region, size), "a region reaches beyond the frame"
            points, of_cpu = (
                run_network.points(sampled(frame, region, network.size, centred) / 255, region, size) for centred in (True, False)
            )
            found = points_of(read(network, [frame], regions=[region])[0], network, size)
            far += list(np.hypot(*(found - points)[:, :2].T))
            rounded += list(np.hypot(*(found - of_cpu)[:, :2].T))
            objects.append({"box": np.clip(box, 0, size), "score": score, "class": 0, "keypoints": points})
        expected.append(objects)
    apart = list(away(chain.solution(frames), expected, size))
    (folder / "landmarks.toml").write_text(chain.region + landmarks_sidecar(network, outputs))
    note = (
        f"MediaPipe's own calculators find objects, and its graph {chain.graph} makes regions of them. These are interpolated in float64 where the centres "
        "of their pixels are, as MediaPipe does it on a GPU, and points are placed with its formulas. On the CPU, its `ImageToTensorCalculator` "
        f"counts a region's pixels from their corners, which moves half of the points by {np.median(far):.2f} px or more, and one by {np.max(far):.1f} px. (With that taken over, the "
        f"same formulas are within {np.max(rounded):.2f} px of its points: it rounds to 1/32 of a pixel and to bytes.) `mediapipe.solutions` with "
        "`static_image_mode`, which averages the detector's boxes as well, has half "
        f"of the points {np.median(apart):.2f} px away or more, and one {np.max(apart):.1f} px. All regions lie in the frame. The region is "
        "`[region]` of the second model's sidecar ([MediaPipe's landmarks](model-sidecar.md#mediapipes-landmarks))."
    )
    line = f"gpunms confidence={detector.confidence} iou=0.3 ! fusedpreproc roi=objects ! trtinfer model=landmarks.onnx ! peakfind"
    Case(LIBRARY, line, expected, sidecar=detector.sidecar(), weights=True, note=note).write(folder, frames)


CASES = {f"mediapipe-{name}-points": partial(stages, name) for name in CHAINS}
