"""A decoder that cudainfer does not have, as an element in Python: `yolov2py` finds objects in the outputs of YOLOv2 networks.

    GST_PLUGIN_PATH=...:examples/decoder gst-launch-1.0 ... ! fusedpreproc ! trtinfer model=tinyyolov2.onnx ! yolov2py \
        ! tracker ! inferoverlay ! ...

docs/your-own-decoder.md explains it.
"""

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstBase", "1.0")
gi.require_version("GstVideo", "1.0")
import numpy as np
from gi.repository import GObject, Gst, GstBase, GstVideo

LABELS = (
    "aeroplane bicycle bird boat bottle bus car cat chair cow diningtable dog horse motorbike person pottedplant sheep sofa "
    "train tvmonitor"
).split()
# Widths and heights in cells.
ANCHORS = np.array([[1.08, 1.19], [3.42, 4.41], [6.63, 11.38], [9.42, 5.11], [16.62, 10.52]], np.float32)
CONFIDENCE, IOU = 0.3, 0.45

META, FEATURE = "GstCudaInferTensorMeta", "meta:CudaInferTensor"


def template(name, direction, *features):
    """Frames with these features, in CUDA memory or in system memory, which must be named if there is another feature."""
    memories = [", ".join([f"memory:{memory}", *features]) for memory in ("CUDAMemory", "SystemMemory")]
    caps = Gst.Caps.from_string("; ".join(f"video/x-raw({memory})" for memory in memories))
    return Gst.PadTemplate.new(name, direction, Gst.PadPresence.ALWAYS, caps)


def structure_of(caps, index):
    """A copy of one of the caps' structures. gst-python of GStreamer 1.24 and 1.26 gives it in a `with` only."""
    found = caps.get_structure(index)
    if not hasattr(found, "__enter__"):
        return found.copy()
    with found as structure:
        return structure.copy()


class Yolov2(GstBase.BaseTransform):
    """The element: frames with tensors come in, frames with regions of interest go out."""

    __gstmetadata__ = ("YOLOv2 decoder", "Filter/Analyzer/Video", "Finds objects in the outputs of YOLOv2 networks", "You")
    __gsttemplates__ = (
        template("sink", Gst.PadDirection.SINK, FEATURE),
        template("src", Gst.PadDirection.SRC),
    )

    def do_transform_caps(self, direction, caps, filter):
        """Downstream of this element, the same frames have no tensors any more."""
        other = Gst.Caps.new_empty()
        for i in range(caps.get_size()):
            structure, features = structure_of(caps, i), caps.get_features(i).copy()
            for name in [structure.nth_field_name(n) for n in range(structure.n_fields())]:
                if name.startswith("tensor-"):
                    structure.remove_field(name)
            features.remove(FEATURE)
            if direction == Gst.PadDirection.SRC:
                features.add(FEATURE)
            other.append_structure_full(structure, features)
        return filter.intersect_full(other, Gst.CapsIntersectMode.FIRST) if filter else other

    def do_set_caps(self, incaps, outcaps):
        """A model that this decoder cannot read is refused here, before its first frame."""
        caps = structure_of(incaps, 0)
        self.frame = [caps["width"], caps["height"]]
        if caps.has_field("tensor-roi"):
            return self.fail("the tensors are those of regions, and this decoder reads those of frames")
        outputs = list(caps["tensor-outputs"] or [])
        if len(outputs) != 1 or ":float32:1x125x" not in outputs[0]:
            return self.fail(f"the model has the outputs {outputs}, but YOLOv2 has one of float32:1x125xHxW")
        return True

    def do_transform_ip(self, buffer):
        """Python's exceptions would get lost here: they must become an error of the stream."""
        try:
            meta = buffer.get_custom_meta(META)
            if not meta:
                raise ValueError("a frame came without tensors")
            found = self.decode(meta.get_structure())
            buffer.remove_meta(meta.meta)
            for box, confidence, label in found:
                self.put(buffer, box, confidence, label)
        except Exception as error:
            self.fail(str(error))
            return Gst.FlowReturn.ERROR
        return Gst.FlowReturn.OK

    def fail(self, sentence):
        """Ends the stream with a sentence that its user can read."""
        self.message_full(
            Gst.MessageType.ERROR,
            Gst.StreamError.quark(),
            Gst.StreamError.DECODE,
            f"{self.get_name()}: {sentence}",
            None,
            __file__,
            "fail",
            0,
        )
        return False

    def decode(self, structure):
        """Reads the tensor of a frame: boxes in frame pixels, confidences and numbers of labels."""
        tensor = structure["tensors"][0]
        size = [structure["input-width"], structure["input-height"]]
        scale, offset = ([structure[f"{what}-x"], structure[f"{what}-y"]] for what in ("scale", "offset"))
        # A view of the tensor's memory, not a copy. It must not be used after the `with`.
        with tensor["data"].map(Gst.MapFlags.READ) as mapped:
            return self.boxes(np.frombuffer(mapped.data, np.float32).reshape(tensor["dims"]), size, scale, offset)

    def boxes(self, tensor, size, scale, offset):
        """The numbers of YOLOv2 (Redmon and Farhadi, 2017): `[1, 125, rows, columns]`."""
        rows, columns = tensor.shape[2:]
        grid = tensor.reshape(5, 25, rows, columns)
        objectness = sigmoid(grid[:, 4])
        anchor, y, x = np.nonzero(objectness >= CONFIDENCE)
        # From here on only the candidates' values: [n, 25].
        values = grid[anchor, :, y, x]
        scores = np.exp(values[:, 5:] - values[:, 5:].max(1, keepdims=True))
        labels = scores.argmax(1)
        confidences = objectness[anchor, y, x] * scores.max(1) / scores.sum(1)
        cell = np.array(size) / [columns, rows]
        centres = (np.stack([x, y], 1) + sigmoid(values[:, :2])) * cell
        halves = ANCHORS[anchor] * np.exp(values[:, 2:4]) * cell / 2
        corners = np.concatenate([centres - halves, centres + halves], 1) * np.tile(scale, 2) + np.tile(offset, 2)
        kept = []
        for i in np.argsort(-confidences):
            # What is not a finite number is left out.
            if confidences[i] >= CONFIDENCE and np.isfinite(corners[i]).all():
                if all(labels[i] != labels[k] or iou(corners[i], corners[k]) <= IOU for k in kept):
                    kept.append(i)
        corners = corners.clip(0, np.tile(self.frame, 2))
        return [(corners[i].tolist(), float(confidences[i]), int(labels[i])) for i in kept]

    @staticmethod
    def put(buffer, box, confidence, label):
        """What tracker, inferoverlay and inferpublish read: a region with the parameter `detection`."""
        left, top, right, bottom = box
        x, y = round(left), round(top)
        number = buffer.get_n_meta(GstVideo.video_region_of_interest_meta_api_get_type())
        roi = GstVideo.buffer_add_video_region_of_interest_meta(
            buffer, LABELS[label], x, y, round(right) - x, round(bottom) - y
        )
        roi.id = number
        detection = Gst.Structure.new_empty("detection")
        for name, value in zip(("x", "y", "w", "h", "confidence"), (left, top, right - left, bottom - top, confidence)):
            detection.set_value(name, value)
        detection.set_value("label-id", GObject.Value(GObject.TYPE_UINT, label))
        roi.add_param(detection)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def iou(a, b):
    inside = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0).prod()
    return inside / ((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - inside)


GObject.type_register(Yolov2)
__gstelementfactory__ = ("yolov2py", Gst.Rank.NONE, Yolov2)
