"""Runs a pipeline whose model fails, in a process that has loaded NumPy as well: unwinder.py MODEL SIZE before|after

NumPy loads libstdc++, before or after GStreamer, and GStreamer libunwind: ONNX Runtime's exceptions must find one unwinder for all
that. GStreamer is called by ctypes as PyGObject would call it, with its symbols in the process's global scope.
"""

import ctypes
import sys

model, size, order = sys.argv[1:]
if order == "before":
    import numpy
gst = ctypes.CDLL("libgstreamer-1.0.so.0", mode=ctypes.RTLD_GLOBAL)
for function in (gst.gst_parse_launch, gst.gst_element_get_bus, gst.gst_bus_timed_pop_filtered):
    function.restype = ctypes.c_void_p
gst.gst_init(None, None)
if order == "after":
    import numpy  # noqa: F401, what is tested is that it is loaded
pipeline = ctypes.c_void_p(
    gst.gst_parse_launch(
        f"videotestsrc num-buffers=3 ! video/x-raw,width=64,height=64 ! fusedpreproc width={size} height={size} "
        f"! trtinfer provider=cpu engine-cache=none model={model} ! fakesink".encode(),
        None,
    )
)
PLAYING, NULL, EOS_OR_ERROR = 4, 1, 3
gst.gst_element_set_state(pipeline, PLAYING)
bus = ctypes.c_void_p(gst.gst_element_get_bus(pipeline))
message = gst.gst_bus_timed_pop_filtered(bus, ctypes.c_uint64(20 * 10**9), EOS_OR_ERROR)
if not message:
    sys.exit("no message within 20 s")
error = ctypes.c_void_p()


class GError(ctypes.Structure):
    _fields_ = [("domain", ctypes.c_uint32), ("code", ctypes.c_int), ("message", ctypes.c_char_p)]


gst.gst_message_parse_error(ctypes.c_void_p(message), ctypes.byref(error), None)
print(GError.from_address(error.value).message.decode())
gst.gst_element_set_state(pipeline, NULL)
