"""The decoder of examples/decoder/python from within its process: python.py TEST MODEL, started by python.rs."""

import ctypes
import sys
import threading
from pathlib import Path

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstVideo", "1.0")
from gi.repository import Gst, GstVideo

Gst.init(None)
sys.path.insert(0, str(Path(__file__).parents[4] / "examples/decoder/python"))
from yolov2 import Yolov2

TEST, MODEL = sys.argv[1:]
FRAMES, LIMIT_S = 20, 100


class Stream:
    """A stream of red frames whose model is shared with all others, and a decoder of this class."""

    def __init__(self, decoder):
        name = decoder.__name__.lower()
        assert Gst.Element.register(None, name, Gst.Rank.NONE, decoder)
        self.pipeline = Gst.parse_launch(
            f"videotestsrc num-buffers={FRAMES} pattern=red ! video/x-raw,format=RGB,width=128,height=64 ! fusedpreproc "
            f"! trtinfer instance=one batch-size=2 max-in-flight=4 model={MODEL} ! {name} name=mine ! fakesink name=out"
        )
        self.boxes, self.tensors = [], 0
        self.pipeline.get_by_name("out").get_static_pad("sink").add_probe(Gst.PadProbeType.BUFFER, self.seen)

    def seen(self, pad, info):
        buffer = info.get_buffer()
        roi = GstVideo.buffer_get_video_region_of_interest_meta_id(buffer, 0)
        self.boxes.append((roi.x, roi.y, roi.w, roi.h) if roi else None)
        self.tensors += buffer.get_custom_meta("GstCudaInferTensorMeta") is not None
        return Gst.PadProbeReturn.OK

    def play(self):
        self.pipeline.set_state(Gst.State.PLAYING)

    def end(self):
        """Waits for the end: the error's sentence, or None."""
        ends = Gst.MessageType.EOS | Gst.MessageType.ERROR
        message = self.pipeline.get_bus().timed_pop_filtered(LIMIT_S * Gst.SECOND, ends)
        assert message, "neither end nor error"
        error = message.parse_error()[0].message if message.type == Gst.MessageType.ERROR else None
        self.pipeline.set_state(Gst.State.NULL)
        return error

    def runs_well(self):
        self.play()
        assert self.end() is None
        # See PERSON of mod.rs.
        assert self.boxes == [(83, 7, 42, 26)] * FRAMES, self.boxes


class Good(Yolov2):
    """The decoder as it is."""


class MapInfo(ctypes.Structure):
    """GstMapInfo."""

    _fields_ = [
        ("memory", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("data", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("maxsize", ctypes.c_size_t),
        ("user_data", ctypes.c_void_p * 4),
        ("reserved", ctypes.c_void_p * 4),
    ]


def no_copy():
    """The array that is decoded lies where C finds the tensor."""
    arrays, tensors = [], []
    gst = ctypes.CDLL("libgstreamer-1.0.so.0")

    class Looking(Yolov2):
        def boxes(self, tensor, *more):
            arrays.append((tensor.ctypes.data, tensor.nbytes, tensor.flags.owndata))
            return super().boxes(tensor, *more)

    def arrives(pad, info):
        meta = info.get_buffer().get_custom_meta("GstCudaInferTensorMeta")
        data = meta.get_structure()["tensors"][0]["data"]
        # PyGObject's hash of a buffer is its address.
        address, mapped = ctypes.c_void_p(hash(data)), MapInfo()
        assert gst.gst_buffer_map(address, ctypes.byref(mapped), 1)
        tensors.append((mapped.data, mapped.size, False))
        gst.gst_buffer_unmap(address, ctypes.byref(mapped))
        return Gst.PadProbeReturn.OK

    stream = Stream(Looking)
    stream.pipeline.get_by_name("mine").get_static_pad("sink").add_probe(Gst.PadProbeType.BUFFER, arrives)
    stream.runs_well()
    assert len(arrays) == FRAMES and arrays == tensors, (arrays, tensors)
    assert arrays[0][1] == 125 * 2 * 2 * 4, arrays


def tensors_are_gone():
    stream = Stream(Good)
    stream.runs_well()
    assert stream.tensors == 0


def raises():
    class Raises(Yolov2):
        count = 0

        def boxes(self, *more):
            self.count += 1
            if self.count == 3:
                raise IndexError("the third frame is out of bounds")
            return super().boxes(*more)

    bad, good = Stream(Raises), Stream(Good)
    bad.play()
    good.runs_well()
    error = bad.end()
    assert error == "mine: the third frame is out of bounds", error
    assert len(bad.boxes) == 2, bad.boxes


def slow():
    waits, gate = threading.Event(), threading.Event()

    class Slow(Yolov2):
        def boxes(self, *more):
            waits.set()
            assert gate.wait(LIMIT_S), "nobody opens the gate"
            return super().boxes(*more)

    slow, good = Stream(Slow), Stream(Good)
    slow.play()
    assert waits.wait(LIMIT_S)
    # From beginning to end while the other is at its first frame.
    good.runs_well()
    assert slow.boxes == []
    gate.set()
    assert slow.end() is None
    assert slow.boxes == good.boxes


{test.__name__: test for test in (no_copy, tensors_are_gone, raises, slow)}[TEST]()
print("as it must be")
