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
from mediapipe.framework.formats.landmark_pb2 import NormalizedLandmarkList
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

FRAMES = 20
# Frames in which an object is followed before it is hidden in one. A region is made of the points in the last frame, and the networks
# amplify what is different: points of hands are pixels away after 20 frames where the first region was moved by a thousandth of a pixel.
RUN = 5
# By how many pixels a region is moved to measure that.
NUDGE = 1e-3
# The overlap of two regions from which on they show the same object.
SAME = 0.5


@dataclass
class Chain:
    """A detector, the network of points downstream of it, and how the region between them is made."""

    detector: str
    network: str
    # MediaPipe's graph that makes a region of a detection.
    graph: str
    # The same for our elements.
    region: str
    # MediaPipe's graph that makes the next region of an object's landmarks, and the same for our elements.
    next_graph: str
    track: str
    # Square frames of the size of the detector's input, from those of a face.
    frames: Callable[[Path, int], np.ndarray]
    # MediaPipe's own solution, which gives lists of landmarks for each frame, of frames alone or of a video.
    solution: Callable[[np.ndarray, bool], list]


def solved_hands(frames: np.ndarray, alone: bool) -> list:
    """What mediapipe.solutions.hands finds in each frame, `alone` or after the last one."""
    with mediapipe.solutions.hands.Hands(static_image_mode=alone, max_num_hands=1) as solution:
        return [solution.process(frame).multi_hand_landmarks or [] for frame in frames]


def solved_faces(frames: np.ndarray, alone: bool) -> list:
    """What mediapipe.solutions.face_mesh finds in each frame, `alone` or after the last one."""
    with mediapipe.solutions.face_mesh.FaceMesh(static_image_mode=alone, max_num_faces=1) as solution:
        return [solution.process(frame).multi_face_landmarks or [] for frame in frames]


CHAINS = {
    "hands": Chain(
        "palms",
        "hand",
        "PalmDetectionDetectionToRoi",
        '[region]\noutline = "box"\naxis-from = ["wrist"]\naxis-to = ["middle"]\naxis-angle = 90\nshift = [0, -0.5]\npadding = 2.6\n',
        "HandLandmarkLandmarksToRoi",
        '[track]\noutline = "turned"\npoints = ["0", "1", "2", "3", "5", "6", "9", "10", "13", "14", "17", "18"]\n'
        'axis-from = ["0"]\naxis-to = ["5", "9", "9", "13"]\naxis-angle = 90\nshift = [0, -0.1]\npadding = 2\n',
        lambda _, size: hands(size, 480),
        solved_hands,
    ),
    "faces": Chain(
        "faces",
        "face-mesh",
        "FaceDetectionFrontDetectionToRoi",
        '[region]\noutline = "box"\naxis-from = ["right eye"]\naxis-to = ["left eye"]\npadding = 1.5\n',
        "FaceLandmarkLandmarksToRoi",
        '[track]\naxis-from = ["33"]\naxis-to = ["263"]\npadding = 1.5\n',
        lambda folder, size: resized(np.pad(close_up(folder), ((0, 0), (24, 24), (24, 24), (0, 0)), "edge"), size, size),
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


def overlap(a: NormalizedRect, b: NormalizedRect) -> float:
    """The intersection over union of two regions before they are turned, as AssociationNormRectCalculator has it."""
    sides = [
        min(one + size / 2, other + far / 2) - max(one - size / 2, other - far / 2)
        for one, size, other, far in ((a.x_center, a.width, b.x_center, b.width), (a.y_center, a.height, b.y_center, b.height))
    ]
    shared = max(sides[0], 0) * max(sides[1], 0)
    return shared / (a.width * a.height + b.width * b.height - shared)


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


class Follower:
    """MediaPipe's graph that makes an object's next region of its landmarks."""

    def __init__(self, graph: str) -> None:
        nodes = node("ImagePropertiesCalculator", "IMAGE:image > SIZE:size")
        nodes += node(graph, "LANDMARKS:landmarks IMAGE_SIZE:size > ROI:region")
        streams = 'input_stream: "image" input_stream: "landmarks" output_stream: "region"\n'
        self.graph = mediapipe.CalculatorGraph(graph_config=streams + nodes)
        self.made: list[NormalizedRect] = []
        self.graph.observe_output_stream("region", lambda _, packet: self.made.append(GET.get_proto(packet)))
        self.graph.start_run()

    def next(self, frame: np.ndarray, points: np.ndarray) -> NormalizedRect:
        """The region of points in pixels of a square frame."""
        landmarks = NormalizedLandmarkList()
        for x, y in points[:, :2] / len(frame):
            landmarks.landmark.add(x=x, y=y)
        image = mediapipe.ImageFrame(mediapipe.ImageFormat.SRGB, np.ascontiguousarray(frame))
        packets = {
            "image": mediapipe.packet_creator.create_image_frame(image),
            "landmarks": mediapipe.packet_creator.create_proto(landmarks),
        }
        for name, packet in packets.items():
            self.graph.add_packet_to_input_stream(name, packet.at(len(self.made)))
        self.graph.wait_until_idle()
        return self.made[-1]


def nudged(region: NormalizedRect, size: int) -> Iterator[NormalizedRect]:
    """The region moved, enlarged and turned, so that its sides' middles are `NUDGE` pixels away."""
    by = NUDGE / size
    for x, y, sides, turn in ((by, 0, 0, 0), (0, by, 0, 0), (0, 0, 2 * by, 0), (0, 0, 0, 2 * by / region.width)):
        yield NormalizedRect(
            x_center=region.x_center + x,
            y_center=region.y_center + y,
            width=region.width + sides,
            height=region.height + sides,
            rotation=region.rotation + turn,
        )


class Expected:
    """What a chain's pipeline should find in 20 frames, and how far away MediaPipe itself finds it on the CPU. Where objects are followed, the
    frames go forth and back, without those in which the detector's region is another object's by the rule of MediaPipe's
    AssociationNormRectCalculator, and between each `RUN` of them is a black one, after which the object is found anew."""

    def __init__(self, chain: Chain, frames: np.ndarray, follows: bool) -> None:
        detector, network = DETECTORS[chain.detector], LANDMARKS[chain.network]
        size, run_network, follower = detector.size, Network(network), Follower(chain.next_graph)

        def points_in(frame: np.ndarray, region: NormalizedRect, centred: bool = True) -> np.ndarray:
            return run_network.points(sampled(frame, region, network.size, centred) / 255, region, size)

        self.frames: list[np.ndarray] = []
        self.objects: list[list[dict]] = []
        self.far: list[float] = []
        self.rounded: list[float] = []
        # By how much more than a run's first region its points are moved, in each of its frames; the greatest of all runs.
        self.grown = np.zeros(RUN)
        black = np.zeros((size, size, 3), np.uint8)
        count = 0
        # The regions that a run's first one has become after it was moved.
        moved: list[NormalizedRect] = []
        streams = {"detections": GET.get_proto_list, "regions": GET.get_proto_list}
        last: NormalizedRect | None = None
        frames = np.concatenate([frames, frames[::-1]]) if follows else frames
        for frame, one in zip(frames, run(detector.graph("DEFAULT") + regions_of(chain), frames, streams), strict=True):
            regions = one.get("regions", [])
            if count == FRAMES or (follows and len(regions) != 1) or (last and overlap(last, regions[0]) <= SAME):
                continue
            objects = []
            for (box, _, score), found in zip(boxes_of(one, size), regions, strict=True):
                region = last or found
                assert whole(region, size), "a region reaches beyond the frame"
                points, of_cpu = (points_in(frame, region, centred) for centred in (True, False))
                own = points_of(read(network, [frame], regions=[region])[0], network, size)
                self.far += list(np.hypot(*(own - points)[:, :2].T))
                self.rounded += list(np.hypot(*(own - of_cpu)[:, :2].T))
                objects.append({"box": np.clip(box, 0, size), "score": score, "class": 0, "keypoints": points})
            self.frames.append(frame)
            self.objects.append(objects)
            count += 1
            if not follows:
                continue
            others = [points_in(frame, other) for other in moved or nudged(region, size)]
            place = (count - 1) % RUN
            self.grown[place] = max(self.grown[place], *(np.abs(other - points)[:, :2].max() / NUDGE for other in others))
            last, moved = follower.next(frame, points), [follower.next(frame, other) for other in others]
            if place == RUN - 1 and count < FRAMES:
                assert read(network, [black], regions=[last])[0]["presence"] < 0.5, "the object is lost in a black frame"
                self.frames.append(black)
                self.objects.append([])
                last, moved = None, []

    def growth(self) -> str:
        """How differences grow while an object is followed, as sentences of the note."""
        first, last = (f"{grown * NUDGE:.2g}" for grown in self.grown[[0, -1]])
        return (
            f"Regions are made of the last frame's points: one that is moved by {NUDGE:g} px moves a point by up to {first} px, and {RUN - 1} frames later by "
            f"up to {last} px. A black frame follows each {RUN}, in which the object is lost, so that differences of rounding do not pile up. "
        )


def stages(name: str, follows: bool, folder: Path, _: np.ndarray) -> None:
    """Objects, and their points in regions that are turned, moved and enlarged as MediaPipe does it; where they are followed, those of the
    points in the last frame."""
    chain = CHAINS[name]
    detector, network = DETECTORS[chain.detector], LANDMARKS[chain.network]
    convert(folder, detector.model)
    outputs = convert(folder, network.model, "landmarks")
    expected = Expected(chain, chain.frames(folder, detector.size), follows)
    frames = np.stack(expected.frames)
    apart = list(away(chain.solution(frames, not follows), expected.objects, detector.size))
    own = landmarks_sidecar(network, outputs, 'roi-from = "track"' if follows else "")
    (folder / "landmarks.toml").write_text("\n".join([own, chain.region, chain.track if follows else ""]))
    graphs = f"{chain.graph} and then {chain.next_graph} make" if follows else f"{chain.graph} makes"
    keys = "`[region]` and `[track]`" if follows else "`[region]`"
    note = (
        f"MediaPipe's own calculators find objects, and its {graphs} regions of them. These are interpolated in float64 where the centres "
        "of their pixels are, as MediaPipe does it on a GPU, and points are placed with its formulas. On the CPU, its `ImageToTensorCalculator` "
        f"counts a region's pixels from their corners, which moves half of the points by {np.median(expected.far):.2f} px or more, and one by {np.max(expected.far):.1f} px. (With that taken over, the "
        f"same formulas are within {np.max(expected.rounded):.2f} px of its points: it rounds to 1/32 of a pixel and to bytes.) `mediapipe.solutions` with "
        f"`static_image_mode={not follows}`, which averages the detector's boxes as well, has half "
        f"of the points {np.median(apart):.2f} px away or more, and one {np.max(apart):.1f} px. All regions lie in the frame. "
        f"{expected.growth() if follows else ''}The regions are "
        f"{keys} of the second model's sidecar ([MediaPipe's landmarks](model-sidecar.md#mediapipes-landmarks))."
    )
    line = f"gpunms confidence={detector.confidence} iou=0.3 ! fusedpreproc roi=objects ! trtinfer model=landmarks.onnx ! peakfind"
    Case(LIBRARY, line, expected.objects, sidecar=detector.sidecar(), weights=True, note=note).write(folder, frames)


CASES = {
    f"mediapipe-{name}-{what}": partial(stages, name, follows)
    for name in CHAINS
    for what, follows in (("points", False), ("followed", True))
}
